// The derivative of Conv.
#include <cstdint>
#include <vector>

#include "gradient/convolution.h"

namespace lathe {
namespace {

void conv(Backward& b) {
  const ConvWindows w(b);
  if (b.wants(0)) {
    Attributes a = w.attributes();
    std::vector<int64_t> missing;
    for (size_t k = 0; k < w.axes(); ++k) {
      const int64_t out = b.size(b.y(), k + 2), kernel = (b.size(b.x(1), k + 2) - 1) * w.dilations[k] + 1;
      missing.push_back(b.size(b.x(0), k + 2) + w.pads[k] + w.pads[k + w.axes()] - (out - 1) * w.strides[k] -
                        kernel);
    }
    a.set("output_padding", std::move(missing));
    b.give(0, b.add("ConvTranspose", {b.gradient(), b.x(1)}, std::move(a)));
  }
  if (b.wants(1)) b.give(1, filter_gradient(b, w, b.x(0), b.gradient(), b.x(1)));
  if (b.wants(2)) b.give(2, bias_gradient(b, w.axes()));
}

}  // namespace

void gradient_conv(GradientTable& t) { t["Conv"] = conv; }

}  // namespace lathe
