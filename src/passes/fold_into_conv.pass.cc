// Scales and shifts of whole channels by constants, behind a convolution or a transposed one, are folded into
// its weights and its bias. The arithmetic is left to constant folding, and is only proposed if it is done in
// the precision of the convolution.
#include "ops/norm/norm.h"
#include "passes/patterns.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// A convolution of constant weights that has one reader.
class Convolution {
 public:
  static std::optional<Convolution> of(const View& view, ValueId v) {
    Convolution c(view);
    for (const char* op : {"Conv", "ConvTranspose"})
      if (const Node* n = view.made_by(v, op)) c.node_ = n;
    if (!c.node_ || !view.read_once(v) || !view.is_constant(c.weights()) ||
        (c.bias() != no_id && !view.is_constant(c.bias())) ||
        (c.type() != DataType::float32 && c.type() != DataType::float64))
      return std::nullopt;
    const Shape& shape = view.constant(c.weights())->shape();
    const auto group = c.node_->attributes.get<int64_t>("group", 1);
    // Weights of Conv are [filters, …]; of ConvTranspose they are [channels, filters of a group, …].
    c.column_.resize(shape.size(), 1);
    if (c.node_->op == "Conv") {
      c.column_[0] = c.filters_ = shape[0];
    } else {
      if (group != 1 && group != shape[0]) return std::nullopt;
      c.column_[0] = group;
      c.column_[1] = shape[1];
      c.filters_ = group * shape[1];
    }
    return c;
  }

  ValueId weights() const { return node_->inputs[1]; }
  ValueId bias() const { return node_->inputs.size() > 2 ? node_->inputs[2] : no_id; }
  DataType type() const { return view_.type(weights()).elem; }

  /// Returns [M], one number for each filter, from a constant [1, M, 1, 1], [M, 1, 1] or of one element.
  std::optional<ValueId> per_filter(Patch& p, ValueId v) const {
    const Tensor* t = view_.constant(v);
    const size_t rank = column_.size();
    if (!t || t->rank() > rank) return std::nullopt;
    int64_t found = 1;
    for (size_t i = 0; i < t->rank(); ++i) {
      const bool is_channel = rank - t->rank() + i == 1;
      if (t->dim(i) != 1 && !is_channel) return std::nullopt;
      if (is_channel) found = t->dim(i);
    }
    if (found != 1 && found != filters_) return std::nullopt;
    const ValueId flat = p.add("Reshape", {v, p.add_constant("filters", ints({found}))});
    return found == filters_ ? flat : p.add("Expand", {flat, p.add_constant("filters", ints({filters_}))});
  }
  /// Weights times (or divided by) [M].
  ValueId scaled_weights(Patch& p, ValueId by, std::string op = "Mul") const {
    return p.add(std::move(op), {weights(), p.add("Reshape", {by, p.add_constant("column", ints(column_))})});
  }
  /// Replaces the reader of the convolution by the convolution with other weights and bias.
  Patch replaced(Patch p, NodeId reader, ValueId weights, ValueId bias) const {
    std::vector<ValueId> inputs{node_->inputs[0], weights};
    if (bias != no_id) inputs.push_back(bias);
    p.replace_uses(view_.node(reader).outputs[0], p.add(node_->op, std::move(inputs), node_->attributes));
    p.remove(reader);
    p.remove(view_.producer(node_->outputs[0]));
    return p;
  }

 private:
  explicit Convolution(const View& view) : view_(view) {}
  const View& view_;
  const Node* node_ = nullptr;
  int64_t filters_ = 0;
  std::vector<int64_t> column_;  // a shape of [M] that broadcasts to the weights
};

