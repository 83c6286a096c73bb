// The component "images": which form a file is of, and who decodes it.
#include "components/images.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "components/images/canvas.h"

namespace lathe::images {
namespace {

using File = std::span<const uint8_t>;

bool begins(File file, std::string_view with, size_t at = 0) {
  return file.size() >= at + with.size() && std::memcmp(file.data() + at, with.data(), with.size()) == 0;
}
bool is_pnm(File f) {
  return f.size() >= 3 && f[0] == 'P' && f[1] >= '1' && f[1] <= '7' && (f[2] <= ' ' || f[2] == '#');
}
bool is_bmp(File f) { return begins(f, "BM"); }
bool is_jpeg(File f) { return begins(f, "\xff\xd8\xff"); }
bool is_png(File f) { return begins(f, "\x89PNG\r\n\x1a\n"); }
bool is_webp(File f) { return begins(f, "RIFF") && begins(f, "WEBP", 8); }
bool is_tiff(File f) {
  using namespace std::literals;
  return begins(f, "II*\0"sv) || begins(f, "MM\0*"sv) || begins(f, "II+\0"sv) || begins(f, "MM\0+"sv);
}
/// In a JP2 box, or the codestream alone.
bool is_jpeg2000(File f) {
  using namespace std::literals;
  return begins(f, "\0\0\0\x0cjP  \r\n\x87\n"sv) || begins(f, "\xff\x4f\xff\x51");
}

struct Form {
  const char* name;
  bool (*is)(File);
  Decode* decode;       // null: left out of this build
  const char* package;  // that it needs
};
#if LATHE_HAS_JPEG
constexpr Decode* jpeg = decode_jpeg;
#else
constexpr Decode* jpeg = nullptr;
#endif
#if LATHE_HAS_PNG
constexpr Decode* png = decode_png;
#else
constexpr Decode* png = nullptr;
#endif
#if LATHE_HAS_WEBP
constexpr Decode* webp = decode_webp;
#else
constexpr Decode* webp = nullptr;
#endif
#if LATHE_HAS_TIFF
constexpr Decode* tiff = decode_tiff;
#else
constexpr Decode* tiff = nullptr;
#endif
#if LATHE_HAS_JPEG2000
constexpr Decode* jpeg2000 = decode_jpeg2000;
#else
constexpr Decode* jpeg2000 = nullptr;
#endif

constexpr Form forms[] = {
    {"bmp", is_bmp, decode_bmp, ""},
    {"pnm", is_pnm, decode_pnm, ""},
    {"jpeg", is_jpeg, jpeg, "libjpeg-dev"},
    {"png", is_png, png, "libpng-dev"},
    {"webp", is_webp, webp, "libwebp-dev"},
    {"tiff", is_tiff, tiff, "libtiff-dev"},
    {"jpeg2000", is_jpeg2000, jpeg2000, "libopenjp2-7-dev"},
};

template <size_t n>
void copy_text(char (&to)[n], std::string_view text) {
  const size_t length = std::min(text.size(), n - 1);
  std::copy_n(text.begin(), length, to);
  to[length] = 0;
}

ImageAnswer answer(ImageCall& call) {
  const File file(call.file, call.bytes);
  for (const Form& f : forms) {
    if (!f.is(file)) continue;
    copy_text(call.form, f.name);
    if (!f.decode) throw Failure{ImageAnswer::left_out, f.package};
    Canvas canvas(call);
    f.decode(file, canvas);
    canvas.close();
    return ImageAnswer::decoded;
  }
  std::string why = std::to_string(call.bytes) + " bytes";
  char hex[4];
  for (size_t i = 0; i < std::min<size_t>(call.bytes, 8); ++i) {
    std::snprintf(hex, sizeof hex, " %02x", call.file[i]);
    why += (i == 0 ? " that begin with" : "") + std::string(hex);
  }
  throw Failure{ImageAnswer::not_an_image, why};
}

ImageAnswer decode(ImageCall* call) {
  try {
    return answer(*call);
  } catch (const Failure& f) {
    copy_text(call->why, f.why);
    return f.answer;
  } catch (const std::bad_alloc&) {
    copy_text(call->why, "more than there is memory for");
    return ImageAnswer::too_large;
  } catch (const std::exception& e) {
    copy_text(call->why, e.what());
    return ImageAnswer::damaged;
  }
}

/// "bmp pnm jpeg", and "tiff (libtiff-dev), …".
struct Parts {
  std::string has, lacks;
  Parts() {
    for (const Form& f : forms)
      if (f.decode)
        has += (has.empty() ? "" : " ") + std::string(f.name);
      else
        lacks += (lacks.empty() ? "" : ", ") + std::string(f.name) + " (" + f.package + ")";
  }
};

}  // namespace
}  // namespace lathe::images

extern "C" __attribute__((visibility("default"))) const lathe::ComponentTable* lathe_component() {
  using namespace lathe;
  static const images::Parts parts;
  static const ImagesTable table{{component_abi, "images", parts.has.c_str(), parts.lacks.c_str()},
                                 images::decode};
  return &table.component;
}
