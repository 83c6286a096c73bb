// Cast after a Cast that loses nothing.
#include "passes/pass.h"

namespace lathe {
namespace {

/// Returns whether every value of `from` exists in `to`.
bool lossless(DataType from, DataType to) {
  if (from == to) return true;
  const bool float_from = is_float(from), float_to = is_float(to);
  if (float_from) {
    if (!float_to) return false;
    if (to == DataType::float64) return true;
    return to == DataType::float32 && bits_of(from) < 32;
  }
  if (from == DataType::boolean) return float_to ? bits_of(to) >= 16 : is_integer(to);
  if (!is_integer(from)) return false;
  const size_t bits = static_cast<size_t>(bits_of(from));
  if (to == DataType::float64) return bits <= 32;
  if (to == DataType::float32) return bits <= 16;
  if (!is_integer(to)) return false;
  const size_t wider = static_cast<size_t>(bits_of(to));
  if (is_signed_integer(from)) return is_signed_integer(to) && wider > bits;
  return wider > bits;
}

std::optional<Patch> propose_merge_casts(const View& view, NodeId id) {
  const Node& outer = view.node(id);
  const Node* inner = view.made_by(outer.inputs[0], "Cast");
  if (!inner) return std::nullopt;
  const DataType first = view.type(inner->inputs[0]).elem, middle = view.type(inner->outputs[0]).elem,
                 last = view.type(outer.outputs[0]).elem;
  // As text, a number has the digits of its type.
  if (!lossless(first, middle) || last == DataType::string) return std::nullopt;
  const std::string reason =
      "from " + std::string(name_of(first)) + " to " + std::string(name_of(last)) + " at once";
  if (first == last && view.same_type(inner->inputs[0], outer.outputs[0]))
    if (auto p = forward(view, id, inner->inputs[0], reason)) return p;
  Patch p(reason);
  p.replace_uses(outer.outputs[0], p.add("Cast", {inner->inputs[0]}, outer.attributes));
  p.remove(id);
  return p;
}

}  // namespace

void pass_merge_casts(PassList& all) {
  all.push_back({.name = "merge-casts",
                 .description = "casts once where a first cast loses nothing",
                 .level = OptimizationLevel::basic,
                 .anchors = {"Cast"},
                 .propose = propose_merge_casts});
}

}  // namespace lathe
