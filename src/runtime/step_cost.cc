#include "runtime/step_cost.h"

#include <algorithm>
#include <array>
#include <set>

namespace lathe {
namespace {

using Extents = std::vector<double>;

double bytes_of(const CostOperand& o) {
  double bits = bits_of(o.type);
  for (int64_t d : *o.shape) bits *= static_cast<double>(d);
  return bits / 8;
}

/// Operators that pick from their first input: they read of it what they write.
bool picks(const std::string& op) {
  constexpr std::array names{"Gather", "GatherElements", "GatherND", "Slice", "Compress"};
  return std::ranges::find(names, op) != names.end();
}
/// Operators that look at no element of their input.
bool looks_at_shape_only(const std::string& op) { return op == "Shape" || op == "Size"; }

class CostCounter {
 public:
  CostCounter(const ProgramGraph& g, const ProgramStep& s, CostLook look, const std::vector<bool>& in_place,
              ShapeTexts* texts)
      : g_(g), s_(s), look_(look), in_place_(in_place), texts_(texts) {}

  StepCost run() {
    StepCost cost;
    read();
    text_ += " ->";
    write();
    cost.known = known_;
    if (texts_) cost.shapes = texts_->index_of(std::move(text_));
    if (!s_.plan->bodies.empty()) return cost;
    cost.bytes = is_view() ? 0 : in_place_.empty() ? read_ + written_ : bytes_of_copied_subviews();
    cost.flops = flops();
    return cost;
  }

 private:
  const PlanStep& plan() const { return *s_.plan; }

  /// An operand with its place in the text; its shape is null when nothing is known.
  CostOperand take(int32_t v, std::vector<std::optional<Extents>>& sizes) {
    sizes.emplace_back();
    if (v < 0) return {};
    const CostOperand o = look_(static_cast<uint32_t>(v));
    describe(o);
    if (!o.shape) {
      known_ &= !g_.plan->values[static_cast<size_t>(v)].type.is_tensor();
      return {};
    }
    sizes.back() = Extents(o.shape->begin(), o.shape->end());
    return o;
  }

  /// Appends type and shape of an operand to the text; of very many operands, only those of the first.
  void describe(const CostOperand& o) {
    constexpr size_t long_enough = 400;
    if (!texts_) return;
    if (text_.size() > long_enough) {
      if (!text_.ends_with("…")) text_ += " …";
      return;
    }
    if (!text_.empty()) text_ += ' ';
    if (!o.shape) {
      text_ += '?';
      return;
    }
    text_ += name_of(o.type);
    text_ += '[';
    for (size_t i = 0; i < o.shape->size(); ++i) {
      if (i) text_ += ',';
      text_ += std::to_string((*o.shape)[i]);
    }
    text_ += ']';
  }

  void read() {
    const std::vector<int32_t>& in = plan().inputs;
    for (size_t i = 0; i < in.size(); ++i) {
      const CostOperand o = take(in[i], inputs_);
      if (!o.shape || !seen_.insert(in[i]).second || looks_at_shape_only(plan().op)) continue;
      const Tensor* packed = i < s_.packed.size() ? s_.packed[i] : nullptr;
      const double bytes = packed ? static_cast<double>(packed->bytes()) : bytes_of(o);
      (i == 0 && picks(plan().op) ? picked_from_ : read_) += bytes;
    }
    if (!plan().epilogue) return;
    for (int32_t v : plan().epilogue->operands) {
      const CostOperand o = take(v, epilogue_);
      if (o.shape && seen_.insert(v).second) read_ += bytes_of(o);
    }
  }

  void write() {
    for (int32_t v : plan().outputs) {
      const CostOperand o = take(v, outputs_);
      if (o.shape) written_ += bytes_of(o);
    }
    read_ += std::min(picked_from_, written_);
  }

  /// Read: each value once.
  double bytes_of_copied_subviews() const {
    const bool joins = s_.kernel->subviews_of == SubviewsOf::output;
    const std::vector<int32_t>& subviews = joins ? plan().inputs : plan().outputs;
    std::set<int32_t> read;
    double bytes = 0;
    for (size_t i = 0; i < in_place_.size(); ++i) {
      if (in_place_[i] || subviews[i] < 0) continue;
      const double part = bytes_of(look_(static_cast<uint32_t>(subviews[i])));
      bytes += read.insert(subviews[i]).second ? 2 * part : part;
    }
    return bytes;
  }

  /// Reshape and its like, where the output is the input's memory.
  bool is_view() const {
    const std::vector<int32_t>&in = plan().inputs, &out = plan().outputs;
    if (!s_.kernel || s_.kernel->alias < 0 || out.empty() || out[0] < 0) return false;
    const auto i = static_cast<size_t>(s_.kernel->alias);
    return i < in.size() && in[i] >= 0 &&
           g_.root[static_cast<size_t>(out[0])] == g_.root[static_cast<size_t>(in[i])];
  }

  double flops() const {
    const auto pointers = [](const std::vector<std::optional<Extents>>& all, bool skip_absent) {
      std::vector<const Extents*> list;
      for (const auto& s : all)
        if (s || !skip_absent) list.push_back(s ? &*s : nullptr);
      return list;
    };
    const auto inputs = pointers(inputs_, false), outputs = pointers(outputs_, true);
    const OperandShapes<double> shapes{inputs, outputs};
    const auto counted = [&] {
      const OpCodec* codec = s_.codec;
      return codec && codec->operations ? codec->operations(s_.op.get(), shapes) : 0;
    };
    const double own = count_arithmetic(plan().arithmetic, shapes, counted).value_or(0);
    return own + plan().fused_arithmetic * (outputs.empty() ? 0 : counting::product(*outputs[0]));
  }

  const ProgramGraph& g_;
  const ProgramStep& s_;
  CostLook look_;
  const std::vector<bool>& in_place_;
  ShapeTexts* texts_;  // null: nobody wants the text
  std::string text_;
  bool known_ = true;
  std::set<int32_t> seen_;  // values that are read
  double read_ = 0, picked_from_ = 0, written_ = 0;
  std::vector<std::optional<Extents>> inputs_, epilogue_, outputs_;
};

}  // namespace

uint32_t ShapeTexts::index_of(std::string text) {
  const auto at = index_.find(text);
  if (at != index_.end()) return at->second;
  if (texts_.size() >= max_texts) return 0;
  const auto index = static_cast<uint32_t>(texts_.size());
  index_.emplace(text, index);
  texts_.push_back(std::move(text));
  return index;
}

StepCost cost_of(const ProgramGraph& g, const ProgramStep& s, CostLook look, ShapeTexts& texts,
                 const std::vector<bool>& in_place) {
  return CostCounter(g, s, look, in_place, &texts).run();
}

StepCost cost_of(const ProgramGraph& g, const ProgramStep& s, CostLook look) {
  return CostCounter(g, s, look, {}, nullptr).run();
}

}  // namespace lathe
