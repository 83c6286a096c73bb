// Nodes that an older opset cannot express are decomposed: the result has that opset's operators alone, and
// gives the same answers.
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "support/decomposed_case.h"
#include "support/model_builder.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace test;     // NOLINT: builders read as words
using namespace testing;  // NOLINT

TEST(Decomposition, Activations) {
  const std::vector<float> hard{-inf, -100, -6, -3, -1e-3f, 0, 0.5f, 3, 6, 100};
  for (const char* op : {"HardSwish", "Mish", "Gelu", "Swish"}) {
    same_at(of(op).input<float>({10}, hard), {9, 13, 17}, 1e-5, 1e-5);
    same_at(of(op).random(f16, {3, 4}, -4, 4), {9, 13}, 1e-3, 1e-3);
    same_at(of(op).random(DataType::float64, {5}), {9, 13});
  }
  same_at(of("Gelu").attribute("approximate", std::string("tanh")).random(f32, {3, 5}, -3, 3), {9, 13, 19});
  for (float alpha : {0.5f, 1.702f, -2.0f})
    same_at(of("Swish").attribute("alpha", alpha).random(f32, {7}, -3, 3), {7, 13, 23});
  same_at(of("SwiGLU").attribute("alpha", 0.5f).random(f32, {2, 3}).random(f32, {2, 3}), {7, 13, 27});
  for (float alpha : {0.5f, 2.0f, -1.0f}) {
    same_at(of("Celu").attribute("alpha", alpha).random(f32, {9}, -3, 3), {8, 11});
    same_at(of("Celu").attribute("alpha", alpha).random(DataType::float64, {9}, -3, 3), {13, 22});
  }
  for (const char* op :
       {"Elu", "Selu", "HardSigmoid", "Softplus", "Softsign", "LeakyRelu", "ThresholdedRelu"})
    same_at(of(op).random(DataType::bfloat16, {6}, -2, 2), {13}, 1e-2, 1e-2);
  same_at(of("Relu").input<int32_t>({3}, {-1, 0, 5}), {12, 13});
  same_at(of("Relu").input<int8_t>({3}, {-128, 0, 127}), {12, 13});
}

TEST(Decomposition, ArithmeticOfSmallIntegersWrapsAround) {
  for (const char* op : {"Add", "Sub", "Mul"}) {
    same_at(of(op).input<int8_t>({3}, {127, -128, 3}).input<int8_t>({3}, {1, 1, -5}), {7, 13}, 0, 0);
    same_at(of(op).input<uint8_t>({3}, {255, 0, 3}).input<uint8_t>({1}, {7}), {7, 13}, 0, 0);
    same_at(of(op).input<int16_t>({2}, {32767, -5}).input<int16_t>({2}, {32767, 7}), {7, 13}, 0, 0);
    same_at(of(op).input<uint16_t>({2}, {65535, 2}).input<uint16_t>({2}, {65535, 7}), {7, 13}, 0, 0);
  }
  same_at(of("Div").input<int8_t>({4}, {-128, 7, -7, 100}).input<int8_t>({4}, {-1, 2, 2, 3}), {7, 13}, 0, 0);
  same_at(
      of("Mod").input<float>({6}, {5.5f, -5.5f, 5.5f, -5.5f, 4, 0}).input<float>({6}, {2, 2, -2, -2, -2, 3}),
      {13, 27});
}

TEST(Decomposition, Bits) {
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    same_at(of(op).input<int8_t>({4}, {-128, -1, 5, 127}).input<int8_t>({4}, {-1, 77, 3, -127}), {13, 17}, 0,
            0);
    same_at(of(op).input<uint16_t>({2, 1}, {65535, 258}).input<uint16_t>({3}, {1, 32768, 255}), {13}, 0, 0);
    same_at(of(op).input<int64_t>({2}, {INT64_MIN, 1}).input<int64_t>({2}, {-2, INT64_MAX}), {13}, 0, 0);
    same_at(of(op).input<uint64_t>({2}, {UINT64_MAX, 1}).input<uint64_t>({2}, {UINT64_MAX - 1, 3}), {13}, 0,
            0);
  }
  same_at(of("BitwiseNot").input<int32_t>({3}, {0, -1, INT32_MIN}), {7, 13}, 0, 0);
  same_at(of("BitwiseNot").input<uint8_t>({3}, {0, 255, 7}), {13, 17}, 0, 0);
}

