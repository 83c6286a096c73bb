#include "exporters/low_bit_weights.h"

#include <algorithm>
#include <iterator>

#include "lathe/error.h"
#include "lathe/gguf.h"

namespace lathe::exporters {
namespace {

/// The same elements in another shape.
Tensor reshaped(const Tensor& t, Shape shape) {
  return Tensor::view(t.type(), std::move(shape), const_cast<void*>(t.data()), std::make_shared<Tensor>(t));
}

onnx::NodeProto node(const char* op, std::vector<std::string> inputs, const std::string& output) {
  onnx::NodeProto n;
  n.op_type = op;
  n.name = output + "/" + op;
  n.input = std::move(inputs);
  n.output = {output};
  return n;
}

void set(onnx::NodeProto& n, const char* name, int64_t value) {
  onnx::AttributeProto a;
  a.name = name;
  a.type = onnx::AttributeProto::INT;
  a.i = value;
  n.attribute.push_back(std::move(a));
}

class LowBitWeight {
 public:
  LowBitWeight(std::string name, const GgufNumbers& numbers)
      : name_(std::move(name)), numbers_(numbers), shape_(numbers.numbers.shape()) {}

  void write(onnx::GraphProto& g, std::vector<onnx::NodeProto>& nodes) {
    const bool has_minimums = numbers_.minimums.defined();
    const int64_t rows = shape_[0], blocks = shape_[1] / numbers_.block;
    // Minimums are added while blocks are an axis of their own.
    const auto in_blocks = [&](const Tensor& t, int64_t last) {
      return has_minimums ? reshaped(t, {rows, blocks, last}) : t;
    };
    onnx::NodeProto scaled = node("DequantizeLinear",
                                  {add(g, ".numbers", in_blocks(numbers_.numbers, numbers_.block)),
                                   add(g, ".scales", in_blocks(numbers_.scales, 1))},
                                  has_minimums ? name_ + ".scaled" : name_);
    set(scaled, "axis", has_minimums ? 2 : 1);
    set(scaled, "block_size", numbers_.block);
    nodes.push_back(std::move(scaled));
    if (!has_minimums) return;
    nodes.push_back(node("Add", {name_ + ".scaled", add(g, ".minimums", in_blocks(numbers_.minimums, 1))},
                         name_ + ".blocks"));
    Tensor shape(DataType::int64, {2});
    std::ranges::copy(shape_, shape.as<int64_t>().begin());
    nodes.push_back(node("Reshape", {name_ + ".blocks", add(g, ".shape", shape)}, name_));
  }

 private:
  std::string add(onnx::GraphProto& g, const char* suffix, const Tensor& t) {
    g.initializer.push_back(onnx::from_tensor(t, name_ + suffix));
    return name_ + suffix;
  }

  std::string name_;
  const GgufNumbers& numbers_;
  Shape shape_;
};

}  // namespace

int opset_for_bits(const GgufSource& source) {
  return source.has_two_bits() ? opset_of_two_bits : opset_of_blocks;
}

void keep_bits(onnx::Model& model, const GgufSource& source) {
  onnx::GraphProto& g = *model.proto.graph;
  std::vector<onnx::NodeProto> nodes;
  std::vector<std::string> names;
  for (const onnx::TensorProto& t : g.initializer)
    if (t.dims.size() == 2 && t.data_type == static_cast<int32_t>(DataType::float32) &&
        source.has_numbers(t.name.value_or("")))
      names.push_back(*t.name);
  std::erase_if(g.initializer, [&](const onnx::TensorProto& t) {
    return std::ranges::find(names, t.name.value_or("")) != names.end();
  });
  for (const std::string& name : names) LowBitWeight(name, source.numbers(name)).write(g, nodes);
  for (const onnx::TensorProto& t : g.initializer)
    if (t.raw_data && source.is_placeholder(t.raw_data->data()))
      throw Error(Code::internal, "export", "numbers for each weight that was bound without its elements",
                  "none for '" + t.name.value_or("") + "'", "--widen-weights writes floats");
  nodes.insert(nodes.end(), std::make_move_iterator(g.node.begin()), std::make_move_iterator(g.node.end()));
  g.node = std::move(nodes);
}

}  // namespace lathe::exporters
