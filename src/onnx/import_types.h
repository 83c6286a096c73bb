// Types and attributes of the file in the graph's words.
#pragma once

#include <functional>
#include <string>

#include "graph/type.h"
#include "lathe/onnx.h"
#include "lathe/run_control.h"
#include "tensor/attributes.h"

namespace lathe {

/// What becomes of one dimension: its place is `axis` of the outermost tensor type.
using DimensionReader = std::function<Dim(const onnx::TensorShapeProto::Dimension&, size_t axis)>;

/// Numbers that are sizes stay, all else is unknown: what is declared of inner values is believed no further.
Dim declared_dimension(const onnx::TensorShapeProto::Dimension& d, size_t axis);

/// Kind none where the file says nothing (and for opaque types). Throws tensor_bad_type for an element type
/// out of range.
ValueType import_type(const onnx::TypeProto& p, const DimensionReader& dimension = declared_dimension);
onnx::TypeProto export_type(const ValueType& t);

/// The kind in the file's words: "int", "floats", "graph", "sparse", …; by its contents where old files leave
/// the type out.
onnx::AttributeProto::Type attribute_type(const onnx::AttributeProto& p);
/// All kinds but graphs. Throws node_bad_attribute for lists of graphs, sparse tensors or types; the errors
/// of to_tensor.
AttributeValue import_attribute(const onnx::AttributeProto& p, const onnx::Model* model,
                                RunControl* control = nullptr);

}  // namespace lathe
