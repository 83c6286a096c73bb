// Checks nodes against a line of the signature language, and reports their faults.
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
/// Adds to an error the node at which it happened; names that it already has are kept.
Diagnostic at_node(const Graph& g, const Node& n, std::string_view stage, const Error& e);

/// Returns every fault in the node's number of inputs and outputs, and in its attributes: unknown, missing,
/// of the wrong kind. `n` is in the form of `version` of `schema`.
std::vector<Diagnostic> check_signature(const Graph& g, const Node& n, const OpSchema& schema,
                                        const Version& version);

/// Returns whether kind and element types are known, those of inner types included.
bool is_complete(const ValueType& t);
/// Returns the types that a signature expects of input `i`, if it does not allow the type `t`.
std::optional<std::string> refused_input(const Signature& s, size_t i, const ValueType& t);
/// Reports every input of a type that `version` of `schema` does not allow; a later version may.
std::vector<Diagnostic> check_input_types(const Graph& g, const Node& n, const OpSchema& schema,
                                          const Version& version);

/// The usual name of an operator's version: "Add", "Softmax-11".
std::string versioned_name(const OpSchema& schema, const Version& version);

/// Equality of attributes; tensors are never equal.
bool same_value(const AttributeValue& a, const AttributeValue& b);

}  // namespace lathe
