// What layers of a Network are told: one plain struct of options a family, for designated initialisers, with
// TensorRT's words. Everything has a default; `name` of a layer is made up where it is left empty.
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

/// One size of a tensor: a number, or an expression over named sizes. The same name means the same size, all
/// over the network. Throws Code::tensor_bad_shape for a negative number, Code::text_syntax for what is no
/// expression.
class LATHE_API Size {
 public:
  Size(std::integral auto n) : Size(Dim(static_cast<int64_t>(n)), 0) {}
  Size(const char* expression) : dim_(Dim::parse(expression)) {}
  Size(const std::string& expression) : dim_(Dim::parse(expression)) {}
  Size(Dim d) : dim_(std::move(d)) {}
  const Dim& dim() const { return dim_; }

 private:
  Size(Dim number, int checked);
  Dim dim_;
};
/// {"N", 3, "2*S + 1"}.
using Sizes = std::vector<Size>;

/// A tensor of a network: what an input, a constant or a layer gives. A light handle that keeps the network
/// alive; two handles of one tensor are equal. Handles of what a rolled back transaction made, or of removed
/// layers' tensors, throw Code::bad_argument when used. As thread-safe as its network.
class LATHE_API TensorRef {
 public:
  /// No tensor: an optional input that is left out.
  TensorRef() = default;
  explicit operator bool() const { return state_ != nullptr; }
  friend bool operator==(const TensorRef&, const TensorRef&) = default;

  /// Never given to another tensor of this network, or of the body that it is in.
  uint32_t id() const { return value_; }
  const std::string& name() const;
  /// Throws Code::graph_duplicate_name where the name is taken.
  void set_name(const std::string& name);
  /// undefined where it is no dense tensor (a sequence, …).
  DataType element_type() const;
  /// Throws Code::bad_argument where the rank is not known.
  SymShape shape() const;
  size_t rank() const { return shape().size(); }
  bool has_rank() const;
  /// "float[N,3]", "seq(float)".
  std::string type() const;
  bool is_network_input() const;
  bool is_network_output() const;
  /// Contents, where they are known in every run; null else. Valid as long as the network is not changed.
  const Tensor* constant() const;
  /// The layer that gives it; nothing for inputs, constants, and what a body takes from around it.
  std::optional<Layer> producer() const;
  /// Layers that read it, in themselves or in their bodies.
  std::vector<Layer> consumers() const;

 private:
  friend struct NetworkAccess;
  std::shared_ptr<NetworkState> state_;
  uint32_t scope_ = 0, value_ = 0;
};

// ── Convolutions and windows
// ────────────────────────────────────────────────────────────────────────────────

/// How missing pads are found: given; so that the output is ceil(input / stride) with the odd one behind or
/// before; none.
enum class PaddingMode : uint8_t { explicit_pads, same_upper, same_lower, valid };

/// Lists have one number a spatial axis (empty: 1, or 0 for pads).
struct ConvolutionOptions {
  std::vector<int64_t> stride = {}, dilation = {}, pre_padding = {}, post_padding = {};
  PaddingMode padding_mode = PaddingMode::explicit_pads;
  int64_t groups = 1;
  std::string name = {};
};
struct DeconvolutionOptions {
  std::vector<int64_t> stride = {}, dilation = {}, pre_padding = {}, post_padding = {};
  std::vector<int64_t> output_padding = {};  // added at the end of each axis
  PaddingMode padding_mode = PaddingMode::explicit_pads;
  int64_t groups = 1;
  std::string name = {};
};
struct FullyConnectedOptions {
  int64_t axis = 1;  // the axes from here on are flattened
  std::string name = {};
};
/// max_average_blend: (1 - blend) · max + blend · average.
enum class PoolingType : uint8_t { max, average, max_average_blend };
struct PoolingOptions {
  std::vector<int64_t> window = {};  // empty: all of every spatial axis
  std::vector<int64_t> stride = {}, dilation = {}, pre_padding = {}, post_padding = {};
  PaddingMode padding_mode = PaddingMode::explicit_pads;
  bool round_up = false;  // of the output's sizes
  bool average_count_excludes_padding = true;
  double blend_factor = 0.5;
  std::string name = {};
};
/// y = x / (k + alpha / window · Σ x²)^beta over `window` neighbouring channels.
struct LrnOptions {
  int64_t window = 5;
  float alpha = 1e-4f, beta = 0.75f, k = 1;
  std::string name = {};
};

