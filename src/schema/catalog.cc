#include "schema/schema.h"

namespace lathe {

void declare_all_operators(SchemaCatalog& all);

OpSchema& SchemaCatalog::add(std::string domain, std::string name) {
  const OpKey key{std::string(canonical_domain(domain)), name};
  if (ops_.contains(key))
    throw Error(Code::internal, "declare", "operators declared once", "'" + name + "' twice");
  OpSchema& made = ops_.emplace(key, OpSchema(key.first, std::move(name))).first->second;
  made.folder_ = folder_;
  return made;
}

const OpSchema* SchemaCatalog::find(std::string_view domain, std::string_view name) const {
  const auto at = ops_.find(OpKeyView{canonical_domain(domain), name});
  return at == ops_.end() ? nullptr : &at->second;
}

bool SchemaCatalog::knows_domain(std::string_view domain) const {
  const auto at = ops_.lower_bound(OpKeyView{canonical_domain(domain), {}});
  return at != ops_.end() && at->first.first == canonical_domain(domain);
}

const SchemaCatalog& SchemaCatalog::standard() {
  static const SchemaCatalog catalog = [] {
    SchemaCatalog c;
    declare_all_operators(c);
    return c;
  }();
  return catalog;
}

}  // namespace lathe
