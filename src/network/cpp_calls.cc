#include "network/cpp_calls.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "network/cpp_text.h"
#include "network/family.h"
#include "network/state.h"

namespace lathe {
namespace {

using cpp_text::literal;
using Ints = std::vector<int64_t>;
using Refs = std::vector<TensorRef>;

std::string text(bool b) { return b ? "true" : "false"; }
std::string text(int64_t i) { return cpp_text::number(i); }
std::string text(float f) { return cpp_text::number(f); }
std::string text(const std::string& s) { return literal(s); }
std::string text(const Ints& list) {
  std::string s = "{";
  for (size_t i = 0; i < list.size(); ++i) s += (i ? ", " : "") + text(list[i]);
  return s + "}";
}
std::string text(DataType t) { return "lathe::DataType::" + std::string(name_of(t)); }

/// Designated initialisers, those that are not the default.
class Fields {
 public:
  template <class T>
  Fields& add(const char* name, const T& value, const T& by_default) {
    return value == by_default ? *this : with(name, text(value));
  }
  Fields& with(const char* name, const std::string& value) {
    text_ += std::string(text_.empty() ? "" : ", ") + "." + name + " = " + value;
    return *this;
  }
  /// ", {.axis = 1, .name = \"s\"}"
  std::string rest(const std::string& name) {
    with("name", literal(name));
    return ", {" + text_ + "}";
  }

