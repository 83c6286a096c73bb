// The layers that models consist of. Parameters have PyTorch's names, shapes and layouts, so that a path in a
// published checkpoint is the path here. They are float32 unless Module::to() says otherwise; inputs of a
// layer have the type of its parameters. A layer that is default-constructed has no parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/nn/module.h"
#include "lathe/nn/ops.h"

namespace lathe::nn {

/// Options of Linear.
struct LinearOptions {
  bool bias = true;  // adds a bias
  /// Makes the weight [in, out] instead of [out, in]: the Conv1D of GPT-2.
  bool transposed = false;
};
/// Computes x · weightᵀ + bias: x [..., in] → [..., out]; weight [out, in], bias [out]. The weight is
/// transposed in the network, not in memory, so that files are written from the checkpoint's own bytes;
/// engines fold it. PyTorch: Linear.
class LATHE_API Linear : public Module {
 public:
  /// Makes one without parameters.
  Linear() = default;
  /// Makes the parameters.
  Linear(int64_t in, int64_t out, const LinearOptions& o = {});
  void fields(Fields& f) override { f("weight", weight), f("bias", bias); }
  /// Appends the layer; returns [..., out].
  TensorRef operator()(const TensorRef& x) const;
  /// Returns whether the weight is [in, out].
  bool transposed() const { return transposed_; }
  Parameter weight, bias;  // as described above

 private:
  bool transposed_ = false;
};

/// Low-rank adaptation of a Linear (Hu et al. 2021): base(x) + scale · lora_B(lora_A(x)), with lora_A.weight
/// [rank, in] and lora_B.weight [out, rank]. A `scale` of 0 emits the base alone, so that the outputs are its
/// bits.
class LATHE_API Lora : public Module {
 public:
  /// Makes one without parameters.
  Lora() = default;
  /// Makes an adaptation in the place of `base`, whose parameters it shares; the scale is `alpha` / rank.
  /// Throws bad_argument for a rank below 1.
  Lora(const Linear& base, int64_t rank, double alpha);
  void fields(Fields& f) override { f("base_layer", base_layer), f("lora_A", lora_A), f("lora_B", lora_B); }
  /// Appends the layer; returns [..., out].
  TensorRef operator()(const TensorRef& x) const;
  /// Returns the base's weight with the adaptation added, of its type and layout, for an engine that is
  /// refitted. Throws bad_argument where one of the three is not bound.
  Tensor merged_weight() const;
  Linear base_layer, lora_A, lora_B;  // as described above
  double scale = 1;                   // factor of the adaptation
};

/// Looks up rows of weight [count, size] by integer indices of any shape (with a Cast where Gather does not
/// take their type). PyTorch: Embedding.
class LATHE_API Embedding : public Module {
 public:
  /// Makes one without parameters.
  Embedding() = default;
  /// Makes the parameter.
  Embedding(int64_t count, int64_t size);
  void fields(Fields& f) override { f("weight", weight); }
  /// Appends the layer; returns [indices…, size].
  TensorRef operator()(const TensorRef& indices) const;
  Parameter weight;  // [count, size]
};

/// Options of LayerNorm.
struct LayerNormOptions {
  double epsilon = 1e-5;  // added to the variance
  bool bias = true;       // adds a bias
};
/// Layer normalization (Ba et al. 2016) over the last axes, whose sizes are `shape`; weight and bias have
/// that shape. PyTorch: LayerNorm.
class LATHE_API LayerNorm : public Module {
 public:
  /// Makes one without parameters.
  LayerNorm() = default;
  /// Makes the parameters for one axis, or for several.
  explicit LayerNorm(int64_t size, const LayerNormOptions& o = {}) : LayerNorm(std::vector{size}, o) {}
  explicit LayerNorm(const std::vector<int64_t>& shape, const LayerNormOptions& o = {});
  void fields(Fields& f) override { f("weight", weight), f("bias", bias); }
  /// Appends the layer; returns x's shape.
  TensorRef operator()(const TensorRef& x) const;
  Parameter weight, bias;  // weight and bias, of the normalized shape

