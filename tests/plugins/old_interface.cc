// A plug-in that was built against another version of the header.
#include "lathe/backend.h"

extern "C" {
LATHE_API int lathe_plugin_abi() { return lathe::plugin_abi + 1; }
LATHE_API void lathe_plugin(lathe::PluginRegistry&) {}
}
