// Vision transformer (Dosovitskiy et al. 2020).
#include "nn/access.h"
#include "nn/models/text_encoder.h"

namespace lathe::nn {
namespace {

/// [height, width], which configurations say as one number too.
std::vector<int64_t> pair(const ModelConfig& c, const char* key, int64_t fallback) {
  if (!c.has(key)) return {fallback, fallback};
  try {
    const auto side = c.get<int64_t>(key);
    return {side, side};
  } catch (const Error&) {
    return c.get<std::vector<int64_t>>(key);
  }
}

struct Layer : Module {
  explicit Layer(const ModelConfig& c)
      : size_(c.get<int64_t>("hidden_size")),
        heads_(c.get<int64_t>("num_attention_heads")),
        activation_(Activation(c.get<std::string>("hidden_act", "gelu")).name()) {
    const bool bias = c.get<bool>("qkv_bias", true);
    const auto inner = c.get<int64_t>("intermediate_size");
    const LayerNormOptions norm{.epsilon = c.get<double>("layer_norm_eps", 1e-12)};
    for (Linear* l : {&query, &key, &value}) *l = Linear(size_, size_, {.bias = bias});
    attention_dense = Linear(size_, size_);
    intermediate_dense = Linear(size_, inner);
    output_dense = Linear(inner, size_);
    before = LayerNorm(size_, norm);
    after = LayerNorm(size_, norm);
  }
  void fields(Fields& f) override {
    f("attention.attention.query", query), f("attention.attention.key", key);
    f("attention.attention.value", value), f("attention.output.dense", attention_dense);
    f("intermediate.dense", intermediate_dense), f("output.dense", output_dense);
    f("layernorm_before", before), f("layernorm_after", after);
  }
  TensorRef operator()(const TensorRef& x) const {
    const Ops o(*this, x);
    const TensorRef normal = before(x);
    const TensorRef attended =
        attend(o, split_heads(o, query(normal), heads_), split_heads(o, key(normal), heads_),
               split_heads(o, value(normal), heads_));
    const TensorRef y = o.add(attention_dense(merge_heads(o, attended)), x);
    return o.add(output_dense(activate(o, activation_, intermediate_dense(after(y)))), y);
  }
  Linear query, key, value, attention_dense, intermediate_dense, output_dense;
  LayerNorm before, after;

 private:
  int64_t size_, heads_;
  std::string activation_;
};

struct Body : Module {
  Body(const ModelConfig& c, bool masked)
      : size_(c.get<int64_t>("hidden_size")),
        image_(pair(c, "image_size", 224)),
        patch_(pair(c, "patch_size", 16)) {
    if (image_.size() != 2 || patch_.size() != 2 || patch_[0] < 1 || patch_[1] < 1)
      throw detail::fault(Code::bad_argument, "vit", "image_size and patch_size of one number or two",
                          "others");
    rows_ = image_[0] / patch_[0], columns_ = image_[1] / patch_[1];
    cls_token = Parameter(DataType::float32, {1, 1, size_});
    if (masked) mask_token = Parameter(DataType::float32, {1, 1, size_});
    places = Parameter(DataType::float32, {1, rows_ * columns_ + 1, size_});
    projection = Conv2d(c.get<int64_t>("num_channels", 3), size_, patch_, {.stride = patch_});
    layers = ModuleList<Layer>(c.get<int64_t>("num_hidden_layers"), [&](int64_t) { return Layer(c); });
    norm = LayerNorm(size_, {.epsilon = c.get<double>("layer_norm_eps", 1e-12)});
  }
  void fields(Fields& f) override {
    f("embeddings.cls_token", cls_token), f("embeddings.mask_token", mask_token);
    f("embeddings.position_embeddings", places), f("embeddings.patch_embeddings.projection", projection);
    f("encoder.layer", layers), f("layernorm", norm);
  }
  /// image [batch, channels, height, width], masked bool [batch, patches] → [batch, 1 + patches, size].
  TensorRef operator()(const TensorRef& image, const TensorRef& masked = {}) const {
    const Ops o(*this, image);
    const TensorRef patches = o.transpose(o.reshape(projection(image), {0, size_, -1}), {0, 2, 1});
    TensorRef x = patches;
    if (masked && mask_token)
      x = o.where(o.unsqueeze(o.cast(masked, DataType::boolean), {-1}), o.use(mask_token), x);
    const TensorRef first = o.expand(o.use(cls_token), o.concat({o.size(image, 0), o.ints({1, size_})}, 0));
    x = o.add(o.concat({first, x}, 1), o.use(places));
    for (const Layer& layer : layers) x = layer(x);
    return norm(x);
  }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  Parameter cls_token, mask_token, places;
  Conv2d projection;
  ModuleList<Layer> layers;
  LayerNorm norm;

 private:
  int64_t size_, rows_ = 0, columns_ = 0;
  std::vector<int64_t> image_, patch_;
};

class Vit final : public Model {
 public:
  Vit(const ModelConfig& c, std::string_view task) : task_(task), body_(c, task == "masked-im") {
    const auto size = c.get<int64_t>("hidden_size");
    if (task_ == "image-classification") classifier_.emplace(size, label_count(c));
    if (task_ != "masked-im") return;
    stride_ = c.get<int64_t>("encoder_stride", 16), channels_ = c.get<int64_t>("num_channels", 3);
    decoder_.emplace(size, stride_ * stride_ * channels_, std::vector<int64_t>{1});
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
  Body body_;
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
