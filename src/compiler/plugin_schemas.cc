#include "compiler/plugin_schemas.h"

namespace lathe {

void declare_all_operators(SchemaCatalog& all);

std::shared_ptr<const SchemaCatalog> schemas_with(const Extensions& extensions) {
  if (extensions.operators().empty()) return {std::shared_ptr<void>(), &SchemaCatalog::standard()};
  auto catalog = std::make_shared<SchemaCatalog>();
  declare_all_operators(*catalog);
  for (const PluginOperator& op : extensions.operators()) {
    try {
      OpSchema& schema = catalog->add(op.domain, op.name).version(op.since, op.signature);
      (void)schema.newest().signature();
    } catch (const Error& e) {
      throw Error(Code::build_plugin_failed, "build", "a signature that can be read", e.diagnostic().got)
          .at("build", op.domain + "." + op.name, op.name);
    }
  }
  return catalog;
}

}  // namespace lathe
