// PNG, through libpng: any color type and depth, interlaced or not. Sixteen bits lose the lower eight; alpha
// is dropped.
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "components/images/canvas.h"

namespace lathe::images {
namespace {

struct Png {
  png_structp png = nullptr;
  png_infop info = nullptr;
  const uint8_t* next = nullptr;
  size_t left = 0;
  std::jmp_buf jump;
  char text[200] = {};

  ~Png() { png_destroy_read_struct(&png, &info, nullptr); }

  [[noreturn]] static void leave(png_structp p, png_const_charp what) {
    auto& me = *static_cast<Png*>(png_get_error_ptr(p));
    std::snprintf(me.text, sizeof me.text, "%s", what);
    std::longjmp(me.jump, 1);
  }
  static void ignore(png_structp, png_const_charp) {}
  static void read(png_structp p, png_bytep to, size_t n) {
    auto& me = *static_cast<Png*>(png_get_io_ptr(p));
    if (n > me.left) png_error(p, "ends before its last row");
    std::memcpy(to, me.next, n);
    me.next += n;
    me.left -= n;
  }
};

/// The library leaves by longjmp, past nothing that has a destructor.
template <class F>
void call(Png& p, F f) {
  static_assert(std::is_trivially_destructible_v<F>);
  if (setjmp(p.jump) == 0)
    f();
  else
    damaged(p.text);
}

}  // namespace

void decode_png(std::span<const uint8_t> file, Canvas& canvas) {
  Png p;
  p.next = file.data();
  p.left = file.size();
  call(p, [&p] {
    p.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &p, Png::leave, Png::ignore);
    if (p.png) p.info = png_create_info_struct(p.png);
  });
  if (!p.png || !p.info) throw Failure{ImageAnswer::too_large, "more than there is memory for"};
  call(p, [&p] {
    png_set_read_fn(p.png, &p, Png::read);
    png_read_info(p.png, p.info);
  });
  canvas.open(png_get_image_width(p.png, p.info), png_get_image_height(p.png, p.info));
  int passes = 1;
  call(p, [&p, &passes] {
    png_set_expand(p.png);  // palettes, and grays of less than a byte
    png_set_strip_16(p.png);
    png_set_gray_to_rgb(p.png);
    png_set_strip_alpha(p.png);
    passes = png_set_interlace_handling(p.png);
    png_read_update_info(p.png, p.info);
  });
  if (png_get_rowbytes(p.png, p.info) != canvas.stride())
    damaged("rows of another length than its header has");
  // Each pass fills pixels between those of the passes before.
  for (int pass = 0; pass < passes; ++pass)
    for (size_t y = 0; y < canvas.height(); ++y) {
      if (y % 16 == 0) canvas.poll();
      uint8_t* row = canvas.row(y);
      call(p, [&p, row] { png_read_row(p.png, row, nullptr); });
    }
}

}  // namespace lathe::images