TEST(Decomposition, TypesThatAreKnown) {
  same_at(of("CastLike").input<float>({3}, {1.5f, -2.5f, 300}).input<int32_t>({1}, {0}), {7, 13});
  same_at(of("CastLike").input<int64_t>({2}, {1, 70000}).random(f16, {1}), {13});
  same_at(of("OptionalHasElement").input<float>({1}, {1}), {9, 13, 17});
  same_at(of("OptionalGetElement").input<float>({2}, {1, 2}), {9, 13, 17});
}

TEST(Decomposition, PartsOfShapes) {
  for (const auto& [start, end] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 3}, {-2, -1}, {-9, 9}, {3, 1}, {0, -9}})
    same_at(of("Shape").attribute("start", start).attribute("end", end).random(f32, {2, 3, 4}), {7, 13});
  same_at(of("Shape").attribute("start", int64_t{1}).random(f32, {2, 3}), {13, 14});
}

TEST(Decomposition, Triangles) {
  for (int64_t upper : {0, 1})
    for (int64_t k : {-7, -1, 0, 2, 7}) {
      OpCase c = of("Trilu").attribute("upper", upper).random(f32, {2, 3, 4});
      same_at(c, {11, 13}, 0, 0);
      same_at(c.input<int64_t>({}, {k}), {11, 13}, 0, 0);
    }
  same_at(of("Trilu").input<bool>({2, 2}, {true, true, true, true}), {11, 13});
  same_at(of("Trilu").random(f32, {0, 3}), {13});
}

TEST(Decomposition, Windows) {
  for (const char* op : {"HannWindow", "HammingWindow", "BlackmanWindow"})
    for (int64_t periodic : {0, 1})
      for (int64_t type : {1, 11}) {
        OpCase c = of(op).attribute("periodic", periodic).attribute("output_datatype", type);
        same_at(c.input<int32_t>({}, {10}), {11, 13, 16}, 1e-5, 1e-6);
      }
}

TEST(Decomposition, PartsThatAreNotEqual) {
  for (int64_t size : {5, 7, 8})
    for (int64_t axis : {0, 1, -1}) {
      OpCase c =
          of("Split").attribute("num_outputs", int64_t{3}).attribute("axis", axis).random(f32, {size, size});
      same_at(c.outputs_wanted(3), {7, 13, 17}, 0, 0);
    }
}

TEST(Decomposition, PadsOfAxesThatARunComputes) {
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    OpCase c = of("Pad").attribute("mode", std::string(mode)).random(f32, {3, 4, 5});
    same_at(ints(ints(c, {2, 1, 0, 2}).absent(), {-1, 0}), {13, 17, 18}, 0, 0);
  }
  OpCase c = of("Pad").attribute("mode", std::string("wrap")).random(f32, {3, 4});
  same_at(ints(c, {7, 0, -1, 9}), {13, 18}, 0, 0);
}

TEST(Decomposition, CentersCutAndFilledUp) {
  same_at(ints(of("CenterCropPad").random(f32, {5, 8, 3}), {2, 11, 3}), {13, 17}, 0, 0);
  same_at(
      ints(of("CenterCropPad").attribute("axes", std::vector<int64_t>{-1, 0}).random(f32, {5, 8, 4}), {7, 2}),
      {13}, 0, 0);
}

TEST(Decomposition, Grids) {
  for (int64_t align : {0, 1}) {
    same_at(ints(of("AffineGrid").attribute("align_corners", align).random(f32, {2, 2, 3}), {2, 1, 4, 1}),
            {13, 19});
    same_at(ints(of("AffineGrid").attribute("align_corners", align).random(f32, {1, 3, 4}), {1, 1, 2, 3, 4}),
            {13});
  }
}

