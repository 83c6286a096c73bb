// LSTM, GRU and RNN for float32. The inputs of many steps are multiplied in one matrix product; each step is
// then a product of the states with the packed recurrent weights and a pass over the gates.
#pragma once

#include <limits>

#include "cpu/gemm.h"
#include "tensor/recurrent_function.h"

namespace lathe::cpu {

enum class Cell : uint8_t { lstm, gru, rnn };
constexpr int64_t gates_of(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }
/// The number of activations of a direction: that of the gates, then those of states.
constexpr int64_t functions_of(Cell cell) { return cell == Cell::lstm ? 3 : cell == Cell::gru ? 2 : 1; }

struct RecurrentShape {
  Cell cell = Cell::lstm;
  int64_t steps = 0, batch = 0, input = 0, hidden = 0, directions = 1;
  bool own_lengths = false;  // sequences may have different lengths
  bool batch_first = false;  // in x, y and the states, batch comes before steps and directions
  int64_t gates() const { return gates_of(cell) * hidden; }  // the columns of all gates
  /// The steps whose inputs are multiplied in one product.
  int64_t stretch() const;
};

/// The floats of the packed weights of all directions: W [directions, gates, input] and R [directions, gates,
/// hidden].
int64_t packed_input_weights_size(const GemmKernels& g, const RecurrentShape& s);
int64_t packed_recurrent_weights_size(const GemmKernels& g, const RecurrentShape& s);
void pack_input_weights(const GemmKernels& g, const RecurrentShape& s, DataType type, const void* w, void* to,
                        Workers&);
void pack_recurrent_weights(const GemmKernels& g, const RecurrentShape& s, DataType type, const void* r,
                            void* to, Workers&);

/// One run of a layer; null pointers are omitted inputs or outputs.
struct Recurrence {
  RecurrentShape shape;
  bool backward = false;                                // of the first direction; the second always is
  bool linear_before_reset = false;                     // GRU
  bool input_forget = false;                            // LSTM: the forget gate is 1 - the input gate
  float clip = std::numeric_limits<float>::infinity();  // bounds the inputs of activations
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

/// How a step computes its activations: states by tanh and gates by sigmoid (usual) or hard sigmoid (hard),
/// which are inlined; or any functions, each by a call (any).
enum class GateForm : uint8_t { usual, hard, any };

/// One step of one sequence for some units: `x` is the inputs' part of the gates and `r` the states', with
/// biases.
struct GateStep {
  const float* x = nullptr;
  const float* r = nullptr;
  float* h = nullptr;
  float* c = nullptr;
  float* y = nullptr;                // also receives h; or null
  const float* peepholes = nullptr;  // the cell's weights in the gates, or null
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
  /// The candidate's recurrent part is computed from the result of gru_reset; gru_linear scales it by the
  /// reset gate.
  void (*gru)(const GateStep&) = nullptr;
  void (*gru_linear)(const GateStep&) = nullptr;
  void (*rnn)(const GateStep&) = nullptr;
};
const RecurrentKernels& recurrent_kernels(Isa isa);

}  // namespace lathe::cpu
