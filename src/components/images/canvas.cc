#include "components/images/canvas.h"

#include <algorithm>

namespace lathe::images {

void Canvas::open(uint64_t width, uint64_t height, uint64_t extra) {
  if (width == 0 || height == 0)
    damaged("a picture of " + std::to_string(width) + " x " + std::to_string(height));
  const bool gray = call_.format == PixelFormat::grayscale;
  const uint64_t each = 3 + extra + (gray ? 1 : 0);
  if (width > UINT32_MAX || height > UINT32_MAX || width > call_.max_bytes / each / height)
    throw Failure{ImageAnswer::too_large, std::to_string(width) + " x " + std::to_string(height) +
                                              " pixels, " + std::to_string(each) + " bytes each"};
  width_ = static_cast<size_t>(width);
  height_ = static_cast<size_t>(height);
  uint8_t* out = call_.allocate(call_.caller, static_cast<int64_t>(height), static_cast<int64_t>(width));
  if (!out) throw Failure{ImageAnswer::stopped, "by the caller"};
  if (gray) {
    own_.resize(width_ * height_ * 3);
    gray_ = out;
    rgb_ = own_.data();
  } else {
    rgb_ = out;
  }
}

void Canvas::close() {
  constexpr size_t rows = 64;
  for (size_t y = 0; y < height_; ++y) {
    if (y % rows == 0) poll();
    uint8_t* p = row(y);
    if (call_.format == PixelFormat::bgr)
      for (size_t x = 0; x < width_; ++x) std::swap(p[3 * x], p[3 * x + 2]);
    // Rec. 601, in 1/65536: the same sum as Pillow's, whose answers the standard's cases are.
    if (gray_)
      for (size_t x = 0; x < width_; ++x)
        gray_[y * width_ + x] = static_cast<uint8_t>(
            (p[3 * x] * 19595u + p[3 * x + 1] * 38470u + p[3 * x + 2] * 7471u + 0x8000u) >> 16);
  }
}

}  // namespace lathe::images
