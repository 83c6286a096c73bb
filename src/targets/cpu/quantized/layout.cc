#include "targets/cpu/quantized/layout.h"

#include "compiler/node_query.h"
#include "cpu/nchw16c.h"
#include "tensor/element.h"

namespace lathe {

bool QuantizedLayout::is_image(ValueId v) const {
  const ValueType& t = graph.value(v).type;
  return t.is_tensor() && t.shape && (t.shape->size() == 3 || t.shape->size() == 4) && (*t.shape)[1].value();
}
bool QuantizedLayout::is_volume(ValueId v) const {
  const ValueType& t = graph.value(v).type;
  return t.is_tensor() && t.shape && t.shape->size() == 5;
}

bool QuantizedLayout::same_quant_params(const QuantizedValue& a, const QuantizedValue& b) const {
  const auto zero = [&](const QuantizedValue& q) {
    return q.zero == no_id ? 0 : load_int(*graph.constant_tensor(q.zero), 0);
  };
  return view.single_float(a.scale) == view.single_float(b.scale) && zero(a) == zero(b) &&
         graph.value(a.bytes).type.elem == graph.value(b.bytes).type.elem;
}

bool QuantizedLayout::has_kernel(const Node& n) const {
  return lathe::has_kernel(graph, n, kernels, preference);
}

Node QuantizedLayout::described(const QuantizedTarget& t, const Node& source, std::string op) const {
  const auto names = [](const Node& n) {
    return n.origin.empty() && !n.name.empty() ? std::vector{n.name} : n.origin;
  };
  Node n;
  n.domain = "lathe";
  n.op = std::move(op);
  n.name = source.name;
  n.origin = names(source);
  if (t.last != t.source) n.origin = joined_origins(n.origin, names(graph.node(t.last)));
  return n;
}

ValueId QuantizedLayout::add_blocked_value(ValueId v, int64_t of_channels) {
  ValueType type = graph.value(v).type;
  SymShape& s = *type.shape;
  s[1] = Dim((of_channels + cpu::channel_block - 1) / cpu::channel_block);
  s.push_back(Dim(cpu::channel_block));
  type.elem = DataType::uint8;
  return graph.add_value(graph.fresh_name(graph.value(v).name + ".blocked"), std::move(type));
}

ValueId QuantizedLayout::add_table(const LookupTables::Table& t, uint8_t from, uint8_t to) {
  Tensor entries(DataType::uint8, {256});
  for (size_t i = 0; i < t.entries.size(); ++i)
    entries.as<uint8_t>()[i ^ from] = static_cast<uint8_t>(t.entries[i] ^ to);
  return add_constant("table", std::move(entries));
}

void QuantizedLayout::add_block(ValueId nchw, ValueId blocks) {
  form[nchw] = blocks;
  Node n;
  n.domain = "lathe";
  n.op = "Block";
  n.inputs = {nchw};
  n.outputs = {blocks};
  graph.add_node(std::move(n));
}

void QuantizedLayout::add_unblocked(ValueId blocks, ValueId nchw) {
  Node n;
  n.domain = "lathe";
  n.op = "Unblock";
  n.inputs = {blocks};
  n.outputs = {nchw};
  n.attributes.set("channels", channels(nchw));
  graph.add_node(std::move(n));
  form[nchw] = blocks;
  changed = true;
}

void QuantizedLayout::finish(const QuantizedTarget& t, Node n) {
  const ValueId made = n.outputs[0];
  graph.remove_node(t.last);
  graph.add_node(std::move(n));
  add_unblocked(made, t.quant.bytes);
}

bool QuantizedLayout::finish_if_it_runs(const QuantizedTarget& t, Node n) {
  if (!has_kernel(n)) return false;
  finish(t, std::move(n));
  return true;
}

bool QuantizedLayout::finish_in_nchw(const QuantizedTarget& t, Node n) {
  if (!has_kernel(n)) return false;
  graph.remove_node(t.last);
  graph.add_node(std::move(n));
  return changed = true;
}

void set_clamp(Node& n, const std::string& prefix, const Clamped& c) {
  n.attributes.set(prefix + "clamp_low", c.low);
  n.attributes.set(prefix + "clamp_high", c.high);
}

std::vector<std::string> joined_origins(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace lathe
