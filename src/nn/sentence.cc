#include "nn/sentence.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "nn/access.h"
#include "nn/sizes.h"
#include "nn/unsupported_config.h"

namespace lathe::nn {

struct SentenceModel::Step : Module {
  /// tokens [batch, length, size], mask int64 [batch, length]; x: the vector so far, none before a Pooling.
  virtual TensorRef operator()(TensorRef& tokens, const TensorRef& mask, const TensorRef& x) const = 0;
  void fields(Fields&) override {}
  std::string path;
};

namespace {

using Step = SentenceModel::Step;

/// "sentence_transformers.models.Pooling" as "Pooling".
std::string sort_of(const std::string& type) { return type.substr(type.rfind('.') + 1); }

/// Concatenates the vectors of each way that the configuration has.
struct Pooling : Step {
  explicit Pooling(const ModelConfig& c) {
    c.get<int64_t>("word_embedding_dimension");  // which every file of a Pooling says
    const std::optional<std::string> only = only_way(c);
    const auto is_set = [&](const char* way) {
      if (only) return *only == way;
      return c.get<bool>(std::string("pooling_mode_") + way, way == std::string_view("mean_tokens"));
    };
    first = is_set("cls_token"), largest = is_set("max_tokens"), mean = is_set("mean_tokens");
    mean_of_root = is_set("mean_sqrt_len_tokens"), weighted = is_set("weightedmean_tokens");
    last = is_set("lasttoken");
    if (!first && !largest && !mean && !mean_of_root && !weighted && !last)
      throw detail::fault(Code::bad_argument, "Pooling", "a pooling_mode_… that is true", "none");
  }
  TensorRef operator()(TensorRef& tokens, const TensorRef& mask, const TensorRef&) const override {
    const Ops o(*this, tokens);
    const TensorRef counts = o.unsqueeze(mask, {-1});  // [batch, length, 1]
    const TensorRef weight = o.cast(counts, tokens.element_type());
    // The values of padding become so low that they are never the largest; the tokens are an output with
    // these.
    if (largest) tokens = o.where(o.cast(counts, DataType::boolean), tokens, lowest(tokens));
    std::vector<TensorRef> all;
    if (first) all.push_back(o.select(tokens, 1, 0));
    if (largest) all.push_back(o.op("ReduceMax", {tokens, o.ints({1})}, {{"keepdims", int64_t{0}}}));
    if (mean) all.push_back(o.div(summed(o, tokens, weight), total(o, weight)));
    if (mean_of_root) all.push_back(o.div(summed(o, tokens, weight), o.op("Sqrt", {total(o, weight)})));
    if (weighted) {
      const TensorRef place = o.unsqueeze(o.add(o.range(o.size(tokens, 1)), 1), {-1});  // [length, 1]
      const TensorRef by_position = o.mul(weight, o.cast(place, tokens.element_type()));
      all.push_back(o.div(summed(o, tokens, by_position), total(o, by_position)));
    }
    if (last) {
      const TensorRef place = o.mul(o.range(o.size(mask, 1)), mask);
      const TensorRef row =
          o.op("ArgMax", {o.cast(place, DataType::int32)}, {{"axis", int64_t{-1}}, {"keepdims", int64_t{1}}});
      all.push_back(o.op("GatherND", {tokens, row}, {{"batch_dims", int64_t{1}}}));
    }
    return all.size() == 1 ? all[0] : o.concat(all, -1);
  }
  bool first, largest, mean, mean_of_root, weighted, last;

 private:
  /// "pooling_mode" names the only way that counts.
  static std::optional<std::string> only_way(const ModelConfig& c) {
    if (!c.has("pooling_mode")) return std::nullopt;
    constexpr std::array<std::pair<const char*, const char*>, 6> ways{
        {{"cls", "cls_token"},
         {"lasttoken", "lasttoken"},
         {"max", "max_tokens"},
         {"mean", "mean_tokens"},
         {"mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
         {"weightedmean", "weightedmean_tokens"}}};
    const auto mode = c.get<std::string>("pooling_mode");
    std::vector<std::string> known;
    for (const auto& [word, way] : ways) {
      if (mode == word) return way;
      known.emplace_back(word);
    }
    throw detail::fault(Code::bad_argument, "Pooling", "a pooling_mode of " + detail::listed(known),
                        "'" + mode + "'", detail::near(mode, known));
  }
  static double lowest(const TensorRef& t) { return t.element_type() == DataType::float16 ? -65504 : -1e9; }
  static TensorRef summed(const Ops& o, const TensorRef& tokens, const TensorRef& weight) {
    return o.sum(o.mul(tokens, weight), {1}, false);
  }
  /// Not 0 if a text has no token.
  static TensorRef total(const Ops& o, const TensorRef& weight) {
    constexpr double least = 6e-8;  // which float16 has too
    return o.maximum(o.sum(weight, {1}, false), least);
  }
};

struct Dense : Step {
  explicit Dense(const ModelConfig& c)
      : linear(c.get<int64_t>("in_features"), c.get<int64_t>("out_features"),
               {.bias = c.get<bool>("bias", true)}),
        activation(activation_called(name_of_activation(c), "activation_function")) {
    constexpr const char* sentence = "sentence_embedding";
    for (const char* side : {"module_input_name", "module_output_name"})
      if (const auto name = c.get<std::string>(side, sentence); name != sentence)
        throw unsupported_config("Dense", "a sentence made of a sentence", side, "'" + name + "'");
  }
  void fields(Fields& f) override { f("linear", linear); }
  TensorRef operator()(TensorRef&, const TensorRef&, const TensorRef& x) const override {
    return activate(Ops(*this, x), activation, linear(x));
  }
  Linear linear;
  std::string activation;

