// Models written at other opsets: what is written is read again, accepted, and runs to values of the same
// form.
#include "fuzz/outcome.h"
#include "lathe/check.h"
#include "onnx/exporter.h"
#include "onnx/importer.h"
#include "schema/schema.h"
#include "support/drawn_graph.h"

namespace lathe::fuzz {

void convert(Bytes data) {
  if (data.empty()) return;
  const int opset = 1 + data.back() % newest_opset;
  const auto [m, inputs] = testing::draw_graph(data.first(data.size() - 1));
  const SchemaCatalog& catalog = SchemaCatalog::standard();
  onnx::Model older;
  const Code code =
      code_of([&] { older = export_model(*import_model(m, catalog), catalog, {.opset = opset}); });
  if (code != Code::none) return;
  Outcome got;
  const auto must = [&](bool holds, const char* what) {
    if (!holds)
      std::fprintf(stderr, "%s\nat opset %d, which ends with E%d and E%d:\n%s\n",
                   onnx::to_text(m.proto).c_str(), opset, static_cast<int>(got.build),
                   static_cast<int>(got.run), onnx::to_text(older.proto).c_str());
    require(holds, what);
  };
  const Outcome want = outcome_of(m, inputs, "reference");
  if (want.build != Code::none || want.run != Code::none) return;
  // If the original fails, its decomposition may fail earlier, with another error.
  for (const Diagnostic& d : check(older))
    must(d.severity != Diagnostic::Severity::error, "what is written is accepted");
  got = outcome_of(older, inputs, "reference");
  // A decomposition may take more memory.
  for (const Code c : {got.build, got.run})
    if (c == Code::run_out_of_memory || c == Code::run_memory_limit) return;
  must(got.build == Code::none && got.run == Code::none, "what is written runs where the original does");
  // Shapes of later nodes may depend on how a node's numbers were rounded.
  if (!says_the_same_again(m) || m.proto.graph->node.size() > 1) return;
  for (const auto& [name, value] : want.values) {
    const Value& other = got.values.at(name);
    const bool same = same_form(value, other);
    if (!same)
      std::fprintf(stderr, "%s: %s, %s\n", name.c_str(), describe(value).c_str(), describe(other).c_str());
    must(same, "what is written gives the same types and shapes");
  }
}

}  // namespace lathe::fuzz
