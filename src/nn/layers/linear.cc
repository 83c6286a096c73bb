// Linear, layers derived from it, and Embedding.
#include "lathe/nn/layers.h"
#include "nn/access.h"
#include "tensor/element.h"

namespace lathe::nn {

Linear::Linear(int64_t in, int64_t out, const LinearOptions& o)
    : weight(DataType::float32, o.transposed ? Shape{in, out} : Shape{out, in}), transposed_(o.transposed) {
  if (o.bias) bias = Parameter(DataType::float32, {out});
}

TensorRef Linear::operator()(const TensorRef& x) const {
  if (auto y = substituted(x)) return *y;
  const Ops o(*this, x);
  TensorRef w = o.use(weight);
  if (!transposed_) w = o.transpose(w, {1, 0});
  const TensorRef y = o.matmul(x, w);
  return bias ? o.add(y, o.use(bias)) : y;
}

Lora::Lora(const Linear& base, int64_t rank, double alpha) : base_layer(base) {
  const Shape& w = base.weight.shape();
  const size_t in = base.transposed() ? 0 : 1;
  if (rank < 1)
    throw detail::fault(Code::bad_argument, base.weight.name(), "a rank of at least 1", std::to_string(rank));
  lora_A = Linear(w[in], rank, {.bias = false});
  lora_B = Linear(rank, w[1 - in], {.bias = false});
  for (Linear* l : {&lora_A, &lora_B}) l->weight.set_type(base.weight.type());
  scale = alpha / static_cast<double>(rank);
}

TensorRef Lora::operator()(const TensorRef& x) const {
  if (auto y = substituted(x)) return *y;
  const TensorRef y = base_layer(x);
  if (scale == 0) return y;
  const Ops o(*this, x);
  return o.add(y, o.mul(lora_B(lora_A(x)), scale));
}

Tensor Lora::merged_weight() const {
  const Tensor &w = base_layer.weight.value, &a = lora_A.weight.value, &b = lora_B.weight.value;
  if (scale == 0) return w;
  Tensor merged(w.type(), w.shape());
  const int64_t rank = a.dim(0), in = a.dim(1), out = b.dim(0);
  std::vector<double> row(static_cast<size_t>(in));
  for (int64_t o = 0; o < out; ++o) {
    std::fill(row.begin(), row.end(), 0.0);
    for (int64_t r = 0; r < rank; ++r) {
      const double by = load_double(b, o * rank + r);
      for (int64_t i = 0; i < in; ++i) row[static_cast<size_t>(i)] += by * load_double(a, r * in + i);
    }
    for (int64_t i = 0; i < in; ++i) {
      const int64_t at = base_layer.transposed() ? i * out + o : o * in + i;
      store_double(merged, at, load_double(w, at) + scale * row[static_cast<size_t>(i)]);
    }
  }
  return merged;
}

Embedding::Embedding(int64_t count, int64_t size) : weight(DataType::float32, {count, size}) {}

TensorRef Embedding::operator()(const TensorRef& indices) const {
  if (auto y = substituted(indices)) return *y;
  const Ops o(*this, indices);
  const DataType type = indices.element_type();
  const bool gathers = type == DataType::int32 || type == DataType::int64;
  return o.gather(o.use(weight), gathers ? indices : o.cast(indices, DataType::int32));
}

Mlp::Mlp(int64_t size, int64_t inner, const MlpOptions& o)
    : fc1(size, inner, {.bias = o.bias}), fc2(inner, size, {.bias = o.bias}), activation_(o.activation) {}

TensorRef Mlp::operator()(const TensorRef& x) const {
  if (auto y = substituted(x)) return *y;
  return fc2(activate(Ops(*this, x), activation_.name(), fc1(x)));
}

GatedMlp::GatedMlp(int64_t size, int64_t inner, const GatedMlpOptions& o)
    : gate_proj(size, inner, {.bias = o.bias}),
      up_proj(size, inner, {.bias = o.bias}),
      down_proj(inner, size, {.bias = o.bias}),
      activation_(o.activation) {}

TensorRef GatedMlp::operator()(const TensorRef& x) const {
  if (auto y = substituted(x)) return *y;
  const Ops o(*this, x);
  return down_proj(o.mul(activate(o, activation_.name(), gate_proj(x)), up_proj(x)));
}

TensorRef Cast::operator()(const TensorRef& x) const {
  if (auto y = substituted(x)) return *y;
  return Ops(*this, x).cast(x, to_);
}

}  // namespace lathe::nn