// ── Element by element
// ──────────────────────────────────────────────────────────────────────────────────────

/// With a = alpha, b = beta and their defaults: leaky_relu (a 0.01), elu (a 1), selu (a, b of the paper),
/// softplus a·ln(1 + e^(b·x)) (1, 1), clip to [a, b] (none), hard_sigmoid max(0, min(1, a·x + b)) (0.2, 0.5),
/// scaled_tanh a·tanh(b·x) (1, 1), thresholded_relu (a 1).
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
struct ActivationOptions {
  std::optional<double> alpha = {}, beta = {};
  std::string name = {};
};
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
/// floor_div rounds towards minus infinity, for integers too.
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
/// (x · scale + shift) ^ power. Each of one element, of one for every index of `axis` (a list), or of x's
/// shape; left out: 1, 0, 1.
struct ScaleOptions {
  TensorRef scale = {}, shift = {}, power = {};
  int64_t axis = 1;
  std::string name = {};
};

// ── Norms
// ───────────────────────────────────────────────────────────────────────────────────────────────────

/// layer: over `axis` and all behind it; rms: the same, without mean; instance: over the spatial axes;
/// group: over the spatial axes and the channels of a group.
enum class NormalizationType : uint8_t { layer, rms, instance, group };
struct NormalizationOptions {
  int64_t axis = -1;   // of layer and rms
  int64_t groups = 1;  // of group
  float epsilon = 1e-5f;
  std::string name = {};
};
struct SoftmaxOptions {
  int64_t axis = -1;
  std::string name = {};
};

// ── Products and reductions
// ─────────────────────────────────────────────────────────────────────────────────

/// vector: the last axis is the only one that takes part; those before it are of the batch.
enum class MatrixOperation : uint8_t { none, transpose, vector };
struct MatrixMultiplyOptions {
  MatrixOperation op0 = MatrixOperation::none, op1 = MatrixOperation::none;
  std::string name = {};
};
enum class ReduceOperation : uint8_t { sum, prod, max, min, avg, l1, l2, log_sum, log_sum_exp, sum_square };
struct ReduceOptions {
  bool keep_dimensions = false;
  std::string name = {};
};
enum class TopKOperation : uint8_t { max, min };
struct TopKOptions {
  int64_t axis = -1;
  DataType index_type = DataType::int64;  // or int32
  std::string name = {};
};
enum class CumulativeOperation : uint8_t { sum, prod };
struct CumulativeOptions {
  bool exclusive = false, reverse = false;
  std::string name = {};
};

// ── Choosing and moving
// ─────────────────────────────────────────────────────────────────────────────────────

