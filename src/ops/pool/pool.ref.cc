#include "ops/pool/pool.h"

#include "ops/compute.h"
#include "ops/movement.h"
#include "ops/pool/unpool_offsets.h"

namespace lathe {
namespace {

inline constexpr Types<float, double> pooled_floats;

/// Visits every window of a plane: window(output index, positions of the window along each axis).
class PlaneWindows {
 public:
  explicit PlaneWindows(const WindowAxes& axes) : axes_(axes), at_(axes.size(), 0) {
    for (const WindowAxis& a : axes) {
      in_ *= a.in;
      out_ *= a.out;
    }
  }
  int64_t in_plane() const { return in_; }
  int64_t out_plane() const { return out_; }

  /// Moves to the o-th window of the output plane.
  void go_to(int64_t o) {
    for (size_t i = axes_.size(); i-- > 0; o /= axes_[i].out) at_[i] = o % axes_[i].out;
  }
  /// Calls f(offset in the input plane, position) for the elements of the window that are not padding, in
  /// order.
  template <class F>
  void for_each_inside(Poller& poll, F&& f) const {
    Shape first(axes_.size()), end(axes_.size());
    for (size_t i = 0; i < axes_.size(); ++i) {
      first[i] = axes_[i].first_inside(at_[i]);
      end[i] = axes_[i].end_inside(at_[i]);
      if (first[i] >= end[i]) return;
    }
    Shape k = first;
    const size_t last = axes_.size() - 1;
    Shape position(axes_.size());
    for (;;) {
      int64_t row = 0;
      for (size_t i = 0; i < last; ++i) {
        position[i] = axes_[i].start(at_[i]) + k[i] * axes_[i].dilation;
        row = (row + position[i]) * axes_[i + 1].in;
      }
      for (int64_t j = first[last]; j < end[last]; ++j) {
        poll.did(1);
        position[last] = axes_[last].start(at_[last]) + j * axes_[last].dilation;
        f(row + position[last], position);
      }
      size_t i = last;
      for (; i-- > 0; k[i] = first[i])
        if (++k[i] < end[i]) break;
      if (i == static_cast<size_t>(-1)) return;
    }
  }
  /// Elements of the window on the input.
  int64_t count_inside() const {
    int64_t n = 1;
    for (size_t i = 0; i < axes_.size(); ++i)
      n *= std::max<int64_t>(0, axes_[i].end_inside(at_[i]) - axes_[i].first_inside(at_[i]));
    return n;
  }
  /// Elements of the window on the input or its padding: a double, since padding may be larger than memory.
  double count_padded() const {
    double n = 1;
    for (size_t i = 0; i < axes_.size(); ++i) n *= static_cast<double>(axes_[i].count_padded(at_[i]));
    return n;
  }

