// Tests downgrades: every operator is saved at the lowest opset that means the same, and no lower.
// op_cases_test and, in ONNX Runtime, python/test_import_models.py check that the results give the same
// answers.
#include <gtest/gtest.h>

#include "onnx/exporter.h"
#include "onnx/importer.h"
#include "support/model_builder.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace test;  // NOLINT: builders read as words

struct Saved {
  onnx::Model model;
  int64_t opset() const { return *model.proto.opset_import.at(0).version; }
  size_t initializers() const { return model.proto.graph->initializer.size(); }
  const onnx::NodeProto& node() const { return model.proto.graph->node.at(0); }
  const onnx::AttributeProto* attribute(std::string_view name) const {
    for (const auto& a : node().attribute)
      if (*a.name == name) return &a;
    return nullptr;
  }
  std::vector<int64_t> ints(std::string_view name) const {
    const auto* a = attribute(name);
    return a ? a->ints : std::vector<int64_t>{-99};
  }
};

Saved saved(const ModelBuilder& b) {
  const SchemaCatalog& catalog = SchemaCatalog::standard();
  Saved s{export_model(*import_model(b.model, catalog), catalog)};
  import_model(s.model, catalog)->check();
  return s;
}

/// A model of one node: inputs "x", "c1", "c2", … where a text is a type and a tensor a constant.
class One {
 public:
  One(int64_t opset, std::string op, std::vector<onnx::AttributeProto> attributes = {}, size_t outputs = 1)
      : builder_(opset) {
    node_.op_type = std::move(op);
    node_.attribute = std::move(attributes);
    for (size_t i = 0; i < outputs; ++i) {
      node_.output.push_back("y" + std::to_string(i));
      builder_.output(node_.output.back());
    }
  }
  One& in(std::string_view type) {
    node_.input.push_back("x" + std::to_string(node_.input.size()));
    builder_.input(node_.input.back(), type);
    return *this;
  }
  One& ints(std::vector<int64_t> v) {
    const auto n = static_cast<int64_t>(v.size());
    return constant(int64_tensor("", {n}, std::move(v)));
  }
  One& floats(std::vector<float> v) {
    const auto n = static_cast<int64_t>(v.size());
    return constant(float_tensor("", {n}, std::move(v)));
  }
  One& scalar(float v) { return constant(float_tensor("", {}, {v})); }
  One& constant(onnx::TensorProto t) {
    node_.input.push_back("c" + std::to_string(node_.input.size()));
    t.name = node_.input.back();
    builder_.initializer(std::move(t));
    return *this;
  }
  One& nothing() {
    node_.input.emplace_back();
    return *this;
  }
  Saved save() {
    builder_.graph().node.push_back(node_);
    return saved(builder_);
  }
  int64_t opset() { return save().opset(); }

 private:
  ModelBuilder builder_;
  onnx::NodeProto node_;
};

using Ints = std::vector<int64_t>;

TEST(Downgrade, IntegersOfErfStayInItsFirstVersion) {
  const Saved s = One(9, "Erf").in("int32[3]").save();
  EXPECT_EQ(s.opset(), 9);
}

TEST(Downgrade, ConstantAxesBecomeAttributesCountedFromTheFront) {
  for (const char* op : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2"}) {
    const Saved s = One(18, op).in("float[2,3,4]").ints({-1, 1}).save();
    EXPECT_EQ(s.opset(), 7) << op;
    EXPECT_EQ(s.ints("axes"), (Ints{2, 1}));
    EXPECT_EQ(s.initializers(), 0u);
    EXPECT_EQ(s.node().input.size(), 1u);
  }
  EXPECT_EQ(One(18, "ReduceMean").in("float[2,3]").in("int64[1]").opset(), 18);
  EXPECT_EQ(One(18, "ReduceSum").in("float[2,3]").in("int64[1]").opset(), 13);
  EXPECT_EQ(One(18, "ReduceMean").in("float[2,3]").opset(), 7);
  EXPECT_EQ(One(18, "ReduceMean", {int_attribute("noop_with_empty_axes", 1)}).in("float[2,3]").opset(), 18);
  EXPECT_EQ(
      One(18, "ReduceMean", {int_attribute("noop_with_empty_axes", 1)}).in("float[2]").ints({0}).opset(), 7);
  EXPECT_EQ(One(18, "ReduceMean").in("float").ints({-1}).opset(), 11);  // of unknown rank
  EXPECT_EQ(One(20, "ReduceMax").in("bool[2]").ints({0}).opset(), 20);
}

