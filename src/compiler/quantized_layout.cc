#include "compiler/quantized_layout.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "compiler/blocked_movements.h"
#include "compiler/lookup_tables.h"
#include "compiler/quantized_view.h"
#include "compiler/window_attributes.h"
#include "cpu/nchw16c.h"
#include "passes/side_by_side.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// Pixels of a window's side beyond which a mean stays as it is.
constexpr int64_t max_window = 64;

class QuantizedLayout {
 public:
  QuantizedLayout(Graph& g, const Folds& folds, const KernelCatalog& kernels, const Preference& preference)
      : graph_(g),
        view_(g, folds),
        kernels_(kernels),
        preference_(preference),
        functions_(g, view_, kernels) {}

  bool run() {
    for (NodeId id : graph_.order()) {
      if (!graph_.node(id).domain.empty()) continue;
      const std::string op = graph_.node(id).op;
      if (op == "QLinearConv") convert_linear_conv(id);
      if (op == "Concat") convert_int8_concat(id);
      if (op == "MaxPool") convert_int8_max_pool(id);
      if (op == "Resize" || op == "Split") convert_int8_movement(id);
      if (op == "QuantizeLinear") convert(id);
    }
    return changed_;
  }

 private:
  /// What is being converted: the node whose output the new one makes, with which quantization parameters, of
  /// what.
  struct Target {
    NodeId last;
    QuantizedValue quant;
    Clamped of;
    NodeId source;  // the node that computes
  };

  void convert(NodeId id) {
    const auto quant = view_.stored(graph_.node(id));
    if (!quant) return;
    const auto of = view_.clamped(graph_.node(id).inputs[0]);
    const NodeId source = graph_.value(of->value).producer;
    if (source == no_id) return;
    const Target t{id, *quant, *of, source};
    const Node n = graph_.node(source);
    if (!n.domain.empty()) return;
    if (n.op == "Conv" && is_volume(quant->bytes) && view_.read_once(of->value)) return convert_volume(t, n);
    if (convert_function(t) || !is_image(quant->bytes) || !view_.read_once(of->value)) return;
    if (n.op == "Conv") convert_conv(t, n);
    if (n.op == "ConvTranspose") convert_pixels(t, n);
    if (n.op == "Add") convert_add(t, n);
    if (n.op == "MaxPool") convert_max_pool(t, n);
    if (n.op == "AveragePool") convert_average_pool(t, n);
    if (n.op == "GlobalAveragePool") convert_mean(t, n);
    if (n.op == "Concat") convert_concat(t, n);
    if (n.op == "Mul" && convert_gate(t, n)) return;
    if (n.op == "Mul" || n.op == "Add") convert_scaled(t);
  }

  /// [N, C, H, W] or [N, C, W] with a known number of channels.
  bool is_image(ValueId v) const {
    const ValueType& t = graph_.value(v).type;
    return t.is_tensor() && t.shape && (t.shape->size() == 3 || t.shape->size() == 4) &&
           (*t.shape)[1].value();
  }
  bool is_volume(ValueId v) const {
    const ValueType& t = graph_.value(v).type;
    return t.is_tensor() && t.shape && t.shape->size() == 5;
  }
  size_t rank(ValueId v) const { return graph_.value(v).type.shape->size(); }
  int64_t channels(ValueId v) const { return *(*graph_.value(v).type.shape)[1].value(); }
  bool same_shape(ValueId a, ValueId b) const {
    return *graph_.value(a).type.shape == *graph_.value(b).type.shape;
  }
  bool is_blocked(const QuantizedValue& q) const { return form_.contains(q.bytes); }

  // Convolution.

  void convert_conv(const Target& t, const Node& conv) {
    const auto x = view_.number(conv.inputs[0]);
    const auto w = view_.weights(conv.inputs[1]);
    if (!x || !is_image(x->bytes) || !w || w->tensor().rank() != rank(x->bytes) || !explicit_pads(conv))
      return;
    if (w->scales() != 1 && w->axis != 0) return;
    const ValueId bias = conv.inputs.size() > 2 ? conv.inputs[2] : no_id;
    if (bias != no_id && !graph_.constant_tensor(bias)) return;
    add_conv(
        t, conv,
        {x->bytes, x->scale, view_.zero_or_made(x->zero, x->bytes), view_.add(w->bytes), view_.add(w->scale),
         view_.zero_or_made(*w), t.quant.scale, view_.zero_or_made(t.quant.zero, t.quant.bytes), bias});
  }

