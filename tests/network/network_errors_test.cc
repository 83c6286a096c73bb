// Tests what networks refuse, and that a refused call leaves nothing behind.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "network/cases.h"
#include "support/temp_directory.h"

namespace lathe::network_cases {
namespace LATHE_TEST_FILE {

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

/// One call of each that cannot be, for a layer called "layer".
std::map<std::string, std::function<void(Network&)>> wrong_calls() {
  static const std::string name = "layer";
  const auto x = [](Network& n) { return *n.find_tensor("x"); };          // float32 [2, 3]
  const auto i = [](Network& n) { return *n.find_tensor("i"); };          // int32 [2, 3]
  const auto image = [](Network& n) { return *n.find_tensor("image"); };  // float32 [1, 3, 8, 8]
  const auto c = [](Network& n) { return *n.find_tensor("c"); };          // bool []
  const auto w = [](Network& n) { return *n.find_tensor("w"); };          // float32 [4, 2, 3, 3]
  const auto one = [](Network& n) { return *n.find_tensor("one"); };      // float32 []
  return {
      {"add_convolution", [=](Network& n) { n.add_convolution(image(n), w(n), {}, {.name = name}); }},
      {"add_deconvolution", [=](Network& n) { n.add_deconvolution(image(n), w(n), {}, {.name = name}); }},
      {"add_fully_connected", [=](Network& n) { n.add_fully_connected(x(n), i(n), {}, {.name = name}); }},
      {"add_pooling",
       [=](Network& n) {
         n.add_pooling(image(n), PoolingType::max, {.window = {2, 2, 2}, .name = name});
       }},
      {"add_lrn", [=](Network& n) { n.add_lrn(i(n), {.name = name}); }},
      {"add_activation", [=](Network& n) { n.add_activation(c(n), ActivationType::relu, {.name = name}); }},
      {"add_unary", [=](Network& n) { n.add_unary(x(n), UnaryOperation::logical_not, name); }},
      {"add_elementwise",
       [=](Network& n) { n.add_elementwise(x(n), i(n), ElementWiseOperation::sum, name); }},
      {"add_scale", [=](Network& n) { n.add_scale(x(n), {.scale = i(n), .name = name}); }},
      {"add_parametric_relu", [=](Network& n) { n.add_parametric_relu(x(n), i(n), name); }},
      {"add_select", [=](Network& n) { n.add_select(x(n), x(n), x(n), name); }},
      {"add_identity", [=](Network& n) { n.add_identity({}, name); }},
      {"add_cast", [=](Network& n) { n.add_cast(x(n), DataType::undefined, name); }},
      {"add_normalization",
       [=](Network& n) { n.add_normalization(x(n), i(n), {}, NormalizationType::layer, {.name = name}); }},
      {"add_softmax", [=](Network& n) { n.add_softmax(x(n), {.axis = 2, .name = name}); }},
      {"add_ragged_softmax", [=](Network& n) { n.add_ragged_softmax(x(n), x(n), name); }},
      {"add_matrix_multiply", [=](Network& n) { n.add_matrix_multiply(x(n), x(n), {.name = name}); }},
      {"add_einsum",
       [=](Network& n) {
         n.add_einsum({x(n), x(n)}, "ij,jk->ik", name);
       }},
      {"add_reduce", [=](Network& n) { n.add_reduce(x(n), ReduceOperation::sum, {5}, {.name = name}); }},
      {"add_topk", [=](Network& n) { n.add_topk(x(n), TopKOperation::max, 4, {.name = name}); }},
      {"add_cumulative",
       [=](Network& n) { n.add_cumulative(x(n), CumulativeOperation::sum, 5, {.name = name}); }},
      {"add_gather", [=](Network& n) { n.add_gather(x(n), x(n), {.name = name}); }},
      {"add_scatter", [=](Network& n) { n.add_scatter(x(n), i(n), i(n), {.name = name}); }},
      {"add_one_hot", [=](Network& n) { n.add_one_hot(i(n), x(n), one(n), 9, name); }},
      {"add_non_zero", [=](Network& n) { n.add_non_zero({}, name); }},
      {"add_nms", [=](Network& n) { n.add_nms(i(n), x(n), one(n), {.name = name}); }},
      {"add_shuffle",
       [=](Network& n) {
         n.add_shuffle(x(n), {.first_transpose = {0, 0}, .name = name});
       }},
      {"add_transpose", [=](Network& n) { n.add_transpose(x(n), {0}, name); }},
      {"add_reshape", [=](Network& n) { n.add_reshape(x(n), {7}, name); }},
      {"add_slice",
       [=](Network& n) {
         n.add_slice(x(n), {0, 2}, {1, 2}, {1, 1}, {.name = name});
       }},
      {"add_padding",
       [=](Network& n) {
         n.add_padding(x(n), {1, 1, 1}, {1, 1, 1}, {.name = name});
       }},
      {"add_concatenation",
       [=](Network& n) {
         n.add_concatenation({x(n), i(n)}, 0, name);
       }},
      {"add_squeeze", [=](Network& n) { n.add_squeeze(x(n), {0}, name); }},
      {"add_unsqueeze", [=](Network& n) { n.add_unsqueeze(x(n), {7}, name); }},
      {"add_expand",
       [=](Network& n) {
         n.add_expand(x(n), {3, 3}, name);
       }},
      {"add_shape", [=](Network& n) { n.add_shape({}, name); }},
      {"add_shape_of", [=](Network& n) { n.add_shape_of({"M"}, name); }},
      {"add_resize", [=](Network& n) { n.add_resize(image(n), {.name = name}); }},
      {"add_grid_sample", [=](Network& n) { n.add_grid_sample(image(n), x(n), {.name = name}); }},
      {"add_reverse_sequence", [=](Network& n) { n.add_reverse_sequence(x(n), x(n), {.name = name}); }},
      {"add_fill", [=](Network& n) { n.add_fill(x(n), FillOperation::linspace, {.name = name}); }},
      {"add_quantize", [=](Network& n) { n.add_quantize(x(n), one(n), one(n), {.name = name}); }},
      {"add_dequantize", [=](Network& n) { n.add_dequantize(x(n), one(n), {}, {.name = name}); }},
      {"add_dynamic_quantize",
       [=](Network& n) { n.add_dynamic_quantize(x(n), {.axis = 1, .block_size = 2, .name = name}); }},
      {"add_attention", [=](Network& n) { n.add_attention(image(n), i(n), image(n), {.name = name}); }},
      {"add_rotary_embedding",
       [=](Network& n) { n.add_rotary_embedding(image(n), x(n), i(n), {.name = name}); }},
      {"add_kv_cache_update", [=](Network& n) { n.add_kv_cache_update(image(n), i(n), {}, {.name = name}); }},
      {"add_assertion", [=](Network& n) { n.add_assertion(x(n), x(n), name); }},
      {"add_if_conditional",
       [=](Network& n) {
         n.add_if_conditional(
             c(n), [&](Network&) -> std::vector<TensorRef> { return {x(n)}; },
             [&](Network&) -> std::vector<TensorRef> { return {i(n)}; }, name);
       }},
      {"add_loop",
       [=](Network& n) {
         n.add_loop({.trip_limit = one(n), .name = name}, [&](LoopBody& body) {
           const TensorRef r = body.add_recurrence(x(n));
           body.set_next(r, r);
           body.add_output(r, LoopOutput::last_value);
         });
       }},
      {"add_plugin",
       [=](Network& n) { n.add_plugin("my.domain", "Op", {x(n)}, {"float["}, {.name = name}); }},
      {"add_operator", [=](Network& n) { n.add_operator("Sofmax", {x(n)}, {.name = name}); }},
      {"add_moe", [=](Network& n) { n.add_moe({x(n)}, name); }},
      {"add_dist_collective", [=](Network& n) { n.add_dist_collective(x(n), "all_reduce", name); }},
  };
}

TEST(NetworkErrors, OfEveryFamilyNameTheLayerAndLeaveNothing) {
  for (const auto& [call, wrong] : wrong_calls()) {
    SCOPED_TRACE(call);
    Network n("net");
    in(n, "x", {2, 3});
    in(n, "image", {1, 3, 8, 8});
    n.add_input("i", DataType::int32, {2, 3});
    n.add_input("c", DataType::boolean, {});
    n.add_constant(weights({4, 2, 3, 3}), "w");
    n.add_constant(floats({}, {1}), "one");
    const std::string before = n.describe();
    const Diagnostic d = fault_of([&] { wrong(n); });
    EXPECT_EQ(d.node, "layer") << d.message();
    EXPECT_FALSE(d.expected.empty() || d.got.empty()) << d.message();
    EXPECT_EQ(n.describe(), before);
    n.add_identity(*n.find_tensor("x"), "layer");  // the name is free
  }
}

TEST(NetworkErrors, EveryFamilyHasAWrongCall) {
  std::ifstream file(LATHE_SOURCE_DIR "/include/lathe/network.h");
  const std::string header((std::istreambuf_iterator<char>(file)), {});
  const std::regex family(R"(Layer (add_\w+)\()");
  std::set<std::string> families, called;
  for (std::sregex_iterator it(header.begin(), header.end(), family), end; it != end; ++it)
    families.insert((*it)[1]);
  for (const auto& [call, wrong] : wrong_calls()) called.insert(call);
  EXPECT_GT(families.size(), 50u);
  EXPECT_EQ(families, called);
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
  EXPECT_EQ(fault_of([&] { n.query("color == red"); }).code, Code::text_syntax);
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
  // An error in a body undoes the whole layer.
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
  EXPECT_NE(d.node.find("all of c"), std::string::npos) << d.message();
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

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::network_cases
