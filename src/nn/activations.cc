// Activations, decomposed into operators that every opset from 13 on has; engines fuse them again.
#include <cmath>
#include <limits>
#include <map>

#include "lathe/nn/layers.h"
#include "nn/access.h"

namespace lathe::nn {

TensorRef gelu(const Ops& o, const TensorRef& x) {
  const TensorRef bell = o.add(o.op("Erf", {o.div(x, std::sqrt(2.0))}), 1);
  return o.mul(o.mul(x, bell), 0.5);
}

TensorRef gelu_tanh(const Ops& o, const TensorRef& x) {
  const TensorRef cubic = o.add(x, o.mul(o.pow(x, 3), 0.044715));
  const TensorRef bell = o.add(o.op("Tanh", {o.mul(cubic, std::sqrt(2 / M_PI))}), 1);
  return o.mul(o.mul(x, 0.5), bell);
}

TensorRef silu(const Ops& o, const TensorRef& x) { return o.mul(x, o.op("Sigmoid", {x})); }

namespace {

Ops unnamed(const TensorRef& x) {
  if (!x) throw detail::fault(Code::bad_argument, "", "a tensor", "none");
  return Ops(NetworkAccess::network(x));
}

using Function = TensorRef (*)(const Ops& o, const TensorRef& x);

const std::map<std::string, Function, std::less<>>& activations() {
  static const std::map<std::string, Function, std::less<>> all = [] {
    std::map<std::string, Function, std::less<>> m;
    m["gelu"] = m["gelu_python"] = [](const Ops& o, const TensorRef& x) { return gelu(o, x); };
    m["gelu_new"] = m["gelu_fast"] = m["gelu_pytorch_tanh"] = m["gelu_accurate"] = gelu_tanh;
    m["gelu_10"] = [](const Ops& o, const TensorRef& x) {
      return o.op("Clip", {gelu(o, x), o.scalar(-10, x), o.scalar(10, x)});
    };
    m["quick_gelu"] = [](const Ops& o, const TensorRef& x) {
      return o.mul(x, o.op("Sigmoid", {o.mul(x, 1.702)}));
    };
    m["silu"] = m["swish"] = [](const Ops& o, const TensorRef& x) { return silu(o, x); };
    m["relu"] = [](const Ops& o, const TensorRef& x) { return o.op("Relu", {x}); };
    m["relu2"] = [](const Ops& o, const TensorRef& x) { return o.pow(o.op("Relu", {x}), 2); };
    m["relu6"] = [](const Ops& o, const TensorRef& x) {
      return o.op("Clip", {x, o.scalar(0, x), o.scalar(6, x)});
    };
    m["leaky_relu"] = [](const Ops& o, const TensorRef& x) {
      return o.op("LeakyRelu", {x}, {{"alpha", 0.01f}});
    };
    m["elu"] = [](const Ops& o, const TensorRef& x) { return o.op("Elu", {x}); };
    m["selu"] = [](const Ops& o, const TensorRef& x) { return o.op("Selu", {x}); };
    m["tanh"] = [](const Ops& o, const TensorRef& x) { return o.op("Tanh", {x}); };
    m["sigmoid"] = [](const Ops& o, const TensorRef& x) { return o.op("Sigmoid", {x}); };
    m["softplus"] = [](const Ops& o, const TensorRef& x) { return o.op("Softplus", {x}); };
    m["mish"] = [](const Ops& o, const TensorRef& x) {
      return o.mul(x, o.op("Tanh", {o.op("Softplus", {x})}));
    };
    m["hardswish"] = [](const Ops& o, const TensorRef& x) { return o.op("HardSwish", {x}); };
    m["hardsigmoid"] = [](const Ops& o, const TensorRef& x) {
      return o.op("HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
    };
    m["linear"] = m["identity"] = [](const Ops&, const TensorRef& x) { return x; };
    return m;
  }();
  return all;
}

Function find_activation(std::string_view name) {
  const auto at = activations().find(name);
  if (at != activations().end()) return at->second;
  std::vector<std::string> known;
  for (const auto& [key, f] : activations()) known.push_back(key);
  const std::string near = detail::near(name, known);
  throw detail::fault(Code::bad_argument, "", "the name of an activation", "'" + std::string(name) + "'",
                      near.empty() ? "there are " + detail::listed(known) : near);
}

}  // namespace

TensorRef relu(const TensorRef& x) { return unnamed(x).op("Relu", {x}); }
TensorRef gelu(const TensorRef& x) { return gelu(unnamed(x), x); }
TensorRef silu(const TensorRef& x) { return silu(unnamed(x), x); }
TensorRef tanh(const TensorRef& x) { return unnamed(x).op("Tanh", {x}); }
TensorRef sigmoid(const TensorRef& x) { return unnamed(x).op("Sigmoid", {x}); }

TensorRef activate(const Ops& o, std::string_view name, const TensorRef& x) {
  return find_activation(name)(o, x);
}

Activation::Activation(std::string name) : name_(std::move(name)) { find_activation(name_); }

TensorRef Activation::operator()(const TensorRef& x) const {
  if (auto y = substituted(x)) return *y;
  return activate(Ops(*this, x), name_, x);
}

}  // namespace lathe::nn
