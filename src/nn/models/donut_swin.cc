// The encoder of Donut (Kim et al. 2021) alone: Swin without a norm behind the last stage.
#include "nn/models/swin.h"

namespace lathe::nn {
namespace {

class DonutSwin final : public Model {
 public:
  explicit DonutSwin(const ModelConfig& c) : body_(SwinOptions(c), false) {}
  void fields(Fields& f) override { f("", body_); }
  std::vector<std::pair<std::string, std::string>> other_parts() const override { return swin_other_parts(); }

  Outputs forward(Network&, const Inputs& inputs) const override {
    return {{"last_hidden_state", body_(inputs.at("pixel_values"))}};
  }

 private:
  SwinBody body_;
};

}  // namespace

void register_donut_swin(ModelRegistry& all) {
  all.add("donut-swin", {"feature-extraction"},
          [](const ModelConfig& c, std::string_view) { return std::make_unique<DonutSwin>(c); });
}

}  // namespace lathe::nn
