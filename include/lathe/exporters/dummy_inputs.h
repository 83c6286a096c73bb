// Synthetic inputs for a model: valid ones, of given sizes, the same on every machine.
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

enum class PaddingSide : uint8_t { left, right, none };  // selects on which side of a text padding is

/// Sizes of synthetic inputs, where the configuration does not decide them. Names as in Optimum
/// (DEFAULT_DUMMY_SHAPES).
struct DummyShapes {
  int64_t batch_size = 2;  // items of a batch
  /// Batch of texts beside images, where the config gives it a name of its own. Nothing: as batch_size.
  std::optional<int64_t> text_batch_size = {};
  int64_t sequence_length = 16;                           // tokens
  int64_t num_choices = 4;                                // answers of a multiple-choice task
  int64_t width = 64, height = 64, num_channels = 3;      // sizes of images
  int64_t point_batch_size = 3, nb_points_per_image = 2;  // points given to segmentation
  int64_t visual_seq_length = 16;                         // regions of an image
  int64_t feature_size = 80, nb_max_frames = 3000;        // sound as features
  int64_t audio_sequence_length = 16000;                  // sound as a wave: number of samples
  /// Tokens of the encoder, and of the past; nothing: as sequence_length.
  std::optional<int64_t> encoder_sequence_length = {}, past_sequence_length = {};
  PaddingSide padding_side = PaddingSide::right;  // side of the padding in attention masks
  uint64_t seed = 0;                              // seed of all random numbers
};

/// A synthetic input: a tensor, or for "past_key_values" the tensors of every layer: key and value, or those
/// of the decoder and of the encoder.
struct DummyInput {
  /// Makes none.
  DummyInput() = default;
  /// Makes an input of one tensor.
  DummyInput(Tensor t) : tensor(std::move(t)) {}
  Tensor tensor;                                 // undefined where there are layers
  std::vector<std::vector<Tensor>> layers = {};  // tensors of each layer
};
using DummyInputs = Ordered<DummyInput>;  // maps names of inputs to synthetic inputs, in order

/// Makes inputs for some names. Derive from it for names that none of dummy_input_generators() knows. Not
/// thread-safe. Optimum: DummyInputGenerator.
class LATHE_API DummyInputGenerator {
 public:
  /// Makes a generator; random numbers begin with shapes.seed.
  DummyInputGenerator(std::string task, NormalizedConfig config, const DummyShapes& shapes);
  /// Destroys the generator.
  virtual ~DummyInputGenerator();

  /// Returns the beginnings of the names that it makes inputs for.
  virtual std::vector<std::string> supported_input_names() const = 0;
  /// Returns whether the name begins as one of them.
  bool supports_input(std::string_view name) const;
  /// Makes the input of that name. `int_type` is int64, int32 or int8, `float_type` float32, float16 or
  /// bfloat16. Throws Code::bad_argument where the configuration lacks a size.
  virtual DummyInput generate(const std::string& name, DataType int_type, DataType float_type) = 0;

  /// Sets the length of sequences for the next calls of generate().
  void set_sequence_length(int64_t n) { shapes_.sequence_length = n; }
  /// Returns the sizes in use.
  const DummyShapes& shapes() const { return shapes_; }

  /// Returns random integers in [low, high).
  Tensor random_int_tensor(const Shape& shape, int64_t high, int64_t low, DataType type);
  /// Returns a mask: ones, and zeros on the padding side of the last axis, at least one of each where it has
  /// two elements or more.
  Tensor random_mask_tensor(const Shape& shape, DataType type);
  /// Returns random numbers in [low, high).
  Tensor random_float_tensor(const Shape& shape, double low, double high, DataType type);
  /// Returns a tensor whose elements are all `value`.
  static Tensor constant_tensor(const Shape& shape, double value, DataType type);
  /// Concatenates tensors of one type and of equal sizes but for `axis`. Throws Code::bad_argument for
  /// others.
  static Tensor concat_inputs(const std::vector<Tensor>& inputs, size_t axis);
  /// Adds `value` behind the elements of `axis` until it is `length` long; longer tensors stay. Throws
  /// Code::bad_argument for an axis that there is not.
  static Tensor pad_input_on_dim(const Tensor& t, size_t axis, int64_t length, double value = 1);

 protected:
  uint64_t draw();
  const std::string task_;
  const NormalizedConfig config_;
  DummyShapes shapes_;

 private:
  uint64_t state_;
};

/// Files beside config.json, each parsed where it is there.
struct Preprocessors {
  std::optional<ModelConfig> tokenizer;     // tokenizer_config.json
  std::optional<ModelConfig> preprocessor;  // preprocessor_config.json
};

/// Makes generators of one kind: one of Optimum's, by the name of its class, or one of your own. As
/// thread-safe as its function.
class LATHE_API DummyInputGeneratorClass {
 public:
  /// Makes a generator for a task and a configuration.
  using Make = std::function<std::unique_ptr<DummyInputGenerator>(
      const std::string& task, const NormalizedConfig& config, const DummyShapes& shapes,
      const Preprocessors& preprocessors)>;
  /// Makes a class of your own from a function.
  DummyInputGeneratorClass(Make make) : make_(std::move(make)) {}
  /// Selects one of dummy_input_generators(): "DummyTextInputGenerator",
  /// "MistralDummyPastKeyValuesGenerator", …. Throws Code::not_supported for another name, with similar
  /// names.
  DummyInputGeneratorClass(const char* name);
  /// Makes a generator, whose generate() throws Code::bad_argument where the configuration lacks a size.
  std::unique_ptr<DummyInputGenerator> operator()(const std::string& task, const NormalizedConfig& config,
                                                  const DummyShapes& shapes = {},
                                                  const Preprocessors& preprocessors = {}) const {
    return make_(task, config, shapes, preprocessors);
  }

 private:
  Make make_;
};

/// Returns the class of generators of type G, which derives from DummyInputGenerator and has its constructor.
template <class G>
DummyInputGeneratorClass generator_class() {
  return DummyInputGeneratorClass::Make(
      [](const std::string& task, const NormalizedConfig& config, const DummyShapes& shapes,
         const Preprocessors&) { return std::make_unique<G>(task, config, shapes); });
}

/// Returns the names of all kinds, which are those of Optimum.
LATHE_API std::vector<std::string> dummy_input_generators();

}  // namespace lathe::exporters