TEST(Decomposition, SamplesOfImages) {
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (int64_t align : {0, 1}) {
        OpCase c = of("GridSample")
                       .attribute("mode", std::string(mode))
                       .attribute("padding_mode", std::string(padding));
        c.attribute("align_corners", align);
        same_at(OpCase(c).random(f32, {2, 3, 4, 5}).random(f32, {2, 3, 2, 2}, -3, 3), {13, 15}, 1e-4, 2e-5);
        if (mode == std::string_view("linear"))
          same_at(OpCase(c).random(f32, {1, 2, 3, 4, 2}).random(f32, {1, 2, 2, 3, 3}, -1.5, 1.5), {13, 19},
                  1e-4, 2e-5);
      }
  same_at(of("GridSample").random(f32, {1, 1, 1, 2}).input<float>({1, 1, 3, 2}, {nan, 0, 0, inf, -1, 0}),
          {13});
}

TEST(Decomposition, ScatteredAndReduced) {
  for (const char* reduction : {"add", "mul", "min", "max"}) {
    const std::string name = reduction;
    OpCase c =
        of("ScatterElements").attribute("reduction", name).attribute("axis", int64_t{-1}).random(f32, {2, 4});
    same_at(c.input<int64_t>({2, 3}, {1, 1, -1, 0, 3, 0}).random(f32, {2, 3}), {13, 15});
    OpCase nd = of("ScatterND").attribute("reduction", name).random(f32, {3, 2, 2});
    same_at(OpCase(nd).input<int64_t>({3, 1}, {2, 0, 2}).random(f32, {3, 2, 2}), {13, 15});
    same_at(OpCase(nd).input<int64_t>({2, 2, 2}, {2, 0, 2, 0, 1, 1, 2, 0}).random(f32, {2, 2, 2}), {13, 15});
  }
}

TEST(Decomposition, ProductsAlongAnAxis) {
  for (int64_t axis : {0, -1, 1})
    for (int64_t reverse : {0, 1})
      for (int64_t exclusive : {0, 1}) {
        OpCase c = of("CumProd")
                       .attribute("reverse", reverse)
                       .attribute("exclusive", exclusive)
                       .random(f32, {2, 3, 4}, -2, 2);
        same_at(c.input<int64_t>({}, {axis}), {13, 25});
        same_at(c.as_constant(), {11, 13, 25});
      }
  same_at(of("CumProd").input<int32_t>({3}, {2, -3, 4}).input<int32_t>({}, {0}), {13}, 0, 0);
}

TEST(Decomposition, FourierTransforms) {
  const auto dft = [](int64_t inverse, int64_t onesided, Shape shape) {
    return of("DFT")
        .attribute("inverse", inverse)
        .attribute("onesided", onesided)
        .random(f32, std::move(shape));
  };
  for (int64_t n : {5, 8}) {
    const auto length = [](OpCase c, std::optional<int64_t> v) {
      return v ? c.input<int64_t>({}, {*v}) : c.absent();
    };
    for (std::optional<int64_t> given :
         {std::optional<int64_t>(), std::optional<int64_t>(6), std::optional<int64_t>(11)})
      for (int64_t axis : {0, 1, -2})
        for (bool constant : {false, true}) {
          const auto along = [&](OpCase c) {
            c = length(c, given).input<int64_t>({}, {axis});
            return constant ? c.as_constant() : c;
          };
          same_at(along(dft(0, 0, {n, n, 1})), {13, 17}, 1e-5, 1e-5);
          same_at(along(dft(0, 1, {n, n, 1})), {13, 17}, 1e-5, 1e-5);
          same_at(along(dft(0, 0, {n, n, 2})), {13}, 1e-5, 1e-5);
          same_at(along(dft(1, 0, {n, n, 2})), {13, 17}, 1e-5, 1e-5);
          same_at(along(dft(1, 1, {n, n, 2})), {13, 17}, 1e-5, 1e-5);
        }
  }
  same_at(dft(0, 0, {1, 6, 1}), {13}, 1e-5, 1e-5);
}

