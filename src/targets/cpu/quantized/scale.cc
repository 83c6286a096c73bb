// Images of bytes whose channels are multiplied and shifted, by bytes or by constants.
#include <algorithm>
#include <optional>

#include "targets/cpu/quantized/layout.h"

namespace lathe {
namespace {

bool is_pixel_of(const QuantizedLayout& l, ValueId pixel, ValueId image) {
  const SymShape &p = *l.graph.value(pixel).type.shape, &x = *l.graph.value(image).type.shape;
  return p.size() == x.size() && p[0] == x[0] && p[1] == x[1] &&
         std::all_of(p.begin() + 2, p.end(), [](const Dim& d) { return d == Dim(1); });
}

/// Returns the numbers of a constant along the channels of an image of this rank; a single one is for all of
/// them.
std::optional<std::vector<float>> of_channels(const QuantizedLayout& l, ValueId v, size_t image_rank,
                                              int64_t n) {
  const Tensor* t = l.graph.constant_tensor(v);
  if (!t || t->type() != DataType::float32 || t->rank() > image_rank || (t->size() != 1 && t->size() != n))
    return std::nullopt;
  const size_t channel_axis = image_rank - 1;  // counted from the end
  if (t->size() != 1 && (t->rank() < channel_axis || t->dim(t->rank() - channel_axis) != n))
    return std::nullopt;
  return std::vector<float>(t->as<float>().begin(), t->as<float>().end());
}

bool finish_scaled(QuantizedLayout& l, const QuantizedTarget& t, Node n) {
  n.attributes.set("channels", l.channels(t.quant.bytes));
  set_clamp(n, "", t.of);
  for (ValueId v : l.result(t)) n.inputs.push_back(v);
  n.outputs = {l.add_blocked_value(t.quant.bytes)};
  return l.finish_if_it_runs(t, std::move(n));
}

}  // namespace

/// Multiplies x by a number for each channel, [N, C, 1, 1].
bool quantize_gate(QuantizedLayout& l, const QuantizedTarget& t, const Node& mul) {
  for (size_t i : {size_t{0}, size_t{1}}) {
    const auto x = l.view.number(mul.inputs[i]), gate = l.view.number(mul.inputs[1 - i]);
    if (!x || !gate || !l.is_blocked(*x) || !l.is_blocked(*gate) || !l.same_shape(x->bytes, t.quant.bytes) ||
        !is_pixel_of(l, gate->bytes, x->bytes))
      continue;
    Node n = l.described(t, mul, "BlockedInt8Scale");
    n.inputs = l.operand(*x);
    for (ValueId v : l.operand(*gate)) n.inputs.push_back(v);
    n.inputs.push_back(no_id);
    return finish_scaled(l, t, std::move(n));
  }
  return false;
}

bool quantize_scale(QuantizedLayout& l, const QuantizedTarget& t, const Node& source) {
  const int64_t n = l.channels(t.quant.bytes);
  std::vector<float> factor(static_cast<size_t>(n), 1), shift(factor.size());
  ValueId v = t.of.value;
  // From the last operator to the first: what was found so far is applied to the result of the next.
  while (!l.view.number(v)) {
    const NodeId at = l.view.read_once(v) ? l.graph.value(v).producer : no_id;
    if (at == no_id || !l.graph.node(at).domain.empty() || !l.same_shape(v, t.quant.bytes)) return false;
    const Node& step = l.graph.node(at);
    if (step.op != "Mul" && step.op != "Add") return false;
    const size_t constant = l.graph.constant_tensor(step.inputs[0]) ? 0 : 1;
    const auto numbers = of_channels(l, step.inputs[constant], l.rank(v), n);
    if (!numbers) return false;
    for (size_t c = 0; c < factor.size(); ++c) {
      const float number = (*numbers)[numbers->size() == 1 ? 0 : c];
      step.op == "Mul" ? factor[c] *= number : shift[c] += factor[c] * number;
    }
    v = step.inputs[1 - constant];
  }
  const QuantizedValue x = *l.view.number(v);
  if (!l.is_blocked(x) || !l.same_shape(x.bytes, t.quant.bytes)) return false;
  const auto add = [&](const char* name, const std::vector<float>& numbers) {
    return l.add_constant(name, Tensor::from<float>({n}, numbers));
  };
  Node node = l.described(t, source, "BlockedInt8Scale");
  node.inputs = l.operand(x);
  for (ValueId operand : {add("factor", factor), no_id, no_id, add("shift", shift)})
    node.inputs.push_back(operand);
  return finish_scaled(l, t, std::move(node));
}

}  // namespace lathe
