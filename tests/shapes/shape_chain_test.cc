// Sizes followed through shape arithmetic: what exporters write around Reshape, Expand and Slice stays
// symbolic.
#include <gtest/gtest.h>

#include "support/graph_builder.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

/// Shape arithmetic over x: float[batch, seq, 64].
struct Chain : ::testing::Test {
  GraphBuilder g;
  ValueId x = g.input("x", "float[batch,seq,64]");

  ValueId size_of(int64_t axis) {
    return g.node("Gather", {g.node("Shape", {x}), g.constant(Tensor::scalar(axis))},
                  attributes({{"axis", int64_t{0}}}));
  }
  ValueId as_list(ValueId scalar) { return g.node("Unsqueeze", {scalar, g.ints({0})}); }
  ValueId join(std::vector<ValueId> parts) {
    return g.node("Concat", std::move(parts), attributes({{"axis", int64_t{0}}}));
  }
  std::string type_of(ValueId v) {
    g.infer();
    return g.type(v);
  }
};

TEST_F(Chain, GatheredSizesShapeAReshape) {
  const ValueId shape = join({as_list(size_of(0)), as_list(size_of(1)), g.ints({8, 8})});
  const ValueId heads = g.node("Reshape", {x, shape});
  const ValueId turned =
      g.node("Transpose", {heads}, attributes({{"perm", std::vector<int64_t>{0, 2, 1, 3}}}));
  EXPECT_EQ(type_of(turned), "float[batch,8,seq,8]");
}

TEST_F(Chain, MinusOneIsDividedExactly) {
  EXPECT_EQ(type_of(g.node("Reshape", {x, g.ints({-1, 32})})),
            ValueType::parse("float[2*batch*seq,32]").str());
  const ValueId shape = join({as_list(size_of(0)), g.ints({-1})});
  EXPECT_EQ(type_of(g.node("Reshape", {x, shape})), ValueType::parse("float[batch,64*seq]").str());
  EXPECT_EQ(type_of(g.node("Reshape", {x, g.ints({0, -1})})), ValueType::parse("float[batch,64*seq]").str());
}

TEST_F(Chain, SlicesOfShapesAndBySizes) {
  const ValueId first_two = g.node("Slice", {g.node("Shape", {x}), g.ints({0}), g.ints({2})});
  EXPECT_EQ(type_of(g.node("ConstantOfShape", {first_two})), "float[batch,seq]");
  const ValueId cut = g.node("Slice", {g.constant(Tensor(DataType::float32, {1, 512, 4})), g.ints({0}),
                                       as_list(size_of(1)), g.ints({1})});
  EXPECT_EQ(type_of(cut), ValueType::parse("float[1,min(512, seq),4]").str());
  const ValueId all_but_one = g.node("Slice", {x, g.ints({1}), g.ints({INT64_MAX}), g.ints({1})});
  EXPECT_EQ(type_of(all_but_one), ValueType::parse("float[batch,max(0, seq - 1),64]").str());
}

TEST_F(Chain, SizesComputedInFloats) {
  const auto cast = [&](ValueId v, DataType to) {
    return g.node("Cast", {v}, attributes({{"to", static_cast<int64_t>(to)}}));
  };
  const auto number = [&](float f) { return g.constant(Tensor::scalar(f)); };
  const auto length = [&](ValueId size) {
    return type_of(g.node("ConstantOfShape", {as_list(cast(size, DataType::int64))}));
  };
  const ValueId seq = cast(size_of(1), DataType::float32);
  EXPECT_EQ(length(g.node("Min", {seq, number(512)})), ValueType::parse("float[min(512, seq)]").str());
  const ValueId doubled = g.node("Mul", {seq, number(2)});
  EXPECT_EQ(length(g.node("Floor", {doubled})), ValueType::parse("float[2*seq]").str());
  EXPECT_EQ(length(g.node("Div", {g.node("Mul", {doubled, number(3)}), number(6)})), "float[seq]");
  EXPECT_EQ(length(g.node("Ceil", {g.node("Max", {seq, cast(size_of(0), DataType::float32)})})),
            ValueType::parse("float[max(batch, seq)]").str());
  // A quotient that may be no integer is not followed, nor are numbers that a float cannot represent.
  EXPECT_NE(length(g.node("Div", {seq, number(2)})).find('?'), std::string::npos);
  EXPECT_NE(length(g.node("Mul", {seq, number(0.5f)})).find('?'), std::string::npos);
  const ValueId big = g.constant(Tensor::scalar<int64_t>((int64_t{1} << 24) + 1));
  EXPECT_NE(length(cast(big, DataType::float32)).find('?'), std::string::npos);
  EXPECT_EQ(length(cast(big, DataType::float64)), "float[16777217]");
}

