// Networks built call by call, with the words of TensorRT's INetworkDefinition. Every call appends ONNX
// operators, checks types and shapes there and then, and throws an Error that names the layer; so a network
// can be saved as .onnx at any time, and loaded.
//
//   lathe::Network n("classifier");
//   auto x = n.add_input("x", lathe::DataType::float32, {"N", 16});
//   auto w = n.add_constant(weights, "w");                       // a lathe::Tensor [16, 4]
//   auto y = n.add_softmax(n.add_matrix_multiply(x, w));
//   n.mark_output(y, "y");
//   auto engine = lathe::Builder().build_engine(n);              // lathe/builder.h
#pragma once

#include <filesystem>
#include <map>

#include "lathe/layers.h"
#include "lathe/model_summary.h"
#include "lathe/onnx.h"

namespace lathe {

/// A layer: the operators that one call appended, or one operator of a model that was read. It is a light
/// handle that keeps the network alive; where a tensor is wanted it means its first output. Handles of
/// removed layers throw Code::bad_argument when used. TensorRT: ILayer.
class LATHE_API Layer {
 public:
  /// Returns its number, which no other layer of this network is ever given, whatever is added or removed.
  uint32_t id() const { return node_; }
  /// Returns its name, which is unique in the network; the reference is valid until the network changes.
  const std::string& name() const;
  /// Renames the layer and its operators. Throws Code::graph_duplicate_name for a name that is empty or
  /// taken.
  void set_name(const std::string& name);
  /// Returns the family, "convolution", "slice", …; of other layers the operator, "Softsign",
  /// "my.domain::Op".
  std::string kind() const;
  /// Returns the ONNX operators that it consists of: {"Mul", "Add"}.
  std::vector<std::string> operators() const;
  /// Returns the number of inputs.
  size_t num_inputs() const { return inputs().size(); }
  /// Returns the number of outputs.
  size_t num_outputs() const { return outputs().size(); }
  /// Returns input `i` of inputs(). Throws Code::bad_argument where there is none.
  TensorRef get_input(size_t i) const;
  /// Returns output `i` of outputs(). Throws Code::bad_argument where there is none.
  TensorRef get_output(size_t i) const;
  /// Returns the tensors that it and its bodies read, each once, in order; an optional input that is left out
  /// is none.
  std::vector<TensorRef> inputs() const;
  /// Returns its outputs in the order in which the call that made it documents them.
  std::vector<TensorRef> outputs() const;
  /// Converts to output 0.
  operator TensorRef() const { return get_output(0); }
  /// Returns the names of its bodies: "then_branch", "body".
  std::vector<std::string> bodies() const;
  /// Returns one of its bodies for inspection. Throws Code::bad_argument for another name.
  Network body(std::string_view name) const;
  /// Returns the keys and values of set_metadata and of the model's metadata_props.
  std::vector<std::pair<std::string, std::string>> metadata() const;
  /// Sets a text that travels with the layer into files (metadata_props of its node). Throws
  /// Code::bad_argument for keys that the library itself uses.
  void set_metadata(const std::string& key, const std::string& value);
  friend bool operator==(const Layer&, const Layer&) = default;

 private:
  friend struct NetworkAccess;
  std::shared_ptr<NetworkState> state_;
  uint32_t scope_ = 0, node_ = 0;
};

/// Selects how a network is written as C++ (Network::cpp).
struct CppOptions {
  std::string function = "build_network";  // name of the function: lathe::Network build_network()
  /// Path of a safetensors file for constants of more than `inline_elements` elements; the generated function
  /// then takes it as an argument. Empty: all constants are written in the source, as are those of types that
  /// such files lack.
  std::filesystem::path weights = {};
  int64_t inline_elements = 64;  // elements that a constant in the source may have
};

/// A network that is built call by call. Cheap to copy: copies are the same network, and clone() makes
/// another. Not thread-safe: use it on one thread at a time. TensorRT: INetworkDefinition.
///
/// Every add_* appends a layer and returns it. It throws Error with Code::node_bad_type, node_bad_shape,
/// node_bad_attribute, node_bad_arity, … for what type and shape inference finds, and Code::bad_argument for
/// tensors of other networks; the diagnostic's node is the layer's name. What a call added before it failed
/// is taken back. Element types are never converted. Negative axes count from the end. Layers whose `name` is
/// empty get a generated one.
class LATHE_API Network {
 public:
  /// Makes an empty network; `name` becomes the graph's name.
  explicit Network(const std::string& name = {});
  /// Returns the graph's name.
  std::string name() const;
  /// Sets the graph's name.
  void set_name(const std::string& name);
  /// Returns an independent copy that shares the constants' memory. Throws Code::bad_argument for a body.
  Network clone() const;