TEST(Decomposition, ShiftsOfIntegersWithASign) {
  for (const char* direction : {"LEFT", "RIGHT"}) {
    OpCase c = of("BitShift").attribute("direction", std::string(direction));
    same_at(OpCase(c).input<int8_t>({6}, {-128, 127, -1, 5, -7, 9}).input<int8_t>({6}, {1, 2, 7, 8, -1, 0}),
            {11, 13, 27}, 0, 0);
    same_at(OpCase(c).input<int64_t>({4}, {INT64_MIN, -1, 77, 5}).input<int64_t>({4}, {63, 64, 3, -9}),
            {11, 13, 27}, 0, 0);
  }
  same_at(of("BitCast").attribute("to", int64_t{2}).input<int8_t>({2}, {-1, 5}), {13, 25}, 0, 0);
  same_at(of("SpaceToDepth")
              .attribute("blocksize", int64_t{2})
              .attribute("mode", std::string("CRD"))
              .random(f32, {2, 3, 4, 6}),
          {9, 13}, 0, 0);
}

TEST(Decomposition, Reductions) {
  for (const char* op : {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                         "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"})
    for (const std::vector<int64_t>& axes : std::vector<std::vector<int64_t>>{{1}, {-1, 0}, {0, 1, 2}, {}})
      for (int64_t keepdims : {0, 1})
        for (int64_t noop : {0, 1}) {
          OpCase c = of(op).attribute("keepdims", keepdims).attribute("noop_with_empty_axes", noop);
          same_at(ints(c.random(f32, {2, 3, 4}, 0.5, 2), axes), {13, 17});
        }
  same_at(ints(of("ReduceMean").input<int32_t>({2, 2}, {7, 8, -7, -8}), {1}), {13});
  same_at(ints(of("ReduceLogSumExp").input<float>({2, 2}, {-inf, -inf, 500, inf}), {1}), {13});
  for (const char* op : {"ReduceMax", "ReduceMin"}) {
    same_at(ints(of(op).input<bool>({2, 2}, {true, false, true, true}), {1}), {13, 19});
    same_at(ints(of(op).input<uint8_t>({2, 2}, {1, 200, 3, 4}), {0}), {13});
  }
}

TEST(Decomposition, Norms) {
  for (int64_t axis : {-1, 1, 0, -2}) {
    OpCase c =
        of("LayerNormalization").attribute("axis", axis).attribute("epsilon", 1e-3f).random(f32, {2, 3, 4});
    OpCase rms = of("RMSNormalization").attribute("axis", axis).random(f32, {2, 3, 4}).random(f32, {4});
    same_at(c.random(f32, {4}), {9, 13, 16});
    same_at(c.random(f32, {1}).outputs_wanted(3), {9, 13, 16});
    same_at(rms, {9, 13, 22});
  }
  same_at(of("LayerNormalization").random(f16, {3, 8}).random(f16, {8}).random(f16, {8}).outputs_wanted(3),
          {13}, 1e-3, 1e-3);
  same_at(of("RMSNormalization").random(f16, {3, 8}).random(f32, {8}), {13}, 1e-3, 1e-3);
  for (int64_t groups : {1, 2, 4}) {
    OpCase c = of("GroupNormalization").attribute("num_groups", groups).random(f32, {2, 4, 3, 2});
    same_at(c.random(f32, {4}).random(f32, {4}), {9, 13, 17, 20});
  }
  same_at(of("GroupNormalization")
              .attribute("num_groups", int64_t{2})
              .random(f32, {2, 4})
              .random(f32, {4})
              .random(f32, {4}),
          {13});
  for (const Shape& shape : {Shape{4, 3, 2}, Shape{4, 3}}) {
    OpCase c = of("BatchNormalization")
                   .attribute("training_mode", int64_t{1})
                   .attribute("momentum", 0.7f)
                   .random(f32, shape);
    for (int i = 0; i < 4; ++i) c.random(f32, {3}, 0.5, 2);
    same_at(c.outputs_wanted(3), {9, 13});
  }
}

