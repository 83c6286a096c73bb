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
#include "lathe/onnx.h"
#include "lathe/tools.h"

namespace lathe {

/// One layer: the operators that one call appended, or one operator of a model that was read. A light handle;
/// where a tensor is wanted it stands for its first output.
class LATHE_API Layer {
 public:
  /// Never given to another layer of this network, whatever is added or removed.
  uint32_t id() const { return node_; }
  const std::string& name() const;
  void set_name(const std::string& name);
  /// The family: "convolution", "slice", …; of others the operator, "Softsign", "my.domain::Op".
  std::string kind() const;
  /// The ONNX operators that it is made of: {"Mul", "Add"}.
  std::vector<std::string> operators() const;
  size_t num_inputs() const { return inputs().size(); }
  size_t num_outputs() const { return outputs().size(); }
  TensorRef get_input(size_t i) const;   // throws Code::bad_argument
  TensorRef get_output(size_t i) const;  // throws Code::bad_argument
  /// What it reads, each once, in order; of an optional input that is left out, none.
  std::vector<TensorRef> inputs() const;
  std::vector<TensorRef> outputs() const;
  operator TensorRef() const { return get_output(0); }
  /// Names of its bodies ("then_branch", "body"), and one of them, to look at.
  std::vector<std::string> bodies() const;
  Network body(std::string_view name) const;
  /// Free text that travels with the layer into files: key and value.
  std::vector<std::pair<std::string, std::string>> metadata() const;
  void set_metadata(const std::string& key, const std::string& value);
  friend bool operator==(const Layer&, const Layer&) = default;

 private:
  friend struct NetworkAccess;
  std::shared_ptr<NetworkState> state_;
  uint32_t scope_ = 0, node_ = 0;
};

/// How a network is written as C++ (Network::cpp).
struct CppOptions {
  std::string function = "build_network";  // lathe::Network build_network()
  /// Constants of more elements than `inline_elements` go into this safetensors file, whose path the function
  /// is then given. Empty: all are written in the source, as are those of types that such files lack.
  std::filesystem::path weights = {};
  int64_t inline_elements = 64;
};

/// A network. Cheap to copy: copies are the same network; clone() makes another. For one thread at a time.
///
/// Every add_* throws Error with Code::node_bad_type, node_bad_shape, node_bad_attribute, node_bad_arity, …
/// as inference finds it, and Code::bad_argument for tensors of other networks; the diagnostic's node is the
/// layer's name. What a call added before it failed is taken back. Element types are never converted.
class LATHE_API Network {
 public:
  explicit Network(const std::string& name = {});
  std::string name() const;
  void set_name(const std::string& name);
  Network clone() const;

  // ── Inputs, outputs, constants
  // ────────────────────────────────────────────────────────────────────────────
  /// Throws Code::graph_duplicate_name where the name is taken.
  TensorRef add_input(const std::string& name, DataType type, const Sizes& shape);
  /// Any type: "float[N,3]", "seq(float)", "optional(int64[])".
  TensorRef add_input(const std::string& name, std::string_view type);
  /// What an input is when a run is not given it; of its type. Throws node_bad_type, node_bad_shape.
  void set_default(const TensorRef& input, const Tensor& value);
  TensorRef add_constant(const Tensor& t, const std::string& name = {});
  /// The tensor is renamed where a name is given.
  void mark_output(const TensorRef& t, const std::string& name = {});
  void unmark_output(const TensorRef& t);
  /// A tap: engines built from now on tell its value in every run to ExecutionContext::on_tap, under its
  /// name. Outputs are the same bits with and without.
  void mark_debug(const TensorRef& t);
  void unmark_debug(const TensorRef& t);
  bool is_debug_tensor(const TensorRef& t) const;
  std::vector<TensorRef> debug_tensors() const;

  // ── Convolutions and windows: x [N, C, spatial…]
  // ──────────────────────────────────────────────────────────
  /// kernel [M, C / groups, window…], bias [M].
  Layer add_convolution(const TensorRef& x, const TensorRef& kernel, const TensorRef& bias = {},
                        const ConvolutionOptions& o = {});
  /// kernel [C, M / groups, window…], bias [M].
  Layer add_deconvolution(const TensorRef& x, const TensorRef& kernel, const TensorRef& bias = {},
                          const DeconvolutionOptions& o = {});
  /// x flattened to two axes, times the transpose of kernel [M, K], plus bias [M].
  Layer add_fully_connected(const TensorRef& x, const TensorRef& kernel, const TensorRef& bias = {},
                            const FullyConnectedOptions& o = {});
  Layer add_pooling(const TensorRef& x, PoolingType type, const PoolingOptions& o = {});
  Layer add_lrn(const TensorRef& x, const LrnOptions& o = {});