  // ── Inputs, outputs, constants
  // ────────────────────────────────────────────────────────────────────────────
  /// Adds an input. Throws Code::graph_duplicate_name where the name is empty or taken, node_bad_type for
  /// DataType::undefined. TensorRT: INetworkDefinition::addInput.
  TensorRef add_input(const std::string& name, DataType type, const Sizes& shape);
  /// Adds an input of any type in ONNX's text form: "float[N,3]", "seq(float)", "optional(int64[])".
  TensorRef add_input(const std::string& name, std::string_view type);
  /// Sets the value that an input takes when a run is not given it. Throws node_bad_type, node_bad_shape
  /// where it does not have the input's type; bad_argument where `input` is none.
  void set_default(const TensorRef& input, const Tensor& value);
  /// Adds a constant; `t` must own its memory or is copied. Throws Code::bad_argument for an undefined
  /// tensor, graph_duplicate_name where the name is taken.
  TensorRef add_constant(const Tensor& t, const std::string& name = {});
  /// Makes the tensor the next output of the network, and renames it where a name is given. Throws
  /// Code::bad_argument for an input under another name or a tensor from around a body, graph_duplicate_name
  /// for a name that is taken.
  void mark_output(const TensorRef& t, const std::string& name = {});
  /// Makes it no output any longer. Throws Code::bad_argument where it is none.
  void unmark_output(const TensorRef& t);
  /// Marks a tensor whose value each run of engines built from now on reports to ExecutionContext::on_tap,
  /// under its name. The outputs' bits stay the same. TensorRT: INetworkDefinition::markDebug.
  void mark_debug(const TensorRef& t);
  /// Takes the mark of mark_debug() away.
  void unmark_debug(const TensorRef& t);
  /// Returns whether the tensor is marked.
  bool is_debug_tensor(const TensorRef& t) const;
  /// Returns the marked tensors, those of bodies included.
  std::vector<TensorRef> debug_tensors() const;

  // ── Convolutions and windows: x [N, C, spatial…]
  // ──────────────────────────────────────────────────────────
  /// Convolves x with kernel [M, C / groups, window…] and adds bias [M], which may be left out (ONNX Conv).
  Layer add_convolution(const TensorRef& x, const TensorRef& kernel, const TensorRef& bias = {},
                        const ConvolutionOptions& o = {});
  /// Transposed convolution with kernel [C, M / groups, window…] and bias [M], which may be left out (ONNX
  /// ConvTranspose).
  Layer add_deconvolution(const TensorRef& x, const TensorRef& kernel, const TensorRef& bias = {},
                          const DeconvolutionOptions& o = {});
  /// Multiplies x, flattened to two axes, by the transpose of kernel [M, K] and adds bias [M] (Flatten,
  /// Gemm).
  Layer add_fully_connected(const TensorRef& x, const TensorRef& kernel, const TensorRef& bias = {},
                            const FullyConnectedOptions& o = {});
  /// Takes the maximum, the average or a blend of both over windows of the spatial axes (MaxPool,
  /// AveragePool), or over the whole axes where o.window is empty (GlobalMaxPool, GlobalAveragePool).
  Layer add_pooling(const TensorRef& x, PoolingType type, const PoolingOptions& o = {});
  /// Normalizes over neighboring channels (ONNX LRN): y = x / (k + alpha / window · Σ x²)^beta.
  Layer add_lrn(const TensorRef& x, const LrnOptions& o = {});

