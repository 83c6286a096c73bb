#include "onnx/checker.h"

#include <cmath>

#include "graph/traverse.h"
#include "lathe/run_control.h"
#include "onnx/check_file.h"
#include "onnx/importer.h"

namespace lathe {
namespace {

template <class T, class Bits>
size_t count_denormals(const Tensor& t, Bits exponent, Bits fraction, RunControl* control) {
  size_t n = 0;
  const auto* p = static_cast<const Bits*>(t.data());
  constexpr int64_t piece = int64_t{1} << 20;
  for (int64_t from = 0; from < t.size(); from += piece) {
    if (control) control->check();
    const int64_t end = std::min(t.size(), from + piece);
    for (int64_t i = from; i < end; ++i) n += (p[i] & exponent) == 0 && (p[i] & fraction) != 0;
  }
  return n;
}

size_t denormals(const Tensor& t, RunControl* control) {
  switch (t.type()) {
    case DataType::float32:
      return count_denormals<float, uint32_t>(t, 0x7f800000u, 0x007fffffu, control);
    case DataType::float64:
      return count_denormals<double, uint64_t>(t, 0x7ff0000000000000u, 0x000fffffffffffffu, control);
    case DataType::bfloat16:
      return count_denormals<BFloat16, uint16_t>(t, 0x7f80u, 0x007fu, control);
    default:
      return 0;
  }
}

Diagnostic warning(Code code, std::string what, std::string expected, std::string got, std::string remedy) {
  Diagnostic d;
  d.code = code;
  d.severity = Diagnostic::Severity::warning;
  d.stage = "check";
  d.node = std::move(what);
  d.expected = std::move(expected);
  d.got = std::move(got);
  d.remedy = std::move(remedy);
  return d;
}

void warn_of_values(const Graph& g, const std::unordered_set<std::string_view>& read,
                    std::vector<Diagnostic>& findings, RunControl* control) {
  for (ValueId v = 0; v < g.value_count(); ++v) {
    const ValueInfo& i = g.value(v);
    if (i.captured != no_id) continue;
    // `read` has the names that nodes of the file read, because an import replaces some nodes and drops those
    // that it does not know.
    const bool from_outside = i.is_input || !i.source.empty();
    if (from_outside && !g.parent() && !read.contains(i.source.empty() ? i.name : i.source))
      findings.push_back(warning(Code::warning_unused, i.name, "inputs and initializers that a node reads",
                                 "one that none does", "remove it"));
    if (!i.constant || !i.constant->is_tensor()) continue;
    const Tensor& t = i.constant->tensor();
    if (const size_t n = denormals(t, control))
      findings.push_back(
          warning(Code::warning_denormals, i.name, "weights without denormal numbers",
                  std::to_string(n) + " of " + std::to_string(t.size()) + " elements",
                  "they make many CPUs slow: set them to 0, or run with the option that flushes denormals"));
  }
}

}  // namespace

std::vector<Diagnostic> check_model(const onnx::Model& model, const SchemaCatalog& catalog,
                                    RunControl* control) {
  std::vector<Diagnostic> findings;
  ImportOptions options;
  options.control = control;
  options.unreached = true;
  const auto graph = import_leniently(model, catalog, options, findings);
  const auto read = check_file(model.proto, options.max_nesting, findings);
  for (Diagnostic& d : findings) d.stage = "check";
  each_graph(*graph, [&](const Graph& g) { warn_of_values(g, read, findings, control); });
  return findings;
}

}  // namespace lathe
