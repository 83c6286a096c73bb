#include "ops/image/image.h"

#include <exception>

#include "base/component.h"
#include "kernel/kernel.h"

namespace lathe {
namespace {

/// The greatest memory for one picture, its pixels and its decoding: headers of some bytes can claim any
/// size.
constexpr uint64_t max_bytes = uint64_t{512} << 20;

/// The callbacks of the component; exceptions are rethrown after it has returned.
struct Caller {
  KernelContext& context;
  int64_t channels;
  std::exception_ptr thrown = {};

  static uint8_t* allocate(void* self, int64_t height, int64_t width) {
    auto& me = *static_cast<Caller*>(self);
    try {
      return static_cast<uint8_t*>(
          me.context.out(0, DataType::uint8, Shape{height, width, me.channels}).data());
    } catch (...) {
      me.thrown = std::current_exception();
      return nullptr;
    }
  }
  static bool go_on(void* self) {
    auto& me = *static_cast<Caller*>(self);
    try {
      me.context.poll();
      return true;
    } catch (...) {
      me.thrown = std::current_exception();
      return false;
    }
  }
};

void decode_image(const ImageDecoder& op, KernelContext& c) {
  const auto& images = require_component<ImagesTable>("images");
  const Tensor& file = c.in(0);
  const PixelFormat format = *op.format();
  Caller caller{c, format == PixelFormat::grayscale ? 1 : 3};
  ImageCall call{.file = static_cast<const uint8_t*>(file.data()),
                 .bytes = file.bytes(),
                 .format = format,
                 .max_bytes = max_bytes,
                 .caller = &caller,
                 .allocate = Caller::allocate,
                 .go_on = Caller::go_on};
  const ImageAnswer answer = images.decode(&call);
  if (caller.thrown) std::rethrow_exception(caller.thrown);
  const std::string form = call.form, why = call.why;
  switch (answer) {
    case ImageAnswer::decoded:
      return;
    case ImageAnswer::not_an_image:
    case ImageAnswer::damaged:
    case ImageAnswer::unsupported:
      // The standard requires an empty picture instead. Pixels that were decoded before the damage are
      // dropped.
      c.set(0, Tensor(DataType::uint8, Shape{0, 0, caller.channels}));
      return;
    case ImageAnswer::left_out:
      c.fail(Code::component_absent, "a component 'images' that decodes " + form, "one without it",
             "install " + why + " and build the component again");
    case ImageAnswer::too_large:
      c.fail(Code::run_too_large,
             "a picture that takes at most " + std::to_string(max_bytes >> 20) + " MiB to decode", why,
             "make the picture smaller");
    case ImageAnswer::stopped:
      break;
  }
  c.fail(Code::internal, "a picture that is decoded until the caller stops it",
         "a decoder of " + form + " that gave up");
}

}  // namespace

void reference_image(KernelCatalog& k) {
  k.reference<ImageDecoder>("ImageDecoder", decode_image);
  k.needs("ImageDecoder", "images");
}

}  // namespace lathe