TEST(Downgrade, FunctionsOfIntegersGoThroughDoubleAtAnyOpset) {
  for (const char* op : {"ReduceLogSum", "ReduceLogSumExp"})
    EXPECT_EQ(One(18, op).in("int32[2,3]").ints({1}).opset(), 7) << op;
  EXPECT_EQ(One(9, "Erf").in("uint8[2]").opset(), 9);
}

TEST(Downgrade, SqueezeAndUnsqueeze) {
  const Saved unsqueeze = One(13, "Unsqueeze").in("float[2,3]").ints({0, -1}).save();
  EXPECT_EQ(unsqueeze.opset(), 7);
  EXPECT_EQ(unsqueeze.ints("axes"), (Ints{0, 3}));
  EXPECT_EQ(One(13, "Unsqueeze").in("float").ints({-1}).opset(), 11);
  EXPECT_EQ(One(13, "Unsqueeze").in("float[2]").in("int64[1]").opset(), 13);
  EXPECT_EQ(One(13, "Squeeze").in("float[2,1]").ints({-1}).save().ints("axes"), Ints{1});
  EXPECT_EQ(One(13, "Squeeze").in("float[2,1]").opset(), 7);
  EXPECT_EQ(One(13, "Squeeze").in("float[2,1]").ints({}).opset(), 13);
}

TEST(Downgrade, BoundsPadsAndCountsBecomeAttributes) {
  const Saved clip = One(13, "Clip").in("float[2]").scalar(0).scalar(6).save();
  EXPECT_EQ(clip.opset(), 7);
  EXPECT_EQ(clip.attribute("max")->f, 6);
  EXPECT_EQ(One(13, "Clip").in("float[2]").nothing().scalar(6).opset(), 7);
  EXPECT_EQ(One(13, "Clip").in("float[2]").in("float[]").opset(), 11);
  EXPECT_EQ(One(13, "Clip").in("double[2]").opset(), 11);  // the bounds that version 6 has are those of float
  EXPECT_EQ(One(13, "Clip").in("int32[2]").opset(), 12);

  const Saved pad = One(18, "Pad").in("float[2,3]").ints({0, 1, 0, 2}).scalar(1.5f).save();
  EXPECT_EQ(pad.opset(), 7);
  EXPECT_EQ(pad.ints("pads"), (Ints{0, 1, 0, 2}));
  EXPECT_EQ(pad.attribute("value")->f, 1.5f);
  EXPECT_EQ(One(18, "Pad").in("float[2,3]").ints({1, 2}).nothing().ints({-1}).save().ints("pads"),
            (Ints{0, 1, 0, 2}));
  EXPECT_EQ(One(18, "Pad").in("float[2,3]").in("int64[4]").opset(), 11);
  EXPECT_EQ(One(18, "Pad").in("float[2,3]").in("int64[2]").nothing().ints({1}).opset(), 18);
  EXPECT_EQ(One(19, "Pad", {string_attribute("mode", "wrap")}).in("float[4]").ints({1, 1}).opset(), 19);
  EXPECT_EQ(One(19, "Pad", {string_attribute("mode", "edge")}).in("float[4]").ints({1, 1}).opset(), 7);

  const Saved top = One(11, "TopK", {int_attribute("axis", -1)}, 2).in("float[2,3]").ints({2}).save();
  EXPECT_EQ(top.opset(), 7);
  EXPECT_EQ(top.attribute("k")->i, 2);
  EXPECT_EQ(One(11, "TopK", {int_attribute("largest", 0)}, 2).in("float[2,3]").ints({2}).opset(), 11);
  EXPECT_EQ(One(11, "TopK", {}, 2).in("float[2,3]").in("int64[1]").opset(), 10);
}

