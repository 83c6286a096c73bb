// Options of the layers of a Network: one plain struct for each family, for designated initializers, with
// TensorRT's names. Everything has a default; a layer whose `name` is empty gets a generated one.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lathe/dim.h"
#include "lathe/tensor.h"

namespace lathe {

struct NetworkState;
class Layer;
class Network;

/// One size of a tensor: a number, or an expression over named sizes. The same name means the same size
/// throughout the network. Immutable and thread-safe.
class LATHE_API Size {
 public:
  /// Makes a known size. Throws Code::tensor_bad_shape for a negative number.
  Size(std::integral auto n) : Size(Dim(static_cast<int64_t>(n)), 0) {}
  /// Makes a size from an expression such as "N" or "2*S + 1" (Dim::parse). Throws Code::text_syntax for what
  /// is none.
  Size(const char* expression) : dim_(Dim::parse(expression)) {}
  /// Makes a size from an expression. Throws Code::text_syntax.
  Size(const std::string& expression) : dim_(Dim::parse(expression)) {}
  /// Takes an expression over symbols as it is.
  Size(Dim d) : dim_(std::move(d)) {}
  /// Returns the size as an expression.
  const Dim& dim() const { return dim_; }

 private:
  Size(Dim number, int checked);
  Dim dim_;
};
/// The sizes of a shape: {"N", 3, "2*S + 1"}.
using Sizes = std::vector<Size>;

/// A tensor of a network: an input, a constant, or the output of a layer. It is a light handle that keeps the
/// network alive; two handles of one tensor are equal. Handles of tensors that a rolled back transaction
/// made, or whose layers were removed, throw Code::bad_argument when used. As thread-safe as its network.
/// TensorRT: ITensor.
class LATHE_API TensorRef {
 public:
  /// Makes no tensor: it stands for an optional input that is left out.
  TensorRef() = default;
  /// Returns whether there is a tensor.
  explicit operator bool() const { return state_ != nullptr; }
  friend bool operator==(const TensorRef&, const TensorRef&) = default;

  /// Returns its number, which no other tensor of this network, or of the body that it is in, is ever given.
  uint32_t id() const { return value_; }
  /// Returns its name; the reference is valid until the network changes.
  const std::string& name() const;
  /// Renames the tensor. Throws Code::graph_duplicate_name where the name is empty or taken.
  void set_name(const std::string& name);
  /// Returns the element type; undefined where it is no dense tensor (a sequence, …).
  DataType element_type() const;
  /// Returns the sizes. Throws Code::bad_argument where the rank is not known.
  SymShape shape() const;
  /// Returns the number of axes. Throws Code::bad_argument where it is not known.
  size_t rank() const { return shape().size(); }
  /// Returns whether the rank is known.
  bool has_rank() const;
  /// "float[N,3]", "seq(float)".
  /// Returns the type in text form: "float[N,3]", "seq(float)".
  std::string type() const;
  /// Returns whether it is an input of its network or body.
  bool is_network_input() const;
  /// Returns whether it is an output of its network or body.
  bool is_network_output() const;
  /// Returns the contents where every run has the same ones, otherwise null. Valid until the network changes.
  const Tensor* constant() const;
  /// Returns the layer that computes it; nothing for inputs, constants, and what a body takes from around it.
  std::optional<Layer> producer() const;
  /// Returns the layers that read it, in themselves or in their bodies, each once.
  std::vector<Layer> consumers() const;

