#include "compiler/compose.h"

#include <algorithm>
#include <array>
#include <span>

namespace lathe {
namespace {

/// Returns the function of booleans in bytes that replaces a function of booleans in float32 (0 and 1), or a
/// choice by them between elements of a type.
std::optional<Pointwise> of_bytes(const Pointwise::Instruction& s, DataType chosen) {
  constexpr DataType bools = DataType::boolean;
  if (s.arity == 3) return Pointwise::choose(chosen);
  if (s.arity == 1) {
    const bool contradicts = static_cast<UnaryOp>(s.op) == UnaryOp::linear && s.a == -1 && s.b == 1;
    return contradicts ? std::optional(Pointwise::single(SingleOp::contradict, bools)) : std::nullopt;
  }
  switch (static_cast<BinaryOp>(s.op)) {
    case BinaryOp::minimum:
      return Pointwise::typed_binary(TypedBinaryOp::both, bools);
    case BinaryOp::maximum:
      return Pointwise::typed_binary(TypedBinaryOp::either, bools);
    case BinaryOp::differ:
      return Pointwise::typed_binary(TypedBinaryOp::differ, bools);
    case BinaryOp::equal:
      return Pointwise::typed_binary(TypedBinaryOp::equal, bools);
    default:
      return std::nullopt;
  }
}

/// Programs of nodes that become one.
class Composition {
 public:
  Composition(const Graph& g, const std::map<NodeId, Pointwise>& programs, const Target::Fusion& fusion,
              NodeId anchor)
      : graph_(g), programs_(programs), fusion_(fusion), anchor_(anchor) {
    if (anchor != no_id) operand(g.node(anchor).outputs[0]);
  }

  void add(NodeId n, bool is_last) {
    const Node& node = graph_.node(n);
    const Pointwise& p = programs_.at(n);
    // A node that changes nothing adds no instruction, unless there would be none.
    if (p.changes_nothing()) {
      const Source from = source(node.inputs[0]), same = is_last ? as(from, DataType::float32) : from;
      if (!is_last || same.made) {
        made_[node.outputs[0]] = same;
        return;
      }
    }
    append(node, in_bytes(node, p).value_or(p));
  }

  Composed region(std::vector<NodeId> nodes) const {
    if (operands_.size() > Pointwise::max_operands)
      return {std::nullopt, "the program would read too many values"};
    if (code_.size() > Pointwise::max_instructions) return {std::nullopt, "the program would be too long"};
    Region r{anchor_, std::move(nodes), {static_cast<uint16_t>(operands_.size()), code_}, {}};
    auto read = reads_.begin();
    for (Pointwise::Instruction& s : r.program.code)
      for (uint16_t& v : s.reads()) {
        v = static_cast<uint16_t>(read->made ? operands_.size() + read->index : read->index);
        ++read;
      }
    if (fusion_.refuse)
      if (auto why = fusion_.refuse(r.program)) return {std::nullopt, std::move(*why)};
    r.operands.assign(operands_.begin() + (anchor_ != no_id), operands_.end());
    return {std::move(r)};
  }

 private:
  struct Source {
    bool made = false;  // by an instruction; else an operand
    size_t index = 0;
    auto operator<=>(const Source&) const = default;
  };

  void append(const Node& node, const Pointwise& p) {
    std::vector<Source> own;
    for (const Pointwise::Instruction& s : p.code) {
      std::array<Source, 3> from;
      for (size_t i = 0; i < s.arity; ++i) {
        const uint16_t v = s.from[i];
        from[i] = v < p.operands ? as(source(node.inputs[v]), s.read(i)) : own[v - p.operands];
      }
      own.push_back(push(s, {from.data(), s.arity}));
    }
    made_[node.outputs[0]] = own.back();
  }

  /// Returns a function of booleans, some of which are bytes already, as a function of bytes: they need not
  /// be converted to float32.
  std::optional<Pointwise> in_bytes(const Node& node, const Pointwise& p) {
    if (p.code.size() != 1 || p.code[0].kind != Pointwise::Kind::floats) return std::nullopt;
    const auto is_bool = [&](ValueId v) { return graph_.value(v).type.elem == DataType::boolean; };
    const auto is_bytes = [&](ValueId v) { return is_bool(v) && type_of(source(v)) == DataType::boolean; };
    const bool chooses = p.code[0].arity == 3;
    if (chooses ? !is_bytes(node.inputs[0])
                : !std::ranges::all_of(node.inputs, is_bool) || std::ranges::none_of(node.inputs, is_bytes))
      return std::nullopt;
    return of_bytes(p.code[0], graph_.value(node.outputs[0]).type.elem);
  }

  Source operand(ValueId v) {
    const auto at = std::ranges::find(operands_, v);
    const Source s{false, static_cast<size_t>(at - operands_.begin())};
    if (at == operands_.end()) {
      operands_.push_back(v);
      read_as_.push_back(DataType::undefined);
    }
    return s;
  }
  Source source(ValueId v) {
    const auto at = made_.find(v);
    return at == made_.end() ? operand(v) : at->second;
  }

  DataType type_of(Source s) const { return s.made ? code_[s.index].made() : read_as_[s.index]; }

  Source push(const Pointwise::Instruction& s, std::span<const Source> from) {
    reads_.insert(reads_.end(), from.begin(), from.end());
    code_.push_back(s);
    return {true, code_.size() - 1};
  }

  /// Returns a value in the type that an instruction reads: booleans are bytes or float32. An operand gets
  /// the type that its first reader needs.
  Source as(Source s, DataType wanted) {
    if (type_of(s) == DataType::undefined) read_as_[s.index] = wanted;
    const DataType is = type_of(s);
    if (is == wanted) return s;
    const auto known = converted_.find(s);
    if (known != converted_.end()) return known->second;
    return converted_[s] = push(Pointwise::of_cast(is, wanted, 0), {&s, 1});
  }

  const Graph& graph_;
  const std::map<NodeId, Pointwise>& programs_;
  const Target::Fusion& fusion_;
  NodeId anchor_;
  std::vector<ValueId> operands_;
  std::vector<DataType> read_as_;  // types of operands; undefined: not read yet
  std::vector<Pointwise::Instruction> code_;
  std::vector<Source> reads_;  // operands of all instructions
  std::map<ValueId, Source> made_;
  std::map<Source, Source> converted_;
};

}  // namespace

Composed compose(const Graph& g, const std::map<NodeId, Pointwise>& programs, const Target::Fusion& fusion,
                 NodeId anchor, std::vector<NodeId> nodes) {
  Composition c(g, programs, fusion, anchor);
  for (NodeId n : nodes) c.add(n, n == nodes.back());
  return c.region(std::move(nodes));
}

}  // namespace lathe
