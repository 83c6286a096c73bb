// What networks refuse, and that a refused call leaves nothing behind.
#include <gtest/gtest.h>

#include "network/cases.h"
#include "support/temp_directory.h"

namespace lathe::network_cases {
namespace {

/// The fault that `f` must have.
Diagnostic fault_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.diagnostic();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(NetworkErrors, NameTheLayerAndLeaveNothing) {
  Network n("net");
  const TensorRef x = in(n, "x", {"N", 3, 8, 8}), w = n.add_constant(weights({4, 2, 3, 3}), "w");
  const std::string before = n.describe();
  const Diagnostic d = fault_of([&] { n.add_convolution(x, w, {}, {.name = "conv1"}); });
  EXPECT_EQ(d.code, Code::node_bad_shape);
  EXPECT_EQ(d.node, "conv1");
  EXPECT_EQ(d.op, "Conv");
  EXPECT_EQ(n.describe(), before);
  EXPECT_EQ(n.num_layers(), 0u);
  // The name is free again, and so is that of its output.
  const TensorRef w3 = n.add_constant(weights({4, 3, 3, 3}), "w3");
  EXPECT_EQ(n.add_convolution(x, w3, {}, {.name = "conv1"}).get_output(0).name(), "conv1");
}

TEST(NetworkErrors, TypesAreNeverConverted) {
  Network n;
  const TensorRef x = in(n, "x", {4}), i = n.add_input("i", DataType::int32, {4});
  const Diagnostic d = fault_of([&] { n.add_elementwise(x, i, ElementWiseOperation::sum, "mixed"); });
  EXPECT_EQ(d.code, Code::node_bad_type);
  EXPECT_EQ(d.node, "mixed");
  EXPECT_EQ(fault_of([&] { n.add_unary(x, UnaryOperation::logical_not); }).code, Code::node_bad_type);
  EXPECT_EQ(fault_of([&] {
              n.add_quantize(x, n.add_constant(floats({}, {1})), n.add_constant(tensor<uint8_t>({}, {0})));
            }).code,
            Code::node_bad_type);
}

TEST(NetworkErrors, ShapesThatContradict) {
  Network n;
  const TensorRef a = in(n, "a", {"N", 3}), b = in(n, "b", {5, 4});
  EXPECT_EQ(fault_of([&] { n.add_elementwise(a, b, ElementWiseOperation::sum); }).code, Code::node_bad_shape);
  EXPECT_EQ(fault_of([&] { n.add_matrix_multiply(a, b); }).code, Code::node_bad_shape);
  EXPECT_EQ(fault_of([&] { n.add_slice(a, {0, 2}, {1, 2}, {1, 1}, {.name = "cut"}); }).node, "cut");
  EXPECT_EQ(fault_of([&] { n.add_dynamic_quantize(a, {.axis = 1, .block_size = 2}); }).code,
            Code::node_bad_shape);
  EXPECT_EQ(fault_of([&] { n.add_softmax(a, {.axis = 2}); }).code, Code::node_bad_attribute);
  EXPECT_EQ(fault_of([&] { in(n, "c", {-1}); }).code, Code::tensor_bad_shape);
  EXPECT_EQ(fault_of([&] { n.add_expand(a, {"M", 3}); }).code, Code::bad_argument);
}

TEST(NetworkErrors, Names) {
  Network n;
  const TensorRef x = in(n, "x", {2});
  n.add_identity(x, "same");
  EXPECT_EQ(fault_of([&] { in(n, "x", {3}); }).code, Code::graph_duplicate_name);
  EXPECT_EQ(fault_of([&] { n.add_identity(x, "same"); }).code, Code::graph_duplicate_name);
  EXPECT_EQ(fault_of([&] { n.add_constant(floats({}, {1}), "x"); }).code, Code::graph_duplicate_name);
  EXPECT_EQ(fault_of([&] { n.get_layer(1); }).code, Code::bad_argument);
  EXPECT_FALSE(n.find_layer("other"));
  EXPECT_FALSE(n.find_tensor("other"));
  EXPECT_EQ(fault_of([&] { n.query("colour == red"); }).code, Code::text_syntax);
  EXPECT_EQ(fault_of([&] { n.query("consumers > many"); }).code, Code::text_syntax);
}

TEST(NetworkErrors, RefusedByName) {
  Network n;
  const TensorRef x = in(n, "x", {2, 2});
  const Diagnostic moe = fault_of([&] { n.add_moe({x}, "experts"); });
  EXPECT_EQ(moe.code, Code::not_supported);
  EXPECT_EQ(moe.node, "experts");
  EXPECT_EQ(fault_of([&] { n.add_dist_collective(x, "all_reduce"); }).code, Code::not_supported);
  const Diagnostic unknown = fault_of([&] { n.add_operator("Sofmax", {x}); });
  EXPECT_EQ(unknown.code, Code::node_unknown_operator);
  EXPECT_NE(unknown.remedy.find("Softmax"), std::string::npos);
  EXPECT_EQ(fault_of([&] { n.add_operator("Relu", {x}, {.outputs = SIZE_MAX}); }).code, Code::node_bad_arity);
  EXPECT_EQ(n.num_layers(), 0u);
}

TEST(NetworkErrors, TensorsOfElsewhere) {
  Network n, other;
  const TensorRef x = in(n, "x", {2}), foreign = in(other, "x", {2});
  EXPECT_EQ(fault_of([&] { n.add_identity(foreign); }).code, Code::bad_argument);
  EXPECT_EQ(fault_of([&] { n.add_identity(TensorRef()); }).code, Code::bad_argument);
  TensorRef inner;
  const Layer l = n.add_if_conditional(
      n.add_input("c", DataType::boolean, {}),
      [&](Network& b) -> std::vector<TensorRef> { return {inner = b.add_identity(x)}; },
      [&](Network& b) -> std::vector<TensorRef> { return {b.add_unary(x, UnaryOperation::neg)}; });
  EXPECT_EQ(fault_of([&] { n.add_identity(inner); }).code, Code::bad_argument);
  EXPECT_EQ(l.body("then_branch").num_layers(), 1u);
  EXPECT_EQ(fault_of([&] { l.body("body"); }).code, Code::bad_argument);
}

TEST(NetworkErrors, ControlFlow) {
  Network n;
  const TensorRef x = in(n, "x", {2}), c = n.add_input("c", DataType::boolean, {}),
                  trips = n.add_constant(longs({}, {3}));
  const size_t before = n.num_layers();
  auto both = [&](auto yes, auto no) {
    return fault_of([&] {
      n.add_if_conditional(
          c, [&](Network& b) -> std::vector<TensorRef> { return yes(b); },
          [&](Network& b) -> std::vector<TensorRef> { return no(b); }, "choice");
    });
  };
  auto one = [&](Network&) { return std::vector<TensorRef>{x}; };
  EXPECT_EQ(both(one, [&](Network&) { return std::vector<TensorRef>{x, x}; }).code, Code::node_bad_arity);
  EXPECT_EQ(
      both(one, [&](Network& b) { return std::vector<TensorRef>{b.add_cast(x, DataType::int32)}; }).code,
      Code::node_bad_type);
  // What fails in a body undoes all of the layer.
  EXPECT_EQ(both(one, [&](Network& b) { return std::vector<TensorRef>{b.add_moe({x})}; }).code,
            Code::not_supported);
  auto loop = [&](LoopOptions o, const std::function<void(LoopBody&)>& fill) {
    return fault_of([&] { n.add_loop(o, fill); });
  };
  EXPECT_EQ(loop({.trip_limit = trips}, [](LoopBody&) {}).code, Code::node_bad_arity);
  EXPECT_EQ(loop({.trip_limit = trips},
                 [&](LoopBody& b) { b.add_output(b.add_recurrence(x), LoopOutput::last_value); })
                .code,
            Code::bad_argument);
  EXPECT_EQ(loop({.trip_limit = trips},
                 [&](LoopBody& b) {
                   const TensorRef r = b.add_recurrence(x);
                   b.set_next(r, b.network().add_concatenation({r, r}, 0));
                   b.add_output(r, LoopOutput::last_value);
                 })
                .code,
            Code::node_bad_shape);
  EXPECT_EQ(loop({}, [&](LoopBody& b) { b.add_output(x, LoopOutput::concatenate); }).code,
            Code::bad_argument);
  EXPECT_EQ(loop({}, [&](LoopBody& b) { b.add_output(b.iteration(), LoopOutput::concatenate); }).code,
            Code::bad_argument);
  EXPECT_EQ(n.num_layers(), before);
  n.mark_output(n.add_identity(x));
  EXPECT_NO_THROW(Builder().build_engine(n));
}

TEST(NetworkErrors, Assertions) {
  Network n;
  const TensorRef x = in(n, "x", {"N"}), c = n.add_input("c", DataType::boolean, {"N"});
  out(n, n.add_assertion(x, c, "all of c"));
  ExecutionContext context = Builder().build_engine(n).create_context();
  const Value ok = bools({2}, {true, true}), wrong = bools({2}, {true, false}), data = floats({2}, {1, 2});
  EXPECT_TRUE(compare(context.run({{"x", data}, {"c", ok}}).at("y"), data, 0, 0).equal);
  const Diagnostic d = fault_of([&] { context.run({{"x", data}, {"c", wrong}}); });
  EXPECT_EQ(d.code, Code::run_bad_index);
  EXPECT_NE(d.node.find("all of c"), std::string::npos) << d.sentence();
  EXPECT_EQ(fault_of([&] {
              n.add_assertion(x, n.add_constant(bools({2}, {true, false})), "never");
            }).code,
            Code::bad_argument);
}

TEST(NetworkErrors, WritingBeyondALinearCache) {
  Network n;
  out(n, n.add_kv_cache_update(in(n, "cache", {1, 1, 4, 1}), in(n, "update", {1, 1, 2, 1}),
                               n.add_input("at", DataType::int64, {1})));
  ExecutionContext context = Builder().build_engine(n).create_context();
  EXPECT_THROW(
      context.run(
          {{"cache", weights({1, 1, 4, 1})}, {"update", weights({1, 1, 2, 1})}, {"at", longs({1}, {3})}}),
      Error);
}

TEST(NetworkErrors, BuildingAndParsing) {
  Network n;
  in(n, "x", {2});
  EXPECT_EQ(fault_of([&] { Builder().build_engine(n); }).code, Code::model_empty);
  Parser parser;
  const testing::TempDirectory folder;
  EXPECT_EQ(fault_of([&] { parser.parse(folder / "none.onnx"); }).code, Code::file_not_found);
  // All errors, not the first alone.
  const onnx::Model model = onnx::Model::parse(onnx::serialize(onnx::from_text<onnx::ModelProto>(R"(
    <ir_version: 10, opset_import: ["": 20]>
    g (float[2] x) => (float[2] y) {
      a = NoSuchOperator (x)
      b = NeitherThis (x)
      y = Add (a, b)
    })")));
  fault_of([&] { parser.parse(model); });
  EXPECT_EQ(parser.num_errors(), 2u);
  EXPECT_TRUE(Parser().supports_operator("Conv"));
  EXPECT_FALSE(Parser().supports_operator("NoSuchOperator"));
}

}  // namespace
}  // namespace lathe::network_cases
