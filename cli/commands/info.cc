// `lathe info`: this machine, and how the library uses it.
#include <fmt/core.h>

#include "command.h"
#include "json.h"
#include "text.h"

namespace lathe::cli {
namespace {

Json component_json(const ComponentInfo& c) {
  return {{"name", c.name},
          {"operators", c.operators},
          {"path", c.path.empty() ? Json(nullptr) : Json(c.path.string())},
          {"has", c.has},
          {"lacks", c.lacks},
          {"missing", c.missing}};
}

std::string component_text(const ComponentInfo& c) {
  if (c.path.empty()) return "left out: " + c.missing;
  return c.path.string() + (c.has.empty() ? "" : ": " + c.has) +
         (c.lacks.empty() ? "" : "; left out: " + c.lacks);
}

Json device_json(const DeviceInfo& d) {
  Json types = Json::array(), details = Json::array();
  for (DataType t : d.facts.types) types.push_back(name_of(t));
  for (const auto& [key, value] : d.facts.details) details.push_back({{"key", key}, {"value", value}});
  return {{"name", d.name},
          {"description", d.facts.description},
          {"types", std::move(types)},
          {"instruction_sets", d.facts.instruction_sets},
          {"details", std::move(details)},
          {"memory_total", d.memory.total ? Json(d.memory.total) : Json(nullptr)},
          {"memory_free", d.memory.total ? Json(d.memory.free) : Json(nullptr)}};
}

std::string device_text(const DeviceInfo& d) {
  std::vector<std::string> said;
  if (!d.facts.description.empty()) said.push_back(d.facts.description);
  if (d.memory.total)
    said.push_back(bytes_text(d.memory.free) + " of " + bytes_text(d.memory.total) + " free");
  if (!d.facts.instruction_sets.empty())
    said.push_back("instructions " + join(d.facts.instruction_sets, ", "));
  std::vector<std::string> types;
  for (DataType t : d.facts.types) types.emplace_back(name_of(t));
  if (!types.empty()) said.push_back("elements " + join(types, ", "));
  for (const auto& [key, value] : d.facts.details) said.push_back(key + " " + value);
  return join(said, "; ");
}

void print_json(const SystemInfo& s, const std::vector<DeviceInfo>& devices,
                const std::vector<PassInfo>& passes) {
  Json device_list = Json::array();
  for (const DeviceInfo& d : devices) device_list.push_back(device_json(d));
  Json components = Json::array();
  for (const ComponentInfo& c : s.components) components.push_back(component_json(c));
  Json list = Json::array();
  for (const PassInfo& p : passes)
    list.push_back({{"name", p.name},
                    {"phase", p.lowering ? "lowering" : "graph"},
                    {"required", p.required},
                    {"target", p.target},
                    {"needs", p.needs},
                    {"provides", p.provides},
                    {"level", name_of(p.level)},
                    {"by_default", p.by_default},
                    {"description", p.description}});
  print({{"version", s.version},
         {"cpu", s.cpu},
         {"isa", s.isa},
         {"features", s.features},
         {"processors_online", s.processors_online},
         {"processors_allowed", s.processors_allowed},
         {"cpu_quota", s.cpu_quota > 0 ? Json(s.cpu_quota) : Json(nullptr)},
         {"memory_total", s.memory_total},
         {"memory_limit", s.memory_limit ? Json(s.memory_limit) : Json(nullptr)},
         {"threads", s.threads},
         {"threads_reason", s.threads_reason},
         {"newest_opset", s.newest_opset},
         {"newest_ir_version", s.newest_ir_version},
         {"devices", std::move(device_list)},
         {"components", std::move(components)},
         {"passes", std::move(list)}});
}

void print_text(const SystemInfo& s, const std::vector<DeviceInfo>& devices,
                const std::vector<PassInfo>& passes) {
  Table t("");
  t.add({"lathe", s.version});
  t.add({"speaks",
         fmt::format("ai.onnx up to opset {}, IR version up to {}", s.newest_opset, s.newest_ir_version)});
  t.add({"processor", s.cpu.empty() ? "unknown" : s.cpu});
  t.add({"instructions", s.isa + (s.features.empty() ? "" : " (found: " + join(s.features, ", ") + ")")});
  t.add({"processors", fmt::format("{} of {} may be used", s.processors_allowed, s.processors_online)});
  t.add({"quota", s.cpu_quota > 0 ? fmt::format("{:.2f} processors", s.cpu_quota) : "none"});
  t.add({"memory", bytes_text(s.memory_total) +
                       (s.memory_limit ? ", limited to " + bytes_text(s.memory_limit) : ", no limit")});
  t.add({"threads", fmt::format("{}: {}", s.threads, s.threads_reason)});
  t.print();
  fmt::print("\nDevices that engines can be built for (--backend), those of plug-ins included\n");
  Table device_table;
  for (const DeviceInfo& d : devices) device_table.add({d.name, device_text(d)});
  device_table.print();
  fmt::print("\nOptional components, and the operators that need them\n");
  Table components;
  for (const ComponentInfo& c : s.components)
    components.add({c.name, join(c.operators, ", "), component_text(c)});
  components.print();
  fmt::print(
      "\nPasses of the optimizer, and the level that has them; \"+\" those that only --passes=+NAME runs\n");
  Table list, lowering;
  for (const PassInfo& p : passes)
    if (p.lowering)
      lowering.add({p.name, p.target, p.required ? "always" : "", p.needs, p.description});
    else
      list.add({p.name, (p.by_default ? "" : "+ ") + std::string(name_of(p.level)), p.description});
  list.print();
  fmt::print(
      "\nPasses of the lowering in their order, for one target or all, and what they need; --passes=-NAME "
      "leaves "
      "out those that are not always run\n");
  lowering.print();
}

}  // namespace

void add_info(CLI::App& app, Command& command) {
  CLI::App* sub = declare(app, command, "info",
                          "Tell what the processor can do, what limits hold, and how many threads are used",
                          "  lathe info\n  lathe info --json\n");
  const auto plugins = std::make_shared<std::vector<std::filesystem::path>>();
  sub->add_option("--plugin", *plugins,
                  "A shared library whose devices and passes are told, too; may be repeated");
  sub->callback([&command, plugins] {
    command.run = [&command, plugins] {
      const SystemInfo s = system_info();
      const std::vector<DeviceInfo> known = devices(*plugins);
      const std::vector<PassInfo> all = passes(*plugins);
      command.json ? print_json(s, known, all) : print_text(s, known, all);
      return success;
    };
  });
}

}  // namespace lathe::cli
