// Facts about this machine, for `lathe info`.
#include <fstream>
#include <string>

#include "base/component.h"
#include "base/cpu.h"
#include "base/unfinished.h"
#include "compiler/target.h"
#include "kernel/kernel.h"
#include "lathe/device.h"
#include "lathe/system_info.h"
#include "lathe/unfinished_files.h"
#include "lathe/version.h"
#include "runtime/extensions.h"
#include "schema/schema.h"

namespace lathe {

namespace {

std::vector<ComponentInfo> all_components() {
  std::vector<ComponentInfo> all;
  for (std::string_view name : component_names()) {
    const Component& c = component(name);
    ComponentInfo info;
    info.name = c.name;
    info.path = c.path;
    for (const auto& [key, schema] : SchemaCatalog::standard().all())
      if (KernelCatalog::standard().component_of(schema.domain(), schema.name()) == name)
        info.operators.push_back(schema.name());
    if (c.table) {
      info.has = c.table->has;
      info.lacks = c.table->lacks;
    } else {
      info.missing = c.missing + "; " + component_remedy(name);
    }
    all.push_back(std::move(info));
  }
  return all;
}

}  // namespace

SystemInfo system_info() {
  SystemInfo s;
  s.version = version();
  const CpuFeatures& cpu = cpu_features();
  s.cpu = cpu.name;
  s.isa = name_of(cpu.avx512 ? Isa::avx512 : cpu.avx2 ? Isa::avx2 : Isa::generic);
  s.features = feature_names(cpu);
  const CpuLimits limits = cpu_limits();
  s.processors_online = limits.online;
  s.processors_allowed = limits.affinity;
  s.cpu_quota = limits.quota;
  s.threads = limits.threads;
  s.threads_reason = limits.reason;
  s.memory_total = physical_memory().total;
  s.memory_limit = memory_limit();
  s.newest_opset = newest_opset;
  s.newest_ir_version = newest_ir_version;
  s.components = all_components();
  return s;
}

std::vector<DeviceInfo> devices(const std::vector<std::filesystem::path>& plugins) {
  const auto extensions = Extensions::load(plugins);
  std::vector<DeviceInfo> list;
  for (const Target& t : built_in_targets()) list.push_back(t.describe());
  for (const std::shared_ptr<Backend>& d : extensions->devices())
    list.push_back(target_of(d->name(), *extensions)->describe());
  return list;
}

void remove_unfinished_files() { remove_all_unfinished(); }

}  // namespace lathe
