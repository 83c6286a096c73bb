#include "cpu/nchw16c/image_strips.h"

#include <algorithm>

#include "cpu/ceil_of.h"
#include "cpu/elementwise.h"
#include "cpu/nchw16c/blocked_epilogue.h"

namespace lathe::cpu {
namespace {

/// Floats of a strip and its output that stay in the second-level cache until they are used.
constexpr int64_t cached_floats = 192 * 1024;
/// Strips are multiples of these, so that tiles are full: rows, or pixels of a single row. They are so large
/// that widening the weights of a product for each strip takes little time.
constexpr int64_t rows_at_once = 8, pixels_at_once = 224;

/// Writes the results of a strip to the output of the step.
class StripEpilogue final : public Epilogue {
 public:
  /// Planes of `strip_plane` floats from `strip` on, which are `plane` apart in the output, from element
  /// `begin` on.
  StripEpilogue(Isa isa, KernelContext& step, const float* strip, int64_t strip_plane, int64_t begin,
                int64_t plane)
      : isa_(isa),
        rest_(step.epilogue()),
        y_(step.out(0)),
        strip_(strip),
        strip_plane_(strip_plane),
        begin_(begin),
        plane_(plane) {}
  void apply(int64_t begin, int64_t n) override {
    while (n > 0) {
      const int64_t plane = begin / strip_plane_, within = begin % strip_plane_;
      const int64_t here = std::min(n, strip_plane_ - within);
      bring(isa_, rest_, strip_ + begin, begin_ + plane * plane_ + within, here, y_.type(), y_.data());
      begin += here;
      n -= here;
    }
  }

 private:
  Isa isa_;
  Epilogue* rest_;
  Tensor& y_;
  const float* strip_;
  int64_t strip_plane_, begin_, plane_;
};

/// The context of the step, except for its epilogue.
class StripContext final : public KernelContext {
 public:
  StripContext(KernelContext& step, Epilogue& epilogue) : step_(step), epilogue_(epilogue) {}
  Epilogue* epilogue() override { return &epilogue_; }

  void parallel(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> f) override {
    step_.parallel(n, grain, f);
  }
  void parallel_steps(int64_t steps, int64_t n, int64_t grain,
                      FunctionRef<void(int64_t, int64_t, int64_t)> f) override {
    step_.parallel_steps(steps, n, grain, f);
  }
  int threads() const override { return step_.threads(); }
  void poll() override { step_.poll(); }
  size_t inputs() const override { return step_.inputs(); }
  size_t outputs() const override { return step_.outputs(); }
  bool has(size_t i) const override { return step_.has(i); }
  const Value& value(size_t i) const override { return step_.value(i); }
  const Tensor* packed(size_t i) const override { return step_.packed(i); }
  bool wants(size_t i) const override { return step_.wants(i); }
  Tensor& out(size_t i) override { return step_.out(i); }
  Tensor& out(size_t i, DataType type, const Shape& shape) override { return step_.out(i, type, shape); }
  void set(size_t i, Value v) override { step_.set(i, std::move(v)); }
  void* workspace(size_t bytes) override { return step_.workspace(bytes); }
  std::pmr::memory_resource* scratch() override { return step_.scratch(); }
  KernelBody& body(size_t i) override { return step_.body(i); }
  bool strict() const override { return step_.strict(); }

