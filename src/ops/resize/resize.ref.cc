#include <complex>

#include "ops/movement.h"
#include "ops/numeric_store.h"
#include "ops/resize/resize_samples.h"

namespace lathe {
namespace {

/// Resizes the middle axis of [outer, in, inner].
std::pmr::vector<double> resize_axis(const std::pmr::vector<double>& from, const AxisSamples& s,
                                     const AxisToResize& a, int64_t inner, double outside, KernelContext& c) {
  const int64_t outer = static_cast<int64_t>(from.size()) / (a.in * inner);
  const int64_t count = checked_count(Shape{outer, a.out, inner}, DataType::float64, "resized axis");
  std::pmr::vector<double> to(static_cast<size_t>(count), c.scratch());
  c.parallel(outer * a.out, std::max<int64_t>(1, 16384 / (inner * s.taps)), [&](int64_t begin, int64_t end) {
    Poller poll(c);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t o = row / a.out, position = row % a.out;
      double* out = to.data() + row * inner;
      poll.did(inner * s.taps);
      if (s.outside[static_cast<size_t>(position)]) {
        std::fill(out, out + inner, outside);
        continue;
      }
      for (int64_t k = 0; k < s.taps; ++k) {
        const auto tap = static_cast<size_t>(position * s.taps + k);
        const double w = s.weight[tap];
        if (w == 0) continue;
        const double* in = from.data() + (o * a.in + s.index[tap]) * inner;
        for (int64_t i = 0; i < inner; ++i) out[i] += w * in[i];
      }
    }
  });
  return to;
}

void resize_nearest(const Resize& op, const ResizeJob& job, const Tensor& in, Tensor& out, KernelContext& c) {
  const Shape strides = row_major(in.shape());
  IndexTables tables(c.scratch());
  for (size_t a = 0; a < in.rank(); ++a) {
    const AxisSamples s = sample_axis(op, job.axes[a], c);
    auto& table = tables.emplace_back(s.index);
    for (size_t i = 0; i < table.size(); ++i) table[i] = s.outside[i] ? -1 : s.index[i] * strides[a];
  }
  Tensor fill = in.type() == DataType::string ? Tensor(in.type(), {}) : temporary(c, in.type(), {});
  if (in.type() == DataType::complex64)
    fill.as<std::complex<float>>()[0] = static_cast<float>(op.extrapolation_value);
  else if (in.type() == DataType::complex128)
    fill.as<std::complex<double>>()[0] = op.extrapolation_value;
  else if (in.type() != DataType::string)
    store_double(fill, 0, op.extrapolation_value);
  fill = unpacked(fill);
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    copy_by_tables(from.data(), to.data(), out.shape(), tables, fill.as<T>()[0], c);
  });
}

/// The numbers themselves, or one part of complex ones.
void resize_part(const Resize& op, const ResizeJob& job, int64_t part, const Tensor& in, Tensor& out,
                 KernelContext& c) {
  std::pmr::vector<double> data(static_cast<size_t>(in.size()), c.scratch());
  const int64_t parts = parts_of(in.type());
  for_parts(in.type(), [&]<class T> {
    const T* from = static_cast<const T*>(in.data()) + part;
    c.parallel(in.size(), 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        data[static_cast<size_t>(i)] = static_cast<double>(Element<T>::load(from[i * parts]));
    });
  });
  const double outside = part == 0 ? op.extrapolation_value : 0;
  for (size_t a = 0; a < in.rank(); ++a) {
    const AxisToResize& axis = job.axes[a];
    const bool whole = op.coordinate_transformation_mode != "tf_crop_and_resize" ||
                       (axis.roi_start == 0 && axis.roi_end == 1);
    if (axis.in == axis.out && axis.scale == 1 && whole) continue;
    int64_t inner = 1;
    for (size_t b = a + 1; b < in.rank(); ++b) inner *= in.dim(b);
    data = resize_axis(data, sample_axis(op, axis, c), axis, inner, outside, c);
  }
  for_parts(out.type(), [&]<class T> {
    T* to = static_cast<T*>(out.data()) + part;
    c.parallel(out.size(), 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i * parts] = store_rounded<T>(data[static_cast<size_t>(i)]);
    });
  });
}

void resize(const Resize& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  const ResizeJob job(op, c);
  Tensor& out = c.out(0, in.type(), job.shape());
  if (out.size() == 0) return;
  if (in.size() == 0) c.fail(Code::run_bad_value, "elements to resize", describe(in));
  if (op.mode == "nearest")
    resize_nearest(op, job, in, out, c);
  else
    for (int64_t part = 0; part < parts_of(in.type()); ++part) resize_part(op, job, part, in, out, c);
}

}  // namespace

void reference_resize(KernelCatalog& k) { k.reference<Resize>("Resize", resize); }

}  // namespace lathe
