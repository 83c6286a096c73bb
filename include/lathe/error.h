// The one error type. Every failure says which stage, which node, what was expected, what was got and what to
// do.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/export.h"

namespace lathe {

/// Identifies a kind of failure. The numbers are stable and never change their meaning; they are printed as
/// "E" and four digits, of which the thousands name the stage.
enum class Code : uint16_t {
  none = 0,  // no failure
  // 1xxx: the file and its wire format
  file_not_found = 1001,        // no file of that name
  file_unreadable = 1002,       // it cannot be opened, mapped or read
  file_not_regular = 1003,      // a directory, device, socket, …
  file_write_failed = 1004,     // the target cannot be written or replaced, or the disk is full
  wire_malformed = 1101,        // truncated, overlong varint, bad tag, length past the end
  wire_too_deep = 1102,         // nesting beyond the published limit
  wire_too_large = 1103,        // beyond a published size limit
  wire_bad_utf8 = 1104,         // a string that is not UTF-8
  text_syntax = 1151,           // text that is no ONNX text format, expression or query
  json_malformed = 1152,        // text that is no JSON, or lacks what is expected
  npy_malformed = 1153,         // a file that is no .npy
  template_malformed = 1161,    // a chat template whose syntax is not Jinja's
  template_unsupported = 1162,  // a part of Jinja or of Python that templates do not have here
  template_too_large = 1163,    // a template, or what it makes, beyond a published limit
  template_failed = 1164,       // a template that raises an exception, or does what values do not allow
  external_bad_path = 1201,     // escapes the model's directory, absolute, empty, NUL
  external_link = 1202,         // symbolic or hard link without permission
  external_not_regular = 1203,  // the data file is a directory, device, …
  external_bad_range = 1204,    // offset and length reach beyond the file, or do not fit the tensor
  external_missing = 1205,      // no data file of that name
  external_bad_key = 1206,      // an unknown key of external_data, or one twice
  external_truncated = 1207,    // the file became shorter than what was mapped
  // 2xxx: the model is not a valid ONNX model (checker and importer)
  model_empty = 2001,            // no graph, no opset_import
  model_bad_ir_version = 2002,   // an IR version that this library does not know, or none
  model_bad_opset = 2003,        // an unknown opset, none for a domain in use, or two
  tensor_bad_shape = 2101,       // negative, overflowing, rank beyond the limit
  tensor_bad_data = 2102,        // size mismatch, raw and typed both set
  tensor_bad_type = 2103,        // an element type that does not exist or may not be there
  sparse_bad_indices = 2104,     // indices out of range, out of order or twice
  graph_cycle = 2201,            // nodes that wait for each other
  graph_duplicate_name = 2202,   // a name that is given twice or taken
  graph_undefined_value = 2203,  // a value that nothing computes
  graph_too_deep = 2204,         // graphs that are nested too deeply
  graph_too_large = 2205,        // more nodes than the published limit
  function_recursion = 2206,     // a function that calls itself
  function_too_large = 2207,     // functions that inline to too many nodes
  node_unknown_operator = 2301,  // the domain has no such operator in the opset
  node_unknown_domain = 2302,    // a domain that nothing brings
  node_bad_arity = 2303,         // too many or too few inputs or outputs
  node_bad_attribute = 2304,     // an attribute is missing, unknown or not allowed
  node_bad_type = 2305,          // element types that the operator does not take
  node_bad_shape = 2306,         // shapes that do not fit together
  node_bad_value = 2307,         // a constant input that the operator does not take
  node_cannot_convert = 2308,    // the wanted opset cannot express this
  warning_denormals = 2901,      // weights are denormal numbers, which are slow
  warning_unused = 2902,         // nothing reads it
  warning_not_sorted = 2903,     // nodes are not in topological order
  // 3xxx: building an engine
  build_no_kernel = 3001,            // no kernel takes the operator as it is
  build_reference_forbidden = 3002,  // only the reference could run it
  build_bad_option = 3003,           // an option that does not exist or does not fit
  build_device_absent = 3004,        // a device that no plug-in brings
  build_plugin_failed = 3005,        // a plug-in cannot be loaded, or registers what it may not
  build_untimed = 3006,              // a pinned timing cache lacks a problem
  component_absent = 3007,           // an optional component that an operator needs is not there
  build_bad_state = 3008,            // an input and an output that cannot be one state
  // 4xxx: running
  run_bad_input = 4001,      // wrong name, type, device, alignment
  run_bad_shape = 4002,      // a shape that the engine does not take
  run_missing_input = 4003,  // an input without default was not given
  run_bad_index = 4101,      // an index beyond its axis; a failed assertion
  run_bad_value = 4102,      // a value that the operator does not take
  run_too_large = 4103,      // a tensor of more elements or bytes than can be addressed
  run_out_of_memory = 4104,  // the machine has no memory left
  run_memory_limit = 4105,   // beyond the limit of one context
  run_state_full = 4106,     // a state that has no place for what a run appends
  cancelled = 4201,          // the caller asked for it
  deadline = 4202,           // the time is up
  // 5xxx: plans
  plan_malformed = 5001,       // the bytes are no valid plan
  plan_version = 5002,         // written by another version of the library
  plan_target = 5003,          // it needs what this machine or isa lacks
  plan_missing_kernel = 5004,  // a kernel that this library lacks
  plan_damaged = 5005,         // a stored array does not match its checksum
  state_malformed = 5006,      // the bytes are no saved state
  // 55xx: exchanging weights
  refit_not_allowed = 5501,  // the engine was built without refit
  refit_bad_weight = 5502,   // type or shape
  refit_built_in = 5503,     // the engine was built for what it holds
  // 6xxx: command line and API misuse
  bad_argument = 6001,   // a call that makes no sense as it is
  not_supported = 6002,  // not supported by this version
  internal = 9001,       // a fault of the library or of a plug-in
};

/// Returns the code as it is printed: "E2304".
LATHE_API std::string code_name(Code c);

/// Describes one failure or warning. Empty fields are left out of the sentence.
struct Diagnostic {
  enum class Severity : uint8_t { error, warning };  // selects whether it prevents use of the model
  Code code = Code::none;                            // kind of failure
  std::string stage;                     // "parse", "check", "import", "infer", "build", "run", …
  std::string node;                      // name of the node, or what else is at fault: a tensor, a file
  std::string op;                        // ONNX operator of the node
  int64_t node_index = -1;               // position of the node in its graph; -1: unknown
  std::string expected;                  // the expected thing
  std::string got;                       // the thing that was found
  std::string remedy;                    // how to mend it
  std::vector<std::string> inputs = {};  // types of the node's inputs, where known: "x: float32[N, 3]"
  Severity severity = Severity::error;   // error or warning

  /// Returns it as one line: lathe: error E2304: check, node "conv1" (Conv): expected …, got …; remedy
  LATHE_API std::string message() const;
};

/// The only exception that this library throws. Copyable; safe to keep after the call.
class LATHE_API Error : public std::exception {
 public:
  /// Makes an error of a diagnostic.
  explicit Error(Diagnostic d);
  /// Makes an error without a node; at() adds one.
  Error(Code code, std::string stage, std::string expected, std::string got, std::string remedy = {});
  ~Error() override;
  /// Returns Diagnostic::sentence() of the diagnostic.
  const char* what() const noexcept override { return text_.c_str(); }
  /// Returns the kind of failure.
  Code code() const { return diagnostic_.code; }
  /// Returns all that is known of the failure.
  const Diagnostic& diagnostic() const { return diagnostic_; }
  /// Returns the same error with the place where it happened; fields that are set already stay.
  Error at(std::string_view stage, std::string_view node, std::string_view op) const;

 private:
  Diagnostic diagnostic_;
  std::string text_;
};

}  // namespace lathe