  void convert_linear_conv(NodeId id) {
    const Node n = graph_.node(id);
    if (!is_image(n.inputs[0]) || !is_image(n.outputs[0]) || !explicit_pads(n)) return;
    // QLinearConv refuses scales that are no numbers, or that divide and are 0; a negative one exchanges
    // bounds.
    if (!view_.is_scale(n.inputs[1]) || !view_.are_weight_scales(n.inputs[4]) || !view_.is_scale(n.inputs[6]))
      return;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const Target t{id, {n.outputs[0], n.inputs[6], n.inputs[7]}, {n.outputs[0], -infinity, infinity}, id};
    std::vector<ValueId> inputs = n.inputs;
    inputs.resize(9, no_id);
    add_conv(t, n, std::move(inputs));
  }

  /// `inputs` as BlockedInt8Conv has them, but for X. False where no kernel takes it.
  bool add_conv(const Target& t, const Node& conv, std::vector<ValueId> inputs) {
    Node n = described(t, conv, "BlockedInt8Conv");
    n.attributes = conv.attributes;
    n.attributes.erase("kernel_shape");
    make_explicit(n, rank(inputs[0]) - 2);
    n.attributes.set("channels", channels(inputs[0]));
    set_clamp(n, "", t.of);
    const ValueId x = inputs[0];
    inputs[0] = form_.contains(x) ? form_.at(x) : add_blocked_value(x);
    n.inputs = std::move(inputs);
    n.outputs = {add_blocked_value(t.quant.bytes)};
    if (!has_kernel(graph_, n, kernels_, preference_)) return false;
    if (!form_.contains(x)) {
      form_[x] = n.inputs[0];
      add("Block", {x}, n.inputs[0]);
    }
    finish(t, std::move(n));
    return true;
  }

  /// A ConvTranspose whose windows lie side by side: a convolution of one pixel, with a filter for each pixel
  /// of a window and channel of Y, whose blocks of channels then become pixels.
  void convert_pixels(const Target& t, const Node& conv) {
    const auto x = view_.number(conv.inputs[0]);
    const auto w = view_.weights(conv.inputs[1]);
    if (!x || !is_image(x->bytes) || !w || (w->scales() != 1 && w->axis != 1)) return;
    const auto size = side_by_side(conv, w->tensor().shape());
    const int64_t pixels = size ? *size * *size : 0;
    const bool biased = conv.inputs.size() > 2 && conv.inputs[2] != no_id;
    const Tensor* bias = biased ? graph_.constant_tensor(conv.inputs[2]) : nullptr;
    if (!size || w->tensor().dim(1) % cpu::channel_block != 0 || (biased && !bias)) return;
    const auto for_each_pixel = [&](const Tensor& of_filters) {
      return graph_.add_constant(graph_.fresh_name("pixels"),
                                 of_filters.size() == 1 ? of_filters.clone() : repeated(of_filters, pixels));
    };
    Node n = described(t, conv, "BlockedInt8Conv");
    make_explicit(n, 2);
    n.attributes.set("channels", channels(x->bytes));
    set_clamp(n, "", t.of);
    const ValueId weights = graph_.add_constant(graph_.fresh_name("by_pixel"), by_pixel(w->tensor()));
    const bool made = !form_.contains(x->bytes);
    n.inputs = {
        made ? add_blocked_value(x->bytes) : form_.at(x->bytes),
        x->scale,
        view_.zero_or_made(x->zero, x->bytes),
        weights,
        for_each_pixel(w->scale.constant->tensor()),
        w->zero.constant ? for_each_pixel(w->zero.constant->tensor()) : view_.zero_or_made(no_id, weights),
        t.quant.scale,
        view_.zero_or_made(t.quant.zero, t.quant.bytes),
        bias ? for_each_pixel(*bias) : no_id};
    n.outputs = {add_blocked_value(x->bytes, w->tensor().dim(1) * pixels)};
    Node depth_to_space = described(t, conv, "BlockedDepthToSpace");
    depth_to_space.attributes.set("blocksize", *size);
    depth_to_space.inputs = n.outputs;
    depth_to_space.outputs = {add_blocked_value(t.quant.bytes)};
    if (!has_kernel(graph_, n, kernels_, preference_) ||
        !has_kernel(graph_, depth_to_space, kernels_, preference_))
      return;
    if (made) {
      form_[x->bytes] = n.inputs[0];
      add("Block", {x->bytes}, n.inputs[0]);
    }
    graph_.add_node(std::move(n));
    finish(t, std::move(depth_to_space));
  }
  static Tensor repeated(const Tensor& t, int64_t times) {
    Tensor all(t.type(), {t.size() * times});
    for (int64_t i = 0; i < times; ++i)
      std::memcpy(static_cast<char*>(all.data()) + static_cast<size_t>(i) * t.bytes(), t.data(), t.bytes());
    return all;
  }
  /// [C, M, h, w] as [h * w * M, C, 1, 1].
  static Tensor by_pixel(const Tensor& w) {
    const int64_t inputs = w.dim(0), filters = w.dim(1), pixels = w.dim(2) * w.dim(3);
    Tensor transposed(w.type(), {pixels * filters, inputs, 1, 1});
    const auto* const from = static_cast<const uint8_t*>(w.data());
    auto* to = static_cast<uint8_t*>(transposed.data());
    for (int64_t p = 0; p < pixels; ++p)
      for (int64_t m = 0; m < filters; ++m)
        for (int64_t c = 0; c < inputs; ++c) *to++ = from[(c * filters + m) * pixels + p];
    return transposed;
  }