 private:
  friend struct NetworkAccess;
  std::shared_ptr<NetworkState> state_;
  uint32_t scope_ = 0, value_ = 0;
};

// ── Convolutions and windows
// ────────────────────────────────────────────────────────────────────────────────

/// Selects how the padding of a window is found: explicit_pads uses pre_padding and post_padding; same_upper
/// and same_lower make the output ceil(input / stride) long and put an odd element behind or before; valid
/// uses none. ONNX: auto_pad of Conv.
enum class PaddingMode : uint8_t { explicit_pads, same_upper, same_lower, valid };

/// Options of Network::add_convolution. Lists have one number for each spatial axis; empty lists mean 1, for
/// padding 0.
struct ConvolutionOptions {
  /// One number for each spatial axis.
  std::vector<int64_t> stride = {}, dilation = {}, pre_padding = {}, post_padding = {};
  /// Selects how the padding is found.
  PaddingMode padding_mode = PaddingMode::explicit_pads;
  int64_t groups = 1;     // divides the channels of input and output
  std::string name = {};  // name of the layer
};
/// Options of Network::add_deconvolution; lists are as in ConvolutionOptions.
struct DeconvolutionOptions {
  /// One number for each spatial axis.
  std::vector<int64_t> stride = {}, dilation = {}, pre_padding = {}, post_padding = {};
  std::vector<int64_t> output_padding = {};  // elements added at the end of each spatial axis
  /// Selects how the padding is found.
  PaddingMode padding_mode = PaddingMode::explicit_pads;
  int64_t groups = 1;     // divides the channels of input and output
  std::string name = {};  // name of the layer
};
/// Options of Network::add_fully_connected.
struct FullyConnectedOptions {
  int64_t axis = 1;       // first of the axes that are flattened to the second one
  std::string name = {};  // name of the layer
};
/// Selects what a window yields; max_average_blend is (1 - blend_factor) · max + blend_factor · average.
enum class PoolingType : uint8_t { max, average, max_average_blend };
/// Options of Network::add_pooling; lists are as in ConvolutionOptions.
struct PoolingOptions {
  std::vector<int64_t> window = {};  // sizes of the window; empty: the whole spatial axes
  /// One number for each spatial axis.
  std::vector<int64_t> stride = {}, dilation = {}, pre_padding = {}, post_padding = {};
  /// Selects how the padding is found.
  PaddingMode padding_mode = PaddingMode::explicit_pads;
  bool round_up = false;                       // round sizes of the output up (ONNX: ceil_mode)
  bool average_count_excludes_padding = true;  // divide by the elements that lie within x
  double blend_factor = 0.5;                   // share of the average
  std::string name = {};                       // name of the layer
};
/// Options of Network::add_lrn: y = x / (k + alpha / window · Σ x²)^beta over `window` neighboring channels.
struct LrnOptions {
  int64_t window = 5;                        // channels that are summed
  float alpha = 1e-4f, beta = 0.75f, k = 1;  // as in the formula
  std::string name = {};                     // name of the layer
};

// ── Element by element
// ──────────────────────────────────────────────────────────────────────────────────────

/// Selects an activation. With a = alpha, b = beta and their defaults in parentheses: leaky_relu (a 0.01),
/// elu (a 1), selu (a, b of the paper), softplus a·ln(1 + e^(b·x)) (1, 1), clip to [a, b] (no limits),
/// hard_sigmoid max(0, min(1, a·x + b)) (0.2, 0.5), scaled_tanh a·tanh(b·x) (1, 1), thresholded_relu (a 1).
/// gelu_erf is the exact function, gelu_tanh its approximation; the others have neither a nor b.
enum class ActivationType : uint8_t {
  relu,
  sigmoid,
  tanh,
  leaky_relu,
  elu,
  selu,
  softsign,
  softplus,
  clip,
  hard_sigmoid,
  scaled_tanh,
  thresholded_relu,
  gelu_erf,
  gelu_tanh
};
/// Options of Network::add_activation.
struct ActivationOptions {
  std::optional<double> alpha = {}, beta = {};  // nothing: the activation's default
  std::string name = {};                        // name of the layer
};
/// Selects a function of one element. recip is 1 / x; round goes to even numbers halfway; logical_not takes
/// bool; isinf and isnan return bool.
enum class UnaryOperation : uint8_t {
  exp,
  log,
  sqrt,
  recip,
  abs,
  neg,
  sin,
  cos,
  tan,
  sinh,
  cosh,
  asin,
  acos,
  atan,
  asinh,
  acosh,
  atanh,
  ceil,
  floor,
  erf,
  logical_not,
  sign,
  round,
  isinf,
  isnan
};
/// Selects a function of two elements. floor_div rounds towards minus infinity, for integers too; the logical
/// functions take bool, and they and the comparisons return bool.
enum class ElementWiseOperation : uint8_t {
  sum,
  prod,
  max,
  min,
  sub,
  div,
  pow,
  floor_div,
  logical_and,
  logical_or,
  logical_xor,
  equal,
  greater,
  less
};
/// Options of Network::add_scale: (x · scale + shift) ^ power. Each tensor has one element, or one for every
/// index of `axis` (a list), or x's shape; those left out are 1, 0 and 1.
struct ScaleOptions {
  TensorRef scale = {}, shift = {}, power = {};  // tensors of x's element type
  int64_t axis = 1;                              // axis of x that lists belong to
  std::string name = {};                         // name of the layer
};

// ── Norms
// ───────────────────────────────────────────────────────────────────────────────────────────────────

/// Selects the axes that mean and variance are computed over. layer: `axis` and all behind it; rms: the same,
/// without a mean; instance: the spatial axes; group: the spatial axes and the channels of a group.
enum class NormalizationType : uint8_t { layer, rms, instance, group };
/// Options of Network::add_normalization.
struct NormalizationOptions {
  int64_t axis = -1;      // first normalized axis, for layer and rms
  int64_t groups = 1;     // number of groups of channels, for group
  float epsilon = 1e-5f;  // added to the variance
  std::string name = {};  // name of the layer
};
/// Options of Network::add_softmax.
struct SoftmaxOptions {
  int64_t axis = -1;      // along which elements sum to 1
  std::string name = {};  // name of the layer
};

// ── Products and reductions
// ─────────────────────────────────────────────────────────────────────────────────

/// Selects what becomes of an operand first: transpose swaps its last two axes; vector multiplies along its
/// last axis only, and the axes before that one are batch axes. TensorRT: MatrixOperation.
enum class MatrixOperation : uint8_t { none, transpose, vector };
/// Options of Network::add_matrix_multiply.
struct MatrixMultiplyOptions {
  MatrixOperation op0 = MatrixOperation::none, op1 = MatrixOperation::none;  // conversion of a and b
  std::string name = {};                                                     // name of the layer
};
/// Selects a reduction: the Reduce operator of ONNX of that name; avg is ReduceMean.
enum class ReduceOperation : uint8_t { sum, prod, max, min, avg, l1, l2, log_sum, log_sum_exp, sum_square };
/// Options of Network::add_reduce.
struct ReduceOptions {
  bool keep_dimensions = false;  // keep reduced axes, with size 1
  std::string name = {};         // name of the layer
};
enum class TopKOperation : uint8_t { max, min };  // selects the largest or the smallest elements
/// Options of Network::add_topk.
struct TopKOptions {
  int64_t axis = -1;                      // along which elements are compared
  DataType index_type = DataType::int64;  // int64 or int32
  std::string name = {};                  // name of the layer
};
enum class CumulativeOperation : uint8_t { sum, prod };  // selects running sums or running products
/// Options of Network::add_cumulative.
struct CumulativeOptions {
  /// Leaves the element itself out of its sum; runs from the end of the axis.
  bool exclusive = false, reverse = false;
  std::string name = {};  // name of the layer
};

// ── Choosing and moving
// ─────────────────────────────────────────────────────────────────────────────────────

/// Selects what an index picks. slices: a whole slice of `axis`; elements: one element; nd: the last axis of
/// the indices is a position in data.
enum class GatherMode : uint8_t { slices, elements, nd };
/// Options of Network::add_gather.
struct GatherOptions {
  GatherMode mode = GatherMode::slices;  // meaning of an index
  int64_t axis = 0;                      // indexed axis, for slices and elements
  int64_t batch_axes = 0;  // leading axes that data and indices share; for slices (before `axis`) and nd
  std::string name = {};   // name of the layer
};
/// Selects whether an index places one element or, with positions in its last axis, a slice.
enum class ScatterMode : uint8_t { elements, nd };
/// Selects how updates and what they meet are combined; none replaces.
enum class ScatterReduction : uint8_t { none, add, mul, max, min };
/// Options of Network::add_scatter.
struct ScatterOptions {
  ScatterMode mode = ScatterMode::elements;             // meaning of an index
  int64_t axis = 0;                                     // indexed axis, for elements
  ScatterReduction reduction = ScatterReduction::none;  // how updates are combined with data
  std::string name = {};                                // name of the layer
};
/// Options of Network::add_shuffle: transpose, reshape, transpose; what is empty is left out. Sizes may be
/// expressions over the network's symbols, and one of them may be `inferred_size`.
struct ShuffleOptions {
  std::vector<int64_t> first_transpose = {};   // permutation before the reshape
  std::optional<Sizes> reshape = {};           // sizes; a 0 is as below
  TensorRef reshape_tensor = {};               // int64 [rank], instead of `reshape`
  std::vector<int64_t> second_transpose = {};  // permutation after the reshape
  bool zero_is_placeholder = true;             // a 0 in the shape copies the size of that axis
  std::string name = {};                       // name of the layer
};
/// Stands in ShuffleOptions::reshape for the size that the others leave.
inline const char* const inferred_size = "inferred_size";
/// Selects what a slice has beyond the input: strict allows nothing there; wrap goes on at the other end;
/// clamp repeats the edge; fill gives a value; reflect goes back without repeating the edge. TensorRT:
/// SampleMode.
enum class SliceMode : uint8_t { strict, wrap, clamp, fill, reflect };
/// Options of Network::add_slice.
struct SliceOptions {
  SliceMode mode = SliceMode::strict;  // contents beyond the input
  std::vector<int64_t> axes = {};      // axes of start, size and stride; empty: all, in order
  TensorRef fill_value = {};           // one element, for fill; left out: 0
  std::string name = {};               // name of the layer
};
/// Selects what padding holds: a value, the reflected input, its edge, or the input from the other end.
enum class PaddingFill : uint8_t { constant, reflect, edge, wrap };
/// Options of Network::add_padding.
struct PaddingOptions {
  PaddingFill fill = PaddingFill::constant;  // contents of the padding
  std::vector<int64_t> axes = {};            // padded axes; empty: the last ones
  TensorRef value = {};                      // one element, for constant; left out: 0
  std::string name = {};                     // name of the layer
};
/// Selects the interpolation between elements.
enum class InterpolationMode : uint8_t { nearest, linear, cubic };
/// Selects how a position of the output becomes one of the input. ONNX: coordinate_transformation_mode of
/// Resize.
enum class CoordinateTransformation : uint8_t {
  half_pixel,
  align_corners,
  asymmetric,
  pytorch_half_pixel,
  half_pixel_symmetric
};
/// Selects which element is the nearest one. ONNX: nearest_mode of Resize.
enum class NearestRounding : uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };
/// Options of Network::add_resize; exactly one of `scales`, `sizes` and `sizes_tensor` is given.
struct ResizeOptions {
  std::vector<float> scales = {};                       // factor for each axis of x
  Sizes sizes = {};                                     // sizes of the output
  TensorRef sizes_tensor = {};                          // sizes of the output, int64 [rank]
  InterpolationMode mode = InterpolationMode::nearest;  // between elements of x
  /// Selects how output positions become input positions.
  CoordinateTransformation coordinates = CoordinateTransformation::half_pixel;
  NearestRounding rounding = NearestRounding::round_prefer_floor;  // for InterpolationMode::nearest
  float cubic_coefficient = -0.75f;                                // ONNX: cubic_coeff_a
  /// Gives elements outside of x no weight; filters when the output is smaller.
  bool exclude_outside = false, antialias = false;
  std::string name = {};  // name of the layer
};
/// Selects what is sampled outside of x: zeros, the nearest edge, or x reflected.
enum class GridPadding : uint8_t { zeros, border, reflection };
/// Options of Network::add_grid_sample.
struct GridSampleOptions {
  InterpolationMode mode = InterpolationMode::linear;  // between elements of x
  GridPadding padding = GridPadding::zeros;            // outside of x
  bool align_corners = false;  // -1 and 1 are the centers of corner elements, else their outer edges
  std::string name = {};       // name of the layer
};
/// Selects how a box is given: corners [y1, x1, y2, x2], or [x_center, y_center, width, height].
enum class BoxFormat : uint8_t { corners, center_size };
/// Options of Network::add_nms.
struct NmsOptions {
  float iou_threshold = 0;                    // boxes that overlap a better one by more are dropped
  std::optional<float> score_threshold = {};  // boxes with lower scores are dropped
  BoxFormat boxes = BoxFormat::corners;       // how boxes are given
  std::string name = {};                      // name of the layer
};
/// Options of Network::add_reverse_sequence.
struct ReverseSequenceOptions {
  int64_t batch_axis = 1, sequence_axis = 0;  // axes of x
  std::string name = {};                      // name of the layer
};

