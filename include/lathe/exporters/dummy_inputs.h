// Inputs made up for a model: valid ones, of the sizes asked for, the same on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/exporters/normalized_config.h"
#include "lathe/exporters/ordered.h"
#include "lathe/tensor.h"

namespace lathe::exporters {

enum class PaddingSide : uint8_t { left, right };

/// Sizes of made-up inputs, where the configuration does not say them.
struct DummyShapes {
  int64_t batch_size = 2;
  int64_t sequence_length = 16;
  int64_t num_choices = 4;
  int64_t width = 64, height = 64, num_channels = 3;
  int64_t point_batch_size = 3, nb_points_per_image = 2;
  int64_t visual_seq_length = 16;
  int64_t feature_size = 80, nb_max_frames = 3000;  // audio as features
  int64_t audio_sequence_length = 16000;            // audio as a wave
  /// Nothing: as sequence_length.
  std::optional<int64_t> encoder_sequence_length = {}, past_sequence_length = {};
  PaddingSide padding_side = PaddingSide::right;
  uint64_t seed = 0;
};

/// A tensor, or of "past_key_values" those of every layer: key and value, or those of the decoder and of the
/// encoder.
struct DummyInput {
  DummyInput() = default;
  DummyInput(Tensor t) : tensor(std::move(t)) {}
  Tensor tensor;
  std::vector<std::vector<Tensor>> layers = {};
};
using DummyInputs = Ordered<DummyInput>;

/// Makes inputs of some names. Derive from it for names that no kind below knows. Not thread-safe.
class LATHE_API DummyInputGenerator {
 public:
  DummyInputGenerator(std::string task, NormalizedConfig config, const DummyShapes& shapes);
  virtual ~DummyInputGenerator();

  /// Beginnings of names.
  virtual std::vector<std::string> supported_input_names() const = 0;
  bool supports_input(std::string_view name) const;
  /// `int_type` is int64, int32 or int8, `float_type` float32, float16 or bfloat16. Throws Code::bad_argument
  /// where the configuration lacks a size.
  virtual DummyInput generate(const std::string& name, DataType int_type, DataType float_type) = 0;

  /// Of the lengths of sequences: what generate() goes by from now on.
  void set_sequence_length(int64_t n) { shapes_.sequence_length = n; }
  const DummyShapes& shapes() const { return shapes_; }

  /// In [low, high).
  Tensor random_int_tensor(const Shape& shape, int64_t high, int64_t low, DataType type);
  /// Ones, and on one side of the last axis zeros: at least one of each where there is room.
  Tensor random_mask_tensor(const Shape& shape, DataType type);
  /// In [low, high).
  Tensor random_float_tensor(const Shape& shape, double low, double high, DataType type);
  static Tensor constant_tensor(const Shape& shape, double value, DataType type);
  /// Of one type, and of equal sizes but for `axis`.
  static Tensor concat_inputs(const std::vector<Tensor>& inputs, size_t axis);
  /// `value` behind the elements of `axis` until it is `length` long.
  static Tensor pad_input_on_dim(const Tensor& t, size_t axis, int64_t length, double value = 1);

 protected:
  uint64_t draw();
  const std::string task_;
  const NormalizedConfig config_;
  DummyShapes shapes_;

 private:
  uint64_t state_;
};

using DummyInputGeneratorClass = std::function<std::unique_ptr<DummyInputGenerator>(
    const std::string& task, const NormalizedConfig& config, const DummyShapes& shapes)>;
template <class G>
DummyInputGeneratorClass generator_class() {
  return [](const std::string& task, const NormalizedConfig& config, const DummyShapes& shapes) {
    return std::make_unique<G>(task, config, shapes);
  };
}

/// input_ids, attention_mask, token_type_ids, position_ids, … [batch, sequence], for the task multiple-choice
/// [batch, choices, sequence].
class LATHE_API DummyTextInputGenerator : public DummyInputGenerator {
 public:
  using DummyInputGenerator::DummyInputGenerator;
  std::vector<std::string> supported_input_names() const override;
  DummyInput generate(const std::string& name, DataType int_type, DataType float_type) override;
};
/// For the task text-classification every row of input_ids has the end of a text somewhere.
class LATHE_API BartDummyTextInputGenerator : public DummyTextInputGenerator {
 public:
  using DummyTextInputGenerator::DummyTextInputGenerator;
  DummyInput generate(const std::string& name, DataType int_type, DataType float_type) override;
};
/// decoder_input_ids, decoder_attention_mask.
class LATHE_API DummyDecoderTextInputGenerator : public DummyTextInputGenerator {
 public:
  using DummyTextInputGenerator::DummyTextInputGenerator;
  std::vector<std::string> supported_input_names() const override;
};
/// And encoder_outputs, encoder_hidden_states [batch, encoder sequence, hidden].
class LATHE_API DummySeq2SeqDecoderTextInputGenerator : public DummyDecoderTextInputGenerator {
 public:
  using DummyDecoderTextInputGenerator::DummyDecoderTextInputGenerator;
  std::vector<std::string> supported_input_names() const override;
  DummyInput generate(const std::string& name, DataType int_type, DataType float_type) override;
};
/// past_key_values: of every layer two [batch, heads, past, size of a head].
class LATHE_API DummyPastKeyValuesGenerator : public DummyInputGenerator {
 public:
  using DummyInputGenerator::DummyInputGenerator;
  std::vector<std::string> supported_input_names() const override;
  DummyInput generate(const std::string& name, DataType int_type, DataType float_type) override;

