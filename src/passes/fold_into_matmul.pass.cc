// Scales of columns by constants, behind a product with constant weights, are folded into the weights, and
// into the bias that was added in between. The arithmetic is left to constant folding, and is only proposed
// if it is done in the precision of the product.
#include <array>

#include "ops/norm/norm.h"
#include "passes/patterns.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// x · weights [+ bias], read by one node alone: MatMul, MatMul and Add, or a Gemm.
struct Product {
  ValueId x = no_id, weights = no_id, bias = no_id;
  const Node* gemm = nullptr;
  bool trans_b() const { return gemm && gemm->attributes.get<int64_t>("transB", 0) != 0; }
};
std::optional<Product> constant_product(const View& view, ValueId v) {
  if (!view.read_once(v)) return std::nullopt;
  Product found;
  if (const Node* add = view.made_by(v, "Add"))
    for (size_t i : {size_t{0}, size_t{1}})
      if (view.made_by(add->inputs[i], "MatMul") && view.is_constant(add->inputs[1 - i]) &&
          view.read_once(add->inputs[i]) && view.same_type(add->inputs[i], v)) {
        found.bias = add->inputs[1 - i];
        v = add->inputs[i];
        break;
      }
  const Node* n = view.made_by(v, "MatMul");
  if (!n && found.bias == no_id) {
    n = view.made_by(v, "Gemm");
    found.gemm = n;
    if (n && n->inputs.size() > 2) found.bias = n->inputs[2];
  }
  if (!n || view.rank(n->inputs[1]) != 2 || !view.rank(v)) return std::nullopt;
  found.x = n->inputs[0];
  found.weights = n->inputs[1];
  const DataType t = view.type(found.weights).elem;
  // Weights that others read as well would be stored twice.
  if (!view.is_constant(found.weights) || !view.read_once(found.weights) ||
      (found.bias != no_id && !view.is_constant(found.bias)) ||
      (t != DataType::float32 && t != DataType::float64))
    return std::nullopt;
  return found;
}

/// Returns one number, or one for each column ([N], [1, N], [1, 1, N]), as a row; else nothing.
std::optional<ValueId> row(const View& view, Patch& p, ValueId v, const Product& of) {
  const Tensor* t = view.constant(v);
  const int64_t columns = view.constant(of.weights)->dim(of.trans_b() ? 0 : 1);
  if (!t || (t->size() != 1 && t->size() != columns)) return std::nullopt;
  if (t->size() != 1 && t->dim(t->rank() - 1) != columns) return std::nullopt;
  if (t->rank() <= 1) return v;
  return p.add("Reshape", {v, p.add_constant("row", ints({-1}))});
}

/// The weights, each column multiplied with (or divided by) its number of the row `by`.
ValueId add_scaled(Patch& p, const Product& of, const std::string& op, ValueId by) {
  if (of.trans_b()) by = p.add("Reshape", {by, p.add_constant("column", ints({-1, 1}))});
  return p.add(op, {of.weights, by});
}

/// Adds the product again: a Gemm keeps its factors and the transposition of its operands.
ValueId add_product(Patch& p, const Product& of, ValueId weights, ValueId bias, bool bias_as_it_is = false) {
  if (of.gemm) {
    std::vector<ValueId> inputs{of.x, weights};
    if (bias != no_id) inputs.push_back(bias);
    Attributes a = of.gemm->attributes;
    if (bias_as_it_is) a.erase("beta");
    return p.add("Gemm", std::move(inputs), std::move(a));
  }
  const ValueId y = p.add("MatMul", {of.x, weights});
  return bias == no_id ? y : p.add("Add", {y, bias});
}