// ── Making
// ──────────────────────────────────────────────────────────────────────────────────────────────────

/// Selects what a filled tensor holds. linspace: alpha + Σ beta[d] · index[d] over the axes d;
/// random_uniform: numbers in [alpha, beta[0]); random_normal: mean alpha, standard deviation beta[0].
enum class FillOperation : uint8_t { linspace, random_uniform, random_normal };
/// Options of Network::add_fill.
struct FillOptions {
  double alpha = 0;                   // as in FillOperation
  std::vector<double> beta = {1};     // for linspace one for each axis, otherwise one
  DataType type = DataType::float32;  // for linspace also float64, int16, int32 and int64
  float seed = 0;                     // the same seed gives the same numbers
  std::string name = {};              // name of the layer
};

// Quantization
// ────────────────────────────────────────────────────────────────────────────────────────────────

/// Options of Network::add_quantize: round(x / scale) + zero_point, saturated to the type. The scale has one
/// element, or one for every index of `axis` (a list), or, with `block_size`, one for every block along
/// `axis`.
struct QuantizeOptions {
  DataType type = DataType::int8;    // type of the output and of the zero point
  int64_t axis = 1, block_size = 0;  // axis of scales; elements in a block, 0: no blocks
  bool saturate = true;              // float8: what is too large becomes the largest number
  std::string name = {};             // name of the layer
};
/// Options of Network::add_dequantize; scales are as in QuantizeOptions.
struct DequantizeOptions {
  int64_t axis = 1, block_size = 0;  // axis of scales; elements in a block, 0: no blocks
  std::string name = {};             // name of the layer
};
/// Options of Network::add_dynamic_quantize. A scale is the largest magnitude of its block over the largest
/// number of `type`. With `double_scale` (of one element) scales are themselves quantized, to `scale_type`.
struct DynamicQuantizeOptions {
  int64_t axis = -1, block_size = 16;            // axis that is divided into blocks; elements in a block
  DataType type = DataType::float4e2m1;          // type of the output: signed, of at most 16 bits
  TensorRef double_scale = {};                   // scale of the scales; left out: they stay as they are
  DataType scale_type = DataType::float8e4m3fn;  // type of quantized scales
  std::string name = {};                         // name of the layer
};

