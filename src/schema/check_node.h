// What one line of the signature language demands of a node, and how faults of nodes are told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lathe/error.h"
#include "schema/schema.h"

namespace lathe {

/// A diagnostic that names the node, its operator and its inputs with their types.
Diagnostic node_fault(const Graph& g, const Node& n, std::string stage, Code code, std::string expected,
                      std::string got, std::string remedy = {});
/// Says of somebody else's error at which node it happened; what it already names is kept.
Diagnostic at_node(const Graph& g, const Node& n, std::string_view stage, const Error& e);

/// Every fault in the node's number of inputs and outputs, and in its attributes: unknown, missing, of the
/// wrong kind. `n` is in the form of `version` of `schema`.
std::vector<Diagnostic> check_signature(const Graph& g, const Node& n, const OpSchema& schema,
                                        const Version& version);

/// Are kind and element types known all the way down?
bool is_complete(const ValueType& t);
/// What a signature wants of input `i`, where it does not allow the type `t`.
std::optional<std::string> refused_input(const Signature& s, size_t i, const ValueType& t);
/// Every input of a type that `version` of `schema` does not allow; a later version may.
std::vector<Diagnostic> check_input_types(const Graph& g, const Node& n, const OpSchema& schema,
                                          const Version& version);

/// "Add", "Softmax-11": operator and version as people name them.
std::string versioned_name(const OpSchema& schema, const Version& version);

/// Equality of attributes; tensors are never equal.
bool same_value(const AttributeValue& a, const AttributeValue& b);

}  // namespace lathe