OpCase attention(const Shape& q, const Shape& kv) {
  OpCase c = of("Attention");
  return c.random(f32, q).random(f32, kv).random(f32, kv);
}

TEST(Decomposition, Attention) {
  const Shape q{2, 4, 3, 8}, kv{2, 4, 5, 8}, shared{2, 2, 5, 8}, rows{2, 3, 32}, key_rows{2, 5, 16};
  same_at(attention(q, kv), {9, 13, 22});
  same_at(attention(q, shared), {9, 13});
  same_at(attention(q, shared).attribute("scale", 0.25f).attribute("softcap", 2.0f), {13});
  for (int64_t mode : {0, 1, 2, 3}) {
    OpCase c = attention(q, shared).attribute("qk_matmul_output_mode", mode).attribute("softcap", 1.5f);
    same_at(c.attribute("is_causal", int64_t{1}).outputs_wanted(4), {13, 17, 22});
  }
  OpCase flat =
      attention(rows, key_rows).attribute("q_num_heads", int64_t{4}).attribute("kv_num_heads", int64_t{2});
  same_at(flat, {13});
  OpCase past = flat;
  past.absent().random(f32, {2, 2, 4, 8}).random(f32, {2, 2, 4, 8}).outputs_wanted(3);
  same_at(past.attribute("is_causal", int64_t{1}), {13});
  same_at(attention(q, kv).attribute("is_causal", int64_t{1}).random(f32, {3, 5}), {13});
  same_at(attention(q, kv).random(f32, {2, 1, 3, 2}), {13, 23});  // the mask ends before the keys do
  OpCase booleans = attention(q, kv);
  booleans.input<bool>({3, 5}, {true, false, true, true, false, false, false, false, false, false, true, true,
                                true, true, true});
  same_at(booleans, {13});  // a query without keys
  OpCase lengths = ints(attention(q, kv).absent().absent().absent(), {3, 5});
  same_at(lengths, {13, 23});
  same_at(lengths.attribute("is_causal", int64_t{1}), {13});
  OpCase window =
      attention(q, kv).attribute("left_window_size", int64_t{1}).attribute("right_window_size", int64_t{0});
  same_at(window, {13, 24});
  OpCase half = of("Attention").random(f16, q).random(f16, shared).random(f16, shared);
  same_at(half, {13}, 2e-3, 2e-3);
  same_at(half.attribute("softmax_precision", int64_t{1}), {13}, 2e-3, 2e-3);
  same_at(attention(q, kv).attribute("softmax_precision", int64_t{11}), {13});
}

TEST(Decomposition, RotaryEmbedding) {
  for (int64_t interleaved : {0, 1})
    for (int64_t rotated : {0, 4}) {
      const int64_t half = rotated == 0 ? 4 : rotated / 2;
      OpCase c = of("RotaryEmbedding")
                     .attribute("interleaved", interleaved)
                     .attribute("rotary_embedding_dim", rotated);
      OpCase flat = c;
      flat.attribute("num_heads", int64_t{3});
      same_at(c.random(f32, {2, 3, 5, 8}).random(f32, {2, 5, half}).random(f32, {2, 5, half}), {11, 13, 22});
      flat.random(f32, {2, 2, 24}).random(f32, {9, half}).random(f32, {9, half});
      same_at(flat.input<int64_t>({2, 2}, {3, 4, 0, 8}), {11, 13, 22});
    }
}

TEST(Decomposition, LinearAttention) {
  for (const char* rule : {"linear", "gated", "delta", "gated_delta"})
    for (bool past : {false, true})
      for (bool each : {false, true}) {
        const std::string name = rule;
        OpCase c = of("LinearAttention").attribute("update_rule", name);
        c.attribute("q_num_heads", int64_t{4}).attribute("kv_num_heads", int64_t{2});
        if (past) c.attribute("scale", 0.5f);
        c.random(f32, {2, 5, 12}).random(f32, {2, 5, 6}).random(f32, {2, 5, 8});
        if (past)
          c.random(f32, {2, 2, 3, 4});
        else
          c.absent();
        if (name.starts_with("gated"))
          c.random(f32, {2, 5, each ? 6 : 2}, -1, 0);
        else
          c.absent();
        if (name.ends_with("delta")) c.random(f32, {2, 5, each ? 2 : 1}, 0, 1);
        while (c.inputs.back().empty()) c.inputs.pop_back(), c.constant.pop_back();
        same_at(c.outputs_wanted(2), {11, 13, 26});
      }
}

