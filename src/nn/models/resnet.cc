// ResNet (He et al. 2015), with the strides of its version 1.5.
#include "nn/access.h"
#include "nn/models.h"
#include "nn/sizes.h"

namespace lathe::nn {
namespace {

/// Convolution without bias, norm, and maybe an activation.
struct Unit : Module {
  Unit() = default;
  Unit(int64_t in, int64_t out, int64_t window, int64_t stride, std::string activation)
      : convolution(in, out, {window}, {.stride = {stride}, .padding = {window / 2}, .bias = false}),
        normalization(out),
        activation_(std::move(activation)) {}
  void fields(Fields& f) override { f("convolution", convolution), f("normalization", normalization); }
  TensorRef operator()(const TensorRef& x) const {
    return activate(Ops(*this, x), activation_, normalization(convolution(x)));
  }
  Conv2d convolution;
  BatchNorm normalization;

 private:
  std::string activation_ = "identity";
};

struct Block : Module {
  Block(int64_t in, int64_t out, int64_t stride, const std::string& activation, bool bottleneck, bool early)
      : activation_(activation) {
    if (in != out || stride != 1) shortcut.emplace(in, out, 1, stride, "identity");
    // Inside, published models have ReLU whatever hidden_act says.
    if (bottleneck) {
      const int64_t narrow = out / 4;
      layer.push_back(Unit(in, narrow, 1, early ? stride : 1, "relu"));
      layer.push_back(Unit(narrow, narrow, 3, early ? 1 : stride, "relu"));
      layer.push_back(Unit(narrow, out, 1, 1, "identity"));
    } else {
      layer.push_back(Unit(in, out, 3, stride, "relu"));
      layer.push_back(Unit(out, out, 3, 1, "identity"));
    }
  }
  void fields(Fields& f) override { f("shortcut", shortcut), f("layer", layer); }
  TensorRef operator()(const TensorRef& x) const {
    TensorRef y = x;
    for (const Unit& unit : layer) y = unit(y);
    const Ops o(*this, x);
    return activate(o, activation_, o.add(y, shortcut ? (*shortcut)(x) : x));
  }
  std::optional<Unit> shortcut;
  ModuleList<Unit> layer;

 private:
  std::string activation_;
};

struct Stage : Module {
  void fields(Fields& f) override { f("layers", layers); }
  ModuleList<Block> layers;
};

struct Body : Module {
  explicit Body(const ModelConfig& c) {
    const auto embedding = c.get<int64_t>("embedding_size", 64);
    const auto sizes = c.get<std::vector<int64_t>>("hidden_sizes"),
               depths = c.get<std::vector<int64_t>>("depths");
    const auto activation = activation_in(c, "hidden_act", "relu");
    const auto type = c.get<std::string>("layer_type", "bottleneck");
    if (sizes.empty() || sizes.size() != depths.size())
      throw detail::fault(Code::bad_argument, "resnet", "as many hidden_sizes as depths",
                          std::to_string(sizes.size()) + " and " + std::to_string(depths.size()));
    if (type != "bottleneck" && type != "basic")
      throw detail::fault(Code::bad_argument, "resnet", "layer_type 'bottleneck' or 'basic'",
                          "'" + type + "'");
    embedder = Unit(c.get<int64_t>("num_channels", 3), embedding, 7, 2, activation);
    int64_t in = embedding;
    for (size_t i = 0; i < sizes.size(); ++i) {
      Stage stage;
      const int64_t stride = i > 0 || c.get<bool>("downsample_in_first_stage", false) ? 2 : 1;
      for (int64_t j = 0; j < depths[i]; ++j) {
        stage.layers.push_back(Block(in, sizes[i], j == 0 ? stride : 1, activation, type == "bottleneck",
                                     j == 0 && c.get<bool>("downsample_in_bottleneck", false)));
        in = sizes[i];
      }
      stages.push_back(std::move(stage));
    }
    size = in;
  }
  void fields(Fields& f) override { f("embedder.embedder", embedder), f("encoder.stages", stages); }
  TensorRef operator()(const TensorRef& image) const {
    TensorRef x = pool_(embedder(image));
    for (const Stage& stage : stages)
      for (const Block& block : stage.layers) x = block(x);
    return x;
  }
  Unit embedder;
  ModuleList<Stage> stages;
  int64_t size = 0;

 private:
  MaxPool pool_{{3}, {.stride = {2}, .padding = {1}}};
};

class ResNet final : public Model {
 public:
  ResNet(const ModelConfig& c, std::string_view task) : body_(c) {
    if (task == "image-classification") classifier_.emplace(body_.size, label_count(c));
  }
  void fields(Fields& f) override { f(classifier_ ? "resnet" : "", body_), f("classifier.1", classifier_); }
  std::string base_prefix() const override { return "resnet."; }
  Outputs forward(Network&, const Inputs& inputs) const override {
    const TensorRef image = inputs.at("pixel_values");
    const TensorRef hidden = body_(image);
    if (!classifier_) return {{"last_hidden_state", hidden}};
    const Ops o(*this, image);
    return {{"logits", (*classifier_)(o.op("Flatten", {o.op("GlobalAveragePool", {hidden})}))}};
  }

 private:
  Body body_;
  std::optional<Linear> classifier_;
};

}  // namespace

void register_resnet(ModelRegistry& all) {
  all.add("resnet", {"feature-extraction", "image-classification"},
          [](const ModelConfig& c, std::string_view task) { return std::make_unique<ResNet>(c, task); });
}

}  // namespace lathe::nn
