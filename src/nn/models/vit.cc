// The vision transformer with its heads.
#include "nn/models/vit.h"

#include "nn/access.h"
#include "nn/sizes.h"

namespace lathe::nn {
namespace {

constexpr EncoderBlockNames vit_names{"attention.attention.query",
                                      "attention.attention.key",
                                      "attention.attention.value",
                                      "attention.output.dense",
                                      "layernorm_before",
                                      "intermediate.dense",
                                      "output.dense",
                                      "layernorm_after"};

EncoderBlockOptions layer_options(const ModelConfig& c) {
  return {.size = c.get<int64_t>("hidden_size"),
          .heads = c.get<int64_t>("num_attention_heads"),
          .inner = c.get<int64_t>("intermediate_size"),
          .activation = activation_in(c, "hidden_act", "gelu"),
          .epsilon = c.get<double>("layer_norm_eps", 1e-12),
          .norm_first = true,
          .qkv_bias = c.get<bool>("qkv_bias", true)};
}

}  // namespace

VitBody::VitBody(const ModelConfig& c, const VitTokens& tokens)
    : size_(c.get<int64_t>("hidden_size")),
      image_(height_and_width(c, "image_size", 224)),
      patch_(height_and_width(c, "patch_size", 16)) {
  if (patch_[0] < 1 || patch_[1] < 1)
    throw detail::fault(Code::bad_argument, "vit", "a patch_size of at least 1", "less");
  cls_token = Parameter(DataType::float32, {1, 1, size_});
  if (tokens.distillation) distillation_token = Parameter(DataType::float32, {1, 1, size_});
  if (tokens.mask) mask_token = Parameter(DataType::float32, {1, 1, size_});
  position_embeddings =
      Parameter(DataType::float32, {1, rows() * columns() + (tokens.distillation ? 2 : 1), size_});
  const std::vector<int64_t> window(patch_.begin(), patch_.end());
  projection = Conv2d(c.get<int64_t>("num_channels", 3), size_, window, {.stride = window});
  const EncoderBlockOptions options = layer_options(c);
  layers = ModuleList<EncoderBlock>(c.get<int64_t>("num_hidden_layers"),
                                    [&](int64_t) { return EncoderBlock(options, vit_names); });
  norm = LayerNorm(size_, {.epsilon = options.epsilon});
}

std::vector<std::pair<std::string, std::string>> vit_other_parts() {
  return {{"encoder.layer.", "layers."},
          {"attention.attention.query", "attention.q_proj"},
          {"attention.attention.key", "attention.k_proj"},
          {"attention.attention.value", "attention.v_proj"},
          {"attention.output.dense", "attention.o_proj"},
          {"intermediate.dense", "mlp.fc1"},
          {"output.dense", "mlp.fc2"}};
}

void VitBody::fields(Fields& f) {
  f("embeddings.cls_token", cls_token), f("embeddings.distillation_token", distillation_token);
  f("embeddings.mask_token", mask_token);
  f("embeddings.position_embeddings", position_embeddings),
      f("embeddings.patch_embeddings.projection", projection);
  f("encoder.layer", layers), f("layernorm", norm);
}

TensorRef VitBody::operator()(const TensorRef& image, const TensorRef& masked) const {
  const Ops o(*this, image);
  TensorRef x = o.transpose(o.reshape(projection(image), {0, size_, -1}), {0, 2, 1});
  if (masked && mask_token)
    x = o.where(o.unsqueeze(o.cast(masked, DataType::boolean), {-1}), o.use(mask_token), x);
  const TensorRef shape = o.concat({o.size(image, 0), o.ints({1, size_})}, 0);
  std::vector<TensorRef> row{o.expand(o.use(cls_token), shape)};
  if (distillation_token) row.push_back(o.expand(o.use(distillation_token), shape));
  row.push_back(x);
  x = o.add(o.concat(row, 1), o.use(position_embeddings));
  for (const EncoderBlock& layer : layers) x = layer(x);
  return norm(x);
}

PatchDecoder::PatchDecoder(const char* where, const ModelConfig& c, const VitBody& body)
    : rows_(body.rows()),
      columns_(body.columns()),
      stride_(c.get<int64_t>("encoder_stride", 16)),
      channels_(c.get<int64_t>("num_channels", 3)) {
  require_square(where, rows_, columns_);
  columns_of_numbers = Conv2d(body.size(), stride_ * stride_ * channels_, {1});
}

TensorRef PatchDecoder::operator()(const TensorRef& patches) const {
  const Ops o(*this, patches);
  // Each patch is a column of channels · stride · stride numbers.
  const TensorRef placed = o.reshape(o.transpose(patches, {0, 2, 1}), {0, 0, rows_, columns_});
  const TensorRef cut =
      o.reshape(columns_of_numbers(placed), {0, channels_, stride_, stride_, rows_, columns_});
  return o.reshape(o.transpose(cut, {0, 1, 4, 2, 5, 3}), {0, channels_, rows_ * stride_, columns_ * stride_});
}

namespace {

class Vit final : public Model {
 public:
  Vit(const ModelConfig& c, std::string_view task) : task_(task), body_(c, {.mask = task == "masked-im"}) {
    if (task_ == "image-classification") classifier_.emplace(body_.size(), label_count(c));
    if (task_ == "masked-im") decoder_.emplace("vit", c, body_);
  }
  void fields(Fields& f) override {
    f(task_ == "feature-extraction" ? "" : "vit", body_);
    f("classifier", classifier_), f("decoder", decoder_);
  }
  std::string base_prefix() const override { return "vit."; }
  std::vector<std::pair<std::string, std::string>> other_parts() const override { return vit_other_parts(); }

  Outputs forward(Network&, const Inputs& inputs) const override {
    const TensorRef image = inputs.at("pixel_values");
    const Ops o(*this, image);
    const TensorRef hidden = body_(image, inputs.find("bool_masked_pos"));
    if (task_ == "feature-extraction") return {{"last_hidden_state", hidden}};
    if (classifier_) return {{"logits", (*classifier_)(o.select(hidden, 1, 0))}};
    return {{"reconstruction", (*decoder_)(o.slice(hidden, 1, 1, 1 + body_.rows() * body_.columns()))}};
  }

 private:
  std::string task_;
  VitBody body_;
  std::optional<Linear> classifier_;
  std::optional<PatchDecoder> decoder_;
};

}  // namespace

void register_vit(ModelRegistry& all) {
  all.add("vit", {"feature-extraction", "image-classification", "masked-im"},
          [](const ModelConfig& c, std::string_view task) { return std::make_unique<Vit>(c, task); });
}

}  // namespace lathe::nn