TEST(Decomposition, CausalConvolution) {
  for (const char* activation : {"none", "silu"})
    for (int64_t k : {1, 4})
      for (bool past : {false, true}) {
        OpCase c = of("CausalConvWithState").attribute("activation", std::string(activation));
        c.random(f32, {2, 3, 6}).random(f32, {3, 1, k}).random(f32, {3});
        if (past) c.random(f32, {2, 3, k - 1});
        same_at(c.outputs_wanted(2), {10, 13, 26});
      }
}

TEST(Decomposition, CachesWrittenAtPlaces) {
  for (const char* mode : {"linear", "circular"}) {
    OpCase c = of("TensorScatter")
                   .attribute("mode", std::string(mode))
                   .random(f32, {2, 3, 6, 4})
                   .random(f32, {2, 3, 2, 4});
    same_at(c, {11, 13, 23}, 0, 0);
    const int64_t last = mode == std::string_view("linear") ? 4 : 5;
    same_at(ints(c, {1, last}), {11, 13, 23}, 0, 0);
  }
  same_at(
      ints(of("TensorScatter").attribute("axis", int64_t{1}).random(f32, {2, 5, 2}).random(f32, {2, 3, 2}),
           {2, 0}),
      {13}, 0, 0);
}

TEST(Decomposition, Quantization) {
  OpCase bytes =
      of("QuantizeLinear").input<float>({5}, {-1e9f, -2.5f, 0.5f, 1.5f, 1e9f}).input<float>({}, {0.5f});
  same_at(OpCase(bytes).input<int16_t>({}, {-7}), {11, 13, 20}, 0, 0);
  same_at(OpCase(bytes).input<uint16_t>({}, {300}), {11, 13, 20}, 0, 0);
  same_at(OpCase(bytes).attribute("output_dtype", int64_t{5}), {13, 20}, 0, 0);
  same_at(of("QuantizeLinear").random(f16, {2, 3}, -9, 9).random(f16, {3}, 0.1, 1), {13, 18}, 0, 0);
  for (int64_t axis : {0, 1}) {
    OpCase c = of("QuantizeLinear")
                   .attribute("axis", axis)
                   .attribute("block_size", int64_t{2})
                   .random(f32, {4, 3}, -9, 9);
    same_at(c.random(f32, axis == 0 ? Shape{2, 3} : Shape{4, 2}, 0.1, 1), {13, 20}, 0, 0);
  }
  OpCase back = of("DequantizeLinear").input<uint16_t>({2, 3}, {0, 65535, 7, 300, 301, 302});
  same_at(OpCase(back).input<float>({}, {0.25f}).input<uint16_t>({}, {299}), {13, 20});
  same_at(OpCase(back).attribute("block_size", int64_t{2}).random(f32, {2, 2}), {13, 20});
  same_at(of("DequantizeLinear").input<int8_t>({2, 3}, {-128, 127, 0, 1, 2, 3}).random(f16, {3}), {13, 18},
          1e-3, 1e-3);
  OpCase product = of("QLinearMatMul").input<uint8_t>({2, 2}, {1, 200, 30, 4}).random(f16, {}, 0.1, 0.2);
  product.input<uint8_t>({}, {100})
      .input<uint8_t>({2, 2}, {255, 0, 7, 8})
      .random(f16, {}, 0.1, 0.2)
      .input<uint8_t>({}, {90});
  same_at(product.random(f16, {}, 5, 9).input<uint8_t>({}, {120}), {10, 13, 20}, 0, 0);
}

