// A kernel that is wrong: Hardmax gives zeros. For `lathe verify` to find.
#include "lathe/backend.h"

extern "C" LATHE_API int lathe_plugin_abi() { return lathe::plugin_abi; }
extern "C" LATHE_API void lathe_plugin(lathe::PluginRegistry& registry) {
  lathe::PluginKernel k;
  k.op = "Hardmax";
  k.name = "hardmax.broken";
  k.run = [](lathe::KernelCall& c) {
    for (float& y : c.output(0).as<float>()) y = 0;
  };
  registry.add(std::move(k));
}
