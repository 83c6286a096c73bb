#include "ops/resize/resize.h"

#include "ops/movement.h"
#include "ops/numeric_store.h"

namespace lathe {
namespace {

/// Where one axis of the output reads from: `taps` indices and weights for each position. A position outside
/// the region of interest has taps of its own value instead.
struct AxisSamples {
  int64_t taps = 1;
  std::vector<int64_t> index;
  std::vector<double> weight;
  std::vector<bool> outside;
};

struct AxisToResize {
  int64_t in, out;
  float scale, length, roi_start = 0, roi_end = 1;
};

/// The coordinate in the input, in single precision: ties decide what is nearest, and this is how the
/// coordinates of the models at hand were rounded.
float source_coordinate(const std::string& mode, const AxisToResize& a, int64_t position) {
  const auto x = static_cast<float>(position), in = static_cast<float>(a.in), out = static_cast<float>(a.out);
  if (mode == "align_corners") return a.length == 1 ? 0 : x * (in - 1) / (a.length - 1);
  if (mode == "asymmetric") return x / a.scale;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5f) / a.scale;
  if (mode == "pytorch_half_pixel") return a.out > 1 ? (x + 0.5f) / a.scale - 0.5f : 0;
  if (mode == "tf_crop_and_resize")
    return a.length > 1 ? a.roi_start * (in - 1) + x * (a.roi_end - a.roi_start) * (in - 1) / (a.length - 1)
                        : 0.5f * (a.roi_start + a.roi_end) * (in - 1);
  const float half_pixel = (x + 0.5f) / a.scale - 0.5f;
  if (mode == "half_pixel_symmetric") return half_pixel + in / 2 * (1 - out / a.length);
  return half_pixel;
}

int64_t nearest_index(const std::string& mode, float x) {
  if (mode == "floor") return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5f));
  return static_cast<int64_t>(std::ceil(x - 0.5f));
}

double cubic_weight(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

AxisSamples sample_axis(const Resize& op, const AxisToResize& a, KernelContext& c) {
  const bool nearest = op.mode == "nearest", cubic = op.mode == "cubic";
  // Shrinking with antialias stretches the filter so that every input counts.
  const double stretch = op.antialias && !nearest ? std::min<double>(a.scale, 1) : 1;
  const double reach = std::floor((cubic ? -2 : -1) / stretch) + 1;
  if (!(reach > -4.0 * static_cast<double>(a.in) - 8))
    c.fail(Code::run_bad_value, "a scale that leaves something of the input", std::to_string(a.scale));
  const auto first = static_cast<int64_t>(reach);
  AxisSamples s;
  s.taps = nearest ? 1 : 2 - 2 * first;
  Poller poll(c);
  for (int64_t i = 0; i < a.out; ++i) {
    poll.did(s.taps);
    float x = source_coordinate(op.coordinate_transformation_mode, a, i);
    s.outside.push_back(op.coordinate_transformation_mode == "tf_crop_and_resize" &&
                        !(x >= 0 && x <= static_cast<float>(a.in - 1)));
    // Far outside only the edge counts, however far.
    const auto far = static_cast<float>(a.in + 2 * s.taps + 2);
    x = x == x ? std::clamp(x, -far, far) : 0;
    if (nearest) {
      s.index.push_back(std::clamp<int64_t>(nearest_index(op.nearest_mode, x), 0, a.in - 1));
      continue;
    }
    const double base = std::floor(x), ratio = static_cast<double>(x) - base;
    double sum = 0;
    const size_t begin = s.weight.size();
    for (int64_t k = 0; k < s.taps; ++k) {
      const int64_t at = static_cast<int64_t>(base) + first + k;
      const double distance = (static_cast<double>(first + k) - ratio) * stretch;
      double w = cubic ? cubic_weight(distance, op.cubic_coeff_a) : std::max(0.0, 1 - std::abs(distance));
      if (op.exclude_outside && (at < 0 || at >= a.in)) w = 0;
      sum += w;
      s.weight.push_back(w);
      s.index.push_back(std::clamp<int64_t>(at, 0, a.in - 1));
    }
    if ((op.exclude_outside || stretch < 1) && sum != 0)
      for (size_t k = begin; k < s.weight.size(); ++k) s.weight[k] /= sum;
  }
  return s;
}

/// Resizes the middle axis of [outer, in, inner].
std::vector<double> resize_axis(const std::vector<double>& from, const AxisSamples& s, const AxisToResize& a,
                                int64_t inner, double outside, KernelContext& c) {
  const int64_t outer = static_cast<int64_t>(from.size()) / (a.in * inner);
  const int64_t count = checked_count(Shape{outer, a.out, inner}, DataType::float64, "resized axis");
  std::vector<double> to(static_cast<size_t>(count));
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

struct ResizeJob {
  std::vector<AxisToResize> axes;  // by axis of the input
  std::vector<AxisSamples> samples;
};

void resize_nearest(const Resize& op, const ResizeJob& job, const Tensor& in, Tensor& out, KernelContext& c) {
  const Shape strides = row_major(in.shape());
  std::vector<std::vector<int64_t>> tables;
  for (size_t a = 0; a < in.rank(); ++a) {
    const AxisSamples& s = job.samples[a];
    tables.push_back(s.index);
    for (size_t i = 0; i < s.index.size(); ++i) tables[a][i] = s.outside[i] ? -1 : s.index[i] * strides[a];
  }
  Tensor fill(in.type(), {});
  if (in.type() != DataType::string && !is_complex(in.type())) store_double(fill, 0, op.extrapolation_value);
  fill = unpacked(fill);
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    copy_by_tables(from.data(), to.data(), out.shape(), tables, fill.as<T>()[0], c);
  });
}

