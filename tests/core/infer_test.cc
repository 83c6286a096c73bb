// The inference engine, with a few operators declared here: type variables, shape arithmetic, bodies,
// declared types, faults.
#include "schema/infer.h"

#include <gtest/gtest.h>

#include "schema/check_node.h"

namespace lathe {
namespace LATHE_TEST_FILE {

struct Add {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    const size_t all[] = {0, 1};
    c.output(0, c.broadcast_shapes(all));
    const auto *a = c.values(0), *b = c.values(1);
    if (!a || !b || a->size() != b->size()) return;
    std::vector<D> sum;
    for (size_t i = 0; i < a->size(); ++i) sum.push_back((*a)[i] + (*b)[i]);
    c.output_values(0, std::move(sum));
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
struct Pick {
  int64_t at = 0;
  void fields(auto&& f) { f("at", at); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, {D(1)});
    if (const auto* v = c.values(0))
      c.output_values(0, {(*v)[static_cast<size_t>(c.axis(at, static_cast<int64_t>(v->size()), "at"))]});
  }
};
struct Join {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> all;
    for (size_t i = 0; i < c.inputs(); ++i) {
      if (!c.values(i)) return;
      for (const D& d : *c.values(i)) all.push_back(d);
    }
    c.output(0, {D(static_cast<int64_t>(all.size()))});
    c.output_values(0, std::move(all));
  }
};
struct Reshape {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto* wanted = c.values(1);
    if (!wanted) return;
    std::vector<D> s = *wanted;
    D rest(1);
    size_t open = s.size();
    for (size_t i = 0; i < s.size(); ++i) {
      if (known(s[i]) == -1)
        open = i;
      else
        rest = rest * s[i];
    }
    if (open < s.size()) s[open] = floor_div(c.product(c.shape(0)), rest);
    c.output(0, std::move(s));
  }
};

DataType cast_type(const Node& n, std::span<const ValueType>) {
  return static_cast<DataType>(n.attributes.get<int64_t>("to", 0));
}
struct Cast {
  int64_t to = 0;
  void fields(auto&& f) { f("to", to); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, c.shape(0));
    if (c.values(0)) c.output_values(0, *c.values(0));
  }
};

/// A loop over one state: the state's type is what holds before and after.
void infer_repeat(InferContext& c) {
  ValueType state = c.input(0);
  for (int round = 0; round < 3; ++round) {
    const auto out = c.infer_body(0, std::vector{state});
    auto both = join(state, out.at(0));
    if (!both) throw Error(Code::node_bad_type, "infer", "a state that keeps its type", out[0].str());
    if (*both == state) break;
    state = *both;
  }
  c.output(0, state);
}

SchemaCatalog make_catalog() {
  SchemaCatalog c;
  c.add("Add").version(7, "(A: T, B: T) -> (C: T) [T: float double int64]").rule<Add>();
  c.add("Shape").version(1, "(data: T) -> (shape: int64) [T: @all]").rule<ShapeOf>();
  c.add("Pick").version(1, "(data: T) -> (one: T) {at: int = 0} [T: int64]").rule<Pick>();
  c.add("Join").version(1, "(parts*: T) -> (all: T) [T: int64]").rule<Join>();
  c.add("Reshape").version(5, "(data: T, shape: int64) -> (reshaped: T) [T: @all]").rule<Reshape>();
  c.add("Cast")
      .version(6, "(input: T1) -> (output: T2) {to: int!} [T1: @plain; T2: @plain]")
      .rule<Cast>()
      .output_type(cast_type);
  c.add("Repeat").version(1, "(state: V) -> (final: V) {body: graph!} [V: @all]").infer(infer_repeat);
  c.add("Wrap").version(1, "(x: T) -> (s: S) [T: float; S: seq(float)]");
  c.add("Mix").version(1,
                       "(a?: T, b: U, rest~0: V) -> (c?: U, d: B) {mode: string = 'x', axes: ints} [T: "
                       "float; U: int64; V: @all; B: bool]");
  return c;
}
const SchemaCatalog catalog = make_catalog();

