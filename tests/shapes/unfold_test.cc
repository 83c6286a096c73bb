// Constants that repeat what is small: neither saved models nor plans grow by them, and the answers stay.
#include <gtest/gtest.h>

#include "lathe/lathe.h"
#include "support/temp_directory.h"
#include "support/text_model.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

struct Kind {
  std::string name, weights, nodes;
};
void PrintTo(const Kind& k, std::ostream* to) { *to << k.name; }

/// 4 or 8 MB each, of at most 4 KB.
const Kind kinds[] = {
    {"Tile", "float[1,1024] k = {}, int64[2] r = {1024, 1}", "t = Tile(k, r)"},
    {"Expand", "float[1,1024] k = {}, int64[2] s = {1024, 1024}", "t = Expand(k, s)"},
    {"ConstantOfShape", "int64[2] s = {1024, 1024}", "t = ConstantOfShape(s)"},
    {"Range", "float a = {0}, float b = {1048576}, float d = {1}, int64[2] s = {1024, 1024}",
     "r = Range(a, b, d) t = Reshape(r, s)"},
    {"Tiles of tiles", "float[1,32] k = {}, int64[2] r = {32, 1}, int64[2] s = {1, 1024}",
     "h = Tile(k, r) g = Reshape(h, s) e = Tile(g, r) f = Tile(e, r) t = Identity(f)"},
    {"Tile of ConstantOfShape", "int64[2] s = {512, 1024}, int64[2] r = {4, 1}",
     "c = ConstantOfShape(s) t = Tile(c, r)"},
    {"A cast", "float[1,1024] k = {}, float n = {0}, int64[2] s = {2048, 1024}",
     "b = Greater(k, n) e = Expand(b, s) t = Cast<to=1>(e)"},
};

class Repeated : public ::testing::TestWithParam<Kind> {
 protected:
  onnx::Model model(const std::string& readers) const {
    return model_of("(float[1] x) => (float y) <" + GetParam().weights + "> { " + GetParam().nodes + " " +
                    readers + " }");
  }
  static onnx::Model saved(const onnx::Model& m) { return optimize(m).model; }
  static Value answer(const onnx::Model& m, BuildOptions options = {}) {
    options.threads = 1;
    Engine e = Engine::build(m, options);
    return e.create_context().run({{"x", Tensor::from<float>({1}, std::vector<float>{0.5f})}}).at("y");
  }
};
const std::string read_once = "u = Add(t, x) y = ReduceMean<keepdims=0>(u)";

TEST_P(Repeated, StaysANodeInWhatIsSaved) {
  const onnx::Model given = model(read_once), better = saved(given);
  EXPECT_LT(onnx::serialize(better.proto).size(), 16u << 10);
  const Value want = answer(given, {.fold_limit = 0});
  EXPECT_TRUE(compare(answer(better), want, 0, 0).equal);
}

TEST_P(Repeated, StaysANodeOfAPlan) {
  const onnx::Model given = model(read_once);
  TempDirectory folder;
  Engine::build(given, {.threads = 1}).save(folder.path() / "m.lathe");
  EXPECT_LT(std::filesystem::file_size(folder.path() / "m.lathe"), 256u << 10);
  const Value want = answer(given, {.fold_limit = 0});
  EXPECT_TRUE(compare(answer(given), want, 0, 0).equal);
  Engine loaded = Engine::load(folder.path() / "m.lathe");
  const Value got =
      loaded.create_context().run({{"x", Tensor::from<float>({1}, std::vector<float>{0.5f})}}).at("y");
  EXPECT_TRUE(compare(got, want, 0, 0).equal);
}

TEST_P(Repeated, IsMadeOnceForAllThatReadIt) {
  const onnx::Model better =
      saved(model("u = Add(t, x) v = Mul(t, u) w = Sub(v, t) y = ReduceMean<keepdims=0>(w)"));
  EXPECT_LT(onnx::serialize(better.proto).size(), 16u << 10);
  const std::string text = onnx::to_text(better.proto);
  for (const char* op : {"Expand", "ConstantOfShape", "Range"}) {
    const size_t first = text.find(std::string(op) + " (");
    if (first != text.npos) {
      EXPECT_EQ(text.find(std::string(op) + " (", first + 1), text.npos) << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Repeated, ::testing::ValuesIn(kinds));

TEST(Unfold, WeightsOfProductsArePreparedAllTheSame) {
  const onnx::Model m = model_of(
      "(float[2,1024] x) => (float[2,1024] y) <float[1,1024] k = {}, int64[2] s = {1024, 1024}> { w = "
      "Expand(k, s) y = "
      "MatMul(x, w) }");
  const Engine e = Engine::build(m, {.threads = 1});
  for (const StepInfo& s : e.steps()) EXPECT_NE(s.op, "Expand");
  EXPECT_LT(onnx::serialize(optimize(m).model.proto).size(), 16u << 10);
}

TEST(Unfold, BodiesToo) {
  const onnx::Model m = model_of(
      "(bool c, float[1] x) => (float[1024,64] y) <float[1,64] k = {}, int64[2] s = {1024, 64}> { y = "
      "If<then_branch = a () => "
      "(float[1024,64] z) <int64[2] r = {1024, 64}, float[1] o = {1.5}> { e = Expand(o, r) z = Add(e, x) }, "
      "else_branch = b () => "
      "(float[1024,64] z) { e = Expand(k, s) f = Mul(e, e) z = Add(f, x) }>(c) }");
  const onnx::Model better = optimize(m).model;
  EXPECT_LT(onnx::serialize(better.proto).size(), 16u << 10);
  for (bool c : {false, true}) {
    const NamedValues inputs{{"c", Tensor::scalar(c)},
                             {"x", Tensor::from<float>({1}, std::vector<float>{2})}};
    const auto run = [&](const onnx::Model& model, uint64_t limit) {
      return Engine::build(model, {.threads = 1, .fold_limit = limit}).create_context().run(inputs).at("y");
    };
    EXPECT_TRUE(compare(run(better, 1 << 28), run(m, 0), 0, 0).equal);
  }
}

TEST(Unfold, SmallOnesAndWeightsStayConstants) {
  const onnx::Model m = model_of(
      "(float[1] x) => (float[16,64] y, float[512,512] z) <float[1,64] k = {}, int64[2] s = {16, 64}, "
      "float16[512,512] h = {}> { e = "
      "Expand(k, s) y = Add(e, x) f = Cast<to=1>(h) z = Mul(f, x) }");
  const onnx::Model better = optimize(m).model;
  for (const onnx::NodeProto& n : better.proto.graph->node) {
    EXPECT_NE(n.op_type, "Expand");
    EXPECT_NE(n.op_type, "Cast");
  }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
