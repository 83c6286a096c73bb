// The component "images": decodes pictures for ImageDecoder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "components/component.h"

namespace lathe {

enum class PixelFormat : int32_t { rgb, bgr, grayscale };

enum class ImageAnswer : int32_t {
  decoded,
  not_an_image,  // of no form that is known
  left_out,      // of a form whose decoder this build lacks
  damaged,       // truncated, or against its format
  unsupported,   // well-formed as far as was read, but of a kind that is not decoded
  too_large,     // would take more memory than `max_bytes`
  stopped        // by the caller
};

/// One picture. Nothing is thrown across this line, in either direction.
struct ImageCall {
  const uint8_t* file = nullptr;
  size_t bytes = 0;
  PixelFormat format = PixelFormat::rgb;
  uint64_t max_bytes = 0;  // of pixels and of what decoding them takes, estimated from the header
  void* caller = nullptr;
  /// Called once, when the size is known: height × width × channels bytes, row by row; null stops.
  uint8_t* (*allocate)(void* caller, int64_t height, int64_t width) = nullptr;
  /// Asked every few milliseconds where the library underneath permits it; false stops.
  bool (*go_on)(void* caller) = nullptr;

  char form[16] = {};  // "jpeg", once it is known
  char why[240] = {};  // of any answer but decoded: what is wrong, or for `left_out` what it needs
};

struct ImagesTable {
  ComponentTable component;
  /// Thread-safe.
  ImageAnswer (*decode)(ImageCall* call);
};

/// "RGB", "BGR" and "Grayscale", as ImageDecoder calls them.
inline constexpr const char* pixel_format_names[] = {"RGB", "BGR", "Grayscale"};

}  // namespace lathe