TEST(Downgrade, SlicesAndSplits) {
  const Saved slice = One(13, "Slice").in("float[4,5]").ints({1}).ints({-1}).ints({-1}).ints({1}).save();
  EXPECT_EQ(slice.opset(), 7);
  EXPECT_EQ(slice.ints("ends"), Ints{-1});
  EXPECT_EQ(slice.ints("axes"), Ints{1});
  EXPECT_EQ(One(13, "Slice").in("float[4]").ints({0}).ints({4}).ints({0}).ints({2}).opset(), 10);
  EXPECT_EQ(One(13, "Slice").in("float[4]").in("int64[1]").ints({4}).ints({-1}).opset(), 10);
  EXPECT_EQ(One(13, "Slice").in("float").in("int64[1]").ints({4}).ints({-1}).opset(), 11);

  EXPECT_EQ(One(13, "Split", {}, 2).in("float[3]").ints({1, 2}).save().ints("split"), (Ints{1, 2}));
  EXPECT_EQ(One(13, "Split", {}, 2).in("float[4]").opset(), 7);
  EXPECT_EQ(One(18, "Split", {int_attribute("num_outputs", 2)}, 2).in("float[4]").opset(), 7);
  EXPECT_EQ(One(18, "Split", {int_attribute("num_outputs", 2)}, 2).in("float[5]").opset(), 18);
  EXPECT_EQ(One(18, "Split", {int_attribute("num_outputs", 2)}, 2).in("float[N]").opset(), 18);
}

// Version 18 has an attribute for equal parts, which earlier versions lack.
TEST(Downgrade, EqualPartsAreSaidFromVersion18On) {
  ModelBuilder b(11);
  b.input("x", "float[4,2]").node("Split", {"x"}, {"a", "b"}).output("a").output("b");
  ExportOptions options;
  options.opset = 20;
  const SchemaCatalog& catalog = SchemaCatalog::standard();
  const Saved s{export_model(*import_model(b.model, catalog), catalog, options)};
  ASSERT_TRUE(s.attribute("num_outputs"));
  EXPECT_EQ(s.attribute("num_outputs")->i, 2);
}

TEST(Downgrade, SoftmaxOverTheLastAxisAlone) {
  const Saved last = One(13, "Softmax").in("float[2,3,4]").save();
  EXPECT_EQ(last.opset(), 7);
  EXPECT_EQ(last.attribute("axis")->i, 2);
  EXPECT_EQ(One(13, "Softmax", {int_attribute("axis", 1)}).in("float[2,3,4]").opset(), 13);
  EXPECT_EQ(One(13, "LogSoftmax", {int_attribute("axis", 1)}).in("float[2,3]").opset(), 7);
  EXPECT_EQ(One(13, "Softmax").in("float").opset(), 11);
}

TEST(Downgrade, NormalizationAndDropout) {
  const Saved norm = One(15, "BatchNormalization")
                         .in("float[1,2,3]")
                         .floats({1, 1})
                         .floats({0, 0})
                         .floats({0, 0})
                         .floats({1, 1})
                         .save();
  EXPECT_EQ(norm.opset(), 7);
  EXPECT_EQ(One(15, "BatchNormalization", {int_attribute("training_mode", 1)}, 3)
                .in("float[1,2,3]")
                .floats({1, 1})
                .floats({0, 0})
                .floats({0, 0})
                .floats({1, 1})
                .opset(),
            14);
  const Saved dropout = One(13, "Dropout").in("float[2]").scalar(0.25f).save();
  EXPECT_EQ(dropout.opset(), 7);
  EXPECT_EQ(dropout.attribute("ratio")->f, 0.25f);
  EXPECT_EQ(One(13, "Dropout", {}, 2).in("float[2]").scalar(0.25f).opset(), 12);  // what the mask was
  EXPECT_EQ(One(13, "Dropout").in("float[2]").in("float[]").opset(), 12);
}

TEST(Downgrade, Resize) {
  const auto asymmetric = string_attribute("coordinate_transformation_mode", "asymmetric");
  const auto floor = string_attribute("nearest_mode", "floor");
  const Saved old =
      One(13, "Resize", {asymmetric, floor}).in("float[1,1,2,2]").nothing().floats({1, 1, 2, 2}).save();
  EXPECT_EQ(old.opset(), 10);
  EXPECT_EQ(old.node().input.size(), 2u);
  EXPECT_TRUE(old.node().attribute.empty());
  EXPECT_EQ(One(13, "Resize", {asymmetric}).in("float[1,1,2,2]").nothing().floats({1, 1, 2, 2}).opset(), 11);
  EXPECT_EQ(
      One(13, "Resize", {asymmetric, floor}).in("float[1,1,4,4]").nothing().floats({1, 1, .5, .5}).opset(),
      11);

  const Saved half = One(13, "Resize").in("float[1,1,2,2]").nothing().nothing().ints({1, 1, 4, 4}).save();
  EXPECT_EQ(half.opset(), 11);
  ASSERT_EQ(half.node().input.size(), 4u);
  EXPECT_FALSE(half.node().input[1].empty());  // an empty region and empty scales stand for none
  EXPECT_EQ(half.initializers(), 3u);
  EXPECT_EQ(One(18, "Resize", {int_attribute("antialias", 1)})
                .in("float[1,1,2,2]")
                .nothing()
                .floats({1, 1, 2, 2})
                .opset(),
            18);
  EXPECT_EQ(One(19, "Resize", {string_attribute("coordinate_transformation_mode", "half_pixel_symmetric")})
                .in("float[1,1,2,2]")
                .nothing()
                .floats({1, 1, 2, 2})
                .opset(),
            19);
}

