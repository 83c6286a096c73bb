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

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::exporters
