// Resize, nearest (any elements of whole bytes), linear and cubic (float32): the samples of each axis are
// computed once; rows of the output are then gathered, those of linear and cubic ones from a blend of the
// input's rows.
#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "cpu/elementwise.h"
#include "cpu/movement.h"
#include "cpu/sampling.h"
#include "cpu/support.h"
#include "ops/compute.h"
#include "ops/resize/resize_samples.h"

namespace lathe {
namespace {

Support supports(const Resize& op, const KernelQuery& r) {
  if (op.coordinate_transformation_mode.starts_with("tf_")) return Support::no("TensorFlow's coordinates");
  if (op.mode == "nearest") return cpu::refuse_unless_movable(r);
  // Rows are blended from the corners of a cube, and each axis doubles them, or has four times as many.
  if (!r.inputs[0].shape || r.inputs[0].shape->size() > 6) return Support::no(op.mode + ": more than 6 axes");
  return r.inputs[0].type == DataType::float32 ? Support::yes() : Support::no(op.mode + ": only float32");
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

/// The samples of all axes, and the input's stride along each.
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
               cpu::StreamingEpilogue behind(c.epilogue(), begin * length);
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
               behind.flush(end * length);
             });
}

/// Returns whether each axis repeats its elements a whole number of times.
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

/// Axes become two if elements are repeated, the inner of which has a stride of 0 in the input; the other
/// axes are joined to the next one.
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

/// Rows of so many elements that are blended at once.
constexpr size_t max_sources = 16;

/// The sum of an axis's taps at a position, of rows of n elements that follow one another.
void blend_taps(const cpu::SampleKernels& kernels, const AxisSamples& s, int64_t position, const float* from,
                float* to, int64_t n) {
  std::array<cpu::WeightedRow, max_sources> rows;
  size_t count = 0;
  bool adds = false;
  const auto blend = [&] {
    kernels.blend(rows.data(), std::exchange(count, 0), std::exchange(adds, true), to, n);
  };
  for (auto tap = static_cast<size_t>(position * s.taps), end = tap + static_cast<size_t>(s.taps); tap < end;
       ++tap) {
    if (s.weight[tap] == 0) continue;
    if (count == max_sources) blend();
    rows[count++] = {from + s.index[tap] * n, static_cast<float>(s.weight[tap])};
  }
  if (count > 0 || !adds) blend();
}

/// The tables that all blended rows share.
struct BlendedRows {
  BlendedRows(Isa isa, const ResizeJob& job, const Samples& s, const Rows& rows, KernelContext& c)
      : kernels(cpu::sample_kernels(isa)),
        job(job),
        s(s),
        rows(rows),
        width(job.axes[rows.axis].in * rows.inner),
        places(c.scratch()),
        weights(c.scratch()) {
    Poller poll(c);
    const AxisSamples& along = s.axes[rows.axis];
    const int64_t n = job.axes[rows.axis].out;
    if (rows.inner != 1 || width > INT32_MAX) return;
    places.resize(static_cast<size_t>(n * along.taps));
    weights.resize(static_cast<size_t>(n * along.taps));
    for (int64_t i = 0, from = 0; i < n; ++i, poll.did(2 * along.taps))
      for (int64_t tap = 0; tap < along.taps; ++tap, ++from) {
        places[static_cast<size_t>(tap * n + i)] =
            static_cast<int32_t>(along.index[static_cast<size_t>(from)]);
        weights[static_cast<size_t>(tap * n + i)] =
            static_cast<float>(along.weight[static_cast<size_t>(from)]);
      }
    single = {places.data(), weights.data(), along.taps, n, n};
    for (int64_t tap = 0; tap < along.taps; ++tap)
      poll.pieces(n, 4, [&](int64_t begin, int64_t end) {
        const int32_t* const at = single.at + tap * n + begin;
        near = near && kernels.are_near({at, at, nullptr, nullptr, end - begin});
      });
  }
  /// Samples [begin, end) of a blended row whose elements are sampled one by one.
  void sample(const float* row, int64_t begin, int64_t end, float* to) const {
    const int32_t* const at = single.at + begin;
    const float* const weight = single.weight + begin;
    const int64_t n = single.stride;
    if (single.taps == 2)
      return (near ? kernels.between_near : kernels.between)({at, at + n, weight, weight + n, end - begin},
                                                             row, to + begin);
    (near ? kernels.weigh_near : kernels.weigh)({at, weight, single.taps, n, end - begin}, row, to + begin);
  }
  /// The same of rows of `inner` elements each.
  void sample_together(const float* row, int64_t begin, int64_t end, float* to) const {
    for (int64_t i = begin; i < end; ++i)
      blend_taps(kernels, s.axes[rows.axis], i, row, to + i * rows.inner, rows.inner);
  }

