// Models written as ONNX text, with weights that are made up.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lathe/lathe.h"
#include "tensor/element.h"

namespace lathe::testing {

/// "(float[1,3,h,w] x) => (float[…] y) <float[16,3,3,3] a = {}> { … }": initializers of floats without data
/// are made up; those of 16 bits are small, so that sums are too.
inline onnx::Model model_of(std::string_view text, int opset = 22) {
  onnx::Model m;
  m.proto = onnx::from_text<onnx::ModelProto>(
      "<ir_version: 10, opset_import: [\"\": " + std::to_string(opset) + "]> g " + std::string(text));
  uint64_t seed = 1;
  for (onnx::TensorProto& t : m.proto.graph->initializer) {
    if (t.raw_data || !t.float_data.empty() || !t.int32_data.empty() || !t.data_type) continue;
    const auto type = static_cast<DataType>(*t.data_type);
    if (type != DataType::float32 && type != DataType::float16 && type != DataType::bfloat16) continue;
    const Tensor made = random_tensor(DataType::float32, Shape(t.dims.begin(), t.dims.end()), ++seed);
    for (float x : made.as<float>())
      if (type == DataType::float32)
        t.float_data.push_back(x);
      else
        t.int32_data.push_back(type == DataType::float16 ? to_float16(x / 8).bits : to_bfloat16(x / 8).bits);
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
