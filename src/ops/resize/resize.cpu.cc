// Resize, nearest (any elements of whole bytes) and linear (float32): where each axis reads from is worked
// out once; rows of the output are then gathered, of linear ones from a blend of the input's rows.
#include "cpu/ask.h"
#include "cpu/move.h"
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
               for (int64_t row = begin; row < end; ++row) {
                 const T* from = in;
                 for (int64_t rest = row, a = static_cast<int64_t>(rows.axis); a-- > 0;) {
                   const auto axis = static_cast<size_t>(a);
                   const int64_t size = job.axes[axis].out;
                   from += s.axes[axis].index[static_cast<size_t>(rest % size)] * s.strides[axis];
                   rest /= size;
                 }
                 T* to = out + row * length;
                 if (rows.inner == 1) {
                   poll.pieces(last.out, 1, [&](int64_t first, int64_t stop) {
                     for (int64_t i = first; i < stop; ++i) to[i] = from[columns[i]];
                   });
                 } else {
                   for (int64_t i = 0; i < last.out; ++i)
                     poll.copy(from + columns[i] * rows.inner, rows.inner, to + i * rows.inner);
                 }
               }
             });
}

/// One row of the output: the input's rows that count, blended, then sampled along the row.
void blend_row(const ResizeJob& job, const Samples& s, const Rows& rows, int64_t row, const float* in,
               float* blend, float* to, Poller& poll) {
  const int64_t width = job.axes[rows.axis].in * rows.inner;
  const size_t corners = size_t{1} << rows.axis;
  bool first = true;
  for (size_t corner = 0; corner < corners; ++corner) {
    const float* from = in;
    double weight = 1;
    int64_t rest = row;
    for (size_t axis = rows.axis; axis-- > 0;) {
      const int64_t size = job.axes[axis].out;
      const auto tap = static_cast<size_t>(2 * (rest % size)) + (corner >> axis & 1);
      from += s.axes[axis].index[tap] * s.strides[axis];
      weight *= s.axes[axis].weight[tap];
      rest /= size;
    }
    if (weight == 0) continue;
    const auto w = static_cast<float>(weight);
    poll.pieces(width, 1, [&](int64_t begin, int64_t end) {
      if (first)
        for (int64_t i = begin; i < end; ++i) blend[i] = w * from[i];
      else
        for (int64_t i = begin; i < end; ++i) blend[i] += w * from[i];
    });
    first = false;
  }
  if (first) std::fill_n(blend, width, 0.0f);
  const AxisSamples& along = s.axes[rows.axis];
  poll.pieces(job.axes[rows.axis].out, rows.inner, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto tap = static_cast<size_t>(2 * i);
      const auto a = static_cast<float>(along.weight[tap]), b = static_cast<float>(along.weight[tap + 1]);
      const float *left = blend + along.index[tap] * rows.inner,
                  *right = blend + along.index[tap + 1] * rows.inner;
      // A weight of 0 leaves out what may be infinite.
      for (int64_t k = 0; k < rows.inner; ++k)
        to[i * rows.inner + k] = (a == 0 ? 0 : a * left[k]) + (b == 0 ? 0 : b * right[k]);
    }
  });
}

void linear(const ResizeJob& job, const Samples& s, const Rows& rows, const float* in, float* out,
            KernelContext& c) {
  const int64_t width = job.axes[rows.axis].in * rows.inner, length = job.axes[rows.axis].out * rows.inner;
  c.parallel(rows.outer, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, length)),
             [&](int64_t begin, int64_t end) {
               std::pmr::vector<float> blend(static_cast<size_t>(width), c.scratch());
               Poller poll(c);
               for (int64_t row = begin; row < end; ++row)
                 blend_row(job, s, rows, row, in, blend.data(), out + row * length, poll);
             });
}

void run(const Resize& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  const ResizeJob job(op, c);
  Tensor& out = c.out(0, in.type(), job.shape());
  if (out.size() == 0) return;
  if (in.size() == 0) c.fail(Code::run_bad_value, "elements to resize", describe(in));
  if (in.rank() == 0) return void(std::memcpy(out.data(), in.data(), in.bytes()));
  const Samples samples(op, job, c);
  const Rows rows(job);
  if (op.mode == "linear") return linear(job, samples, rows, cpu::floats(in), cpu::floats(out), c);
  for_size(in.type(),
           [&]<class T> { nearest<T>(job, samples, rows, in.as<T>().data(), out.as<T>().data(), c); });
}

}  // namespace

void cpu_resize(KernelCatalog& k) {
  k.add<Resize>({.op = "Resize", .name = cpu::kernel_name("resize", Isa::generic), .temporaries = true},
                {.run = run, .ask = ask});
}

}  // namespace lathe