 private:
  const WindowAxes& axes_;
  Shape at_;
  int64_t in_ = 1, out_ = 1;
};

/// Calls f(windows, plane of x, plane of y, index of the plane, index of the window, poll) for every window.
template <class T, class F>
void for_each_window(const WindowAxes& axes, const Tensor& x, Tensor& y, KernelContext& c, F&& f) {
  const PlaneWindows sizes(axes);
  if (sizes.out_plane() == 0) return;
  c.parallel(x.dim(0) * x.dim(1), 1, [&](int64_t begin, int64_t end) {
    PlaneWindows windows(axes);
    Poller poll(c);
    for (int64_t plane = begin; plane < end; ++plane) {
      const T* from = x.as<T>().data() + plane * windows.in_plane();
      T* to = y.as<T>().data() + plane * windows.out_plane();
      for (int64_t o = 0; o < windows.out_plane(); ++o) {
        windows.go_to(o);
        poll.did(1);
        f(windows, from, to, plane, o, poll);
      }
    }
  });
}

template <class T>
constexpr T lowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                          : std::numeric_limits<T>::lowest();

void max_pool(const MaxPool& op, KernelContext& c) {
  const Tensor x = in_compute_type(c.in(0), c);
  Tensor& out = c.out(0);
  ComputeOutput y(out, c);
  int64_t* indices = c.wants(1) ? c.out(1).as<int64_t>().data() : nullptr;
  const WindowAxes axes = op.axes(x.shape(), out.shape());
  for_type(x.type(), Types<float, double, int8_t, uint8_t>{}, [&]<class T> {
    for_each_window<T>(
        axes, x, y.tensor(), c,
        [&](const PlaneWindows& windows, const T* from, T* to, int64_t plane, int64_t o, Poller& poll) {
          T best = lowest<T>;
          int64_t best_index = -1;
          windows.for_each_inside(poll, [&](int64_t at, const Shape& position) {
            const bool greater = from[at] > best || from[at] != from[at];
            if (!greater && best_index >= 0) return;
            best = from[at];
            if (!indices) {
              best_index = at;
              return;
            }
            best_index = plane * windows.in_plane();
            if (!op.column_major) {
              best_index += at;
            } else {
              int64_t stride = 1;
              for (size_t i = 0; i < position.size(); stride *= axes[i].in, ++i)
                best_index += position[i] * stride;
            }
          });
          to[o] = best;
          if (indices) indices[plane * windows.out_plane() + o] = best_index;
        });
  });
  y.finish();
}

void average_pool(const AveragePool& op, KernelContext& c) {
  const Tensor x = in_compute_type(c.in(0), c);
  ComputeOutput y(c.out(0), c);
  for_type(x.type(), pooled_floats, [&]<class T> {
    for_each_window<T>(
        op.axes(x.shape(), y.tensor().shape()), x, y.tensor(), c,
        [&](const PlaneWindows& windows, const T* from, T* to, int64_t, int64_t o, Poller& poll) {
          double sum = 0;
          windows.for_each_inside(poll,
                                  [&](int64_t at, const Shape&) { sum += static_cast<double>(from[at]); });
          const double count =
              op.count_include_pad ? windows.count_padded() : static_cast<double>(windows.count_inside());
          to[o] = static_cast<T>(count > 0 ? sum / count : 0);
        });
  });
  y.finish();
}

void lp_pool(const LpPool& op, KernelContext& c) {
  const Tensor x = in_compute_type(c.in(0), c);
  ComputeOutput y(c.out(0), c);
  const double p = static_cast<double>(op.p);
  for_type(x.type(), pooled_floats, [&]<class T> {
    for_each_window<T>(
        op.axes(x.shape(), y.tensor().shape()), x, y.tensor(), c,
        [&](const PlaneWindows& windows, const T* from, T* to, int64_t, int64_t o, Poller& poll) {
          double sum = 0;
          windows.for_each_inside(poll, [&](int64_t at, const Shape&) {
            sum += std::pow(std::abs(static_cast<double>(from[at])), p);
          });
          to[o] = static_cast<T>(std::pow(sum, 1 / p));
        });
  });
  y.finish();
}

/// y = result(accumulated state) for every plane, the state being moved on by step(state, element).
template <class Step, class Result>
void pool_planes(KernelContext& c, double start, Step&& step, Result&& result) {
  const Tensor x = in_compute_type(c.in(0), c);
  ComputeOutput y(c.out(0), c);
  const int64_t plane = count_between(x.shape(), 2, x.rank());
  for_type(x.type(), pooled_floats, [&]<class T> {
    T* to = y.tensor().as<T>().data();
    c.parallel(y.tensor().size(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* from = x.as<T>().data() + i * plane;
        double state = start;
        for (int64_t k = 0; k < plane; ++k) {
          if ((k & 65535) == 0) c.poll();
          state = step(state, static_cast<double>(from[k]));
        }
        to[i] = static_cast<T>(result(state, static_cast<double>(plane)));
      }
    });
  });
  y.finish();
}

void global_average_pool(const GlobalPool&, KernelContext& c) {
  pool_planes(
      c, 0, [](double sum, double x) { return sum + x; },
      [](double sum, double count) { return sum / count; });
}

void global_max_pool(const GlobalPool&, KernelContext& c) {
  pool_planes(
      c, lowest<double>, [](double best, double x) { return x > best || std::isnan(x) ? x : best; },
      [](double best, double) { return best; });
}

void global_lp_pool(const GlobalLpPool& op, KernelContext& c) {
  const double p = static_cast<double>(op.p);
  pool_planes(
      c, 0, [p](double sum, double x) { return sum + std::pow(std::abs(x), p); },
      [p](double sum, double) { return std::pow(sum, 1 / p); });
}

void max_unpool(const MaxUnpool& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const auto indices = c.in(1).as<int64_t>();
  const UnpoolOffsets offset_of(op, c);
  Tensor& y = c.out(0, x.type(), offset_of.shape);
  for_size(x.type(), [&]<class T> {
    const auto from = x.as<T>();
    const auto to = y.as<T>();
    Poller(c).fill(to.data(), y.size(), T{});
    for (size_t i = 0; i < from.size(); ++i) {
      if ((i & 65535) == 0) c.poll();
      to[static_cast<size_t>(offset_of(indices[i]))] = from[i];
    }
  });
}

}  // namespace

void reference_pool(KernelCatalog& k) {
  k.reference<MaxPool>("MaxPool", max_pool);
  k.reference<AveragePool>("AveragePool", average_pool);
  k.reference<LpPool>("LpPool", lp_pool);
  k.reference<GlobalPool>("GlobalAveragePool", global_average_pool);
  k.reference<GlobalPool>("GlobalMaxPool", global_max_pool);
  k.reference<GlobalLpPool>("GlobalLpPool", global_lp_pool);
  k.reference<MaxUnpool>("MaxUnpool", max_unpool);
}

}  // namespace lathe