  static void set_clamp(Node& n, const std::string& prefix, const Clamped& c) {
    n.attributes.set(prefix + "clamp_low", c.low);
    n.attributes.set(prefix + "clamp_high", c.high);
  }

  /// Over three spatial axes there are no blocks: as QLinearConv, of bytes in NCHW.
  void convert_volume(const Target& t, const Node& conv) {
    const auto x = view_.number(conv.inputs[0]);
    const auto w = view_.weights(conv.inputs[1]);
    if (!x || !w || w->tensor().rank() != 5 || (w->scales() != 1 && w->axis != 0) ||
        !clamps_like_quant_params(t))
      return;
    Node n = described(t, conv, "QLinearConv");
    n.domain.clear();
    n.attributes = conv.attributes;
    n.inputs = {x->bytes,
                x->scale,
                view_.zero_or_made(x->zero, x->bytes),
                view_.add(w->bytes),
                view_.add(w->scale),
                view_.zero_or_made(*w),
                t.quant.scale,
                view_.zero_or_made(t.quant.zero, t.quant.bytes)};
    if (conv.inputs.size() > 2 && conv.inputs[2] != no_id) {
      const ValueId bias = whole_bias(conv.inputs[2], *view_.single_float(x->scale), *w);
      if (bias == no_id) return;
      n.inputs.push_back(bias);
    }
    n.outputs = {t.quant.bytes};
    if (!has_kernel(graph_, n, kernels_, preference_)) return;
    graph_.remove_node(t.last);
    graph_.add_node(std::move(n));
    changed_ = true;
  }
  /// Does the activation clamp nothing that the bytes do not?
  bool clamps_like_quant_params(const Target& t) const {
    const int64_t lowest = graph_.value(t.quant.bytes).type.elem == DataType::int8 ? -128 : 0;
    const int64_t zero = t.quant.zero == no_id ? 0 : load_int(*graph_.constant_tensor(t.quant.zero), 0);
    const float scale = *view_.single_float(t.quant.scale);
    return t.of.low <= static_cast<float>(lowest - zero) * scale &&
           t.of.high >= static_cast<float>(lowest + 255 - zero) * scale;
  }
  /// A bias that was int32 in units of x_scale * w_scale, as that; no_id where it was not.
  ValueId whole_bias(ValueId v, float x_scale, const QuantizedWeights& w) {
    const Tensor* bias = graph_.constant_tensor(v);
    if (!bias || bias->type() != DataType::float32) return no_id;
    const auto scales = w.scale.constant->tensor().as<float>();
    Tensor whole(DataType::int32, bias->shape());
    for (size_t i = 0; i < bias->as<float>().size(); ++i) {
      const double unit = static_cast<double>(x_scale) * scales[scales.size() == 1 ? 0 : i];
      const double n = bias->as<float>()[i] / unit, nearest = std::nearbyint(n);
      if (!(std::abs(n) < INT32_MAX) || std::abs(n - nearest) > 1e-3 + 1e-6 * std::abs(n)) return no_id;
      whole.as<int32_t>()[i] = static_cast<int32_t>(nearest);
    }
    return graph_.add_constant(graph_.fresh_name("bias"), std::move(whole));
  }

