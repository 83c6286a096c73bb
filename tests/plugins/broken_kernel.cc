// A wrong kernel for `lathe verify` to find: Hardmax of doubles, which has no faster kernel, gives zeros.
#include "lathe/backend.h"

extern "C" LATHE_API int lathe_plugin_abi() { return lathe::plugin_abi; }
extern "C" LATHE_API void lathe_plugin(lathe::PluginRegistry& registry) {
  lathe::PluginKernel k;
  k.op = "Hardmax";
  k.name = "hardmax.broken";
  k.run = [](lathe::KernelCall& c) {
    for (double& y : c.output(0).as<double>()) y = 0;
  };
  registry.add(std::move(k));
}
