// Sizes, axes and shapes that come from nodes which only constant folding computes, and that contradict the
// operators that read them: no pass may rely on them, and a run refuses them at every level.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "compiler/optimize.h"
#include "onnx/importer.h"
#include "ops/refused/refused.h"
#include "support/error_code.h"
#include "support/text_model.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

constexpr OptimizationLevel levels[] = {OptimizationLevel::none, OptimizationLevel::basic,
                                        OptimizationLevel::extended, OptimizationLevel::all};

/// `h` is `numbers` behind a node that inference does not follow.
std::string hidden(const std::string& numbers, size_t count) {
  std::string places;
  for (size_t i = 0; i < count; ++i) places += (i ? "," : "") + std::to_string(i);
  const std::string n = std::to_string(count);
  return "int64[" + n + "] given = {" + numbers + "}, int64[" + n + "] places = {" + places + "}";
}

struct Bad {
  const char* name;
  const char* inputs;
  const char* numbers;
  size_t count;
  const char* constants;  // beside those
  const char* body;       // reads h, makes y
};

constexpr Bad bad[] = {
    {"PadAxisOfConv", "float[1,1,4,4] x", "1099511627776", 1, ", int64[2] p = {1,1}, float[1,1,3,3] w = {}",
     "a = Pad(x, p, , h) y = Conv(a, w)"},
    {"PadAxisOfPool", "float[1,1,9] x", "40", 1, ", int64[2] p = {1,1}",
     "a = Pad(x, p, , h) y = MaxPool<kernel_shape=[3]>(a)"},
    {"PadsTooFew", "float[1,1,4,4] x", "1,1,1", 3, ", float[1,1,3,3] w = {}", "a = Pad(x, h) y = Conv(a, w)"},
    {"SliceAxis", "float[4,6] x", "1099511627776", 1, ", int64[1] z = {0}, int64[1] o = {3}",
     "a = Slice(x, z, o, h) y = Slice(a, z, z, h)"},
    {"SliceStepsShort", "float[4,6] x", "1", 1,
     ", int64[2] z = {0,0}, int64[2] o = {3,3}, int64[2] ax = {0,1}",
     "a = Slice(x, z, o, ax, h) y = Slice(a, z, o, ax)"},
    {"SliceStepZero", "float[4,6] x", "0", 1, ", int64[1] z = {0}, int64[1] o = {3}",
     "a = Slice(x, z, o, z, h) y = Slice(a, z, o, z)"},
    {"ReduceAxisOfTranspose", "float[4,6] x", "-1099511627776", 1, "",
     "a = Transpose(x) y = ReduceSum<keepdims=0>(a, h)"},
    {"MeanAxisOfTranspose", "float[4,6] x", "7", 1, "", "a = Transpose(x) y = ReduceMean(a, h)"},
    {"SqueezeOfTranspose", "float[4,1] x", "2", 1, "", "a = Transpose(x) y = Squeeze(a, h)"},
    {"ResizeSizesFew", "float[1,1,3,3] x", "6", 1, "", "y = Resize<mode=\"nearest\">(x, , , h)"},
    {"ReshapeTooMany", "float[2,3] x", "7,1", 2, "", "a = Reshape(x, h) y = Flatten(a)"},
    {"ReshapeTwoOpen", "float[2,3] x", "-1,-1", 2, "", "y = Reshape(x, h)"},
    {"ExpandAtOdds", "float[2,3] x", "2,5", 2, "", "a = Expand(x, h) y = Add(a, a)"},
    {"SplitAtOdds", "float[6] x", "3,4", 2, "", "y, b = Split(x, h)"},
    {"UnsqueezeTwice", "float[6] x", "0,0", 2, "", "a = Unsqueeze(x, h) y = Relu(a)"},
    {"TileNegative", "float[6] x", "-2", 1, "", "a = Tile(x, h) y = Relu(a)"},
};

class Refused : public ::testing::TestWithParam<Bad> {};

TEST_P(Refused, AtEveryLevel) {
  const Bad& b = GetParam();
  const onnx::Model m =
      model_of("(" + std::string(b.inputs) + ") => (float[] y) <" + hidden(b.numbers, b.count) + b.constants +
                   "> { h = GatherElements(given, places) " + b.body + " }",
               22);
  for (const OptimizationLevel level : levels)
    for (const char* backend : {"cpu", "reference"}) {
      BuildOptions options;
      options.level = level;
      options.backend = backend;
      std::optional<Engine> engine;
      const Code built = code_of([&] { engine = Engine::build(m, options); });
      if (!engine) {  // numbers of elements are known sooner than they are
        EXPECT_EQ(static_cast<int>(built) / 100, 23);
        continue;
      }
      const std::string said = sentence_of([&] { engine->create_context().run(inputs_of(*engine)); });
      EXPECT_NE(said, "") << "level " << static_cast<int>(level);
      EXPECT_EQ(said.find("E9001"), std::string::npos) << said;
      EXPECT_NE(said.find("node \""), std::string::npos) << said;
    }
  // Written for others it is what it was.
  OptimizedModel written;
  if (code_of([&] { written = optimize(m, {}); }) != Code::none) return;
  for (const onnx::NodeProto& n : written.model.proto.graph->node) EXPECT_NE(*n.op_type, refused_operator);
}
INSTANTIATE_TEST_SUITE_P(Hidden, Refused, ::testing::ValuesIn(bad),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RefusedNodes, ABranchThatIsNotTakenDoesNoHarm) {
  const onnx::Model m = model_of(
      "(float[2,3] x, bool c) => (float[] y) <int64[2] given = {7,1}, int64[2] places = {0,1}> { h = "
      "GatherElements(given, places) y = If(c) <then_branch = t () => (float[n,k] a) { a = Reshape(x, h) }, "
      "else_branch = e () => (float[n,k] b) { b = Relu(x) }> }");
  for (const OptimizationLevel level : levels) {
    BuildOptions options;
    options.level = level;
    const Engine engine = Engine::build(m, options);
    const Tensor x = random_tensor(DataType::float32, {2, 3}, 1);
    const auto taken = [&](bool c) {
      return code_of([&] { engine.create_context().run({{"x", x}, {"c", Tensor::scalar(c)}}); });
    };
    EXPECT_EQ(taken(false), Code::none);
    EXPECT_EQ(taken(true), Code::node_bad_shape);
  }
}

TEST(RefusedNodes, PlansKeepThem) {
  const onnx::Model m = model_of(
      "(float[2,3] x) => (float[] y) <int64[2] given = {7,1}, int64[2] places = {0,1}> { h = "
      "GatherElements(given, places) y = Reshape(x, h) }");
  const Engine engine = Engine::build(m, {});
  std::string said[2];
  const Engine loaded = Engine::deserialize(engine.serialize());
  int i = 0;
  for (const Engine* e : {&engine, &loaded})
    said[i++] = sentence_of([&] {
      e->create_context().run({{"x", random_tensor(DataType::float32, {2, 3}, 1)}});
    });
  EXPECT_EQ(said[0], said[1]);
  EXPECT_NE(said[0].find("(Reshape)"), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("[7, 1]"), std::string::npos) << said[0];
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
