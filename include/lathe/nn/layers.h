// The layers that models are made of. Parameters have PyTorch's names, shapes and layouts, so that a path in
// a published checkpoint is the path here. Parameters are float32 unless Module::to() says otherwise; what
// a layer is called with has the type of its parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/nn/module.h"
#include "lathe/nn/ops.h"

namespace lathe::nn {

struct LinearOptions {
  bool bias = true;
  /// weight is [in, out] and not [out, in]: the Conv1D of GPT-2.
  bool transposed = false;
};
/// x [..., in] → [..., out]. weight [out, in], bias [out]. The weight is turned in the network, not in
/// memory, so that files are written from the checkpoint's own bytes; engines fold it.
class LATHE_API Linear : public Module {
 public:
  Linear() = default;
  Linear(int64_t in, int64_t out, const LinearOptions& o = {});
  void fields(Fields& f) override { f("weight", weight), f("bias", bias); }
  TensorRef operator()(const TensorRef& x) const;
  bool transposed() const { return transposed_; }
  Parameter weight, bias;

 private:
  bool transposed_ = false;
};

/// Low-rank adaptation of a Linear (Hu et al. 2021): base(x) + scale · lora_B(lora_A(x)). lora_A.weight
/// [rank, in], lora_B.weight [out, rank]. `scale` 0 emits the base alone, so that what comes out are its
/// bits.
class LATHE_API Lora : public Module {
 public:
  Lora() = default;
  /// Takes the place of `base`, whose parameters it shares. `alpha` / rank is the scale.
  Lora(const Linear& base, int64_t rank, double alpha);
  void fields(Fields& f) override { f("base_layer", base_layer), f("lora_A", lora_A), f("lora_B", lora_B); }
  TensorRef operator()(const TensorRef& x) const;
  /// The base's weight with the adaptation added, of its type and layout, for an engine that is refitted.
  /// Throws bad_argument where one of the three is not bound.
  Tensor merged_weight() const;
  Linear base_layer, lora_A, lora_B;
  double scale = 1;
};

/// Rows of weight [count, size]; indices of any shape, of whole numbers (a Cast where Gather takes none of
/// their type).
class LATHE_API Embedding : public Module {
 public:
  Embedding() = default;
  Embedding(int64_t count, int64_t size);
  void fields(Fields& f) override { f("weight", weight); }
  TensorRef operator()(const TensorRef& indices) const;
  Parameter weight;
};

struct LayerNormOptions {
  double epsilon = 1e-5;
  bool bias = true;
};
/// Over the last axes, whose sizes are `shape`. weight, bias: of that shape.
class LATHE_API LayerNorm : public Module {
 public:
  LayerNorm() = default;
  explicit LayerNorm(int64_t size, const LayerNormOptions& o = {}) : LayerNorm(std::vector{size}, o) {}
  explicit LayerNorm(const std::vector<int64_t>& shape, const LayerNormOptions& o = {});
  void fields(Fields& f) override { f("weight", weight), f("bias", bias); }
  TensorRef operator()(const TensorRef& x) const;
  Parameter weight, bias;

 private:
  LayerNormOptions options_;
};

struct RmsNormOptions {
  double epsilon = 1e-6;
  /// weight is added to 1, as Gemma's is.
  bool plus_one = false;
};
/// x / √(mean(x²) + epsilon) · weight, over the last axis; in float32 where x is narrower. weight [size].
class LATHE_API RmsNorm : public Module {
 public:
  RmsNorm() = default;
  explicit RmsNorm(int64_t size, const RmsNormOptions& o = {});
  void fields(Fields& f) override { f("weight", weight); }
  TensorRef operator()(const TensorRef& x) const;
  Parameter weight;

 private:
  RmsNormOptions options_;
};

struct GroupNormOptions {
  double epsilon = 1e-5;
  bool affine = true;
};
/// x [N, channels, spatial…], at least one spatial axis. weight, bias [channels].
class LATHE_API GroupNorm : public Module {
 public:
  GroupNorm() = default;
  GroupNorm(int64_t groups, int64_t channels, const GroupNormOptions& o = {});
  void fields(Fields& f) override { f("weight", weight), f("bias", bias); }
  TensorRef operator()(const TensorRef& x) const;
  Parameter weight, bias;

 private:
  int64_t groups_ = 1;
  GroupNormOptions options_;
};

struct BatchNormOptions {
  double epsilon = 1e-5;
  bool affine = true;
};
/// x [N, channels, …], by the running statistics. weight, bias, running_mean, running_var [channels].
class LATHE_API BatchNorm : public Module {
 public:
  BatchNorm() = default;
  explicit BatchNorm(int64_t channels, const BatchNormOptions& o = {});
  void fields(Fields& f) override {
    f("weight", weight), f("bias", bias), f("running_mean", running_mean), f("running_var", running_var);
  }
  TensorRef operator()(const TensorRef& x) const;
  Parameter weight, bias, running_mean, running_var;

 private:
  BatchNormOptions options_;
};

/// Lists have one number for every spatial axis, or one number for all of them.
struct ConvOptions {
  std::vector<int64_t> stride = {1}, padding = {0}, dilation = {1};
  int64_t groups = 1;
  bool bias = true;
};
/// x [N, in, spatial…] → [N, out, spatial…]. weight [out, in / groups, window…], bias [out].
template <size_t Axes>
class LATHE_API Conv : public Module {
 public:
  Conv() = default;
  /// `window`: one number for every spatial axis, or one for all of them.
  Conv(int64_t in, int64_t out, const std::vector<int64_t>& window, const ConvOptions& o = {});
  void fields(Fields& f) override { f("weight", weight), f("bias", bias); }
  TensorRef operator()(const TensorRef& x) const;
  Parameter weight, bias;

