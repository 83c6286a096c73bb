// Networks that every runner of tests/network/network_test.cc runs: one or more of every family of layers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lathe/builder.h"
#include "lathe/lathe.h"

namespace lathe::network_cases {

struct NetworkCase {
  std::string name;  // an identifier
  std::function<void(Network&)> build;
  NamedValues inputs = {};                    // others are made up, at the sizes
  std::map<std::string, Value> outputs = {};  // what is known beforehand
  std::map<std::string, int64_t, std::less<>> sizes = {{"N", 2}, {"S", 3}};
  /// True if layers were removed or replaced: their ids stay unused, so the printed network has other ids.
  bool edited = false;

  Network network() const {
    Network n(name);
    build(n);
    return n;
  }
  NamedValues values() const;
  /// True for cases that are printed with a file of weights: they have constants of many sorts, in bodies
  /// too.
  bool printed_with_weights() const {
    for (const char* start :
         {"convolution", "normalization", "quantize", "matrix", "einsum", "loop", "if_", "one_hot"})
      if (name.starts_with(start)) return true;
    return false;
  }
  /// True for cases that are printed as models that were read: they have bodies, several outputs, layers of
  /// several operators.
  bool printed_as_read() const {
    for (const char* start :
         {"loop", "if_", "assertion", "operators", "defaults", "slice_", "topk", "dynamic_"})
      if (name.starts_with(start)) return true;
    return false;
  }
};

const std::vector<NetworkCase>& all_cases();

// The families, a file each.
std::vector<NetworkCase> element_cases();
std::vector<NetworkCase> compute_cases();
std::vector<NetworkCase> movement_cases();
std::vector<NetworkCase> control_cases();
std::vector<NetworkCase> option_cases();
std::vector<NetworkCase> edited_cases();
std::vector<NetworkCase> module_cases();

template <class T>
Tensor tensor(Shape shape, std::vector<T> v) {
  return Tensor::from<T>(std::move(shape), v);
}
inline Tensor floats(Shape shape, std::vector<float> v) {
  return tensor<float>(std::move(shape), std::move(v));
}
inline Tensor longs(Shape shape, std::vector<int64_t> v) {
  return tensor<int64_t>(std::move(shape), std::move(v));
}
inline Tensor bools(Shape shape, std::vector<bool> v) { return tensor<bool>(std::move(shape), std::move(v)); }
/// Made up, the same every time.
inline Tensor weights(Shape shape, uint64_t seed = 7) {
  return random_tensor(DataType::float32, shape, seed);
}

/// An input of float32.
inline TensorRef in(Network& n, const std::string& name, const Sizes& shape) {
  return n.add_input(name, DataType::float32, shape);
}
/// All outputs of a layer: "y", or "y0", "y1", …
inline void out(Network& n, const Layer& l, const std::string& name = "y") {
  for (size_t i = 0; i < l.num_outputs(); ++i)
    n.mark_output(l.get_output(i), l.num_outputs() == 1 ? name : name + std::to_string(i));
}

}  // namespace lathe::network_cases
