// Swin with its heads; see nn/swin.h.
#include "nn/swin.h"

#include "nn/sizes.h"

namespace lathe::nn {
namespace {

class SwinModel : public Model {
 public:
  SwinModel(const ModelConfig& config, std::string_view task)
      : SwinModel(SwinOptions(config), config, task) {}
  void fields(Fields& f) override { f("swin", body), f("classifier", classifier), f("decoder.0", decoder); }
  std::string base_prefix() const override { return "swin."; }

  Outputs forward(Network&, const Inputs& inputs) const override {
    const TensorRef x = body(inputs.at("pixel_values"));
    const Ops o(*this, x);
    if (classifier) return {{"logits", (*classifier)(o.mean(x, {1}, false))}};
    if (!decoder) return {{"last_hidden_state", x}};
    const TensorRef image = o.reshape(o.transpose(x, {0, 2, 1}), {0, 0, rows_, columns_});
    return {{"reconstruction", o.op("DepthToSpace", {(*decoder)(image)},
                                    {{"blocksize", stride_}, {"mode", std::string("CRD")}})}};
  }

  SwinBody body;
  std::optional<Linear> classifier;
  std::optional<Conv2d> decoder;

 private:
  SwinModel(const SwinOptions& o, const ModelConfig& config, std::string_view task)
      : body(o, true), stride_(config.get<int64_t>("encoder_stride", 32)) {
    if (task == "image-classification") classifier.emplace(o.features(), label_count(config));
    if (task != "masked-im") return;
    decoder.emplace(o.features(), stride_ * stride_ * o.channels, std::vector<int64_t>{1});
    const int64_t merged = int64_t{1} << (o.depths.size() - 1);
    rows_ = o.image[0] / o.patch[0] / merged, columns_ = o.image[1] / o.patch[1] / merged;
  }
  int64_t stride_, rows_ = 0, columns_ = 0;
};

}  // namespace

void register_swin(ModelRegistry& all) {
  all.add("swin", {"feature-extraction", "image-classification", "masked-im"},
          [](const ModelConfig& config, std::string_view task) {
            return std::make_unique<SwinModel>(config, task);
          });
}

}  // namespace lathe::nn
