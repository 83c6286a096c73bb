// Resize, nearest (any elements of whole bytes) and linear (float32): where each axis reads from is worked
// out once; rows of the output are then gathered, of linear ones from a blend of the input's rows.
#include <algorithm>
#include <thread>
#include <utility>

#include "cpu/ask.h"
#include "cpu/finish_behind.h"
#include "cpu/lines.h"
#include "cpu/move.h"
#include "cpu/sample.h"
#include "ops/compute.h"
#include "ops/resize/resize_samples.h"

namespace lathe {
namespace {

Verdict ask(const Resize& op, const KernelRequest& r) {
  if (op.coordinate_transformation_mode.starts_with("tf_")) return Verdict::no("TensorFlow's coordinates");
  if (op.mode == "nearest") return cpu::refuse_unless_movable(r);
  if (op.mode != "linear") return Verdict::no("mode " + op.mode);
  if (op.antialias) return Verdict::no("antialias");
  // Rows are blended from the corners of a cube, and each axis doubles them.
  if (!r.inputs[0].shape || r.inputs[0].shape->size() > 6) return Verdict::no("linear: more than 6 axes");
  return r.inputs[0].type == DataType::float32 ? Verdict::yes() : Verdict::no("linear: only float32");
}

/// The last axis that changes is `row`; those behind it stay together as `inner` elements.
struct Rows {
  size_t axis;
  int64_t outer = 1, inner = 1;
  Rows(const ResizeJob& job) : axis(job.axes.empty() ? 0 : job.axes.size() - 1) {
    while (axis > 0 && is_whole(job.axes[axis])) inner *= job.axes[axis--].in;
    for (size_t a = 0; a < axis; ++a) outer *= job.axes[a].out;
  }
  static bool is_whole(const AxisToResize& a) { return a.in == a.out && a.scale == 1; }
};

/// What all axes read, and the distance of the input's indices along each.
struct Samples {
  std::pmr::vector<AxisSamples> axes;
  Shape strides;
  Samples(const Resize& op, const ResizeJob& job, KernelContext& c)
      : axes(c.scratch()), strides(row_major(c.in(0).shape())) {
    axes.reserve(job.axes.size());
    for (const AxisToResize& a : job.axes) axes.push_back(sample_axis(op, a, c));
  }
};

template <class T>
void nearest(const ResizeJob& job, const Samples& s, const Rows& rows, const T* in, T* out,
             KernelContext& c) {
  const AxisToResize& last = job.axes[rows.axis];
  const int64_t* columns = s.axes[rows.axis].index.data();
  const int64_t length = last.out * rows.inner;
  c.parallel(rows.outer, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, length)),
             [&](int64_t begin, int64_t end) {
               Poller poll(c);
               cpu::FinishBehind behind(c.epilogue(), begin * length);
               const T* before = nullptr;
               for (int64_t row = begin; row < end; ++row) {
                 const T* from = in;
                 for (int64_t rest = row, a = static_cast<int64_t>(rows.axis); a-- > 0;) {
                   const auto axis = static_cast<size_t>(a);
                   const int64_t size = job.axes[axis].out;
                   from += s.axes[axis].index[static_cast<size_t>(rest % size)] * s.strides[axis];
                   rest /= size;
                 }
                 T* to = out + row * length;
                 if (std::exchange(before, from) == from) {
                   poll.copy(to - length, length, to);
                   continue;
                 }
                 behind.computed(row * length);
                 if (rows.inner == 1) {
                   poll.pieces(last.out, 1, [&](int64_t first, int64_t stop) {
                     for (int64_t i = first; i < stop; ++i) to[i] = from[columns[i]];
                   });
                 } else {
                   for (int64_t i = 0; i < last.out; ++i)
                     poll.copy(from + columns[i] * rows.inner, rows.inner, to + i * rows.inner);
                 }
               }
               behind.finish(end * length);
             });
}

/// Does each axis repeat its elements a whole number of times?
bool repeats(const ResizeJob& job, const Samples& s, KernelContext& c) {
  Poller poll(c);
  for (size_t a = 0; a < job.axes.size(); ++a) {
    const AxisToResize& axis = job.axes[a];
    const int64_t times = axis.out / axis.in;
    if (times * axis.in != axis.out) return false;
    const int64_t* index = s.axes[a].index.data();
    for (int64_t i = 0; i < axis.in; ++i, poll.did(times))
      for (int64_t k = 0; k < times; ++k)
        if (*index++ != i) return false;
  }
  return true;
}