TEST(Decomposition, RecurrencesWithTheBatchFirst) {
  for (const auto& [op, gates] :
       std::vector<std::pair<const char*, int64_t>>{{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}}) {
    OpCase c = of(op)
                   .attribute("layout", int64_t{1})
                   .attribute("hidden_size", int64_t{3})
                   .attribute("direction", std::string("bidirectional"));
    c.random(f32, {2, 4, 5})
        .random(f32, {2, gates * 3, 5})
        .random(f32, {2, gates * 3, 3})
        .absent()
        .absent()
        .random(f32, {2, 2, 3});
    if (op == std::string_view("LSTM")) c.random(f32, {2, 2, 3});
    same_at(c.outputs_wanted(gates == 4 ? 3 : 2), {7, 13});
  }
}

TEST(Decomposition, ShapesWithZeros) {
  OpCase c = of("Reshape").attribute("allowzero", int64_t{1});
  same_at(ints(OpCase(c).random(f32, {0, 3}), {3, 0}), {11, 13});
  same_at(ints(OpCase(c).random(f32, {2, 3}), {3, -1}), {11, 13});
  same_at(ints(OpCase(c).random(f32, {0, 3}), {3, 0}).as_constant(), {11, 13});
}

TEST(Decomposition, SomeAxesOfAnImage) {
  const std::vector<int64_t> axes{3, -2};
  OpCase c =
      of("Resize").attribute("axes", axes).attribute("mode", std::string("linear")).random(f32, {1, 2, 4, 5});
  same_at(OpCase(c).absent().input<float>({2}, {1.5f, 2}), {13, 17});
  same_at(ints(OpCase(c).absent().absent(), {3, 9}), {13, 17});
  OpCase crop = OpCase(c).attribute("coordinate_transformation_mode", std::string("tf_crop_and_resize"));
  same_at(ints(crop.input<float>({4}, {0.1f, 0.2f, 0.9f, 1.2f}).absent(), {3, 9}), {13, 17});
  OpCase kept =
      of("Resize").attribute("keep_aspect_ratio_policy", std::string("not_larger")).random(f32, {1, 1, 4, 8});
  kept.attribute("axes", std::vector<int64_t>{2, 3});
  same_at(ints(kept.absent().absent(), {6, 20}).as_constant(), {13});
}

TEST(Decomposition, ChancesOfASeedAreTheSame) {
  OpCase c = of("Bernoulli").attribute("seed", 3.0f).attribute("dtype", int64_t{6}).random(f32, {100}, 0, 1);
  same_at(c, {9, 13, 14}, 0, 0);
}

onnx::NodeProto gelu(std::string x, std::string y) {
  return make_node("Gelu", {std::move(x)}, {std::move(y)});
}

Value numbers(std::vector<float> v) {
  const auto n = static_cast<int64_t>(v.size());
  return Value(Tensor::from({n}, v));
}

TEST(Decomposition, SequencesElementByElement) {
  ModelBuilder b(17);
  b.input("s", "seq(float)").input("t", "seq(float)").input("k", "float[1]");
  auto body = make_body({{"a", "float"}, {"b", "float"}, {"c", "float[1]"}},
                        {make_node("Add", {"a", "b"}, {"ab"}), make_node("Mul", {"ab", "k"}, {"r"}),
                         make_node("Sub", {"a", "c"}, {"d"})},
                        {{"r", ""}, {"d", ""}});
  b.node("SequenceMap", {"s", "t", "k"}, {"y", "z"}, {graph_attribute("body", body)}).output("y").output("z");
  Sequence one, two;
  one.elem = two.elem = DataType::float32;
  for (float f : {1.0f, 2.0f, 3.0f}) {
    one.items->push_back(numbers({f, f + 1}));
    two.items->push_back(numbers({10 * f, f}));
  }
  const std::vector<Value> inputs{Value(one), Value(two), numbers({2})};
  const auto want = answers(b.model, inputs);
  for (int opset : {13, 16}) {
    const auto got = answers(written(b.model, opset), inputs);
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(difference(got[i], want[i], 0, 0), "");
  }
}

