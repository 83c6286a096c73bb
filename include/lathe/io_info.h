// Inputs and outputs of models and engines: what they are, and values for them by name.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "lathe/dim.h"
#include "lathe/shape.h"
#include "lathe/types.h"
#include "lathe/value.h"

namespace lathe {

/// Describes one input or output of an engine.
struct IoInfo {
  std::string name;                             // as in the model
  std::string type;                             // ONNX's notation: "tensor(float)", "seq(tensor(int64))"
  DataType element_type = DataType::undefined;  // undefined where it is no tensor
  std::optional<SymShape> shape;                // sizes with symbols; nothing: the rank is unknown
  bool optional = false;                        // true for an input that has a default
  /// Names the other half of a state (BuildOptions::states): the output that is the next value of an input,
  /// or the input that an output is the next value of. Empty: it is given, or returned.
  std::string state = {};
};

/// Maps names of inputs or outputs to values.
using NamedValues = std::map<std::string, Value, std::less<>>;
/// Maps names of inputs or outputs to shapes.
using NamedShapes = std::map<std::string, Shape, std::less<>>;

}  // namespace lathe