  // ── Element by element: shapes broadcast as NumPy's
  // ───────────────────────────────────────────────────────
  /// Applies an activation to each element. Throws node_bad_attribute for an alpha or beta that it does not
  /// have.
  Layer add_activation(const TensorRef& x, ActivationType type, const ActivationOptions& o = {});
  /// Applies a function to each element; the operator is the one of ONNX of that name.
  Layer add_unary(const TensorRef& x, UnaryOperation op, const std::string& name = {});
  /// Computes a op b with broadcasting; a and b have one element type.
  Layer add_elementwise(const TensorRef& a, const TensorRef& b, ElementWiseOperation op,
                        const std::string& name = {});
  /// Computes (x · scale + shift) ^ power. TensorRT: IScaleLayer.
  Layer add_scale(const TensorRef& x, const ScaleOptions& o);
  /// Computes x where x ≥ 0, else slope · x; slope broadcasts to x (ONNX PRelu).
  Layer add_parametric_relu(const TensorRef& x, const TensorRef& slope, const std::string& name = {});
  /// Takes each element of a where condition (bool) is true, else of b (ONNX Where).
  Layer add_select(const TensorRef& condition, const TensorRef& a, const TensorRef& b,
                   const std::string& name = {});
  /// Copies x under another name (ONNX Identity).
  Layer add_identity(const TensorRef& x, const std::string& name = {});
  /// Converts each element to another type, as ONNX's Cast does.
  Layer add_cast(const TensorRef& x, DataType to, const std::string& name = {});

  // ── Norms
  // ─────────────────────────────────────────────────────────────────────────────────────────────────
  /// Computes (x - mean) / √(variance + epsilon) · scale + bias. For layer and rms, scale broadcasts to x;
  /// for instance and group it is [C]. Throws node_bad_arity for a bias of rms, which has none.
  Layer add_normalization(const TensorRef& x, const TensorRef& scale, const TensorRef& bias,
                          NormalizationType type, const NormalizationOptions& o = {});
  /// Computes exp(x) / Σ exp(x) along o.axis (ONNX Softmax).
  Layer add_softmax(const TensorRef& x, const SoftmaxOptions& o = {});
  /// Computes the softmax over the first `lengths[…]` elements of each row (the last axis of x); the elements
  /// behind them are 0. lengths: int32 or int64, of x's shape with 1 as the last size, or without the last
  /// axis. TensorRT: IRaggedSoftMaxLayer.
  Layer add_ragged_softmax(const TensorRef& x, const TensorRef& lengths, const std::string& name = {});

  // ── Products and reductions
  // ───────────────────────────────────────────────────────────────────────────────
  /// Multiplies matrices with broadcast batch axes: [..., M, K] · [..., K, N] (ONNX MatMul).
  Layer add_matrix_multiply(const TensorRef& a, const TensorRef& b, const MatrixMultiplyOptions& o = {});
  /// Sums products after Einstein's convention: "bij,bjk->bik" (ONNX Einsum).
  Layer add_einsum(const std::vector<TensorRef>& inputs, const std::string& equation,
                   const std::string& name = {});
  /// Reduces over `axes`; over all of them where the list is empty.
  Layer add_reduce(const TensorRef& x, ReduceOperation op, const std::vector<int64_t>& axes,
                   const ReduceOptions& o = {});
  /// Returns the k largest or smallest elements along o.axis, sorted. Outputs: values, and their indices. `k`
  /// is a number or an int64 tensor [1] (ONNX TopK).
  Layer add_topk(const TensorRef& x, TopKOperation op, int64_t k, const TopKOptions& o = {});
  Layer add_topk(const TensorRef& x, TopKOperation op, const TensorRef& k, const TopKOptions& o = {});
  /// Computes running sums or products along `axis` (ONNX CumSum, CumProd).
  Layer add_cumulative(const TensorRef& x, CumulativeOperation op, int64_t axis,
                       const CumulativeOptions& o = {});

