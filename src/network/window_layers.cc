// Convolutions, pooling, local response normalization.
#include "network/maker.h"

namespace lathe {
namespace {

/// strides, dilations, pads and auto_pad, as Conv, ConvTranspose and the pools all have them.
template <class Options>
Attrs window_attributes(const LayerMaker& m, const Options& o) {
  if (o.pre_padding.size() != o.post_padding.size() && !o.pre_padding.empty() && !o.post_padding.empty())
    m.fail(Code::node_bad_attribute, "as many numbers in post_padding as in pre_padding",
           std::to_string(o.post_padding.size()) + " and " + std::to_string(o.pre_padding.size()));
  std::vector<int64_t> pads = o.pre_padding, post = o.post_padding;
  pads.resize(std::max(pads.size(), post.size()), 0);
  post.resize(pads.size(), 0);
  pads.insert(pads.end(), post.begin(), post.end());
  Attrs a;
  a.ints("strides", o.stride).ints("dilations", o.dilation);
  switch (o.padding_mode) {
    case PaddingMode::explicit_pads:
      return a.ints("pads", pads);
    case PaddingMode::same_upper:
      a.text("auto_pad", "SAME_UPPER");
      break;
    case PaddingMode::same_lower:
      a.text("auto_pad", "SAME_LOWER");
      break;
    case PaddingMode::valid:
      a.text("auto_pad", "VALID");
      break;
  }
  if (!pads.empty())
    m.fail(Code::node_bad_attribute, "no pads, since padding_mode finds them", "pre_padding or post_padding",
           "use PaddingMode::explicit_pads");
  return a;
}

ValueId pool(LayerMaker& m, ValueId x, bool max, const PoolingOptions& o) {
  if (o.window.empty()) {
    if (!o.stride.empty() || !o.pre_padding.empty() || !o.post_padding.empty() || !o.dilation.empty())
      m.fail(Code::node_bad_attribute, "a window", "none, but strides, pads or dilations",
             "leave them out to pool over all of each axis");
    return m.op(max ? "GlobalMaxPool" : "GlobalAveragePool", {x});
  }
  Attrs a = window_attributes(m, o);
  a.ints("kernel_shape", o.window);
  if (o.round_up) a.number("ceil_mode", 1);
  if (!max && !o.average_count_excludes_padding) a.number("count_include_pad", 1);
  return m.op(max ? "MaxPool" : "AveragePool", {x}, a);
}

}  // namespace

Layer Network::add_convolution(const TensorRef& x, const TensorRef& kernel, const TensorRef& bias,
                               const ConvolutionOptions& o) {
  LayerMaker m(*this, "convolution", o.name);
  m.made_by("add_convolution", x, kernel, bias, o);
  Attrs a = window_attributes(m, o);
  if (o.groups != 1) a.number("group", o.groups);
  return m.finish(m.op("Conv", {m.use(x), m.use(kernel), m.use_if(bias)}, a));
}

Layer Network::add_deconvolution(const TensorRef& x, const TensorRef& kernel, const TensorRef& bias,
                                 const DeconvolutionOptions& o) {
  LayerMaker m(*this, "deconvolution", o.name);
  m.made_by("add_deconvolution", x, kernel, bias, o);
  Attrs a = window_attributes(m, o);
  a.ints("output_padding", o.output_padding);
  if (o.groups != 1) a.number("group", o.groups);
  return m.finish(m.op("ConvTranspose", {m.use(x), m.use(kernel), m.use_if(bias)}, a));
}

Layer Network::add_fully_connected(const TensorRef& x, const TensorRef& kernel, const TensorRef& bias,
                                   const FullyConnectedOptions& o) {
  LayerMaker m(*this, "fully_connected", o.name);
  m.made_by("add_fully_connected", x, kernel, bias, o);
  const ValueId flat = m.op("Flatten", {m.use(x)}, Attrs().number("axis", o.axis));
  return m.finish(m.op("Gemm", {flat, m.use(kernel), m.use_if(bias)}, Attrs().number("transB", 1)));
}

Layer Network::add_pooling(const TensorRef& x, PoolingType type, const PoolingOptions& o) {
  LayerMaker m(*this, "pooling", o.name);
  m.made_by("add_pooling", x, type, o);
  const ValueId v = m.use(x);
  if (type != PoolingType::max_average_blend) return m.finish(pool(m, v, type == PoolingType::max, o));
  const ValueId most = pool(m, v, true, o), mean = pool(m, v, false, o);
  const DataType t = m.type(v);
  return m.finish(m.op("Add", {m.op("Mul", {most, m.scalar(t, 1 - o.blend_factor)}),
                               m.op("Mul", {mean, m.scalar(t, o.blend_factor)})}));
}

Layer Network::add_lrn(const TensorRef& x, const LrnOptions& o) {
  LayerMaker m(*this, "lrn", o.name);
  m.made_by("add_lrn", x, o);
  const Attrs a =
      Attrs().number("size", o.window).with("alpha", o.alpha).with("beta", o.beta).with("bias", o.k);
  return m.finish(m.op("LRN", {m.use(x)}, a));
}

}  // namespace lathe
