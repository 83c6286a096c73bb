// Derivatives of products and convolutions.
#include <algorithm>

#include "gradient/backward.h"

namespace lathe {
namespace {

ValueId transposed(Backward& b, ValueId v) {
  if (b.rank(v) < 2) b.refuse("factors of rank 1 or more", "a scalar");
  std::vector<int64_t> perm;
  for (size_t k = 0; k < b.rank(v); ++k) perm.push_back(static_cast<int64_t>(k));
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return b.add("Transpose", {v}, with("perm", std::move(perm)));
}

void matmul(Backward& b) {
  const bool row = b.rank(b.x(0)) == 1, column = b.rank(b.x(1)) == 1;
  ValueId g = b.gradient();
  if (column) g = b.add("Unsqueeze", {g, b.ints({-1})});
  if (row) g = b.add("Unsqueeze", {g, b.ints({-2})});
  if (b.wants(0)) {
    const ValueId right = column ? b.add("Unsqueeze", {b.x(1), b.ints({0})}) : transposed(b, b.x(1));
    b.give_broadcast(0, b.add("MatMul", {g, right}));
  }
  if (b.wants(1)) {
    const ValueId left = row ? b.add("Unsqueeze", {b.x(0), b.ints({1})}) : transposed(b, b.x(0));
    ValueId product = b.add("MatMul", {left, g});
    if (column) product = b.add("Squeeze", {product, b.ints({-1})});
    b.give_broadcast(1, product);
  }
}

void gemm(Backward& b) {
  const float alpha = b.attributes().get("alpha", 1.0f), beta = b.attributes().get("beta", 1.0f);
  const bool ta = b.attributes().get<int64_t>("transA", 0) != 0,
             tb = b.attributes().get<int64_t>("transB", 0) != 0;
  const auto product = [&](ValueId left, bool turned_left, ValueId right, bool turned_right) {
    Attributes a = with("alpha", alpha);
    a.set("transA", int64_t{turned_left});
    a.set("transB", int64_t{turned_right});
    return b.add("Gemm", {left, right}, std::move(a));
  };
  const ValueId g = b.gradient();
  if (b.wants(0)) b.give(0, ta ? product(b.x(1), tb, g, true) : product(g, false, b.x(1), !tb));
  if (b.wants(1)) b.give(1, tb ? product(g, true, b.x(0), ta) : product(b.x(0), !ta, g, false));
  if (b.wants(2)) b.give_broadcast(2, (double{beta} * Term{&b, g}).id);
}

/// The attributes that both convolutions have, written out.
struct Windows {
  std::vector<int64_t> strides, dilations, pads;
  int64_t group = 1;

  explicit Windows(const Backward& b) : group(b.attributes().get<int64_t>("group", 1)) {
    // Of known ranks, so that inference has looked at what the attributes say.
    if (b.rank(b.x(0)) < 3 || b.rank(b.x(1)) != b.rank(b.x(0)))
      b.refuse("filters of the data's rank", "others");
    const size_t axes = b.rank(b.x(1)) - 2;
    const std::string automatic = b.attributes().get<std::string>("auto_pad", "NOTSET");
    if (automatic != "NOTSET" && automatic != "VALID") b.refuse("explicit pads", "auto_pad " + automatic);
    strides = b.attributes().get("strides", std::vector<int64_t>(axes, 1));
    dilations = b.attributes().get("dilations", std::vector<int64_t>(axes, 1));
    pads = automatic == "VALID" ? std::vector<int64_t>(2 * axes, 0)
                                : b.attributes().get("pads", std::vector<int64_t>(2 * axes, 0));
  }
  size_t axes() const { return strides.size(); }
  Attributes attributes() const {
    Attributes a = with("strides", strides);
    a.set("dilations", dilations);
    a.set("pads", pads);
    a.set("group", group);
    return a;
  }
};

/// Of W [few's channels, many's / group, kernel …], between many [N, C, in …] and few [N, M, out …]: each of
/// its elements is a product of the two over the batch and all places, which is a convolution whose filter is
/// `few`, batch and channels exchanged, steps and dilations too.
ValueId of_filter(Backward& b, const Windows& w, ValueId many, ValueId few, ValueId filter) {
  const size_t n = w.axes();
  std::vector<int64_t> apart{-1, w.group, b.size(many, 1) / w.group}, turned{2, 1, 0},
      joined{b.size(many, 1) / w.group, -1};
  std::vector<int64_t> exchange{1, 0};
  for (size_t k = 0; k < n; ++k) {
    apart.push_back(b.size(many, k + 2));
    joined.push_back(b.size(many, k + 2));
    turned.push_back(static_cast<int64_t>(k) + 3);
    exchange.push_back(static_cast<int64_t>(k) + 2);
  }
  // [C / group, group * N, in …] and [M, N, out …].
  const ValueId grouped = b.add("Transpose", {b.add("Reshape", {many, b.ints(apart)})}, with("perm", turned));
  const ValueId data = b.add("Reshape", {grouped, b.ints(joined)});
  Attributes a = with("strides", w.dilations);
  a.set("dilations", w.strides);
  a.set("pads", w.pads);
  a.set("group", w.group);
  const ValueId wide = b.add("Conv", {data, b.add("Transpose", {few}, with("perm", exchange))}, std::move(a));
  // What the last step of a window did not reach makes it longer than the kernel.
  std::vector<int64_t> begin(n, 0), end, axes;
  for (size_t k = 0; k < n; ++k) {
    end.push_back(b.size(filter, k + 2));
    axes.push_back(static_cast<int64_t>(k) + 2);
  }
  const ValueId cut = b.add("Slice", {wide, b.ints(begin), b.ints(end), b.ints(axes)});
  return b.add("Transpose", {cut}, with("perm", exchange));
}

ValueId of_bias(Backward& b, size_t axes) {
  std::vector<int64_t> all{0};
  for (size_t k = 0; k < axes; ++k) all.push_back(static_cast<int64_t>(k) + 2);
  return b.add("ReduceSum", {b.gradient(), b.ints(all)}, with("keepdims", int64_t{0}));
}

void conv(Backward& b) {
  const Windows w(b);
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
  if (b.wants(1)) b.give(1, of_filter(b, w, b.x(0), b.gradient(), b.x(1)));
  if (b.wants(2)) b.give(2, of_bias(b, w.axes()));
}

void conv_transpose(Backward& b) {
  if (b.attributes().has("output_shape")) b.refuse("ConvTranspose with pads", "output_shape");
  const Windows w(b);
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
  if (b.wants(1)) b.give(1, of_filter(b, w, b.gradient(), b.x(0), b.x(1)));
  if (b.wants(2)) b.give(2, of_bias(b, w.axes()));
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

}  // namespace

void add_product_rules(RuleTable& t) {
  t["MatMul"] = matmul;
  t["Gemm"] = gemm;
  t["Conv"] = conv;
  t["AveragePool"] = average_pool;
  t["ConvTranspose"] = conv_transpose;
}

}  // namespace lathe
