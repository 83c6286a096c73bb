// The vision transformer (Dosovitskiy et al. 2020) without a head, as models of images and of documents have
// it.
#pragma once

#include <array>
#include <optional>

#include "nn/encoder_block.h"

namespace lathe::nn {

/// Tokens besides the first and the patches.
struct VitTokens {
  bool mask = false;          // patches may be replaced by it
  bool distillation = false;  // the second token, for distillation (DeiT)
};

/// "pixel_values" [batch, channels, height, width] of the size that the configuration says → [batch, first
/// tokens + patches, size].
class VitBody : public Module {
 public:
  /// Throws bad_argument for invalid sizes of patches.
  VitBody(const ModelConfig& config, const VitTokens& tokens);
  void fields(Fields& f) override;
  /// masked: bool or int64 [batch, patches].
  TensorRef operator()(const TensorRef& image, const TensorRef& masked = {}) const;
  int64_t size() const { return size_; }
  int64_t rows() const { return image_[0] / patch_[0]; }
  int64_t columns() const { return image_[1] / patch_[1]; }
  Parameter cls_token, distillation_token, mask_token, position_embeddings;
  Conv2d projection;
  ModuleList<EncoderBlock> layers;
  LayerNorm norm;

 private:
  int64_t size_;
  std::array<int64_t, 2> image_, patch_;
};

/// The names of the layers' parts inside of transformers 5, which saves them under these names on request.
std::vector<std::pair<std::string, std::string>> vit_other_parts();

/// The head of masked-im: makes an image of patches.
class PatchDecoder : public Module {
 public:
  /// Throws not_supported if images do not have as many rows of patches as columns.
  PatchDecoder(const char* where, const ModelConfig& config, const VitBody& body);
  void fields(Fields& f) override { f("0", columns_of_numbers); }
  /// patches [batch, rows · columns, size] → [batch, channels, height, width].
  TensorRef operator()(const TensorRef& patches) const;
  Conv2d columns_of_numbers;

 private:
  int64_t rows_, columns_, stride_, channels_;
};

}  // namespace lathe::nn
