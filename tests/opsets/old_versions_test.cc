// First versions of operators, whose meaning or form changed: models of those days give the right results.
#include "support/every_way.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

Value floats(Shape shape, std::vector<float> v) { return Tensor::from<float>(std::move(shape), v); }
Value longs(Shape shape, std::vector<int64_t> v) { return Tensor::from<int64_t>(std::move(shape), v); }
Value booleans(Shape shape, const std::vector<bool>& v) {
  Tensor t(DataType::boolean, std::move(shape));
  for (size_t i = 0; i < v.size(); ++i) t.as<bool>()[i] = v[i];
  return t;
}

void expect_at(int opset, const std::string& graph, const std::vector<Asked>& asked) {
  SCOPED_TRACE("opset " + std::to_string(opset) + ": " + graph);
  onnx::Model m;
  m.proto = onnx::from_text<onnx::ModelProto>(
      "<ir_version: 8, opset_import: [\"\": " + std::to_string(opset) + "]> g " + graph);
  expect_every_way(m, asked);
}

TEST(OldVersions, BroadcastAlongAnAxis) {
  const auto two = [](const std::string& type, const std::string& to, const std::string& node) {
    return "(" + type + "[2,2] a, " + type + "[2] b) => (" + to + "[2,2] y) { y = " + node + "(a, b) }";
  };
  const Value a = booleans({2, 2}, {true, true, false, true}), b = booleans({2}, {true, false});
  expect_at(1, two("bool", "bool", "And<broadcast = 1, axis = 0>"), {{{a, b}, "[2,2] 1 1 0 0"}});
  expect_at(1, two("bool", "bool", "And<broadcast = 1>"), {{{a, b}, "[2,2] 1 0 0 0"}});
  expect_at(6, two("bool", "bool", "Or<broadcast = 1, axis = 0>"), {{{a, b}, "[2,2] 1 1 0 1"}});
  expect_at(6, two("bool", "bool", "Xor<broadcast = 1, axis = 0>"), {{{a, b}, "[2,2] 0 0 0 1"}});
  const Value x = floats({2, 2}, {1, 2, 3, 4}), y = floats({2}, {2, 4});
  expect_at(1, two("float", "bool", "Greater<broadcast = 1, axis = 0>"), {{{x, y}, "[2,2] 0 0 0 0"}});
  expect_at(6, two("float", "bool", "Less<broadcast = 1, axis = 0>"), {{{x, y}, "[2,2] 1 0 1 0"}});
  expect_at(7, two("float", "bool", "Less"), {{{x, y}, "[2,2] 1 1 0 0"}});
  expect_at(1, two("int64", "bool", "Equal<broadcast = 1, axis = 0>"),
            {{{longs({2, 2}, {1, 2, 3, 4}), longs({2}, {2, 4})}, "[2,2] 0 1 0 1"}});
  expect_at(1, two("float", "float", "Add<broadcast = 1, axis = 0>"), {{{x, y}, "[2,2] 3 4 7 8"}});
  expect_at(5, two("float", "float", "Sub<broadcast = 1, axis = 0, consumed_inputs = [0, 0]>"),
            {{{x, y}, "[2,2] -1 0 -1 0"}});
  expect_at(1, two("float", "float", "Mul<broadcast = 1, axis = 0>"), {{{x, y}, "[2,2] 2 4 12 16"}});
  expect_at(6, two("float", "float", "Div<broadcast = 1, axis = 0>"), {{{x, y}, "[2,2] 0.5 1 0.75 1"}});
  expect_at(6, two("float", "float", "Pow<broadcast = 1, axis = 0>"), {{{x, y}, "[2,2] 1 4 81 256"}});
}

TEST(OldVersions, SlopesOfChannels) {
  constexpr auto graph = "(float[1,2,2] x, float[2] s) => (float[1,2,2] y) { y = PRelu(x, s) }";
  for (int opset : {1, 6})
    expect_at(opset, graph,
              {{{floats({1, 2, 2}, {-1, 1, -1, -2}), floats({2}, {2, 3})}, "[1,2,2] -2 1 -3 -6"}});
}

