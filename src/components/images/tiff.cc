// TIFF, through libtiff: the first directory, in whatever the library turns into red, green and blue. Alpha
// is dropped.
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>

#include "components/images/canvas.h"

namespace lathe::images {
namespace {

/// The file that the library reads, and its last error message.
struct Source {
  std::span<const uint8_t> file;
  size_t at = 0;
  char text[200] = {};

  static Source& of(thandle_t h) { return *static_cast<Source*>(h); }
  static tmsize_t read(thandle_t h, void* to, tmsize_t n) {
    Source& s = of(h);
    const size_t got = std::min(static_cast<size_t>(std::max<tmsize_t>(n, 0)), s.file.size() - s.at);
    std::memcpy(to, s.file.data() + s.at, got);
    s.at += got;
    return static_cast<tmsize_t>(got);
  }
  static tmsize_t write(thandle_t, void*, tmsize_t) { return 0; }
  static toff_t seek(thandle_t h, toff_t to, int whence) {
    Source& s = of(h);
    const uint64_t from = whence == SEEK_CUR ? s.at : whence == SEEK_END ? s.file.size() : 0;
    s.at = static_cast<size_t>(std::min<uint64_t>(from + to, s.file.size()));
    return s.at;
  }
  static int close(thandle_t) { return 0; }
  static toff_t size(thandle_t h) { return of(h).file.size(); }
  static int map(thandle_t h, void** base, toff_t* size) {
    *base = const_cast<uint8_t*>(of(h).file.data());
    *size = of(h).file.size();
    return 1;
  }
  static void unmap(thandle_t, void*, toff_t) {}
  /// The first complaint is the cause. Nothing is printed.
  static int complain(TIFF*, void* me, const char*, const char* format, va_list list) {
    auto& s = *static_cast<Source*>(me);
    if (!s.text[0]) std::vsnprintf(s.text, sizeof s.text, format, list);
    return 1;
  }
  static int ignore(TIFF*, void*, const char*, const char*, va_list) { return 1; }
};

struct Close {
  void operator()(TIFF* t) const { TIFFClose(t); }
  void operator()(TIFFOpenOptions* o) const { TIFFOpenOptionsFree(o); }
};

/// The library's own buffers: one strip or tile at a time.
constexpr tmsize_t max_at_once = tmsize_t{128} << 20;

}  // namespace

void decode_tiff(std::span<const uint8_t> file, Canvas& canvas) {
  Source source{file};
  const std::unique_ptr<TIFFOpenOptions, Close> options(TIFFOpenOptionsAlloc());
  if (!options) throw Failure{ImageAnswer::too_large, "more than there is memory for"};
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), max_at_once);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), Source::complain, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), Source::ignore, nullptr);
  const std::unique_ptr<TIFF, Close> tiff(
      TIFFClientOpenExt("picture", "r", &source, Source::read, Source::write, Source::seek, Source::close,
                        Source::size, Source::map, Source::unmap, options.get()));
  const auto why = [&] { return source.text[0] ? std::string(source.text) : std::string("cannot be read"); };
  if (!tiff) damaged(why());
  uint32_t width = 0, height = 0;
  TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height);
  char reason[1024] = {};
  if (!TIFFRGBAImageOK(tiff.get(), reason)) unsupported(reason);
  canvas.open(width, height, 4);
  canvas.poll();
  std::vector<uint32_t> raster(canvas.width() * canvas.height());
  // It stops at the first error, having turned rows as the file asks.
  if (!TIFFReadRGBAImageOriented(tiff.get(), width, height, raster.data(), ORIENTATION_TOPLEFT, 1))
    damaged(why());
  for (size_t y = 0; y < canvas.height(); ++y) {
    uint8_t* to = canvas.row(y);
    for (size_t x = 0; x < canvas.width(); ++x) {
      const uint32_t pixel = raster[y * canvas.width() + x];
      to[3 * x] = static_cast<uint8_t>(TIFFGetR(pixel));
      to[3 * x + 1] = static_cast<uint8_t>(TIFFGetG(pixel));
      to[3 * x + 2] = static_cast<uint8_t>(TIFFGetB(pixel));
    }
  }
}

}  // namespace lathe::images
