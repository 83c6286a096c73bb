// Convolutions and pools.
#include "lathe/nn/layers.h"
#include "nn/access.h"

namespace lathe::nn {
namespace {

/// One number for each of `axes`.
std::vector<int64_t> each(const std::vector<int64_t>& v, size_t axes, const char* what) {
  if (v.size() == axes) return v;
  if (v.size() == 1) return std::vector<int64_t>(axes, v[0]);
  throw detail::fault(Code::bad_argument, "",
                      std::string(what) + " of 1 or " + std::to_string(axes) + " numbers",
                      std::to_string(v.size()));
}

/// Before and behind.
std::vector<int64_t> both_sides(std::vector<int64_t> padding) {
  const std::vector<int64_t> once = padding;
  padding.insert(padding.end(), once.begin(), once.end());
  return padding;
}

int64_t part(int64_t channels, int64_t groups) {
  if (groups < 1 || channels % groups != 0)
    throw detail::fault(Code::bad_argument, "",
                        "groups that divide " + std::to_string(channels) + " channels",
                        std::to_string(groups));
  return channels / groups;
}

Shape kernel(int64_t first, int64_t second, const std::vector<int64_t>& window) {
  Shape s{first, second};
  for (int64_t w : window) s.push_back(w);
  return s;
}

size_t spatial_axes(const TensorRef& x, const char* what) {
  if (x.rank() < 3) throw detail::fault(Code::node_bad_shape, what, "x [N, C, spatial…]", x.type());
  return x.rank() - 2;
}

}  // namespace

template <size_t Axes>
Conv<Axes>::Conv(int64_t in, int64_t out, const std::vector<int64_t>& window, const ConvOptions& o)
    : options_(o) {
  part(out, o.groups);
  weight = Parameter(DataType::float32, kernel(out, part(in, o.groups), each(window, Axes, "a window")));
  if (o.bias) bias = Parameter(DataType::float32, {out});
  options_.stride = each(o.stride, Axes, "a stride");
  options_.padding = each(o.padding, Axes, "a padding");
  options_.dilation = each(o.dilation, Axes, "a dilation");
}

template <size_t Axes>
TensorRef Conv<Axes>::operator()(const TensorRef& x) const {
  if (auto y = substituted(x)) return *y;
  const Ops o(*this, x);
  const Shape& w = weight.shape();
  return o.op("Conv", {x, o.use(weight), bias ? o.use(bias) : TensorRef()},
              {{"kernel_shape", std::vector<int64_t>(w.begin() + 2, w.end())},
               {"strides", options_.stride},
               {"pads", both_sides(options_.padding)},
               {"dilations", options_.dilation},
               {"group", options_.groups}});
}

template class LATHE_API Conv<1>;
template class LATHE_API Conv<2>;
template class LATHE_API Conv<3>;

ConvTranspose2d::ConvTranspose2d(int64_t in, int64_t out, const std::vector<int64_t>& window,
                                 const ConvTransposeOptions& o)
    : options_(o) {
  part(in, o.groups);
  weight = Parameter(DataType::float32, kernel(in, part(out, o.groups), each(window, 2, "a window")));
  if (o.bias) bias = Parameter(DataType::float32, {out});
  options_.stride = each(o.stride, 2, "a stride");
  options_.padding = each(o.padding, 2, "a padding");
  options_.output_padding = each(o.output_padding, 2, "an output padding");
  options_.dilation = each(o.dilation, 2, "a dilation");
}

TensorRef ConvTranspose2d::operator()(const TensorRef& x) const {
  if (auto y = substituted(x)) return *y;
  const Ops o(*this, x);
  const Shape& w = weight.shape();
  return o.op("ConvTranspose", {x, o.use(weight), bias ? o.use(bias) : TensorRef()},
              {{"kernel_shape", std::vector<int64_t>(w.begin() + 2, w.end())},
               {"strides", options_.stride},
               {"pads", both_sides(options_.padding)},
               {"output_padding", options_.output_padding},
               {"dilations", options_.dilation},
               {"group", options_.groups}});
}

namespace {

Attributes pool_attributes(const std::vector<int64_t>& window, const PoolOptions& o, size_t axes) {
  const std::vector<int64_t> size = each(window, axes, "a window");
  return {{"kernel_shape", size},
          {"strides", o.stride.empty() ? size : each(o.stride, axes, "a stride")},
          {"pads", both_sides(each(o.padding, axes, "a padding"))},
          {"ceil_mode", int64_t{o.round_up}}};
}

}  // namespace

TensorRef MaxPool::operator()(const TensorRef& x) const {
  if (auto y = substituted(x)) return *y;
  const size_t axes = spatial_axes(x, "MaxPool");
  Attributes a = pool_attributes(window_, options_, axes);
  a.emplace_back("dilations", each(options_.dilation, axes, "a dilation"));
  return Ops(*this, x).op("MaxPool", {x}, a);
}

TensorRef AvgPool::operator()(const TensorRef& x) const {
  if (auto y = substituted(x)) return *y;
  const size_t axes = spatial_axes(x, "AvgPool");
  Attributes a = pool_attributes(window_, options_, axes);
  a.emplace_back("count_include_pad", int64_t{options_.count_padding});
  const std::vector<int64_t> dilation = each(options_.dilation, axes, "a dilation");
  // The attribute is left out if it has no effect, because opset 18 has no dilated averages.
  if (dilation != std::vector<int64_t>(axes, 1)) a.emplace_back("dilations", dilation);
  return Ops(*this, x).op("AveragePool", {x}, a);
}

TensorRef GlobalAvgPool::operator()(const TensorRef& x) const {
  if (auto y = substituted(x)) return *y;
  return Ops(*this, x).op("GlobalAveragePool", {x});
}

}  // namespace lathe::nn