std::optional<Patch> conv_batch_normalization(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto conv = Convolution::of(view, n.inputs[0]);
  const auto op = decode<BatchNormalization>(n.attributes);
  if (!conv || op.training_mode) return std::nullopt;
  for (size_t i = 1; i <= 4; ++i)
    if (!view.is_constant(n.inputs[i]) || view.type(n.inputs[i]).elem != conv->type()) return std::nullopt;

  if (!scales_well(view, {conv->weights(), conv->bias(), n.inputs[3]},
                   normalization_scales(view, n, static_cast<double>(op.epsilon))))
    return std::nullopt;
  Patch p("BatchNormalization goes into the weights of the convolution");
  Tensor epsilon(conv->type(), {});
  store_double(epsilon, 0, static_cast<double>(op.epsilon));
  const ValueId variance = p.add("Add", {n.inputs[4], p.add_constant("epsilon", std::move(epsilon))});
  const ValueId scale = p.add("Div", {n.inputs[1], p.add("Sqrt", {variance})});
  const ValueId mean = conv->bias() == no_id ? n.inputs[3] : p.add("Sub", {n.inputs[3], conv->bias()});
  const ValueId bias = p.add("Sub", {n.inputs[2], p.add("Mul", {mean, scale})});
  const ValueId weights = conv->scaled_weights(p, scale);
  return conv->replaced(std::move(p), id, weights, bias);
}

/// Folds Mul in either order, and Div by a constant.
std::optional<Patch> scale_conv(const View& view, NodeId id) {
  const Node& n = view.node(id);
  for (size_t i : {size_t{0}, size_t{1}}) {
    const auto conv = i == 0 || n.op == "Mul" ? Convolution::of(view, n.inputs[i]) : std::nullopt;
    Patch p(n.op + " by constants goes into the weights of the convolution");
    const auto by = conv ? conv->per_filter(p, n.inputs[1 - i]) : std::nullopt;
    if (!by ||
        !scales_well(view, {conv->weights(), conv->bias()}, numbers_of(view, n.inputs[1 - i]), n.op == "Div"))
      continue;
    const ValueId bias = conv->bias() == no_id ? no_id : p.add(n.op, {conv->bias(), *by});
    const ValueId weights = conv->scaled_weights(p, *by, n.op);
    return conv->replaced(std::move(p), id, weights, bias);
  }
  return std::nullopt;
}

/// Folds Add and Sub in either order.
std::optional<Patch> shift_conv(const View& view, NodeId id) {
  const Node& n = view.node(id);
  for (size_t i : {size_t{0}, size_t{1}}) {
    const auto conv = Convolution::of(view, n.inputs[i]);
    Patch p(n.op + " of constants goes into the bias of the convolution");
    const auto by = conv ? conv->per_filter(p, n.inputs[1 - i]) : std::nullopt;
    if (!by) continue;
    const bool negated = n.op == "Sub" && i == 1;  // by - conv
    const ValueId weights = negated ? p.add("Neg", {conv->weights()}) : conv->weights();
    ValueId bias = *by;
    if (conv->bias() != no_id)
      bias = p.add(
          n.op, negated ? std::vector<ValueId>{*by, conv->bias()} : std::vector<ValueId>{conv->bias(), *by});
    else if (n.op == "Sub" && !negated)
      bias = p.add("Neg", {*by});
    return conv->replaced(std::move(p), id, weights, bias);
  }
  return std::nullopt;
}

}  // namespace

void pass_fold_into_conv(PassList& all) {
  const auto level = OptimizationLevel::basic;
  all.push_back({.name = "fold-batch-normalization",
                 .description = "puts BatchNormalization into the weights of the convolution before it",
                 .level = level,
                 .anchors = {"BatchNormalization"},
                 .propose = conv_batch_normalization});
  all.push_back(
      {.name = "fold-conv-scale",
       .description = "puts a Mul or Div by constants into the weights of the convolution before it",
       .level = level,
       .anchors = {"Mul", "Div"},
       .propose = scale_conv});
  all.push_back({.name = "fold-conv-shift",
                 .description = "puts an Add or Sub of constants into the bias of the convolution before it",
                 .level = level,
                 .anchors = {"Add", "Sub"},
                 .propose = shift_conv});
}

}  // namespace lathe