ValueType t(std::string_view s) { return ValueType::parse(s); }

std::string type_of_output(Graph& g, NodeId n, size_t i = 0) {
  return g.value(g.node(n).outputs[i]).type.str();
}

Diagnostic fault_of(Graph& g, NodeId n) {
  InferState state;
  try {
    infer_node(g, n, catalog, state);
  } catch (const Error& e) {
    return e.diagnostic();
  }
  return {};
}

TEST(Infer, BindsTypeVariablesAndBroadcasts) {
  Graph g;
  const ValueId a = g.add_input("a", t("float[N,3]")), b = g.add_input("b", t("float[3]"));
  const NodeId n = g.add_node("Add", {a, b}, 1);
  InferState state;
  infer_node(g, n, catalog, state);
  EXPECT_EQ(type_of_output(g, n), "float[N,3]");
}

TEST(Infer, FollowsShapesThroughIntegers) {
  Graph g;
  const ValueId x = g.add_input("x", t("float[batch,seq,64]")),
                past = g.add_input("p", t("float[batch,past]"));
  auto one = [&](std::string op, std::vector<ValueId> in, Attributes a = {}) {
    return g.node(g.add_node(std::move(op), std::move(in), 1, std::move(a))).outputs[0];
  };
  Attributes second;
  second.set("at", int64_t{1});
  const ValueId sx = one("Shape", {x}), sp = one("Shape", {past});
  const ValueId total = one("Add", {one("Pick", {sx}, second), one("Pick", {sp}, second)});
  const ValueId open = g.add_constant("open", Tensor::from<int64_t>({2}, std::vector<int64_t>{-1, 16}));
  const ValueId shape = one("Join", {one("Pick", {sx}), open});
  const ValueId y = one("Reshape", {x, shape});
  InferState state;
  infer_graph(g, catalog, state);
  EXPECT_EQ(g.value(y).type.str(), "float[batch,4*seq,16]");
  EXPECT_EQ(state.values(g, total)->at(0), Dim::symbol("past") + Dim::symbol("seq"));
  EXPECT_EQ(state.values(g, open)->at(0), Dim(-1));
}

TEST(Infer, NumbersFoundByShapeArithmeticServeAsConstants) {
  Graph g;
  const ValueId x = g.add_input("x", t("float[2,12]"));
  const ValueId s = g.node(g.add_node("Shape", {x}, 1)).outputs[0];
  const NodeId r = g.add_node("Reshape", {x, s}, 1);
  InferState state;
  infer_graph(g, catalog, state);
  EXPECT_EQ(type_of_output(g, r), "float[2,12]");
}

TEST(Infer, OutputTypesFromAttributesSingleTypesAndSequences) {
  Graph g;
  const ValueId x = g.add_input("x", t("float[N]"));
  Attributes to;
  to.set("to", int64_t{7});
  const NodeId cast = g.add_node("Cast", {x}, 1, to), wrap = g.add_node("Wrap", {x}, 1),
               shape = g.add_node("Shape", {x}, 1);
  InferState state;
  infer_graph(g, catalog, state);
  EXPECT_EQ(type_of_output(g, cast), "int64[N]");
  EXPECT_EQ(type_of_output(g, wrap), "seq(float)");
  EXPECT_EQ(type_of_output(g, shape), "int64[1]");
}

TEST(Infer, UnknownRankStopsOnlyTheShape) {
  Graph g;
  const ValueId a = g.add_input("a", t("float")), b = g.add_input("b", t("float[3]"));
  const NodeId n = g.add_node("Add", {a, b}, 1);
  InferState state;
  infer_node(g, n, catalog, state);
  EXPECT_EQ(type_of_output(g, n), "float");
}

