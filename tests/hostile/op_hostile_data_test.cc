// Data that operators must refuse while they run: indices, lengths and scales that make no sense.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>

#include "lathe/lathe.h"
#include "plan/plan_file.h"
#include "support/case_model.h"
#include "support/error_code.h"
#include "support/hostile_limits.h"
#include "support/model_builder.h"
#include "tensor/element.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

/// Returns the code with which a run of the case by the reference ends.
Code run_of(const OpCase& c) {
  onnx::Model m;
  m.proto = model_of(c);
  BuildOptions options;
  options.backend = "reference";
  return code_of([&] { Engine::build(m, options).create_context().run(inputs_of(c)); });
}

/// The same by the other backend.
Code fast_run_of(const OpCase& c) {
  onnx::Model m;
  m.proto = model_of(c);
  return code_of([&] { Engine::build(m).create_context().run(inputs_of(c)); });
}

TEST(HostileData, MoreThanThereIsCannotBeTheGreatest) {
  for (int64_t k : {int64_t{9}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    OpCase c;
    c.op = "TopK";
    c.random(DataType::float32, {2, 3}).input<int64_t>({1}, {k}).outputs_wanted(2);
    EXPECT_EQ(run_of(c), Code::node_bad_shape) << k;
    EXPECT_EQ(fast_run_of(c), Code::node_bad_shape) << k;
  }
}

/// More than there are items: n-grams with all of them in between, as with five.
TEST(HostileData, ItemsAreSkippedAsFarAsThereAreSome) {
  const auto counts = [](int64_t skipped) {
    OpCase c;
    c.op = "TfIdfVectorizer";
    c.input<int64_t>({1, 6}, {2, 1, 1, 1, 1, 3})
        .attribute("ngram_counts", std::vector<int64_t>{0, 2})
        .attribute("ngram_indexes", std::vector<int64_t>{0, 1, 2})
        .attribute("pool_int64s", std::vector<int64_t>{2, 3, 2, 3})
        .attribute("min_gram_length", int64_t{1})
        .attribute("max_gram_length", int64_t{2})
        .attribute("mode", std::string("TF"))
        .attribute("max_skip_count", skipped);
    onnx::Model m;
    m.proto = model_of(c);
    const Tensor y = Engine::build(m).create_context().run(inputs_of(c))[0].tensor().clone();
    return std::vector<float>(y.as<float>().begin(), y.as<float>().end());
  };
  EXPECT_EQ(counts(3), (std::vector<float>{1, 1, 0}));
  for (int64_t skipped : {int64_t{4}, int64_t{5}, INT64_MAX})
    EXPECT_EQ(counts(skipped), (std::vector<float>{1, 1, 1})) << skipped;
}

/// If an axis is empty, the others may have any length and must not take time.
TEST(HostileData, StatisticsOfNoPixelsTakeNoTime) {
  OpCase c;
  c.op = "BatchNormalization";
  c.input<float>({int64_t{1} << 45, 2, 0}, {});
  for (float v : {1.0f, 0.0f, 0.0f, 1.0f}) c.input<float>({2}, {v, v});
  c.attribute("training_mode", int64_t{1}).outputs_wanted(3);
  onnx::Model m;
  m.proto = model_of(c);
  for (const char* backend : {"cpu", "reference"}) {
    BuildOptions options;
    options.backend = backend;
    RunControl control;
    control.set_deadline(std::chrono::steady_clock::now() + std::chrono::seconds(20));
    const std::vector<Value> y = Engine::build(m, options).create_context().run(inputs_of(c), &control);
    EXPECT_EQ(y[0].tensor().shape(), (Shape{int64_t{1} << 45, 2, 0})) << backend;
    EXPECT_TRUE(std::isnan(y[1].tensor().as<float>()[0])) << backend;
  }
}

/// Steps of sequences that do not exist must not take time either.
TEST(HostileData, StepsOfNoSequencesTakeNoTime) {
  for (const auto& [op, gates] : {std::pair{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}})
    for (const char* backend : {"cpu", "reference"}) {
      OpCase c;
      c.op = op;
      c.input<float>({int64_t{1} << 45, 0, 3}, {});
      c.random(DataType::float32, {1, gates * 2, 3}).random(DataType::float32, {1, gates * 2, 2});
      c.attribute("hidden_size", int64_t{2}).outputs_wanted(2);
      onnx::Model m;
      m.proto = model_of(c);
      BuildOptions options;
      options.backend = backend;
      const std::vector<Value> y = Engine::build(m, options).create_context().run(inputs_of(c));
      EXPECT_EQ(y[0].tensor().shape(), (Shape{int64_t{1} << 45, 1, 0, 2})) << op;
      EXPECT_EQ(y[1].tensor().shape(), (Shape{1, 0, 2})) << op;
    }
}

/// A sequence of as many empty parts would take all memory.
TEST(HostileData, PartsOfNothingFitMemory) {
  OpCase c;
  c.op = "SplitToSequence";
  c.input<float>({int64_t{1} << 45, 0}, {});
  onnx::Model m;
  m.proto = model_of(c);
  for (const char* backend : {"cpu", "reference"}) {
    BuildOptions options;
    options.backend = backend;
    options.memory_limit = uint64_t{1} << 30;
    EXPECT_EQ(code_of([&] { Engine::build(m, options).create_context().run(inputs_of(c)); }),
              Code::run_memory_limit);
  }
}

/// The targets of a file's attribute, for rows that there are and for none.
TEST(HostileData, TargetsFitMemory) {
  for (int64_t rows : {1, 0}) {
    OpCase c;
    c.domain = "ai.onnx.ml";
    c.op = "TreeEnsembleRegressor";
    c.random(DataType::float32, {rows, 2}).attribute("n_targets", int64_t{1} << 58);
    for (const char* name : {"nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_truenodeids",
                             "nodes_falsenodeids", "target_treeids", "target_nodeids", "target_ids"})
      c.attribute(name, std::vector<int64_t>{0});
    c.attribute("nodes_modes", std::vector<std::string>{"LEAF"});
    for (const char* name : {"nodes_values", "target_weights"}) c.attribute(name, std::vector<float>{1});
    onnx::Model m;
    m.proto = model_of(c);
    for (const char* backend : {"reference", "cpu"})
      EXPECT_EQ(code_of([&] {
                  Engine::build(m, {.backend = backend, .memory_limit = 1 << 30})
                      .create_context()
                      .run(inputs_of(c));
                }),
                rows ? Code::run_memory_limit : Code::none)
          << rows;
  }
}

TEST(HostileData, FeaturesAreWithinTheRow) {
  for (int64_t at : {int64_t{3}, int64_t{-1}, int64_t{1} << 62, INT64_MIN}) {
    OpCase c;
    c.domain = "ai.onnx.ml";
    c.op = "ArrayFeatureExtractor";
    c.random(DataType::float32, {2, 3}).input<int64_t>({1}, {at});
    EXPECT_EQ(run_of(c), Code::run_bad_value) << at;
  }
}

TEST(HostileData, RegionsAreOfAnImageOfTheBatch) {
  for (float image : {1.0f, -1.0f, 1e30f, NAN, INFINITY}) {
    OpCase c;
    c.op = "MaxRoiPool";
    c.random(DataType::float32, {1, 1, 4, 4}).input<float>({1, 5}, {image, 0, 0, 1, 1});
    c.attribute("pooled_shape", std::vector<int64_t>{1, 1});
    EXPECT_EQ(run_of(c), Code::run_bad_value) << image;
  }
}

/// No processor divides the least number by -1, or anything by 0: the one wraps around, the other is an
/// error.
TEST(HostileData, WholeNumbersAreDividedByAnything) {
  for (DataType type : {DataType::int8, DataType::int16, DataType::int32, DataType::int64, DataType::uint8,
                        DataType::uint16, DataType::uint32, DataType::uint64})
    for (const char* op : {"Div", "Mod"})
      for (const char* backend : {"reference", "cpu"}) {
        SCOPED_TRACE(std::string(op) + " of " + std::string(name_of(type)) + " by " + backend);
        const int64_t least = is_signed_integer(type) ? INT64_MIN >> (64 - bits_of(type)) : 0;
        const auto divide = [&](int64_t a, int64_t b) {
          OpCase c;
          c.op = op;
          Tensor x(type, {2}), y(type, {2});
          store_int(x, 0, 7);
          store_int(y, 0, 2);
          store_int(x, 1, a);
          store_int(y, 1, b);
          c.inputs = {x, y};
          c.constant = {false, false};
          onnx::Model m;
          m.proto = model_of(c);
          BuildOptions options;
          options.backend = backend;
          return Engine::build(m, options).create_context().run(inputs_of(c))[0].tensor().clone();
        };
        EXPECT_EQ(code_of([&] { divide(5, 0); }), Code::run_bad_value);
        EXPECT_EQ(code_of([&] { divide(least, 0); }), Code::run_bad_value);
        if (!is_signed_integer(type)) continue;
        const Tensor whole = divide(least, -1);
        EXPECT_EQ(load_int(whole, 0), *op == 'D' ? 3 : 1);
        EXPECT_EQ(load_int(whole, 1), *op == 'D' ? least : 0);
      }
}

TEST(HostileData, Col2ImWantsAListOfBlockSizes) {
  OpCase c;
  c.op = "Col2Im";
  c.random(DataType::float32, {1, 4, 1}).input<int64_t>({2}, {2, 2}).input<int64_t>({}, {2});
  EXPECT_EQ(run_of(c), Code::node_bad_shape);
}

OpCase classifier(const std::string& op, std::vector<int64_t> numbers, std::vector<std::string> words) {
  OpCase c;
  c.domain = "ai.onnx.ml";
  c.op = op;
  c.input<float>({2, 1}, {1, -1}).attribute("coefficients", std::vector<float>{1});
  if (op == "SVMClassifier") c.attribute("rho", std::vector<float>{0});
  if (!numbers.empty()) c.attribute("classlabels_ints", numbers);
  if (!words.empty()) c.attribute("classlabels_strings", words);
  return c.outputs_wanted(2);
}
TEST(HostileData, LabelsAreNumbersOrWords) {
  for (const char* op : {"LinearClassifier", "SVMClassifier"}) {
    EXPECT_EQ(run_of(classifier(op, {7, 8, 9}, {"a", "b"})), Code::node_bad_attribute) << op;
    EXPECT_EQ(run_of(classifier(op, {}, {"a"})), Code::none) << op;  // the second is not listed
    EXPECT_EQ(run_of(classifier(op, {7}, {})), Code::none) << op;
  }
}

OpCase range(float by) {
  OpCase c;
  c.op = "Range";
  return c.input<float>({}, {1.5f}).input<float>({}, {0}).input<float>({}, {by});
}
TEST(HostileData, RangeChecksItsStep) {
  EXPECT_EQ(run_of(range(-0.5f)), Code::none);
  for (float bad : {0.f, -0.f, NAN}) EXPECT_EQ(run_of(range(bad)), Code::node_bad_value) << bad;
}

OpCase lengths(std::vector<int32_t> of) {
  OpCase c;
  c.op = "RNN";
  c.random(DataType::float32, {3, 2, 1}).random(DataType::float32, {1, 2, 1});
  c.random(DataType::float32, {1, 2, 2}).absent().input<int32_t>({2}, of);
  return c;
}
TEST(HostileData, RecurrentLayersCheckLengths) {
  EXPECT_EQ(run_of(lengths({0, 3})), Code::none);
  EXPECT_EQ(run_of(lengths({4, 1})), Code::run_bad_value);
  EXPECT_EQ(run_of(lengths({1, -1})), Code::run_bad_value);
}

OpCase unpool(int64_t index) {
  OpCase c;
  c.op = "MaxUnpool";
  c.input<float>({1, 1, 1}, {7}).input<int64_t>({1, 1, 1}, {index});
  return c.attribute("kernel_shape", std::vector<int64_t>{2});
}
TEST(HostileData, MaxUnpoolChecksIndices) {
  EXPECT_EQ(run_of(unpool(1)), Code::none);
  for (int64_t bad : {int64_t{-1}, int64_t{2}, INT64_MAX, INT64_MIN})
    EXPECT_EQ(run_of(unpool(bad)), Code::run_bad_index) << bad;
}

OpCase rotate(int64_t position) {
  OpCase c;
  c.op = "RotaryEmbedding";
  c.random(DataType::float32, {1, 1, 1, 4})
      .random(DataType::float32, {3, 2})
      .random(DataType::float32, {3, 2});
  return c.input<int64_t>({1, 1}, {position});
}
TEST(HostileData, RotaryEmbeddingChecksPositions) {
  EXPECT_EQ(run_of(rotate(2)), Code::none);
  for (int64_t bad : {int64_t{-1}, int64_t{3}, INT64_MIN})
    EXPECT_EQ(run_of(rotate(bad)), Code::run_bad_index) << bad;
}

OpCase quantized(float scale) {
  OpCase c;
  c.op = "QLinearMatMul";
  c.input<uint8_t>({1, 1}, {3}).input<float>({}, {1}).input<uint8_t>({}, {0});
  c.input<uint8_t>({1, 1}, {3}).input<float>({}, {1}).input<uint8_t>({}, {0});
  return c.input<float>({}, {scale}).input<uint8_t>({}, {0});
}
TEST(HostileData, QuantizedProductsCheckScales) {
  EXPECT_EQ(run_of(quantized(0.5f)), Code::none);
  for (float bad : {0.f, NAN, INFINITY}) EXPECT_EQ(run_of(quantized(bad)), Code::run_bad_value) << bad;
}

TEST(HostileData, QuantizationChecksItsOutputType) {
  const auto to = [](const char* op, DataType from, DataType type) {
    OpCase c;
    c.op = op;
    c.random(from, {3}, 0, 3).input<float>({}, {0.5f});
    return run_of(c.attribute("output_dtype", static_cast<int64_t>(type)));
  };
  EXPECT_EQ(to("QuantizeLinear", DataType::float32, DataType::int16), Code::none);
  EXPECT_EQ(to("QuantizeLinear", DataType::float32, DataType::float8e5m2), Code::none);
  for (DataType bad :
       {DataType::int64, DataType::uint64, DataType::float8e8m0, DataType::float16, DataType::string})
    EXPECT_EQ(to("QuantizeLinear", DataType::float32, bad), Code::node_bad_attribute) << name_of(bad);
  EXPECT_EQ(to("DequantizeLinear", DataType::int8, DataType::float16), Code::none);
  for (DataType bad : {DataType::float64, DataType::int8, DataType::string})
    EXPECT_EQ(to("DequantizeLinear", DataType::int8, bad), Code::node_bad_attribute) << name_of(bad);
}

OpCase keys_valid(int64_t length) {
  OpCase c;
  c.op = "Attention";
  for (int i = 0; i < 3; ++i) c.random(DataType::float32, {1, 1, 2, 4});
  c.absent().absent().absent().input<int64_t>({1}, {length});
  return c.attribute("is_causal", int64_t{1});
}
TEST(HostileData, AttentionTakesLengthsAsLimits) {
  for (int64_t any : {int64_t{-1}, int64_t{0}, int64_t{3}, INT64_MAX, INT64_MIN})
    EXPECT_EQ(run_of(keys_valid(any)), Code::none) << any;
}

OpCase offsets(float by) {
  OpCase c;
  c.op = "DeformConv";
  c.random(DataType::float32, {1, 1, 2, 2}).input<float>({1, 1, 1, 1}, {1});
  return c.input<float>({1, 2, 2, 2}, std::vector<float>(8, by));
}
TEST(HostileData, DeformConvReadsNothingOutside) {
  for (float far : {-1e30f, 1e30f, NAN, INFINITY, -INFINITY}) {
    const OpCase c = offsets(far);
    onnx::Model m;
    m.proto = model_of(c);
    const auto y = Engine::build(m).create_context().run(inputs_of(c));
    for (float v : y[0].tensor().as<float>()) EXPECT_EQ(v, 0) << far;
  }
}

OpCase upper_in(const std::string& locale) {
  OpCase c;
  c.op = "StringNormalizer";
  c.input<std::string>({1}, {"i"}).attribute("case_change_action", std::string("UPPER"));
  return c.attribute("locale", locale);
}
TEST(HostileData, LocalesNameALanguage) {
  for (const char* good : {"", "C", "POSIX", "C.UTF-8", "tr", "az_AZ", "lt-LT", "fil_PH", "de_DE@euro"})
    EXPECT_EQ(run_of(upper_in(good)), Code::none) << good;
  for (const char* bad : {"Klingon", "x", "_TR", "t1", "\xff\xff", " "})
    EXPECT_EQ(run_of(upper_in(bad)), Code::node_bad_attribute) << bad;
}

OpCase new_axes(Shape shape) {
  OpCase c;
  c.op = "Unsqueeze";
  c.random(DataType::float32, {2, 3});
  return c.input<int64_t>(shape, std::vector<int64_t>(static_cast<size_t>(count_of(shape)), 0));
}
TEST(HostileData, NewAxesAreAList) {
  EXPECT_EQ(run_of(new_axes({1})), Code::none);
  EXPECT_EQ(run_of(new_axes({})), Code::none);
  EXPECT_EQ(run_of(new_axes({1, 1})), Code::node_bad_shape);
}

OpCase first_split(float size) {
  OpCase c;
  c.op = "Split";
  c.random(DataType::float32, {2}).input<float>({1}, {size}).as_constant();
  return c.at_opset(1);
}
TEST(HostileData, FirstSplitTakesWholeNumbers) {
  EXPECT_EQ(run_of(first_split(2)), Code::none);
  for (float bad : {1.5f, -1.f, 1e30f, NAN, INFINITY})
    EXPECT_EQ(run_of(first_split(bad)), Code::node_bad_value) << bad;
}

// Memory that was refused in one run is not requested in the next. (A limit refuses it: sanitizers end a
// program that requests so much from the heap.)
TEST(HostileData, RefusedMemoryIsOverWithItsRun) {
  test::ModelBuilder b(13);
  b.input("x", "float[N,M]").output("y");
  b.graph().node.push_back(test::make_node("Unique", {"x"}, {"y"}, {test::int_attribute("axis", 0)}));
  Context context = Engine::build(b.model, {.memory_limit = uint64_t{1} << 30}).create_context();
  const auto run = [&](Shape shape) {
    return code_of([&] { context.run({{"x", Value(Tensor(DataType::float32, std::move(shape)))}}); });
  };
  EXPECT_EQ(run({int64_t{1} << 50, 0}), Code::run_memory_limit);
  EXPECT_EQ(run({2, 0}), Code::none);
}

/// A case whose plan has lost the operands of its step.
Code without_operands(const OpCase& c, const char* backend) {
  onnx::Model m;
  m.proto = model_of(c);
  const BuildOptions options{.threads = 1, .backend = backend};
  const auto file =
      std::filesystem::path(LATHE_BINARY_DIR) / ("hostile." + std::to_string(getpid()) + ".lathe");
  Engine::build(m, options).save(file);
  Plan plan = load_plan(file);
  plan.graphs[0].steps[0].inputs.clear();
  plan.graphs[0].steps[0].packed.clear();
  save_plan(plan, file);
  const Code code = code_of([&] { Engine::load(file, options).create_context().run(inputs_of(c)); });
  std::filesystem::remove(file);
  return code;
}
TEST(HostileData, PlansMayLackOperands) {
  std::vector<OpCase> all(13);
  for (size_t i = 0; const char* op : {"Abs", "Not", "ReduceSum", "Reshape", "Slice", "Split", "Transpose",
                                       "Where", "DepthToSpace", "Sum", "Add", "Col2Im", "Einsum"})
    all[i++].op = op;
  all[0].random(DataType::float32, {2});
  all[1].input<bool>({1}, {true});
  all[2].random(DataType::float32, {2});
  all[3].random(DataType::float32, {2}).input<int64_t>({1}, {2});
  all[4].random(DataType::float32, {2}).input<int64_t>({1}, {0}).input<int64_t>({1}, {1});
  all[5].random(DataType::float32, {2}).attribute("num_outputs", int64_t{1});
  all[6].random(DataType::float32, {2, 2});
  all[7].input<bool>({1}, {true}).random(DataType::float32, {2}).random(DataType::float32, {2});
  all[8].random(DataType::float32, {1, 4, 1, 1}).attribute("blocksize", int64_t{2});
  all[9].random(DataType::float32, {2}).random(DataType::float32, {2});
  all[10].input<int64_t>({2}, {1, 2}).input<int64_t>({2}, {3, 4});
  all[11].random(DataType::float32, {1, 4, 1}).input<int64_t>({2}, {2, 2}).input<int64_t>({2}, {2, 2});
  all[12]
      .random(DataType::float32, {2, 3})
      .random(DataType::float32, {3, 4})
      .attribute("equation", std::string("ij,jk->ik"));
  for (const OpCase& c : all)
    for (const char* backend : {"cpu", "reference"})
      EXPECT_NE(without_operands(c, backend), Code::none) << c.op << " on " << backend;
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