/// slices: whole slices of `axis`, one for every index; elements: one element for every index; nd: the last
/// axis of the indices is a position.
enum class GatherMode : uint8_t { slices, elements, nd };
struct GatherOptions {
  GatherMode mode = GatherMode::slices;
  int64_t axis = 0;        // of slices and elements
  int64_t batch_axes = 0;  // leading axes that data and indices share; of slices (up to `axis`) and nd
  std::string name = {};
};
enum class ScatterMode : uint8_t { elements, nd };
enum class ScatterReduction : uint8_t { none, add, mul, max, min };
struct ScatterOptions {
  ScatterMode mode = ScatterMode::elements;
  int64_t axis = 0;
  ScatterReduction reduction = ScatterReduction::none;
  std::string name = {};
};
/// Transpose, reshape, transpose; what is left empty is left out. A 0 in `reshape` copies the size at its
/// place unless `zero_is_placeholder` is off; sizes may be expressions over the network's symbols, and one
/// may be left to be found: `inferred_size`.
struct ShuffleOptions {
  std::vector<int64_t> first_transpose = {};
  std::optional<Sizes> reshape = {};
  TensorRef reshape_tensor = {};  // int64, instead of `reshape`
  std::vector<int64_t> second_transpose = {};
  bool zero_is_placeholder = true;
  std::string name = {};
};
/// In ShuffleOptions::reshape: the size that is left.
inline const char* const inferred_size = "inferred_size";
/// What lies beyond the input: strict allows nothing there; wrap goes on at the other end; clamp repeats the
/// edge; fill gives a value; reflect goes back without repeating the edge.
enum class SliceMode : uint8_t { strict, wrap, clamp, fill, reflect };
struct SliceOptions {
  SliceMode mode = SliceMode::strict;
  std::vector<int64_t> axes = {};  // those that start, size and stride are of; empty: all, in order
  TensorRef fill_value = {};       // of one element; left out: 0
  std::string name = {};
};
enum class PaddingFill : uint8_t { constant, reflect, edge, wrap };
struct PaddingOptions {
  PaddingFill fill = PaddingFill::constant;
  std::vector<int64_t> axes = {};  // empty: the last ones, as many as there are pads
  TensorRef value = {};            // of one element; left out: 0
  std::string name = {};
};
enum class InterpolationMode : uint8_t { nearest, linear, cubic };
enum class CoordinateTransformation : uint8_t {
  half_pixel,
  align_corners,
  asymmetric,
  pytorch_half_pixel,
  half_pixel_symmetric
};
enum class NearestRounding : uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };
/// Exactly one of `scales` (one a dimension of the input), `sizes` and `sizes_tensor` (int64).
struct ResizeOptions {
  std::vector<float> scales = {};
  Sizes sizes = {};
  TensorRef sizes_tensor = {};
  InterpolationMode mode = InterpolationMode::nearest;
  CoordinateTransformation coordinates = CoordinateTransformation::half_pixel;
  NearestRounding rounding = NearestRounding::round_prefer_floor;
  float cubic_coefficient = -0.75f;
  bool exclude_outside = false, antialias = false;
  std::string name = {};
};
enum class GridPadding : uint8_t { zeros, border, reflection };
struct GridSampleOptions {
  InterpolationMode mode = InterpolationMode::linear;
  GridPadding padding = GridPadding::zeros;
  bool align_corners = false;
  std::string name = {};
};
/// Boxes [y1, x1, y2, x2], or [x_center, y_center, width, height].
enum class BoxFormat : uint8_t { corners, center_size };
struct NmsOptions {
  float iou_threshold = 0;
  std::optional<float> score_threshold = {};
  BoxFormat boxes = BoxFormat::corners;
  std::string name = {};
};
struct ReverseSequenceOptions {
  int64_t batch_axis = 1, sequence_axis = 0;
  std::string name = {};
};

// ── Making
// ──────────────────────────────────────────────────────────────────────────────────────────────────

/// linspace: alpha + Σ beta[d] · index[d]. random_uniform: in [alpha, beta[0]). random_normal: mean alpha,
/// deviation beta[0]; the same seed gives the same numbers.
enum class FillOperation : uint8_t { linspace, random_uniform, random_normal };
struct FillOptions {
  double alpha = 0;
  std::vector<double> beta = {1};
  DataType type = DataType::float32;  // of linspace also float64, int16, int32 and int64
  float seed = 0;
  std::string name = {};
};

// ── Few bits
// ────────────────────────────────────────────────────────────────────────────────────────────────

