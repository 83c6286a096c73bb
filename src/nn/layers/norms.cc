#include "lathe/nn/layers.h"
#include "nn/access.h"
#include "nn/convert.h"

namespace lathe::nn {
namespace {

Tensor filled(DataType type, int64_t count, double v) {
  Tensor t(DataType::float32, {count});
  std::fill(t.as<float>().begin(), t.as<float>().end(), static_cast<float>(v));
  return type == DataType::float32 ? t : converted(t, type);
}

}  // namespace

LayerNorm::LayerNorm(const std::vector<int64_t>& shape, const LayerNormOptions& o)
    : weight(DataType::float32, Shape(shape.begin(), shape.end())), options_(o) {
  if (o.bias) bias = Parameter(DataType::float32, Shape(shape.begin(), shape.end()));
}

TensorRef LayerNorm::operator()(const TensorRef& x) const {
  if (auto y = substituted(x)) return *y;
  const Ops o(*this, x);
  return o.op("LayerNormalization", {x, o.use(weight), bias ? o.use(bias) : TensorRef()},
              {{"axis", -static_cast<int64_t>(weight.shape().size())},
               {"epsilon", static_cast<float>(options_.epsilon)}});
}

RmsNorm::RmsNorm(int64_t size, const RmsNormOptions& o) : weight(DataType::float32, {size}), options_(o) {}

TensorRef RmsNorm::operator()(const TensorRef& x) const {
  if (auto y = substituted(x)) return *y;
  const Ops o(*this, x);
  const bool narrow = x.element_type() != DataType::float32 && x.element_type() != DataType::float64;
  const TensorRef wide = narrow ? o.cast(x, DataType::float32) : x;
  const TensorRef square = o.mean(o.pow(wide, 2), {-1});
  const TensorRef normal = o.mul(wide, o.op("Reciprocal", {o.op("Sqrt", {o.add(square, options_.epsilon)})}));
  // Gemma scales in float32 and rounds last, Llama the other way round.
  if (options_.plus_one) return o.cast_like(o.mul(normal, o.add(o.cast_like(o.use(weight), normal), 1)), x);
  return o.mul(o.cast_like(normal, x), o.use(weight));
}

GroupNorm::GroupNorm(int64_t groups, int64_t channels, const GroupNormOptions& o)
    : groups_(groups), options_(o) {
  if (groups < 1 || channels % groups != 0)
    throw detail::fault(Code::bad_argument, "GroupNorm", "groups that divide " + std::to_string(channels),
                        std::to_string(groups));
  if (!o.affine) return;
  weight = Parameter(DataType::float32, {channels});
  bias = Parameter(DataType::float32, {channels});
}

TensorRef GroupNorm::operator()(const TensorRef& x) const {
  if (auto y = substituted(x)) return *y;
  const Ops o(*this, x);
  // GroupNormalization of opset 18 has a scale for each group, not for each channel; this decomposition works
  // in all opsets.
  const DataType type = x.element_type();
  const TensorRef normal = o.op("InstanceNormalization",
                                {o.reshape(x, {0, groups_, -1}), o.constant(filled(type, groups_, 1)),
                                 o.constant(filled(type, groups_, 0))},
                                {{"epsilon", static_cast<float>(options_.epsilon)}});
  const TensorRef y = o.reshape(normal, o.op("Shape", {x}));
  if (!weight) return y;
  std::vector<int64_t> per_channel(x.rank() - 1, 1);
  per_channel[0] = weight.shape()[0];
  return o.add(o.mul(y, o.reshape(o.use(weight), per_channel)), o.reshape(o.use(bias), per_channel));
}

BatchNorm::BatchNorm(int64_t channels, const BatchNormOptions& o)
    : running_mean(DataType::float32, {channels}), running_var(DataType::float32, {channels}), options_(o) {
  if (!o.affine) return;
  weight = Parameter(DataType::float32, {channels});
  bias = Parameter(DataType::float32, {channels});
}

TensorRef BatchNorm::operator()(const TensorRef& x) const {
  if (auto y = substituted(x)) return *y;
  const Ops o(*this, x);
  const int64_t channels = running_mean.shape()[0];
  const TensorRef scale = weight ? o.use(weight) : o.constant(filled(x.element_type(), channels, 1));
  const TensorRef shift = bias ? o.use(bias) : o.constant(filled(x.element_type(), channels, 0));
  return o.op("BatchNormalization", {x, scale, shift, o.use(running_mean), o.use(running_var)},
              {{"epsilon", static_cast<float>(options_.epsilon)}});
}

}  // namespace lathe::nn