 protected:
  virtual int64_t heads() const;
  virtual int64_t head_size() const;
};
/// The same for heads that share keys and values: num_key_value_heads, and head_dim where it is said.
class LATHE_API MistralDummyPastKeyValuesGenerator : public DummyPastKeyValuesGenerator {
 public:
  using DummyPastKeyValuesGenerator::DummyPastKeyValuesGenerator;

 protected:
  int64_t heads() const override;
  int64_t head_size() const override;
};
/// past_key_values of a decoder with an encoder: of every layer key and value of the decoder, then of the
/// encoder; cache_position [1].
class LATHE_API DummySeq2SeqPastKeyValuesGenerator : public DummyInputGenerator {
 public:
  using DummyInputGenerator::DummyInputGenerator;
  std::vector<std::string> supported_input_names() const override;
  DummyInput generate(const std::string& name, DataType int_type, DataType float_type) override;

 protected:
  /// The sizes of the decoder's half of the keys.
  virtual const NormalizedConfig& decoder() const;
  virtual int64_t layers() const;
  virtual int64_t head_size(int64_t heads) const;
};
/// Heads of a size of their own: key_value_dim.
class LATHE_API T5DummySeq2SeqPastKeyValuesGenerator : public DummySeq2SeqPastKeyValuesGenerator {
 public:
  using DummySeq2SeqPastKeyValuesGenerator::DummySeq2SeqPastKeyValuesGenerator;

 protected:
  int64_t head_size(int64_t heads) const override;
};
/// Where the decoder comes with no encoder of its own kind, layers have two tensors.
class LATHE_API DummyVisionEncoderDecoderPastKeyValuesGenerator : public DummySeq2SeqPastKeyValuesGenerator {
 public:
  using DummySeq2SeqPastKeyValuesGenerator::DummySeq2SeqPastKeyValuesGenerator;
  DummyInput generate(const std::string& name, DataType int_type, DataType float_type) override;
};
/// bbox [batch, sequence, 4].
class LATHE_API DummyBboxInputGenerator : public DummyInputGenerator {
 public:
  using DummyInputGenerator::DummyInputGenerator;
  std::vector<std::string> supported_input_names() const override;
  DummyInput generate(const std::string& name, DataType int_type, DataType float_type) override;
};
/// pixel_values [batch, channels, height, width] and what goes with them.
class LATHE_API DummyVisionInputGenerator : public DummyInputGenerator {
 public:
  DummyVisionInputGenerator(std::string task, NormalizedConfig config, const DummyShapes& shapes);
  std::vector<std::string> supported_input_names() const override;
  DummyInput generate(const std::string& name, DataType int_type, DataType float_type) override;
};
/// input_values [batch, wave], input_features [batch, features, frames].
class LATHE_API DummyAudioInputGenerator : public DummyInputGenerator {
 public:
  using DummyInputGenerator::DummyInputGenerator;
  std::vector<std::string> supported_input_names() const override;
  DummyInput generate(const std::string& name, DataType int_type, DataType float_type) override;
};
/// timestep [], text_embeds, time_ids, timestep_cond [batch, …].
class LATHE_API DummyTimestepInputGenerator : public DummyInputGenerator {
 public:
  using DummyInputGenerator::DummyInputGenerator;
  std::vector<std::string> supported_input_names() const override;
  DummyInput generate(const std::string& name, DataType int_type, DataType float_type) override;
};
/// labels, start_positions, end_positions [batch].
class LATHE_API DummyLabelsGenerator : public DummyInputGenerator {
 public:
  using DummyInputGenerator::DummyInputGenerator;
  std::vector<std::string> supported_input_names() const override;
  DummyInput generate(const std::string& name, DataType int_type, DataType float_type) override;
};
/// input_points [batch, point batch, points, 2], input_labels without the 2.
class LATHE_API DummyPointsGenerator : public DummyInputGenerator {
 public:
  using DummyInputGenerator::DummyInputGenerator;
  std::vector<std::string> supported_input_names() const override;
  DummyInput generate(const std::string& name, DataType int_type, DataType float_type) override;
};
/// past_values [batch, context, channels] of a time series.
class LATHE_API DummyPatchTSTInputGenerator : public DummyInputGenerator {
 public:
  using DummyInputGenerator::DummyInputGenerator;
  std::vector<std::string> supported_input_names() const override;
  DummyInput generate(const std::string& name, DataType int_type, DataType float_type) override;
};
/// pad_token_id, max_length [1].
class LATHE_API DummyIntGenerator : public DummyInputGenerator {
 public:
  using DummyInputGenerator::DummyInputGenerator;
  std::vector<std::string> supported_input_names() const override;
  DummyInput generate(const std::string& name, DataType int_type, DataType float_type) override;
};

}  // namespace lathe::exporters
