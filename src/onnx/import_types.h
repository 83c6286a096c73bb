// Converts types and attributes of the file to those of the graph.
#pragma once

#include <functional>
#include <string>

#include "graph/type.h"
#include "lathe/onnx.h"
#include "lathe/run_control.h"
#include "tensor/attributes.h"

namespace lathe {

/// Converts one dimension, which is number `axis` of the outermost tensor type.
using DimensionReader = std::function<Dim(const onnx::TensorShapeProto::Dimension&, size_t axis)>;

/// Keeps numbers that are sizes; all else is unknown, because declarations of inner values are trusted no
/// further.
Dim declared_dimension(const onnx::TensorShapeProto::Dimension& d, size_t axis);

/// The kind is none if the file gives none (and for opaque types). Throws tensor_bad_type for an element type
/// out of range.
ValueType import_type(const onnx::TypeProto& p, const DimensionReader& dimension = declared_dimension);
onnx::TypeProto export_type(const ValueType& t);

/// Returns the kind in the file's words: "int", "floats", "graph", "sparse", …; old files lack the type, so
/// it is derived from the contents.
onnx::AttributeProto::Type attribute_type(const onnx::AttributeProto& p);
/// Imports all kinds but graphs. Throws node_bad_attribute for lists of graphs, sparse tensors or types; the
/// errors of to_tensor.
AttributeValue import_attribute(const onnx::AttributeProto& p, const onnx::Model* model,
                                RunControl* control = nullptr);

}  // namespace lathe