  // ── Choosing
  // ──────────────────────────────────────────────────────────────────────────────────────────────
  /// Picks elements or slices of data by indices (ONNX Gather, GatherElements, GatherND). Throws
  /// node_bad_attribute for batch axes that the mode lacks.
  Layer add_gather(const TensorRef& data, const TensorRef& indices, const GatherOptions& o = {});
  /// Returns data with updates written, or combined, at the indices (ONNX ScatterElements, ScatterND).
  Layer add_scatter(const TensorRef& data, const TensorRef& indices, const TensorRef& updates,
                    const ScatterOptions& o = {});
  /// Expands indices to vectors of values[1] at the index and values[0] elsewhere. values: [off, on]; depth:
  /// one integer. The new axis is `axis` of the output (ONNX OneHot).
  Layer add_one_hot(const TensorRef& indices, const TensorRef& values, const TensorRef& depth,
                    int64_t axis = -1, const std::string& name = {});
  /// Returns the positions of the elements that are not zero: int64 [rank, count] (ONNX NonZero).
  Layer add_non_zero(const TensorRef& x, const std::string& name = {});
  /// Selects boxes by non-maximum suppression (ONNX NonMaxSuppression). boxes [N, boxes, 4] and scores [N,
  /// classes, boxes] are float32, max_boxes_per_class is int64. Outputs: int64 [selected, 3] of batch, class
  /// and box; and their number, int64 [].
  Layer add_nms(const TensorRef& boxes, const TensorRef& scores, const TensorRef& max_boxes_per_class,
                const NmsOptions& o = {});

  // ── Moving
  // ────────────────────────────────────────────────────────────────────────────────────────────────
  /// Transposes, reshapes and transposes x as the options say. TensorRT: IShuffleLayer.
  Layer add_shuffle(const TensorRef& x, const ShuffleOptions& o);
  /// Permutes the axes: output axis i is input axis permutation[i] (ONNX Transpose).
  Layer add_transpose(const TensorRef& x, const std::vector<int64_t>& permutation,
                      const std::string& name = {});
  /// Reshapes x, whose elements keep their order. A 0 copies the size of that axis; one size may be
  /// `inferred_size` (ONNX Reshape).
  Layer add_reshape(const TensorRef& x, const Sizes& shape, const std::string& name = {});
  /// Takes the elements start[i] + k · stride[i], k < size[i], of every axis i. TensorRT: ISliceLayer.
  Layer add_slice(const TensorRef& x, const std::vector<int64_t>& start, const std::vector<int64_t>& size,
                  const std::vector<int64_t>& stride, const SliceOptions& o = {});
  /// Takes start, size and stride as int64 tensors of one element for each axis; stride may be left out.
  Layer add_slice(const TensorRef& x, const TensorRef& start, const TensorRef& size, const TensorRef& stride,
                  const SliceOptions& o = {});
  /// Adds elements before and behind each axis; negative numbers remove some (ONNX Pad).
  Layer add_padding(const TensorRef& x, const std::vector<int64_t>& pre_padding,
                    const std::vector<int64_t>& post_padding, const PaddingOptions& o = {});
  /// Concatenates the inputs, which differ in the size of `axis` only (ONNX Concat).
  Layer add_concatenation(const std::vector<TensorRef>& inputs, int64_t axis, const std::string& name = {});
  /// Removes `axes`, whose size is 1 (ONNX Squeeze).
  Layer add_squeeze(const TensorRef& x, const std::vector<int64_t>& axes, const std::string& name = {});
  /// Inserts axes of size 1, which are `axes` of the output (ONNX Unsqueeze).
  Layer add_unsqueeze(const TensorRef& x, const std::vector<int64_t>& axes, const std::string& name = {});
  /// Broadcasts x to another shape (ONNX Expand).
  Layer add_expand(const TensorRef& x, const Sizes& shape, const std::string& name = {});
  /// Returns the shape of x: int64 [rank] (ONNX Shape).
  Layer add_shape(const TensorRef& x, const std::string& name = {});
  /// Returns the sizes as int64 [n]; expressions are computed from the shapes of the network's inputs. Throws
  /// Code::bad_argument for a symbol that no input has.
  Layer add_shape_of(const Sizes& sizes, const std::string& name = {});
  /// Resizes x by interpolation (ONNX Resize). Throws node_bad_attribute unless exactly one of scales, sizes
  /// and sizes_tensor is given.
  Layer add_resize(const TensorRef& x, const ResizeOptions& o);
  /// Samples x [N, C, spatial…] at the positions of grid [N, spatial out…, number of spatial axes], where -1
  /// and 1 are the edges of x (ONNX GridSample).
  Layer add_grid_sample(const TensorRef& x, const TensorRef& grid, const GridSampleOptions& o = {});
  /// Reverses the first lengths[i] elements of each sequence i; lengths: int64 [batch] (ONNX
  /// ReverseSequence).
  Layer add_reverse_sequence(const TensorRef& x, const TensorRef& lengths,
                             const ReverseSequenceOptions& o = {});

