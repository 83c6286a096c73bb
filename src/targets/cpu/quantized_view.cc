#include "targets/cpu/quantized_view.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/makers.h"
#include "compiler/node_query.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// Up to this scale a factor x_scale * w_scale / y_scale is finite, and so are the numbers that bytes
/// represent. Operators with others are computed as the model says, since integers overflow elsewhere.
constexpr float largest_scale = 0x1p42f;

bool is_float(const ValueType& t) { return t.is_tensor() && t.elem == DataType::float32; }

ValueId input(const Node& n, size_t i) { return i < n.inputs.size() ? n.inputs[i] : no_id; }

}  // namespace

std::optional<float> QuantizedView::single_float(ValueId v) const {
  const Tensor* t = v == no_id ? nullptr : graph_.constant_tensor(v);
  if (!t || t->type() != DataType::float32 || t->size() != 1) return std::nullopt;
  return t->as<float>()[0];
}

bool QuantizedView::is_scale(ValueId v) const {
  const auto s = single_float(v);
  return s && *s >= 1 / largest_scale && *s <= largest_scale;
}

bool QuantizedView::are_weight_scales(ValueId v) const {
  const Tensor* t = v == no_id ? nullptr : graph_.constant_tensor(v);
  return t && are_weight_scales(*t);
}
bool QuantizedView::are_weight_scales(const Tensor& t) {
  return t.type() == DataType::float32 &&
         std::ranges::all_of(t.as<float>(), [](float s) { return std::abs(s) <= largest_scale; });
}

std::optional<QuantizedValue> QuantizedView::number(ValueId v) const {
  const Node* d = made_by(graph_, v, "DequantizeLinear");
  if (!d || !is_float(graph_.value(v).type) || !is_eight_bits(graph_.value(d->inputs[0]).type) ||
      graph_.value(d->inputs[0]).is_constant() || !is_scale(d->inputs[1]))
    return std::nullopt;
  const ValueId zero = input(*d, 2);
  const Tensor* z = zero == no_id ? nullptr : graph_.constant_tensor(zero);
  if (zero != no_id && (!z || z->size() != 1)) return std::nullopt;
  return QuantizedValue{d->inputs[0], d->inputs[1], zero};
}

std::optional<QuantizedValue> QuantizedView::stored(const Node& q) const {
  if (!q.domain.empty() || q.op != "QuantizeLinear" || !is_eight_bits(graph_.value(q.outputs[0]).type) ||
      !is_float(graph_.value(q.inputs[0]).type) || !is_scale(q.inputs[1]) ||
      q.attributes.get<int64_t>("precision", 0) > 1)
    return std::nullopt;
  const ValueId zero = input(q, 2);
  const Tensor* z = zero == no_id ? nullptr : graph_.constant_tensor(zero);
  if (zero != no_id && (!z || z->size() != 1)) return std::nullopt;
  return QuantizedValue{q.outputs[0], q.inputs[1], zero};
}

std::optional<QuantizedWeights> QuantizedView::weights(ValueId v) const {
  QuantizedWeights w;
  const Attributes* attributes = nullptr;
  std::vector<Fold::Operand> from;
  if (const Node* d = made_by(graph_, v, "DequantizeLinear")) {
    attributes = &d->attributes;
    for (ValueId i : d->inputs)
      from.push_back(i == no_id
                         ? Fold::Operand{}
                         : Fold::Operand{graph_.value(i).is_constant() ? graph_.value(i).constant : nullptr,
                                         graph_.value(i).name, graph_.value(i).source});
  } else if (graph_.constant_tensor(v)) {
    const auto fold = folds_.find(graph_.value(v).constant.get());
    if (fold == folds_.end() || fold->second.op != "DequantizeLinear") return std::nullopt;
    attributes = &fold->second.attributes;
    from = fold->second.from;
  }
  if (!attributes || from.size() < 2 || !from[0].constant || !from[1].constant ||
      attributes->get<int64_t>("block_size", 0) != 0)
    return std::nullopt;
  w.bytes = from[0];
  w.scale = from[1];
  if (from.size() > 2) w.zero = from[2];
  const auto rank = static_cast<int64_t>(w.tensor().rank());
  w.axis = attributes->get<int64_t>("axis", 1);
  if (w.axis < 0) w.axis += rank;
  const bool bytes = w.tensor().type() == DataType::int8 || w.tensor().type() == DataType::uint8;
  return bytes && are_weight_scales(w.scale.constant->tensor()) ? std::optional(w) : std::nullopt;
}

std::optional<Clamped> QuantizedView::clamped(ValueId v) const {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Clamped c{v, -infinity, infinity};
  const auto inside = [&](float x) { return std::min(std::max(x, c.low), c.high); };
  for (;;) {
    float low = -infinity, high = infinity;
    const Node* n = made_by(graph_, c.value, "Relu");
    if (n) {
      low = 0;
    } else if ((n = made_by(graph_, c.value, "Clip"))) {
      for (size_t i : {1u, 2u}) {
        if (input(*n, i) == no_id) continue;
        const auto bound = single_float(n->inputs[i]);
        if (!bound || std::isnan(*bound)) return c;
        (i == 1 ? low : high) = *bound;
      }
      if (low > high) return c;
    }
    if (!n || !read_once(c.value)) return c;
    const float least = inside(low), most = inside(high);
    c = {n->inputs[0], least, most};
  }
}

bool QuantizedView::read_once(ValueId v) const {
  return v < uses_.size() && uses_[v].size() == 1 && !graph_.is_output(v);
}

ValueId QuantizedView::add(const Fold::Operand& o) {
  const Tensor& t = o.constant->tensor();
  const ValueId v = graph_.add_constant(
      graph_.fresh_name(o.name.empty() ? "weights" : o.name), *o.constant,
      ValueType::tensor(t.type(), SymShape(t.shape().begin(), t.shape().end())), o.source);
  graph_.value(v).constant = o.constant;  // whose address identifies how it was made
  if (o.source.empty()) graph_.value(v).source.clear();
  return v;
}

ValueId QuantizedView::add_zero(DataType type) {
  Tensor zero(type, {});
  *static_cast<uint8_t*>(zero.data()) = 0;
  return graph_.add_constant(graph_.fresh_name("zero"), std::move(zero));
}
ValueId QuantizedView::zero_or_made(ValueId zero, ValueId like) {
  return zero != no_id ? zero : add_zero(graph_.value(like).type.elem);
}
ValueId QuantizedView::zero_or_made(const QuantizedWeights& w) {
  return w.zero.constant ? add(w.zero) : add_zero(w.tensor().type());
}

bool has_kernel(const Graph& g, const Node& n, const KernelCatalog& kernels, const Preference& preference) {
  const OpCodec* codec = kernels.codec_of(n.domain, n.op);
  if (!codec) return false;
  const NodeQuery query(g, n, preference.isa, true);
  const auto op = codec->decode(n.attributes);
  return std::ranges::any_of(kernels.candidates(n.domain, n.op), [&](const Kernel* k) {
    return k->isa <= preference.isa && k->memory == host_memory &&
           (!k->supports || k->supports(op.get(), query.kernel_query()).accepted);
  });
}

}  // namespace lathe
