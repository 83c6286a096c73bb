#include "support/small_catalog.h"

namespace lathe::test {
namespace {

struct Broadcast {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    const size_t all[] = {0, 1};
    c.output(0, c.broadcast_shapes(all));
  }
};
struct Same {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, c.shape(0));
  }
};
struct Softmax {
  int64_t axis = -1;
  void fields(auto&& f) { f("axis", axis); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.axis(axis, c.rank(0));
    c.output(0, c.shape(0));
  }
};
struct ShapeOf {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, {D(c.rank(0))});
    c.output_values(0, c.shape(0));
  }
};
struct Reshape {
  bool allowzero = false;
  void fields(auto&& f) { f("allowzero", allowzero); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto* wanted = c.values(1);
    if (!wanted) {
      std::vector<D> unknown;
      for (int64_t i = 0; i < known(c.shape(1)[0]).value_or(0); ++i)
        if (auto d = c.data_dependent()) unknown.push_back(*d);
      return c.output(0, std::move(unknown));
    }
    std::vector<D> s = *wanted;
    D rest(1);
    for (const D& d : s)
      if (known(d) != -1) rest = rest * d;
    for (D& d : s)
      if (known(d) == -1) d = floor_div(c.product(c.shape(0)), rest);
    c.output(0, std::move(s));
  }
};
struct Resize {
  std::vector<float> scales;
  void fields(auto&& f) { f("scales", scales); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> s = c.shape(0);
    for (size_t i = 0; i < s.size() && i < scales.size(); ++i)
      s[i] = s[i] * D(static_cast<int64_t>(scales[i]));
    c.output(0, std::move(s));
  }
};

DataType cast_type(const Node& n, std::span<const ValueType>) {
  return static_cast<DataType>(n.attributes.get<int64_t>("to", 0));
}

Tensor ints(const std::vector<int64_t>& v) {
  return Tensor::from<int64_t>({static_cast<int64_t>(v.size())}, v);
}

/// Add-6 could align B with a middle axis of A.
void upgrade_add(UpgradeContext& c) {
  Attributes& a = c.node().attributes;
  const auto axis = a.get<int64_t>("axis", -1);
  if (a.get<int64_t>("broadcast", 0) && axis >= 0) {
    const size_t rank = c.input_type(0).shape->size();
    const SymShape b = *c.input_type(1).shape;
    std::vector<int64_t> shape;
    for (const Dim& d : b) shape.push_back(d.constant());
    while (shape.size() + static_cast<size_t>(axis) < rank) shape.push_back(1);
    c.node().inputs.set(
        1, c.insert("Reshape", {c.node().inputs[1], c.add_constant(ints(shape), "shape")}, {})[0]);
  }
  a.erase("broadcast");
  a.erase("axis");
}

/// Softmax-11 flattened its input to a matrix.
void upgrade_softmax(UpgradeContext& c) {
  const SymShape shape = *c.input_type(0).shape;
  const auto axis = static_cast<size_t>(c.node().attributes.get<int64_t>("axis", 1));
  c.node().attributes.set("axis", int64_t{-1});
  if (axis + 1 == shape.size()) return;
  Dim rows(1), columns(1);
  for (size_t i = 0; i < shape.size(); ++i)
    (i < axis ? rows : columns) = (i < axis ? rows : columns) * shape[i];
  const ValueId x = c.node().inputs[0];
  c.node().inputs.set(
      0,
      c.insert("Reshape", {x, c.add_constant(ints({rows.constant(), columns.constant()}), "matrix")}, {})[0]);
  c.append(0, "Reshape", {c.insert("Shape", {x}, {})[0]}, {});
}

void upgrade_upsample(UpgradeContext& c) { c.node().op = "Resize"; }

void infer_if(InferContext& c) {
  const auto a = c.infer_body(0, {}), b = c.infer_body(1, {});
  if (a.size() != b.size())
    throw Error(Code::node_bad_arity, "infer", "branches of equally many outputs", std::to_string(b.size()));
  for (size_t i = 0; i < a.size(); ++i) {
    auto both = join(a[i], b[i]);
    if (!both)
      throw Error(Code::node_bad_type, "infer", "branches of one type", a[i].str() + " and " + b[i].str());
    c.output(i, *both);
  }
}

void infer_loop(InferContext& c) {
  std::vector<ValueType> in{ValueType::tensor(DataType::int64, SymShape{}),
                            ValueType::tensor(DataType::boolean, SymShape{})};
  const size_t states = c.node().inputs.size() - 2;
  for (size_t i = 0; i < states; ++i) in.push_back(c.input(i + 2));
  for (int round = 0; round < 3; ++round) {
    const auto out = c.infer_body(0, in);
    bool settled = true;
    for (size_t i = 0; i < states; ++i) {
      auto both = join(in[i + 2], out.at(i + 1));
      if (!both) throw Error(Code::node_bad_type, "infer", "states that keep their type", out[i + 1].str());
      settled &= *both == in[i + 2];
      in[i + 2] = *both;
    }
    for (size_t i = states + 1; i < out.size(); ++i) {
      ValueType scanned = out[i];
      if (scanned.shape) scanned.shape->insert(scanned.shape->begin(), Dim::unknown());
      c.output(i - 1, scanned);
    }
    if (settled) break;
  }
  for (size_t i = 0; i < states; ++i) c.output(i, in[i + 2]);
}

