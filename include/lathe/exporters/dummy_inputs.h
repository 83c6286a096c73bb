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

enum class PaddingSide : uint8_t { left, right, none };

/// Sizes of made-up inputs, where the configuration does not say them.
struct DummyShapes {
  int64_t batch_size = 2;
  /// Of texts beside images, where the config names their batch apart. Nothing: as batch_size.
  std::optional<int64_t> text_batch_size = {};
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

/// Makes inputs of some names. Derive from it for names that none of dummy_input_generators() knows. Not
/// thread-safe.
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

/// What lies beside config.json, each parsed where it is there.
struct Preprocessors {
  std::optional<ModelConfig> tokenizer;     // tokenizer_config.json
  std::optional<ModelConfig> preprocessor;  // preprocessor_config.json
};

/// Makes generators of one kind: one of Optimum's, by the name of its class, or one of your own. Thread-safe
/// as far as what it makes is.
class LATHE_API DummyInputGeneratorClass {
 public:
  using Make = std::function<std::unique_ptr<DummyInputGenerator>(
      const std::string& task, const NormalizedConfig& config, const DummyShapes& shapes,
      const Preprocessors& preprocessors)>;
  DummyInputGeneratorClass(Make make) : make_(std::move(make)) {}
  /// "DummyTextInputGenerator", "MistralDummyPastKeyValuesGenerator", …: those of dummy_input_generators().
  /// Throws Code::not_supported for another, with names that are near.
  DummyInputGeneratorClass(const char* name);
  /// The generator throws Code::bad_argument where the configuration lacks a size.
  std::unique_ptr<DummyInputGenerator> operator()(const std::string& task, const NormalizedConfig& config,
                                                  const DummyShapes& shapes = {},
                                                  const Preprocessors& preprocessors = {}) const {
    return make_(task, config, shapes, preprocessors);
  }

 private:
  Make make_;
};

/// Of a class derived from DummyInputGenerator with its constructor.
template <class G>
DummyInputGeneratorClass generator_class() {
  return DummyInputGeneratorClass::Make(
      [](const std::string& task, const NormalizedConfig& config, const DummyShapes& shapes, const Preprocessors&) {
        return std::make_unique<G>(task, config, shapes);
      });
}

/// The kinds there are: all of Optimum's.
LATHE_API std::vector<std::string> dummy_input_generators();

}  // namespace lathe::exporters
