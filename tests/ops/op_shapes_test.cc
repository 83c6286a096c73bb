// Shape rules of convolutions, pooling, products and recurrent layers: exact on symbolic sizes, the same on
// numbers, and coded errors for attributes that make no sense.
#include <gtest/gtest.h>

#include "ops/attention/attention.h"
#include "ops/col2im/col2im.h"
#include "ops/conv/conv.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/einsum/einsum.h"
#include "ops/gemm/gemm.h"
#include "ops/matmul/matmul.h"
#include "ops/norm/norm.h"
#include "ops/pool/pool.h"
#include "ops/rnn/rnn.h"
#include "support/error_code.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using Ints = std::vector<int64_t>;

/// The shape of output `i` for inputs written as "n, 3, h"; "-" leaves an input out.
template <class Op>
std::string shape_of(const Attributes& attributes, const std::vector<std::string>& inputs, size_t i = 0) {
  std::vector<Fact<Dim>> in;
  for (const std::string& text : inputs) {
    Fact<Dim> f;
    f.present = f.ranked = text != "-";
    f.type = DataType::float32;
    for (size_t at = 0; f.present && at < text.size();) {
      const size_t comma = std::min(text.find(',', at), text.size());
      f.shape.push_back(Dim::parse(text.substr(at, comma - at)));
      at = comma + 1;
    }
    in.push_back(std::move(f));
  }
  std::vector<Fact<Dim>> out(4);
  out[i].present = true;
  ShapeContext<Dim> c(in, out);
  decode<Op>(attributes).shape(c);
  return describe(out[i].shape);
}

/// The same with numbers.
template <class Op>
Ints numbers_of(const Attributes& attributes, const std::vector<Ints>& inputs) {
  std::vector<Fact<int64_t>> in;
  for (const Ints& shape : inputs) {
    Fact<int64_t> f;
    f.present = f.ranked = true;
    f.type = DataType::float32;
    f.shape = shape;
    in.push_back(std::move(f));
  }
  std::vector<Fact<int64_t>> out(4);
  ShapeContext<int64_t> c(in, out);
  decode<Op>(attributes).shape(c);
  return out[0].shape;
}

Attributes with(std::initializer_list<std::pair<const char*, AttributeValue>> list) {
  Attributes a;
  for (const auto& [name, value] : list) a.set(name, value);
  return a;
}

