// Operators that move, make and sample elements answer hostile data with a code, never a crash.
#include <gtest/gtest.h>

#include <limits>

#include "support/error_code.h"
#include "support/graph_builder.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

Tensor ints(Ints v) { return Tensor::from({static_cast<int64_t>(v.size())}, v); }
Tensor floats(Shape shape, float value = 1) {
  Tensor t(DataType::float32, std::move(shape));
  std::fill(t.as<float>().begin(), t.as<float>().end(), value);
  return t;
}

/// The code of one node's run, its inputs known at inference (`folded`) or only when it runs.
Code code_of_node(const std::string& op, std::vector<Value> inputs, Attributes a, bool folded,
                  size_t outputs = 1) {
  return code_of([&] {
    GraphBuilder g;
    std::vector<ValueId> in;
    std::vector<Value> values;
    for (const Value& v : inputs) {
      if (v.empty()) {
        in.push_back(no_id);
      } else if (folded) {
        in.push_back(g.constant(v.tensor()));
      } else {
        const Tensor& t = v.tensor();
        SymShape shape(t.rank(), Dim(0));
        for (size_t i = 0; i < t.rank(); ++i)
          shape[i] = Dim::symbol("d" + std::to_string(values.size()) + "_" + std::to_string(i));
        in.push_back(g.graph->add_input(g.graph->fresh_name("x"), ValueType::tensor(t.type(), shape)));
        values.push_back(v);
      }
    }
    // The limit is the memory that a fold bomb may take.
    g.run(values, g.nodes(op, in, outputs, a), {.memory_limit = uint64_t{1} << 28});
  });
}

struct BadNode {
  const char* name;
  const char* op;
  std::vector<Value> inputs;
  std::vector<Attributes::Entry> attributes = {};
  size_t outputs = 1;
};

void expect_coded(const std::vector<BadNode>& nodes) {
  for (const BadNode& n : nodes)
    for (const bool folded : {true, false}) {
      const Code c = code_of_node(n.op, n.inputs, attributes(n.attributes), folded, n.outputs);
      EXPECT_NE(c, Code::none) << n.name << (folded ? " folded" : "");
      EXPECT_NE(c, Code::internal) << n.name << (folded ? " folded" : "");
    }
}

TEST(MovementErrors, AxisOutOfRange) {
  const Value x = floats({2, 3});
  for (const int64_t axis : {int64_t{4}, int64_t{-4}, INT64_MAX, INT64_MIN})
    expect_coded({
        {"Concat", "Concat", {x, x}, {{"axis", axis}}},
        {"Split", "Split", {x}, {{"axis", axis}, {"num_outputs", int64_t{2}}}, 2},
        {"Gather", "Gather", {x, ints({0})}, {{"axis", axis}}},
        {"GatherElements", "GatherElements", {x, Tensor::from({1, 1}, Ints{0})}, {{"axis", axis}}},
        {"ScatterElements",
         "ScatterElements",
         {x, Tensor::from({1, 1}, Ints{0}), floats({1, 1})},
         {{"axis", axis}}},
        {"Flatten", "Flatten", {x}, {{"axis", axis}}},
        {"Squeeze", "Squeeze", {x, ints({axis})}},
        {"Unsqueeze", "Unsqueeze", {x, ints({axis})}},
        {"Slice", "Slice", {x, ints({0}), ints({1}), ints({axis})}},
        {"Pad", "Pad", {x, ints({1, 1}), Value(), ints({axis})}},
        {"Compress", "Compress", {x, Tensor::scalar(true).reshaped({1})}, {{"axis", axis}}},
        {"Unique", "Unique", {x}, {{"axis", axis}}},
        {"OneHot", "OneHot", {ints({0}), Tensor::scalar<int64_t>(3), floats({2})}, {{"axis", axis}}},
        {"SplitToSequence", "SplitToSequence", {x}, {{"axis", axis}}},
        {"TensorScatter", "TensorScatter", {floats({1, 2, 1}), floats({1, 1, 1})}, {{"axis", axis}}},
        {"Resize", "Resize", {x, Value(), Value(), ints({2})}, {{"axes", Ints{axis}}}},
    });
}

