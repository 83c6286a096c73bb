// Values that live from one run of an engine to the next: the keys and values of a decoder, the hidden state
// of a recurrent network. The caller owns them, and runs change them where they are.
//
//   lathe::BuildOptions options;
//   options.states = {{"past_key_values.*", "present.*"}};
//   options.state_capacity = 2048;
//   auto engine = lathe::Engine::build("decoder/model.onnx", options);
//   auto states = lathe::State::create_all(engine, {{"batch_size", 1}});
//   auto context = engine.create_context();
//   context.bind_states(states);
//   auto first = context.run({{"input_ids", prompt}, …});  // the states now hold the prompt
//   auto next = context.run({{"input_ids", token}, …});    // and one token more
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/export.h"
#include "lathe/shape.h"
#include "lathe/tensor.h"
#include "lathe/types.h"

namespace lathe {

class Engine;
class State;

/// Maps names of inputs to the states that they are.
using NamedStates = std::map<std::string, State, std::less<>>;

/// A tensor that runs read and change in place. One that grows along an axis has address space for its
/// capacity, and takes pages of memory as it grows: its elements are a strided view of that space. Or it
/// takes blocks (StatePair::block), which clones share until one of them writes there. Copies of the object
/// share the memory; clone() copies it. One run at a time may use it, and nothing else meanwhile.
/// TensorRT-LLM: KVCacheManager; onnxruntime-genai: past_present_share_buffer.
class LATHE_API State {
 public:
  /// Makes an undefined state.
  State() = default;
  /// Makes the state of one input of an engine that was built with BuildOptions::states. One that grows is
  /// empty and has the capacity given, 0 standing for that of the build; others are filled with zeros.
  /// `sizes` has the other symbols of its shape. Throws bad_argument, which names what is missing or no
  /// state; run_too_large, run_out_of_memory.
  static State create(const Engine& engine, std::string_view input,
                      const std::map<std::string, int64_t>& sizes = {}, int64_t capacity = 0);
  /// Makes the state of one input with the elements of a tensor. Throws as create() and assign() do, and
  /// run_bad_input for a name that no input has.
  static State from(const Engine& engine, std::string_view input, const Tensor& elements,
                    int64_t capacity = 0);
  /// Makes the states of all inputs of an engine that are states. Throws as create() does.
  static NamedStates create_all(const Engine& engine, const std::map<std::string, int64_t>& sizes = {},
                                int64_t capacity = 0);
  /// Reads what save() wrote. Throws file_*, state_malformed where it is no state, run_out_of_memory.
  static State load(const std::filesystem::path& file);
  /// Writes shape, capacity and elements beside the file and renames it, so that no reader sees a part of it.
  /// Throws file_write_failed.
  void save(const std::filesystem::path& file) const;
  /// Returns a state of its own with the same elements and capacity. Throws run_out_of_memory.
  State clone() const;

  /// Returns whether it has an element type.
  bool defined() const { return impl_ != nullptr; }
  /// Returns the element type.
  DataType type() const;
  /// Returns the sizes of the axes now.
  const Shape& shape() const;
  /// Returns the axis that grows; -1 if none does.
  int32_t axis() const;
  /// Returns the size along the axis that grows; 0 if none does.
  int64_t length() const;
  /// Returns the greatest length; 0 if no axis grows.
  int64_t capacity() const;
  /// Returns the number of indices along the axis that a block of its memory has (StatePair::block); 0: its
  /// memory is in one piece.
  int64_t block() const;
  /// Returns the number of elements from one index of each axis to the next. Throws bad_argument for a state
  /// in blocks.
  Shape strides() const;
  /// Returns the address of the first element. Throws bad_argument for a state in blocks.
  void* data() const;
  /// Returns the bytes of memory that its elements take now, without the address space behind them; those of
  /// whole blocks, which clones may share.
  uint64_t bytes() const;
  /// Returns a dense copy.
  Tensor tensor() const;
  /// Copies the elements of a tensor of its type, whose shape becomes its own: the sizes may differ along the
  /// axis that grows only. Throws bad_argument, run_state_full.
  void assign(const Tensor& from);
  /// Forgets what is beyond this length. Throws bad_argument if no axis grows, or the length is less than 0
  /// or more than it has.
  void rewind(int64_t length);
  /// Makes it empty if it grows, and zeros otherwise; its pages of memory go back to the system.
  void clear();

  struct Impl;

 private:
  friend struct StateAccess;
  explicit State(std::shared_ptr<Impl> i) : impl_(std::move(i)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace lathe
