// Models written as ONNX text, with weights that are made up.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lathe/lathe.h"

namespace lathe::testing {

/// "(float[1,3,h,w] x) => (float[…] y) <float[16,3,3,3] a = {}> { … }": initializers without data are made
/// up.
inline onnx::Model model_of(std::string_view text) {
  onnx::Model m;
  m.proto =
      onnx::from_text<onnx::ModelProto>("<ir_version: 10, opset_import: [\"\": 22]> g " + std::string(text));
  uint64_t seed = 1;
  for (onnx::TensorProto& t : m.proto.graph->initializer)
    if (t.float_data.empty() && t.data_type == static_cast<int32_t>(DataType::float32)) {
      const Tensor made = random_tensor(DataType::float32, Shape(t.dims.begin(), t.dims.end()), ++seed);
      t.float_data.assign(made.as<float>().begin(), made.as<float>().end());
    }
  return m;
}

/// Made up; sizes that the model leaves open are `free`.
inline std::vector<Value> inputs_of(const Engine& e, int64_t free = 20) {
  std::vector<Value> list;
  for (const IoInfo& io : e.inputs()) {
    Shape shape;
    for (const Dim& d : *io.shape) shape.push_back(d.value().value_or(free));
    list.push_back(random_tensor(io.element_type, shape, 70 + list.size()));
  }
  return list;
}

}  // namespace lathe::testing