/// round(x / scale) + zero_point, clamped to the type. A scale of one element, of a list along `axis`, or,
/// with `block_size`, of one a block along `axis`.
struct QuantizeOptions {
  DataType type = DataType::int8;  // of the output; with a zero point that one's type
  int64_t axis = 1, block_size = 0;
  bool saturate = true;  // float8: what is too large becomes the largest number
  std::string name = {};
};
struct DequantizeOptions {
  int64_t axis = 1, block_size = 0;
  std::string name = {};
};
/// Scales are the largest magnitude of each block over the largest number of `type`. With `double_scale` (of
/// one element) they are quantised themselves, to `scale_type`.
struct DynamicQuantizeOptions {
  int64_t axis = -1, block_size = 16;
  DataType type = DataType::float4e2m1;
  TensorRef double_scale = {};
  DataType scale_type = DataType::float8e4m3fn;
  std::string name = {};
};

// ── Attention
// ───────────────────────────────────────────────────────────────────────────────────────────────

/// Inputs [batch, heads, length, size], or [batch, length, heads · size] with both numbers of heads given.
struct AttentionOptions {
  TensorRef mask = {};                       // added (floats), or true where allowed (bool)
  TensorRef past_key = {}, past_value = {};  // with them there are outputs present_key, present_value
  TensorRef lengths = {};                    // int64 [batch]: keys that count, of padded ones
  bool causal = false;
  int64_t query_heads = 0, key_heads = 0;
  std::optional<float> scale = {};  // left out: 1 / √size
  float softcap = 0;
  int64_t left_window = -1, right_window = -1;  // keys seen to either side; -1: all
  std::string name = {};
};
struct RotaryEmbeddingOptions {
  TensorRef positions = {};  // int64 [batch, length]: rows of the caches
  bool interleaved = false;
  int64_t rotary_size = 0;  // elements of a head that are turned; 0: all
  int64_t heads = 0;        // of an input [batch, length, heads · size]
  std::string name = {};
};
/// ring: positions beyond the cache begin anew at its start.
enum class KvCacheMode : uint8_t { linear, ring };
struct KvCacheOptions {
  KvCacheMode mode = KvCacheMode::linear;
  int64_t axis = -2;  // of the positions
  std::string name = {};
};

// ── Any operator, and control flow
// ──────────────────────────────────────────────────────────────────────────

using OperatorAttribute = std::variant<int64_t, float, std::string, Tensor, std::vector<int64_t>,
                                       std::vector<float>, std::vector<std::string>, std::vector<Tensor>>;
/// Fills a body, whose inputs it adds in order with add_input; returns the body's outputs. Tensors of the
/// networks around it may be used as they are.
using BodyBuilder = std::function<std::vector<TensorRef>(Network& body)>;
struct OperatorOptions {
  std::vector<std::pair<std::string, OperatorAttribute>> attributes = {};
  std::vector<std::pair<std::string, BodyBuilder>> bodies = {};
  std::string domain = {};
  size_t outputs = 1;
  std::vector<std::string> output_names = {};  // instead of `outputs`; an empty one is not wanted
  std::vector<std::pair<std::string, std::string>> metadata = {};
  std::string name = {};
};

/// Of an If: what a branch gives.
using BranchBuilder = BodyBuilder;

/// The inside of a loop while it is built: a Network to add layers to, and what makes it a loop.
class LoopBody;
/// Without a trip limit and a condition the loop runs once for every element of its iterators, which must
/// then be one at least (a Scan); else it is a Loop.
struct LoopOptions {
  TensorRef trip_limit = {};         // int64, one element
  TensorRef initial_condition = {};  // bool, one element: false runs nothing
  std::string name = {};
};
/// last_value: of a recurrence, after the last iteration. concatenate, reverse: the values of all iterations
/// along a new axis, in order or backwards.
enum class LoopOutput : uint8_t { last_value, concatenate, reverse };

}  // namespace lathe