  // The nodes between them.

  void convert_add(const Target& t, const Node& add) {
    const auto a = view_.number(add.inputs[0]), b = view_.number(add.inputs[1]);
    if (!a || !b || !is_blocked(*a) || !is_blocked(*b) || !same_shape(a->bytes, t.quant.bytes) ||
        !same_shape(b->bytes, t.quant.bytes))
      return;
    for (const auto& [own, other] : {std::pair(*a, *b), std::pair(*b, *a)})
      if (add_to_conv(t, add, own, other)) return;
    Node n = described(t, add, "BlockedInt8Add");
    set_clamp(n, "", t.of);
    n.inputs = {form_.at(a->bytes),
                a->scale,
                view_.zero_or_made(a->zero, a->bytes),
                form_.at(b->bytes),
                b->scale,
                view_.zero_or_made(b->zero, b->bytes),
                t.quant.scale,
                view_.zero_or_made(t.quant.zero, t.quant.bytes)};
    n.outputs = {add_blocked_value(t.quant.bytes)};
    if (has_kernel(graph_, n, kernels_, preference_)) finish(t, std::move(n));
  }

  /// Lets the convolution that made `own` for this sum alone add the other operand.
  bool add_to_conv(const Target& t, const Node& add, const QuantizedValue& own, const QuantizedValue& other) {
    const NodeId maker = graph_.value(form_.at(own.bytes)).producer;
    if (maker == no_id || own.bytes == other.bytes) return false;
    Node n = graph_.node(maker);
    if (n.op != "BlockedInt8Conv" || n.inputs.size() > 9 || !view_.read_once(own.bytes)) return false;
    for (ValueId v : add.inputs)
      if (!view_.read_once(v) && view_.number(v)->bytes == own.bytes) return false;
    n.inputs.resize(9, no_id);
    for (ValueId v : {form_.at(other.bytes), other.scale, view_.zero_or_made(other.zero, other.bytes),
                      t.quant.scale, view_.zero_or_made(t.quant.zero, t.quant.bytes)})
      n.inputs.push_back(v);
    set_clamp(n, "sum_", t.of);
    n.outputs = {add_blocked_value(t.quant.bytes)};
    if (!has_kernel(graph_, n, kernels_, preference_)) return false;
    n.origin = joined(n.origin, described(t, add, "").origin);
    // The other operand may come later than the convolution did: this node comes after both. What made the
    // convolution's own bytes stays, and is dead.
    finish(t, std::move(n));
    return true;
  }
  static std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  /// With the same quantization parameters, the largest byte is that of the largest number.
  void convert_max_pool(const Target& t, const Node& pool) {
    const auto x = view_.number(pool.inputs[0]);
    if (x && same_quant_params(*x, t.quant) && t.of.value == graph_.node(t.last).inputs[0])
      add_max_pool(t, pool, x->bytes);
  }
  void convert_int8_max_pool(NodeId id) {
    const Node pool = graph_.node(id);
    add_max_pool({id, {pool.outputs[0], no_id, no_id}, {pool.outputs[0], 0, 0}, id}, pool, pool.inputs[0]);
  }
  void add_max_pool(const Target& t, const Node& pool, ValueId bytes) {
    const bool indices = pool.outputs.size() > 1 && pool.outputs[1] != no_id;
    if (!form_.contains(bytes) || indices || !explicit_pads(pool)) return;
    Node n = described(t, pool, "BlockedMaxPool");
    n.attributes = pool.attributes;
    make_explicit(n, rank(bytes) - 2);
    n.inputs = {form_.at(bytes)};
    n.outputs = {add_blocked_value(t.quant.bytes)};
    if (has_kernel(graph_, n, kernels_, preference_)) finish(t, std::move(n));
  }