 private:
  LayerNormOptions options_;
};

/// Options of RmsNorm.
struct RmsNormOptions {
  double epsilon = 1e-6;  // added to the mean square
  /// Adds 1 to the weight, as Gemma does.
  bool plus_one = false;
};
/// Computes x / √(mean(x²) + epsilon) · weight over the last axis (Zhang and Sennrich 2019), in float32 for
/// float16 and bfloat16; weight [size].
class LATHE_API RmsNorm : public Module {
 public:
  /// Makes one without parameters.
  RmsNorm() = default;
  /// Makes the parameter.
  explicit RmsNorm(int64_t size, const RmsNormOptions& o = {});
  void fields(Fields& f) override { f("weight", weight); }
  /// Appends the layer; returns x's shape.
  TensorRef operator()(const TensorRef& x) const;
  Parameter weight;  // [size]

 private:
  RmsNormOptions options_;
};

/// Options of GroupNorm.
struct GroupNormOptions {
  double epsilon = 1e-5;  // added to the variance
  bool affine = true;     // has weight and bias
};
/// Group normalization (Wu and He 2018) of x [N, channels, spatial…] with at least one spatial axis; weight
/// and bias [channels]. PyTorch: GroupNorm.
class LATHE_API GroupNorm : public Module {
 public:
  /// Makes one without parameters.
  GroupNorm() = default;
  /// Makes the parameters. Throws bad_argument where the groups do not divide the channels.
  GroupNorm(int64_t groups, int64_t channels, const GroupNormOptions& o = {});
  void fields(Fields& f) override { f("weight", weight), f("bias", bias); }
  /// Appends the layer; returns x's shape.
  TensorRef operator()(const TensorRef& x) const;
  Parameter weight, bias;  // [channels]

 private:
  int64_t groups_ = 1;
  GroupNormOptions options_;
};

/// Options of BatchNorm.
struct BatchNormOptions {
  double epsilon = 1e-5;  // added to the variance
  bool affine = true;     // has weight and bias
};
/// Batch normalization (Ioffe and Szegedy 2015) of x [N, channels, …] by the running statistics; weight,
/// bias, running_mean, running_var [channels]. PyTorch: BatchNorm1d, 2d, 3d.
class LATHE_API BatchNorm : public Module {
 public:
  /// Makes one without parameters.
  BatchNorm() = default;
  /// Makes the parameters.
  explicit BatchNorm(int64_t channels, const BatchNormOptions& o = {});
  void fields(Fields& f) override {
    f("weight", weight), f("bias", bias), f("running_mean", running_mean), f("running_var", running_var);
  }
  /// Appends the layer; returns x's shape.
  TensorRef operator()(const TensorRef& x) const;
  Parameter weight, bias, running_mean, running_var;  // [channels]

 private:
  BatchNormOptions options_;
};

/// Options of Conv. Lists have one number for every spatial axis, or one number for all of them.
struct ConvOptions {
  std::vector<int64_t> stride = {1}, padding = {0}, dilation = {1};  // padding is on both sides
  int64_t groups = 1;                                                // divides the channels
  bool bias = true;                                                  // adds a bias
};
/// Convolution: x [N, in, spatial…] → [N, out, spatial…]; weight [out, in / groups, window…], bias [out].
/// PyTorch: Conv1d, 2d, 3d.
template <size_t Axes>
class LATHE_API Conv : public Module {
 public:
  /// Makes one without parameters.
  Conv() = default;
  /// Makes the parameters; `window` has one number for every spatial axis, or one for all of them. Throws
  /// bad_argument where the groups do not divide the channels or lists have another length.
  Conv(int64_t in, int64_t out, const std::vector<int64_t>& window, const ConvOptions& o = {});
  void fields(Fields& f) override { f("weight", weight), f("bias", bias); }
  /// Appends the layer; returns [N, out, spatial…].
  TensorRef operator()(const TensorRef& x) const;
  Parameter weight, bias;  // as described above

