// Engines from networks.
#include "lathe/builder.h"

#include "compiler/plugin_schemas.h"

namespace lathe {

Parser::Parser(const std::vector<std::filesystem::path>& plugins) {
  struct Known {
    std::shared_ptr<const Extensions> extensions;
    std::shared_ptr<const SchemaCatalog> schemas;
  };
  auto known = std::make_shared<Known>();
  known->extensions = Extensions::load(plugins);
  known->schemas = schemas_with(*known->extensions);
  const SchemaCatalog* schemas = known->schemas.get();
  schemas_ = {std::move(known), schemas};
}

Engine Builder::build_engine(const Network& network, const BuilderConfig& config) const {
  if (network.num_outputs() == 0)
    throw Error(Code::model_empty, "build", "a network with an output", "none", "call mark_output");
  BuildOptions options = config;
  for (const TensorRef& t : network.debug_tensors()) options.taps.push_back(t.name());
  return Engine::build(network.to_model(), options);
}

std::vector<std::byte> Builder::build_serialized_network(const Network& network,
                                                         const BuilderConfig& config) const {
  return build_engine(network, config).serialize();
}

}  // namespace lathe