  bool same_quant_params(const QuantizedValue& a, const QuantizedValue& b) const {
    const auto zero = [&](const QuantizedValue& q) {
      return q.zero == no_id ? 0 : load_int(*graph_.constant_tensor(q.zero), 0);
    };
    return view_.single_float(a.scale) == view_.single_float(b.scale) && zero(a) == zero(b) &&
           graph_.value(a.bytes).type.elem == graph_.value(b.bytes).type.elem;
  }

  void convert_mean(const Target& t, const Node& pool) {
    const auto x = view_.number(pool.inputs[0]);
    if (!x || !is_blocked(*x) || t.of.value != graph_.node(t.last).inputs[0]) return;
    Node n = described(t, pool, "BlockedInt8GlobalAveragePool");
    n.inputs = {form_.at(x->bytes), x->scale, view_.zero_or_made(x->zero, x->bytes), t.quant.scale,
                view_.zero_or_made(t.quant.zero, t.quant.bytes)};
    n.outputs = {add_blocked_value(t.quant.bytes)};
    if (has_kernel(graph_, n, kernels_, preference_)) finish(t, std::move(n));
  }

  void convert_average_pool(const Target& t, const Node& pool) {
    using Ints = std::vector<int64_t>;
    const auto x = view_.number(pool.inputs[0]);
    const Ints kernel = pool.attributes.get<Ints>("kernel_shape", {});
    if (!x || !is_blocked(*x) || !explicit_pads(pool) || kernel.size() + 2 != rank(x->bytes)) return;
    if (count_alike(pool) && convert_to_sums(t, pool, *x, kernel)) return;
    if (t.of.value != graph_.node(t.last).inputs[0]) return;
    Node n = described(t, pool, "BlockedInt8AveragePool");
    n.attributes = pool.attributes;
    make_explicit(n, rank(x->bytes) - 2);
    n.inputs = {form_.at(x->bytes), x->scale, view_.zero_or_made(x->zero, x->bytes), t.quant.scale,
                view_.zero_or_made(t.quant.zero, t.quant.bytes)};
    n.outputs = {add_blocked_value(t.quant.bytes)};
    if (has_kernel(graph_, n, kernels_, preference_)) finish(t, std::move(n));
  }
  /// Do all windows count as many pixels?
  static bool count_alike(const Node& pool) {
    const auto pads = pool.attributes.get<std::vector<int64_t>>("pads", {});
    const bool padded = std::ranges::any_of(pads, [](int64_t p) { return p != 0; });
    return pool.attributes.get<int64_t>("ceil_mode", 0) == 0 &&
           (!padded || pool.attributes.get<int64_t>("count_include_pad", 0) != 0);
  }
  /// A mean over windows that count alike is a convolution of each channel with weights of 1.
  bool convert_to_sums(const Target& t, const Node& pool, const QuantizedValue& x,
                       const std::vector<int64_t>& kernel) {
    Shape shape{channels(x.bytes), 1};
    int64_t taps = 1;
    for (int64_t k : kernel) {
      if (k < 1 || k > max_window) return false;
      taps *= k;
      shape.push_back(k);
    }
    Tensor ones(DataType::int8, shape);
    std::ranges::fill(ones.as<int8_t>(), int8_t{1});
    Node conv = pool;
    for (const char* name : {"ceil_mode", "count_include_pad"}) conv.attributes.erase(name);
    conv.attributes.set("group", channels(x.bytes));
    const ValueId w = graph_.add_constant(graph_.fresh_name("ones"), std::move(ones));
    return add_conv(t, conv,
                    {x.bytes, x.scale, view_.zero_or_made(x.zero, x.bytes), w,
                     add_scale(1 / static_cast<float>(taps)), view_.zero_or_made(no_id, w), t.quant.scale,
                     view_.zero_or_made(t.quant.zero, t.quant.bytes), no_id});
  }