TEST(OldVersions, ListsOfEqualShapes) {
  const Value a = floats({2}, {1, 5}), b = floats({2}, {3, 2});
  for (const auto& [op, want] :
       {std::pair("Max", "[2] 3 5"), {"Min", "[2] 1 2"}, {"Mean", "[2] 2 3.5"}, {"Sum", "[2] 4 7"}})
    expect_at(1,
              std::string("(float[2] a, float[2] b) => (float[2] y) { y = ") + op +
                  "<consumed_inputs = [0, 0]>(a, b) }",
              {{{a, b}, want}});
}

TEST(OldVersions, OperatorsOfOneOperandThatMayConsumeIt) {
  const std::tuple<const char*, const char*, const char*> all[] = {
      {"Abs", "", "[2] 1 4"},
      {"Ceil", "", "[2] -1 4"},
      {"Floor", "", "[2] -1 4"},
      {"Elu", ", alpha = 1.0", "[2] -0.632121 4"},
      {"Neg", "", "[2] 1 -4"},
      {"Relu", "", "[2] 0 4"},
      {"Reciprocal", "", "[2] -1 0.25"},
      {"Sigmoid", "", "[2] 0.268941 0.982014"},
      {"Tanh", "", "[2] -0.761594 0.999329"},
      {"LeakyRelu", ", alpha = 0.5", "[2] -0.5 4"},
      {"HardSigmoid", ", alpha = 0.25, beta = 0.5", "[2] 0.25 1"},
      {"Clip", ", min = 0.0, max = 2.0", "[2] 0 2"},
      {"Selu", ", alpha = 2.0, gamma = 0.5", "[2] -0.632121 2"}};
  for (const auto& [op, more, want] : all)
    expect_at(
        5,
        std::string("(float[2] x) => (float[2] y) { y = ") + op + "<consumed_inputs = [0]" + more + ">(x) }",
        {{{floats({2}, {-1, 4})}, want}});
  for (const auto& [op, want] : {std::pair("Log", "[2] 0 1.38629"), {"Sqrt", "[2] 1 2"}})
    expect_at(1, std::string("(float[2] x) => (float[2] y) { y = ") + op + "<consumed_inputs = [0]>(x) }",
              {{{floats({2}, {1, 4})}, want}});
}

TEST(OldVersions, ExpMayConsumeItsOperand) {
  expect_at(1, "(float[2] x) => (float[2] y) { y = Exp<consumed_inputs = [0]>(x) }",
            {{{floats({2}, {0, 1})}, "[2] 1 2.71828"}});
}

TEST(OldVersions, AxesAsAttributes) {
  const Value x = floats({2, 2}, {1, -2, 3, 4});
  for (const auto& [op, want] : {std::pair("ReduceL1", "[2,1] 3 7"),
                                 {"ReduceL2", "[2,1] 2.23607 5"},
                                 {"ReduceMax", "[2,1] 1 4"},
                                 {"ReduceMin", "[2,1] -2 3"},
                                 {"ReduceSumSquare", "[2,1] 5 25"},
                                 {"ReduceLogSumExp", "[2,1] 1.04859 4.31326"},
                                 {"ReduceSum", "[2,1] -1 7"},
                                 {"ReduceMean", "[2,1] -0.5 3.5"},
                                 {"ReduceProd", "[2,1] -2 12"}})
    expect_at(1, std::string("(float[2,2] x) => (float[2,1] y) { y = ") + op + "<axes = [1]>(x) }",
              {{{x}, want}});
  expect_at(1, "(float[2,2] x) => (float[2] y) { y = ReduceLogSum<axes = [1], keepdims = 0>(x) }",
            {{{floats({2, 2}, {1, 1, 3, 4})}, "[2] 0.693147 1.94591"}});
  expect_at(1, "(float[2,2] x) => (int64[2] y) { y = ArgMin<axis = 1, keepdims = 0>(x) }",
            {{{x}, "[2] 1 0"}});
  expect_at(1, "(float[2,2] x) => (float[2,2] y) { y = LpNormalization<axis = 1, p = 1>(x) }",
            {{{floats({2, 2}, {1, 3, -1, 1})}, "[2,2] 0.25 0.75 -0.5 0.5"}});
}