 private:
  /// "torch.nn.modules.activation.Tanh" as "tanh".
  static std::string name_of_activation(const ModelConfig& c) {
    std::string name = sort_of(c.get<std::string>("activation_function", "torch.nn.modules.activation.Tanh"));
    std::ranges::transform(name, name.begin(),
                           [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
    return name;
  }
};

/// Dropout matters in training only: here it does nothing.
struct Dropout : Step {
  TensorRef operator()(TensorRef&, const TensorRef&, const TensorRef& x) const override { return x; }
};

struct SentenceNorm : Step {
  explicit SentenceNorm(const ModelConfig& c) : norm(c.get<int64_t>("dimension")) {}
  void fields(Fields& f) override { f("norm", norm); }
  TensorRef operator()(TensorRef&, const TensorRef&, const TensorRef& x) const override { return norm(x); }
  LayerNorm norm;
};

struct Normalize : Step {
  TensorRef operator()(TensorRef&, const TensorRef&, const TensorRef& x) const override {
    const Ops o(*this, x);
    const double least = x.element_type() == DataType::float16 ? 6e-8 : 1e-12;
    return o.div(x, o.maximum(o.op("ReduceL2", {x, o.ints({-1})}), least));
  }
};

std::unique_ptr<Step> step_of(const SentenceModule& m) {
  const std::string sort = sort_of(m.type);
  if (sort == "Pooling") return std::make_unique<Pooling>(m.config);
  if (sort == "Dense") return std::make_unique<Dense>(m.config);
  if (sort == "LayerNorm") return std::make_unique<SentenceNorm>(m.config);
  if (sort == "Dropout") return std::make_unique<Dropout>();
  if (sort == "Normalize") return std::make_unique<Normalize>();
  const std::vector<std::string> known{"Pooling", "Dense", "LayerNorm", "Dropout", "Normalize"};
  throw detail::fault(Code::not_supported, "modules.json", "behind the encoder " + detail::listed(known),
                      "'" + m.type + "'", detail::near(sort, known));
}

}  // namespace

SentenceModel::SentenceModel(std::unique_ptr<Model> encoder, const std::vector<SentenceModule>& modules)
    : encoder_(std::move(encoder)) {
  for (const SentenceModule& m : modules) {
    check_sizes(m.config);
    steps_.push_back(step_of(m));
    steps_.back()->path = m.path;
  }
}
SentenceModel::~SentenceModel() = default;

void SentenceModel::fields(Fields& f) {
  f("", encoder_);
  for (const auto& step : steps_) f(step->path, step);
}

std::vector<std::pair<std::string, Module*>> SentenceModel::others() {
  std::vector<std::pair<std::string, Module*>> all;
  for (const auto& step : steps_)
    if (!step->named_parameters().empty()) all.emplace_back(step->path, step.get());
  return all;
}

namespace {

bool pools(const std::unique_ptr<Step>& step) { return dynamic_cast<const Pooling*>(step.get()) != nullptr; }

}  // namespace

SentenceTransformer::SentenceTransformer(std::unique_ptr<Model> encoder,
                                         const std::vector<SentenceModule>& modules)
    : SentenceModel(std::move(encoder), modules) {
  if (steps().empty() || !pools(steps()[0]))
    throw detail::fault(Code::bad_argument, "modules.json", "a Pooling behind the encoder", "none there");
}

Outputs SentenceTransformer::forward(Network& network, const Inputs& inputs) const {
  TensorRef tokens = encoder().forward(network, inputs).at("last_hidden_state");
  TensorRef x;
  for (const auto& step : steps()) x = (*step)(tokens, inputs.at("attention_mask"), x);
  return {{"token_embeddings", tokens}, {"sentence_embedding", x}};
}

SentenceClip::SentenceClip(std::unique_ptr<Model> encoder, const std::vector<SentenceModule>& modules)
    : SentenceModel(std::move(encoder), modules) {
  if (std::ranges::any_of(steps(), pools))
    throw detail::fault(Code::bad_argument, "modules.json", "behind CLIP modules that take a vector",
                        "a Pooling, which takes tokens");
}

Outputs SentenceClip::forward(Network& network, const Inputs& inputs) const {
  const Outputs both = encoder().forward(network, inputs);
  Outputs outputs;
  for (const char* name : {"text_embeds", "image_embeds"}) {
    TensorRef no_tokens, x = both.at(name);
    for (const auto& step : steps()) x = (*step)(no_tokens, {}, x);
    outputs.set(name, x);
  }
  return outputs;
}

}  // namespace lathe::nn