  const cpu::SampleKernels& kernels;
  const ResizeJob& job;
  const Samples& s;
  const Rows& rows;
  int64_t width;  // of the input's rows, in elements
  std::pmr::vector<int32_t> places;
  std::pmr::vector<float> weights;
  cpu::RowTaps single;  // of rows whose elements are sampled one by one
  bool near = true;
};

/// One row of the output after the other: the input's rows that count, blended, then sampled along the row.
class RowBlender {
 public:
  RowBlender(const BlendedRows& rows, const float* in, KernelContext& c)
      : l_(rows), in_(in), far_(c.scratch()), poll_(c) {
    if (const auto needed = static_cast<size_t>(l_.width + cpu::behind_row); needed > near_row)
      far_.resize(needed);
  }
  /// The most floats of a blended row that is kept on the stack.
  static constexpr size_t near_row = 4096;

  void make(int64_t row, float* to) {
    find_sources(row);
    float* const blended = far_.empty() ? near_ : far_.data();
    poll_.pieces(l_.width, std::max<int64_t>(1, static_cast<int64_t>(count_)),
                 [&](int64_t begin, int64_t end) {
                   l_.kernels.blend(found_, count_, false, blended + begin, end - begin);
                   for (size_t i = 0; i < count_; ++i) found_[i].data += end - begin;
                 });
    if (l_.single.n > 0)
      return poll_.pieces(l_.single.n, l_.single.taps,
                          [&](int64_t begin, int64_t end) { l_.sample(blended, begin, end, to); });
    poll_.pieces(l_.job.axes[l_.rows.axis].out, l_.rows.inner,
                 [&](int64_t begin, int64_t end) { l_.sample_together(blended, begin, end, to); });
  }

 private:
  /// Finds the input's rows that a row of the output is computed from.
  void find_sources(int64_t row) {
    found_[0] = {in_, 1};
    count_ = 1;
    for (size_t axis = l_.rows.axis; axis-- > 0;) {
      const int64_t size = l_.job.axes[axis].out, place = row % size;
      row /= size;
      const AxisSamples& s = l_.s.axes[axis];
      if (Rows::is_whole(l_.job.axes[axis])) {
        for (size_t i = 0; i < count_; ++i) found_[i].data += place * l_.s.strides[axis];
        continue;
      }
      std::swap(found_, before_);
      const size_t before = std::exchange(count_, 0);
      for (size_t i = 0; i < before; ++i)
        for (auto tap = static_cast<size_t>(s.taps * place), end = tap + static_cast<size_t>(s.taps);
             tap < end; ++tap)
          if (s.weight[tap] != 0)
            found_[count_++] = {before_[i].data + s.index[tap] * l_.s.strides[axis],
                                before_[i].weight * static_cast<float>(s.weight[tap])};
    }
  }

  const BlendedRows& l_;
  const float* in_;
  std::array<std::array<cpu::WeightedRow, max_sources>, 2> sources_;
  cpu::WeightedRow *found_ = sources_[0].data(), *before_ = sources_[1].data();
  size_t count_ = 0;
  std::pmr::vector<float> far_;
  Poller poll_;
  alignas(64) float near_[near_row];
};

void blend(const BlendedRows& l, const float* in, float* out, KernelContext& c) {
  const int64_t length = l.job.axes[l.rows.axis].out * l.rows.inner;
  c.parallel(l.rows.outer, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, length)),
             [&](int64_t begin, int64_t end) {
               RowBlender rows(l, in, c);
               cpu::StreamingEpilogue behind(c.epilogue(), begin * length);
               for (int64_t row = begin; row < end; ++row) {
                 rows.make(row, out + row * length);
                 behind.computed((row + 1) * length);
               }
               behind.flush(end * length);
             });
}

/// Resizes axes one by one until a row of the output is computed from few of the input: a stretched filter
/// reaches many.
class FewSources {
 public:
  FewSources(Isa isa, ResizeJob& job, Samples& s, const Rows& rows, const float* in, KernelContext& c)
      : in_(in), before_(c.scratch()), after_(c.scratch()) {
    for (size_t a = 0; a < rows.axis && sources(job, s, rows) > max_sources; ++a)
      if (!Rows::is_whole(job.axes[a])) resize(isa, job, s, a, c);
  }
  const float* data() const { return in_; }

