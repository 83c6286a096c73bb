// JPEG, through libjpeg-turbo as it comes: accurate integer transform, "fancy" upsampling, as the standard
// asks for.
#include <csetjmp>
#include <cstdio>
#include <string>
#include <type_traits>

// These need the headers before them.
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "components/images/canvas.h"

namespace lathe::images {
namespace {

/// The library leaves by longjmp: it may only be entered through `call`, below.
struct Errors {
  jpeg_error_mgr manager;  // first: the library hands back a pointer to it
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX];

  static Errors& of(j_common_ptr c) { return *reinterpret_cast<Errors*>(c->err); }
  [[noreturn]] static void leave(j_common_ptr c) {
    c->err->format_message(c, of(c).text);
    std::longjmp(of(c).jump, 1);
  }
  /// The library goes on after these, with gray where pixels are missing.
  static void warn(j_common_ptr c, int level) {
    if (level >= 0) return;
    switch (c->err->msg_code) {
      case JWRN_JPEG_EOF:
      case JWRN_HIT_MARKER:
      case JWRN_HUFF_BAD_CODE:
      case JWRN_ARITH_BAD_CODE:
      case JWRN_MUST_RESYNC:
        leave(c);
      default:
        ++c->err->num_warnings;
    }
  }
};

/// Asked for every row of blocks of every scan.
struct Progress {
  jpeg_progress_mgr manager;  // first
  const Canvas* canvas;
};

struct Jpeg {
  jpeg_decompress_struct d{};
  Errors errors{};
  Progress progress{};
  ~Jpeg() { jpeg_destroy_decompress(&d); }
};

/// f's only way out but returning is the library's longjmp, past nothing that has a destructor.
template <class F>
void call(Jpeg& j, F f) {
  static_assert(std::is_trivially_destructible_v<F>);
  if (setjmp(j.errors.jump) == 0)
    f();
  else
    damaged(j.errors.text);
}

/// Some kilobytes can hold thousands of passes over all of a large picture.
constexpr int max_scans = 200;
void watch(j_common_ptr c) {
  auto* d = reinterpret_cast<j_decompress_ptr>(c);
  const bool too_many = d->input_scan_number > max_scans;
  if (!too_many && reinterpret_cast<Progress*>(c->progress)->canvas->go_on()) return;
  std::snprintf(Errors::of(c).text, JMSG_LENGTH_MAX,
                too_many ? "more than %d scans" : "stopped in one of %d scans", max_scans);
  std::longjmp(Errors::of(c).jump, 1);
}

/// Converts cyan, magenta, yellow and black to RGB. 0 is no ink, or if `inverted`, as Adobe's programs write,
/// full ink.
void from_inks(const uint8_t* inks, uint8_t* rgb, size_t width, bool inverted) {
  for (size_t x = 0; x < width; ++x, inks += 4, rgb += 3)
    for (size_t k = 0; k < 3; ++k) {
      const unsigned light = inverted ? inks[k] : 255u - inks[k], paper = inverted ? inks[3] : 255u - inks[3];
      rgb[k] = static_cast<uint8_t>((light * paper + 127) / 255);
    }
}

}  // namespace

void decode_jpeg(std::span<const uint8_t> file, Canvas& canvas) {
  Jpeg j;
  jpeg_decompress_struct* d = &j.d;
  d->err = jpeg_std_error(&j.errors.manager);
  d->err->error_exit = Errors::leave;
  d->err->emit_message = Errors::warn;
  j.progress.manager.progress_monitor = watch;
  j.progress.canvas = &canvas;
  call(j, [&j, d, file] {
    jpeg_create_decompress(d);
    d->progress = &j.progress.manager;
    jpeg_mem_src(d, file.data(), static_cast<unsigned long>(file.size()));
    jpeg_read_header(d, TRUE);
  });
  const bool inks = d->jpeg_color_space == JCS_CMYK || d->jpeg_color_space == JCS_YCCK;
  if (d->jpeg_color_space == JCS_UNKNOWN)
    unsupported(std::to_string(d->num_components) + " components of no known color space");
  // All coefficients of images with several scans are in memory.
  const bool kept = jpeg_has_multiple_scans(d) != FALSE;
  canvas.open(d->image_width, d->image_height, kept ? 2 * static_cast<uint64_t>(d->num_components) : 0);
  d->out_color_space = inks ? JCS_CMYK : JCS_RGB;
  call(j, [d] { jpeg_start_decompress(d); });
  if (d->output_width != canvas.width() || d->output_height != canvas.height())
    damaged("another size than its header has");
  std::vector<uint8_t> line(inks ? canvas.width() * 4 : 0);
  for (size_t y = 0; y < canvas.height(); ++y) {
    if (y % 16 == 0) canvas.poll();
    uint8_t* row = inks ? line.data() : canvas.row(y);
    call(j, [d, row] {
      JSAMPROW rows[1] = {row};
      jpeg_read_scanlines(d, rows, 1);
    });
    if (inks) from_inks(line.data(), canvas.row(y), canvas.width(), d->saw_Adobe_marker != FALSE);
  }
  call(j, [d] { jpeg_finish_decompress(d); });
}

}  // namespace lathe::images
