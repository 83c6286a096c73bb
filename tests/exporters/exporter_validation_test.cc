// Validation compares an export with the weights of the checkpoint's files, whatever was bound to the
// architecture.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "exporters/emit.h"
#include "exporters/file_weights.h"
#include "exporters/validation.h"
#include "lathe/exporters.h"
#include "support/error_code.h"
#include "support/temp_directory.h"
#include "support/toy_exports.h"

namespace lathe::exporters {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;

/// Two matrices of one shape, in the order in which they are applied.
struct Pair : nn::Model {
  explicit Pair(const ModelConfig&) : one(6, 6), two(6, 6) {}
  void fields(nn::Fields& f) override { f("one", one), f("two", two); }
  nn::Outputs forward(Network&, const nn::Inputs& inputs) const override {
    const TensorRef& ids = inputs.at("input_ids");
    const nn::Ops o(*this, ids);
    const TensorRef x = o.unsqueeze(o.cast(ids, one.weight.type()), {-1});
    const TensorRef mask = o.unsqueeze(o.cast(inputs.at("attention_mask"), one.weight.type()), {-1});
    return {{"last_hidden_state",
             o.mul(two(one(o.mul(x, o.constant(Tensor::from<float>({6}, {1, 2, 3, 4, 5, 6}))))), mask)}};
  }
  nn::Linear one, two;
};
const testing::NamedShapes pair_tensors = {
    {"one.weight", {6, 6}}, {"one.bias", {6}}, {"two.weight", {6, 6}}, {"two.bias", {6}}};

struct OfPair {
  OfPair() {
    write_checkpoint(folder / "pair", toy_config, pair_tensors);
    model = std::make_unique<Pair>(ModelConfig::open(folder / "pair"));
    model->bind(Checkpoint::open(folder / "pair"));
    config = make_config<ToyOnnxConfig>(ModelConfig::open(folder / "pair"));
  }
  /// Emits the model as it is bound now, and holds it against the files.
  std::string said(bool same_weights) {
    FileWeights weights;
    weights.add(Checkpoint::open(folder / "pair"), *model, {}, {});
    const onnx::Model emitted = emit(*model, *config, {.name = "model"});
    onnx::save(emitted, folder / "model.onnx");
    return sentence_of([&] {
      ValidationOptions o;
      o.build.threads = 1;
      validate_branches(folder / "model.onnx",
                        {{.config = config.get(),
                          .reference = [&] { return weights.reread(emitted); },
                          .same_weights = same_weights}},
                        {.sequence_length = 4}, o);
    });
  }
  const TempDirectory folder;
  std::unique_ptr<Pair> model;
  std::shared_ptr<OnnxConfig> config;
};

/// A model that was bound wrongly computes with its own weights, not with the checkpoint's.
TEST(Validation, ComparesWithTheWeightsOfTheFile) {
  OfPair right;
  EXPECT_EQ(right.said(true), "");
  EXPECT_EQ(right.said(false), "");
  OfPair swapped;
  const Tensor one = swapped.model->one.weight.value, two = swapped.model->two.weight.value;
  swapped.model->one.weight.value = two;
  swapped.model->two.weight.value = one;
  EXPECT_NE(swapped.said(true).find("one.weight"), std::string::npos) << swapped.said(true);
  EXPECT_NE(swapped.said(false).find("float64"), std::string::npos) << swapped.said(false);
  OfPair one_bit;
  Tensor bias(DataType::float32, {6});
  std::memcpy(bias.data(), one_bit.model->two.bias.value.tensor().data(), bias.bytes());
  bias.as<float>()[3] = std::nextafter(bias.as<float>()[3], 2.0f);
  one_bit.model->two.bias.value = bias;
  EXPECT_NE(one_bit.said(true).find("two.bias"), std::string::npos) << one_bit.said(true);
}

/// A sum of large numbers of both signs that come to a small one: rounding of its steps shows in the result.
struct Cancelling : nn::Model {
  static constexpr int64_t terms = 256;
  Cancelling() : sum(terms, 6, {.bias = false}) {
    Tensor weights(DataType::float32, {6, terms});
    const auto w = weights.as<float>();
    uint32_t state = 5;
    for (size_t row = 0; row < 6; ++row) {
      double rest = 1.0 + static_cast<double>(row);
      for (size_t i = 0; i < terms; ++i) {
        state = state * 1664525 + 1013904223;
        const double drawn = (static_cast<double>(state) / 0x1p31 - 1) * 2000;
        w[row * terms + i] = static_cast<float>(i + 1 < terms ? drawn : rest);
        rest -= static_cast<double>(w[row * terms + i]);
      }
    }
    sum.weight.value = weights;
  }
  void fields(nn::Fields& f) override { f("sum", sum); }
  nn::Outputs forward(Network&, const nn::Inputs& inputs) const override {
    const nn::Ops o(*this, inputs.at("input_ids"));
    const TensorRef each = o.mul(o.cast(inputs.at("input_ids"), DataType::float32),
                                 o.cast(inputs.at("attention_mask"), DataType::float32));
    const TensorRef ones = o.constant(Tensor::from<float>({terms}, std::vector<float>(terms, 1)));
    return {{"last_hidden_state", sum(o.mul(o.unsqueeze(each, {-1}), ones))}};
  }
  nn::Linear sum;
};

/// Its bound follows from the model, but stays far below what a wrong weight makes of the result.
TEST(Validation, BoundOfAModelThatAmplifiesRounding) {
  const TempDirectory folder;
  write_checkpoint(folder / "toy", toy_config, toy_tensors);
  const auto config = make_config<ToyOnnxConfig>(ModelConfig::open(folder / "toy"));
  Cancelling right, faulty;
  Tensor weights(DataType::float32, {6, Cancelling::terms});
  std::memcpy(weights.data(), right.sum.weight.value.tensor().data(), weights.bytes());
  weights.as<float>()[5 * Cancelling::terms + 9] += 0.05f;  // less than a hundredth of the largest result
  faulty.sum.weight.value = weights;
  const onnx::Model expected = emit(right, *config, {.name = "model"});
  onnx::save(expected, folder / "right.onnx");
  onnx::save(emit(faulty, *config, {.name = "model"}), folder / "faulty.onnx");
  ValidationOptions o;
  o.build.threads = 1;
  const auto validated = [&](const char* file) {
    return validate_branches(folder / file, {{.config = config.get(), .reference = [&] { return expected; }}},
                             {.sequence_length = 4}, o);
  };
  double most = 0;
  for (const ValidationRun& run : validated("right.onnx").runs) {
    EXPECT_LE(run.outputs.at(0).engine_ulps, run.outputs.at(0).allowed_ulps);
    EXPECT_GE(run.outputs.at(0).allowed_ulps, 1024);
    most = std::max(most, run.outputs.at(0).engine_ulps);
  }
  EXPECT_GT(most, 1024);
  const std::string said = sentence_of([&] { validated("faulty.onnx"); });
  EXPECT_NE(said.find("the engine within "), std::string::npos) << said;
  o.ulps = 1024;  // A bound that was given stays as it is.
  EXPECT_NE(sentence_of([&] { validated("right.onnx"); }).find("the engine within 1024 units"),
            std::string::npos);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::exporters