TEST_F(Chain, RangeExpandAndTile) {
  const ValueId zero = g.constant(Tensor::scalar<int64_t>(0)), one = g.constant(Tensor::scalar<int64_t>(1));
  const ValueId positions = g.node("Range", {zero, size_of(1), one});
  EXPECT_EQ(type_of(positions), "int64[seq]");
  const ValueId row = g.node("Unsqueeze", {positions, g.ints({0})});
  const ValueId wide = g.node("Expand", {row, join({as_list(size_of(0)), g.ints({1})})});
  EXPECT_EQ(type_of(wide), "int64[batch,seq]");
  EXPECT_EQ(type_of(g.node("Tile", {row, join({as_list(size_of(0)), g.ints({2})})})),
            ValueType::parse("int64[batch,2*seq]").str());
}

TEST_F(Chain, PadResizeSplitAndFlatten) {
  EXPECT_EQ(type_of(g.node("Pad", {x, g.ints({0, 1, 0, 0, 2, 0})})),
            ValueType::parse("float[batch,seq + 3,64]").str());
  const auto halves =
      g.nodes("Split", {x}, 2, attributes({{"axis", int64_t{2}}, {"num_outputs", int64_t{2}}}));
  EXPECT_EQ(type_of(halves[1]), "float[batch,seq,32]");
  EXPECT_EQ(type_of(g.node("Flatten", {x}, attributes({{"axis", int64_t{2}}}))),
            ValueType::parse("float[batch*seq,64]").str());
  const ValueId scales = g.constant(Tensor::from({3}, std::vector<float>{1, 0.5f, 2}));
  EXPECT_EQ(type_of(g.node("Resize", {x, no_id, scales})),
            ValueType::parse("float[batch,floor(seq/2),128]").str());
}

TEST_F(Chain, PadsTurnedAroundAsPyTorchExportsThem) {
  const ValueId flat =
      join({as_list(size_of(1)), g.ints({0, 1, 2})});  // last axis first, begin and end together
  const ValueId pairs = g.node("Reshape", {flat, g.ints({-1, 2})});
  const ValueId turned =
      g.node("Slice", {pairs, g.ints({-1}), g.ints({INT64_MIN}), g.ints({0}), g.ints({-1})});
  const ValueId pads = g.node(
      "Reshape",
      {g.node("Transpose", {turned}, attributes({{"perm", std::vector<int64_t>{1, 0}}})), g.ints({-1})});
  const ValueId matrix = g.input("matrix", "float[n,m]");
  EXPECT_EQ(type_of(g.node("Pad", {matrix, pads})), ValueType::parse("float[n + 3,m + seq]").str());
}

TEST_F(Chain, AMaskCutFromAConstantBroadcastsToWhatItIsCutFor) {
  const ValueId mask = g.node("Slice", {g.constant(Tensor(DataType::float32, {512, 1})), g.ints({0}),
                                        as_list(size_of(1)), g.ints({0})});
  EXPECT_EQ(type_of(g.node("Add", {x, mask})), "float[batch,seq,64]");
}

TEST_F(Chain, SizesOnlyTheDataKnowStayUnknown) {
  const ValueId found = g.node("NonZero", {x});
  g.infer();
  const auto& shape = g.graph->value(found).type.shape;
  ASSERT_TRUE(shape && shape->size() == 2);
  EXPECT_EQ((*shape)[0], Dim(3));
  EXPECT_TRUE((*shape)[1].has_unknown());
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