std::optional<Patch> scale_product(const View& view, NodeId id) {
  const Node& n = view.node(id);
  for (size_t i : {size_t{0}, size_t{1}}) {
    const auto of = constant_product(view, n.inputs[i]);
    if (!of || (n.op == "Div" && i == 1) || !view.same_type(n.inputs[i], n.outputs[0])) continue;
    Patch p(n.op + " by constants goes into the weights of the product");
    const auto by = row(view, p, n.inputs[1 - i], *of);
    if (!by || !scales_well(view, {of->weights, of->bias}, numbers_of(view, n.inputs[1 - i]), n.op == "Div"))
      continue;
    const ValueId bias = of->bias == no_id ? no_id : p.add(n.op, {of->bias, *by});
    const ValueId weights = add_scaled(p, *of, n.op, *by);
    p.replace_uses(n.outputs[0], add_product(p, *of, weights, bias));
    p.remove(id);
    return p;
  }
  return std::nullopt;
}

std::optional<Patch> matmul_batch_normalization(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto of = constant_product(view, n.inputs[0]);
  const auto op = decode<BatchNormalization>(n.attributes);
  if (!of || op.training_mode || view.rank(n.inputs[0]) != 2) return std::nullopt;
  const DataType t = view.type(of->weights).elem;
  for (size_t i = 1; i <= 4; ++i)
    if (!view.is_constant(n.inputs[i]) || view.type(n.inputs[i]).elem != t) return std::nullopt;
  if (!scales_well(view, {of->weights, of->bias, n.inputs[3]},
                   normalization_scales(view, n, static_cast<double>(op.epsilon))))
    return std::nullopt;
  Patch p("BatchNormalization goes into the weights of the product");
  Tensor epsilon(t, {});
  store_double(epsilon, 0, static_cast<double>(op.epsilon));
  const ValueId variance = p.add("Add", {n.inputs[4], p.add_constant("epsilon", std::move(epsilon))});
  const ValueId factor = p.add("Div", {n.inputs[1], p.add("Sqrt", {variance})});
  ValueId before = of->bias;
  const double beta = of->gemm ? static_cast<double>(of->gemm->attributes.get<float>("beta", 1)) : 1;
  if (before != no_id && beta != 1) {
    Tensor by(t, {});
    store_double(by, 0, beta);
    before = p.add("Mul", {before, p.add_constant("beta", std::move(by))});
  }
  const ValueId mean = before == no_id ? n.inputs[3] : p.add("Sub", {n.inputs[3], before});
  const ValueId bias = p.add("Sub", {n.inputs[2], p.add("Mul", {mean, factor})});
  const ValueId weights = add_scaled(p, *of, "Mul", factor);
  p.replace_uses(n.outputs[0], add_product(p, *of, weights, bias, true));
  p.remove(id);
  return p;
}

/// Returns x times a number, if x is multiplied with constants already, by a Mul or as the scale of a
/// normalization: those are few numbers, weights of a product many.
std::optional<ValueId> scaled_constants(const View& view, Patch& p, ValueId x, ValueId by, double factor) {
  if (!view.read_once(x)) return std::nullopt;
  const auto scale = [&](Operands& inputs, size_t i) { inputs.set(i, p.add("Mul", {inputs[i], by})); };
  if (const Node* mul = view.made_by(x, "Mul")) {
    const size_t i = view.is_constant(mul->inputs[0]) ? 0 : 1;
    Operands inputs = mul->inputs;
    if (!view.is_constant(inputs[i]) || view.is_constant(inputs[1 - i]) ||
        !scales_well(view, {inputs[i]}, std::array{factor}))
      return std::nullopt;
    scale(inputs, i);
    return p.add("Mul", std::move(inputs));
  }
  for (const char* name : {"RMSNormalization", "LayerNormalization"}) {
    const Node* norm = view.made_by(x, name);
    if (!norm || norm->outputs.size() > 1 || view.type(norm->inputs[0]).elem != DataType::float32) continue;
    Operands inputs = norm->inputs;
    for (size_t i = 1; i < inputs.size(); ++i) {
      if (inputs[i] == no_id) continue;
      if (!view.is_constant(inputs[i]) || view.type(inputs[i]).elem != DataType::float32 ||
          !scales_well(view, {inputs[i]}, std::array{factor}))
        return std::nullopt;
      scale(inputs, i);
    }
    return p.add(name, std::move(inputs), norm->attributes);
  }
  return std::nullopt;
}