 private:
  ConvOptions options_;
};
/// A convolution with one spatial axis.
using Conv1d = Conv<1>;
/// A convolution with two spatial axes.
using Conv2d = Conv<2>;
/// A convolution with three spatial axes.
using Conv3d = Conv<3>;

/// Options of ConvTranspose2d; lists are as in ConvOptions.
struct ConvTransposeOptions {
  /// The lists are as in ConvOptions.
  std::vector<int64_t> stride = {1}, padding = {0}, output_padding = {0}, dilation = {1};
  int64_t groups = 1;  // divides the channels
  bool bias = true;    // adds a bias
};
/// Transposed convolution of x [N, in, H, W]; weight [in, out / groups, h, w], bias [out]. PyTorch:
/// ConvTranspose2d.
class LATHE_API ConvTranspose2d : public Module {
 public:
  /// Makes one without parameters.
  ConvTranspose2d() = default;
  /// Makes the parameters. Throws bad_argument as Conv does.
  ConvTranspose2d(int64_t in, int64_t out, const std::vector<int64_t>& window,
                  const ConvTransposeOptions& o = {});
  void fields(Fields& f) override { f("weight", weight), f("bias", bias); }
  /// Appends the layer; returns [N, out, spatial…].
  TensorRef operator()(const TensorRef& x) const;
  Parameter weight, bias;  // as described above

 private:
  ConvTransposeOptions options_;
};

/// Options of MaxPool and AvgPool; lists are as in ConvOptions.
struct PoolOptions {
  std::vector<int64_t> stride = {};                    // steps; empty: the window
  std::vector<int64_t> padding = {0}, dilation = {1};  // padding is on both sides
  bool round_up = false;                               // sizes of the output
  bool count_padding = true;  // averages divide by the window's size at the edges, too
};
/// Maxima over windows of the spatial axes of x [N, C, spatial…], any number of them. PyTorch: MaxPool1d, 2d,
/// 3d.
class LATHE_API MaxPool : public Module {
 public:
  /// Makes the layer; lists are checked when it is called.
  explicit MaxPool(std::vector<int64_t> window = {2}, PoolOptions o = {})
      : window_(std::move(window)), options_(std::move(o)) {}
  void fields(Fields&) override {}
  /// Appends the layer. Throws bad_argument for lists of another length than there are spatial axes.
  TensorRef operator()(const TensorRef& x) const;

 private:
  std::vector<int64_t> window_;
  PoolOptions options_;
};
/// Averages over windows of the spatial axes of x [N, C, spatial…], any number of them. PyTorch: AvgPool1d,
/// 2d, 3d.
class LATHE_API AvgPool : public Module {
 public:
  /// Makes the layer; lists are checked when it is called.
  explicit AvgPool(std::vector<int64_t> window = {2}, PoolOptions o = {})
      : window_(std::move(window)), options_(std::move(o)) {}
  void fields(Fields&) override {}
  /// Appends the layer. Throws as MaxPool's does.
  TensorRef operator()(const TensorRef& x) const;

 private:
  std::vector<int64_t> window_;
  PoolOptions options_;
};
/// Averages of whole channels: x [N, C, spatial…] → [N, C, 1…].
class LATHE_API GlobalAvgPool : public Module {
 public:
  void fields(Fields&) override {}
  /// Appends the layer.
  TensorRef operator()(const TensorRef& x) const;
};

/// An activation by the name of a configuration (see activate()).
class LATHE_API Activation : public Module {
 public:
  /// Makes the layer. Throws bad_argument for an unknown name, with similar names.
  explicit Activation(std::string name = "relu");
  void fields(Fields&) override {}
  /// Appends the layer; returns x's shape.
  TensorRef operator()(const TensorRef& x) const;
  /// Returns the name.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// Converts the element type, as ONNX's Cast does.
class LATHE_API Cast : public Module {
 public:
  /// Makes the layer.
  explicit Cast(DataType to = DataType::float32) : to_(to) {}
  void fields(Fields&) override {}
  /// Appends the layer; returns x itself where it has that type.
  TensorRef operator()(const TensorRef& x) const;