 private:
  static double sources(const ResizeJob& job, const Samples& s, const Rows& rows) {
    double n = 1;
    for (size_t a = 0; a < rows.axis; ++a)
      if (!Rows::is_whole(job.axes[a])) n *= static_cast<double>(s.axes[a].taps);
    return n;
  }
  /// Resizes the middle axis of [outer, in, inner].
  void resize(Isa isa, ResizeJob& job, Samples& s, size_t axis, KernelContext& c) {
    AxisToResize& a = job.axes[axis];
    const AxisSamples& along = s.axes[axis];
    int64_t outer = 1, inner = 1;
    for (size_t b = 0; b < axis; ++b) outer *= job.axes[b].in;
    for (size_t b = axis + 1; b < job.axes.size(); ++b) inner *= job.axes[b].in;
    after_ = std::pmr::vector<float>(
        static_cast<size_t>(checked_count(Shape{outer, a.out, inner}, DataType::float32, "resized axis")),
        after_.get_allocator());
    const cpu::SampleKernels& kernels = cpu::sample_kernels(isa);
    c.parallel(outer * a.out, std::max<int64_t>(1, 16384 / (inner * along.taps)),
               [&](int64_t begin, int64_t end) {
                 Poller poll(c);
                 for (int64_t row = begin; row < end; ++row) {
                   blend_taps(kernels, along, row % a.out, in_ + row / a.out * a.in * inner,
                              after_.data() + row * inner, inner);
                   poll.did(inner * along.taps);
                 }
               });
    before_.swap(after_);
    in_ = before_.data();
    a = {a.out, a.out, 1, static_cast<float>(a.out)};
    Shape shape;
    for (const AxisToResize& b : job.axes) shape.push_back(b.in);
    s.strides = row_major(shape);
  }

  const float* in_;
  std::pmr::vector<float> before_, after_;
};

template <Isa isa>
void run(const Resize& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  ResizeJob job(op, c);
  Tensor& out = c.out(0, in.type(), job.shape());
  if (out.size() == 0) return;
  if (in.size() == 0) c.fail(Code::run_bad_value, "elements to resize", describe(in));
  if (in.rank() == 0) {
    std::memcpy(out.data(), in.data(), in.bytes());
    return cpu::StreamingEpilogue(c.epilogue(), 0).flush(1);
  }
  Samples samples(op, job, c);
  const Rows rows(job);
  if (op.mode != "nearest") {
    const FewSources from(isa, job, samples, rows, cpu::floats(in), c);
    return blend(BlendedRows(isa, job, samples, rows, c), from.data(), cpu::floats(out), c);
  }
  if (repeats(job, samples, c)) return repeat(job, samples, c);
  for_size(in.type(),
           [&]<class T> { nearest<T>(job, samples, rows, in.as<T>().data(), out.as<T>().data(), c); });
}

/// The memory of tables along each axis, for blending also of a row's table once more, of axes that are
/// resized one by one and of long blended rows. Axes of unchanged length are assumed to be unchanged: if one
/// is not, a little less is needed, or one array more.
std::optional<size_t> scratch(const Resize& op, std::span<const Shape> inputs,
                              std::span<const Shape> outputs) {
  const Shape &from = inputs[0], &to = outputs[0];
  if (from.size() != to.size()) return std::nullopt;
  const auto lines = [](int64_t n, size_t each) { return cpu::whole_lines(static_cast<size_t>(n) * each); };
  const bool blends = op.mode != "nearest";
  // If all axes share one scale, sizes are rounded. A scale that leaves nothing is refused.
  const float rounded = op.keep_aspect_ratio_policy == "stretch" ? 0 : 0.5f;
  const auto taps = [&](size_t a) -> int64_t {
    if (!op.antialias || from[a] <= 0 || to[a] <= 0) return static_cast<int64_t>(filter_taps(op, 1));
    const float scale = (static_cast<float>(to[a]) - rounded) / static_cast<float>(from[a]);
    return static_cast<int64_t>(std::min(filter_taps(op, scale), 8.0 * static_cast<double>(from[a]) + 18));
  };
  size_t bytes = lines(static_cast<int64_t>(to.size()), sizeof(AxisSamples));
  for (size_t a = 0; a < to.size(); ++a)
    bytes += lines(to[a] * taps(a), sizeof(int64_t)) + lines(to[a], 1) +
             (blends ? lines(to[a] * taps(a), sizeof(double)) : 0);
  if (!blends || to.empty() || count_of(to) == 0) return bytes;
  size_t row = to.size() - 1;
  int64_t width = from[row], rows = 1;
  while (row > 0 && from[row] == to[row]) width *= from[--row];
  double sources = 1;
  for (size_t a = 0; a < row; ++a) {
    rows *= to[a];
    if (from[a] != to[a]) sources *= static_cast<double>(taps(a));
  }
  // The arrays of axes that are resized one by one are not freed before the end.
  Shape made = from;
  for (size_t a = 0; a < row && sources > max_sources; ++a) {
    if (from[a] == to[a]) continue;
    sources /= static_cast<double>(taps(a));
    made[a] = to[a];
    bytes += lines(count_of(made), sizeof(float));
  }
  const int64_t along = taps(to.size() - 1);
  bytes += lines(along * to.back(), sizeof(int32_t)) + lines(along * to.back(), sizeof(float));
  if (const int64_t needed = width + cpu::behind_row; needed > static_cast<int64_t>(RowBlender::near_row))
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
                   .fuses_epilogue = true,
                   .temporaries = true},
                  {.run = run<isa>, .supports = supports, .scratch = scratch});
  });
}

}  // namespace lathe
