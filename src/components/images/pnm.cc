// Portable bitmaps, graymaps and pixmaps (P1 to P6) and their successor PAM (P7), as
// https://netpbm.sourceforge.net/doc describes them. The first picture of a file; samples beyond a byte are
// scaled to one.
#include <string>

#include "components/images/canvas.h"

namespace lathe::images {
namespace {

bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class Header {
 public:
  explicit Header(Bytes& b) : b_(b) {}
  /// Past one word, and the one white space that ends it.
  std::string word() {
    std::string w;
    for (;;) {
      const uint8_t c = b_.u8();
      if (c == '#')
        while (b_.u8() != '\n') {
        }
      else if (!is_space(c))
        w += static_cast<char>(c);
      if ((c == '#' || is_space(c)) && !w.empty()) return w;
      if (w.size() > 32) damaged("a word of more than 32 letters in the header");
    }
  }
  uint32_t number(uint32_t most) {
    const std::string w = word();
    uint64_t n = 0;
    for (char c : w) {
      if (c < '0' || c > '9') damaged("'" + w + "' where a number should be");
      if ((n = n * 10 + static_cast<uint64_t>(c - '0')) > most)
        damaged(w + ", where at most " + std::to_string(most) + " may be");
    }
    return static_cast<uint32_t>(n);
  }

 private:
  Bytes& b_;
};

/// The next sample of a plain (P1 to P3) file; the last one may end with the file.
uint32_t plain_sample(Bytes& b, bool bit, uint32_t most) {
  const auto next = [&] {
    for (;;) {
      uint8_t c = b.u8();
      while (c == '#') {
        while (c != '\n') c = b.u8();
        c = b.u8();
      }
      if (!is_space(c)) return c;
    }
  };
  uint8_t c = next();
  uint64_t n = 0;
  for (;;) {
    if (c < '0' || c > '9') damaged("a sample that is no number");
    if ((n = n * 10 + static_cast<uint64_t>(c - '0')) > most)
      damaged("a sample above the greatest that it declares");
    if (bit || b.left() == 0) break;
    c = b.u8();
    if (is_space(c)) break;
  }
  return static_cast<uint32_t>(n);
}

struct Layout {
  uint32_t width = 0, height = 0, depth = 1, maxval = 1;
  bool black_is_one = false, plain = false, packed = false;
};

Layout read_pam(Bytes& b) {
  Layout l;
  for (;;) {
    Header h(b);
    const std::string key = h.word();
    if (key == "ENDHDR") break;
    if (key == "WIDTH")
      l.width = h.number(UINT32_MAX);
    else if (key == "HEIGHT")
      l.height = h.number(UINT32_MAX);
    else if (key == "DEPTH")
      l.depth = h.number(UINT32_MAX);
    else if (key == "MAXVAL")
      l.maxval = h.number(65535);
    else if (key == "TUPLTYPE")
      h.word();  // the depth says as much
    else
      damaged("'" + key + "' in the header");
  }
  if (l.depth < 1 || l.depth > 4) unsupported(std::to_string(l.depth) + " samples a pixel");
  return l;
}

Layout read_header(Bytes& b) {
  b.u8();
  const int kind = b.u8() - '0';
  if (kind == 7) return read_pam(b);
  Header h(b);
  Layout l;
  l.width = h.number(UINT32_MAX);
  l.height = h.number(UINT32_MAX);
  l.black_is_one = kind == 1 || kind == 4;
  if (!l.black_is_one) l.maxval = h.number(65535);
  l.depth = kind == 3 || kind == 6 ? 3 : 1;
  l.plain = kind <= 3;
  l.packed = kind == 4;
  return l;
}

}  // namespace

void decode_pnm(std::span<const uint8_t> file, Canvas& canvas) {
  Bytes b(file);
  const Layout l = read_header(b);
  if (l.maxval == 0) damaged("0 for the greatest sample");
  // Too few bytes for the samples are an error before memory is allocated.
  const uint64_t sample = l.maxval > 255 ? 2 : 1;
  const uint64_t row =
      l.packed ? (uint64_t{l.width} + 7) / 8 : uint64_t{l.width} * l.depth * (l.plain ? 1 : sample);
  if (l.height && row > b.left() / l.height)
    damaged("fewer samples than " + std::to_string(l.width) + " x " + std::to_string(l.height));
  canvas.open(l.width, l.height);
  for (size_t y = 0; y < canvas.height(); ++y) {
    if (y % 64 == 0) canvas.poll();
    uint8_t* to = canvas.row(y);
    const auto from = l.plain ? std::span<const uint8_t>() : b.take(row);
    for (size_t x = 0; x < canvas.width(); ++x) {
      uint8_t samples[4];
      for (size_t k = 0; k < l.depth; ++k) {
        const size_t i = x * l.depth + k;
        uint32_t v = l.plain       ? plain_sample(b, l.black_is_one, l.maxval)
                     : l.packed    ? from[i / 8] >> (7 - i % 8) & 1
                     : sample == 2 ? static_cast<uint32_t>(from[2 * i] << 8 | from[2 * i + 1])
                                   : from[i];
        if (v > l.maxval) damaged("a sample above the greatest that it declares");
        if (l.black_is_one) v = 1 - v;
        samples[k] = static_cast<uint8_t>((v * 255 + l.maxval / 2) / l.maxval);
      }
      for (size_t k = 0; k < 3; ++k) to[3 * x + k] = samples[l.depth < 3 ? 0 : k];
    }
  }
}

}  // namespace lathe::images
