// LSTM, GRU and RNN for float32. The inputs of many steps go through one matrix product; each step then is a
// product of the states with the packed recurrent weights and a pass over the gates.
#pragma once

#include <limits>

#include "cpu/gemm.h"
#include "tensor/recurrent_function.h"

namespace lathe::cpu {

enum class Cell : uint8_t { lstm, gru, rnn };
constexpr int64_t gates_of(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }
/// Activations of a direction: of the gates, then of what becomes states.
constexpr int64_t functions_of(Cell cell) { return cell == Cell::lstm ? 3 : cell == Cell::gru ? 2 : 1; }

struct RecurrentShape {
  Cell cell = Cell::lstm;
  int64_t steps = 0, batch = 0, input = 0, hidden = 0, directions = 1;
  bool own_lengths = false;  // may each sequence end somewhere else?
  bool batch_first = false;  // in x, y and the states, before steps and directions
  int64_t gates() const { return gates_of(cell) * hidden; }  // columns of all gates
  /// Steps whose inputs go through a product together.
  int64_t stretch() const;
};

/// Floats of the packed weights of all directions: W [directions, gates, input] and R [directions, gates,
/// hidden].
int64_t packed_input_weights_size(const GemmKernels& g, const RecurrentShape& s);
int64_t packed_recurrent_weights_size(const GemmKernels& g, const RecurrentShape& s);
void pack_input_weights(const GemmKernels& g, const RecurrentShape& s, DataType type, const void* w, void* to,
                        Workers&);
void pack_recurrent_weights(const GemmKernels& g, const RecurrentShape& s, DataType type, const void* r,
                            void* to, Workers&);

/// One run of a layer; null pointers are inputs left out or outputs not wanted.
struct Recurrence {
  RecurrentShape shape;
  bool backward = false;             // of the first direction; the second always is
  bool linear_before_reset = false;  // GRU
  bool input_forget = false;         // LSTM: what the input gate lets in, the forget gate takes
  float clip = std::numeric_limits<float>::infinity();  // bounds what goes into the activations
  const RecurrentActivation* functions = nullptr;       // [directions, functions_of(cell)]
  const float* x = nullptr;                             // [steps, batch, input]
  const void* w = nullptr;                              // packed
  const void* r = nullptr;                              // packed
  DataType weights = DataType::float32;                 // of both, or a float of 16 bits
  const float* bias = nullptr;                          // [directions, 2 * gates]
  const int32_t* lengths = nullptr;                     // [batch], each in [0, steps]
  const float* initial_h = nullptr;                     // [directions, batch, hidden]
  const float* initial_c = nullptr;
  const float* peepholes = nullptr;  // [directions, 3 * hidden] of LSTM's input, output and forget gate
  float* y = nullptr;                // [steps, directions, batch, hidden]
  float* last_h = nullptr;           // [directions, batch, hidden]
  float* last_c = nullptr;
};
size_t recurrence_workspace(const GemmKernels& g, const RecurrentShape& s);
void run_recurrence(Isa isa, const Recurrence& r, void* workspace, KernelContext& c);

/// How a step computes its activations: gates by sigmoid or hard sigmoid and states by tanh (RNN: tanh, relu)
/// in one go, any others one by one.
enum class GateForm : uint8_t { usual, hard, any };

/// One sequence's step through the gates, of some units: `x` from the inputs and `r` from the states, biases
/// added.
struct GateStep {
  const float* x = nullptr;
  const float* r = nullptr;
  float* h = nullptr;
  float* c = nullptr;
  float* y = nullptr;                // where h goes as well, or null
  const float* peepholes = nullptr;  // what the cell counts in the gates, or null
  int64_t hidden = 0;                // from one gate to the next
  int64_t units = 0;
  float clip = std::numeric_limits<float>::infinity();
  const RecurrentActivation* functions = nullptr;
  GateForm form = GateForm::usual;
  bool input_forget = false;  // with `any` only
};
struct RecurrentKernels {
  void (*lstm)(const GateStep&) = nullptr;
  /// y = sigmoid of the reset gate times h.
  void (*gru_reset)(const GateStep&) = nullptr;
  /// With the candidate's recurrent part made from what gru_reset gave, or to be scaled by the reset gate
  /// here.
  void (*gru)(const GateStep&) = nullptr;
  void (*gru_linear)(const GateStep&) = nullptr;
  void (*rnn)(const GateStep&) = nullptr;
};
const RecurrentKernels& recurrent_kernels(Isa isa);

}  // namespace lathe::cpu
