// An opset that cannot express a node is refused with the node, the lowest opset that can, and the reason.
#include <algorithm>
#include <optional>

#include "support/decomposed_case.h"
#include "support/model_builder.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using namespace test;  // NOLINT: builders read as words

Diagnostic refusal(const onnx::Model& m, int opset) {
  try {
    export_model(*import_model(m, catalog()), catalog(), {.opset = opset});
  } catch (const Error& e) {
    return e.diagnostic();
  }
  ADD_FAILURE() << "no refusal";
  return {};
}

/// `needed`: the opset, and why no older one does; `also`: what else helps.
void refused(const OpCase& c, int opset, int needed, const std::string& why, const std::string& also = {}) {
  SCOPED_TRACE(c.op);
  onnx::Model m;
  m.proto = model_of(c);
  const Diagnostic d = refusal(m, opset);
  EXPECT_EQ(d.code, Code::node_cannot_convert);
  EXPECT_EQ(d.op, c.op);
  EXPECT_EQ(d.expected, "nodes that opset " + std::to_string(opset) + " can say");
  EXPECT_EQ(d.got, "one that needs opset " + std::to_string(needed) + ": " + why);
  EXPECT_EQ(d.remedy, "choose opset " + std::to_string(needed) + " or a newer one" +
                          (also.empty() ? "" : ", or " + also));
  EXPECT_NO_THROW(written(m, needed));
}

TEST(DecompositionRefusals, TheOperatorIsNotThere) {
  refused(of("Erf").input<float>({1}, {1}), 7, 9, "there is no Erf before opset 9");
  refused(of("Gelu").input<float>({1}, {1}), 8, 9,
          "in older ones its Erf cannot be said: there is no Erf before opset 9");
  refused(of("Det").random(f32, {2, 2}), 7, 11, "there is no Det before opset 11");
  ModelBuilder strings(20);
  strings.input("x", "string[2]").node("StringConcat", {"x", "x"}, {"y"}).output("y");
  EXPECT_EQ(refusal(strings.model, 13).got,
            "one that needs opset 20: there is no StringConcat before opset 20");
}

TEST(DecompositionRefusals, AnAttributeCameLater) {
  OpCase pool =
      of("AveragePool").attribute("kernel_shape", std::vector<int64_t>{2, 2}).random(f32, {1, 1, 5, 5});
  refused(OpCase(pool).attribute("dilations", std::vector<int64_t>{2, 2}), 13, 19,
          "attribute 'dilations' ([2, 2]) came with opset 19");
  OpCase lean = pool;
  lean.op = "MaxPool";
  refused(lean.attribute("ceil_mode", int64_t{1}), 7, 10, "attribute 'ceil_mode' (1) came with opset 10");
}

TEST(DecompositionRefusals, ATypeCameLater) {
  refused(of("Pow").input<int32_t>({1}, {2}).input<int32_t>({1}, {3}), 9, 12,
          "before opset 12 input 'X' may not be int32, only float16, float or double");
  refused(of("Abs").random(DataType::bfloat16, {2}), 9, 13, "before opset 13 input 'X' may not be bfloat16");
  refused(of("TopK").input<int64_t>({2}, {2, 1}).input<int64_t>({1}, {1}).outputs_wanted(2), 10, 11,
          "older ones want floats or integers of up to 32 bits, not int64");
}

TEST(DecompositionRefusals, AnInputIsComputed) {
  OpCase resize = of("Resize").attribute("nearest_mode", std::string("floor"));
  resize.attribute("coordinate_transformation_mode", std::string("asymmetric"));
  refused(resize.random(f32, {1, 1, 2, 2}).absent().input<float>({4}, {1, 1, 2, 2}), 10, 11,
          "in older ones 'scales' has to be a constant", "make 'scales' a constant");
  refused(of("Dropout").random(f32, {2}).absent().input<bool>({}, {false}), 11, 12,
          "older ones want 'training_mode' to be a constant and false, not one that a run computes");
}

TEST(DecompositionRefusals, TheMeaningChanged) {
  OpCase resize = of("Resize").attribute("mode", std::string("linear")).random(f32, {1, 1, 2, 2}).absent();
  refused(OpCase(resize).input<float>({4}, {1, 1, 2, 2}), 9, 11,
          "in older ones coordinates are those of 'asymmetric', not of 'half_pixel'");
  OpCase nearest = of("Resize").random(f32, {1, 1, 2, 2}).absent().absent().input<int64_t>({4}, {1, 1, 2, 2});
  refused(nearest, 9, 11, "in older ones coordinates are those of 'asymmetric', not of 'half_pixel'");
  refused(resize.attribute("antialias", int64_t{1}).input<float>({4}, {1, 1, 2, 2}), 13, 18,
          "older ones want antialias 0, not 1");
  ModelBuilder unknown(13);
  unknown.input("x", "float").node("Softmax", {"x"}, {"y"}, {int_attribute("axis", 1)}).output("y");
  EXPECT_EQ(refusal(unknown.model, 12).got,
            "one that needs opset 13: older ones want tensors of known rank, not float");
}

