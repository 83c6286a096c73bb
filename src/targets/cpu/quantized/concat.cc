// Concat of images of bytes: blocks side by side, where only the last ones may be not full.
#include <algorithm>
#include <cmath>

#include "cpu/nchw16c.h"
#include "targets/cpu/quantized/layout.h"
#include "tensor/element.h"

namespace lathe {
namespace {

bool fit_side_by_side(const QuantizedLayout& l, const Node& concat, const std::vector<ValueId>& bytes) {
  const int64_t axis = concat.attributes.get<int64_t>("axis", 0);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (!l.form.contains(bytes[i])) return false;
    if (axis != 1 && axis + static_cast<int64_t>(l.rank(bytes[i])) != 1) return false;
    if (i + 1 < bytes.size() && l.channels(bytes[i]) % cpu::channel_block != 0) return false;
  }
  return !bytes.empty();
}

/// Returns a LookupTable that converts the bytes of x to other quantization parameters.
Node rescaled(QuantizedLayout& l, const QuantizedValue& x, const QuantizedValue& quant) {
  const auto zero = [&](const QuantizedValue& q) {  // of unsigned bytes, as they are in blocks
    return (q.zero == no_id ? 0 : load_int(*l.graph.constant_tensor(q.zero), 0)) +
           (l.graph.value(q.bytes).type.elem == DataType::int8 ? 128 : 0);
  };
  LookupTables::Table t{x.bytes, {}};
  for (size_t i = 0; i < t.entries.size(); ++i) {
    const float number =
        static_cast<float>(static_cast<int64_t>(i) - zero(x)) * *l.view.single_float(x.scale);
    const float q =
        std::nearbyint(number / *l.view.single_float(quant.scale)) + static_cast<float>(zero(quant));
    t.entries[i] = static_cast<uint8_t>(std::clamp(q, 0.0f, 255.0f));
  }
  Node n;
  n.domain = "lathe";
  n.op = "LookupTable";
  n.inputs = {l.form.at(x.bytes), l.add_table(t, 0, 0)};
  n.outputs = {l.add_blocked_value(x.bytes)};
  return n;
}

void finish_concat(QuantizedLayout& l, const QuantizedTarget& t, const Node& concat,
                   std::vector<ValueId> blocks) {
  Node n = l.described(t, concat, "Concat");
  n.domain.clear();
  n.attributes.set("axis", int64_t{1});
  n.inputs = std::move(blocks);
  n.outputs = {l.add_blocked_value(t.quant.bytes)};
  l.finish(t, std::move(n));
}

}  // namespace

/// Joins dequantized images, with the same quantization parameters or several.
bool quantize_concat(QuantizedLayout& l, const QuantizedTarget& t, const Node& concat) {
  std::vector<ValueId> bytes;
  for (ValueId v : concat.inputs) {
    const auto x = l.view.number(v);
    if (!x) return false;
    bytes.push_back(x->bytes);
  }
  if (!l.is_unclamped(t) || !fit_side_by_side(l, concat, bytes)) return false;
  std::vector<ValueId> blocks;
  for (ValueId v : concat.inputs) {
    const QuantizedValue x = *l.view.number(v);
    if (l.same_quant_params(x, t.quant)) {
      blocks.push_back(l.form.at(x.bytes));
      continue;
    }
    Node n = rescaled(l, x, t.quant);
    if (!l.has_kernel(n)) return false;
    blocks.push_back(n.outputs[0]);
    l.graph.add_node(std::move(n));
  }
  finish_concat(l, t, concat, std::move(blocks));
  return true;
}

/// Joins images of bytes as they are.
bool block_concat(QuantizedLayout& l, const QuantizedTarget& t, const Node& n) {
  const DataType type = l.graph.value(n.outputs[0]).type.elem;
  if (!l.is_image(n.outputs[0]) || (type != DataType::int8 && type != DataType::uint8) ||
      !fit_side_by_side(l, n, n.inputs))
    return false;
  std::vector<ValueId> blocks;
  for (ValueId v : n.inputs) blocks.push_back(l.form.at(v));
  finish_concat(l, t, n, std::move(blocks));
  return true;
}

}  // namespace lathe