  /// What depends on one byte, in blocks or not: numbers that get other quantization parameters, a function
  /// of them.
  bool convert_function(const Target& t) {
    const auto table = functions_.stored_by(t.last);
    if (!table || graph_.value(table->of).is_constant()) return false;
    const auto blocks = form_.find(table->of);
    const bool blocked = blocks != form_.end();
    Node n = described(t, graph_.node(t.source), "LookupTable");
    const auto sign = [&](ValueId v) -> uint8_t {
      return blocked && graph_.value(v).type.elem == DataType::int8 ? 128 : 0;
    };
    n.inputs = {blocked ? blocks->second : table->of,
                add_table(*table, sign(table->of), sign(t.quant.bytes))};
    n.outputs = {blocked ? add_blocked_value(t.quant.bytes) : t.quant.bytes};
    if (!has_kernel(graph_, n, kernels_, preference_)) return false;
    if (blocked) {
      finish(t, std::move(n));
    } else {
      graph_.remove_node(t.last);
      graph_.add_node(std::move(n));
      changed_ = true;
    }
    return true;
  }
  /// The entries of bytes whose signs are flipped, here and there.
  ValueId add_table(const LookupTables::Table& t, uint8_t from, uint8_t to) {
    Tensor entries(DataType::uint8, {256});
    for (size_t i = 0; i < t.entries.size(); ++i)
      entries.as<uint8_t>()[i ^ from] = static_cast<uint8_t>(t.entries[i] ^ to);
    return graph_.add_constant(graph_.fresh_name("table"), std::move(entries));
  }

  /// x and the number of its channel, which is a byte too: [N, C, 1, 1].
  bool convert_gate(const Target& t, const Node& mul) {
    for (size_t i : {size_t{0}, size_t{1}}) {
      const auto x = view_.number(mul.inputs[i]), gate = view_.number(mul.inputs[1 - i]);
      if (!x || !gate || !is_blocked(*x) || !is_blocked(*gate) || !same_shape(x->bytes, t.quant.bytes) ||
          !is_pixel_of(gate->bytes, x->bytes))
        continue;
      Node n = described(t, mul, "BlockedInt8Scale");
      n.inputs = {form_.at(x->bytes),
                  x->scale,
                  view_.zero_or_made(x->zero, x->bytes),
                  form_.at(gate->bytes),
                  gate->scale,
                  view_.zero_or_made(gate->zero, gate->bytes),
                  no_id};
      return add_scaled(t, std::move(n));
    }
    return false;
  }
  bool is_pixel_of(ValueId pixel, ValueId image) const {
    const SymShape &p = *graph_.value(pixel).type.shape, &x = *graph_.value(image).type.shape;
    return p.size() == x.size() && p[0] == x[0] && p[1] == x[1] &&
           std::all_of(p.begin() + 2, p.end(), [](const Dim& d) { return d == Dim(1); });
  }

  /// Sums and products with a constant for each channel, as a normalization leaves them.
  void convert_scaled(const Target& t) {
    const int64_t n = channels(t.quant.bytes);
    std::vector<float> factor(static_cast<size_t>(n), 1), shift(factor.size());
    ValueId v = t.of.value;
    // From the last operator to the first: what was found so far is done to its result.
    while (!view_.number(v)) {
      const NodeId at = view_.read_once(v) ? graph_.value(v).producer : no_id;
      if (at == no_id || !graph_.node(at).domain.empty() || !same_shape(v, t.quant.bytes)) return;
      const Node& step = graph_.node(at);
      if (step.op != "Mul" && step.op != "Add") return;
      const size_t constant = graph_.constant_tensor(step.inputs[0]) ? 0 : 1;
      const auto numbers = of_channels(step.inputs[constant], rank(v), n);
      if (!numbers) return;
      for (size_t c = 0; c < factor.size(); ++c) {
        const float number = (*numbers)[numbers->size() == 1 ? 0 : c];
        step.op == "Mul" ? factor[c] *= number : shift[c] += factor[c] * number;
      }
      v = step.inputs[1 - constant];
    }
    const QuantizedValue x = *view_.number(v);
    if (!is_blocked(x) || !same_shape(x.bytes, t.quant.bytes)) return;
    const auto add = [&](const char* name, const std::vector<float>& numbers) {
      return graph_.add_constant(graph_.fresh_name(name), Tensor::from<float>({n}, numbers));
    };
    Node node = described(t, graph_.node(t.source), "BlockedInt8Scale");
    node.inputs = {form_.at(x.bytes),     x.scale, view_.zero_or_made(x.zero, x.bytes),
                   add("factor", factor), no_id,   no_id,
                   add("shift", shift)};
    add_scaled(t, std::move(node));
  }
  /// The numbers of a constant that goes along the channels of an image of this rank; one: the same for all.
  std::optional<std::vector<float>> of_channels(ValueId v, size_t image_rank, int64_t n) const {
    const Tensor* t = graph_.constant_tensor(v);
    if (!t || t->type() != DataType::float32 || t->rank() > image_rank || (t->size() != 1 && t->size() != n))
      return std::nullopt;
    const size_t channel_axis = image_rank - 1;  // counted from the end
    if (t->size() != 1 && (t->rank() < channel_axis || t->dim(t->rank() - channel_axis) != n))
      return std::nullopt;
    return std::vector<float>(t->as<float>().begin(), t->as<float>().end());
  }
  bool add_scaled(const Target& t, Node n) {
    n.attributes.set("channels", channels(t.quant.bytes));
    set_clamp(n, "", t.of);
    n.inputs.push_back(t.quant.scale);
    n.inputs.push_back(view_.zero_or_made(t.quant.zero, t.quant.bytes));
    n.outputs = {add_blocked_value(t.quant.bytes)};
    if (!has_kernel(graph_, n, kernels_, preference_)) return false;
    finish(t, std::move(n));
    return true;
  }