  // ── Element by element: shapes broadcast as NumPy's
  // ───────────────────────────────────────────────────────
  Layer add_activation(const TensorRef& x, ActivationType type, const ActivationOptions& o = {});
  Layer add_unary(const TensorRef& x, UnaryOperation op, const std::string& name = {});
  Layer add_elementwise(const TensorRef& a, const TensorRef& b, ElementWiseOperation op,
                        const std::string& name = {});
  Layer add_scale(const TensorRef& x, const ScaleOptions& o);
  Layer add_parametric_relu(const TensorRef& x, const TensorRef& slope, const std::string& name = {});
  /// Where condition (bool) is true of a, else of b.
  Layer add_select(const TensorRef& condition, const TensorRef& a, const TensorRef& b,
                   const std::string& name = {});
  Layer add_identity(const TensorRef& x, const std::string& name = {});
  Layer add_cast(const TensorRef& x, DataType to, const std::string& name = {});

  // ── Norms
  // ─────────────────────────────────────────────────────────────────────────────────────────────────
  /// (x - mean) / √(variance + epsilon) · scale + bias. Of layer and rms, scale broadcasts to x; of instance
  /// and group it is a list over the channels. rms has no bias.
  Layer add_normalization(const TensorRef& x, const TensorRef& scale, const TensorRef& bias,
                          NormalizationType type, const NormalizationOptions& o = {});
  Layer add_softmax(const TensorRef& x, const SoftmaxOptions& o = {});
  /// Over the first `lengths[…]` elements of each row (the last axis of x), 0 behind them. lengths: int32 or
  /// int64, of x's shape with 1 at the end, or without the last axis.
  Layer add_ragged_softmax(const TensorRef& x, const TensorRef& lengths, const std::string& name = {});

  // ── Products and reductions
  // ───────────────────────────────────────────────────────────────────────────────
  Layer add_matrix_multiply(const TensorRef& a, const TensorRef& b, const MatrixMultiplyOptions& o = {});
  Layer add_einsum(const std::vector<TensorRef>& inputs, const std::string& equation,
                   const std::string& name = {});
  Layer add_reduce(const TensorRef& x, ReduceOperation op, const std::vector<int64_t>& axes,
                   const ReduceOptions& o = {});
  /// Outputs: values and indices.
  Layer add_topk(const TensorRef& x, TopKOperation op, int64_t k, const TopKOptions& o = {});
  Layer add_topk(const TensorRef& x, TopKOperation op, const TensorRef& k, const TopKOptions& o = {});
  Layer add_cumulative(const TensorRef& x, CumulativeOperation op, int64_t axis,
                       const CumulativeOptions& o = {});

  // ── Choosing
  // ──────────────────────────────────────────────────────────────────────────────────────────────
  Layer add_gather(const TensorRef& data, const TensorRef& indices, const GatherOptions& o = {});
  Layer add_scatter(const TensorRef& data, const TensorRef& indices, const TensorRef& updates,
                    const ScatterOptions& o = {});
  /// values: [off, on]; depth: one integer. The new axis is `axis` of the output.
  Layer add_one_hot(const TensorRef& indices, const TensorRef& values, const TensorRef& depth,
                    int64_t axis = -1, const std::string& name = {});
  /// Positions of what is not zero: int64 [rank, count].
  Layer add_non_zero(const TensorRef& x, const std::string& name = {});
  /// boxes [N, boxes, 4], scores [N, classes, boxes], both float32. Outputs: int64 [selected, 3] of batch,
  /// class and box; and their number, int64.
  Layer add_nms(const TensorRef& boxes, const TensorRef& scores, const TensorRef& max_boxes_per_class,
                const NmsOptions& o = {});

