// Which versions of the standard can say a graph.
#include "onnx/export_version.h"

#include <algorithm>

#include "onnx/exporter.h"
#include "schema/check_node.h"

namespace lathe {
namespace {

bool same_default(const std::optional<AttributeValue>& a, const std::optional<AttributeValue>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return same_value(*a, *b);
}

/// Do the node's attributes, and those it leaves out, mean in `older` what they mean in `newer`? What came
/// after `older` may be set to its default, which `newest` knows.
bool attributes_fit(const Node& n, const Signature& older, const Signature& newer, const Signature& newest) {
  for (const auto& a : n.attributes) {
    const AttributeDecl* then = older.attribute(a.name);
    const AttributeDecl* now = newer.attribute(a.name);
    if (then && now && then->kind != now->kind) return false;
    const AttributeDecl* last = newest.attribute(a.name);
    if (!then && !(last && last->fallback && same_value(a.value, *last->fallback))) return false;
  }
  for (const Body& b : n.bodies)
    if (!older.attribute(b.name)) return false;
  for (const AttributeDecl& then : older.attributes) {
    if (n.attributes.has(then.name) || n.body(then.name)) continue;
    if (then.required) return false;
    const AttributeDecl* now = newer.attribute(then.name);
    if (now && !same_default(then.fallback, now->fallback)) return false;
  }
  return true;
}

size_t count_present(const std::vector<ValueId>& list) {
  size_t n = list.size();
  while (n > 0 && list[n - 1] == no_id) --n;
  return n;
}

bool types_fit(const Graph& g, const std::vector<ValueId>& values, const Signature& s, bool inputs) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == no_id) continue;
    const ValueType& t = g.value(values[i]).type;
    if (!t.known()) continue;
    const Parameter& p = inputs ? s.input(i) : s.output(i);
    const TypeVariable* v = s.variable(p.type);
    if (v ? !v->allows(t) : t.str(false) != p.type) return false;
  }
  return true;
}

bool fits(const Graph& g, const Node& n, const Signature& older, const Signature& newer,
          const Signature& newest) {
  const size_t inputs = count_present(n.inputs), outputs = count_present(n.outputs);
  if (inputs < older.min_inputs || inputs > older.max_inputs || outputs < older.min_outputs ||
      outputs > older.max_outputs)
    return false;
  for (size_t i = 0; i < inputs; ++i)
    if (n.inputs[i] == no_id && older.input(i).arity == Parameter::Arity::required) return false;
  return attributes_fit(n, older, newer, newest) && types_fit(g, n.inputs, older, true) &&
         types_fit(g, n.outputs, older, false);
}

/// The IR version that brought an element type, by the releases of the standard.
int ir_version_of(DataType t) {
  switch (t) {
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
      return 9;
    case DataType::int4:
    case DataType::uint4:
      return 10;
    case DataType::float4e2m1:
      return 11;
    case DataType::float8e8m0:
      return 12;
    case DataType::int2:
    case DataType::uint2:
      return 13;
    case DataType::float6e2m3:
    case DataType::float6e3m2:
      return 14;
    default:
      return 3;
  }
}

}  // namespace

const Version& lowest_version(const Graph& g, const Node& n, const OpSchema& schema) {
  const std::vector<Version>& all = schema.versions();
  size_t i = all.size() - 1;
  while (i > 0 && !all[i].from_previous && !all[i - 1].deprecated &&
         fits(g, n, all[i - 1].signature(), all[i].signature(), all.back().signature()))
    --i;
  return all[i];
}

int ir_version_for(const ValueType& t) {
  int ir = ir_version_of(t.elem);
  if (t.kind == ValueType::Kind::optional) ir = std::max(ir, 8);
  return t.inner ? std::max(ir, ir_version_for(*t.inner)) : ir;
}

int ir_version_for_opset(int opset) {
  struct Release {
    int opset, ir;
  };
  constexpr Release releases[] = {{8, 3},  {9, 4},   {10, 5},  {11, 6},  {14, 7}, {18, 8},
                                  {20, 9}, {22, 10}, {23, 11}, {24, 12}, {27, 13}};
  for (const Release& r : releases)
    if (opset <= r.opset) return r.ir;
  return newest_ir_version;
}

}  // namespace lathe
