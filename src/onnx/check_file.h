// What is wrong with a model file whatever its operators mean: what ONNX asks of names, attributes and
// functions, and an importer need not know.
#pragma once

#include <string_view>
#include <unordered_set>
#include <vector>

#include "lathe/error.h"
#include "lathe/onnx.h"

namespace lathe {

/// Reports nodes of inner graphs that give what a graph around them has given under that name, attributes
/// without a type, and functions that lack the opset_import of a domain that their nodes are in. Returns the
/// names that nodes read or graphs give: views of the model's.
std::unordered_set<std::string_view> check_file(const onnx::ModelProto& model, int max_nesting,
                                                std::vector<Diagnostic>& findings);

}  // namespace lathe