TEST(Infer, DeclaredTypesCompleteAndContradict) {
  Graph g;
  const ValueId a = g.add_input("a", t("float[N,3]")), r = g.add_input("r", t("float")),
                s = g.add_input("s", t("int64[2]"));
  auto declared = [&](std::vector<ValueId> in, const char* op, const char* type) {
    Node n;
    n.op = op, n.name = "node";
    n.inputs = std::move(in);
    n.outputs = {g.add_value("", t(type))};
    return g.add_node(std::move(n));
  };
  InferState state;
  const NodeId number = declared({r, s}, "Reshape", "float[4,?900]");
  infer_node(g, number, catalog, state);
  EXPECT_EQ(type_of_output(g, number), "float[4,?900]");
  const NodeId kept = declared({a, a}, "Add", "float[7,3]");
  infer_node(g, kept, catalog, state);
  EXPECT_EQ(type_of_output(g, kept), "float[N,3]");

  const NodeId rank = declared({a, a}, "Add", "float[N,4]"), element = declared({a, a}, "Add", "double[N,3]");
  EXPECT_EQ(fault_of(g, rank).code, Code::node_bad_shape);
  EXPECT_EQ(fault_of(g, element).code, Code::node_bad_type);
}

TEST(Infer, FaultsNameNodeOperatorAndInputs) {
  Graph g;
  const ValueId f = g.add_input("f", t("float[2,3]")), i = g.add_input("i", t("int64[4]")),
                h = g.add_input("h", t("float[4]"));
  const Diagnostic mixed = fault_of(g, g.add_node("Add", {f, i}, 1, {}, "mixed"));
  EXPECT_EQ(mixed.code, Code::node_bad_type);
  EXPECT_EQ(mixed.node, "mixed");
  EXPECT_EQ(mixed.op, "Add");
  EXPECT_EQ(mixed.inputs, (std::vector<std::string>{"f: float[2,3]", "i: int64[4]"}));
  EXPECT_EQ(mixed.got, "int64");
  EXPECT_EQ(fault_of(g, g.add_node("Add", {f, h}, 1)).code, Code::node_bad_shape);
  EXPECT_EQ(fault_of(g, g.add_node("Pick", {f}, 1)).code, Code::node_bad_type);
  Attributes far;
  far.set("at", int64_t{9});
  EXPECT_EQ(fault_of(g, g.add_node("Pick", {g.add_constant("c", Tensor::scalar<int64_t>(1))}, 1, far)).code,
            Code::node_bad_attribute);
  EXPECT_EQ(fault_of(g, g.add_node("Add", {f}, 1)).code, Code::node_bad_arity);
  EXPECT_EQ(fault_of(g, g.add_node("Nowhere", {f}, 1)).code, Code::none);
}

TEST(Infer, SignatureChecksFindEveryFault) {
  Graph g;
  const ValueId i = g.add_input("i", t("int64[4]"));
  auto codes = [&](std::vector<ValueId> in, size_t outputs, Attributes a) {
    const NodeId n = g.add_node("Mix", std::move(in), outputs, std::move(a));
    const OpSchema& schema = *catalog.find("", "Mix");
    std::vector<std::string> found;
    for (const Diagnostic& d : check_signature(g, g.node(n), schema, schema.newest()))
      found.push_back(code_name(d.code) + " " + d.got);
    return found;
  };
  using Found = std::vector<std::string>;
  EXPECT_EQ(codes({no_id, i, i, i}, 2, {}), Found{});
  EXPECT_EQ(codes({i, no_id}, 2, {}), Found{"E2303 1"});
  EXPECT_EQ(codes({i, no_id, i}, 2, {}), Found{"E2303 nothing"});
  Attributes a;
  a.set("mode", int64_t{1});
  a.set("axis", int64_t{1});
  EXPECT_EQ(codes({no_id, i}, 3, a), (Found{"E2303 3", "E2304 'axis'", "E2304 kind int"}));
  const OpSchema& cast = *catalog.find("", "Cast");
  const auto missing = check_signature(g, g.node(g.add_node("Cast", {i}, 1)), cast, cast.newest());
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].code, Code::node_bad_attribute);
}

