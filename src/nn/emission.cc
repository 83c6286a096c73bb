#include "nn/access.h"

namespace lathe::nn {

Emission::Emission(const Network& network, Module& root, const std::string& prefix,
                   std::vector<Substitute> substitutes) {
  if (std::vector<std::string> unbound = root.unbound(); !unbound.empty()) {
    for (std::string& path : unbound) path = prefix + path;
    throw detail::fault(Code::bad_argument, "", "a module whose parameters all have weights",
                        std::to_string(unbound.size()) + " without: " + detail::listed(unbound),
                        "assign .value of each, or call Module::bind()");
  }
  for (const NamedParameter& p : root.named_parameters())
    detail::Access::slot(p.parameter)->name = prefix + p.name;
  const auto shared =
      substitutes.empty() ? nullptr : std::make_shared<const std::vector<Substitute>>(std::move(substitutes));
  const std::string path =
      prefix.empty() || prefix.back() != '.' ? prefix : prefix.substr(0, prefix.size() - 1);
  detail::visit(root, path,
                {.parameter = {}, .module = [&](const std::string& at, Module& m) {
                   auto& place = detail::Access::place(m);
                   before_.emplace_back(&m, std::move(place));
                   place = std::make_shared<const detail::Place>(detail::Place{network, at, shared});
                 }});
}

Emission::~Emission() {
  // In reverse order, so that a module that is a member twice gets its first value back.
  for (auto at = before_.rbegin(); at != before_.rend(); ++at)
    detail::Access::place(*at->first) = std::move(at->second);
}

}  // namespace lathe::nn