 private:
  KernelContext& step_;
  Epilogue& epilogue_;
};

/// Widens with prefetches: pages end before processors recognize that reads are sequential.
void widen_far(Isa isa, DataType type, const Float16* x, int64_t n, float* to) {
  constexpr int64_t some = 1024, ahead = 1024, line = 32;
  for (int64_t i = 0; i < n; i += some) {
    const int64_t here = std::min(some, n - i);
    for (int64_t p = i + ahead; p < i + ahead + here; p += line) __builtin_prefetch(x + p, 0, 3);
    widen(isa, type, x + i, to + i, here);
  }
}

int64_t whole_lines(int64_t floats) { return ceil_of(floats, channel_block) * channel_block; }

}  // namespace

ImageStrips::ImageStrips(const BlockedShape& whole)
    : whole_(whole),
      axis_(whole.in[0] == 1 && whole.out[0] == 1 ? 1 : 0),
      planes_(whole.nchw ? whole.channels : whole.in_blocks()),
      x_unit_((axis_ == 0 ? whole.in[1] : 1) * (whole.nchw ? 1 : channel_block)),
      y_unit_((axis_ == 0 ? whole.out[1] : 1) * channel_block) {
  whole_.batch = 1;
  const int64_t out = whole.out[axis_], stride = whole.stride[axis_];
  // If windows are entirely in front of or behind the image, a strip may contain none of it.
  const bool inside =
      whole.pad[axis_] < whole.reach(axis_) && (out - 1) * stride - whole.pad[axis_] < whole.in[axis_];
  const int64_t floats = stride * planes_ * x_unit_ + whole.out_blocks() * y_unit_;
  const int64_t unit = axis_ == 0 ? rows_at_once : pixels_at_once;
  const int64_t units = std::max<int64_t>(1, cached_floats / std::max<int64_t>(1, floats * unit));
  step_ = std::max<int64_t>(1, inside ? std::min(out, units * unit) : out);
  count_ = std::max<int64_t>(1, ceil_of(out, step_));
  for (int64_t i = 0; i < count_; ++i) {
    const BlockedShape strip = of(i);
    max_x_floats_ = std::max(max_x_floats_, whole_lines(x_floats(strip)));
    max_y_floats_ = std::max(max_y_floats_, strip.out_blocks() * strip.out_pixels() * channel_block);
  }
}

BlockedShape ImageStrips::of(int64_t i) const {
  if (count_ == 1) return whole_;
  BlockedShape s = whole_;
  s.out[axis_] = std::min(step_, whole_.out[axis_] - first(i));
  const int64_t begin = first_in(i);
  const int64_t end = begin + (s.out[axis_] - 1) * whole_.stride[axis_] + whole_.reach(axis_);
  s.pad[axis_] = std::max<int64_t>(0, -begin);
  s.in[axis_] = std::min(end, whole_.in[axis_]) - std::max<int64_t>(0, begin);
  return s;
}

size_t ImageStrips::workspace(FunctionRef<size_t(const BlockedShape&)> needs) const {
  size_t most = 0;
  for (int64_t i = 0; i < count_; ++i) most = std::max(most, needs(of(i)));
  return static_cast<size_t>(max_x_floats_ + max_y_floats_) * sizeof(float) + most;
}

void ImageStrips::load(Isa isa, const Tensor& x, int64_t image, int64_t strip, float* to,
                       KernelContext& c) const {
  const int64_t plane = whole_.in[axis_] * x_unit_, piece = of(strip).in[axis_] * x_unit_;
  const int64_t from = image * planes_ * plane + std::max<int64_t>(0, first_in(strip)) * x_unit_;
  c.parallel(planes_ * piece, elements_a_piece, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      c.poll();
      const int64_t within = begin % piece, n = std::min({end - begin, piece - within, elements_a_piece});
      const int64_t at = from + begin / piece * plane + within;
      if (x.type() == DataType::float32)
        std::copy_n(static_cast<const float*>(x.data()) + at, n, to + begin);
      else
        widen_far(isa, x.type(), static_cast<const Float16*>(x.data()) + at, n, to + begin);
      begin += n;
    }
  });
}

void ImageStrips::run(Isa isa, const Tensor& x, void* scratch, KernelContext& c, Run run) const {
  if (whole_.filters == 0 || whole_.out_pixels() == 0) return;
  auto* const x_strip = static_cast<float*>(scratch);
  float* const y_strip = x_strip + max_x_floats_;
  const int64_t plane = whole_.out[axis_] * y_unit_;
  const int64_t images = x.dim(0);
  for (int64_t image = 0; image < images; ++image)
    for (int64_t i = 0; i < count_; ++i) {
      const BlockedShape strip = of(i);
      load(isa, x, image, i, x_strip, c);
      StripEpilogue strip_epilogue(isa, c, y_strip, strip.out_pixels() * channel_block,
                                   image * whole_.out_blocks() * plane + first(i) * y_unit_, plane);
      StripContext context(c, strip_epilogue);
      run(strip, image, x_strip, y_strip, y_strip + max_y_floats_, context);
    }
}

}  // namespace lathe::cpu
