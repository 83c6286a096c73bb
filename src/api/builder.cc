// Engines from networks.
#include "lathe/builder.h"

namespace lathe {

Engine Builder::build_engine(const Network& network, const BuilderConfig& config) const {
  if (network.num_outputs() == 0)
    throw Error(Code::model_empty, "build", "a network with an output", "none", "call mark_output");
  BuildOptions options = config;
  for (const TensorRef& t : network.debug_tensors()) options.taps.push_back(t.name());
  return Engine::build(network.to_model(), options);
}

}  // namespace lathe
