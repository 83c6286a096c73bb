#include "nn/swin.h"

#include "nn/access.h"
#include "nn/sizes.h"

namespace lathe::nn {

SwinOptions::SwinOptions(const ModelConfig& c)
    : image(height_and_width(c, "image_size", 224)),
      patch(height_and_width(c, "patch_size", 4)),
      channels(c.get<int64_t>("num_channels", 3)),
      size(c.get<int64_t>("embed_dim", 96)),
      window(c.get<int64_t>("window_size", 7)),
      depths(c.get<std::vector<int64_t>>("depths", {2, 2, 6, 2})),
      heads(c.get<std::vector<int64_t>>("num_heads", {3, 6, 12, 24})),
      mlp_ratio(c.get<double>("mlp_ratio", 4)),
      epsilon(c.get<double>("layer_norm_eps", 1e-5)),
      activation(Activation(c.get<std::string>("hidden_act", "gelu")).name()),
      qkv_bias(c.get<bool>("qkv_bias", true)) {
  const auto refuse = [](std::string expected, std::string got) {
    throw detail::fault(Code::bad_argument, "swin", std::move(expected), std::move(got));
  };
  if (depths.empty() || heads.size() != depths.size())
    refuse("as many num_heads as depths",
           std::to_string(heads.size()) + " and " + std::to_string(depths.size()));
  if (c.get<bool>("use_absolute_embeddings", false))
    refuse("no absolute embeddings", "use_absolute_embeddings");
  if (window < 1 || patch[0] < 1 || patch[1] < 1) refuse("a window and patches of at least 1", "less");
}

SwinBody::SwinBody(const SwinOptions& o, bool norm)
    : projection(o.channels, o.size, {o.patch[0], o.patch[1]}, {.stride = {o.patch[0], o.patch[1]}}),
      embedding_norm(o.size),
      image_(o.image),
      patch_(o.patch) {
  SwinGrid grid{(image_[0] + patch_[0] - 1) / patch_[0], (image_[1] + patch_[1] - 1) / patch_[1]};
  for (size_t i = 0; i < o.depths.size(); ++i) {
    const bool last = i + 1 == o.depths.size();
    layers.push_back(SwinStage(o, i, grid, !last));
    if (!last) grid = {(grid.height + 1) / 2, (grid.width + 1) / 2};
  }
  if (norm) layernorm.emplace(o.features(), LayerNormOptions{.epsilon = o.epsilon});
}

void SwinBody::fields(Fields& f) {
  f("embeddings.patch_embeddings.projection", projection), f("embeddings.norm", embedding_norm);
  f("encoder.layers", layers), f("layernorm", layernorm);
}

TensorRef SwinBody::operator()(const TensorRef& image) const {
  const Ops o(*this, image);
  TensorRef x = image;
  const int64_t below = (patch_[0] - image_[0] % patch_[0]) % patch_[0],
                right = (patch_[1] - image_[1] % patch_[1]) % patch_[1];
  if (below || right) x = o.op("Pad", {x, o.ints({0, 0, 0, 0, 0, 0, below, right})});
  const int64_t patches = ((image_[0] + below) / patch_[0]) * ((image_[1] + right) / patch_[1]);
  x = o.reshape(projection(x), {0, 0, patches});
  x = embedding_norm(o.transpose(x, {0, 2, 1}));
  for (const SwinStage& stage : layers) x = stage(x);
  return layernorm ? (*layernorm)(x) : x;
}

}  // namespace lathe::nn