TEST(ConvShape, IsExactOnSymbols) {
  EXPECT_EQ(shape_of<Conv>(with({{"pads", Ints{1, 1, 1, 1}}}), {"n,3,h,w", "8,3,3,3"}), "[n, 8, h, w]");
  EXPECT_EQ(
      shape_of<Conv>(with({{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}), {"n,3,2*h,w", "8,3,3,3"}),
      "[n, 8, h, floor((w + 1)/2)]");
  EXPECT_EQ(shape_of<Conv>(with({{"auto_pad", std::string("SAME_UPPER")}}), {"n,3,h,w", "8,3,3,5"}),
            "[n, 8, h, w]");
  EXPECT_EQ(shape_of<Conv>(with({{"dilations", Ints{2}}}), {"n,c,t", "m,c,k"}), "[n, m, -2*k + t + 2]");
}

TEST(ConvShape, SymbolsAndNumbersAgree) {
  for (int64_t size : {5, 6, 7, 20})
    for (int64_t stride : {1, 2, 3})
      for (int64_t end : {0, 1, 2})
        for (bool ceil : {false, true}) {
          const Attributes a = with({{"kernel_shape", Ints{3}},
                                     {"strides", Ints{stride}},
                                     {"pads", Ints{1, end}},
                                     {"ceil_mode", int64_t{ceil}}});
          const Ints numbers = numbers_of<MaxPool>(a, {{1, 1, size}});
          const std::string text = shape_of<MaxPool>(a, {"1,1,n"});
          const Dim d = Dim::parse(text.substr(7, text.size() - 8));
          EXPECT_EQ(d.evaluate({{"n", size}}), numbers[2]) << text << " with n = " << size;
        }
}

TEST(ConvShape, RefusesAttributesThatMakeNoSense) {
  const std::vector<std::string> inputs{"1,4,8,8", "4,4,3,3"};
  const auto code = [&](const Attributes& a) { return code_of([&] { shape_of<Conv>(a, inputs); }); };
  EXPECT_EQ(code({}), Code::none);
  for (const char* name : {"strides", "dilations", "kernel_shape"})
    for (const Ints& bad : {Ints{0, 1}, Ints{-1, 1}, Ints{1}, Ints{INT64_MAX, 1}, Ints{INT64_MIN, 1}})
      EXPECT_EQ(code(with({{name, bad}})), Code::node_bad_attribute) << name << " " << bad[0];
  for (const Ints& bad : {Ints{-1, 0, 0, 0}, Ints{1, 1}, Ints{INT64_MAX, 0, 0, 0}})
    EXPECT_EQ(code(with({{"pads", bad}})), Code::node_bad_attribute);
  for (int64_t bad : {int64_t{0}, int64_t{-2}, INT64_MIN})
    EXPECT_EQ(code(with({{"group", bad}})), Code::node_bad_attribute);
  EXPECT_EQ(code(with({{"group", int64_t{2}}})), Code::node_bad_shape);
  EXPECT_EQ(code(with({{"auto_pad", std::string("SAME")}})), Code::node_bad_attribute);
  EXPECT_EQ(code(with({{"dilations", Ints{9, 9}}})), Code::node_bad_shape);
  EXPECT_EQ(code_of([] { shape_of<Conv>({}, {"1,4,8", "4,4,3,3"}); }), Code::node_bad_shape);
  EXPECT_EQ(code_of([] { shape_of<Conv>({}, {"1,4,8,8", "4,4,0,3"}); }), Code::node_bad_shape);
}

TEST(PoolShape, LeavesOutWindowsThatStartInThePadding) {
  const Attributes a = with({{"kernel_shape", Ints{1, 1}},
                             {"strides", Ints{2, 2}},
                             {"pads", Ints{0, 0, 1, 1}},
                             {"ceil_mode", int64_t{1}}});
  EXPECT_EQ(numbers_of<MaxPool>(a, {{1, 1, 2, 3}}), (Ints{1, 1, 1, 2}));
}

TEST(ConvTransposeShape, FollowsItsAttributes) {
  const std::vector<std::string> inputs{"n,4,h,w", "4,6,3,3"};
  EXPECT_EQ(shape_of<ConvTranspose>(with({{"strides", Ints{2, 2}},
                                          {"pads", Ints{1, 1, 1, 1}},
                                          {"output_padding", Ints{1, 1}},
                                          {"group", int64_t{2}}}),
                                    inputs),
            "[n, 12, 2*h, 2*w]");
  EXPECT_EQ(shape_of<ConvTranspose>(with({{"strides", Ints{3, 3}}, {"auto_pad", std::string("SAME_LOWER")}}),
                                    inputs),
            "[n, 6, 3*h, 3*w]");
  EXPECT_EQ(shape_of<ConvTranspose>(with({{"output_shape", Ints{10, 8}}}), inputs), "[n, 6, 10, 8]");
  EXPECT_EQ(shape_of<ConvTranspose>(with({{"output_shape", Ints{1, 6, 10, 8}}}), inputs), "[n, 6, 10, 8]");
  EXPECT_EQ(code_of([&] {
              shape_of<ConvTranspose>(with({{"output_padding", Ints{-1, 0}}}), inputs);
            }),
            Code::node_bad_attribute);
}

TEST(ProductShape, BroadcastsBatchesAndDropsVectors) {
  EXPECT_EQ(shape_of<MatMul>({}, {"b,1,s,d", "h,d,e"}), "[b, h, s, e]");
  EXPECT_EQ(shape_of<MatMul>({}, {"d", "h,d,e"}), "[h, e]");
  EXPECT_EQ(shape_of<MatMul>({}, {"s,d", "d"}), "[s]");
  EXPECT_EQ(shape_of<MatMul>({}, {"d", "d"}), "[]");
  EXPECT_EQ(code_of([] { shape_of<MatMul>({}, {"2,3", "4,5"}); }), Code::node_bad_shape);
  EXPECT_EQ(code_of([] { shape_of<MatMul>({}, {"", "4,5"}); }), Code::node_bad_shape);
  EXPECT_EQ(shape_of<Gemm>(with({{"transA", int64_t{1}}, {"transB", int64_t{1}}}), {"k,m", "n,k", "n"}),
            "[m, n]");
  EXPECT_EQ(code_of([] { shape_of<Gemm>({}, {"2,3", "3,4", "3"}); }), Code::node_bad_shape);
  EXPECT_EQ(code_of([] { shape_of<Gemm>({}, {"2,3", "3,4", "1,2,4"}); }), Code::node_bad_shape);
}

TEST(EinsumShape, ReadsTheWholeSyntax) {
  const auto shape = [](const char* equation, const std::vector<std::string>& inputs) {
    return shape_of<Einsum>(with({{"equation", std::string(equation)}}), inputs);
  };
  EXPECT_EQ(shape("bqhd,bkhd->bhqk", {"b,q,4,d", "b,k,4,d"}), "[b, 4, q, k]");
  EXPECT_EQ(shape("...ij,...jk", {"b,h,i,j", "h,j,k"}), "[b, h, i, k]");
  EXPECT_EQ(shape("ba", {"x,y"}), "[y, x]");
  EXPECT_EQ(shape("ii->i", {"n,n"}), "[n]");
  for (const char* bad : {"ij,jk", "i->ij", "ij->iij", "i.j->i", "i1->i", "....->", "...i...->i", "->", ""})
    EXPECT_EQ(code_of([&] { shape(bad, {"2,3"}); }), Code::node_bad_attribute) << bad;
  EXPECT_EQ(code_of([&] { shape("ii", {"2,3"}); }), Code::node_bad_shape);
}

TEST(Col2ImShape, HasAsManyAxesAsItsListsSay) {
  const auto shape = [](const Attributes& a, const std::string& image, const std::string& block) {
    return shape_of<Col2Im>(a, {"n, c, l", image, block});
  };
  const auto rank = [&](const std::string& shape) { return std::ranges::count(shape, ',') + 1; };
  EXPECT_EQ(shape({}, "a", "b"), "[]");
  EXPECT_EQ(rank(shape({}, "3", "b")), 5);
  EXPECT_EQ(rank(shape({}, "a", "2")), 4);
  Attributes pads, strides;
  pads.set("pads", Ints{0, 0, 0, 0, 0, 0});
  strides.set("strides", Ints{1, 2});
  EXPECT_EQ(rank(shape(pads, "a", "b")), 5);
  EXPECT_EQ(rank(shape(strides, "a", "b")), 4);
  EXPECT_EQ(shape(strides, "a", "b").substr(0, 3), "[n,");
  EXPECT_EQ(code_of([&] { shape(strides, "a", "3"); }), Code::node_bad_attribute);
}

TEST(RecurrentShape, FollowsTheLayout) {
  const std::vector<std::string> inputs{"s,b,i", "2,4*h,i", "2,4*h,h"};
  const Attributes both = with({{"direction", std::string("bidirectional")}});
  EXPECT_EQ(shape_of<Lstm>(both, inputs), "[s, 2, b, h]");
  EXPECT_EQ(shape_of<Lstm>(both, inputs, 2), "[2, b, h]");
  Attributes first = both;
  first.set("layout", int64_t{1});
  EXPECT_EQ(shape_of<Lstm>(first, inputs), "[s, b, 2, h]");
  EXPECT_EQ(shape_of<Lstm>(first, inputs, 1), "[s, 2, h]");
  const auto code = [](const char* name, AttributeValue v) {
    return code_of([&] { shape_of<Gru>(with({{name, std::move(v)}}), {"5,2,3", "1,12,3", "1,12,4"}); });
  };
  EXPECT_EQ(code("hidden_size", int64_t{4}), Code::none);
  EXPECT_EQ(code("hidden_size", int64_t{5}), Code::node_bad_shape);
  EXPECT_EQ(code("hidden_size", int64_t{0}), Code::node_bad_attribute);
  EXPECT_EQ(code("direction", std::string("backward")), Code::node_bad_attribute);
  EXPECT_EQ(code("activations", std::vector<std::string>{"Tanh"}), Code::node_bad_attribute);
  EXPECT_EQ(code("activations", std::vector<std::string>{"Tanh", "Swish"}), Code::node_bad_attribute);
  EXPECT_EQ(code("clip", -1.f), Code::node_bad_attribute);
}

TEST(RecurrentActivations, TakeAlphasAndBetasInOrder) {
  const std::string_view names[] = {"HARDSIGMOID", "Tanh", "LeakyRelu", "elu"};
  const float alphas[] = {0.5f, 0.25f};
  const auto a = recurrent_activations(names, alphas, {});
  EXPECT_EQ(a[0].alpha, 0.5f);
  EXPECT_EQ(a[0].beta, 0.5f);
  EXPECT_EQ(a[2].alpha, 0.25f);
  EXPECT_EQ(a[3].alpha, 1.f);
}

TEST(AttentionShape, AppendsToTheCache) {
  const std::vector<std::string> inputs{"b,1,256", "b,1,64", "b,1,64", "-", "b,2,past,32", "b,2,past,32"};
  const Attributes a = with({{"q_num_heads", int64_t{8}}, {"kv_num_heads", int64_t{2}}});
  EXPECT_EQ(shape_of<Attention>(a, inputs), "[b, 1, 256]");
  EXPECT_EQ(shape_of<Attention>(a, inputs, 1), "[b, 2, past + 1, 32]");
  EXPECT_EQ(shape_of<Attention>(a, inputs, 3), "[b, 8, 1, past + 1]");
  EXPECT_EQ(code_of([&] { shape_of<Attention>({}, inputs); }), Code::node_bad_attribute);
  EXPECT_EQ(code_of([&] {
              shape_of<Attention>(with({{"q_num_heads", int64_t{8}}, {"kv_num_heads", int64_t{0}}}), inputs);
            }),
            Code::node_bad_attribute);
  EXPECT_EQ(code_of([] {
              shape_of<Attention>({}, {"1,3,2,4", "1,2,2,4", "1,2,2,4"});
            }),
            Code::node_bad_shape);
}

TEST(NormShape, ChecksParameters) {
  EXPECT_EQ(shape_of<LayerNormalization>({}, {"b,s,64", "64", "64"}, 1), "[b, s, 1]");
  EXPECT_EQ(code_of([] { shape_of<LayerNormalization>({}, {"2,64", "63"}); }), Code::node_bad_shape);
  EXPECT_EQ(code_of([] {
              shape_of<LayerNormalization>(with({{"axis", int64_t{2}}}), {"2,64", "64"});
            }),
            Code::node_bad_attribute);
  EXPECT_EQ(code_of([] {
              shape_of<LayerNormalization>(with({{"stash_type", int64_t{7}}}), {"2,64", "64"});
            }),
            Code::node_bad_attribute);
  EXPECT_EQ(code_of([] {
              shape_of<GroupNormalization>(with({{"num_groups", int64_t{0}}}), {"1,4,2", "4", "4"});
            }),
            Code::node_bad_attribute);
  EXPECT_EQ(code_of([] {
              shape_of<GroupNormalization>(with({{"num_groups", int64_t{3}}}), {"1,4,2", "4", "4"});
            }),
            Code::node_bad_shape);
  EXPECT_EQ(code_of([] {
              shape_of<BatchNormalization>({}, {"1,4,2", "4", "4", "4", "3"});
            }),
            Code::node_bad_shape);
  EXPECT_EQ(code_of([] {
              shape_of<Lrn>(with({{"size", int64_t{0}}}), {"1,4,2"});
            }),
            Code::node_bad_attribute);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