void resize_interpolated(const Resize& op, const ResizeJob& job, const Tensor& in, Tensor& out,
                         KernelContext& c) {
  std::vector<double> data(static_cast<size_t>(in.size()));
  for_type(in.type(), number_types, [&]<class T> {
    const T* from = in.as<T>().data();
    c.parallel(in.size(), 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        data[static_cast<size_t>(i)] = static_cast<double>(Element<T>::load(from[i]));
    });
  });
  for (size_t a = 0; a < in.rank(); ++a) {
    const AxisToResize& axis = job.axes[a];
    const bool whole = op.coordinate_transformation_mode != "tf_crop_and_resize" ||
                       (axis.roi_start == 0 && axis.roi_end == 1);
    if (axis.in == axis.out && axis.scale == 1 && whole) continue;
    int64_t inner = 1;
    for (size_t b = a + 1; b < in.rank(); ++b) inner *= in.dim(b);
    data = resize_axis(data, job.samples[a], axis, inner, op.extrapolation_value, c);
  }
  for_type(out.type(), number_types, [&]<class T> {
    T* to = out.as<T>().data();
    c.parallel(out.size(), 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = store_rounded<T>(data[static_cast<size_t>(i)]);
    });
  });
}

void resize(const Resize& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  const bool by_sizes = c.has(3) && c.in(3).size() > 0;
  const std::vector<int64_t> sizes = by_sizes ? to_ints(c.in(3)) : std::vector<int64_t>();
  if (!by_sizes && !c.has(2)) c.fail(Code::run_missing_input, "either scales or sizes", "neither");
  const ResizeGrid grid = op.grid(in.shape(), by_sizes ? nullptr : &c.in(2), by_sizes ? &sizes : nullptr);
  Tensor& out = c.out(0, in.type(), Shape(grid.size.begin(), grid.size.end()));
  if (out.size() == 0) return;
  if (in.size() == 0) c.fail(Code::run_bad_value, "elements to resize", describe(in));

  const std::vector<int64_t> which = op.resized_axes(static_cast<int64_t>(in.rank()));
  ResizeJob job;
  for (size_t a = 0; a < in.rank(); ++a)
    job.axes.push_back({in.dim(a), grid.size[a], grid.scale[a], grid.length[a]});
  if (op.coordinate_transformation_mode == "tf_crop_and_resize") {
    if (!c.has(1) || c.in(1).size() != 2 * static_cast<int64_t>(which.size()))
      c.fail(Code::run_bad_shape, "a roi of a start and an end for every axis",
             c.has(1) ? describe(c.in(1)) : "none");
    for (size_t i = 0; i < which.size(); ++i) {
      AxisToResize& axis = job.axes[static_cast<size_t>(which[i])];
      axis.roi_start = static_cast<float>(load_double(c.in(1), static_cast<int64_t>(i)));
      axis.roi_end = static_cast<float>(load_double(c.in(1), static_cast<int64_t>(which.size() + i)));
    }
  }
  for (const AxisToResize& axis : job.axes) job.samples.push_back(sample_axis(op, axis, c));
  if (op.mode == "nearest")
    resize_nearest(op, job, in, out, c);
  else
    resize_interpolated(op, job, in, out, c);
}

}  // namespace

void reference_resize(KernelCatalog& k) { k.reference<Resize>("Resize", resize); }

}  // namespace lathe
