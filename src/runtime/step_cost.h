// Floating-point operations and bytes moved of one execution of a step, from the shapes and types of
// operands.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/program.h"

namespace lathe {

struct StepCost {
  double flops = 0, bytes = 0;
  uint32_t shapes = 0;  // index into the texts
  bool known = false;   // false: only the run can tell
};

/// Shapes as text, each once. The first is empty, and also used for all texts that no longer fit.
class ShapeTexts {
 public:
  uint32_t index_of(std::string text);
  const std::vector<std::string>& all() const { return texts_; }

 private:
  static constexpr size_t max_texts = size_t{1} << 16;
  std::map<std::string, uint32_t> index_;
  std::vector<std::string> texts_{std::string()};
};

/// A tensor as it is known at some moment.
struct CostOperand {
  DataType type = DataType::undefined;
  const Shape* shape = nullptr;
};
/// Null shape: no tensor, or not known.
using CostLook = FunctionRef<CostOperand(uint32_t value)>;

/// The cost of a step of `g`; `known` is false where an operand's shape is not. Counted as read: every tensor
/// input once (packed weights in their packed form; of inputs that are picked from, no more than is written;
/// nothing of those whose shape alone matters), and as written every output. A view of its input costs
/// nothing; of parts (`Places::whole`) those that are `in_place` are neither read nor written; a step with
/// bodies leaves everything to their steps.
StepCost cost_of(const ProgramGraph& g, const ProgramStep& s, CostLook look, ShapeTexts& texts,
                 const std::vector<bool>& in_place = {});
/// The same without the text of shapes.
StepCost cost_of(const ProgramGraph& g, const ProgramStep& s, CostLook look);

}  // namespace lathe