// These operators have the same signature in both versions, yet can do more in the newer one.
TEST(Downgrade, NoOpsetWhereTheMeaningWouldChange) {
  EXPECT_EQ(One(13, "Max").in("float[2,3]").in("float[2,3]").opset(), 7);
  EXPECT_EQ(One(13, "Max").in("float[2,3]").in("float[3]").opset(), 8);
  EXPECT_EQ(One(13, "Max").in("double[2]").in("double[2]").opset(), 8);
  for (const char* op : {"MaxPool", "AveragePool"}) {
    const auto pool = [&](const char* x, int64_t ceil_mode) {
      return One(22, op,
                 {ints_attribute("kernel_shape", {3}), ints_attribute("strides", {2}),
                  ints_attribute("pads", {1, 1}), int_attribute("ceil_mode", ceil_mode)})
          .in(x)
          .opset();
    };
    EXPECT_EQ(pool("float[1,1,4]", 0), 7);
    EXPECT_EQ(pool("float[1,1,5]", 1), 10);
    EXPECT_EQ(pool("float[1,1,4]", 1), 10);
  }
  EXPECT_EQ(One(22, "MaxPool",
                {ints_attribute("kernel_shape", {1}), ints_attribute("strides", {2}),
                 ints_attribute("pads", {0, 1}), int_attribute("ceil_mode", 1)})
                .in("float[1,1,4]")
                .opset(),
            22);  // a window that begins behind the data
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    const auto wide = [&](int64_t kernel) {
      return One(22, op,
                 {ints_attribute("kernel_shape", {kernel}), ints_attribute("strides", {3}),
                  ints_attribute("pads", {0, 1}), int_attribute("ceil_mode", 1)})
          .in("float[1,1,N]")
          .opset();
    };
    EXPECT_EQ(wide(3), 22) << op;  // N decides whether there is such a window
    EXPECT_EQ(wide(4), op == std::string_view("LpPool") ? 18 : 10) << op;
  }
  EXPECT_EQ(One(13, "Sum").in("float[N]").in("float[M]").opset(), 8);
  EXPECT_EQ(One(13, "Gather").in("float[4]").ints({1, 2}).opset(), 7);
  EXPECT_EQ(One(13, "Gather").in("float[4]").ints({-1}).opset(), 11);
  EXPECT_EQ(One(13, "Gather").in("float[4]").in("int64[1]").opset(), 11);
  EXPECT_EQ(One(13, "Concat", {int_attribute("axis", -1)}).in("float[2,3]").save().attribute("axis")->i, 1);
  EXPECT_EQ(One(13, "Concat", {int_attribute("axis", -1)}).in("float").opset(), 11);
  EXPECT_EQ(One(13, "Flatten", {int_attribute("axis", -1)}).in("float[2,3,4]").save().attribute("axis")->i,
            2);
  EXPECT_EQ(One(13, "ArgMax", {int_attribute("axis", -1)}).in("float[2,3]").opset(), 7);
  EXPECT_EQ(One(13, "QuantizeLinear").in("float[2,3]").scalar(1).opset(), 10);
  EXPECT_EQ(One(13, "QuantizeLinear").in("float[2,3]").floats({1, 2, 3}).opset(), 13);
  const Saved one_scale =
      One(13, "QuantizeLinear", {int_attribute("axis", 0)}).in("float[2]").floats({2}).save();
  EXPECT_EQ(one_scale.opset(), 10);
  EXPECT_EQ(one_scale.attribute("axis"), nullptr);
  EXPECT_EQ(One(13, "QuantizeLinear").in("float[2,3]").in("float[1]").opset(), 13);
  EXPECT_EQ(One(18, "ScatterElements", {string_attribute("reduction", "max")})
                .in("float[3]")
                .ints({1})
                .floats({1})
                .opset(),
            18);
  EXPECT_EQ(One(18, "ScatterElements", {string_attribute("reduction", "add")})
                .in("float[3]")
                .ints({1})
                .floats({1})
                .opset(),
            16);
  EXPECT_EQ(One(15, "Pow").in("float[2]").in("float[2]").opset(), 7);
  EXPECT_EQ(One(15, "Pow").in("float[2]").in("double[2]").opset(), 12);  // one variable, two types
  EXPECT_EQ(One(16, "RoiAlign").in("float[1,1,4,4]").in("float[1,4]").in("int64[1]").opset(), 16);
  EXPECT_EQ(One(16, "RoiAlign", {string_attribute("coordinate_transformation_mode", "output_half_pixel")})
                .in("float[1,1,4,4]")
                .in("float[1,4]")
                .in("int64[1]")
                .opset(),
            10);
  EXPECT_EQ(One(28, "Mod").in("float[2]").in("float[2]").opset(), 28);
  EXPECT_EQ(One(28, "Mod", {int_attribute("fmod", 1)}).in("float[2]").in("float[2]").opset(), 10);
  EXPECT_EQ(One(14, "Reshape", {int_attribute("allowzero", 1)}).in("float[2,3]").ints({6}).opset(), 7);
  EXPECT_EQ(One(14, "Reshape", {int_attribute("allowzero", 1)}).in("float[0,3]").ints({3, 0}).opset(), 14);
}

