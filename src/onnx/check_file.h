// Checks a model file for faults that do not depend on what its operators mean: rules of ONNX for names,
// attributes and functions that an importer need not enforce.
#pragma once

#include <string_view>
#include <unordered_set>
#include <vector>

#include "lathe/error.h"
#include "lathe/onnx.h"

namespace lathe {

/// Reports nodes of inner graphs whose outputs have the name of a value of a graph around them, attributes
/// without a type, and functions that lack the opset_import of a domain that their nodes are in. Returns the
/// names that nodes read or that graphs output: views of the model's strings.
std::unordered_set<std::string_view> check_file(const onnx::ModelProto& model, int max_nesting,
                                                std::vector<Diagnostic>& findings);

}  // namespace lathe