  /// The bytes of x with other quantization parameters.
  Node rescaled(const QuantizedValue& x, const QuantizedValue& quant) {
    const auto zero = [&](const QuantizedValue& q) {  // of bytes without sign, as they are in blocks
      return (q.zero == no_id ? 0 : load_int(*graph_.constant_tensor(q.zero), 0)) +
             (graph_.value(q.bytes).type.elem == DataType::int8 ? 128 : 0);
    };
    LookupTables::Table t{x.bytes, {}};
    for (size_t i = 0; i < t.entries.size(); ++i) {
      const float number =
          static_cast<float>(static_cast<int64_t>(i) - zero(x)) * *view_.single_float(x.scale);
      const float q =
          std::nearbyint(number / *view_.single_float(quant.scale)) + static_cast<float>(zero(quant));
      t.entries[i] = static_cast<uint8_t>(std::clamp(q, 0.0f, 255.0f));
    }
    Node n;
    n.domain = "lathe";
    n.op = "LookupTable";
    n.inputs = {form_.at(x.bytes), add_table(t, 0, 0)};
    n.outputs = {add_blocked_value(x.bytes)};
    return n;
  }
  ValueId add_scale(float scale) {
    return graph_.add_constant(graph_.fresh_name("scale"), Tensor::from<float>({}, std::vector{scale}));
  }

  // Concatenation: blocks side by side, where only the last ones may be not full.