TEST(DecompositionRefusals, OperatorsThatWouldSayIt) {
  ModelBuilder deep(24);
  deep.input("x", "float[2,3]").input("i", "int64[1,1]").input("u", "float[1,3]");
  deep.node("ScatterND", {"x", "i", "u"}, {"y"}).output("y");
  const Diagnostic d = refusal(deep.model, 7);
  EXPECT_EQ(d.op, "ScatterND");
  EXPECT_EQ(d.got,
            "one that needs opset 9: in older ones its ScatterElements cannot be said: in older ones its "
            "Scatter cannot be said: there is no Scatter before opset 9");
  EXPECT_EQ(d.remedy, "choose opset 9 or a newer one");
}

TEST(DecompositionRefusals, NodesOfBodies) {
  ModelBuilder b(20);
  b.input("c", "bool[]").input("x", "float[3]");
  b.node("If", {"c"}, {"y"},
         {graph_attribute("then_branch", make_body({}, {make_node("Erf", {"x"}, {"s"})}, {{"s", ""}})),
          graph_attribute("else_branch", make_body({}, {make_node("Erf", {"x"}, {"h"})}, {{"h", ""}}))});
  b.output("y");
  const Diagnostic d = refusal(b.model, 8);
  EXPECT_EQ(d.op, "Erf");
  EXPECT_EQ(d.got, "one that needs opset 9: there is no Erf before opset 9");
}

TEST(DecompositionRefusals, SequencesThatAreConstant) {
  ModelBuilder b(13);
  b.input("i", "int64").initializer(float_tensor("w", {2}, {1, 2}));
  b.node("SequenceConstruct", {"w"}, {"s"}).node("SequenceAt", {"s", "i"}, {"y"}).output("y");
  const Diagnostic d = refusal(b.model, 9);
  EXPECT_EQ(d.got, "one that needs opset 11: there is no SequenceConstruct before opset 11");
}

/// Writes all cases of all operators at all opsets: what is written gives the same answers, and refusals have
/// a reason and a remedy.
TEST(DecompositionRefusals, NoneIsWithoutReason) {
  CaseTable table;
  collect_all_cases(table);
  size_t seen = 0, said = 0;
  for (const OpCase& c : table.all()) {
    int64_t elements = 0;
    for (const Value& v : c.inputs)
      if (v.is_tensor()) elements += v.tensor().size();
    if (elements > 4096 || !c.domain.empty() || is_random(c)) continue;
    onnx::Model m;
    m.proto = model_of(c);
    const int own = static_cast<int>(*m.proto.opset_import.at(0).version);
    std::optional<std::vector<Value>> want;
    for (int opset : {7, 8, 9, 10, 11, 12, 13, 15, 17, 19, 22, 25}) {
      if (opset >= own) break;
      SCOPED_TRACE(c.op + "/" + c.name + " at " + std::to_string(opset));
      ++seen;
      onnx::Model older;
      try {
        older = written(m, opset);
      } catch (const Error& e) {
        const Diagnostic& d = e.diagnostic();
        EXPECT_EQ(d.code, Code::node_cannot_convert) << e.what();
        const size_t why = d.got.find(": ");
        EXPECT_TRUE(d.got.starts_with("one that needs opset ") && why != std::string::npos &&
                    why + 2 < d.got.size())
            << e.what();
        EXPECT_TRUE(d.remedy.starts_with("choose opset ")) << e.what();
        continue;
      }
      ++said;
      try {
        if (!want) want = answers(m, inputs_of(c));
        const auto got = answers(older, inputs_of(c));
        for (size_t i = 0; i < want->size(); ++i) {
          const Tolerance near = tolerance_of(c, want->at(i));
          EXPECT_EQ(difference(got.at(i), want->at(i), std::max(near.rtol, 1e-5), std::max(near.atol, 1e-5)),
                    "")
              << i;
        }
      } catch (const Error& e) {
        // A tensor that the original does not compute may be too large if older operators need it.
        if (e.code() != Code::component_absent && e.code() != Code::run_out_of_memory)
          ADD_FAILURE() << e.what();
      }
    }
  }
  EXPECT_GT(seen, 10000u);
  EXPECT_GT(said * 10, seen * 8);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