TEST(Downgrade, BranchesOfOneShape) {
  auto with = [](const char* other) {
    ModelBuilder b(13);
    b.input("c", "bool[]").input("x", "float[2]").input("z", other);
    auto one = make_body({}, {make_node("Relu", {"x"}, {"r"})}, {{"r", ""}});
    auto two = make_body({}, {make_node("Relu", {"z"}, {"s"})}, {{"s", ""}});
    b.node("If", {"c"}, {"y"}, {graph_attribute("then_branch", one), graph_attribute("else_branch", two)})
        .output("y");
    return saved(b).opset();
  };
  EXPECT_EQ(with("float[2]"), 7);
  EXPECT_EQ(with("float[3]"), 11);
}

TEST(Downgrade, NodesAreInTheVersionOfTheWholeModel) {
  ModelBuilder b(18);
  b.input("x", "float[2,3]").input("i", "int32[2]").initializer(int64_tensor("a", {1}, {1}));
  b.node("ReduceMean", {"x", "a"}, {"m"}).output("m");
  const auto with = [&](const char* op, const char* input) {
    ModelBuilder c = b;
    c.model.proto.opset_import[0].version = 20;
    c.node(op, {input}, {"y"}).output("y");
    return saved(c);
  };
  const Saved relu = with("Relu", "i"), gelu = with("Gelu", "x");
  EXPECT_EQ(relu.opset(), 14);
  EXPECT_EQ(relu.ints("axes"), Ints{1});
  EXPECT_EQ(relu.initializers(), 0u);
  EXPECT_EQ(gelu.opset(), 20);
  EXPECT_EQ(gelu.node().input.size(), 2u);
  EXPECT_EQ(gelu.initializers(), 1u);
}

// Axes that a body reads from around it are an attribute there, and nothing is left outside.
TEST(Downgrade, ConstantsThatBodiesCapture) {
  ModelBuilder b(13);
  b.input("c", "bool[]").input("x", "float[2]").initializer(int64_tensor("a", {1}, {0}));
  const auto body = [](const char* name) {
    return make_body({}, {make_node("Unsqueeze", {"x", "a"}, {name})}, {{name, ""}});
  };
  b.node("If", {"c"}, {"y"},
         {graph_attribute("then_branch", body("t")), graph_attribute("else_branch", body("e"))})
      .output("y");
  const Saved s = saved(b);
  EXPECT_EQ(s.opset(), 7);
  EXPECT_EQ(s.initializers(), 0u);
}

TEST(Downgrade, TheGraphStaysAsItWas) {
  ModelBuilder b(18);
  b.input("x", "float[2,3]").initializer(int64_tensor("a", {1}, {-1}));
  b.node("ReduceMean", {"x", "a"}, {"m"}).output("m");
  const SchemaCatalog& catalog = SchemaCatalog::standard();
  const auto g = import_model(b.model, catalog);
  const std::string before = g->text();
  export_model(*g, catalog);
  EXPECT_EQ(g->text(), before);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
