// The Swin transformer (Liu et al. 2021) without a head, as the models of images and of documents have it.
#pragma once

#include "nn/swin_layers.h"

namespace lathe::nn {

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