SchemaCatalog make() {
  SchemaCatalog c;
  c.add("Add")
      .version(1, "(A: T, B: T) -> (C: T) {axis: int, consumed_inputs: ints, broadcast: int = 0} [T: @float]")
      .version(6, "(A: T, B: T) -> (C: T) {axis: int, broadcast: int = 0} [T: @wide]")
      .version(7, "(A: T, B: T) -> (C: T) [T: @wide]", upgrade_add)
      .version(13, "(A: T, B: T) -> (C: T) [T: @wide_13]")
      .version(14, "(A: T, B: T) -> (C: T) [T: @number_13]")
      .rule<Broadcast>();
  c.add("Softmax")
      .version(1, "(input: T) -> (output: T) {axis: int = 1} [T: @float]")
      .version(11, "(input: T) -> (output: T) {axis: int = 1} [T: @float]")
      .version(13, "(input: T) -> (output: T) {axis: int = -1} [T: @float_13]", upgrade_softmax)
      .rule<Softmax>();
  c.add("Reshape")
      .version(5, "(data: T, shape: int64) -> (reshaped: T) [T: @all]")
      .version(13, "(data: T, shape: int64) -> (reshaped: T) [T: @all_13]")
      .version(14, "(data: T, shape: int64) -> (reshaped: T) {allowzero: int = 0} [T: @all_13]")
      .version(19, "(data: T, shape: int64) -> (reshaped: T) {allowzero: int = 0} [T: @all_ir9]")
      .version(21, "(data: T, shape: int64) -> (reshaped: T) {allowzero: int = 0} [T: @all_ir10]")
      .rule<Reshape>();
  c.add("Relu")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .version(14, "(X: T) -> (Y: T) [T: @float_13 int8 int16 int32 int64]")
      .rule<Same>();
  c.add("Identity")
      .version(1, "(input: T) -> (output: T) [T: @all]")
      .version(13, "(input: T) -> (output: T) [T: @all_13]")
      .version(14, "(input: V) -> (output: V) [V: @all_13 seq(@all_13)]")
      .version(16, "(input: V) -> (output: V) [V: @all_13 seq(@all_13) optional(@all_13)]")
      .version(21, "(input: V) -> (output: V) [V: @all_ir10 seq(@all_13) optional(@all_13)]")
      .rule<Same>();
  c.add("Cast")
      .version(6, "(input: T1) -> (output: T2) {to: int!} [T1: @plain; T2: @plain]")
      .version(9, "(input: T1) -> (output: T2) {to: int!} [T1: @plain string; T2: @plain string]")
      .version(13, "(input: T1) -> (output: T2) {to: int!} [T1: @plain_13 string; T2: @plain_13 string]")
      .version(19, "(input: T1) -> (output: T2) {saturate: int = 1, to: int!} [T1: @real_ir9; T2: @real_ir9]")
      .output_type(cast_type)
      .rule<Same>();
  c.add("Upsample")
      .version(7, "(X: T) -> (Y: T) {scales: floats!} [T: @all]")
      .deprecated(10, upgrade_upsample);
  c.add("Resize").version(10, "(X: T) -> (Y: T) {scales: floats!} [T: @all]").rule<Resize>();
  c.add("Shape")
      .version(1, "(data: T) -> (shape: int64) [T: @all]")
      .version(13, "(data: T) -> (shape: int64) [T: @all_13]")
      .rule<ShapeOf>();
  c.add("If")
      .version(1, "(cond: B) -> (outputs~1: V) {else_branch: graph!, then_branch: graph!} [V: @all; B: bool]")
      .version(13,
               "(cond: B) -> (outputs~1: V) {else_branch: graph!, then_branch: graph!} [V: @all seq(@all); "
               "B: bool]")
      .infer(infer_if);
  c.add("Loop")
      .version(11,
               "(M?: I, cond?: B, v_initial~0: V) -> (v_final_and_scan_outputs~1: V) {body: graph!} [V: "
               "@all; I: int64; B: bool]")
      .version(13,
               "(M?: I, cond?: B, v_initial~0: V) -> (v_final_and_scan_outputs~1: V) {body: graph!} [V: @all "
               "seq(@all); I: int64; B: bool]")
      .infer(infer_loop);
  c.add("test", "Scale").version(2, "(X: T) -> (Y: T) {by: float = 1} [T: @float]").rule<Same>();
  return c;
}

}  // namespace

const SchemaCatalog& small_catalog() {
  static const SchemaCatalog catalog = make();
  return catalog;
}

}  // namespace lathe::test