// ── Attention
// ───────────────────────────────────────────────────────────────────────────────────────────────

/// Options of Network::add_attention. Inputs are [batch, heads, length, size], or [batch, length, heads ·
/// size] with both numbers of heads given. The names are those of ONNX Attention.
struct AttentionOptions {
  TensorRef mask = {};  // floats that are added to the scores, or bool: true where a query sees a key
  TensorRef past_key = {}, past_value = {};  // KV cache; adds the outputs present_key and present_value
  TensorRef lengths = {};                  // int64 [batch]: number of keys that count, the others are padding
  bool causal = false;                     // a query sees no later key
  int64_t query_heads = 0, key_heads = 0;  // heads of inputs of rank 3
  std::optional<float> scale = {};         // nothing: 1 / √size
  float softcap = 0;                       // c: scores become c · tanh(score / c); 0: they stay
  int64_t left_window = -1, right_window = -1;  // number of keys seen to either side; -1: all
  std::string name = {};                        // name of the layer
};
/// Options of Network::add_rotary_embedding.
struct RotaryEmbeddingOptions {
  TensorRef positions = {};  // int64 [batch, length]: rows of cos and sin
  bool interleaved = false;  // pairs are neighbors, else an element and the one half a head behind it
  int64_t rotary_size = 0;   // leading elements of a head that are rotated; 0: all
  int64_t heads = 0;         // heads of x [batch, length, heads · size]
  std::string name = {};     // name of the layer
};
/// Selects where positions beyond the end of a KV cache are written: nowhere (linear), or from its start on
/// (ring).
enum class KvCacheMode : uint8_t { linear, ring };
/// Options of Network::add_kv_cache_update.
struct KvCacheOptions {
  KvCacheMode mode = KvCacheMode::linear;  // treatment of positions beyond the end
  int64_t axis = -2;                       // axis of the cache that positions index
  std::string name = {};                   // name of the layer
};

