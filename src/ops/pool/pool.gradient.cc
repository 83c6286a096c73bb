// Derivatives of pools.
#include <cstdint>
#include <string>
#include <vector>

#include "gradient/selection.h"
#include "gradient/terms.h"

namespace lathe {
namespace {

/// The numbers of the greatest are an output of it.
void max_pool(Backward& b) {
  Attributes a = b.attributes();
  a.set("storage_order", int64_t{0});
  const auto again = b.add_all("MaxPool", {b.x()}, 2, std::move(a));
  Attributes adding = with("axis", int64_t{0});
  adding.set("reduction", std::string("add"));
  const ValueId sums =
      b.add("ScatterElements",
            {flattened(b, b.zeros_like(b.x())), flattened(b, again[1]), flattened(b, b.gradient())},
            std::move(adding));
  b.give(0, b.shaped_like(sums, b.x()));
}

/// A convolution of each channel with a filter of equal numbers.
void average_pool(Backward& b) {
  const Attributes& a = b.attributes();
  const auto kernel = a.get<std::vector<int64_t>>("kernel_shape", {});
  const size_t n = kernel.size();
  const std::string automatic = a.get<std::string>("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID") b.refuse("explicit pads", "auto_pad " + automatic);
  if (a.get<int64_t>("ceil_mode", 0) != 0) b.refuse("windows within the padded input", "ceil_mode");
  const auto strides = a.get("strides", std::vector<int64_t>(n, 1)),
             dilations = a.get("dilations", std::vector<int64_t>(n, 1));
  const auto pads =
      automatic == "VALID" ? std::vector<int64_t>(2 * n, 0) : a.get("pads", std::vector<int64_t>(2 * n, 0));
  if (b.rank(b.x()) != n + 2) b.refuse("a kernel_shape of the spatial axes", std::to_string(n) + " axes");
  const int64_t channels = b.size(b.x(), 1);
  std::vector<int64_t> filter{channels, 1}, one{1, 1}, missing;
  double area = 1;
  for (size_t k = 0; k < n; ++k) {
    filter.push_back(kernel[k]);
    one.push_back(b.size(b.x(), k + 2));
    area *= static_cast<double>(kernel[k]);
    missing.push_back(one.back() + pads[k] + pads[k + n] - (b.size(b.y(), k + 2) - 1) * strides[k] -
                      (kernel[k] - 1) * dilations[k] - 1);
  }
  const auto ones = [&](const std::vector<int64_t>& shape) {
    return b.add("Expand", {b.number(1, b.x()), b.ints(shape)});
  };
  Attributes windows = with("strides", strides);
  windows.set("dilations", dilations);
  windows.set("pads", pads);
  const Term g{&b, b.gradient()};
  Term share = (1 / area) * g;
  if (a.get<int64_t>("count_include_pad", 0) == 0) {
    filter[0] = 1;
    share = g / Term{&b, b.add("Conv", {ones(one), ones(filter)}, windows)};  // as many as are not padding
    filter[0] = channels;
  }
  windows.set("group", channels);
  windows.set("output_padding", std::move(missing));
  b.give(0, b.add("ConvTranspose", {share.id, ones(filter)}, std::move(windows)));
}
void global_average_pool(Backward& b) {
  give_expanded(b, gradient_of_mean(b, {&b, b.gradient()}, {&b, b.x()}, {&b, b.y()}));
}
void global_max_pool(Backward& b) {
  const Term x{&b, b.x()}, y{&b, b.y()};
  const Term is{&b, b.add("CastLike", {call("Equal", x, y).id, x.id})};
  const Term ties{&b, b.add("ReduceSum", {is.id, b.ints(spatial_axes(b))}, with("keepdims", int64_t{1}))};
  b.give(0, (Term{&b, b.gradient()} * is / ties).id);
}

}  // namespace

void gradient_pool(GradientTable& t) {
  t["MaxPool"] = max_pool;
  t["AveragePool"] = average_pool;
  t["GlobalAveragePool"] = global_average_pool;
  t["GlobalMaxPool"] = global_max_pool;
}

}  // namespace lathe
