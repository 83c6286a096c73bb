// The vision transformer with its heads; see nn/vit.h.
#include "nn/vit.h"

#include "nn/sizes.h"

namespace lathe::nn {
namespace {

class Vit final : public Model {
 public:
  Vit(const ModelConfig& c, std::string_view task) : task_(task), body_(c, task == "masked-im") {
    if (task_ == "image-classification") classifier_.emplace(body_.size(), label_count(c));
    if (task_ != "masked-im") return;
    stride_ = c.get<int64_t>("encoder_stride", 16), channels_ = c.get<int64_t>("num_channels", 3);
    decoder_.emplace(body_.size(), stride_ * stride_ * channels_, std::vector<int64_t>{1});
  }
  void fields(Fields& f) override {
    f(task_ == "feature-extraction" ? "" : "vit", body_);
    f("classifier", classifier_), f("decoder.0", decoder_);
  }
  std::string base_prefix() const override { return "vit."; }

  Outputs forward(Network&, const Inputs& inputs) const override {
    const TensorRef image = inputs.at("pixel_values");
    const Ops o(*this, image);
    const TensorRef hidden = body_(image, inputs.find("bool_masked_pos"));
    if (task_ == "feature-extraction") return {{"last_hidden_state", hidden}};
    if (classifier_) return {{"logits", (*classifier_)(o.select(hidden, 1, 0))}};
    // Patches back to where they were cut from: each a column of channels · stride · stride numbers.
    const int64_t rows = body_.rows(), columns = body_.columns();
    const TensorRef patches = o.transpose(o.slice(hidden, 1, 1, 1 + rows * columns), {0, 2, 1});
    const TensorRef columns_of_numbers = (*decoder_)(o.reshape(patches, {0, 0, rows, columns}));
    const TensorRef cut = o.reshape(columns_of_numbers, {0, channels_, stride_, stride_, rows, columns});
    return {{"reconstruction", o.reshape(o.transpose(cut, {0, 1, 4, 2, 5, 3}),
                                         {0, channels_, rows * stride_, columns * stride_})}};
  }

 private:
  std::string task_;
  VitBody body_;
  std::optional<Linear> classifier_;
  std::optional<Conv2d> decoder_;
  int64_t stride_ = 1, channels_ = 1;
};

}  // namespace

void register_vit(ModelRegistry& all) {
  all.add("vit", {"feature-extraction", "image-classification", "masked-im"},
          [](const ModelConfig& c, std::string_view task) { return std::make_unique<Vit>(c, task); });
}

}  // namespace lathe::nn