TEST(MovementErrors, IndicesOutsideAndIntoNothing) {
  const Value x = floats({3, 2}), nothing = floats({0, 2});
  for (const int64_t i : {int64_t{3}, int64_t{-4}, INT64_MAX, INT64_MIN})
    expect_coded({
        {"Gather", "Gather", {x, ints({i})}},
        {"GatherElements", "GatherElements", {x, Tensor::from({1, 2}, Ints{0, i})}},
        {"GatherND", "GatherND", {x, Tensor::from({1, 1}, Ints{i})}},
        {"ScatterElements", "ScatterElements", {x, Tensor::from({1, 2}, Ints{0, i}), floats({1, 2})}},
        {"ScatterND", "ScatterND", {x, Tensor::from({1, 1}, Ints{i}), floats({1, 2})}},
        {"TensorScatter", "TensorScatter", {floats({1, 3, 1}), floats({1, 1, 1}), ints({i})}},
        {"RoiAlign", "RoiAlign", {floats({1, 1, 2, 2}), floats({1, 4}), ints({i})}},
    });
  expect_coded({
      {"Gather", "Gather", {nothing, ints({0})}},
      {"Gather from no columns", "Gather", {floats({3, 0}), ints({5})}},
      {"GatherElements", "GatherElements", {nothing, Tensor::from({1, 2}, Ints{0, 0})}},
      {"GatherND", "GatherND", {nothing, Tensor::from({1, 1}, Ints{0})}},
      {"ScatterElements", "ScatterElements", {nothing, Tensor::from({1, 2}, Ints{0, 0}), floats({1, 2})}},
      {"ScatterND", "ScatterND", {nothing, Tensor::from({1, 1}, Ints{0}), floats({1, 2})}},
      {"edge of nothing", "Pad", {floats({0}), ints({1, 1})}, {{"mode", std::string("edge")}}},
      {"Resize of nothing", "Resize", {nothing, Value(), Value(), ints({4, 4})}},
      {"RoiAlign of nothing", "RoiAlign", {floats({1, 1, 0, 2}), floats({1, 4}), ints({0})}},
  });
}

