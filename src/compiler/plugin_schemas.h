#pragma once

#include <memory>

#include "runtime/extensions.h"
#include "schema/schema.h"

namespace lathe {

/// The library's operators and those of plug-ins, whose shapes are left to the run. Throws
/// build_plugin_failed on a signature that does not parse. The extensions must outlive it.
std::shared_ptr<const SchemaCatalog> schemas_with(const Extensions& extensions);

}  // namespace lathe
