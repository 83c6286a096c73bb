#include "verify/stateful_run.h"

#include "lathe/state.h"

namespace lathe {

std::vector<Value> run_statefully(const Engine& engine, Context& context, std::span<const Value> inputs,
                                  RunControl* control) {
  std::vector<Value> given(inputs.begin(), inputs.end());
  NamedStates states;
  for (size_t i = 0; i < given.size() && i < engine.inputs().size(); ++i) {
    const IoInfo& io = engine.inputs()[i];
    if (io.state.empty()) continue;
    states.emplace(io.name, State::from(engine, io.name, given[i].tensor()));
    given[i] = Value();
  }
  context.bind_states(states);
  std::vector<Value> outputs = context.run(given, control);
  for (size_t o = 0; o < outputs.size(); ++o)
    if (const std::string& input = engine.outputs()[o].state; !input.empty())
      outputs[o] = states.at(input).tensor();
  return outputs;
}

}  // namespace lathe
