// Finds the names that hide those of outer blocks although they have no value yet.
//
// Jinja2 decides at compile time to which block a name belongs. A name that a block sets in every case, and
// has not read before, is that block's own from the beginning: blocks within it that read the name earlier
// find nothing, even if the caller gave a variable of that name. A name that is set in some branches only is
// the outer one until then.
#include <map>
#include <set>

#include "text/template/parser.h"

namespace lathe::jinja {

namespace {

/// The names of one block.
struct Symbols {
  enum class Load : uint8_t { parameter, outer, nothing };
  const Symbols* parent = nullptr;
  std::map<uint32_t, Load> loads = {};
  std::set<uint32_t> stores = {};

  bool knows(uint32_t name) const {
    for (const Symbols* s = this; s; s = s->parent)
      if (s->loads.contains(name)) return true;
    return false;
  }
  void parameter(uint32_t name) {
    stores.insert(name);
    loads[name] = Load::parameter;
  }
  void load(uint32_t name) {
    if (!knows(name)) loads[name] = Load::outer;
  }
  void store(uint32_t name) {
    stores.insert(name);
    if (loads.contains(name)) return;
    loads[name] = parent && parent->knows(name) ? Load::outer : Load::nothing;
  }
  /// Takes the names of branches, of which one at most runs.
  void merge(const std::vector<Symbols>& branches) {
    std::map<uint32_t, size_t> stored;
    for (const Symbols& b : branches)
      for (uint32_t name : b.stores)
        if (!stores.contains(name)) ++stored[name];
    for (const Symbols& b : branches) {
      for (const auto& [name, load] : b.loads) loads[name] = load;
      stores.insert(b.stores.begin(), b.stores.end());
    }
    for (const auto& [name, count] : stored)
      if (count < branches.size()) loads[name] = Load::outer;
  }
  std::vector<uint32_t> hidden() const {
    std::vector<uint32_t> all;
    for (const auto& [name, load] : loads)
      if (load == Load::nothing) all.push_back(name);
    return all;
  }
};

class SymbolFinder {
 public:
  explicit SymbolFinder(Program& program) : program_(program) {}

  void run() {
    Symbols root;
    visit(root, program_.body);
    program_.hidden = root.hidden();
    enter(root, program_.body);
  }

 private:
  void visit(Symbols& s, const Arguments& a) {
    for (const auto& e : a.positional) visit(s, e.get());
    for (const auto& [name, e] : a.named) visit(s, e.get());
    visit(s, a.more_positional.get());
    visit(s, a.more_named.get());
  }
  void visit(Symbols& s, const Expr* e) {
    if (!e) return;
    if (e->kind == ExprKind::name) s.load(e->name);
    for (const auto& item : e->items) visit(s, item.get());
    visit(s, e->arguments);
  }
  void visit(Symbols& s, const Target& t, bool parameter = false) {
    for (const Target& item : t.items) visit(s, item, parameter);
    if (t.is_tuple) return;
    if (!t.attribute.empty())
      s.load(t.name);
    else if (parameter)
      s.parameter(t.name);
    else
      s.store(t.name);
  }

  /// Notes the names that statements use in their own block.
  void visit(Symbols& s, const Block& block) {
    for (const StmtPtr& one : block) {
      switch (one->kind) {
        case StmtKind::if_else:
          branches(s, one->branches);
          break;
        case StmtKind::macro:
          s.store(one->name);
          break;
        case StmtKind::assign:
          visit(s, one->values[0].get());
          visit(s, one->targets[0]);
          break;
        case StmtKind::assign_block:
          visit(s, one->targets[0]);
          break;
        default:
          for (const auto& e : one->values) visit(s, e.get());
      }
    }
  }

  /// Jinja2 has three branches: the first, all of `elif`, and `else`.
  void branches(Symbols& s, const std::vector<std::pair<ExprPtr, Block>>& all) {
    visit(s, all[0].first.get());
    std::vector<Symbols> three(3, s);
    visit(three[0], all[0].second);
    for (size_t i = 1; i < all.size(); ++i) {
      if (!all[i].first) {
        visit(three[2], all[i].second);
        continue;
      }
      // Each is an `if` of its own.
      visit(three[1], all[i].first.get());
      std::vector<Symbols> inner(3, three[1]);
      visit(inner[0], all[i].second);
      three[1].merge(inner);
    }
    s.merge(three);
  }

  /// Finds the hidden names of the blocks within a block.
  void enter(const Symbols& outer, Block& block) {
    for (StmtPtr& one : block) {
      for (auto& [condition, body] : one->branches) enter(outer, body);
      if (one->kind == StmtKind::if_else || (one->body.empty() && one->otherwise.empty())) continue;
      Symbols inner{&outer};
      if (one->kind == StmtKind::for_loop) {
        inner.parameter(program_.find("loop"));
        visit(inner, one->targets[0], true);
      } else if (one->kind == StmtKind::with_block) {
        for (const Target& t : one->targets) visit(inner, t, true);
      }
      for (const Parameter& p : one->parameters) inner.parameter(p.name);
      for (const Parameter& p : one->parameters) visit(inner, p.fallback.get());
      visit(inner, one->body);
      one->hidden = inner.hidden();
      enter(inner, one->body);
      if (one->kind != StmtKind::for_loop) continue;
      Symbols other{&outer};
      visit(other, one->otherwise);
      one->hidden_otherwise = other.hidden();
      enter(other, one->otherwise);
    }
  }

  Program& program_;
};

}  // namespace

void find_hidden_names(Program& program) { SymbolFinder(program).run(); }

}  // namespace lathe::jinja