  // ── Moving
  // ────────────────────────────────────────────────────────────────────────────────────────────────
  Layer add_shuffle(const TensorRef& x, const ShuffleOptions& o);
  Layer add_transpose(const TensorRef& x, const std::vector<int64_t>& permutation,
                      const std::string& name = {});
  Layer add_reshape(const TensorRef& x, const Sizes& shape, const std::string& name = {});
  /// Elements start[i] + k · stride[i] for k < size[i] of every axis.
  Layer add_slice(const TensorRef& x, const std::vector<int64_t>& start, const std::vector<int64_t>& size,
                  const std::vector<int64_t>& stride, const SliceOptions& o = {});
  /// The same from tensors: int64, one element an axis; stride may be left out.
  Layer add_slice(const TensorRef& x, const TensorRef& start, const TensorRef& size, const TensorRef& stride,
                  const SliceOptions& o = {});
  /// Adds elements before and behind; negative numbers take some away.
  Layer add_padding(const TensorRef& x, const std::vector<int64_t>& pre_padding,
                    const std::vector<int64_t>& post_padding, const PaddingOptions& o = {});
  Layer add_concatenation(const std::vector<TensorRef>& inputs, int64_t axis, const std::string& name = {});
  Layer add_squeeze(const TensorRef& x, const std::vector<int64_t>& axes, const std::string& name = {});
  Layer add_unsqueeze(const TensorRef& x, const std::vector<int64_t>& axes, const std::string& name = {});
  /// x at another size, by broadcasting.
  Layer add_expand(const TensorRef& x, const Sizes& shape, const std::string& name = {});
  /// int64 [rank].
  Layer add_shape(const TensorRef& x, const std::string& name = {});
  /// The sizes as an int64 list: expressions are calculated from the shapes of the network's inputs. Throws
  /// Code::bad_argument for a symbol that no input has.
  Layer add_shape_of(const Sizes& sizes, const std::string& name = {});
  Layer add_resize(const TensorRef& x, const ResizeOptions& o);
  /// x [N, C, spatial…], grid [N, spatial out…, rank] in [-1, 1].
  Layer add_grid_sample(const TensorRef& x, const TensorRef& grid, const GridSampleOptions& o = {});
  Layer add_reverse_sequence(const TensorRef& x, const TensorRef& lengths,
                             const ReverseSequenceOptions& o = {});

  // ── Making
  // ────────────────────────────────────────────────────────────────────────────────────────────────
  Layer add_fill(const Sizes& shape, FillOperation op, const FillOptions& o = {});
  /// shape: int64 [rank], whose length is known.
  Layer add_fill(const TensorRef& shape, FillOperation op, const FillOptions& o = {});

  // ── Few bits
  // ──────────────────────────────────────────────────────────────────────────────────────────────
  Layer add_quantize(const TensorRef& x, const TensorRef& scale, const TensorRef& zero_point = {},
                     const QuantizeOptions& o = {});
  Layer add_dequantize(const TensorRef& x, const TensorRef& scale, const TensorRef& zero_point = {},
                       const DequantizeOptions& o = {});
  /// Outputs: the quantised tensor, and the scales (of x's rank). The size of `axis` is a known multiple of
  /// the block.
  Layer add_dynamic_quantize(const TensorRef& x, const DynamicQuantizeOptions& o = {});

  // ── Attention
  // ─────────────────────────────────────────────────────────────────────────────────────────────
  Layer add_attention(const TensorRef& query, const TensorRef& key, const TensorRef& value,
                      const AttentionOptions& o = {});
  /// cos, sin [positions, size / 2], or with no positions [batch, length, size / 2].
  Layer add_rotary_embedding(const TensorRef& x, const TensorRef& cos, const TensorRef& sin,
                             const RotaryEmbeddingOptions& o = {});
  /// The cache with `update` written from the positions on (int64 [batch]; left out: 0). Writing beyond a
  /// linear cache is an error of the run.
  Layer add_kv_cache_update(const TensorRef& cache, const TensorRef& update, const TensorRef& positions = {},
                            const KvCacheOptions& o = {});

  // ── Control
  // ───────────────────────────────────────────────────────────────────────────────────────────────
  /// x itself, where condition (bool) is true all over; else the run fails with Code::run_bad_index, told the
  /// message as the node's name. Throws Code::bad_argument where the condition is known to be false.
  Layer add_assertion(const TensorRef& x, const TensorRef& condition, const std::string& message);
  /// condition: bool, one element. Both branches give tensors of the same types, in the same order.
  Layer add_if_conditional(const TensorRef& condition, const BranchBuilder& then_branch,
                           const BranchBuilder& else_branch, const std::string& name = {});
  /// Outputs: those that the body declares, in order.
  Layer add_loop(const LoopOptions& o, const std::function<void(LoopBody&)>& body);
  /// An operator of somebody else's domain, from a plug-in (lathe/backend.h) given to the engine's build:
  /// `output_types` as "float[N,3]", since nothing is known of it here.
  Layer add_plugin(const std::string& domain, const std::string& op, const std::vector<TensorRef>& inputs,
                   const std::vector<std::string>& output_types, const OperatorOptions& o = {});
  /// Any ONNX operator in its newest version, bodies too. An undefined input is left out.
  Layer add_operator(const std::string& op, const std::vector<TensorRef>& inputs,
                     const OperatorOptions& o = {});
  /// Not yet: throw Code::not_supported.
  Layer add_moe(const std::vector<TensorRef>& inputs, const std::string& name = {});
  Layer add_dist_collective(const TensorRef& x, const std::string& operation, const std::string& name = {});