/// Until opset 13, Softmax and its like were of everything behind the axis.
TEST(OldVersions, OfAllAxesBehind) {
  const Value x = floats({1, 2, 2}, {1, 4, 3, 2});
  for (int opset : {1, 11})
    expect_at(opset, "(float[1,2,2] x) => (float[1,2,2] y) { y = Hardmax(x) }", {{{x}, "[1,2,2] 0 1 0 0"}});
  expect_at(13, "(float[1,2,2] x) => (float[1,2,2] y) { y = Hardmax(x) }", {{{x}, "[1,2,2] 0 1 1 0"}});
}

/// Without `is_test` an old Dropout trained: no engine does, so here too it returns its input.
TEST(OldVersions, DropoutHandsOn) {
  for (int opset : {1, 6})
    for (const char* test : {"", "<is_test = 1>", "<is_test = 0, ratio = 0.9>"})
      expect_at(opset, std::string("(float[2] x) => (float[2] y) { y = Dropout") + test + "(x) }",
                {{{floats({2}, {1, 2})}, "[2] 1 2"}});
}

TEST(OldVersions, FormsOfPadSplitUpsampleAndTopK) {
  const Value x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  expect_at(1, "(float[2] x) => (float[4] y) { y = Pad<paddings = [1, 1], value = 7.0>(x) }",
            {{{floats({2}, {1, 2})}, "[4] 7 1 2 7"}});
  expect_at(1,
            "(float[1,1,2,2] x) => (float[1,1,2,4] y) { y = Upsample<height_scale = 1.0, width_scale = 2.0, "
            "mode = \"nearest\">(x) }",
            {{{x}, "[1,1,2,4] 1 1 2 2 3 3 4 4"}});
  expect_at(1, "(float[3] x) => (float[1] a, float[2] b) { a, b = Split<axis = 0, split = [1, 2]>(x) }",
            {{{floats({3}, {1, 2, 3})}, "[1] 1 | [2] 2 3"}});
  expect_at(1,
            "(float[3] x) => (float[1] a, float[2] b) { s = Constant<value = float[2] {1.0, 2.0}>() a, b = "
            "Split<axis = 0>(x, s) }",
            {{{floats({3}, {1, 2, 3})}, "[1] 1 | [2] 2 3"}});
  expect_at(10, "(float[4] x, int64[1] k) => (float[n] v, int64[n] i) { v, i = TopK(x, k) }",
            {{{floats({4}, {1, 4, 2, 3}), longs({1}, {2})}, "[2] 4 3 | [2] 1 3"}});
  expect_at(1, "(float[1,4,1,1] x) => (float[1,1,2,2] y) { y = DepthToSpace<blocksize = 2>(x) }",
            {{{floats({1, 4, 1, 1}, {1, 2, 3, 4})}, "[1,1,2,2] 1 2 3 4"}});
  expect_at(1, "(float[1,1,2,2] x) => (float[1,4,1,1] y) { y = SpaceToDepth<blocksize = 2>(x) }",
            {{{x}, "[1,4,1,1] 1 2 3 4"}});
  expect_at(1, "(float[1,1,2,2] x) => (int64 n) { n = Size(x) }", {{{x}, "[] 4"}});
  expect_at(6, "(float[2] x) => (int32[2] y) { y = Cast<to = 6>(x) }",
            {{{floats({2}, {1.5f, -2.5f})}, "[2] 1 -2"}});
}

TEST(OldVersions, Pools) {
  const Value x = floats({1, 1, 2, 2}, {1, -2, 2, 4});
  expect_at(1, "(float[1,1,2,2] x) => (float[1,1,1,1] y) { y = GlobalLpPool<p = 1.0>(x) }",
            {{{x}, "[1,1,1,1] 9"}});
  expect_at(2, "(float[1,1,2,2] x) => (float[1,1,1,1] y) { y = GlobalLpPool<p = 2>(x) }",
            {{{x}, "[1,1,1,1] 5"}});
  expect_at(2, "(float[1,1,2,2] x) => (float[1,1,1,2] y) { y = LpPool<p = 1, kernel_shape = [2, 1]>(x) }",
            {{{x}, "[1,1,1,2] 3 6"}});
  expect_at(10,
            "(float[1,1,2,2] x) => (float[1,1,1,2] y) { y = MaxPool<kernel_shape = [2, 1], dilations = [1, "
            "1]>(x) }",
            {{{x}, "[1,1,1,2] 2 4"}});
  expect_at(9,
            "(float[1,1,1,1] x, int64[1,1,1,1] i) => (float[1,1,2,2] y) { y = MaxUnpool<kernel_shape = [2, "
            "2], strides = [2, 2]>(x, i) }",
            {{{floats({1, 1, 1, 1}, {5}), longs({1, 1, 1, 1}, {2})}, "[1,1,2,2] 0 0 5 0"}});
  expect_at(1,
            "(float[1,1,2,2] x, float[1,5] r) => (float[1,1,1,1] y) { y = MaxRoiPool<pooled_shape = [1, "
            "1]>(x, r) }",
            {{{x, floats({1, 5}, {0, 0, 0, 1, 0})}, "[1,1,1,1] 1"}});
  expect_at(1, "(float[1,2,1,1] x) => (float[1,2,1,1] y) { y = LRN<size = 1, alpha = 1.0, beta = 1.0>(x) }",
            {{{floats({1, 2, 1, 1}, {1, 3})}, "[1,2,1,1] 0.5 0.3"}});
}

