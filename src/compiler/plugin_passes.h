// Lowering passes of plug-ins.
#pragma once

#include "compiler/lowering_pass.h"
#include "lathe/backend.h"

namespace lathe {

/// The pass, which must outlive it, as one of the table. It throws build_plugin_failed, with pass and node,
/// for a patch that does not fit the graph, and for what the plug-in throws. Throws the same if a pass of the
/// library has its name.
LoweringPass lowering_pass_of(const PluginPass& pass);

}  // namespace lathe