  // ── Looking
  // ───────────────────────────────────────────────────────────────────────────────────────────────
  size_t num_inputs() const;
  size_t num_outputs() const;
  size_t num_layers() const;
  TensorRef get_input(size_t i) const;
  TensorRef get_output(size_t i) const;
  Layer get_layer(size_t i) const;
  std::vector<TensorRef> inputs() const;
  std::vector<TensorRef> outputs() const;
  /// In an order in which they can run.
  std::vector<Layer> layers() const;
  /// By id or name; nothing where there is none.
  std::optional<Layer> find_layer(uint32_t id) const;
  std::optional<Layer> find_layer(std::string_view name) const;
  std::optional<TensorRef> find_tensor(std::string_view name) const;
  /// Layers whose names fit a shell pattern ("encoder.*"); that fulfil a condition; that fulfil a query of
  /// terms joined by "&&": FIELD OP VALUE with fields kind, name, op (any of its operators), consumers,
  /// inputs, outputs and operators ==, !=, <, <=, >, >= (texts: == and != only, shell patterns):
  /// "kind == convolution && consumers > 1". Throws Code::text_syntax.
  std::vector<Layer> find(const std::function<bool(const Layer&)>& wanted) const;
  std::vector<Layer> query(std::string_view query) const;
  /// The operators: a line each, JSON, or for Graphviz.
  std::string describe(GraphFormat format = GraphFormat::text) const;
  /// Layers, a line each.
  std::string text() const;

  // ── Editing: each call as a whole, or not at all; types and shapes of everything are found anew
  // ───────────
  /// Every layer that reads `from`, and the network's outputs, read `to`. An output's name stays with it.
  void replace_all_uses(const TensorRef& from, const TensorRef& to);
  /// `layer` reads `t` where it read its input `i`.
  void set_input(const Layer& layer, size_t i, const TensorRef& t);
  /// What `make` makes of input `i` takes its place.
  void insert_before(const Layer& layer, size_t i,
                     const std::function<TensorRef(Network&, const TensorRef&)>& make);
  /// What `make` makes of `t` takes its place wherever it was read until now, as an output too.
  void insert_after(const TensorRef& t, const std::function<TensorRef(Network&, const TensorRef&)>& make);
  /// Throws Code::bad_argument where something reads what it gives.
  void remove(const Layer& layer);
  /// Layers that no output needs; returns how many.
  size_t remove_unused();
  /// Another network: what is needed to get from `inputs` to `outputs`, which keep their names. Inputs of
  /// this network may be needed too.
  Network extract(const std::vector<TensorRef>& inputs, const std::vector<TensorRef>& outputs) const;
  /// Runs `change`; where it throws the network is as it was before, and the error goes on.
  void transaction(const std::function<void(Network&)>& change);

  // ── Keeping
  // ───────────────────────────────────────────────────────────────────────────────────────────────
  /// At the lowest opset and IR version that can say it, or at the opset asked for (node_cannot_convert).
  onnx::Model to_model(int opset = 0) const;
  void save(const std::filesystem::path& path, const onnx::SaveOptions& options = {}) const;
  /// C++ source of a function that makes this network, with its names and bits: by the calls that made layers,
  /// and add_operator for what no call made (a model that was read). Throws file_write_failed.
  std::string cpp(const CppOptions& options = {}) const;

 private:
  friend struct NetworkAccess;
  struct Nothing {};
  explicit Network(Nothing) {}
  std::shared_ptr<NetworkState> state_;
  uint32_t scope_ = 0;
};

/// Network::transaction for those who cannot put the change into a function: what is done to the network
/// while this lives is taken back when it goes, unless it was committed. Throws Code::bad_argument inside the
/// function that fills a body.
class LATHE_API Transaction {
 public:
  explicit Transaction(const Network& network);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  /// Inside the function that fills a body the changes stay: nothing is pulled from under that call.
  ~Transaction();
  void commit();
  /// Throws Code::bad_argument inside the function that fills a body.
  void roll_back();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class LATHE_API LoopBody {
 public:
  /// What layers of the body are added to.
  Network& network() { return network_; }
  /// The number of the iteration from 0 on, int64 []. Not of a loop without limit and condition
  /// (Code::bad_argument).
  TensorRef iteration() const;
  /// A value carried from one iteration to the next, and where it starts.
  TensorRef add_recurrence(const TensorRef& initial);
  /// What the recurrence is in the next iteration; once for each.
  void set_next(const TensorRef& recurrence, const TensorRef& next);
  /// Slice number iteration() of x along `axis`, or from the end on; without that axis.
  TensorRef add_iterator(const TensorRef& x, int64_t axis = 0, bool reverse = false);
  /// Goes on while true (bool, one element).
  void set_condition(const TensorRef& condition);
  /// last_value: `t` is a recurrence. Else any tensor of the body.
  void add_output(const TensorRef& t, LoopOutput kind, int64_t axis = 0);

 private:
  friend struct LoopAccess;
  struct Parts;
  LoopBody(Network network, Parts& parts) : network_(std::move(network)), parts_(parts) {}
  Network network_;
  Parts& parts_;
};

}  // namespace lathe
