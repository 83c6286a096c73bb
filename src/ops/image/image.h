// ImageDecoder: the bytes of a picture file → [height, width, channels], both sizes found out by decoding.
#pragma once

#include <optional>
#include <string>

#include "components/images.h"
#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct ImageDecoder {
  std::string pixel_format = "RGB";
  void fields(auto&& f) { f("pixel_format", pixel_format); }
  std::optional<PixelFormat> format() const {
    for (size_t i = 0; i < std::size(pixel_format_names); ++i)
      if (pixel_format == pixel_format_names[i]) return static_cast<PixelFormat>(i);
    return std::nullopt;
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (!format())
      c.fail(Code::node_bad_attribute, "pixel_format to be RGB, BGR or Grayscale", "'" + pixel_format + "'",
             {});
    c.require(c.rank(0) == 1, "the bytes of one file, of shape [bytes]", c.text(c.shape(0)));
    const auto height = c.data_dependent(), width = c.data_dependent();
    if (height && width) c.output(0, {*height, *width, D(*format() == PixelFormat::grayscale ? 1 : 3)});
  }
};

}  // namespace lathe
