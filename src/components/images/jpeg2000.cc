// JPEG 2000, in a JP2 file or as a codestream, through OpenJPEG: gray, RGB and YCC, with components of any
// depth and of less resolution than the picture. Alpha and color profiles are dropped.
#include <openjpeg.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "components/images/canvas.h"

namespace lathe::images {
namespace {

// The codec and the stream are of one type, void *, as the library declares them.
struct DestroyCodec {
  void operator()(opj_codec_t* c) const { opj_destroy_codec(c); }
};
struct DestroyStream {
  void operator()(opj_stream_t* s) const { opj_stream_destroy(s); }
};
struct DestroyImage {
  void operator()(opj_image_t* i) const { opj_image_destroy(i); }
};

struct Source {
  std::span<const uint8_t> file = {};
  size_t at = 0;
  std::string text;

  static OPJ_SIZE_T read(void* to, OPJ_SIZE_T n, void* me) {
    auto& s = *static_cast<Source*>(me);
    const size_t got = std::min<size_t>(n, s.file.size() - s.at);
    if (got == 0) return static_cast<OPJ_SIZE_T>(-1);
    std::memcpy(to, s.file.data() + s.at, got);
    s.at += got;
    return got;
  }
  static OPJ_OFF_T skip(OPJ_OFF_T n, void* me) {
    auto& s = *static_cast<Source*>(me);
    if (n < 0 || static_cast<uint64_t>(n) > s.file.size() - s.at) return -1;
    s.at += static_cast<size_t>(n);
    return n;
  }
  static OPJ_BOOL seek(OPJ_OFF_T to, void* me) {
    auto& s = *static_cast<Source*>(me);
    if (to < 0 || static_cast<uint64_t>(to) > s.file.size()) return OPJ_FALSE;
    s.at = static_cast<size_t>(to);
    return OPJ_TRUE;
  }
  static void complain(const char* text, void* me) {
    auto& s = *static_cast<Source*>(me);
    if (s.text.empty()) s.text = text;
    while (!s.text.empty() && s.text.back() == '\n') s.text.pop_back();
  }
  static void ignore(const char*, void*) {}
};

/// A sample as a byte: the upper eight bits of more, or stretched from less.
uint8_t byte_of(const opj_image_comp_t& c, size_t i) {
  const int64_t most = (int64_t{1} << c.prec) - 1;
  const int64_t v =
      std::clamp<int64_t>(int64_t{c.data[i]} + (c.sgnd ? int64_t{1} << (c.prec - 1) : 0), 0, most);
  return static_cast<uint8_t>(c.prec >= 8 ? v >> (c.prec - 8) : (v * 255 + most / 2) / most);
}

uint8_t rounded(double v) { return static_cast<uint8_t>(std::clamp(v + 0.5, 0.0, 255.0)); }

}  // namespace

void decode_jpeg2000(std::span<const uint8_t> file, Canvas& canvas) {
  Source source;
  source.file = file;
  const bool boxed = file[0] == 0;
  const std::unique_ptr<opj_codec_t, DestroyCodec> codec(
      opj_create_decompress(boxed ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K));
  const std::unique_ptr<opj_stream_t, DestroyStream> stream(opj_stream_create(65536, OPJ_TRUE));
  if (!codec || !stream) throw Failure{ImageAnswer::too_large, "more than there is memory for"};
  opj_set_info_handler(codec.get(), Source::ignore, nullptr);
  opj_set_warning_handler(codec.get(), Source::ignore, nullptr);
  opj_set_error_handler(codec.get(), Source::complain, &source);
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), file.size());
  opj_stream_set_read_function(stream.get(), Source::read);
  opj_stream_set_skip_function(stream.get(), Source::skip);
  opj_stream_set_seek_function(stream.get(), Source::seek);
  const auto need = [&](bool ok) {
    if (!ok) damaged(source.text.empty() ? "cannot be read" : source.text);
  };
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  need(opj_setup_decoder(codec.get(), &parameters));
  opj_image_t* read = nullptr;
  const bool header = opj_read_header(stream.get(), codec.get(), &read);
  const std::unique_ptr<opj_image_t, DestroyImage> image(read);
  need(header && image);
  if (image->x1 <= image->x0 || image->y1 <= image->y0) damaged("nothing to show");
  const uint64_t width = image->x1 - image->x0, height = image->y1 - image->y0;
  if (image->numcomps == 0 || image->numcomps > 4)
    unsupported(std::to_string(image->numcomps) + " components");
  // Each component is there twice while it is decoded, in four bytes a sample.
  canvas.open(width, height, 8 * uint64_t{image->numcomps});
  canvas.poll();
  need(opj_decode(codec.get(), stream.get(), image.get()) && opj_end_decompress(codec.get(), stream.get()));

  // A palette may have made three components of one.
  const size_t colors = image->numcomps >= 3 ? 3 : 1;
  std::array<const opj_image_comp_t*, 3> planes;
  for (size_t k = 0; k < 3; ++k) {
    const opj_image_comp_t& c = image->comps[k < colors ? k : 0];
    if (!c.data || c.w == 0 || c.h == 0 || c.prec < 1 || c.prec > 31 || c.dx == 0 || c.dy == 0)
      damaged("a component without samples");
    planes[k] = &c;
  }
  const bool ycc = colors == 3 && (image->color_space == OPJ_CLRSPC_SYCC ||
                                   image->color_space == OPJ_CLRSPC_EYCC || planes[1]->dx != planes[0]->dx);
  for (size_t y = 0; y < canvas.height(); ++y) {
    if (y % 64 == 0) canvas.poll();
    uint8_t* to = canvas.row(y);
    for (size_t x = 0; x < canvas.width(); ++x, to += 3) {
      for (size_t k = 0; k < 3; ++k) {
        const opj_image_comp_t& c = *planes[k];
        const size_t cx = std::min<size_t>(x / c.dx, c.w - 1), cy = std::min<size_t>(y / c.dy, c.h - 1);
        to[k] = byte_of(c, cy * c.w + cx);
      }
      if (!ycc) continue;
      const double l = to[0], blue = to[1] - 128.0, red = to[2] - 128.0;
      to[0] = rounded(l + 1.402 * red);
      to[1] = rounded(l - 0.344136 * blue - 0.714136 * red);
      to[2] = rounded(l + 1.772 * blue);
    }
  }
}

}  // namespace lathe::images
