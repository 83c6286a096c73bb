#include "json.h"

#include <fmt/core.h>

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace lathe::cli {

Json to_json(const Diagnostic& d) {
  Json j{{"code", code_name(d.code)},
         {"severity", d.severity == Diagnostic::Severity::warning ? "warning" : "error"},
         {"stage", d.stage}};
  if (!d.node.empty()) j["node"] = d.node;
  if (!d.op.empty()) j["operator"] = d.op;
  if (d.node_index >= 0) j["node_index"] = d.node_index;
  if (!d.inputs.empty()) j["inputs"] = d.inputs;
  j["expected"] = d.expected;
  j["got"] = d.got;
  if (!d.remedy.empty()) j["remedy"] = d.remedy;
  j["text"] = d.message();
  return j;
}

Json to_json(const std::optional<SymShape>& shape) {
  if (!shape) return nullptr;
  Json j = Json::array();
  for (const Dim& d : *shape) j.push_back(d.is_constant() ? Json(d.constant()) : Json(d.str()));
  return j;
}

Json to_json(const Shape& shape) {
  Json j = Json::array();
  for (int64_t d : shape) j.push_back(d);
  return j;
}

Json to_json(std::optional<uint64_t> number) { return number ? Json(*number) : Json(nullptr); }

Json to_json(const IoInfo& io) {
  return {{"name", io.name},
          {"type", io.type},
          {"shape", to_json(io.shape)},
          {"optional", io.optional},
          {"state", io.state.empty() ? Json() : Json(io.state)}};
}

Json summary(const Value& v) {
  if (!v.is_tensor()) return {{"type", describe(v)}};
  const Tensor& t = v.tensor();
  Json j{{"type", name_of(t.type())}, {"shape", to_json(t.shape())}};
  if (const auto s = statistics(t)) {
    j["min"] = s->min;
    j["max"] = s->max;
    j["mean"] = s->mean;
    if (s->nans) j["nans"] = s->nans;
    if (s->infinities) j["infinities"] = s->infinities;
  }
  j["first"] = first_elements(t, 8);
  return j;
}

void print(const Json& j) { fmt::print("{}\n", j.dump(2, ' ', false, Json::error_handler_t::replace)); }

}  // namespace lathe::cli