/// A Repeat node whose body adds `captured` to its state.
NodeId repeat(Graph& g, ValueId state, ValueId captured, const char* declared_state = "none") {
  Node n;
  n.op = "Repeat";
  n.inputs = {state};
  auto body = std::make_shared<Graph>(&g);
  const ValueId s = body->add_input("s", t(declared_state));
  const NodeId add = body->add_node("Add", {s, body->capture(captured)}, 1);
  body->set_outputs({body->node(add).outputs[0]});
  n.bodies.push_back({"body", body});
  n.outputs = {g.add_value("")};
  return g.add_node(std::move(n));
}

TEST(Infer, BodiesAreInferredUntilTheirStateHolds) {
  Graph g;
  const ValueId one = g.add_input("one", t("float[1]")), many = g.add_input("many", t("float[N]"));
  const NodeId steady = repeat(g, many, one), widening = repeat(g, one, many);
  InferState state;
  infer_graph(g, catalog, state);
  EXPECT_EQ(type_of_output(g, steady), "float[N]");
  const ValueType wide = g.value(g.node(widening).outputs[0]).type;
  ASSERT_EQ(wide.shape->size(), 1u);
  EXPECT_TRUE((*wide.shape)[0].has_unknown());
}

TEST(Infer, BodiesAreFilledWhenTheirInputsAreTyped) {
  Graph g;
  const ValueId x = g.add_input("x", t("float[N]"));
  const NodeId n = repeat(g, x, x);
  InferState state;
  int fills = 0;
  state.fill_body = [&](Graph& b) {
    EXPECT_EQ(b.value(b.inputs()[0]).type.str(), "float[N]");
    if (fills++) return false;
    infer_graph(b, catalog, state);
    return true;
  };
  infer_node(g, n, catalog, state);
  EXPECT_EQ(fills, 1);
  EXPECT_EQ(type_of_output(g, n), "float[N]");
}

TEST(Infer, FaultsInBodiesNameTheInnerNode) {
  Graph g;
  const ValueId x = g.add_input("x", t("float[2]")), y = g.add_input("y", t("float[3]"));
  const Diagnostic d = fault_of(g, repeat(g, x, y));
  EXPECT_EQ(d.code, Code::node_bad_shape);
  EXPECT_EQ(d.op, "Add");
}

TEST(Infer, WideningNestedBodiesMeetALimit) {
  Graph g;
  const ValueId one = g.add_input("one", t("float[1]")), many = g.add_input("many", t("float[N]"));
  Graph* at = &g;
  ValueId state_in = one, add = many;
  std::vector<std::pair<Graph*, Node>> open;
  for (int depth = 0; depth < 60; ++depth) {
    Node n;
    n.op = "Repeat";
    n.inputs = {state_in};
    auto body = std::make_shared<Graph>(at);
    state_in = body->add_input("s", {});
    add = body->capture(add);
    n.bodies.push_back({"body", body});
    n.outputs = {at->add_value("")};
    const NodeId id = at->add_node(std::move(n));
    if (at != &g) at->set_outputs({at->node(id).outputs[0]});
    at = body.get();
  }
  at->set_outputs({at->node(at->add_node("Add", {state_in, add}, 1)).outputs[0]});
  InferState state;
  state.body_budget = 10000;
  try {
    infer_graph(g, catalog, state);
    FAIL() << "expected the limit";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::graph_too_large);
  }
}

// References to values and nodes stay valid while nodes are added: decompositions and passes read a type,
// make a constant and read on.
TEST(Graph, KeepsReferencesWhileOthersAreAdded) {
  Graph g;
  const ValueId x = g.add_input("x", ValueType::tensor(DataType::float32, SymShape{Dim(2), Dim(3)}));
  const NodeId first = g.add_node("Relu", {x}, 1);
  const ValueInfo& value = g.value(x);
  const Node& node = g.node(first);
  for (int i = 0; i < 1000; ++i) g.add_node("Relu", {x}, 1);
  EXPECT_EQ(&g.value(x), &value);
  EXPECT_EQ(&g.node(first), &node);
  g.truncate(2, 1);
  EXPECT_EQ(&g.value(x), &value);
  EXPECT_EQ(value.type.shape->size(), 2u);
  EXPECT_EQ(node.op, "Relu");
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
