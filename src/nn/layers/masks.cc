// Tensors that are added to the scores of attention: masks, and biases that grow with distance.
#include <cmath>

#include "lathe/nn/attention.h"
#include "nn/access.h"
#include "nn/convert.h"

namespace lathe::nn {
namespace {

/// The lowest finite number. With minus infinity a row in which all is masked would be NaN.
double lowest(DataType type) {
  switch (type) {
    case DataType::float16:
      return -65504;
    case DataType::bfloat16:
      return -3.3895313892515355e38;
    case DataType::float64:
      return -1.7976931348623157e308;
    default:
      return -3.4028234663852886e38;
  }
}

/// The positions of queries [queries, 1], which are the last positions of keys.
TensorRef query_positions(const Ops& o, const TensorRef& queries, const TensorRef& keys) {
  return o.unsqueeze(o.add(o.range(queries), o.sub(keys, queries)), {1});
}

}  // namespace

TensorRef attention_mask(const Ops& o, const TensorRef& padding, const TensorRef& queries,
                         const TensorRef& keys, DataType type, const MaskOptions& m) {
  TensorRef seen;
  auto also = [&](const TensorRef& t) { seen = seen ? o.logical_and(seen, t) : t; };
  if (m.causal || m.window > 0) {
    const TensorRef q = query_positions(o, queries, keys), k = o.range(keys);
    if (m.causal) also(o.less_equal(k, q));
    if (m.window > 0) also(o.greater(k, o.sub(q, static_cast<double>(m.window))));
    if (m.window > 0 && !m.causal) also(o.less(k, o.add(q, static_cast<double>(m.window))));
    seen = o.unsqueeze(seen, {0, 1});
  }
  if (padding) also(o.unsqueeze(o.cast(padding, DataType::boolean), {1, 2}));
  if (!seen) return {};
  return o.where(seen, o.scalar(0, type), o.scalar(lowest(type), type));
}

std::vector<double> alibi_slopes(int64_t heads) {
  int64_t power = 1;
  while (power * 2 <= heads) power *= 2;
  std::vector<double> slopes;
  auto series = [&](int64_t count, int64_t of, int64_t step) {
    const double base = std::exp2(-8.0 / static_cast<double>(of));
    for (int64_t i = 0; i < count; ++i) slopes.push_back(std::pow(base, static_cast<double>(1 + i * step)));
  };
  series(power, power, 1);
  // If the number of heads is no power of two, the rest gets every second slope of twice as many heads.
  series(heads - power, 2 * power, 2);
  return slopes;
}

TensorRef alibi_bias(const Ops& o, int64_t heads, const TensorRef& keys, DataType type,
                     const TensorRef& queries) {
  Tensor slopes(DataType::float32, {1, heads, 1, 1});
  const std::vector<double> values = alibi_slopes(heads);
  for (size_t i = 0; i < values.size(); ++i) slopes.as<float>()[i] = static_cast<float>(values[i]);
  TensorRef distance = o.range(keys);
  if (queries) distance = o.sub(distance, query_positions(o, queries, keys));
  return o.cast(o.mul(o.constant(slopes), o.cast(distance, DataType::float32)), type);
}

TensorRef relative_bias(const Ops& o, const TensorRef& weight, const TensorRef& queries,
                        const TensorRef& keys, const RelativeBiasOptions& b) {
  const TensorRef ahead = o.sub(o.range(keys), query_positions(o, queries, keys));  // [queries, keys]
  const int64_t buckets = b.bidirectional ? b.buckets / 2 : b.buckets, exact = buckets / 2;
  const auto number = [](int64_t v) { return static_cast<double>(v); };
  const TensorRef distance = b.bidirectional ? o.op("Abs", {ahead}) : o.op("Neg", {o.minimum(ahead, 0)});
  // Half the buckets hold one distance each, the others ever more of them. The maximum avoids the logarithm
  // of 0, whose bucket is exact.
  const TensorRef ratio = o.div(o.cast(o.maximum(distance, 1), DataType::float32), number(exact));
  const TensorRef grown = o.mul(o.div(o.op("Log", {ratio}), std::log(number(b.max_distance) / number(exact))),
                                number(buckets - exact));
  const TensorRef far = o.minimum(o.add(o.cast(grown, DataType::int64), number(exact)), number(buckets - 1));
  TensorRef bucket = o.where(o.less(distance, number(exact)), distance, far);
  if (b.bidirectional)
    bucket = o.add(bucket, o.mul(o.cast(o.greater(ahead, 0), DataType::int64), number(buckets)));
  return o.unsqueeze(o.transpose(o.gather(weight, bucket), {2, 0, 1}), {0});
}

}  // namespace lathe::nn