/// Moves factors of the operands into constants that an operand is multiplied with, into weights, or behind
/// the product, where they cost nothing. Only in float32, whose range is wide enough for either order.
std::optional<Patch> scale_in_front(const View& view, NodeId id) {
  const Node& n = view.node(id);
  if (view.type(n.outputs[0]).elem != DataType::float32) return std::nullopt;
  double factor = 1;
  Operands inputs = n.inputs;
  for (ValueId& v : inputs) {
    double own = 1;
    const ValueId x = view.read_once(v) ? without_factors(view, v, own) : v;
    if (view.is_constant(x)) continue;  // to be folded
    v = x;
    factor *= own;
  }
  if (inputs == n.inputs || !std::isfinite(factor) || std::abs(factor) < 1e-10 || std::abs(factor) > 1e10)
    return std::nullopt;
  Patch p("a factor in front of the product");
  const ValueId by =
      p.add_constant("factor", Tensor::from<float>({}, std::vector<float>{static_cast<float>(factor)}));
  const auto takes = [&](ValueId& v, bool weights) {
    if (view.is_constant(v) != weights) return false;
    const bool may_scale = view.read_once(v) && scales_well(view, {v}, std::array{factor});
    const auto scaled = !weights    ? scaled_constants(view, p, v, by, factor)
                        : may_scale ? std::optional(p.add("Mul", {v, by}))
                                    : std::nullopt;
    if (scaled) v = *scaled;
    return scaled.has_value();
  };
  const bool taken = std::ranges::any_of(inputs, [&](ValueId& v) { return takes(v, false); }) ||
                     std::ranges::any_of(inputs, [&](ValueId& v) { return takes(v, true); });
  const ValueId product = p.add("MatMul", inputs);
  p.replace_uses(n.outputs[0], taken ? product : p.add("Mul", {product, by}));
  p.remove(id);
  return p;
}

/// Makes a constant that is added to a Gemm without a bias its bias.
std::optional<Patch> gemm_bias(const View& view, NodeId id) {
  const Node& n = view.node(id);
  if (n.inputs.size() != 2) return std::nullopt;
  for (size_t i : {size_t{0}, size_t{1}}) {
    const Node* gemm = view.made_by(n.inputs[i], "Gemm");
    if (!gemm || !view.read_once(n.inputs[i]) || !view.is_constant(n.inputs[1 - i]) ||
        (gemm->inputs.size() > 2 && gemm->inputs[2] != no_id) || !view.same_type(n.inputs[i], n.outputs[0]))
      continue;
    Patch p(n.op + " is the bias of Gemm");
    Attributes a = gemm->attributes;
    a.erase("beta");
    p.replace_uses(n.outputs[0],
                   p.add("Gemm", {gemm->inputs[0], gemm->inputs[1], n.inputs[1 - i]}, std::move(a)));
    p.remove(id);
    return p;
  }
  return std::nullopt;
}

}  // namespace

void pass_fold_into_matmul(PassList& all) {
  const auto level = OptimizationLevel::basic;
  all.push_back({.name = "fold-matmul-scale",
                 .description = "puts a Mul or Div by constants into the weights of the product before it",
                 .level = level,
                 .anchors = {"Mul", "Div"},
                 .propose = scale_product});
  all.push_back({.name = "fold-matmul-normalization",
                 .description = "puts BatchNormalization into the weights of the product before it",
                 .level = level,
                 .anchors = {"BatchNormalization"},
                 .propose = matmul_batch_normalization});
  all.push_back({.name = "gemm-bias",
                 .description = "makes a constant that is added the bias of Gemm",
                 .level = level,
                 .anchors = {"Add", "Sum"},
                 .propose = gemm_bias});
  all.push_back(
      {.name = "matmul-scale",
       .description =
           "takes factors in front of a product into constants there, into its weights, or behind it",
       .level = level,
       .anchors = {"MatMul"},
       .propose = scale_in_front});
}

}  // namespace lathe
