// Checks that both backends agree on the results of a graph.
#include "fuzz/outcome.h"
#include "lathe/onnx.h"
#include "support/drawn_graph.h"

namespace lathe::fuzz {

bool runs(Bytes data) {
  const auto [m, inputs] = testing::draw_graph(data);
  const Outcome want = outcome_of(m, inputs, "reference"), got = outcome_of(m, inputs, "cpu");
  const auto must = [&](bool holds, const char* what) {
    if (!holds) std::fprintf(stderr, "%s\n", onnx::to_text(m.proto).c_str());
    require(holds, what);
  };
  must((want.build == Code::none) == (got.build == Code::none), "both backends accept a model, or neither");
  // A limit of memory may meet one of them alone.
  if (want.build != Code::none || want.run != Code::none || got.run != Code::none) return false;
  if (says_the_same_again(m))
    for (const auto& [name, value] : want.values)
      must(same_form(value, got.values.at(name)), "both backends give the same types and shapes");
  return true;
}

void run(Bytes data) { runs(data); }

}  // namespace lathe::fuzz
