// DeiT (Touvron et al. 2020): the vision transformer with a second token, for distillation from a teacher.
#include <algorithm>

#include "nn/models/vit.h"
#include "nn/sizes.h"

namespace lathe::nn {
namespace {

class Deit final : public Model {
 public:
  Deit(const ModelConfig& c, std::string_view task) : task_(task), body_(c, tokens_for(task)) {
    if (task_ == "masked-im") decoder_.emplace("deit", c, body_);
    // Before version 5 transformers began with the second token, and left out the last patch.
    if (saved_by_version(c) < 5) first_patch_ = 1;
    if (task_ != "image-classification") return;
    classifier_.emplace(body_.size(), label_count(c));
    const auto names = c.get<std::vector<std::string>>("architectures", {});
    if (std::ranges::find(names, "DeiTForImageClassificationWithTeacher") != names.end())
      of_teacher_.emplace(body_.size(), label_count(c));
  }
  void fields(Fields& f) override {
    f(task_ == "feature-extraction" ? "" : "deit", body_), f("decoder", decoder_);
    f(of_teacher_ ? "cls_classifier" : "classifier", classifier_), f("distillation_classifier", of_teacher_);
  }
  std::string base_prefix() const override { return "deit."; }
  std::vector<std::pair<std::string, std::string>> other_parts() const override { return vit_other_parts(); }

  Outputs forward(Network&, const Inputs& inputs) const override {
    const TensorRef hidden = body_(inputs.at("pixel_values"), inputs.find("bool_masked_pos"));
    if (task_ == "feature-extraction") return {{"last_hidden_state", hidden}};
    const Ops o(*this, hidden);
    if (decoder_)
      return {{"reconstruction",
               (*decoder_)(o.slice(hidden, 1, first_patch_, first_patch_ + body_.rows() * body_.columns()))}};
    const TensorRef logits = (*classifier_)(o.select(hidden, 1, 0));
    if (!of_teacher_) return {{"logits", logits}};
    return {{"logits", o.div(o.add(logits, (*of_teacher_)(o.select(hidden, 1, 1))), 2)}};
  }

 private:
  static VitTokens tokens_for(std::string_view task) {
    return {.mask = task == "masked-im", .distillation = true};
  }
  std::string task_;
  VitBody body_;
  std::optional<Linear> classifier_, of_teacher_;
  std::optional<PatchDecoder> decoder_;
  int64_t first_patch_ = 2;
};

}  // namespace

void register_deit(ModelRegistry& all) {
  all.add("deit", {"feature-extraction", "image-classification", "masked-im"},
          [](const ModelConfig& c, std::string_view task) { return std::make_unique<Deit>(c, task); });
}

}  // namespace lathe::nn
