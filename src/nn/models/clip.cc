// CLIP (Radford et al. 2021): a transformer of texts and one of images whose features are compared, both
// together, each alone, and the one of images as a classifier.
#include <algorithm>
#include <limits>

#include "nn/encoder_block.h"
#include "nn/sizes.h"

namespace lathe::nn {
namespace {

constexpr EncoderBlockNames clip_names{
    "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj",
    "layer_norm1",      "mlp.fc1",          "mlp.fc2",          "layer_norm2"};

/// `c` is of one side. Published files leave out options that have the values of the first model.
EncoderBlockOptions layer_options(const ModelConfig& c, int64_t size, int64_t heads) {
  const auto own = c.get<int64_t>("hidden_size", size);
  return {.size = own,
          .heads = c.get<int64_t>("num_attention_heads", heads),
          .inner = c.get<int64_t>("intermediate_size", 4 * size),
          .activation = activation_in(c, "hidden_act", "quick_gelu"),
          .epsilon = c.get<double>("layer_norm_eps", 1e-5),
          .norm_first = true};
}

/// "encoder.layers": returns all hidden states, the first ones first.
struct Layers : Module {
  Layers(const ModelConfig& c, const EncoderBlockOptions& o)
      : layers(c.get<int64_t>("num_hidden_layers", 12),
               [&](int64_t) { return EncoderBlock(o, clip_names); }) {}
  void fields(Fields& f) override { f("layers", layers); }
  std::vector<TensorRef> operator()(TensorRef x, const TensorRef& mask) const {
    std::vector<TensorRef> states{x};
    for (const EncoderBlock& layer : layers) states.push_back(x = layer(x, mask));
    return states;
  }
  ModuleList<EncoderBlock> layers;
};

/// The results of one side: hidden states, of which the last is normed for text, and one row of them.
struct Seen {
  std::vector<TensorRef> states;
  TensorRef last, pooled;  // [batch, length, size], [batch, size]
};

class TextSide : public Module {
 public:
  explicit TextSide(const ModelConfig& c) : TextSide(c, layer_options(c, 512, 8)) {}
  void fields(Fields& f) override {
    f("embeddings.token_embedding", word_embeddings), f("embeddings.position_embedding", position_embeddings);
    f("encoder", encoder), f("final_layer_norm", norm);
  }
  Seen operator()(const Inputs& inputs) const {
    const TensorRef& ids = inputs.at("input_ids");
    const Ops o(*this, ids);
    const TensorRef length = o.size(ids, 1);
    const TensorRef x = o.add(word_embeddings(ids), position_embeddings(o.range(length)));
    const TensorRef mask =
        attention_mask(o, inputs.find("attention_mask"), length, length, x.element_type(), {.causal = true});
    Seen seen{encoder(x, mask), {}, {}};
    seen.last = norm(seen.states.back());
    seen.pooled = o.op("GatherND", {seen.last, end_of(o, ids)}, {{"batch_dims", int64_t{1}}});
    return seen;
  }
  int64_t size() const { return size_; }
  Embedding word_embeddings, position_embeddings;
  Layers encoder;
  LayerNorm norm;

 private:
  TextSide(const ModelConfig& c, const EncoderBlockOptions& o)
      : word_embeddings(c.get<int64_t>("vocab_size", 49408), o.size),
        position_embeddings(c.get<int64_t>("max_position_embeddings", 77), o.size),
        encoder(c, o),
        norm(o.size, {.epsilon = o.epsilon}),
        size_(o.size),
        end_(c.get<int64_t>("eos_token_id", 49407)) {}

