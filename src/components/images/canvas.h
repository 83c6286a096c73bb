// The common part of the decoders of the component "images": the canvas for pixels, and the failures of
// decoders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "components/images.h"

namespace lathe::images {

/// Thrown by decoders, but never through the code of other libraries.
struct Failure {
  ImageAnswer answer;
  std::string why;
};
[[noreturn]] inline void damaged(std::string why) { throw Failure{ImageAnswer::damaged, std::move(why)}; }
[[noreturn]] inline void unsupported(std::string why) {
  throw Failure{ImageAnswer::unsupported, std::move(why)};
}

/// An image of three bytes a pixel, red first. All decoders write this form, whatever the caller wants.
class Canvas {
 public:
  explicit Canvas(ImageCall& call) : call_(call) {}

  /// Called once the size is known and before anything is decoded. `extra`: bytes a pixel that decoding takes
  /// beside the three here. Throws too_large, damaged (nothing to show), stopped.
  void open(uint64_t width, uint64_t height, uint64_t extra = 0);
  size_t width() const { return width_; }
  size_t height() const { return height_; }
  size_t stride() const { return width_ * 3; }
  uint8_t* row(size_t y) { return rgb_ + y * stride(); }
  /// Returns false if the caller wants to stop.
  bool go_on() const noexcept { return call_.go_on(call_.caller); }
  /// Throws stopped if the caller asked for it. Called every few rows.
  void poll() const {
    if (!go_on()) throw Failure{ImageAnswer::stopped, "by the caller"};
  }
  /// Called when all is decoded: converts it to the form that the caller wants.
  void close();

 private:
  ImageCall& call_;
  size_t width_ = 0, height_ = 0;
  uint8_t* rgb_ = nullptr;
  uint8_t* gray_ = nullptr;
  std::vector<uint8_t> own_;  // the colors, where only gray goes out
};

/// A picture file in memory, read from its beginning; reading past the end throws damaged.
class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> all) : all_(all) {}
  size_t at() const { return at_; }
  size_t left() const { return all_.size() - at_; }
  void seek(uint64_t to) {
    if (to > all_.size()) damaged("ends before byte " + std::to_string(to));
    at_ = static_cast<size_t>(to);
  }
  std::span<const uint8_t> take(uint64_t n) {
    if (n > left()) damaged("ends after " + std::to_string(all_.size()) + " bytes");
    const auto r = all_.subspan(at_, static_cast<size_t>(n));
    at_ += r.size();
    return r;
  }
  uint8_t u8() { return take(1)[0]; }
  uint16_t u16() {  // lowest byte first
    const auto b = take(2);
    return static_cast<uint16_t>(b[0] | b[1] << 8);
  }
  uint32_t u32() {
    const uint32_t low = u16();
    return low | static_cast<uint32_t>(u16()) << 16;
  }

 private:
  std::span<const uint8_t> all_;
  size_t at_ = 0;
};

using Decode = void(std::span<const uint8_t> file, Canvas&);
Decode decode_bmp, decode_pnm, decode_jpeg, decode_png, decode_webp, decode_tiff, decode_jpeg2000;

}  // namespace lathe::images
