// Windows and OS/2 bitmaps: 1, 4, 8, 16, 24 and 32 bits a pixel, palettes, bit fields and both run-length
// codes, after the structures of Microsoft's documentation ("Bitmap Storage", [MS-WMF] 2.2.2.9). Alpha is
// dropped.
#include <array>
#include <bit>
#include <string>

#include "components/images/canvas.h"

namespace lathe::images {
namespace {

struct Header {
  int64_t width = 0, height = 0;  // positive
  bool bottom_up = true;
  uint32_t bits = 0, compression = 0, colors = 0;
  std::array<uint32_t, 3> masks{};
  uint64_t pixels_at = 0;
  std::vector<std::array<uint8_t, 3>> palette;
};

constexpr uint32_t plain = 0, rle8 = 1, rle4 = 2, bit_fields = 3, alpha_bit_fields = 6;

Header read_header(Bytes& b) {
  Header h;
  b.seek(10);
  h.pixels_at = b.u32();
  const size_t info = b.at();
  const uint32_t size = b.u32();
  const bool core = size == 12;  // OS/2 1.x
  if (!core && (size < 16 || size > 124))
    damaged("an information header of " + std::to_string(size) + " bytes");
  if (core) {
    h.width = b.u16();
    h.height = b.u16();
  } else {
    h.width = static_cast<int32_t>(b.u32());
    h.height = static_cast<int32_t>(b.u32());
  }
  if (h.height < 0) {
    h.bottom_up = false;
    h.height = -h.height;
  }
  if (h.width <= 0) damaged("a width of " + std::to_string(h.width));
  b.u16();  // planes
  h.bits = b.u16();
  if (size >= 20) h.compression = b.u32();
  if (size >= 36) {
    b.take(12);
    h.colors = b.u32();
  }
  const bool masked = h.compression == bit_fields || h.compression == alpha_bit_fields;
  if (masked && h.bits != 16 && h.bits != 32) damaged("bit fields of " + std::to_string(h.bits) + " bits");
  if (masked) {
    b.seek(info + 40);  // in the newer headers, or behind the older one
    for (uint32_t& m : h.masks) m = b.u32();
  } else if (h.bits == 16) {
    h.masks = {0x7c00, 0x03e0, 0x001f};
  } else if (h.bits == 32) {
    h.masks = {0xff0000, 0x00ff00, 0x0000ff};
  }
  const bool coded = h.compression == rle8 || h.compression == rle4;
  if (!masked && !coded && h.compression != plain)
    unsupported("compression " + std::to_string(h.compression));
  if (coded && h.bits != (h.compression == rle8 ? 8u : 4u))
    damaged("a run-length code of " + std::to_string(h.bits) + " bits");
  if (coded && !h.bottom_up) damaged("a run-length code from the top down");
  if (h.bits != 1 && h.bits != 4 && h.bits != 8 && h.bits != 16 && h.bits != 24 && h.bits != 32)
    unsupported(std::to_string(h.bits) + " bits a pixel");
  if (h.bits <= 8) {
    const uint32_t all = 1u << h.bits;
    const uint32_t n = h.colors ? std::min(h.colors, all) : all;
    // Masks follow the header, if there are any.
    b.seek(info + size + (size == 40 && masked ? 12 : 0));
    for (uint32_t i = 0; i < n && (b.at() < h.pixels_at || h.pixels_at == 0); ++i) {
      const auto c = b.take(core ? 3 : 4);
      h.palette.push_back({c[2], c[1], c[0]});
    }
    h.palette.resize(256);  // black beyond its end
  }
  return h;
}

/// A field of a pixel, scaled to a byte.
uint8_t field(uint32_t pixel, uint32_t mask) {
  if (!mask) return 0;
  const uint64_t most = mask >> std::countr_zero(mask), v = (pixel & mask) >> std::countr_zero(mask);
  return static_cast<uint8_t>((v * 255 + most / 2) / most);
}

void put(uint8_t* to, const std::array<uint8_t, 3>& color) { std::copy(color.begin(), color.end(), to); }

void draw_plain(const Header& h, Bytes& b, Canvas& canvas) {
  const uint64_t row = (static_cast<uint64_t>(h.width) * h.bits + 31) / 32 * 4;
  for (size_t y = 0; y < canvas.height(); ++y) {
    if (y % 64 == 0) canvas.poll();
    uint8_t* to = canvas.row(h.bottom_up ? canvas.height() - 1 - y : y);
    // The padding of the last row may be missing.
    const auto from =
        b.take(y + 1 < canvas.height() ? row : (static_cast<uint64_t>(h.width) * h.bits + 7) / 8);
    for (size_t x = 0; x < canvas.width(); ++x, to += 3) switch (h.bits) {
        case 1:
        case 4:
        case 8: {
          const size_t per_byte = 8 / h.bits, shift = h.bits * (per_byte - 1 - x % per_byte);
          put(to, h.palette[from[x / per_byte] >> shift & ((1u << h.bits) - 1)]);
          break;
        }
        case 24:
          put(to, {from[3 * x + 2], from[3 * x + 1], from[3 * x]});
          break;
        default: {
          uint32_t pixel = 0;
          for (size_t k = h.bits / 8; k-- > 0;) pixel = pixel << 8 | from[x * (h.bits / 8) + k];
          put(to, {field(pixel, h.masks[0]), field(pixel, h.masks[1]), field(pixel, h.masks[2])});
        }
      }
  }
}

/// Pairs of a count and a color; after a count of 0: end of a row, end of the picture, a step, or colors
/// one by one.
void draw_coded(const Header& h, Bytes& b, Canvas& canvas) {
  for (size_t y = 0; y < canvas.height(); ++y)
    for (size_t x = 0; x < canvas.width(); ++x) put(canvas.row(y) + 3 * x, h.palette[0]);
  const bool nibbles = h.bits == 4;
  size_t x = 0, y = 0;
  uint64_t steps = 0;
  const auto pixel = [&](uint8_t color) {
    if (x >= canvas.width() || y >= canvas.height()) damaged("a run beyond the edge");
    put(canvas.row(canvas.height() - 1 - y) + 3 * x++, h.palette[color]);
  };
  for (;;) {
    if (++steps % 4096 == 0) canvas.poll();
    const uint8_t count = b.u8(), what = b.u8();
    if (count) {
      for (size_t i = 0; i < count; ++i) pixel(!nibbles ? what : i % 2 ? what & 15 : what >> 4);
    } else if (what == 0) {
      x = 0;
      ++y;
    } else if (what == 1) {
      return;
    } else if (what == 2) {
      x += b.u8();
      y += b.u8();
    } else {
      const size_t bytes = nibbles ? (what + 1u) / 2 : what;
      const auto colors = b.take(bytes);
      if (bytes % 2) b.u8();
      for (size_t i = 0; i < what; ++i)
        pixel(!nibbles ? colors[i] : i % 2 ? colors[i / 2] & 15 : colors[i / 2] >> 4);
    }
  }
}

}  // namespace

void decode_bmp(std::span<const uint8_t> file, Canvas& canvas) {
  Bytes b(file);
  const Header h = read_header(b);
  b.seek(h.pixels_at);
  const bool coded = h.compression == rle8 || h.compression == rle4;
  const uint64_t row = (static_cast<uint64_t>(h.width) * h.bits + 7) / 8;
  if (!coded && h.height && row > b.left() / static_cast<uint64_t>(h.height))
    damaged("fewer bytes than " + std::to_string(h.width) + " x " + std::to_string(h.height) + " pixels");
  canvas.open(static_cast<uint64_t>(h.width), static_cast<uint64_t>(h.height));
  coded ? draw_coded(h, b, canvas) : draw_plain(h, b, canvas);
}

}  // namespace lathe::images
