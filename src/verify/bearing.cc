#include "verify/bearing.h"

#include <cmath>
#include <limits>
#include <map>

#include "tensor/element.h"

namespace lathe {
namespace {

/// The worst kind of number in a tensor of floats.
enum class Worst : uint8_t { normal, denormal, infinite, nan };

double min_normal(DataType t) {
  switch (t) {
    case DataType::float64:
      return std::numeric_limits<double>::min();
    case DataType::float32:
    case DataType::bfloat16:
      return std::numeric_limits<float>::min();
    case DataType::float16:
      return 0x1p-14;
    default:
      return 0;
  }
}

Worst worst_of(const Value& v) {
  Worst worst = Worst::normal;
  if (!v.is_tensor() || !is_float(v.tensor().type())) return worst;
  const Tensor& t = v.tensor();
  const double least = min_normal(t.type());
  for (int64_t i = 0; i < t.size(); ++i) {
    const double x = std::abs(load_double(t, i));
    const Worst here = std::isnan(x)        ? Worst::nan
                       : std::isinf(x)      ? Worst::infinite
                       : x > 0 && x < least ? Worst::denormal
                                            : Worst::normal;
    worst = std::max(worst, here);
  }
  return worst;
}

/// Follows one evaluation.
class Bearing {
 public:
  Bearing(const Graph& graph, std::span<const Value> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Worst worst = worst_of(inputs[i]);
      known_[{&graph, graph.inputs()[i]}] = worst;
      if (worst == Worst::denormal) first_ = "an input is made of denormal numbers";
    }
  }

  void note_value(const Graph& graph, const Node& node, size_t output, const Value& value) {
    const Worst made = worst_of(value);
    known_[{&graph, node.outputs[output]}] = made;
    if (!first_.empty() || made == Worst::normal) return;
    for (ValueId v : node.inputs)
      if (v != no_id && !is_finite(graph, v)) return;  // handed on
    const std::string what = made == Worst::nan        ? "a NaN"
                             : made == Worst::infinite ? "an infinity"
                                                       : "a denormal number";
    first_ = node.op + (node.name.empty() ? "" : " '" + node.name + "'") + " makes " + what;
  }
  std::string first() const { return first_; }

 private:
  /// Returns whether the value is known to be finite. Inputs of a body are not known.
  bool is_finite(const Graph& graph, ValueId v) {
    if (const ValueInfo& info = graph.value(v); info.is_constant())
      return worst_of(*info.constant) < Worst::infinite;
    const auto at = known_.find({&graph, v});
    return at != known_.end() && at->second < Worst::infinite;
  }

  std::map<std::pair<const Graph*, ValueId>, Worst> known_;
  std::string first_;
};

}  // namespace

std::string not_borne(const BuildVariants& variants, const Graph& graph, std::span<const Value> inputs) {
  Bearing bearing(graph, inputs);
  variants.evaluate(graph, inputs, [&](const Graph& g, const Node& n, size_t output, const Value& v) {
    bearing.note_value(g, n, output, v);
  });
  return bearing.first();
}

}  // namespace lathe