/// Axes become two where elements are repeated, the inner one of which stands still in the input; those
/// before them are one, up to the last that was repeated.
void repeat(const ResizeJob& job, const Samples& s, KernelContext& c) {
  Shape shape, strides;
  bool joins = false;
  for (size_t a = 0; a < job.axes.size(); ++a) {
    const AxisToResize& axis = job.axes[a];
    if (joins) {
      shape.back() *= axis.in;
      strides.back() = s.strides[a];
    } else {
      shape.push_back(axis.in);
      strides.push_back(s.strides[a]);
    }
    joins = axis.out == axis.in;
    if (joins) continue;
    shape.push_back(axis.out / axis.in);
    strides.push_back(0);
  }
  cpu::move({c.in(0).data(), strides}, c.out(0).data(), row_major(shape), shape, cpu::element_bytes(c.in(0)),
            c, c.epilogue());
}

/// What linear rows have in common.
struct LinearRows {
  LinearRows(Isa isa, const ResizeJob& job, const Samples& s, const Rows& rows, KernelContext& c)
      : kernels(cpu::sample_kernels(isa)),
        job(job),
        s(s),
        rows(rows),
        width(job.axes[rows.axis].in * rows.inner),
        places(c.scratch()),
        weights(c.scratch()) {
    const AxisSamples& along = s.axes[rows.axis];
    const auto n = static_cast<size_t>(job.axes[rows.axis].out);
    if (rows.inner != 1 || width > INT32_MAX) return;
    places.resize(2 * n);
    weights.resize(2 * n);
    Poller poll(c);
    for (size_t i = 0; i < n; ++i, poll.did(4))
      for (size_t side : {size_t{0}, size_t{1}}) {
        places[side * n + i] = static_cast<int32_t>(along.index[2 * i + side]);
        weights[side * n + i] = static_cast<float>(along.weight[2 * i + side]);
      }
    single = {places.data(), places.data() + n, weights.data(), weights.data() + n, static_cast<int64_t>(n)};
    bool near = true;
    poll.pieces(single.n, 4, [&](int64_t begin, int64_t end) {
      near = near &&
             kernels.are_near({single.left + begin, single.right + begin, nullptr, nullptr, end - begin});
    });
    if (near) between = kernels.between_near;
  }

  const cpu::SampleKernels& kernels;
  const ResizeJob& job;
  const Samples& s;
  const Rows& rows;
  int64_t width;  // of the input's rows, in elements
  std::pmr::vector<int32_t> places;
  std::pmr::vector<float> weights;
  cpu::RowSamples single;  // of rows whose elements are sampled one by one
  void (*between)(const cpu::RowSamples&, const float*, float*) = kernels.between;
};

/// A row of the input, and how much it counts in one of the output.
struct Source {
  const float* data;
  double weight;
};
using Sources = InlineVector<Source, 8>;

/// The input's rows that a row of the output is made of.
Sources sources(const LinearRows& l, int64_t row, const float* in) {
  Sources found{{in, 1.0}};
  for (size_t axis = l.rows.axis; axis-- > 0;) {
    const int64_t size = l.job.axes[axis].out, place = row % size;
    row /= size;
    const AxisSamples& s = l.s.axes[axis];
    const Sources before = std::exchange(found, {});
    for (const Source& x : before)
      for (auto tap = static_cast<size_t>(2 * place); tap < static_cast<size_t>(2 * place + 2); ++tap)
        if (s.weight[tap] != 0)
          found.push_back({x.data + s.index[tap] * l.s.strides[axis], x.weight * s.weight[tap]});
  }
  return found;
}

/// One row of the output: the input's rows that count, blended, then sampled along the row.
void blend_row(const LinearRows& l, int64_t row, const float* in, float* blended, float* to, Poller& poll) {
  const auto from = sources(l, row, in);
  poll.pieces(
      l.width, std::max<int64_t>(1, static_cast<int64_t>(from.size())), [&](int64_t begin, int64_t end) {
        float* const at = blended + begin;
        if (from.empty()) return void(std::fill(at, blended + end, 0.0f));
        const bool two = from.size() > 1;
        const Source &x = from[0], &y = from[two ? 1 : 0];
        l.kernels.blend(x.data + begin, y.data + begin, static_cast<float>(x.weight),
                        two ? static_cast<float>(y.weight) : 0, at, end - begin);
        for (size_t i = 2; i < from.size(); ++i)
          l.kernels.blend(at, from[i].data + begin, 1, static_cast<float>(from[i].weight), at, end - begin);
      });
  if (l.single.n > 0)
    return poll.pieces(l.single.n, 1, [&](int64_t begin, int64_t end) {
      l.between({l.single.left + begin, l.single.right + begin, l.single.a + begin, l.single.b + begin,
                 end - begin},
                blended, to + begin);
    });
  const AxisSamples& along = l.s.axes[l.rows.axis];
  const int64_t inner = l.rows.inner;
  poll.pieces(l.job.axes[l.rows.axis].out, inner, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto tap = static_cast<size_t>(2 * i);
      l.kernels.blend(blended + along.index[tap] * inner, blended + along.index[tap + 1] * inner,
                      static_cast<float>(along.weight[tap]), static_cast<float>(along.weight[tap + 1]),
                      to + i * inner, inner);
    }
  });
}

