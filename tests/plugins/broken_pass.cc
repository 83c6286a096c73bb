// Wrong lowering passes for the device of fake_device.cc: one gives other values, which `lathe verify` must
// find, and one proposes an operator that does not exist.
#include "lathe/backend.h"

namespace {

bool lose_sign(const lathe::GraphView& g, uint32_t node, lathe::PatchBuilder& patch) {
  if (g.op(node) != "Sin") return false;
  patch.replace(*g.outputs(node)[0], patch.add_node("Cos", "", g.inputs(node), 1, {})[0]);
  patch.remove(node);
  return true;
}

bool misfit(const lathe::GraphView& g, uint32_t node, lathe::PatchBuilder& patch) {
  if (g.op(node) != "Erf") return false;
  patch.replace(*g.outputs(node)[0], patch.add_node("NoSuchOperator", "", g.inputs(node), 1, {})[0]);
  return true;
}

bool go_on(const lathe::GraphView& g, uint32_t node, lathe::PatchBuilder& patch) {
  if (g.op(node) != "Cosh") return false;
  patch.replace(*g.outputs(node)[0], patch.add_node("Cosh", "", g.inputs(node), 1, {})[0]);
  return true;
}

bool tear(const lathe::GraphView& g, uint32_t node, lathe::PatchBuilder& patch) {
  if (g.op(node) != "Sinh") return false;
  patch.remove(node);
  return true;
}

}  // namespace

extern "C" LATHE_API int lathe_plugin_abi() { return lathe::plugin_abi; }
extern "C" LATHE_API void lathe_plugin(lathe::PluginRegistry& registry) {
  registry.add(lathe::PluginPass{.name = "fake-lose-sign",
                                 .description = "a cosine for a sine",
                                 .backend = "fake",
                                 .rewrite = lose_sign});
  registry.add(lathe::PluginPass{
      .name = "fake-misfit", .description = "an unknown operator", .backend = "fake", .rewrite = misfit});
  registry.add(lathe::PluginPass{
      .name = "fake-go-on", .description = "a cosine for a cosine", .backend = "fake", .rewrite = go_on});
  registry.add(lathe::PluginPass{
      .name = "fake-tear", .description = "removes what is read", .backend = "fake", .rewrite = tear});
}