  /// The index of the end of the text, [batch, 1]: the first end token. Configurations of the first models
  /// say 2, which was wrong: for these it is the token with the highest number.
  TensorRef end_of(const Ops& o, const TensorRef& ids) const {
    constexpr int64_t wrong = 2;
    const TensorRef high = end_ == wrong ? ids : o.equal(ids, static_cast<double>(end_));
    return o.op("ArgMax", {o.cast(high, DataType::int32)}, {{"axis", int64_t{-1}}, {"keepdims", int64_t{1}}});
  }
  int64_t size_, end_;
};

class ImageSide : public Module {
 public:
  explicit ImageSide(const ModelConfig& c) : ImageSide(c, layer_options(c, 768, 12)) {}
  void fields(Fields& f) override {
    f("embeddings.class_embedding", class_embedding), f("embeddings.patch_embedding", patches);
    f("embeddings.position_embedding", position_embeddings), f("pre_layrnorm", before), f("encoder", encoder);
    f("post_layernorm", after);
  }
  Seen operator()(const Inputs& inputs) const {
    const TensorRef& image = inputs.at("pixel_values");
    const Ops o(*this, image);
    const TensorRef cut = o.transpose(o.reshape(patches(image), {0, size_, -1}), {0, 2, 1});
    const TensorRef first =
        o.expand(o.use(class_embedding), o.concat({o.size(image, 0), o.ints({1, size_})}, 0));
    const TensorRef x = before(o.add(o.concat({first, cut}, 1), o.use(position_embeddings.weight)));
    Seen seen{encoder(x, {}), {}, {}};
    seen.last = seen.states.back();
    seen.pooled = after(o.select(seen.last, 1, 0));
    return seen;
  }
  int64_t size() const { return size_; }
  Parameter class_embedding;
  Conv2d patches;
  Embedding position_embeddings;
  LayerNorm before, after;
  Layers encoder;