 private:
  ConvOptions options_;
};
using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

struct ConvTransposeOptions {
  std::vector<int64_t> stride = {1}, padding = {0}, output_padding = {0}, dilation = {1};
  int64_t groups = 1;
  bool bias = true;
};
/// x [N, in, H, W]. weight [in, out / groups, h, w], bias [out].
class LATHE_API ConvTranspose2d : public Module {
 public:
  ConvTranspose2d() = default;
  ConvTranspose2d(int64_t in, int64_t out, const std::vector<int64_t>& window,
                  const ConvTransposeOptions& o = {});
  void fields(Fields& f) override { f("weight", weight), f("bias", bias); }
  TensorRef operator()(const TensorRef& x) const;
  Parameter weight, bias;

 private:
  ConvTransposeOptions options_;
};

struct PoolOptions {
  std::vector<int64_t> stride = {};  // empty: the window
  std::vector<int64_t> padding = {0}, dilation = {1};
  bool round_up = false;
  bool count_padding = true;  // averages: divide by the window's size at the edges too
};
/// Over windows of the spatial axes of x [N, C, spatial…]; any number of axes.
class LATHE_API MaxPool : public Module {
 public:
  explicit MaxPool(std::vector<int64_t> window = {2}, PoolOptions o = {})
      : window_(std::move(window)), options_(std::move(o)) {}
  void fields(Fields&) override {}
  TensorRef operator()(const TensorRef& x) const;

 private:
  std::vector<int64_t> window_;
  PoolOptions options_;
};
class LATHE_API AvgPool : public Module {
 public:
  explicit AvgPool(std::vector<int64_t> window = {2}, PoolOptions o = {})
      : window_(std::move(window)), options_(std::move(o)) {}
  void fields(Fields&) override {}
  TensorRef operator()(const TensorRef& x) const;

 private:
  std::vector<int64_t> window_;
  PoolOptions options_;
};
/// The average of each channel, its spatial axes of size 1.
class LATHE_API GlobalAvgPool : public Module {
 public:
  void fields(Fields&) override {}
  TensorRef operator()(const TensorRef& x) const;
};

/// An activation by the name of a configuration (see activate()).
class LATHE_API Activation : public Module {
 public:
  /// Throws bad_argument for a name that is not known, with names that are near.
  explicit Activation(std::string name = "relu");
  void fields(Fields&) override {}
  TensorRef operator()(const TensorRef& x) const;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

class LATHE_API Cast : public Module {
 public:
  explicit Cast(DataType to = DataType::float32) : to_(to) {}
  void fields(Fields&) override {}
  TensorRef operator()(const TensorRef& x) const;

 private:
  DataType to_;
};

struct MlpOptions {
  std::string activation = "gelu";
  bool bias = true;
};
/// fc2(activation(fc1(x))).
class LATHE_API Mlp : public Module {
 public:
  Mlp() = default;
  Mlp(int64_t size, int64_t inner, const MlpOptions& o = {});
  void fields(Fields& f) override { f("fc1", fc1), f("fc2", fc2); }
  TensorRef operator()(const TensorRef& x) const;
  Linear fc1, fc2;

 private:
  Activation activation_;
};

struct GatedMlpOptions {
  std::string activation = "silu";
  bool bias = false;
};
/// down_proj(activation(gate_proj(x)) · up_proj(x)), as Llama and its kin have it.
class LATHE_API GatedMlp : public Module {
 public:
  GatedMlp() = default;
  GatedMlp(int64_t size, int64_t inner, const GatedMlpOptions& o = {});
  void fields(Fields& f) override {
    f("gate_proj", gate_proj), f("up_proj", up_proj), f("down_proj", down_proj);
  }
  TensorRef operator()(const TensorRef& x) const;
  Linear gate_proj, up_proj, down_proj;

 private:
  Activation activation_;
};

struct RecurrentOptions {
  int64_t layers = 1;
  bool bias = true, batch_first = false, bidirectional = false;
};
/// What PyTorch's LSTM and GRU give: `output` [length, batch, directions · hidden] ([batch, length, …] with
/// batch_first), the last states [layers · directions, batch, hidden] and, of an LSTM, cells of that shape.
struct RecurrentResult {
  TensorRef output, hidden, cell;
};
/// x [length, batch, in] or, with batch_first, [batch, length, in]. weight_ih_l0 [gates · hidden, in],
/// weight_hh_l0 [gates · hidden, hidden], bias_ih_l0, bias_hh_l0 [gates · hidden], …_l0_reverse, …_l1, ….
/// PyTorch's order of the gates is kept; the network puts them into ONNX's.
class LATHE_API Recurrent : public Module {
 public:
  void fields(Fields& f) override;
  /// First states as the last ones are returned; left out: 0.
  RecurrentResult operator()(const TensorRef& x, const TensorRef& hidden = {},
                             const TensorRef& cell = {}) const;
  struct Direction {
    Parameter weight_ih, weight_hh, bias_ih, bias_hh;
  };
  /// Of layer l and direction d: [l · directions + d].
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
class LATHE_API Lstm : public Recurrent {
 public:
  Lstm() = default;
  Lstm(int64_t in, int64_t hidden, const RecurrentOptions& o = {}) : Recurrent(Kind::lstm, in, hidden, o) {}
};
class LATHE_API Gru : public Recurrent {
 public:
  Gru() : Gru(0, 0) {}
  Gru(int64_t in, int64_t hidden, const RecurrentOptions& o = {}) : Recurrent(Kind::gru, in, hidden, o) {}
};

}  // namespace lathe::nn