TEST(OldVersions, Scatters) {
  expect_at(13, "(float[3] d, int64[1] i, float[1] u) => (float[3] y) { y = ScatterElements(d, i, u) }",
            {{{floats({3}, {1, 2, 3}), longs({1}, {-1}), floats({1}, {9})}, "[3] 1 2 9"}});
  expect_at(13, "(float[3] d, int64[1,1] i, float[1] u) => (float[3] y) { y = ScatterND(d, i, u) }",
            {{{floats({3}, {1, 2, 3}), longs({1, 1}, {0}), floats({1}, {9})}, "[3] 9 2 3"}});
}

/// Without weights gates are at a half: half of the state stays, and nothing is added.
TEST(OldVersions, GruWithoutItsLaterAttributes) {
  expect_at(1,
            "(float[1,1,1] x, float[1,3,1] w, float[1,3,1] r, float[1,1,1] h) => (float[s,1,1,1] y, "
            "float[1,1,1] z) "
            "{ y, z = GRU<hidden_size = 1, output_sequence = 1>(x, w, r, , , h) }",
            {{{floats({1, 1, 1}, {1}), floats({1, 3, 1}, {0, 0, 0}), floats({1, 3, 1}, {0, 0, 0}),
               floats({1, 1, 1}, {4})},
              "[1,1,1,1] 2 | [1,1,1] 2"}});
}

TEST(OldVersions, OfBodies) {
  for (int opset : {1, 11, 24, 25})
    expect_at(opset,
              "(bool c, float[2] x) => (float[2] y) { y = If (c) <then_branch = a () => (float[2] r) { r = "
              "Neg(x) }, else_branch = b () => (float[2] e) { e = Abs(x) }> }",
              {{{booleans({}, {true}), floats({2}, {1, -2})}, "[2] -1 2"},
               {{booleans({}, {false}), floats({2}, {1, -2})}, "[2] 1 2"}});
  for (int opset : {1, 11, 24})
    expect_at(opset,
              "(int64 n, bool c, float[1] x) => (float[1] y) { y = Loop (n, c, x) <body = b (int64 i, bool "
              "d, float[1] s) => (bool d2, float[1] s2) { d2 = Identity(d) s2 = Add(s, s) }> }",
              {{{longs({}, {3}), booleans({}, {true}), floats({1}, {1})}, "[1] 8"}});
  for (int opset : {9, 11, 24})
    expect_at(opset,
              "(float[1] x, float[3,1] l) => (float[1] y, float[3,1] z) { y, z = Scan<num_scan_inputs = 1, "
              "body = b (float[1] s, float[1] e) => (float[1] s2, float[1] o) { s2 = Add(s, e) o = "
              "Identity(s2) }>(x, l) }",
              {{{floats({1}, {10}), floats({3, 1}, {1, 2, 3})}, "[1] 16 | [3,1] 11 13 16"}});
}

