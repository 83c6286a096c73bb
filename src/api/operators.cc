// The registry as people and programs ask for it.
#include "base/glob.h"
#include "kernel/kernel.h"
#include "lathe/tools.h"
#include "schema/schema.h"

namespace lathe {
namespace {

OperatorInfo::VersionInfo version_info(const Version& v) {
  OperatorInfo::VersionInfo info{
      .since = v.since, .signature = std::string(v.text), .deprecated = v.deprecated};
  if (v.deprecated) return info;
  for (const TypeVariable& t : v.signature().variables) info.types.emplace_back(t.name, t.types);
  return info;
}

OperatorInfo operator_info(const OpSchema& s) {
  OperatorInfo info{.domain = s.domain(), .name = s.name()};
  for (const Version& v : s.versions()) info.versions.push_back(version_info(v));
  for (const Kernel* k : KernelCatalog::standard().candidates(s.domain(), s.name()))
    info.kernels.push_back({k->name, k->backend, std::string(name_of(k->isa))});
  return info;
}

}  // namespace

std::vector<OperatorInfo> operators(std::string_view pattern) {
  std::vector<OperatorInfo> found;
  for (const auto& [key, schema] : SchemaCatalog::standard().all())
    if (glob_match(pattern, schema.name())) found.push_back(operator_info(schema));
  return found;
}

}  // namespace lathe
