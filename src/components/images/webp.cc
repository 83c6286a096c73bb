// WebP, lossy and lossless, through libwebp. Alpha is dropped.
#include <webp/decode.h>

#include <string>

#include "components/images/canvas.h"

namespace lathe::images {
namespace {

void check(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OK:
      return;
    case VP8_STATUS_OUT_OF_MEMORY:
      throw Failure{ImageAnswer::too_large, "more than there is memory for"};
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      unsupported("a feature that libwebp does not know");
    case VP8_STATUS_NOT_ENOUGH_DATA:
      damaged("ends before its last row");
    default:
      damaged("libwebp's status " + std::to_string(status));
  }
}

}  // namespace

void decode_webp(std::span<const uint8_t> file, Canvas& canvas) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) unsupported("another version of libwebp than this was built with");
  check(WebPGetFeatures(file.data(), file.size(), &config.input));
  if (config.input.has_animation) unsupported("an animation");
  canvas.open(static_cast<uint64_t>(config.input.width), static_cast<uint64_t>(config.input.height), 4);
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {canvas.row(0), static_cast<int>(canvas.stride()),
                          canvas.stride() * canvas.height()};
  canvas.poll();
  check(WebPDecode(file.data(), file.size(), &config));
}

}  // namespace lathe::images