TEST(MovementErrors, ShapesThatDoNotFit) {
  const Value x = floats({2, 3});
  expect_coded({
      {"Reshape to another count", "Reshape", {x, ints({4, 2})}},
      {"Reshape with two -1", "Reshape", {x, ints({-1, -1})}},
      {"Reshape with a remainder", "Reshape", {x, ints({4, -1})}},
      {"Reshape with 0 past the rank", "Reshape", {x, ints({6, 1, 0})}},
      {"Reshape that overflows", "Reshape", {x, ints({INT64_MAX, INT64_MAX})}},
      {"Reshape to -2", "Reshape", {x, ints({-2, -3})}},
      {"Squeeze of 2", "Squeeze", {x, ints({0})}},
      {"Unsqueeze twice", "Unsqueeze", {x, ints({0, 0})}},
      {"Concat of ranks", "Concat", {x, floats({2})}, {{"axis", int64_t{0}}}},
      {"Concat of sizes", "Concat", {x, floats({2, 2})}, {{"axis", int64_t{0}}}},
      {"Transpose twice the same", "Transpose", {x}, {{"perm", Ints{0, 0}}}},
      {"Transpose of other rank", "Transpose", {x}, {{"perm", Ints{0, 1, 2}}}},
      {"Split of wrong sum", "Split", {x, ints({1, 3})}, {}, 2},
      {"Split of a negative", "Split", {x, ints({3, -1})}, {}, 2},
      {"Split into 0", "Split", {x}, {{"num_outputs", int64_t{0}}}, 2},
      {"Split of another count", "Split", {x}, {{"num_outputs", int64_t{3}}}, 2},
      {"Slice by 0", "Slice", {x, ints({0}), ints({1}), ints({0}), ints({0})}},
      {"Slice of unequal lists", "Slice", {x, ints({0, 0}), ints({1})}},
      {"Pad of odd count", "Pad", {x, ints({1, 1, 1})}},
      {"Pad away", "Pad", {x, ints({-3, 0, 0, 0})}},
      {"Pad by the extremes", "Pad", {x, ints({INT64_MAX, 0, INT64_MAX, 0})}},
      {"Expand of contradiction", "Expand", {x, ints({5, 3})}},
      {"Expand to negative", "Expand", {x, ints({-1, 3})}},
      {"Tile negative", "Tile", {x, ints({-1, 1})}},
      {"Range by 0",
       "Range",
       {Tensor::scalar<int64_t>(0), Tensor::scalar<int64_t>(1), Tensor::scalar<int64_t>(0)}},
      {"Range by NaN",
       "Range",
       {Tensor::scalar(0.0f), Tensor::scalar(1.0f), Tensor::scalar(std::numeric_limits<float>::quiet_NaN())}},
      {"OneHot of negative depth", "OneHot", {ints({0}), Tensor::scalar<int64_t>(-3), floats({2})}},
      {"DepthToSpace by 0", "DepthToSpace", {floats({1, 4, 1, 1})}, {{"blocksize", int64_t{0}}}},
      {"DepthToSpace by the most", "DepthToSpace", {floats({1, 4, 1, 1})}, {{"blocksize", INT64_MAX}}},
      {"SpaceToDepth with a remainder", "SpaceToDepth", {floats({1, 1, 3, 2})}, {{"blocksize", int64_t{2}}}},
      {"Col2Im by stride 0",
       "Col2Im",
       {floats({1, 2, 2}), ints({1, 3}), ints({1, 2})},
       {{"strides", Ints{0, 1}}}},
      {"Col2Im of other blocks", "Col2Im", {floats({1, 2, 3}), ints({1, 3}), ints({1, 2})}},
      {"Col2Im of block 0", "Col2Im", {floats({1, 2, 2}), ints({1, 3}), ints({0, 2})}},
      {"SplitToSequence by 0", "SplitToSequence", {x, Tensor::scalar<int64_t>(0)}},
      {"Resize by 0", "Resize", {x, Value(), floats({2}, 0)}},
      {"Resize by NaN", "Resize", {x, Value(), floats({2}, std::numeric_limits<float>::quiet_NaN())}},
      {"Resize both ways", "Resize", {x, Value(), floats({2}), ints({2, 3})}},
      {"Resize neither way", "Resize", {x}},
      {"GridSample of other batch", "GridSample", {floats({1, 1, 2, 2}), floats({2, 1, 1, 2})}},
      {"RoiAlign of infinity",
       "RoiAlign",
       {floats({1, 1, 2, 2}), floats({1, 4}, std::numeric_limits<float>::infinity()), ints({0})}},
      {"RoiAlign by negative samples",
       "RoiAlign",
       {floats({1, 1, 2, 2}), floats({1, 4}), ints({0})},
       {{"sampling_ratio", int64_t{-1}}}},
      {"ReverseSequence beyond", "ReverseSequence", {floats({2, 1}), ints({3})}},
  });
}

TEST(MovementErrors, TerabytesAreRefused) {
  const int64_t million = 1'000'000;
  expect_coded({
      {"ConstantOfShape", "ConstantOfShape", {ints({million, million})}},
      {"ConstantOfShape that overflows", "ConstantOfShape", {ints({INT64_MAX, INT64_MAX})}},
      {"Expand", "Expand", {floats({1}), ints({million, million})}},
      {"Tile", "Tile", {floats({1, 1}), ints({million, million})}},
      {"Tile that overflows", "Tile", {floats({2, 2}), ints({INT64_MAX, 1})}},
      {"Range",
       "Range",
       {Tensor::scalar<int64_t>(0), Tensor::scalar<int64_t>(INT64_MAX), Tensor::scalar<int64_t>(1)}},
      {"Range of floats", "Range", {Tensor::scalar(0.0f), Tensor::scalar(1e30f), Tensor::scalar(1.0f)}},
      {"Pad", "Pad", {floats({1, 1}), ints({million, million, 0, 0})}},
      {"Resize by sizes", "Resize", {floats({1, 1}), Value(), Value(), ints({million, million})}},
      {"Resize by scales", "Resize", {floats({1, 1}), Value(), floats({2}, 1e9f)}},
      {"OneHot", "OneHot", {ints({0, 1}), Tensor::scalar<int64_t>(million * million), floats({2})}},
  });
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
