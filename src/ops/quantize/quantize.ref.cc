#include "ops/quantize/quantize.h"

#include <array>
#include <cmath>

#include "ops/compute.h"
#include "ops/elementwise/lanes.h"

namespace lathe {
namespace {

/// The index of the scale of an element of the data.
class ScaleIndex {
 public:
  ScaleIndex(const QuantizationParams& op, const Shape& x, const Tensor& scale) : single_(scale.size() == 1) {
    if (single_) return;
    const auto rank = static_cast<int64_t>(x.size());
    const auto a = static_cast<size_t>(op.axis < 0 ? op.axis + rank : op.axis);
    size_ = x[a];
    for (size_t i = a + 1; i < x.size(); ++i) inner_ *= x[i];
    block_ = std::max<int64_t>(op.block_size, 1);
    blocked_ = op.block_size > 0;
    blocks_ = size_ / block_ + (size_ % block_ != 0);
  }
  int64_t operator()(int64_t i) const {
    if (single_) return 0;
    const int64_t along = i / inner_ % size_;
    if (!blocked_) return along;
    return (i / inner_ / size_ * blocks_ + along / block_) * inner_ + i % inner_;
  }
  /// The number of elements from i on, at most n, that are known to share its scale.
  int64_t run(int64_t i, int64_t n) const {
    if (single_) return n;
    return blocked_ ? 1 : std::min(n, inner_ - i % inner_);
  }

 private:
  bool single_, blocked_ = false;
  int64_t size_ = 1, inner_ = 1, block_ = 1, blocks_ = 1;
};

/// Rounds to the precision of a type.
float at_precision(float x, DataType type) {
  if (type == DataType::float16) return to_float(to_float16(x));
  if (type == DataType::bfloat16) return to_float(to_bfloat16(x));
  return x;
}

/// x / scale in the precision of the attribute, or else of the scale's type.
double quotient(double x, double scale, DataType precision) {
  if (precision == DataType::float64) return x / scale;
  const float a = at_precision(static_cast<float>(x), precision);
  const float b = at_precision(static_cast<float>(scale), precision);
  return at_precision(a / b, precision);
}

/// The nearest integer (ties to even) plus the zero point, clamped to the type's range. NaN gives the zero
/// point.
int64_t quantized_integer(double q, int64_t zero, DataType type) {
  const int bits = bits_of(type);
  const bool has_sign = is_signed_integer(type);
  const int64_t low = has_sign ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t high = has_sign ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  if (std::isnan(q)) return std::clamp(zero, low, high);
  return static_cast<int64_t>(std::clamp(std::nearbyint(q) + static_cast<double>(zero),
                                         static_cast<double>(low), static_cast<double>(high)));
}

void store_quantized_float(Tensor& out, int64_t i, float x, bool saturate) {
  auto* bytes = static_cast<uint8_t*>(out.data());
  switch (out.type()) {
    case DataType::float8e4m3fn:
      bytes[i] = to_float8e4m3fn(x, saturate).bits;
      return;
    case DataType::float8e4m3fnuz:
      bytes[i] = to_float8e4m3fnuz(x, saturate).bits;
      return;
    case DataType::float8e5m2:
      bytes[i] = to_float8e5m2(x, saturate).bits;
      return;
    case DataType::float8e5m2fnuz:
      bytes[i] = to_float8e5m2fnuz(x, saturate).bits;
      return;
    default:
      store_double(out, i, x);
  }
}

void quantize_linear(const QuantizeLinear& op, KernelContext& c) {
  const Tensor &x = c.in(0), &scale = c.in(1);
  const Tensor* zero = c.has(2) ? &c.in(2) : nullptr;
  Tensor& out = c.out(0);
  const DataType precision = op.precision != 0 ? static_cast<DataType>(op.precision) : scale.type();
  const ScaleIndex scale_of(op, x.shape(), scale);
  parallel_blocks(c, x.size(), [&](int64_t first, int64_t n) {
    std::array<double, lane_block> block;
    load_lanes(x, first, n, block.data());
    for (int64_t i = 0; i < n; ++i) {
      const int64_t s = scale_of(first + i);
      const double q = quotient(block[static_cast<size_t>(i)], load_double(scale, s), precision);
      if (is_integer(out.type()))
        store_int(out, first + i, quantized_integer(q, zero ? load_int(*zero, s) : 0, out.type()));
      else
        store_quantized_float(out, first + i, static_cast<float>(zero ? q + load_double(*zero, s) : q),
                              op.saturate);
    }
  });
}

void dequantize_linear(const DequantizeLinear& op, KernelContext& c) {
  const Tensor &x = c.in(0), &scale = c.in(1);
  const Tensor* zero = c.has(2) ? &c.in(2) : nullptr;
  Tensor& out = c.out(0);
  const ScaleIndex scale_of(op, x.shape(), scale);
  parallel_blocks(c, x.size(), [&](int64_t first, int64_t n) {
    std::array<double, lane_block> block;
    load_lanes(x, first, n, block.data());
    for (int64_t i = 0; i < n;) {
      const int64_t s = scale_of(first + i), end = i + scale_of.run(first + i, n - i);
      const double z = zero ? load_double(*zero, s) : 0, by = load_double(scale, s);
      // Differences of int32 take more digits than float has.
      for (; i < end; ++i)
        block[static_cast<size_t>(i)] =
            static_cast<double>(static_cast<float>(block[static_cast<size_t>(i)] - z)) * by;
    }
    store_lanes(out, first, n, block.data());
  });
}

/// The range of the data, widened to hold 0, is spread over 0 … 255. All in float, as the standard's
/// function.
void dynamic_quantize_linear(const DynamicQuantizeLinear&, KernelContext& c) {
  const auto x = c.in(0).as<float>();
  float low = 0, high = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if ((i & 65535) == 0) c.poll();
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  const float scale = (high == low ? 1.0f : high - low) / 255.0f;
  const auto zero = saturated<uint8_t>(static_cast<double>(0.0f - low / scale));  // of infinities: NaN
  if (c.wants(1)) c.out(1).as<float>()[0] = scale;
  if (c.wants(2)) c.out(2).as<uint8_t>()[0] = zero;
  if (!c.wants(0)) return;
  Tensor& out = c.out(0);
  parallel_blocks(c, out.size(), [&](int64_t first, int64_t n) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(first + n); ++i)
      out.as<uint8_t>()[i] = static_cast<uint8_t>(quantized_integer(x[i] / scale, zero, DataType::uint8));
  });
}

}  // namespace

void reference_quantize(KernelCatalog& k) {
  k.reference<QuantizeLinear>("QuantizeLinear", quantize_linear);
  k.reference<DequantizeLinear>("DequantizeLinear", dequantize_linear);
  k.reference<DynamicQuantizeLinear>("DynamicQuantizeLinear", dynamic_quantize_linear);
}

}  // namespace lathe