 private:
  std::string text_;
};

std::string named(const Node& n) { return ", " + literal(n.name); }
int64_t whole(const Node& n, const char* name, int64_t by_default = 0) {
  return n.attributes.get<int64_t>(name, by_default);
}
float real(const Node& n, const char* name, float by_default) {
  return n.attributes.get<float>(name, by_default);
}
std::string word(const Node& n, const char* name) { return n.attributes.get<std::string>(name, {}); }
Ints ints(const Node& n, const char* name) { return n.attributes.get<Ints>(name, {}); }

/// The place of a word among others; nothing where it is not there.
template <size_t N>
std::optional<size_t> place(const std::array<std::string_view, N>& words, std::string_view word) {
  const auto at = std::ranges::find(words, word);
  return at == words.end() ? std::nullopt : std::optional(static_cast<size_t>(at - words.begin()));
}

// What windows have in common.

template <class Options>
bool read_window(const Node& n, Options& o) {
  constexpr std::array<std::string_view, 4> modes{"", "SAME_UPPER", "SAME_LOWER", "VALID"};
  const auto mode = place(modes, word(n, "auto_pad"));
  if (!mode) return false;
  o.stride = ints(n, "strides");
  o.dilation = ints(n, "dilations");
  const Ints pads = ints(n, "pads");
  const auto half = static_cast<ptrdiff_t>(pads.size() / 2);
  o.pre_padding.assign(pads.begin(), pads.begin() + half);
  o.post_padding.assign(pads.begin() + half, pads.end());
  o.padding_mode = static_cast<PaddingMode>(*mode);
  o.name = n.name;
  return true;
}

template <class Options>
void write_window(const Options& o, Fields& f) {
  f.add("stride", o.stride, {}).add("dilation", o.dilation, {});
  f.add("pre_padding", o.pre_padding, {}).add("post_padding", o.post_padding, {});
}
void write_mode(PaddingMode mode, Fields& f) {
  constexpr std::array names{"explicit_pads", "same_upper", "same_lower", "valid"};
  if (mode != PaddingMode::explicit_pads)
    f.with("padding_mode", std::string("lathe::PaddingMode::") + names[static_cast<size_t>(mode)]);
}

std::optional<CppCall> convolution(const Graph&, const Node& n) {
  ConvolutionOptions o;
  if (!read_window(n, o)) return std::nullopt;
  Fields f;
  write_window(o, f);
  write_mode(o.padding_mode, f);
  o.groups = whole(n, "group", 1);
  f.add("groups", o.groups, int64_t{1});
  return CppCall{"add_convolution", {0, 1, 2}, false, f.rest(n.name), [o](Network& net, const Refs& t) {
                   return net.add_convolution(t[0], t[1], t[2], o);
                 }};
}

std::optional<CppCall> deconvolution(const Graph&, const Node& n) {
  DeconvolutionOptions o;
  if (!read_window(n, o)) return std::nullopt;
  o.output_padding = ints(n, "output_padding");
  o.groups = whole(n, "group", 1);
  Fields f;
  write_window(o, f);
  f.add("output_padding", o.output_padding, {});
  write_mode(o.padding_mode, f);
  f.add("groups", o.groups, int64_t{1});
  return CppCall{"add_deconvolution", {0, 1, 2}, false, f.rest(n.name), [o](Network& net, const Refs& t) {
                   return net.add_deconvolution(t[0], t[1], t[2], o);
                 }};
}

std::optional<CppCall> pooling(const Graph&, const Node& n) {
  const PoolingType type = n.op.ends_with("MaxPool") ? PoolingType::max : PoolingType::average;
  PoolingOptions o;
  if (!read_window(n, o)) return std::nullopt;
  o.window = ints(n, "kernel_shape");
  Fields f;
  f.add("window", o.window, {});
  write_window(o, f);
  write_mode(o.padding_mode, f);
  o.round_up = whole(n, "ceil_mode") != 0;
  o.average_count_excludes_padding = whole(n, "count_include_pad") == 0;
  f.add("round_up", o.round_up, false);
  f.add("average_count_excludes_padding", o.average_count_excludes_padding, true);
  const char* const name = type == PoolingType::max ? "max" : "average";
  return CppCall{"add_pooling",
                 {0},
                 false,
                 std::string(", lathe::PoolingType::") + name + f.rest(n.name),
                 [o, type](Network& net, const Refs& t) { return net.add_pooling(t[0], type, o); }};
}

std::optional<CppCall> lrn(const Graph&, const Node& n) {
  const LrnOptions usual;
  const LrnOptions o{whole(n, "size", usual.window), real(n, "alpha", usual.alpha),
                     real(n, "beta", usual.beta), real(n, "bias", usual.k), n.name};
  Fields f;
  f.add("window", o.window, usual.window).add("alpha", o.alpha, usual.alpha);
  f.add("beta", o.beta, usual.beta).add("k", o.k, usual.k);
  return CppCall{"add_lrn", {0}, false, f.rest(n.name), [o](Network& net, const Refs& t) {
                   return net.add_lrn(t[0], o);
                 }};
}

// Element by element.

std::optional<CppCall> activation(const Graph&, const Node& n) {
  using A = ActivationType;
  struct Kind {
    A type;
    const char *name, *second;  // second: the attribute that is beta
  };
  static const std::map<std::string_view, Kind> kinds{
      {"Relu", {A::relu, "relu", ""}},
      {"Sigmoid", {A::sigmoid, "sigmoid", ""}},
      {"Tanh", {A::tanh, "tanh", ""}},
      {"LeakyRelu", {A::leaky_relu, "leaky_relu", ""}},
      {"Elu", {A::elu, "elu", ""}},
      {"Selu", {A::selu, "selu", "gamma"}},
      {"Softsign", {A::softsign, "softsign", ""}},
      {"Softplus", {A::softplus, "softplus", ""}},
      {"HardSigmoid", {A::hard_sigmoid, "hard_sigmoid", "beta"}},
      {"ThresholdedRelu", {A::thresholded_relu, "thresholded_relu", ""}},
      {"Gelu", {A::gelu_erf, "gelu_erf", ""}}};
  Kind kind = kinds.at(n.op);
  if (n.op == "Gelu" && word(n, "approximate") == "tanh") kind = {A::gelu_tanh, "gelu_tanh", ""};
  ActivationOptions o;
  Fields f;
  if (const float* alpha = n.attributes.get_if<float>("alpha")) {
    o.alpha = static_cast<double>(*alpha);
    f.with("alpha", text(*alpha));
  }
  if (const float* beta = *kind.second ? n.attributes.get_if<float>(kind.second) : nullptr) {
    o.beta = static_cast<double>(*beta);
    f.with("beta", text(*beta));
  }
  o.name = n.name;
  const A type = kind.type;
  return CppCall{"add_activation",
                 {0},
                 false,
                 std::string(", lathe::ActivationType::") + kind.name + f.rest(n.name),
                 [o, type](Network& net, const Refs& t) { return net.add_activation(t[0], type, o); }};
}

std::optional<CppCall> unary(const Graph&, const Node& n) {
  constexpr std::array names{"exp",   "log",   "sqrt",  "recip", "abs",   "neg",  "sin",
                             "cos",   "tan",   "sinh",  "cosh",  "asin",  "acos", "atan",
                             "asinh", "acosh", "atanh", "ceil",  "floor", "erf",  "logical_not",
                             "sign",  "round", "isinf", "isnan"};
  for (size_t i = 0; i < names.size(); ++i) {
    const auto op = static_cast<UnaryOperation>(i);
    if (operator_of(op) != n.op) continue;
    return CppCall{
        "add_unary",
        {0},
        false,
        std::string(", lathe::UnaryOperation::") + names[i] + named(n),
        [op, name = n.name](Network& net, const Refs& t) { return net.add_unary(t[0], op, name); }};
  }
  return std::nullopt;
}

std::optional<CppCall> elementwise(const Graph&, const Node& n) {
  constexpr std::array names{"sum",         "prod",  "max",       "min",         "sub",
                             "div",         "pow",   "floor_div", "logical_and", "logical_or",
                             "logical_xor", "equal", "greater",   "less"};
  for (size_t i = 0; i < names.size(); ++i) {
    const auto op = static_cast<ElementWiseOperation>(i);
    if (op == ElementWiseOperation::floor_div || operator_of(op) != n.op) continue;
    return CppCall{"add_elementwise",
                   {0, 1},
                   false,
                   std::string(", lathe::ElementWiseOperation::") + names[i] + named(n),
                   [op, name = n.name](Network& net, const Refs& t) {
                     return net.add_elementwise(t[0], t[1], op, name);
                   }};
  }
  return std::nullopt;
}

/// Calls of tensors and a name.
template <size_t... I>
CppCall plain(const char* method, const Node& n,
              Layer (Network::*call)(decltype((void)I, std::declval<const TensorRef&>())...,
                                     const std::string&),
              std::index_sequence<I...>) {
  return {method, {I...}, false, named(n), [call, name = n.name](Network& net, const Refs& t) {
            return (net.*call)(t[I]..., name);
          }};
}
std::optional<CppCall> parametric_relu(const Graph&, const Node& n) {
  return plain("add_parametric_relu", n, &Network::add_parametric_relu, std::make_index_sequence<2>());
}
std::optional<CppCall> select(const Graph&, const Node& n) {
  return plain("add_select", n, &Network::add_select, std::make_index_sequence<3>());
}
std::optional<CppCall> identity(const Graph&, const Node& n) {
  return plain("add_identity", n, &Network::add_identity, std::make_index_sequence<1>());
}
std::optional<CppCall> shape(const Graph&, const Node& n) {
  return plain("add_shape", n, &Network::add_shape, std::make_index_sequence<1>());
}
std::optional<CppCall> non_zero(const Graph&, const Node& n) {
  return plain("add_non_zero", n, &Network::add_non_zero, std::make_index_sequence<1>());
}

std::optional<CppCall> cast(const Graph&, const Node& n) {
  const auto to = static_cast<DataType>(whole(n, "to"));
  return CppCall{
      "add_cast", {0}, false, ", " + text(to) + named(n), [to, name = n.name](Network& net, const Refs& t) {
        return net.add_cast(t[0], to, name);
      }};
}

// Norms and products.

std::optional<CppCall> normalization(const Graph&, const Node& n) {
  constexpr std::array<std::string_view, 4> ops{"LayerNormalization", "RMSNormalization",
                                                "InstanceNormalization", "GroupNormalization"};
  constexpr std::array names{"layer", "rms", "instance", "group"};
  const size_t kind = *place(ops, n.op);
  const auto type = static_cast<NormalizationType>(kind);
  const NormalizationOptions o{whole(n, "axis", -1), whole(n, "num_groups", 1), real(n, "epsilon", 1e-5f),
                               n.name};
  Fields f;
  f.add("axis", o.axis, int64_t{-1}).add("groups", o.groups, int64_t{1}).add("epsilon", o.epsilon, 1e-5f);
  return CppCall{
      "add_normalization",
      {0, 1, 2},
      false,
      std::string(", lathe::NormalizationType::") + names[kind] + f.rest(n.name),
      [o, type](Network& net, const Refs& t) { return net.add_normalization(t[0], t[1], t[2], type, o); }};
}

std::optional<CppCall> softmax(const Graph&, const Node& n) {
  const SoftmaxOptions o{whole(n, "axis", -1), n.name};
  return CppCall{"add_softmax",
                 {0},
                 false,
                 Fields().add("axis", o.axis, int64_t{-1}).rest(n.name),
                 [o](Network& net, const Refs& t) { return net.add_softmax(t[0], o); }};
}

std::optional<CppCall> matrix_multiply(const Graph&, const Node& n) {
  return CppCall{"add_matrix_multiply",
                 {0, 1},
                 false,
                 Fields().rest(n.name),
                 [o = MatrixMultiplyOptions{.name = n.name}](Network& net, const Refs& t) {
                   return net.add_matrix_multiply(t[0], t[1], o);
                 }};
}

std::vector<size_t> all_inputs(const Node& n) {
  std::vector<size_t> list(n.inputs.size());
  for (size_t i = 0; i < list.size(); ++i) list[i] = i;
  return list;
}

std::optional<CppCall> einsum(const Graph&, const Node& n) {
  const std::string equation = word(n, "equation");
  return CppCall{
      "add_einsum", all_inputs(n), true, ", " + literal(equation) + named(n),
      [equation, name = n.name](Network& net, const Refs& t) { return net.add_einsum(t, equation, name); }};
}

/// The elements of a constant list of int64.
std::optional<Ints> list_at(const Graph& g, const Node& n, size_t i) {
  if (i >= n.inputs.size() || n.inputs[i] == no_id) return Ints();
  const Tensor* t = g.constant_tensor(n.inputs[i]);
  if (!t || t->type() != DataType::int64) return std::nullopt;
  return Ints(t->as<int64_t>().begin(), t->as<int64_t>().end());
}

std::optional<CppCall> reduce(const Graph& g, const Node& n) {
  constexpr std::array names{"sum", "prod", "max",     "min",         "avg",
                             "l1",  "l2",   "log_sum", "log_sum_exp", "sum_square"};
  const auto axes = list_at(g, n, 1);
  if (!axes) return std::nullopt;
  const ReduceOptions o{whole(n, "keepdims", 1) != 0, n.name};
  for (size_t i = 0; i < names.size(); ++i) {
    const auto op = static_cast<ReduceOperation>(i);
    if (operator_of(op) != n.op) continue;
    return CppCall{
        "add_reduce",
        {0},
        false,
        std::string(", lathe::ReduceOperation::") + names[i] + ", " + text(*axes) +
            Fields().add("keep_dimensions", o.keep_dimensions, false).rest(n.name),
        [op, o, axes = *axes](Network& net, const Refs& t) { return net.add_reduce(t[0], op, axes, o); }};
  }
  return std::nullopt;
}

std::optional<CppCall> topk(const Graph& g, const Node& n) {
  const auto op = whole(n, "largest", 1) ? TopKOperation::max : TopKOperation::min;
  const TopKOptions o{.axis = whole(n, "axis", -1), .name = n.name};
  const std::string kind =
      op == TopKOperation::max ? ", lathe::TopKOperation::max, " : ", lathe::TopKOperation::min, ";
  const std::string rest = Fields().add("axis", o.axis, int64_t{-1}).rest(n.name);
  const auto k = list_at(g, n, 1);
  if (!k || k->size() != 1) return std::nullopt;
  return CppCall{
      "add_topk", {0}, false, kind + text((*k)[0]) + rest, [op, o, k = (*k)[0]](Network& net, const Refs& t) {
        return net.add_topk(t[0], op, k, o);
      }};
}

std::optional<CppCall> cumulative(const Graph& g, const Node& n) {
  const auto op = n.op == "CumSum" ? CumulativeOperation::sum : CumulativeOperation::prod;
  const auto axis = list_at(g, n, 1);
  if (!axis || axis->size() != 1) return std::nullopt;
  const CumulativeOptions o{whole(n, "exclusive") != 0, whole(n, "reverse") != 0, n.name};
  return CppCall{
      "add_cumulative",
      {0},
      false,
      std::string(", lathe::CumulativeOperation::") + (op == CumulativeOperation::sum ? "sum" : "prod") +
          ", " + text((*axis)[0]) +
          Fields().add("exclusive", o.exclusive, false).add("reverse", o.reverse, false).rest(n.name),
      [op, o, axis = (*axis)[0]](Network& net, const Refs& t) {
        return net.add_cumulative(t[0], op, axis, o);
      }};
}

// Choosing and moving.

std::optional<CppCall> gather(const Graph&, const Node& n) {
  GatherOptions o{.axis = whole(n, "axis"), .batch_axes = whole(n, "batch_dims"), .name = n.name};
  Fields f;
  if (n.op == "GatherElements") o.mode = GatherMode::elements, f.with("mode", "lathe::GatherMode::elements");
  if (n.op == "GatherND") o.mode = GatherMode::nd, f.with("mode", "lathe::GatherMode::nd");
  f.add("axis", o.axis, int64_t{0}).add("batch_axes", o.batch_axes, int64_t{0});
  return CppCall{"add_gather", {0, 1}, false, f.rest(n.name), [o](Network& net, const Refs& t) {
                   return net.add_gather(t[0], t[1], o);
                 }};
}

std::optional<CppCall> scatter(const Graph&, const Node& n) {
  constexpr std::array<std::string_view, 5> words{"", "add", "mul", "max", "min"};
  const auto reduction = place(words, word(n, "reduction"));
  if (!reduction) return std::nullopt;
  ScatterOptions o{
      .axis = whole(n, "axis"), .reduction = static_cast<ScatterReduction>(*reduction), .name = n.name};
  Fields f;
  if (n.op == "ScatterND") o.mode = ScatterMode::nd, f.with("mode", "lathe::ScatterMode::nd");
  f.add("axis", o.axis, int64_t{0});
  if (*reduction) f.with("reduction", "lathe::ScatterReduction::" + std::string(words[*reduction]));
  return CppCall{"add_scatter", {0, 1, 2}, false, f.rest(n.name), [o](Network& net, const Refs& t) {
                   return net.add_scatter(t[0], t[1], t[2], o);
                 }};
}

std::optional<CppCall> one_hot(const Graph&, const Node& n) {
  const int64_t axis = whole(n, "axis", -1);
  return CppCall{"add_one_hot",
                 {0, 2, 1},
                 false,
                 ", " + text(axis) + named(n),
                 [axis, name = n.name](Network& net, const Refs& t) {
                   return net.add_one_hot(t[0], t[1], t[2], axis, name);
                 }};
}

std::optional<CppCall> transpose(const Graph&, const Node& n) {
  const Ints permutation = ints(n, "perm");
  return CppCall{"add_transpose",
                 {0},
                 false,
                 ", " + text(permutation) + named(n),
                 [permutation, name = n.name](Network& net, const Refs& t) {
                   return net.add_transpose(t[0], permutation, name);
                 }};
}

std::optional<CppCall> reshape(const Graph& g, const Node& n) {
  const auto sizes = list_at(g, n, 1);
  if (!sizes) return std::nullopt;
  Sizes wanted;
  std::string list = "{";
  for (int64_t d : *sizes) {
    if (d < -1) return std::nullopt;
    list += (list.size() > 1 ? ", " : "") + (d == -1 ? std::string("lathe::inferred_size") : text(d));
    wanted.push_back(d == -1 ? Size(inferred_size) : Size(d));
  }
  return CppCall{
      "add_reshape",
      {0},
      false,
      ", lathe::Sizes" + list + "}" + named(n),
      [wanted, name = n.name](Network& net, const Refs& t) { return net.add_reshape(t[0], wanted, name); }};
}

std::optional<CppCall> concatenation(const Graph&, const Node& n) {
  const int64_t axis = whole(n, "axis");
  return CppCall{
      "add_concatenation", all_inputs(n), true, ", " + text(axis) + named(n),
      [axis, name = n.name](Network& net, const Refs& t) { return net.add_concatenation(t, axis, name); }};
}

std::optional<CppCall> squeeze(const Graph& g, const Node& n) {
  const auto axes = list_at(g, n, 1);
  if (!axes || axes->empty()) return std::nullopt;
  const bool adds = n.op == "Unsqueeze";
  return CppCall{adds ? "add_unsqueeze" : "add_squeeze",
                 {0},
                 false,
                 ", " + text(*axes) + named(n),
                 [adds, axes = *axes, name = n.name](Network& net, const Refs& t) {
                   return adds ? net.add_unsqueeze(t[0], axes, name) : net.add_squeeze(t[0], axes, name);
                 }};
}

std::optional<CppCall> grid_sample(const Graph&, const Node& n) {
  constexpr std::array<std::string_view, 3> modes{"nearest", "linear", "cubic"},
      pads{"zeros", "border", "reflection"};
  const auto mode = place(modes, word(n, "mode")), padding = place(pads, word(n, "padding_mode"));
  if (!mode || !padding) return std::nullopt;
  const GridSampleOptions o{static_cast<InterpolationMode>(*mode), static_cast<GridPadding>(*padding),
                            whole(n, "align_corners") != 0, n.name};
  Fields f;
  if (o.mode != InterpolationMode::linear)
    f.with("mode", "lathe::InterpolationMode::" + std::string(modes[*mode]));
  if (o.padding != GridPadding::zeros)
    f.with("padding", "lathe::GridPadding::" + std::string(pads[*padding]));
  f.add("align_corners", o.align_corners, false);
  return CppCall{"add_grid_sample", {0, 1}, false, f.rest(n.name), [o](Network& net, const Refs& t) {
                   return net.add_grid_sample(t[0], t[1], o);
                 }};
}

std::optional<CppCall> reverse_sequence(const Graph&, const Node& n) {
  const ReverseSequenceOptions o{whole(n, "batch_axis", 1), whole(n, "time_axis"), n.name};
  return CppCall{"add_reverse_sequence",
                 {0, 1},
                 false,
                 Fields()
                     .add("batch_axis", o.batch_axis, int64_t{1})
                     .add("sequence_axis", o.sequence_axis, int64_t{0})
                     .rest(n.name),
                 [o](Network& net, const Refs& t) { return net.add_reverse_sequence(t[0], t[1], o); }};
}

// Few bits, attention.

std::optional<CppCall> quantize(const Graph& g, const Node& n) {
  QuantizeOptions o;
  const bool has_zero = n.inputs.size() > 2 && n.inputs[2] != no_id;
  o.type = has_zero ? g.value(n.inputs[2]).type.elem : static_cast<DataType>(whole(n, "output_dtype"));
  o.axis = whole(n, "axis", 1);
  o.block_size = whole(n, "block_size");
  o.saturate = whole(n, "saturate", 1) != 0;
  o.name = n.name;
  Fields f;
  f.add("type", o.type, DataType::int8)
      .add("axis", o.axis, int64_t{1})
      .add("block_size", o.block_size, int64_t{0});
  f.add("saturate", o.saturate, true);
  return CppCall{"add_quantize", {0, 1, 2}, false, f.rest(n.name), [o](Network& net, const Refs& t) {
                   return net.add_quantize(t[0], t[1], t[2], o);
                 }};
}

std::optional<CppCall> dequantize(const Graph&, const Node& n) {
  const DequantizeOptions o{whole(n, "axis", 1), whole(n, "block_size"), n.name};
  return CppCall{
      "add_dequantize",
      {0, 1, 2},
      false,
      Fields().add("axis", o.axis, int64_t{1}).add("block_size", o.block_size, int64_t{0}).rest(n.name),
      [o](Network& net, const Refs& t) { return net.add_dequantize(t[0], t[1], t[2], o); }};
}

std::optional<CppCall> kv_cache_update(const Graph&, const Node& n) {
  const KvCacheOptions o{word(n, "mode") == "circular" ? KvCacheMode::ring : KvCacheMode::linear,
                         whole(n, "axis", -2), n.name};
  Fields f;
  if (o.mode == KvCacheMode::ring) f.with("mode", "lathe::KvCacheMode::ring");
  f.add("axis", o.axis, int64_t{-2});
  return CppCall{"add_kv_cache_update", {0, 1, 2}, false, f.rest(n.name), [o](Network& net, const Refs& t) {
                   return net.add_kv_cache_update(t[0], t[1], t[2], o);
                 }};
}

using Family = std::optional<CppCall> (*)(const Graph&, const Node&);
const std::map<std::string_view, Family>& families() {
  static const std::map<std::string_view, Family> all{{"convolution", convolution},
                                                      {"deconvolution", deconvolution},
                                                      {"pooling", pooling},
                                                      {"lrn", lrn},
                                                      {"activation", activation},
                                                      {"unary", unary},
                                                      {"elementwise", elementwise},
                                                      {"parametric_relu", parametric_relu},
                                                      {"select", select},
                                                      {"identity", identity},
                                                      {"cast", cast},
                                                      {"shape", shape},
                                                      {"normalization", normalization},
                                                      {"softmax", softmax},
                                                      {"matrix_multiply", matrix_multiply},
                                                      {"einsum", einsum},
                                                      {"reduce", reduce},
                                                      {"topk", topk},
                                                      {"cumulative", cumulative},
                                                      {"gather", gather},
                                                      {"scatter", scatter},
                                                      {"one_hot", one_hot},
                                                      {"non_zero", non_zero},
                                                      {"concatenation", concatenation},
                                                      {"squeeze", squeeze},
                                                      {"unsqueeze", squeeze},
                                                      {"grid_sample", grid_sample},
                                                      {"reverse_sequence", reverse_sequence},
                                                      {"quantize", quantize},
                                                      {"dequantize", dequantize},
                                                      {"kv_cache_update", kv_cache_update}};
  return all;
}

bool same(const AttributeValue& a, const AttributeValue& b) {
  return std::visit(
      []<class X, class Y>(const X& x, const Y& y) {
        constexpr bool tensors = std::is_same_v<X, Tensor> || std::is_same_v<X, std::vector<Tensor>>;
        if constexpr (std::is_same_v<X, Y> && !tensors)
          return x == y;
        else
          return false;
      },
      a, b);
}

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.shape() == b.shape() && a.type() != DataType::string &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

}  // namespace

std::optional<CppCall> call_for(const Graph& g, const Node& n) {
  if (!n.domain.empty() || !n.overload.empty() || !n.bodies.empty() || !n.metadata.empty())
    return std::nullopt;
  if (n.op == "Clip") return std::nullopt;  // its limits are constants: the operator says them as well
  if (n.op == "Transpose") return transpose(g, n);
  if (n.op == "Reshape") return reshape(g, n);
  const auto family = families().find(family_of(n));
  return family == families().end() ? std::nullopt : family->second(g, n);
}

std::optional<std::vector<size_t>> constants_made_by(const CppCall& call, const Graph& g, const Node& n) {
  Network tried;
  std::vector<TensorRef> inputs;
  std::vector<ValueId> given(n.inputs.size(), no_id);  // what they are there
  try {
    for (size_t i : call.operands) {
      inputs.emplace_back();
      if (i >= n.inputs.size() || n.inputs[i] == no_id) continue;
      inputs.back() = tried.add_input("input " + std::to_string(i), g.value(n.inputs[i]).type.str());
      given[i] = NetworkAccess::value(inputs.back());
    }
    call.make(tried, inputs);
  } catch (const Error&) {
    return std::nullopt;
  }
  const Graph& made = NetworkAccess::graph(tried);
  const std::vector<NodeId> nodes = made.order();
  if (nodes.size() != 1) return std::nullopt;
  const Node& m = made.node(nodes[0]);
  if (m.op != n.op || m.name != n.name || m.domain != n.domain || !m.metadata.empty() ||
      m.inputs.size() != n.inputs.size() || m.outputs.size() != n.outputs.size() ||
      m.attributes.size() != n.attributes.size())
    return std::nullopt;
  for (auto a = m.attributes.begin(), b = n.attributes.begin(); a != m.attributes.end(); ++a, ++b)
    if (a->name != b->name || !same(a->value, b->value)) return std::nullopt;
  for (size_t i = 0; i < m.outputs.size(); ++i)
    if ((m.outputs[i] == no_id) != (n.outputs[i] == no_id) ||
        (m.outputs[i] != no_id && made.value(m.outputs[i]).name != g.value(n.outputs[i]).name))
      return std::nullopt;
  std::vector<size_t> constants;
  for (size_t i = 0; i < m.inputs.size(); ++i) {
    if (m.inputs[i] == given[i]) continue;
    if (m.inputs[i] == no_id || n.inputs[i] == no_id) return std::nullopt;
    const Tensor *a = made.constant_tensor(m.inputs[i]), *b = g.constant_tensor(n.inputs[i]);
    if (!a || !b || made.value(m.inputs[i]).name != g.value(n.inputs[i]).name || !same_elements(*a, *b))
      return std::nullopt;
    constants.push_back(i);
  }
  return constants;
}

}  // namespace lathe
