#include "lathe/nn/module.h"

#include <unordered_map>

#include "base/error_about.h"
#include "base/glob.h"
#include "base/nearest.h"
#include "nn/access.h"

namespace lathe::nn {
namespace detail {
namespace {

class Walk final : public Fields {
 public:
  Walk(std::string path, const Visitor& visitor) : path_(std::move(path)), visitor_(visitor) {}

 protected:
  void parameter(std::string_view name, Parameter& p) override {
    if (visitor_.parameter) visitor_.parameter(join(path_, name), p);
  }
  void module(std::string_view name, Module& m) override { visit(m, join(path_, name), visitor_); }

 private:
  std::string path_;
  const Visitor& visitor_;
};

}  // namespace

void visit(Module& root, const std::string& path, const Visitor& visitor) {
  if (visitor.module) visitor.module(path, root);
  Walk walk(path, visitor);
  root.fields(walk);
}

std::string join(std::string_view path, std::string_view name) {
  // A member without a name adds nothing: its members are members of the module around it.
  if (path.empty()) return std::string(name);
  if (name.empty()) return std::string(path);
  return std::string(path) + "." + std::string(name);
}

Error fault(Code code, std::string where, std::string expected, std::string got, std::string remedy) {
  return error_about(code, "nn", std::move(where), std::move(expected), std::move(got), std::move(remedy));
}

std::string near(std::string_view wanted, const std::vector<std::string>& known) {
  const std::vector<std::string> names = nearest_names(wanted, known);
  return names.empty() ? std::string() : "near to it: " + listed(names);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "'" : ", '") + n + "'";
  return text;
}

}  // namespace detail

Module::Module() = default;
Module::Module(const Module&) {}
Module& Module::operator=(const Module&) { return *this; }
Module::~Module() = default;

std::vector<NamedParameter> Module::named_parameters() const {
  std::vector<NamedParameter> list;
  std::unordered_map<const detail::Slot*, size_t> seen;
  // fields() gives mutable members; here they are only read.
  detail::visit(const_cast<Module&>(*this), "",
                {.parameter =
                     [&](const std::string& path, Parameter& p) {
                       const auto [at, fresh] = seen.try_emplace(detail::Access::slot(p), list.size());
                       if (fresh)
                         list.push_back({path, p, {}});
                       else
                         list[at->second].aliases.push_back(path);
                     },
                 .module = {}});
  return list;
}

Parameter Module::parameter(std::string_view path) const {
  std::vector<std::string> known;
  for (const NamedParameter& p : named_parameters()) {
    if (p.name == path) return p.parameter;
    for (const std::string& alias : p.aliases)
      if (alias == path) return p.parameter;
    known.push_back(p.name);
  }
  throw detail::fault(Code::bad_argument, "", "the path of a parameter", "'" + std::string(path) + "'",
                      detail::near(path, known));
}

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> list;
  detail::visit(*this, "", {.parameter = {}, .module = [&](const std::string& path, Module& m) {
                              list.emplace_back(path, &m);
                            }});
  return list;
}

std::vector<std::string> Module::unbound() const {
  std::vector<std::string> paths;
  for (const NamedParameter& p : named_parameters())
    if (!p.parameter.bound()) paths.push_back(p.name);
  return paths;
}

std::optional<TensorRef> Module::substituted(const TensorRef& x) const {
  if (!place_ || !place_->substitutes) return std::nullopt;
  // Kept alive, because the substitute may emit this module itself, which replaces its place.
  const std::shared_ptr<const detail::Place> place = place_;
  for (const Substitute& s : *place->substitutes)
    if (glob_match(s.modules, place->path)) {
      Network network = place->network;
      return s.emit(*this, network, x);
    }
  return std::nullopt;
}

}  // namespace lathe::nn
