#include "exporters/float64.h"

#include "base/file.h"
#include "graph/traverse.h"
#include "tensor/element.h"

namespace lathe::exporters {
namespace {

bool widens(DataType t) {
  return t == DataType::float32 || t == DataType::float16 || t == DataType::bfloat16;
}

void widen(Node& n) {
  for (const auto& entry : Attributes(n.attributes)) {
    if (const auto* t = std::get_if<Tensor>(&entry.value); t && widens(t->type()))
      n.attributes.set(entry.name, as_float64(*t));
    const auto* i = std::get_if<int64_t>(&entry.value);
    const bool names_a_type = entry.name == "to" || entry.name == "dtype";
    if (i && names_a_type && *i > 0 && *i < data_type_count && widens(static_cast<DataType>(*i)))
      n.attributes.set(entry.name, static_cast<int64_t>(DataType::float64));
  }
}

void widen(Graph& g) {
  for (ValueId v = 0; v < g.value_count(); ++v) {
    ValueInfo& info = g.value(v);
    if (widens(info.type.elem)) info.type.elem = DataType::float64;
    if (info.constant && info.constant->is_tensor() && widens(info.constant->tensor().type()))
      info.constant = std::make_shared<const Value>(as_float64(info.constant->tensor()));
  }
  for (NodeId id : g.order()) widen(g.node(id));
}

}  // namespace

Tensor as_float64(const Tensor& t) {
  if (!widens(t.type())) return t;
  Tensor wide(DataType::float64, t.shape());
  auto to = wide.as<double>();
  if (t.type() == DataType::float32)
    std::ranges::copy(t.as<float>(), to.begin());
  else
    for (int64_t i = 0; i < t.size(); ++i) to[static_cast<size_t>(i)] = load_double(t, i);
  drop_mapped_pages(t.data(), t.bytes());
  return wide;
}

std::unique_ptr<Graph> in_float64(const Graph& g) {
  std::unique_ptr<Graph> wide = g.clone();
  each_graph(*wide, [](Graph& each) { widen(each); });
  return wide;
}

void move_weights(Graph& root, DataType type, uint64_t seed) {
  const double unit = type == DataType::float64 ? 0x1p-53 : 0x1p-24;
  each_graph(root, [&](Graph& g) {
    for (ValueId v = 0; v < g.value_count(); ++v) {
      ValueInfo& info = g.value(v);
      // A single number is an exponent, an epsilon or a scale rather than a weight.
      if (!info.constant || !info.constant->is_tensor() || info.constant->tensor().size() < 2 ||
          info.constant->tensor().type() != DataType::float64)
        continue;
      const Tensor& weights = info.constant->tensor();
      Tensor off(DataType::float64, weights.shape());
      const auto from = weights.as<double>();
      const auto to = off.as<double>();
      for (size_t i = 0; i < from.size(); ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        to[i] = from[i] * (seed >> 63 ? 1 + unit : 1 - unit);
      }
      info.constant = std::make_shared<const Value>(std::move(off));
    }
  });
}

uint64_t float64_bytes(const Graph& root) {
  uint64_t bytes = 0;
  each_graph(root, [&](const Graph& g) {
    for (ValueId v = 0; v < g.value_count(); ++v)
      if (const Tensor* t = g.constant_tensor(v); t && g.value(v).captured == no_id)
        bytes += static_cast<uint64_t>(t->size()) * sizeof(double);
  });
  return bytes;
}

}  // namespace lathe::exporters
