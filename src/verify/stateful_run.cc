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
    const Tensor value = given[i].tensor();
    std::map<std::string, int64_t> sizes;
    for (size_t a = 0; a < io.shape->size() && a < value.rank(); ++a)
      if (const auto symbol = (*io.shape)[a].symbol_name()) sizes[*symbol] = value.dim(a);
    State state = State::create(engine, io.name, sizes);
    state.assign(value);
    states.emplace(io.name, std::move(state));
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
