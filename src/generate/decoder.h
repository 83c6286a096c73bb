// A decoder as an engine: which of its inputs are what, and runs of it on the tokens of a sequence.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/engine.h"
#include "lathe/error.h"
#include "lathe/state.h"

namespace lathe {

/// The name of the input that says of which tokens of a run logits are wanted, as indices of int64. Where a
/// decoder lacks it, a run makes the logits of all.
inline constexpr const char* logits_rows_input = "logits_rows";

/// The working memory of one run at a time, and the inputs that it is bound to.
struct DecoderRun {
  explicit DecoderRun(Context c) : context(std::move(c)) {}
  Context context;
  uint64_t states = 0;  // serial number of the states that are bound; 0: none
  std::vector<int64_t> tokens, positions, rows, mask;
  std::vector<int32_t> tokens32, positions32, mask32;  // for decoders that take int32
  std::vector<float> logits;                           // for decoders that return 16-bit floats
};

/// Immutable but for its pool of contexts; thread-safe.
class Decoder {
 public:
  /// Throws bad_argument for an engine that is no decoder with keys and values as states: `remedy` of the
  /// errors says what would be.
  explicit Decoder(Engine engine);

  /// Makes the error of a model that is no such decoder.
  static Error no_decoder(std::string expected, std::string got);
  /// Returns whether an input of this name is that of tokens.
  static bool is_tokens(std::string_view input);

  const Engine& engine() const { return engine_; }
  int64_t vocabulary_size() const { return vocabulary_size_; }
  /// Returns the greatest length of the states that grow.
  int64_t capacity() const { return capacity_; }
  /// Returns whether all states grow: then a sequence can be shortened.
  bool rewinds() const { return rewinds_; }
  /// Makes the states of a new sequence.
  NamedStates states() const { return State::create_all(engine_, sizes_); }

  /// Computes tokens [begin, tokens.size()), of which the states have those in front of `begin`, and returns
  /// the logits behind the last `wanted` of them, row after row; they are valid until the next run. `serial`:
  /// a number that no other states have, or 0. Throws what Context::run throws; the states are then as
  /// before.
  std::span<const float> run(DecoderRun& r, const NamedStates& states, uint64_t serial,
                             std::span<const int32_t> tokens, int64_t begin, int64_t wanted,
                             RunControl* control) const;

  /// Makes idle contexts drop states that are no longer used.
  void forget(uint64_t serial) const noexcept;

  /// Lends a context for the time of a call.
  class Lent {
   public:
    explicit Lent(const Decoder& d) : decoder_(d), run_(d.take()) {}
    ~Lent() { decoder_.give_back(std::move(run_)); }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    DecoderRun& operator*() const { return *run_; }

   private:
    const Decoder& decoder_;
    std::unique_ptr<DecoderRun> run_;
  };

  /// Returns the bytes of a run's inputs that grow with the number of all tokens.
  static uint64_t bytes_of_inputs(int64_t tokens) { return sizeof(int64_t) * static_cast<uint64_t>(tokens); }
  /// Returns the shapes of a run's inputs: so many new tokens behind so many old ones.
  NamedShapes shapes(int64_t past, int64_t fresh) const;

 private:
  std::unique_ptr<DecoderRun> take() const;
  void give_back(std::unique_ptr<DecoderRun> r) const;

  struct Input {
    std::string name;
    DataType type = DataType::undefined;
    bool batched = true;  // [1, n], not [n]
  };
  Input input(const IoInfo& io) const;

  Engine engine_;
  Input tokens_;
  std::optional<Input> mask_, positions_;
  bool selects_rows_ = false;
  std::string logits_;
  std::map<std::string, int64_t> sizes_;  // of symbols that stand for the batch
  int64_t vocabulary_size_ = 0, capacity_ = 0;
  bool rewinds_ = true;
  NamedStates none_;  // empty ones, which idle contexts are bound to
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<DecoderRun>> idle_;
};

}  // namespace lathe
