#include "ops/rnn/rnn.h"

#include "schema/schema.h"

namespace lathe {
namespace {

/// Whether Y is made is told by whether it is asked for.
void drop_output_sequence(UpgradeContext& u) { u.node().attributes.erase("output_sequence"); }

constexpr NumericContract recurrence{.epsilons = 64, .per_reduced = true};

}  // namespace

void declare_rnn(SchemaCatalog& c) {
  c.add("RNN")
      .version(
          1,
          "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T) -> (Y?: T, Y_h?: T) {clip: float, "
          "activation_beta: floats, output_sequence: int = 0, activation_alpha: floats, hidden_size: int, "
          "direction: string = 'forward', activations: strings = ['Tanh','Tanh']} [T: @float; T1: int32]")
      .version(7,
               "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T) -> (Y?: T, Y_h?: T) {clip: "
               "float, activation_beta: floats, activation_alpha: floats, hidden_size: int, direction: "
               "string = 'forward', activations: strings = ['Tanh','Tanh']} [T: @float; T1: int32]",
               drop_output_sequence)
      .version(
          14,
          "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T) -> (Y?: T, Y_h?: T) {clip: float, "
          "activation_beta: floats, activation_alpha: floats, hidden_size: int, layout: int = 0, direction: "
          "string = 'forward', activations: strings = ['Tanh','Tanh']} [T: @float; T1: int32]")
      .version(
          22,
          "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T) -> (Y?: T, Y_h?: T) {clip: float, "
          "activation_beta: floats, activation_alpha: floats, hidden_size: int, layout: int = 0, direction: "
          "string = 'forward', activations: strings = ['Tanh','Tanh']} [T: @float_13; T1: int32]")
      .rule<Rnn>()
      .contract(recurrence);
  c.add("GRU")
      .version(1,
               "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T) -> (Y?: T, Y_h: T) {clip: "
               "float, activation_beta: floats, output_sequence: int = 0, activation_alpha: floats, "
               "hidden_size: int, direction: string = 'foward', activations: strings} [T: @float; T1: int32]")
      .version(3,
               "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T) -> (Y?: T, Y_h?: T) {clip: "
               "float, activation_beta: floats, output_sequence: int = 0, activation_alpha: floats, "
               "hidden_size: int, direction: string = 'forward', linear_before_reset: int = 0, activations: "
               "strings} [T: @float; T1: int32]")
      .version(
          7,
          "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T) -> (Y?: T, Y_h?: T) {clip: float, "
          "activation_beta: floats, activation_alpha: floats, hidden_size: int, direction: string = "
          "'forward', linear_before_reset: int = 0, activations: strings} [T: @float; T1: int32]",
          drop_output_sequence)
      .version(
          14,
          "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T) -> (Y?: T, Y_h?: T) {clip: float, "
          "activation_beta: floats, activation_alpha: floats, hidden_size: int, layout: int = 0, direction: "
          "string = 'forward', linear_before_reset: int = 0, activations: strings} [T: @float; T1: int32]")
      .version(
          22,
          "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T) -> (Y?: T, Y_h?: T) {clip: float, "
          "activation_beta: floats, activation_alpha: floats, hidden_size: int, layout: int = 0, direction: "
          "string = 'forward', linear_before_reset: int = 0, activations: strings} [T: @float_13; T1: int32]")
      .rule<Gru>()
      .contract(recurrence);
  c.add("LSTM")
      .version(1,
               "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T, initial_c?: T, P?: T) -> (Y?: "
               "T, Y_h?: T, Y_c?: T) {clip: float, activation_beta: floats, output_sequence: int = 0, "
               "activation_alpha: floats, hidden_size: int, direction: string = 'forward', input_forget: int "
               "= 0, activations: strings} [T: @float; T1: int32]")
      .version(7,
               "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T, initial_c?: T, P?: T) -> (Y?: "
               "T, Y_h?: T, Y_c?: T) {clip: float, activation_beta: floats, activation_alpha: floats, "
               "hidden_size: int, direction: string = 'forward', input_forget: int = 0, activations: "
               "strings} [T: @float; T1: int32]",
               drop_output_sequence)
      .version(14,
               "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T, initial_c?: T, P?: T) -> (Y?: "
               "T, Y_h?: T, Y_c?: T) {clip: float, activation_beta: floats, activation_alpha: floats, "
               "hidden_size: int, direction: string = 'forward', input_forget: int = 0, layout: int = 0, "
               "activations: strings} [T: @float; T1: int32]")
      .version(22,
               "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T, initial_c?: T, P?: T) -> (Y?: "
               "T, Y_h?: T, Y_c?: T) {clip: float, activation_beta: floats, activation_alpha: floats, "
               "hidden_size: int, direction: string = 'forward', input_forget: int = 0, layout: int = 0, "
               "activations: strings} [T: @float_13; T1: int32]")
      .rule<Lstm>()
      .contract(recurrence);
}

}  // namespace lathe
