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

/// Stable codes: the number never changes meaning. Printed as "E" and four digits; the thousands name the
/// stage.
enum class Code : uint16_t {
  none = 0,
  // 1xxx: the file and its wire format
  file_not_found = 1001,
  file_unreadable = 1002,
  file_not_regular = 1003,
  file_write_failed = 1004,
  wire_malformed = 1101,  // truncated, overlong varint, bad tag, length past the end
  wire_too_deep = 1102,   // nesting beyond the published limit
  wire_too_large = 1103,  // beyond a published size limit
  wire_bad_utf8 = 1104,
  text_syntax = 1151,  // ONNX text format
  json_malformed = 1152,
  npy_malformed = 1153,
  external_bad_path = 1201,  // escapes the model's directory, absolute, empty, NUL
  external_link = 1202,      // symbolic or hard link without permission
  external_not_regular = 1203,
  external_bad_range = 1204,  // offset or length
  external_missing = 1205,
  external_bad_key = 1206,
  external_truncated = 1207,  // the file became shorter than what was mapped
  // 2xxx: the model is not a valid ONNX model (checker and importer)
  model_empty = 2001,  // no graph, no opset_import
  model_bad_ir_version = 2002,
  model_bad_opset = 2003,
  tensor_bad_shape = 2101,  // negative, overflowing, rank beyond the limit
  tensor_bad_data = 2102,   // size mismatch, raw and typed both set
  tensor_bad_type = 2103,
  sparse_bad_indices = 2104,
  graph_cycle = 2201,
  graph_duplicate_name = 2202,
  graph_undefined_value = 2203,
  graph_too_deep = 2204,
  graph_too_large = 2205,
  function_recursion = 2206,
  function_too_large = 2207,
  node_unknown_operator = 2301,
  node_unknown_domain = 2302,
  node_bad_arity = 2303,
  node_bad_attribute = 2304,
  node_bad_type = 2305,
  node_bad_shape = 2306,
  node_bad_value = 2307,
  node_cannot_convert = 2308,  // the wanted opset cannot say this
  warning_denormals = 2901,
  warning_unused = 2902,
  warning_not_sorted = 2903,
  // 3xxx: building an engine
  build_no_kernel = 3001,
  build_reference_forbidden = 3002,
  build_bad_option = 3003,
  build_device_absent = 3004,
  build_plugin_failed = 3005,
  build_untimed = 3006,     // a pinned timing cache lacks a problem
  component_absent = 3007,  // an optional component that an operator needs is not there
  // 4xxx: running
  run_bad_input = 4001,  // wrong name, type, device, alignment
  run_bad_shape = 4002,
  run_missing_input = 4003,
  run_bad_index = 4101,
  run_bad_value = 4102,
  run_too_large = 4103,
  run_out_of_memory = 4104,
  run_memory_limit = 4105,
  cancelled = 4201,
  deadline = 4202,
  // 5xxx: plans
  plan_malformed = 5001,
  plan_version = 5002,
  plan_target = 5003,
  plan_missing_kernel = 5004,
  plan_damaged = 5005,  // a stored array does not match its checksum
  // 55xx: exchanging weights
  refit_not_allowed = 5501,  // the engine was built without refit
  refit_bad_weight = 5502,   // type or shape
  refit_built_in = 5503,     // the engine was built for what it holds
  // 6xxx: command line and API misuse
  bad_argument = 6001,
  not_supported = 6002,
  internal = 9001,
};

/// "E2304".
LATHE_API std::string code_name(Code c);

/// What there is to say about one fault. Empty fields are left out of the sentence.
struct Diagnostic {
  enum class Severity : uint8_t { error, warning };
  Code code = Code::none;
  std::string stage;  // "parse", "check", "import", "infer", "build", "run", …
  std::string node;   // name of the node, or what else is at fault: a tensor, a file
  std::string op;     // its operator
  int64_t node_index = -1;
  std::string expected;
  std::string got;
  std::string remedy;
  std::vector<std::string> inputs = {};  // "x: float32[N, 3]", where known
  Severity severity = Severity::error;

  /// lathe: error E2304: check, node "conv1" (Conv): expected …, got …; remedy
  LATHE_API std::string sentence() const;
};

/// The only exception this library throws. Copyable; safe to keep.
class LATHE_API Error : public std::exception {
 public:
  explicit Error(Diagnostic d);
  Error(Code code, std::string stage, std::string expected, std::string got, std::string remedy = {});
  ~Error() override;
  const char* what() const noexcept override { return text_.c_str(); }
  Code code() const { return diagnostic_.code; }
  const Diagnostic& diagnostic() const { return diagnostic_; }
  /// The same error, told where it happened; keeps what is already named.
  Error at(std::string_view stage, std::string_view node, std::string_view op) const;

 private:
  Diagnostic diagnostic_;
  std::string text_;
};

}  // namespace lathe
