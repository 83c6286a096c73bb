// Looking around in networks, and changing them.
#include <gtest/gtest.h>

#include "network/cases.h"
#include "support/temp_directory.h"

namespace lathe::network_cases {
namespace LATHE_TEST_FILE {

using E = ElementWiseOperation;
using U = UnaryOperation;

struct Small {
  Network n{"small"};
  TensorRef x = in(n, "x", {"N", 2});
  TensorRef w = n.add_constant(floats({2}, {2, 3}), "w");
  Layer product = n.add_elementwise(x, w, E::prod, "product");
  Layer square = n.add_scale(product, {.power = n.add_constant(floats({}, {2}), "two"), .name = "square"});
  Layer pooled = n.add_scale(square, {.scale = w, .shift = w, .name = "affine"});
  Small() { n.mark_output(pooled, "y"); }

  std::vector<float> run(const Network& net) const {
    auto outputs = Builder().build_engine(net).create_context().run({{"x", floats({1, 2}, {1, -1})}});
    const Tensor& y = outputs.at("y").tensor();
    return {y.as<float>().begin(), y.as<float>().end()};
  }
};

TEST(NetworkLook, LayersAndTensors) {
  Small s;
  EXPECT_EQ(s.n.num_layers(), 3u);
  EXPECT_EQ(s.n.num_inputs(), 1u);
  EXPECT_EQ(s.n.get_output(0).name(), "y");
  EXPECT_EQ(s.n.get_layer(0), s.product);
  EXPECT_EQ(s.n.find_layer("affine"), s.pooled);
  EXPECT_EQ(s.n.find_layer(s.square.id()), s.square);
  EXPECT_EQ(s.square.kind(), "elementwise");  // one operator, which is known by itself
  EXPECT_EQ(s.pooled.kind(), "scale");
  EXPECT_EQ(s.pooled.operators(), (std::vector<std::string>{"Mul", "Add"}));
  EXPECT_EQ(s.pooled.get_input(0), s.square.get_output(0));
  EXPECT_EQ(s.pooled.num_inputs(), 2u);  // w once
  EXPECT_EQ(s.w.consumers(), (std::vector<Layer>{s.product, s.pooled}));
  EXPECT_EQ(s.square.get_output(0).producer(), s.square);
  EXPECT_EQ(lathe::describe(s.pooled.get_output(0).shape()), "[N, 2]");
  EXPECT_EQ(s.pooled.get_output(0).element_type(), DataType::float32);
  EXPECT_TRUE(s.w.constant());
  EXPECT_FALSE(s.x.constant());
  EXPECT_EQ(s.n.query("kind == scale && operators > 1").size(), 1u);
  EXPECT_EQ(s.n.query("op == M*").size(), 2u);
  EXPECT_EQ(s.n.query("consumers == 0").size(), 1u);
  EXPECT_EQ(s.n.query("name != \"affine\" && inputs >= 2").size(), 2u);
  EXPECT_NE(s.n.text().find("affine: scale(square, w) -> y: float[N,2]  # Mul Add"), std::string::npos)
      << s.n.text();
  EXPECT_NE(s.n.describe(GraphFormat::json).find("\"affine/Mul\""), std::string::npos);
  EXPECT_NE(s.n.describe(GraphFormat::dot).find("digraph"), std::string::npos);
}

TEST(NetworkLook, NamesAndMetadataTravel) {
  Small s;
  s.pooled.set_name("renamed");
  s.product.set_metadata("block", "7");
  s.product.get_output(0).set_name("inner");
  const testing::TempDirectory folder;
  s.n.save(folder / "n.onnx");
  Parser parser;
  const Network again = parser.parse(folder / "n.onnx");
  ASSERT_TRUE(again.find_layer("renamed"));
  EXPECT_EQ(again.find_layer("renamed")->kind(), "scale");
  EXPECT_EQ(again.find_layer("renamed")->operators(), s.pooled.operators());
  EXPECT_EQ(again.find_layer("product")->metadata(), s.product.metadata());
  EXPECT_TRUE(again.find_tensor("inner"));
}

TEST(NetworkEdit, InsertReplaceRemove) {
  Small s;
  EXPECT_EQ(s.run(s.n), (std::vector<float>{10, 30}));
  // y = (|2x|, …): before the square nothing changes, behind it the sign would.
  s.n.insert_before(s.square, 0,
                    [](Network& n, const TensorRef& t) { return n.add_unary(t, U::abs, "abs"); });
  EXPECT_EQ(s.run(s.n), (std::vector<float>{10, 30}));
  s.n.insert_after(s.square, [](Network& n, const TensorRef& t) { return n.add_unary(t, U::neg, "neg"); });
  EXPECT_EQ(s.run(s.n), (std::vector<float>{-6, -24}));
  // An output keeps its name.
  s.n.insert_after(s.pooled, [](Network& n, const TensorRef& t) { return n.add_unary(t, U::neg, "last"); });
  EXPECT_EQ(s.n.get_output(0).name(), "y");
  EXPECT_EQ(s.run(s.n), (std::vector<float>{6, 24}));
  s.n.replace_all_uses(*s.n.find_layer("neg"), s.square);
  EXPECT_EQ(s.run(s.n), (std::vector<float>{-10, -30}));
  EXPECT_THROW(s.n.remove(s.square), Error);
  s.n.remove(*s.n.find_layer("neg"));
  EXPECT_FALSE(s.n.find_layer("neg"));
  EXPECT_EQ(s.run(s.n), (std::vector<float>{-10, -30}));
  // Shapes follow.
  const TensorRef wide = in(s.n, "wide", {"N", 2});
  s.n.set_input(s.product, 0, wide);
  EXPECT_EQ(s.product.get_input(0), wide);
}

TEST(NetworkEdit, ALayerTakenOutOfUseIsRemoved) {
  Small s;
  s.n.add_unary(s.product, U::exp, "idle");
  s.n.add_scale(s.x, {.scale = s.w, .shift = s.w, .name = "idle too"});
  const Layer watched = s.n.add_unary(s.product, U::sin, "watched");
  s.n.mark_debug(watched);
  EXPECT_EQ(s.n.remove_unused(), 2u);
  EXPECT_EQ(s.n.num_layers(), 4u);
  s.n.unmark_debug(watched);
  EXPECT_EQ(s.n.remove_unused(), 1u);
  s.n.unmark_output(s.pooled);
  EXPECT_EQ(s.n.remove_unused(), 3u);
}

TEST(NetworkEdit, WhatDoesNotFitChangesNothing) {
  Small s;
  const std::string before = s.n.describe() + s.n.text();
  const TensorRef other = in(s.n, "other", {5}), whole = s.n.add_input("whole", DataType::int64, {"N", 2});
  const std::string with_inputs = s.n.describe() + s.n.text();
  EXPECT_THROW(s.n.replace_all_uses(s.product, other), Error);
  EXPECT_THROW(s.n.set_input(s.square, 0, whole), Error);
  // A cycle
  EXPECT_THROW(s.n.set_input(s.product, 0, s.pooled), Error);
  EXPECT_THROW(s.n.insert_after(s.square,
                                [](Network& n, const TensorRef& t) -> TensorRef {
                                  return n.add_cast(t, DataType::int32);
                                }),
               Error);
  EXPECT_EQ(s.n.describe() + s.n.text(), with_inputs);
  EXPECT_NE(before, with_inputs);
  EXPECT_EQ(s.run(s.n.extract({s.x}, {s.pooled})), (std::vector<float>{10, 30}));
}

TEST(NetworkEdit, TransactionsRollBack) {
  Small s;
  const std::string before = s.n.describe() + s.n.text();
  EXPECT_THROW(s.n.transaction([&](Network& n) {
    n.insert_after(s.square, [](Network& m, const TensorRef& t) { return m.add_unary(t, U::neg, "neg"); });
    n.unmark_output(s.pooled);
    n.remove(s.pooled);
    n.add_identity(s.product, "more");
    throw Error(Code::bad_argument, "test", "", "");
  }),
               Error);
  EXPECT_EQ(s.n.describe() + s.n.text(), before);
  EXPECT_EQ(s.pooled.name(), "affine");
  EXPECT_EQ(s.run(s.n), (std::vector<float>{10, 30}));
  s.n.transaction([&](Network& n) {
    n.insert_after(s.square, [](Network& m, const TensorRef& t) { return m.add_unary(t, U::neg, "neg"); });
  });
  EXPECT_EQ(s.run(s.n), (std::vector<float>{-6, -24}));
}

TEST(NetworkEdit, TransactionsWithoutAFunction) {
  Small s;
  const std::string before = s.n.describe() + s.n.text();
  {
    Transaction t(s.n);
    s.n.add_identity(s.product, "more");
  }
  EXPECT_EQ(s.n.describe() + s.n.text(), before);
  Transaction t(s.n);
  s.n.add_identity(s.product, "kept");
  t.commit();
  t.roll_back();  // nothing is left to take back
  EXPECT_TRUE(s.n.find_layer("kept"));
  Transaction taken_back(s.n);
  s.n.add_identity(s.product, "gone");
  taken_back.roll_back();
  EXPECT_FALSE(s.n.find_layer("gone"));
  EXPECT_TRUE(s.n.find_layer("kept"));
}

TEST(NetworkEdit, NoneWhileABodyIsFilled) {
  Small s;
  auto around = std::make_unique<Transaction>(s.n);
  const TensorRef yes = s.n.add_constant(bools({}, {true}));
  s.n.add_if_conditional(
      yes,
      [&](Network&) -> std::vector<TensorRef> {
        EXPECT_THROW(Transaction{s.n}, Error);
        EXPECT_THROW(s.n.transaction([](Network&) {}), Error);
        EXPECT_THROW(s.n.replace_all_uses(s.product, s.x), Error);
        EXPECT_THROW(around->roll_back(), Error);
        around.reset();  // the changes stay
        return {s.x};
      },
      [&](Network&) -> std::vector<TensorRef> { return {s.x}; }, "choice");
  EXPECT_TRUE(s.n.find_layer("choice"));
  Transaction{s.n}.commit();
  EXPECT_EQ(s.run(s.n), (std::vector<float>{10, 30}));
}

TEST(NetworkEdit, ExtractCutsBothEnds) {
  Small s;
  const Network part = s.n.extract({s.product}, {s.square});
  EXPECT_EQ(part.num_layers(), 1u);
  EXPECT_EQ(part.get_input(0).name(), "product");
  EXPECT_EQ(part.get_input(0).type(), "float[N,2]");
  EXPECT_EQ(part.get_output(0).name(), "square");
  auto y = Builder().build_engine(part).create_context().run({{"product", floats({1, 2}, {3, 4})}});
  EXPECT_TRUE(compare(y.at("square"), floats({1, 2}, {9, 16}), 0, 0).equal);
  EXPECT_EQ(s.n.num_layers(), 3u);  // the network itself is as it was
  EXPECT_THROW(s.n.extract({}, {}), Error);
}

TEST(NetworkEdit, WorksOnParsedNetworksAndBodies) {
  for (const NetworkCase& c : control_cases()) {
    if (c.name != "loop_nested") continue;
    Parser parser;
    Network n = parser.parse(c.network().to_model());
    const Layer loop = n.query("kind == loop").at(0);
    Network body = loop.body("body");
    const Layer inner = body.query("kind == loop").at(0);
    body.insert_after(inner.get_output(0),
                      [](Network& b, const TensorRef& t) { return b.add_identity(t, "same"); });
    auto y = Builder().build_engine(n).create_context().run(c.values());
    EXPECT_TRUE(compare(y.at("y"), c.outputs.at("y"), 0, 0).equal);
    Network copy = n.clone();
    EXPECT_EQ(copy.describe(), n.describe());
    return;
  }
  FAIL();
}

TEST(NetworkEdit, HandlesOfWhatIsGoneSaySo) {
  Small s;
  const TensorRef t = s.n.add_identity(s.x, "gone");
  const Layer l = *s.n.find_layer("gone");
  s.n.remove(l);
  EXPECT_THROW(l.name(), Error);
  EXPECT_THROW(s.n.add_identity(t), Error);
  Network other;
  TensorRef dead;
  EXPECT_THROW(s.n.transaction([&](Network& n) {
    dead = n.add_identity(s.x);
    throw Error(Code::bad_argument, "test", "", "");
  }),
               Error);
  EXPECT_THROW(s.n.add_identity(dead), Error);
}

TEST(NetworkKeep, WeightsBesideTheSource) {
  Network n("big");
  out(n, n.add_matrix_multiply(in(n, "x", {"N", 16}), n.add_constant(weights({16, 16}), "w")));
  const testing::TempDirectory folder;
  const std::string text = n.cpp({.function = "make", .weights = folder / "w.safetensors"});
  EXPECT_NE(text.find("lathe::Network make(const std::filesystem::path& weights)"), std::string::npos);
  EXPECT_NE(text.find("checkpoint.tensor(\"w\")"), std::string::npos);
  const Tensor w = Checkpoint::open(folder / "w.safetensors").tensor("w");
  EXPECT_TRUE(compare(w, weights({16, 16}), 0, 0).equal);
}

TEST(NetworkKeep, AnOlderOpset) {
  Small s;
  EXPECT_EQ(s.n.to_model(13).proto.opset_import.at(0).version, 13);
  Network decomposed;
  out(decomposed,
      decomposed.add_rotary_embedding(in(decomposed, "x", {1, 1, 2, 4}), in(decomposed, "c", {1, 2, 2}),
                                      in(decomposed, "s", {1, 2, 2})));
  EXPECT_GT(decomposed.to_model(13).proto.graph->node.size(), 1u);
  Network unsaid;
  out(unsaid, unsaid.add_non_zero(in(unsaid, "x", {2, 3})));
  EXPECT_THROW(unsaid.to_model(8), Error);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::network_cases