/// Floats of a blended row that lie on the stack.
constexpr size_t near_row = 4096;

void linear(const LinearRows& l, const float* in, float* out, KernelContext& c) {
  const int64_t length = l.job.axes[l.rows.axis].out * l.rows.inner;
  c.parallel(l.rows.outer, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, length)),
             [&](int64_t begin, int64_t end) {
               alignas(64) float near[near_row];
               const auto needed = static_cast<size_t>(l.width + cpu::behind_row);
               std::pmr::vector<float> far(needed > near_row ? needed : 0, c.scratch());
               Poller poll(c);
               cpu::FinishBehind behind(c.epilogue(), begin * length);
               for (int64_t row = begin; row < end; ++row) {
                 blend_row(l, row, in, far.empty() ? near : far.data(), out + row * length, poll);
                 behind.computed((row + 1) * length);
               }
               behind.finish(end * length);
             });
}

template <Isa isa>
void run(const Resize& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  const ResizeJob job(op, c);
  Tensor& out = c.out(0, in.type(), job.shape());
  if (out.size() == 0) return;
  if (in.size() == 0) c.fail(Code::run_bad_value, "elements to resize", describe(in));
  if (in.rank() == 0) {
    std::memcpy(out.data(), in.data(), in.bytes());
    return cpu::FinishBehind(c.epilogue(), 0).finish(1);
  }
  const Samples samples(op, job, c);
  const Rows rows(job);
  if (op.mode == "linear")
    return linear(LinearRows(isa, job, samples, rows, c), cpu::floats(in), cpu::floats(out), c);
  if (repeats(job, samples, c)) return repeat(job, samples, c);
  for_size(in.type(),
           [&]<class T> { nearest<T>(job, samples, rows, in.as<T>().data(), out.as<T>().data(), c); });
}

/// Tables along each axis, and of linear ones those of a row once more, with blended rows that are long. What
/// stays as long as it is is taken for whole: where it is not, a little less is needed.
std::optional<size_t> scratch(const Resize& op, std::span<const Shape> inputs,
                              std::span<const Shape> outputs) {
  const Shape &from = inputs[0], &to = outputs[0];
  if (from.size() != to.size()) return std::nullopt;
  const auto lines = [](int64_t n, size_t each) { return cpu::whole_lines(static_cast<size_t>(n) * each); };
  const bool linear = op.mode == "linear";
  const int64_t taps = linear ? 2 : 1;
  size_t bytes = lines(static_cast<int64_t>(to.size()), sizeof(AxisSamples));
  for (int64_t n : to)
    bytes += lines(n * taps, sizeof(int64_t)) + lines(n, 1) + (linear ? lines(n * taps, sizeof(double)) : 0);
  if (!linear || to.empty() || count_of(to) == 0) return bytes;
  size_t row = to.size() - 1;
  int64_t width = from[row], rows = 1;
  while (row > 0 && from[row] == to[row]) width *= from[--row];
  for (size_t a = 0; a < row; ++a) rows *= to[a];
  bytes += lines(2 * to.back(), sizeof(int32_t)) + lines(2 * to.back(), sizeof(float));
  if (const int64_t needed = width + cpu::behind_row; needed > static_cast<int64_t>(near_row))
    bytes += lines(needed, sizeof(float)) *
             static_cast<size_t>(std::min<int64_t>(rows, std::max(1U, std::thread::hardware_concurrency())));
  return bytes;
}

}  // namespace

void cpu_resize(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<Resize>({.op = "Resize",
                   .name = cpu::kernel_name("resize", isa),
                   .isa = isa,
                   .finishes = true,
                   .temporaries = true},
                  {.run = run<isa>, .ask = ask, .scratch = scratch});
  });
}

}  // namespace lathe