// ── Any operator, and control flow
// ──────────────────────────────────────────────────────────────────────────

/// The value of an attribute of Network::add_operator; which type it must have is the operator's matter.
using OperatorAttribute = std::variant<int64_t, float, std::string, Tensor, std::vector<int64_t>,
                                       std::vector<float>, std::vector<std::string>, std::vector<Tensor>>;
/// Fills a body: adds its inputs in order with add_input, appends layers and returns the body's outputs.
/// Tensors of the networks around the body may be used as they are.
using BodyBuilder = std::function<std::vector<TensorRef>(Network& body)>;
/// Options of Network::add_operator and add_plugin.
struct OperatorOptions {
  std::vector<std::pair<std::string, OperatorAttribute>> attributes = {};  // by name
  /// Fills bodies, by the name of the attribute that holds each.
  std::vector<std::pair<std::string, BodyBuilder>> bodies = {};
  std::string domain = {};                     // "": ai.onnx
  size_t outputs = 1;                          // number of outputs
  std::vector<std::string> output_names = {};  // instead of `outputs`; an empty one is not computed
  std::vector<std::pair<std::string, std::string>> metadata = {};  // keys and values
  std::string name = {};                                           // name of the layer
};

/// Fills a branch of an If; what it returns are the outputs of the If when that branch is taken.
using BranchBuilder = BodyBuilder;

/// The inside of a loop while it is built: a Network to add layers to, and what makes it a loop.
class LoopBody;
/// Options of Network::add_loop. Without trip limit and condition the loop runs once for every element of its
/// iterators, of which it needs at least one (ONNX Scan); otherwise it is an ONNX Loop.
struct LoopOptions {
  TensorRef trip_limit = {};         // int64, one element: the most iterations
  TensorRef initial_condition = {};  // bool, one element: where it is false nothing runs
  std::string name = {};             // name of the layer
};
/// Selects what an output of a loop is. last_value: a recurrence after the last iteration. concatenate,
/// reverse: the values of all iterations along a new axis, in their order or backwards.
enum class LoopOutput : uint8_t { last_value, concatenate, reverse };

}  // namespace lathe
