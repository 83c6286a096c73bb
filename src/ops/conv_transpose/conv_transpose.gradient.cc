// The derivative of ConvTranspose.
#include <cstdint>
#include <vector>

#include "gradient/convolution.h"

namespace lathe {
namespace {

void conv_transpose(Backward& b) {
  if (b.attributes().has("output_shape")) b.refuse("ConvTranspose with pads", "output_shape");
  const ConvWindows w(b);
  if (b.wants(0)) {
    // An output that was padded beyond the last window has places that no input reaches.
    const ValueId wide = b.add("Conv", {b.gradient(), b.x(1)}, w.attributes());
    std::vector<int64_t> begin(w.axes(), 0), end, axes;
    for (size_t k = 0; k < w.axes(); ++k) {
      end.push_back(b.size(b.x(0), k + 2));
      axes.push_back(static_cast<int64_t>(k) + 2);
    }
    b.give(0, b.add("Slice", {wide, b.ints(begin), b.ints(end), b.ints(axes)}));
  }
  if (b.wants(1)) b.give(1, filter_gradient(b, w, b.gradient(), b.x(0), b.x(1)));
  if (b.wants(2)) b.give(2, bias_gradient(b, w.axes()));
}

}  // namespace

void gradient_conv_transpose(GradientTable& t) { t["ConvTranspose"] = conv_transpose; }

}  // namespace lathe
