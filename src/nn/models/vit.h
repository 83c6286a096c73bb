// The vision transformer (Dosovitskiy et al. 2020) without a head, as models of images and of documents have
// it.
#pragma once

#include <array>
#include <optional>

#include "nn/encoder_block.h"

namespace lathe::nn {

/// "pixel_values" [batch, channels, height, width] of the size that the configuration says → [batch, 1 +
/// patches, size].
class VitBody : public Module {
 public:
  /// `masked`: patches may be replaced by a token of their own. Throws bad_argument for patches that are
  /// none.
  VitBody(const ModelConfig& config, bool masked);
  void fields(Fields& f) override;
  /// masked: bool or int64 [batch, patches].
  TensorRef operator()(const TensorRef& image, const TensorRef& masked = {}) const;
  int64_t size() const { return size_; }
  int64_t rows() const { return image_[0] / patch_[0]; }
  int64_t columns() const { return image_[1] / patch_[1]; }
  Parameter cls_token, mask_token, places;
  Conv2d projection;
  ModuleList<EncoderBlock> layers;
  LayerNorm norm;

 private:
  int64_t size_;
  std::array<int64_t, 2> image_, patch_;
};

}  // namespace lathe::nn
