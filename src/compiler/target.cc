#include "compiler/target.h"

#include <algorithm>

#include "compiler/lowering_passes.h"
#include "compiler/plugin_passes.h"
#include "kernel/elementwise_program.h"
#include "runtime/plugin_kernel.h"

namespace lathe {
namespace {

/// The regions that a plug-in's device takes, if it has kernels for programs at all.
Target::Fusion fusion_of(const Backend& device, const KernelCatalog& kernels) {
  const std::string name(device.name());
  const bool any = std::ranges::any_of(kernels.all(), [&](const std::unique_ptr<Kernel>& k) {
    return k->backend == name && (k->fuses_epilogue || (k->op == "Pointwise" && k->domain == "lathe"));
  });
  const std::vector<DataType> types = guarded("facts()", [&] { return device.facts().types; });
  return {.converts =
              [types](DataType t) {
                return is_program_type(t) && (types.empty() || std::ranges::find(types, t) != types.end());
              },
          .max_axes = SIZE_MAX,
          .refuse = [&device, any, name](const Pointwise& p) -> std::optional<std::string> {
            if (!any) return "kernels of " + name + " take no elementwise programs";
            auto why =
                guarded("refuse_region()", [&] { return device.refuse_region(elementwise_program(p)); });
            if (why) return name + ": " + *why;
            return std::nullopt;
          }};
}

}  // namespace

std::shared_ptr<const Target> target_of(std::string_view backend, const Extensions& extensions) {
  const std::span<const Target> all = built_in_targets();
  if (const auto at = std::ranges::find(all, backend, &Target::name); at != all.end())
    return std::shared_ptr<const Target>(std::shared_ptr<void>(), &*at);
  const Backend* const device = extensions.device(backend);
  if (!device) return nullptr;
  auto made = std::make_shared<Target>();
  made->name = backend;
  made->in_host_memory = false;
  made->describe = [device] {
    return guarded("facts() or memory()", [&] {
      return DeviceInfo{std::string(device->name()), device->facts(), device->memory()};
    });
  };
  for (const PluginPass& p : extensions.passes())
    if (p.backend == backend) made->passes.push_back(lowering_pass_of(p));
  made->fusion = fusion_of(*device, extensions.kernels());
  return made;
}

}  // namespace lathe
