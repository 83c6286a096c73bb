// The Swin transformer (Liu et al. 2021) without a head, as the models of images and of documents have it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "lathe/nn.h"

namespace lathe::nn {

struct SwinOptions {
  explicit SwinOptions(const ModelConfig& config);
  std::array<int64_t, 2> image{}, patch{};
  int64_t channels, size, window;
  std::vector<int64_t> depths, heads;
  double mlp_ratio, epsilon;
  std::string activation;
  bool qkv_bias;
  int64_t features() const { return size << (depths.size() - 1); }  // of a patch behind the last stage
};

/// The names of the layers' parts inside of transformers 5, which saves them under these names on request.
std::vector<std::pair<std::string, std::string>> swin_other_parts();

/// The rows and columns of patches.
struct SwinGrid {
  int64_t height = 0, width = 0;
};

class SwinLayer : public Module {
 public:
  SwinLayer(const SwinOptions& o, size_t stage, SwinGrid grid, bool shifted);
  void fields(Fields& f) override;
  TensorRef operator()(const TensorRef& x) const;
  LayerNorm before, after;
  Parameter bias_table;  // [(2 · window - 1)², heads]
  Linear query, key, value, attention_dense, intermediate_dense, output_dense;

 private:
  TensorRef attended(const Ops& o, const TensorRef& windows) const;
  TensorRef position_bias(const Ops& o) const;
  Tensor shift_mask() const;
  /// Returns x [batch, height, width, size] with rows and columns that begin `by` later, or, if negative,
  /// earlier.
  TensorRef rolled(const Ops& o, const TensorRef& x, int64_t by) const;

  SwinGrid grid_, padded_;
  int64_t size_, heads_, window_, shift_ = 0;
  std::string activation_;
};

/// Layers of one resolution, and the merging behind them.
class SwinStage : public Module {
 public:
  SwinStage(const SwinOptions& o, size_t stage, SwinGrid grid, bool merges);
  void fields(Fields& f) override;
  TensorRef operator()(TensorRef x) const;
  ModuleList<SwinLayer> blocks;
  std::optional<LayerNorm> norm;
  std::optional<Linear> reduction;

 private:
  TensorRef merged(const Ops& o, const TensorRef& x) const;
  SwinGrid grid_;
  int64_t size_;
};

/// "pixel_values" [batch, channels, height, width] of the size that the configuration says → [batch, patches,
/// features]. Windows, shifts, masks and paddings are constants of the network.
class SwinBody : public Module {
 public:
  /// `norm`: there is one behind the last stage.
  SwinBody(const SwinOptions& o, bool norm);
  void fields(Fields& f) override;
  TensorRef operator()(const TensorRef& image) const;
  Conv2d projection;
  LayerNorm embedding_norm;
  ModuleList<SwinStage> layers;
  std::optional<LayerNorm> layernorm;

 private:
  std::array<int64_t, 2> image_, patch_;
};

}  // namespace lathe::nn