  // ── Making
  // ────────────────────────────────────────────────────────────────────────────────────────────────
  /// Makes a tensor of numbers in a row or of random numbers. The shape is given, or is an int64 tensor
  /// [rank] whose length is known. Throws node_bad_attribute for a wrong number of betas. TensorRT:
  /// IFillLayer.
  Layer add_fill(const Sizes& shape, FillOperation op, const FillOptions& o = {});
  /// Makes a tensor whose shape a run decides.
  Layer add_fill(const TensorRef& shape, FillOperation op, const FillOptions& o = {});

  // ── Few bits
  // ──────────────────────────────────────────────────────────────────────────────────────────────
  /// Computes round(x / scale) + zero_point, saturated to o.type (ONNX QuantizeLinear). A zero point has the
  /// type o.type (else node_bad_type).
  Layer add_quantize(const TensorRef& x, const TensorRef& scale, const TensorRef& zero_point = {},
                     const QuantizeOptions& o = {});
  /// Computes (x - zero_point) · scale in the type of scale (ONNX DequantizeLinear).
  Layer add_dequantize(const TensorRef& x, const TensorRef& scale, const TensorRef& zero_point = {},
                       const DequantizeOptions& o = {});
  /// Quantizes x with scales that are computed from it, block by block. Outputs: the quantized tensor, and
  /// the scales (of x's rank). The size of o.axis must be a known multiple of the block (node_bad_shape).
  /// TensorRT: IDynamicQuantizeLayer.
  Layer add_dynamic_quantize(const TensorRef& x, const DynamicQuantizeOptions& o = {});

  // ── Attention
  // ─────────────────────────────────────────────────────────────────────────────────────────────
  /// Computes softmax(query · keyᵀ · scale + mask) · value for each head (ONNX Attention). Outputs: the
  /// result, of query's shape with value's head size; with a KV cache also present_key and present_value.
  Layer add_attention(const TensorRef& query, const TensorRef& key, const TensorRef& value,
                      const AttentionOptions& o = {});
  /// Applies rotary position embedding to x. cos and sin are [positions, size / 2], or without o.positions
  /// [batch, length, size / 2] (ONNX RotaryEmbedding).
  Layer add_rotary_embedding(const TensorRef& x, const TensorRef& cos, const TensorRef& sin,
                             const RotaryEmbeddingOptions& o = {});
  /// Returns the KV cache with `update` written at the positions, int64 [batch] (left out: 0), and behind
  /// them (ONNX TensorScatter). Writing beyond the end of a linear cache is an error of the run. TensorRT:
  /// IKVCacheUpdateLayer.
  Layer add_kv_cache_update(const TensorRef& cache, const TensorRef& update, const TensorRef& positions = {},
                            const KvCacheOptions& o = {});

