// Functions that inspect models without running them, the registry, and facts about this machine.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "module.h"

namespace lathe::python {
namespace {

nb::list kernels_to_python(const std::vector<OperatorInfo::KernelInfo>& kernels) {
  nb::list l;
  for (const auto& k : kernels) {
    nb::dict d;
    d["name"] = k.name;
    d["backend"] = k.backend;
    d["isa"] = k.isa;
    l.append(d);
  }
  return l;
}

nb::dict operator_to_python(const OperatorInfo& op) {
  nb::list versions, forms;
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
  for (const auto& form : op.internal_forms) {
    nb::dict d;
    d["name"] = form.name;
    d["folder"] = form.folder;
    d["kernels"] = kernels_to_python(form.kernels);
    forms.append(d);
  }
  nb::dict d;
  d["domain"] = op.domain;
  d["name"] = op.name;
  d["folder"] = op.folder;
  d["versions"] = versions;
  d["kernels"] = kernels_to_python(op.kernels);
  d["internal_forms"] = forms;
  d["fast"] = op.fast;
  d["differentiable"] = op.differentiable;
  d["component"] = op.component.empty() ? nb::object(nb::none()) : nb::object(nb::cast(op.component));
  return d;
}

nb::list operators_to_python(const std::string& pattern) {
  nb::list l;
  for (const OperatorInfo& op : operators(pattern)) l.append(operator_to_python(op));
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
  nb::list components;
  for (const ComponentInfo& c : s.components) {
    nb::dict one;
    one["name"] = c.name;
    one["operators"] = c.operators;
    one["path"] = c.path.empty() ? nb::object(nb::none()) : nb::object(nb::cast(c.path.string()));
    one["has"] = c.has;
    one["lacks"] = c.lacks;
    one["missing"] = c.missing;
    components.append(one);
  }
  d["components"] = components;
  return d;
}

nb::list devices_to_python(const std::vector<std::string>& plugins) {
  nb::list l;
  for (const DeviceInfo& info : devices({plugins.begin(), plugins.end()})) {
    nb::list types;
    for (DataType t : info.facts.types) types.append(std::string(name_of(t)));
    nb::dict details;
    for (const auto& [key, value] : info.facts.details) details[key.c_str()] = value;
    nb::dict d;
    d["name"] = info.name;
    d["description"] = info.facts.description;
    d["types"] = types;
    d["instruction_sets"] = info.facts.instruction_sets;
    d["details"] = details;
    d["memory_total"] = info.memory.total;
    d["memory_free"] = info.memory.free;
    l.append(d);
  }
  return l;
}

using Paths = std::vector<std::filesystem::path>;

nb::list findings_to_python(const onnx::Model& model, const std::vector<std::string>& plugins) {
  std::vector<Diagnostic> found;
  {
    nb::gil_scoped_release free;
    found = check(model, Paths(plugins.begin(), plugins.end()));
  }
  nb::list l;
  for (const Diagnostic& d : found) l.append(to_python(d));
  return l;
}

using NamedSizes = std::map<std::string, int64_t>;

nb::dict summary_to_python(const onnx::Model& model, const NamedSizes& sizes,
                           const std::vector<std::string>& plugins) {
  ModelSummary s;
  {
    nb::gil_scoped_release free;
    s = inspect(model, sizes, Paths(plugins.begin(), plugins.end()));
  }
  nb::dict d;
  d["graph_name"] = s.graph_name;
  d["producer"] = s.producer;
  d["ir_version"] = s.ir_version;
  d["opsets"] = s.opsets;
  d["inputs"] = to_python(s.inputs);
  d["outputs"] = to_python(s.outputs);
  d["symbols"] = s.symbols;
  d["operators"] = s.operators;
  d["nodes"] = s.nodes;
  d["functions"] = s.functions;
  d["parameters"] = s.parameters;
  d["parameter_bytes"] = s.parameter_bytes;
  d["flops"] =
      s.flops.is_constant() ? nb::object(nb::int_(s.flops.constant())) : nb::object(nb::cast(s.flops.str()));
  d["flops_unknown"] = s.flops_unknown;
  return d;
}

std::string graph_text(const onnx::Model& model, const std::string& form, const NamedSizes& sizes,
                       const std::vector<std::string>& plugins) {
  return describe_graph(model, graph_format(form), sizes, Paths(plugins.begin(), plugins.end()));
}

nb::dict fault_to_python(const VerifyReport::Fault& f) {
  nb::dict d;
  d["kind"] = std::string(name_of(f.kind));
  d["level"] = std::string(name_of(f.level));
  d["shapes"] = f.shapes;
  d["values"] = f.values;
  d["nodes"] = f.nodes;
  d["pass"] = f.pass;
  d["reason"] = f.reason;
  d["kernel"] = f.kernel;
  d["confirmed"] = f.confirmed;
  d["error"] = to_python(f.diagnostic);
  d["model"] = nb::cast(f.reproduction);
  return d;
}

nb::dict report_to_python(const VerifyReport& r) {
  nb::list trials;
  for (const auto& t : r.trials) {
    nb::dict d;
    d["level"] = std::string(name_of(t.level));
    d["shapes"] = t.shapes;
    d["values"] = t.values;
    d["difference"] = t.difference;
    d["amplified"] = t.amplified;
    trials.append(d);
  }
  nb::dict d;
  d["trials"] = trials;
  d["untried"] = r.untried;
  d["fault"] = r.fault ? nb::object(fault_to_python(*r.fault)) : nb::none();
  return d;
}

nb::dict verify_from_python(const onnx::Model& model, const BuildOptions& build,
                            const std::vector<std::string>& levels, const NamedSizes& sizes,
                            const nb::list& recorded, uint64_t seed, double seconds,
                            const std::filesystem::path& output) {
  VerifyOptions o{.build = build, .sizes = sizes, .seed = seed, .seconds = seconds};
  if (!levels.empty()) o.levels.clear();
  for (OptimizationLevel l : optimization_levels)
    if (std::ranges::find(levels, name_of(l)) != levels.end()) o.levels.push_back(l);
  for (nb::handle inputs : recorded) o.recorded.push_back(values_from_python(nb::cast<nb::dict>(inputs)));
  VerifyReport r;
  {
    nb::gil_scoped_release free;
    r = verify(model, o);
    if (r.fault && !output.empty()) save_reproduction(*r.fault, output);
  }
  return report_to_python(r);
}

nb::list timing_caches_to_python(const std::vector<std::filesystem::path>& caches,
                                 const std::filesystem::path& output) {
  nb::list machines;
  for (const auto& m : merge_timing_caches(caches, output).machines) {
    nb::dict d;
    d["cpu"] = m.cpu;
    d["features"] = m.features;
    d["version"] = m.version;
    d["problems"] = m.problems;
    d["untimed"] = m.untimed;
    d["here"] = m.here;
    machines.append(d);
  }
  return machines;
}

}  // namespace

GraphFormat graph_format(const std::string& form) {
  for (const auto& [name, format] :
       {std::pair{"text", GraphFormat::text}, {"json", GraphFormat::json}, {"dot", GraphFormat::dot}})
    if (form == name) return format;
  throw Error(Code::bad_argument, "python", "form = 'text', 'json' or 'dot'", "'" + form + "'");
}

void bind_tools(nb::module_& m) {
  m.def("verify", &verify_from_python, nb::arg("model"), nb::arg("options"), nb::arg("levels"),
        nb::arg("sizes"), nb::arg("recorded"), nb::arg("seed"), nb::arg("seconds"), nb::arg("output"),
        "Compares optimization levels with the reference; lathe.verify describes it.");
  m.def("check", &findings_to_python, nb::arg("model"), nb::arg("plugins"),
        "Returns the diagnostics of a model as dicts with the fields of lathe.Error.");
  m.def("inspect", &summary_to_python, nb::arg("model"), nb::arg("sizes"), nb::arg("plugins"),
        "Returns what is known of a model without running it; lathe.onnx.inspect describes it.");
  m.def("describe_graph", &graph_text, nb::arg("model"), nb::arg("form"), nb::arg("sizes"),
        nb::arg("plugins"), "Returns the graph after import as \"text\", \"json\" or \"dot\".");
  m.def("normalize", &normalize, nb::arg("model"), nb::arg("opset") = 0,
        "Returns the model at the lowest opset that can express it, or at this one.");
  m.def("operators", &operators_to_python, nb::arg("pattern") = "*",
        "Returns the operators whose names fit a shell pattern; lathe.operators describes them.");
  m.def("system_info", &system_to_python,
        "Returns facts about the machine and the library; lathe.system_info describes them.");
  m.def("devices", &devices_to_python, nb::arg("plugins"),
        "Returns the devices that engines can be built for; lathe.devices describes them.");
  m.def("merge_timing_caches", &timing_caches_to_python, nb::arg("caches"), nb::arg("output"),
        "Merges timing caches into a file and returns what they hold.");
}

}  // namespace lathe::python
