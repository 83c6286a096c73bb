// The registry and facts about this machine.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.h"

namespace lathe::python {
namespace {

nb::dict to_python(const OperatorInfo& op) {
  nb::list versions, kernels;
  for (const auto& v : op.versions) {
    nb::dict types;
    for (const auto& [variable, names] : v.types) types[variable.c_str()] = names;
    nb::dict d;
    d["since"] = v.since;
    d["deprecated"] = v.deprecated;
    d["signature"] = v.signature;
    d["types"] = types;
    versions.append(d);
  }
  for (const auto& k : op.kernels) {
    nb::dict d;
    d["name"] = k.name;
    d["backend"] = k.backend;
    d["isa"] = k.isa;
    kernels.append(d);
  }
  nb::dict d;
  d["domain"] = op.domain;
  d["name"] = op.name;
  d["versions"] = versions;
  d["kernels"] = kernels;
  return d;
}

nb::list operators_to_python(const std::string& pattern) {
  nb::list l;
  for (const OperatorInfo& op : operators(pattern)) l.append(to_python(op));
  return l;
}

nb::dict system_to_python() {
  const SystemInfo s = system_info();
  nb::dict d;
  d["version"] = s.version;
  d["cpu"] = s.cpu;
  d["isa"] = s.isa;
  d["features"] = s.features;
  d["processors_online"] = s.processors_online;
  d["processors_allowed"] = s.processors_allowed;
  d["cpu_quota"] = s.cpu_quota;
  d["memory_total"] = s.memory_total;
  d["memory_limit"] = s.memory_limit;
  d["threads"] = s.threads;
  d["threads_reason"] = s.threads_reason;
  d["newest_opset"] = s.newest_opset;
  d["newest_ir_version"] = s.newest_ir_version;
  return d;
}

}  // namespace

void bind_tools(nb::module_& m) {
  m.def("operators", &operators_to_python, nb::arg("pattern") = "*");
  m.def("system_info", &system_to_python);
}

}  // namespace lathe::python