  // ── Control
  // ───────────────────────────────────────────────────────────────────────────────────────────────
  /// Returns x where every element of condition (bool) is true; otherwise the run throws Code::run_bad_index
  /// with the message as the node's name. Throws Code::bad_argument where the condition is known to be false
  /// or the message is empty. TensorRT: IAssertionLayer.
  Layer add_assertion(const TensorRef& x, const TensorRef& condition, const std::string& message);
  /// Runs one of two branches (ONNX If). condition: bool, one element. Both branches return tensors of the
  /// same types, in the same order; what they return are the outputs. TensorRT: IIfConditional.
  Layer add_if_conditional(const TensorRef& condition, const BranchBuilder& then_branch,
                           const BranchBuilder& else_branch, const std::string& name = {});
  /// Adds a loop (ONNX Loop or Scan); `body` fills it. Outputs: those that the body declares, in order.
  /// TensorRT: ILoop.
  Layer add_loop(const LoopOptions& o, const std::function<void(LoopBody&)>& body);
  /// Adds an operator of another domain, from a plug-in (lathe/backend.h) that is given to the
  /// engine's build. `output_types`, such as "float[N,3]", are declared, since nothing is known of it here.
  /// Throws Code::not_supported for bodies. TensorRT: INetworkDefinition::addPluginV3.
  Layer add_plugin(const std::string& domain, const std::string& op, const std::vector<TensorRef>& inputs,
                   const std::vector<std::string>& output_types, const OperatorOptions& o = {});
  /// Adds any ONNX operator in its newest version, with bodies where it has some; an undefined input is left
  /// out. Throws node_unknown_operator or node_unknown_domain, with similar names.
  Layer add_operator(const std::string& op, const std::vector<TensorRef>& inputs,
                     const OperatorOptions& o = {});
  /// Throws Code::not_supported: mixtures of experts have no layer yet.
  Layer add_moe(const std::vector<TensorRef>& inputs, const std::string& name = {});
  /// Throws Code::not_supported: networks run on one machine.
  Layer add_dist_collective(const TensorRef& x, const std::string& operation, const std::string& name = {});

  // ── Looking
  // ───────────────────────────────────────────────────────────────────────────────────────────────
  /// Returns the number of inputs.
  size_t num_inputs() const;
  /// Returns the number of outputs.
  size_t num_outputs() const;
  /// Returns the number of layers.
  size_t num_layers() const;
  /// Returns an input by position. Throws Code::bad_argument where there is none.
  TensorRef get_input(size_t i) const;
  /// Returns an output by position. Throws Code::bad_argument where there is none.
  TensorRef get_output(size_t i) const;
  /// Returns a layer by position in layers(). Throws Code::bad_argument where there is none.
  Layer get_layer(size_t i) const;
  /// Returns the inputs in the order in which they were added.
  std::vector<TensorRef> inputs() const;
  /// Returns the outputs in the order in which they were marked.
  std::vector<TensorRef> outputs() const;
  /// Returns the layers in an order in which they can run.
  std::vector<Layer> layers() const;
  /// Returns the layer of that id or name, or nothing where there is none.
  std::optional<Layer> find_layer(uint32_t id) const;
  std::optional<Layer> find_layer(std::string_view name) const;
  /// Returns the tensor of that name, or nothing where there is none.
  std::optional<TensorRef> find_tensor(std::string_view name) const;
  /// Returns the layers for which `wanted` returns true, in the order of layers().
  std::vector<Layer> find(const std::function<bool(const Layer&)>& wanted) const;
  /// Returns the layers that fulfill all terms of a text: FIELD OP VALUE, joined by "&&", with the numbers
  /// consumers, inputs, outputs and operators, which ==, !=, <, <=, > and >= compare, and the texts kind,
  /// name and op (any of its operators), which == and != match with shell patterns: "kind == convolution &&
  /// consumers > 1". Throws Code::text_syntax.
  std::vector<Layer> query(std::string_view query) const;
  /// Returns the operators: as a line each, as JSON, or as a graph for Graphviz.
  std::string describe(GraphFormat format = GraphFormat::text) const;
  /// Returns the layers as text, a line each.
  std::string text() const;

