// A plug-in that takes a name that is not its own.
#include "lathe/backend.h"

extern "C" {
LATHE_API int lathe_plugin_abi() { return lathe::plugin_abi; }
LATHE_API void lathe_plugin(lathe::PluginRegistry& registry) {
  registry.add(lathe::PluginKernel{.op = "NoSuchOperator", .name = "greedy"});
}
}
