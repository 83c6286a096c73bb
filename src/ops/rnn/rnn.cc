#include "ops/rnn/rnn.h"

#include "schema/node_builder.h"

namespace lathe {
namespace {

/// Later versions make Y if it is used, without an attribute.
void drop_output_sequence(UpgradeContext& u) { u.node().attributes.erase("output_sequence"); }

constexpr ToleranceSpec recurrence{.epsilons = 64, .per_reduced = true};

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// layout 1 has the batch first.
std::vector<ValueId> batch_first(DecomposeContext& c) {
  const Node node = c.node();
  if (node.attributes.get<int64_t>("layout", 0) == 0) return in_wider_types(c);
  std::vector<ValueId> inputs = node.inputs;
  for (size_t i : {0, 5, 6})  // X and the first states
    if (has(c, i)) inputs[i] = transposed(c, inputs[i], {1, 0, 2});
  Attributes a = node.attributes;
  a.erase("layout");
  std::vector<ValueId> made = c.insert(node.op, std::move(inputs), std::move(a), node.outputs.size());
  for (size_t i = 0; i < made.size(); ++i)
    made[i] = !wants(c, i)
                  ? no_id
                  : transposed(c, made[i],
                               i == 0 ? std::vector<int64_t>{2, 0, 1, 3} : std::vector<int64_t>{1, 0, 2});
  return made;
}

}  // namespace
}  // namespace decomposition

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
      .decompose(decomposition::batch_first)
      .tolerance(recurrence);
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
      .decompose(decomposition::batch_first)
      .tolerance(recurrence);
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
      .decompose(decomposition::batch_first)
      .tolerance(recurrence);
}

}  // namespace lathe