/// Scanned sequences are shortened to their own lengths, also when they are scanned from the end; stacked
/// outputs are padded with zeros.
TEST(OldVersions, SequencesOfLengthsOfTheirOwn) {
  const auto with_direction = [](const std::string& direction) {
    return "(int64[2] n, float[2,1] x, float[2,3,1] l) => (float[2,1] y, float[2,3,1] z) { y, z = "
           "Scan<num_scan_inputs = 1, directions = [" +
           direction +
           "], body = b (float[1] s, float[1] e) => (float[1] s2, float[1] o) { s2 = Add(s, e) o = "
           "Sub(s2, s) }>(n, x, l) }";
  };
  const Value starts = floats({2, 1}, {10, 20}), rows = floats({2, 3, 1}, {1, 2, 3, 4, 5, 6});
  expect_at(8, with_direction("0"),
            {{{longs({2}, {2, 3}), starts, rows}, "[2,1] 13 35 | [2,3,1] 1 2 0 4 5 6"},
             {{longs({2}, {0, 1}), starts, rows}, "[2,1] 10 24 | [2,3,1] 0 0 0 4 0 0"},
             {{longs({2}, {4, 1}), starts, rows}, "E2306"},
             {{longs({2}, {-1, 1}), starts, rows}, "E2306"}});
  expect_at(8, with_direction("1"),
            {{{longs({2}, {2, 3}), starts, rows}, "[2,1] 13 35 | [2,3,1] 2 1 0 6 5 4"}});
}

/// Upsampling and downsampling along other axes at once; the scales are computed.
TEST(OldVersions, NearestOfEachAxis) {
  expect_at(10, "(float[1,4] x, float[2] s) => (float[N,M] y) { y = Resize(x, s) }",
            {{{floats({1, 4}, {1, 2, 3, 4}), floats({2}, {2, 0.6f})}, "[2,2] 1 3 1 3"},
             {{floats({1, 4}, {1, 2, 3, 4}), floats({2}, {1, 0.6f})}, "[1,2] 1 3"},
             {{floats({1, 4}, {1, 2, 3, 4}), floats({2}, {1, 1.5f})}, "[1,6] 1 1 2 3 3 4"}});
}

/// Only a run shows which of the two is empty.
TEST(OldVersions, ComputedScalesBesideSizes) {
  expect_at(
      11,
      "(float[1,2] x, float[A] s, int64[B] n) => (float[N,M] y) { roi = Constant<value = float[0] {}>() y "
      "= Resize<coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\">(x, roi, s, n) }",
      {{{floats({1, 2}, {1, 2}), floats({0}, {}), longs({2}, {1, 4})}, "[1,4] 1 1 2 2"},
       {{floats({1, 2}, {1, 2}), floats({2}, {2, 1}), longs({0}, {})}, "[2,2] 1 2 1 2"},
       {{floats({1, 2}, {1, 2}), floats({2}, {2, 1}), longs({2}, {2, 2})}, "E2306"},
       {{floats({1, 2}, {1, 2}), floats({0}, {}), longs({0}, {})}, "E2306"}});
}

TEST(OldVersions, ComputedTiles) {
  expect_at(1, "(float[A,B] x, float n, float axis) => (float[C,D] y) { y = Tile(x, n, axis) }",
            {{{floats({1, 2}, {1, 2}), floats({}, {2}), floats({}, {1})}, "[1,4] 1 2 1 2"},
             {{floats({1, 2}, {1, 2}), floats({}, {2}), floats({}, {0})}, "[2,2] 1 2 1 2"}});
}

TEST(OldVersions, GroupsOfAnUnknownNumberOfChannels) {
  expect_at(
      18,
      "(float[1,C,2] x, float[2] s, float[2] b) => (float[1,C,2] y) { y = GroupNormalization<num_groups "
      "= 2, epsilon = 0.0>(x, s, b) }",
      {{{floats({1, 2, 2}, {-1, 1, -2, 2}), floats({2}, {2, 3}), floats({2}, {0, 1})}, "[1,2,2] -2 2 -2 4"},
       {{floats({1, 3, 2}, {1, 2, 3, 4, 5, 6}), floats({2}, {2, 3}), floats({2}, {0, 1})}, "E2306"}});
}

TEST(OldVersions, QuantizedToTheTypeOfTheZeroPoint) {
  expect_at(23, "(float[2] x, float s, uint8 z) => (uint8[2] y) { y = QuantizeLinear(x, s, z) }",
            {{{floats({2}, {1, -1}), floats({}, {0.5f}), Tensor::scalar<uint8_t>(3)}, "[2] 5 1"}});
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
