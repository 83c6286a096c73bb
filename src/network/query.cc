// Queries: "kind == convolution && consumers > 1".
#include <charconv>

#include "base/glob.h"
#include "network/state.h"

namespace lathe {
namespace {

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

struct Term {
  std::string_view field, relation, value;
};

Term parse_term(std::string_view text) {
  for (const std::string_view relation : {"==", "!=", "<=", ">=", "<", ">"}) {
    const size_t at = text.find(relation);
    if (at == std::string_view::npos) continue;
    Term t{trimmed(text.substr(0, at)), relation, trimmed(text.substr(at + relation.size()))};
    if (t.value.size() >= 2 && t.value.front() == '"' && t.value.back() == '"')
      t.value = t.value.substr(1, t.value.size() - 2);
    return t;
  }
  throw Error(Code::text_syntax, "network",
              "FIELD OP VALUE with ==, !=, <, <=, > or >=", "'" + std::string(text) + "'");
}

bool holds(std::string_view relation, int64_t a, int64_t b) {
  if (relation == "==") return a == b;
  if (relation == "!=") return a != b;
  if (relation == "<") return a < b;
  if (relation == "<=") return a <= b;
  return relation == ">" ? a > b : a >= b;
}

int64_t count(const Layer& l, std::string_view field) {
  if (field == "inputs") return static_cast<int64_t>(l.num_inputs());
  if (field == "outputs") return static_cast<int64_t>(l.num_outputs());
  if (field == "operators") return static_cast<int64_t>(l.operators().size());
  if (field != "consumers")
    throw Error(Code::text_syntax, "network",
                "a field kind, name, op, consumers, inputs, outputs or operators",
                "'" + std::string(field) + "'");
  int64_t n = 0;
  for (const TensorRef& t : l.outputs()) n += static_cast<int64_t>(t.consumers().size());
  return n;
}

bool fulfils(const Layer& l, const Term& t) {
  if (t.field == "kind" || t.field == "name" || t.field == "op") {
    if (t.relation != "==" && t.relation != "!=")
      throw Error(Code::text_syntax, "network", "== or != of " + std::string(t.field),
                  "'" + std::string(t.relation) + "'");
    bool fits = false;
    if (t.field == "op")
      for (const std::string& op : l.operators()) fits = fits || glob_match(t.value, op);
    else
      fits = glob_match(t.value, t.field == "kind" ? l.kind() : l.name());
    return fits == (t.relation == "==");
  }
  int64_t number = 0;
  const int64_t n = count(l, t.field);
  const auto [end, fault] = std::from_chars(t.value.data(), t.value.data() + t.value.size(), number);
  if (fault != std::errc() || end != t.value.data() + t.value.size())
    throw Error(Code::text_syntax, "network", "a number to compare " + std::string(t.field) + " with",
                "'" + std::string(t.value) + "'");
  return holds(t.relation, n, number);
}

}  // namespace

std::vector<Layer> Network::query(std::string_view query) const {
  std::vector<Term> terms;
  for (std::string_view rest = query;;) {
    const size_t at = rest.find("&&");
    terms.push_back(parse_term(rest.substr(0, at)));
    if (at == std::string_view::npos) break;
    rest.remove_prefix(at + 2);
  }
  return find([&](const Layer& l) {
    for (const Term& t : terms)
      if (!fulfils(l, t)) return false;
    return true;
  });
}

}  // namespace lathe