  // ── Editing: each call as a whole, or not at all; types and shapes are inferred again
  // ───────────
  /// Makes every layer that reads `from`, and the network's outputs, read `to`. An output's name stays with
  /// it. Throws Code::bad_argument where `to` cannot be an output in its place.
  void replace_all_uses(const TensorRef& from, const TensorRef& to);
  /// Makes `layer` read `t` in the place of its input `i`.
  void set_input(const Layer& layer, size_t i, const TensorRef& t);
  /// Puts what `make` returns for input `i` of `layer` in the place of that input.
  void insert_before(const Layer& layer, size_t i,
                     const std::function<TensorRef(Network&, const TensorRef&)>& make);
  /// Puts what `make` returns for `t` in the place of `t` wherever it is read until now, as an output too.
  void insert_after(const TensorRef& t, const std::function<TensorRef(Network&, const TensorRef&)>& make);
  /// Removes a layer. Throws Code::bad_argument where one of its outputs is read or is an output of the
  /// network.
  void remove(const Layer& layer);
  /// Removes the layers that neither outputs nor debug tensors need, and returns how many they were.
  size_t remove_unused();
  /// Returns another network of the layers between `inputs` and `outputs`, which keep their names. Inputs of
  /// this network that those layers read stay inputs. Throws Code::bad_argument where `outputs` is empty.
  Network extract(const std::vector<TensorRef>& inputs, const std::vector<TensorRef>& outputs) const;
  /// Runs `change`; where it throws, the network is as it was before, and the error goes on.
  void transaction(const std::function<void(Network&)>& change);

  // ── Keeping
  // ───────────────────────────────────────────────────────────────────────────────────────────────
  /// Returns the network as a model at the lowest opset and IR version that can express it, or at the opset
  /// given (else throws node_cannot_convert). Throws bad_argument for a body.
  onnx::Model to_model(int opset = 0) const;
  /// Writes to_model() to a file, as onnx::save does. Throws file_write_failed.
  void save(const std::filesystem::path& path, const onnx::SaveOptions& options = {}) const;
  /// Returns the C++ source of a function that makes this network, with its names and bits: by the calls that
  /// made layers, and by add_operator for what no call made (a model that was read). Throws file_write_failed
  /// for o.weights.
  std::string cpp(const CppOptions& options = {}) const;

 private:
  friend struct NetworkAccess;
  struct Nothing {};
  explicit Network(Nothing) {}
  std::shared_ptr<NetworkState> state_;
  uint32_t scope_ = 0;
};

/// Serves as Network::transaction where the change cannot be put into a function: changes to the
/// network while this object lives are taken back when it is destroyed, unless commit() was called.
class LATHE_API Transaction {
 public:
  /// Begins the transaction. Throws Code::bad_argument inside the function that fills a body.
  explicit Transaction(const Network& network);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  /// Takes the changes back unless they were committed; inside the function that fills a body they stay,
  /// since nothing may be pulled from under that call.
  ~Transaction();
  /// Keeps the changes; later calls do nothing.
  void commit();
  /// Takes the changes back now. Throws Code::bad_argument inside the function that fills a body.
  void roll_back();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The inside of a loop while it is built: a Network to add layers to, and what makes it a loop. Not
/// thread-safe; valid only inside the function that add_loop calls. TensorRT: ILoop.
class LATHE_API LoopBody {
 public:
  /// Returns the network to which the body's layers are added.
  Network& network() { return network_; }
  /// Returns the number of the iteration, from 0 on, int64 []. Throws Code::bad_argument in a loop without
  /// limit and condition, which has none.
  TensorRef iteration() const;
  /// Adds a value that is carried from one iteration to the next and starts as `initial`; returns it as the
  /// body reads it. TensorRT: IRecurrenceLayer.
  TensorRef add_recurrence(const TensorRef& initial);
  /// Sets the recurrence's value for the next iteration; to be called once for each.
  void set_next(const TensorRef& recurrence, const TensorRef& next);
  /// Returns slice number iteration() of x along `axis`, without that axis; `reverse` counts from the end.
  /// TensorRT: IIteratorLayer.
  TensorRef add_iterator(const TensorRef& x, int64_t axis = 0, bool reverse = false);
  /// Makes the loop go on as long as `condition` (bool, one element) is true after an iteration.
  void set_condition(const TensorRef& condition);
  /// Adds an output of the loop: a recurrence for LoopOutput::last_value, otherwise any tensor of the body.
  /// TensorRT: ILoopOutputLayer.
  void add_output(const TensorRef& t, LoopOutput kind, int64_t axis = 0);

 private:
  friend struct LoopAccess;
  struct Parts;
  LoopBody(Network network, Parts& parts) : network_(std::move(network)), parts_(parts) {}
  Network network_;
  Parts& parts_;
};

}  // namespace lathe
