// `lathe ops`: the operators that are supported, straight from the registry.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "command.h"
#include "json.h"
#include "text.h"

namespace lathe::cli {
namespace {

std::string domain_text(const OperatorInfo& op) { return op.domain.empty() ? "ai.onnx" : op.domain; }

Json kernels_json(const std::vector<OperatorInfo::KernelInfo>& kernels) {
  Json list = Json::array();
  for (const auto& k : kernels) list.push_back({{"name", k.name}, {"backend", k.backend}, {"isa", k.isa}});
  return list;
}

Json operator_json(const OperatorInfo& op) {
  Json j{{"domain", domain_text(op)},
         {"name", op.name},
         {"folder", op.folder},
         {"versions", Json::array()},
         {"kernels", kernels_json(op.kernels)},
         {"internal_forms", Json::array()},
         {"fast", op.fast},
         {"differentiable", op.differentiable},
         {"component", op.component.empty() ? Json(nullptr) : Json(op.component)}};
  for (const auto& v : op.versions) {
    Json types = Json::object();
    for (const auto& [variable, names] : v.types) types[variable] = names;
    j["versions"].push_back(
        {{"since", v.since}, {"deprecated", v.deprecated}, {"signature", v.signature}, {"types", types}});
  }
  for (const auto& form : op.internal_forms)
    j["internal_forms"].push_back(
        {{"name", form.name}, {"folder", form.folder}, {"kernels", kernels_json(form.kernels)}});
  return j;
}

std::string versions_text(const OperatorInfo& op) {
  std::vector<std::string> items;
  for (const auto& v : op.versions)
    items.push_back(std::to_string(v.since) + (v.deprecated ? " (ended)" : ""));
  return join(items, ", ");
}

std::string kernels_text(const OperatorInfo& op) {
  std::vector<std::string> items;
  for (const auto& k : op.kernels) {
    std::string word = k.backend == "cpu" ? k.isa : k.backend;
    if (std::find(items.begin(), items.end(), word) == items.end()) items.push_back(std::move(word));
  }
  return items.empty() ? "none" : join(items, ", ");
}

void print_list(const std::vector<OperatorInfo>& ops) {
  Table t("");
  t.add({"operator", "versions", "kernels", "fast"});
  for (const auto& op : ops)
    t.add({op.domain.empty() ? op.name : op.domain + "." + op.name, versions_text(op), kernels_text(op),
           join(op.fast, " ")});
  t.print();
  fmt::print("{} operators\n", ops.size());
}

void print_kernels(const std::vector<OperatorInfo::KernelInfo>& kernels, const char* indent) {
  Table t(indent);
  for (const auto& k : kernels) t.add({k.name, k.backend, k.isa});
  t.print();
}

void print_one(const OperatorInfo& op) {
  fmt::print("{} ({})\n", op.name, domain_text(op));
  fmt::print("  folder src/ops/{}\n", op.folder);
  for (const auto& v : op.versions) {
    fmt::print("  since {}{}\n", v.since, v.deprecated ? ": ended, replaced at import" : "");
    if (!v.signature.empty()) fmt::print("    {}\n", v.signature);
    for (const auto& [variable, names] : v.types) fmt::print("    {}: {}\n", variable, join(names, " "));
  }
  if (!op.component.empty())
    fmt::print("  needs the optional component '{}': `lathe info` tells whether it is there\n", op.component);
  if (op.differentiable) fmt::print("  may stand between xs and y of a Gradient\n");
  if (!op.fast.empty()) fmt::print("  fast: {}\n", join(op.fast, " "));
  fmt::print("  kernels\n");
  print_kernels(op.kernels, "    ");
  if (op.internal_forms.empty()) return;
  fmt::print("  may run as\n");
  for (const auto& form : op.internal_forms) {
    fmt::print("    {} (src/ops/{})\n", form.name, form.folder);
    print_kernels(form.kernels, "      ");
  }
}

int run(const std::string& pattern, bool json) {
  const auto ops = operators(pattern.empty() ? "*" : pattern);
  if (ops.empty())
    refuse_argument("the name of a supported operator", "'" + pattern + "'", "`lathe ops` lists them");
  const bool one = !pattern.empty() && ops.size() == 1;
  if (json) {
    Json list = Json::array();
    for (const auto& op : ops) list.push_back(operator_json(op));
    print({{"operators", list}});
  } else {
    one ? print_one(ops[0]) : print_list(ops);
  }
  return success;
}

}  // namespace

void add_ops(CLI::App& app, Command& command) {
  CLI::App* sub = declare(app, command, "ops", "List the operators that are supported, per version and type",
                          "  lathe ops\n  lathe ops Softmax\n  lathe ops 'Reduce*' --json\n");
  auto pattern = std::make_shared<std::string>();
  sub->add_option("NAME", *pattern, "An operator's name, or a shell pattern");
  sub->callback(
      [&command, pattern] { command.run = [&command, pattern] { return run(*pattern, command.json); }; });
}

}  // namespace lathe::cli
