// Gradient at import: where it is allowed, and its limits. tests/python/test_gradient.py tests the
// derivatives.
#include "gradient/gradient.h"

#include <gtest/gtest.h>

#include "lathe/lathe.h"
#include "onnx/importer.h"
#include "schema/schema.h"
#include "support/error_code.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

onnx::Model model_of(std::string_view text) {
  onnx::Model m;
  m.proto = onnx::from_text<onnx::ModelProto>(
      "<ir_version: 10, opset_import: [\"\": 22, \"ai.onnx.preview.training\": 1, \"local\": 1]> " +
      std::string(text));
  return m;
}
std::vector<float> run(std::string_view text, const std::vector<Value>& inputs) {
  const auto out = Engine::build(model_of(text)).create_context().run(inputs);
  const auto numbers = out[0].tensor().as<float>();
  return {numbers.begin(), numbers.end()};
}
Value numbers(const std::vector<float>& v) {
  return Tensor::from<float>({static_cast<int64_t>(v.size())}, v);
}

TEST(Gradient, OfDerivativesOfDerivativesHasALimit) {
  std::string text = "g (float[2] x) => (float[2] y9) { y0 = Erf (x)";
  for (int k = 0; k < 9; ++k)
    text += " y" + std::to_string(k + 1) + " = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y" +
            std::to_string(k) + "\"> (x)";
  ImportOptions few;
  few.max_nodes = 500;
  EXPECT_EQ(code_of([&] { import_model(model_of(text + " }"), SchemaCatalog::standard(), few); }),
            Code::graph_too_large);
}

TEST(Gradient, StandsInFunctionsAndBodies) {
  const std::vector<float> x{1, 2, 3};
  const std::string function =
      "g (float[3] x) => (float[3] d) { d = local.slope (x) } "
      "<domain: \"local\", opset_import: [\"\": 22, \"ai.onnx.preview.training\": 1]> slope (a) => (da) "
      "{ b = Mul (a, a) da = ai.onnx.preview.training.Gradient <xs = [\"a\"], y = \"b\"> (a) }";
  EXPECT_EQ(run(function, {numbers(x)}), (std::vector<float>{2, 4, 6}));
  const std::string body =
      "g (float[3] x, bool c) => (float[3] d) { d = If (c) <"
      "then_branch = yes () => (float[3] dt) { t = Mul (x, x) dt = ai.onnx.preview.training.Gradient <xs = "
      "[\"x\"], y = \"t\"> (x) }, "
      "else_branch = no () => (float[3] e) { e = Identity (x) }> }";
  EXPECT_EQ(run(body, {numbers(x), Tensor::scalar(true)}), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(run(body, {numbers(x), Tensor::scalar(false)}), x);
}

TEST(Gradient, BodiesBetweenXsAndYAreRefusedByName) {
  const std::string text =
      "g (float[3] x, bool c) => (float[3] d) { [choice] y = If (c) <"
      "then_branch = yes () => (float[3] t) { t = Mul (x, x) }, else_branch = no () => (float[3] e) { e = "
      "Identity (x) }> "
      "d = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y\"> (x) }";
  const std::string said = sentence_of([&] { Engine::build(model_of(text)); });
  EXPECT_NE(said.find("E2308"), std::string::npos) << said;
  EXPECT_NE(said.find("\"choice\" (If)"), std::string::npos) << said;
}

TEST(Gradient, LongChainsNeedNoDeepStack) {
  std::string text = "g (float[1] x) => (float[1] d) { v0 = Neg (x)";
  const int length = 5000;
  for (int k = 1; k < length; ++k)
    text += " v" + std::to_string(k) + " = Neg (v" + std::to_string(k - 1) + ")";
  text += " d = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"v" + std::to_string(length - 1) +
          "\"> (x) }";
  EXPECT_EQ(run(text, {numbers({7})}), std::vector<float>{1});
}

/// If ranks are not known, inference has not checked attributes: rules must not trust them.
TEST(Gradient, WhatIsNotKnownIsNotBelieved) {
  const std::string least = "-9223372036854775808";
  for (const std::string& node : std::vector<std::string>{
           "y = Transpose <perm = [7, -3]> (x)", "y = Conv <strides = [1], dilations: ints = []> (x, w1)",
           "y = Conv <pads = [1]> (x, w4)", "y = ConvTranspose (x, w1)", "y = MatMul (x, w0)",
           "y = AveragePool <kernel_shape = [2, 2], strides: ints = []> (x)",
           "y = LayerNormalization <axis = " + least + "> (w4, x)",
           "y = LayerNormalization <axis = " + least + "> (x, w1)",
           "y = BatchNormalization (x, w1, w1, w1, w1)", "y = Softmax <axis = " + least + "> (x)",
           "y = Concat <axis = 9> (x, w1)", "y = Flatten <axis = -77> (x)", "y = Gemm (x, w0)",
           "y = SoftmaxCrossEntropyLoss (x, s)", "y = GlobalMaxPool (x)", "y = Dropout (x, w0, none)"}) {
    const onnx::Model m = model_of(
        "g (float[n] x0, int64[k] s) => (d) <float w0 = {1}, float[1] w1 = {1}, float[1,1,1,1] w4 = {1}, "
        "bool[0] none = {}> { x = "
        "Reshape (x0, s) " +
        node + " d = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y\"> (x) }");
    std::vector<Diagnostic> found;
    try {
      import_model(m, SchemaCatalog::standard(), {}, &found);
    } catch (const Error& e) {
      EXPECT_GE(static_cast<int>(e.code()), 2000) << node;  // refused by name, or else it can be done
      EXPECT_LT(static_cast<int>(e.code()), 3000) << e.what();
    }
  }
}

TEST(Gradient, RulesAreOfOperatorsThatExist) {
  const auto all = differentiable_operators();
  for (const std::string& op : all) {
    EXPECT_NE(SchemaCatalog::standard().find("", op), nullptr) << op;
    EXPECT_TRUE(operators(op)[0].differentiable) << op;
  }
  EXPECT_GT(all.size(), 80u);
  EXPECT_FALSE(operators("Det")[0].differentiable);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