 private:
  DataType to_;
};

/// Options of Mlp.
struct MlpOptions {
  std::string activation = "gelu";  // as for activate()
  bool bias = true;                 // biases of both Linears
};
/// Computes fc2(activation(fc1(x))): x [..., size] → [..., size].
class LATHE_API Mlp : public Module {
 public:
  /// Makes one without parameters.
  Mlp() = default;
  /// Makes the parameters; fc1 is size → inner, fc2 inner → size. Throws as Activation does.
  Mlp(int64_t size, int64_t inner, const MlpOptions& o = {});
  void fields(Fields& f) override { f("fc1", fc1), f("fc2", fc2); }
  /// Appends the layer.
  TensorRef operator()(const TensorRef& x) const;
  Linear fc1, fc2;  // as described above

 private:
  Activation activation_;
};

/// Options of GatedMlp.
struct GatedMlpOptions {
  std::string activation = "silu";  // as for activate()
  bool bias = false;                // biases of all three Linears
};
/// Computes down_proj(activation(gate_proj(x)) · up_proj(x)), as Llama and its relatives do (Shazeer 2020).
class LATHE_API GatedMlp : public Module {
 public:
  /// Makes one without parameters.
  GatedMlp() = default;
  /// Makes the parameters; `inner` is the size between the projections. Throws as Activation does.
  GatedMlp(int64_t size, int64_t inner, const GatedMlpOptions& o = {});
  void fields(Fields& f) override {
    f("gate_proj", gate_proj), f("up_proj", up_proj), f("down_proj", down_proj);
  }
  /// Appends the layer; returns x's shape.
  TensorRef operator()(const TensorRef& x) const;
  Linear gate_proj, up_proj, down_proj;  // as described above

 private:
  Activation activation_;
};

/// Options of Lstm and Gru, as PyTorch has them.
struct RecurrentOptions {
  int64_t layers = 1;  // layers on top of each other
  /// Whether there are biases; whether x is [batch, length, in]; whether it runs in both directions.
  bool bias = true, batch_first = false, bidirectional = false;
};
/// The outputs of PyTorch's LSTM and GRU: `output` [length, batch, directions · hidden] ([batch, length, …]
/// with batch_first), the last states [layers · directions, batch, hidden] and, for an LSTM, cells of that
/// shape.
struct RecurrentResult {
  TensorRef output, hidden, cell;  // as described above
};
/// The common part of Lstm and Gru. x is [length, batch, in] or, with batch_first, [batch, length, in].
/// weight_ih_l0 [gates · hidden, in], weight_hh_l0 [gates · hidden, hidden], bias_ih_l0 and bias_hh_l0 [gates
/// · hidden], …_l0_reverse, …_l1, …. PyTorch's order of the gates is kept; the network reorders them for
/// ONNX.
class LATHE_API Recurrent : public Module {
 public:
  void fields(Fields& f) override;
  /// Appends the layers; `hidden` and `cell` are first states, of the shape of the last ones; left out: 0.
  RecurrentResult operator()(const TensorRef& x, const TensorRef& hidden = {},
                             const TensorRef& cell = {}) const;
  /// The parameters of one layer in one direction.
  struct Direction {
    Parameter weight_ih, weight_hh, bias_ih, bias_hh;  // as described above
  };
  /// The parameters of layer l and direction d, at [l · directions + d].
  std::vector<Direction> weights;

 protected:
  enum class Kind : uint8_t { lstm, gru };
  Recurrent() = default;
  Recurrent(Kind kind, int64_t in, int64_t hidden, const RecurrentOptions& o);

 private:
  Kind kind_ = Kind::lstm;
  int64_t hidden_ = 0;
  RecurrentOptions options_;
};
/// Long short-term memory (Hochreiter and Schmidhuber 1997). PyTorch: LSTM.
class LATHE_API Lstm : public Recurrent {
 public:
  /// Makes one without parameters.
  Lstm() = default;
  /// Makes the parameters.
  Lstm(int64_t in, int64_t hidden, const RecurrentOptions& o = {}) : Recurrent(Kind::lstm, in, hidden, o) {}
};
/// Gated recurrent unit (Cho et al. 2014). PyTorch: GRU.
class LATHE_API Gru : public Recurrent {
 public:
  /// Makes one of size 0.
  Gru() : Gru(0, 0) {}
  /// Makes the parameters.
  Gru(int64_t in, int64_t hidden, const RecurrentOptions& o = {}) : Recurrent(Kind::gru, in, hidden, o) {}
};

}  // namespace lathe::nn