 private:
  ImageSide(const ModelConfig& c, const EncoderBlockOptions& o)
      : class_embedding(DataType::float32, {o.size}),
        before(o.size, {.epsilon = o.epsilon}),
        after(o.size, {.epsilon = o.epsilon}),
        encoder(c, o),
        size_(o.size) {
    const auto patch = c.get<int64_t>("patch_size", 32), side = c.get<int64_t>("image_size", 224) / patch;
    patches = Conv2d(c.get<int64_t>("num_channels", 3), size_, {patch}, {.stride = {patch}, .bias = false});
    position_embeddings = Embedding(side * side + 1, size_);
  }
  int64_t size_;
};

/// x / |x| over the last axis.
TensorRef of_length_one(const Ops& o, const TensorRef& x) {
  return o.div(x, o.op("ReduceL2", {x, o.ints({-1})}));
}

/// Returns "text_config" or "vision_config". Older files have the same again with "_dict" behind the name,
/// which then takes precedence as a whole.
ModelConfig side_in(const ModelConfig& c, const std::string& key) {
  return c.get<ModelConfig>(c.has(key + "_dict") ? key + "_dict" : key, ModelConfig::parse("{}"));
}

/// Both sides: how similar each text is to each image.
class Clip : public Model {
 public:
  explicit Clip(const ModelConfig& c) : text(side_in(c, "text_config")), image(side_in(c, "vision_config")) {
    const auto size = c.get<int64_t>("projection_dim", 512);
    visual_projection = Linear(image.size(), size, {.bias = false});
    text_projection = Linear(text.size(), size, {.bias = false});
  }
  void fields(Fields& f) override {
    f("logit_scale", logit_scale), f("text_model", text), f("vision_model", image);
    f("visual_projection", visual_projection), f("text_projection", text_projection);
  }
  Outputs forward(Network&, const Inputs& inputs) const override {
    const Ops o(*this, inputs.at("input_ids"));
    const TensorRef images = of_length_one(o, visual_projection(image(inputs).pooled)),
                    texts = of_length_one(o, text_projection(text(inputs).pooled));
    const TensorRef near =
        o.mul(o.matmul(texts, o.transpose(images, {1, 0})), o.op("Exp", {o.use(logit_scale)}));
    return {{"logits_per_image", o.transpose(near, {1, 0})},
            {"logits_per_text", near},
            {"text_embeds", texts},
            {"image_embeds", images}};
  }
  TextSide text;
  ImageSide image;
  Linear visual_projection, text_projection;
  Parameter logit_scale{DataType::float32, Shape{}};
};

/// Both sides without normalization, for encoders of sentences and images.
class ClipEmbeddings : public Clip {
 public:
  using Clip::Clip;
  Outputs forward(Network&, const Inputs& inputs) const override {
    return {{"text_embeds", text_projection(text(inputs).pooled)},
            {"image_embeds", visual_projection(image(inputs).pooled)}};
  }
};

/// A classifier of the mean over patches.
class ClipClassifier : public Model {
 public:
  explicit ClipClassifier(const ModelConfig& c)
      : image(side_in(c, "vision_config")), classifier(image.size(), label_count(c)) {}
  void fields(Fields& f) override { f("vision_model", image), f("classifier", classifier); }
  Outputs forward(Network&, const Inputs& inputs) const override {
    const TensorRef x = image(inputs).last;
    const Ops o(*this, x);
    constexpr int64_t all = std::numeric_limits<int64_t>::max();
    return {{"logits", classifier(o.mean(o.slice(x, 1, 1, all), {1}, false))}};
  }
  ImageSide image;
  Linear classifier;
};

void set_states(Outputs& outputs, const std::vector<TensorRef>& states) {
  for (size_t i = 0; i < states.size(); ++i) outputs.set("hidden_states." + std::to_string(i), states[i]);
}

class ClipVision : public Model {
 public:
  explicit ClipVision(const ModelConfig& c) : image(c) {}
  void fields(Fields& f) override { f("vision_model", image); }
  std::string base_prefix() const override { return "vision_model."; }  // which newer files lack
  Outputs forward(Network&, const Inputs& inputs) const override {
    const Seen seen = image(inputs);
    Outputs outputs{{"last_hidden_state", seen.last}, {"pooler_output", seen.pooled}};
    set_states(outputs, seen.states);
    return outputs;
  }
  ImageSide image;
};

class ClipText : public Model {
 public:
  ClipText(const ModelConfig& c, bool projected) : text(c) {
    if (projected)
      projection.emplace(text.size(), c.get<int64_t>("projection_dim", 512), LinearOptions{.bias = false});
  }
  void fields(Fields& f) override { f("text_model", text), f("text_projection", projection); }
  std::string base_prefix() const override { return "text_model."; }  // which newer files lack
  Outputs forward(Network&, const Inputs& inputs) const override {
    const Seen seen = text(inputs);
    Outputs outputs{{"last_hidden_state", seen.last}, {"pooler_output", seen.pooled}};
    if (projection) outputs.set("text_embeds", (*projection)(seen.pooled));
    set_states(outputs, seen.states);
    return outputs;
  }
  TextSide text;
  std::optional<Linear> projection;
};

}  // namespace

void register_clip(ModelRegistry& all) {
  all.add("clip", {"feature-extraction", "zero-shot-image-classification"},
          [](const ModelConfig& c, std::string_view) { return std::make_unique<Clip>(c); });
  all.add("clip", {"sentence-similarity"},
          [](const ModelConfig& c, std::string_view) { return std::make_unique<ClipEmbeddings>(c); });
  all.add("clip", {"image-classification"},
          [](const ModelConfig& c, std::string_view) { return std::make_unique<ClipClassifier>(c); });
  all.add("clip_vision_model", {"feature-extraction"},
          [](const ModelConfig& c, std::string_view) { return std::make_unique<ClipVision>(c); });
  all.add("clip-text", {"feature-extraction"},
          [](const ModelConfig& c, std::string_view) { return std::make_unique<ClipText>(c, false); });
  all.add("clip-text-with-projection", {"feature-extraction"},
          [](const ModelConfig& c, std::string_view) { return std::make_unique<ClipText>(c, true); });
  all.add("clip_text_model", {"feature-extraction"}, [](const ModelConfig& c, std::string_view) {
    const auto names = c.get<std::vector<std::string>>("architectures", {});
    return std::make_unique<ClipText>(c,
                                      std::ranges::find(names, "CLIPTextModelWithProjection") != names.end());
  });
}

}  // namespace lathe::nn