/// Operators of a model, those of bodies too.
void collect(const onnx::GraphProto& g, std::set<std::string>& ops) {
  for (const onnx::NodeProto& n : g.node) {
    ops.insert(*n.op_type);
    for (const auto& a : n.attribute)
      if (a.g) collect(*a.g, ops);
  }
}

TEST(Decomposition, InBodies) {
  ModelBuilder b(20);
  b.input("c", "bool[]").input("x", "float[3]");
  auto inner = make_body({}, {gelu("x", "g"), make_node("Swish", {"g"}, {"s"})}, {{"s", ""}});
  inner.node.back().op_type = "Mish";
  b.node("If", {"c"}, {"y"},
         {graph_attribute("then_branch", inner),
          graph_attribute("else_branch", make_body({}, {gelu("x", "h")}, {{"h", ""}}))});
  b.output("y");
  for (bool condition : {false, true}) {
    Tensor condition_value(DataType::boolean, {});
    condition_value.as<bool>()[0] = condition;
    const std::vector<Value> inputs{Value(condition_value), numbers({-1, 0.5f, 2})};
    const onnx::Model older = written(b.model, 13);
    std::set<std::string> ops;
    collect(*older.proto.graph, ops);
    EXPECT_FALSE(ops.contains("Gelu") || ops.contains("Mish"));
    EXPECT_EQ(difference(answers(older, inputs)[0], answers(b.model, inputs)[0], 1e-5, 1e-6), "");
  }
}

TEST(Decomposition, InFunctionsThatAreCalled) {
  ModelBuilder b(20);
  b.import_opset("here", 1).input("x", "float[3]").output("y");
  b.function("here", "twice", {"a"}, {"d"}, {gelu("a", "b"), gelu("b", "d")}, {}, 20);
  b.node("twice", {"x"}, {"y"}, {}, "here");
  const onnx::Model older = normalize(b.model, 13);
  EXPECT_TRUE(older.proto.functions.empty());
  const std::vector<Value> inputs{numbers({-1, 0.5f, 2})};
  EXPECT_EQ(difference(answers(older, inputs)[0], answers(b.model, inputs)[0], 1e-5, 1e-6), "");
  EXPECT_EQ(normalize(b.model, 20).proto.functions.size(), 1u);
}

// Outputs of the model keep their names, also where an input is what they are.
TEST(Decomposition, OutputsKeepTheirNames) {
  ModelBuilder b(18);
  b.input("x", "float[2]").node("OptionalGetElement", {"x"}, {"y"}).node("Mish", {"x"}, {"z"});
  b.node("Neg", {"z"}, {"n"}).output("y").output("z").output("n");
  const onnx::Model older = written(b.model, 13);
  std::vector<std::string> names;
  for (const auto& o : older.proto.graph->output) names.push_back(*o.name);
  EXPECT_EQ(names, (std::vector<std::string>{"y", "z", "n"}));
  const std::vector<Value> inputs{numbers({-1, 2})};
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(difference(answers(older, inputs)[i], answers(b.model, inputs)[i], 1e-5, 1e-6), "");
}

TEST(Decomposition, NothingChangesWhereNothingHasToBeDecomposed) {
  ModelBuilder b(20);
  b.input("x", "float[3]").node("Gelu", {"x"}, {"y"}).output("y");
  const auto g = import_model(b.model, catalog());
  const auto bytes = [&](int opset) {
    return onnx::serialize(export_model(*g, catalog(), {.opset = opset}).proto);
  };
  EXPECT_EQ(bytes(20), bytes(0));
}

TEST(Decomposition, TheDocumentNamesThemAll) {
  std::ifstream file(std::string(LATHE_SOURCE_DIR) + "/docs/reference/formats.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::set<std::string> named, decomposed;
  const std::string_view heading = "Operators with a decomposition:";
  std::istringstream list(text.substr(text.find(heading) + heading.size()));
  for (std::string word; list >> word;) {
    named.insert(word.substr(0, word.size() - 1));
    if (word.ends_with(".")) break;
  }
  for (const auto& [key, schema] : catalog().all())
    if (schema.decomposition()) decomposed.insert(key.second);
  EXPECT_EQ(named, decomposed);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