  bool fit_side_by_side(const Node& concat, const std::vector<ValueId>& bytes) const {
    const int64_t axis = concat.attributes.get<int64_t>("axis", 0);
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (!form_.contains(bytes[i])) return false;
      if (axis != 1 && axis + static_cast<int64_t>(rank(bytes[i])) != 1) return false;
      if (i + 1 < bytes.size() && channels(bytes[i]) % cpu::channel_block != 0) return false;
    }
    return !bytes.empty();
  }

  /// Of bytes as they are.
  void convert_int8_concat(NodeId id) {
    const Node n = graph_.node(id);
    const ValueType& type = graph_.value(n.outputs[0]).type;
    if (!is_image(n.outputs[0]) || (type.elem != DataType::int8 && type.elem != DataType::uint8) ||
        !fit_side_by_side(n, n.inputs))
      return;
    std::vector<ValueId> blocks;
    for (ValueId v : n.inputs) blocks.push_back(form_.at(v));
    add_concat({id, {n.outputs[0], no_id, no_id}, {n.outputs[0], 0, 0}, id}, n, std::move(blocks));
  }

  /// Of bytes that are moved: those nearest, or parts of channels. An image that is only given back is
  /// smaller before it is resized.
  void convert_int8_movement(NodeId id) {
    const Node old = graph_.node(id);
    if (!form_.contains(old.inputs[0]) || graph_.is_output(old.outputs[0])) return;
    const bool resizes = old.op == "Resize";
    if (resizes
            ? !resizes_pixels(graph_, old) || old.attributes.get<std::string>("mode", "nearest") != "nearest"
            : !splits_blocks(graph_, old))
      return;
    Node n = described({id, {}, {}, id}, old, old.op);
    n.domain.clear();
    resizes ? describe_resize(graph_, old, n) : describe_split(graph_, old, n);
    n.inputs.set(0, form_.at(old.inputs[0]));
    for (ValueId v : old.outputs) n.outputs.push_back(add_blocked_value(v));
    const std::vector<ValueId> made = n.outputs;
    graph_.remove_node(id);
    graph_.add_node(std::move(n));
    for (size_t i = 0; i < made.size(); ++i) add_unblocked(made[i], old.outputs[i]);
  }

  /// Of numbers with the same quantization parameters or several.
  void convert_concat(const Target& t, const Node& concat) {
    std::vector<ValueId> bytes;
    for (ValueId v : concat.inputs) {
      const auto x = view_.number(v);
      if (!x) return;
      bytes.push_back(x->bytes);
    }
    if (t.of.value != graph_.node(t.last).inputs[0] || !fit_side_by_side(concat, bytes)) return;
    std::vector<ValueId> blocks;
    for (ValueId v : concat.inputs) {
      const QuantizedValue x = *view_.number(v);
      if (same_quant_params(x, t.quant)) {
        blocks.push_back(form_.at(x.bytes));
        continue;
      }
      Node n = rescaled(x, t.quant);
      if (!has_kernel(graph_, n, kernels_, preference_)) return;
      blocks.push_back(n.outputs[0]);
      graph_.add_node(std::move(n));
    }
    add_concat(t, concat, std::move(blocks));
  }

  void add_concat(const Target& t, const Node& concat, std::vector<ValueId> blocks) {
    Node n = described(t, concat, "Concat");
    n.domain.clear();
    n.attributes.set("axis", int64_t{1});
    n.inputs = std::move(blocks);
    n.outputs = {add_blocked_value(t.quant.bytes)};
    finish(t, std::move(n));
  }

  // The new nodes.

  Node described(const Target& t, const Node& source, std::string op) const {
    const auto names = [](const Node& n) {
      return n.origin.empty() && !n.name.empty() ? std::vector{n.name} : n.origin;
    };
    Node n;
    n.domain = "lathe";
    n.op = std::move(op);
    n.name = source.name;
    n.origin = names(source);
    if (t.last != t.source) n.origin = joined(n.origin, names(graph_.node(t.last)));
    return n;
  }

  /// The node takes the target's place; the bytes in NCHW are made of its blocks for whoever wants them.
  void finish(const Target& t, Node n) {
    const ValueId made = n.outputs[0];
    graph_.remove_node(t.last);
    graph_.add_node(std::move(n));
    add_unblocked(made, t.quant.bytes);
  }
  void add_unblocked(ValueId blocks, ValueId nchw) {
    Attributes all;
    all.set("channels", channels(nchw));
    add("Unblock", {blocks}, nchw, std::move(all));
    form_[nchw] = blocks;
    changed_ = true;
  }

  ValueId add_blocked_value(ValueId v) { return add_blocked_value(v, channels(v)); }
  ValueId add_blocked_value(ValueId v, int64_t of_channels) {
    ValueType type = graph_.value(v).type;
    SymShape& s = *type.shape;
    s[1] = Dim((of_channels + cpu::channel_block - 1) / cpu::channel_block);
    s.push_back(Dim(cpu::channel_block));
    type.elem = DataType::uint8;
    return graph_.add_value(graph_.fresh_name(graph_.value(v).name + ".blocked"), std::move(type));
  }

  void add(std::string op, std::vector<ValueId> inputs, ValueId output, Attributes attributes = {}) {
    Node n;
    n.domain = "lathe";
    n.op = std::move(op);
    n.inputs = std::move(inputs);
    n.outputs = {output};
    n.attributes = std::move(attributes);
    graph_.add_node(std::move(n));
  }

  Graph& graph_;
  QuantizedView view_;
  const KernelCatalog& kernels_;
  const Preference& preference_;
  std::map<ValueId, ValueId> form_;  // in blocks, by the bytes in NCHW
  LookupTables functions_;
  bool changed_ = false;
};

}  // namespace

bool use_quantized_layout(Graph& graph, const Folds& folds, const KernelCatalog& kernels,
                          const Preference& preference) {
  return QuantizedLayout(graph, folds, kernels, preference).run();
}

}  // namespace lathe
