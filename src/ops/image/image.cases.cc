#include "ops/cases.h"

namespace lathe {

/// Formats that need no library: a map of two pixels, a bitmap of one.
void cases_image(CaseTable& t) {
  const std::vector<uint8_t> map{'P', '6',  ' ', '2', ' ', '1', ' ', '2', '5',
                                 '5', '\n', 10,  20,  200, 255, 0,   128};
  t.add("ImageDecoder", "a portable map")
      .input<uint8_t>({17}, map)
      .expect<uint8_t>({1, 2, 3}, {10, 20, 200, 255, 0, 128});
  t.add("ImageDecoder", "blue first")
      .input<uint8_t>({17}, map)
      .attribute("pixel_format", std::string("BGR"))
      .expect<uint8_t>({1, 2, 3}, {200, 20, 10, 128, 0, 255});
  // (299 R + 587 G + 114 B) / 1000
  t.add("ImageDecoder", "gray")
      .input<uint8_t>({17}, map)
      .attribute("pixel_format", std::string("Grayscale"))
      .expect<uint8_t>({1, 2, 1}, {38, 91});
}

}  // namespace lathe
