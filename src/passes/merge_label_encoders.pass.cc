// LabelEncoder after LabelEncoder: one table, which leads from the first keys to the last values.
#include <map>

#include "ops/label_encoder/label_encoder.h"
#include "passes/pass.h"

namespace lathe {
namespace {

/// The second encoder as a function of the values that it looks up; floats are not compared here.
template <class Middle, class To>
struct Second {
  Second(const std::vector<Middle>& keys, const std::vector<To>& values, To otherwise)
      : otherwise_(std::move(otherwise)) {
    for (size_t i = 0; i < keys.size(); ++i) table_[keys[i]] = values[i];  // the last of equal ones counts
  }
  const To& operator()(const Middle& m) const {
    const auto at = table_.find(m);
    return at == table_.end() ? otherwise_ : at->second;
  }

 private:
  std::map<Middle, To> table_;
  To otherwise_;
};

bool is_encoder(const Node& n) { return n.op == "LabelEncoder" && n.domain == "ai.onnx.ml"; }

/// Sets the values and the default of the merged encoder, from those of the first and the second.
template <class Middle, class To>
void lead_on(Attributes& a, const std::vector<Middle>& first, const Middle& first_default,
             const Second<Middle, To>& second, std::string values, std::string otherwise) {
  std::vector<To> list;
  for (const Middle& m : first) list.push_back(second(m));
  a.set(std::move(values), std::move(list));
  a.set(std::move(otherwise), second(first_default));
}

template <class Middle>
bool lead_on(Attributes& a, const std::vector<Middle>& first, const Middle& first_default,
             const std::vector<Middle>& keys, const LabelEncoder& second) {
  if (first.empty() || keys.empty()) return false;
  const auto to = [&]<class To>(const std::vector<To>& values, const To& otherwise, const char* values_name,
                                const char* default_name) {
    if (values.size() != keys.size()) return false;
    lead_on(a, first, first_default, Second<Middle, To>(keys, values, otherwise), values_name, default_name);
    return true;
  };
  return to(second.values_strings, second.default_string, "values_strings", "default_string") ||
         to(second.values_int64s, second.default_int64, "values_int64s", "default_int64") ||
         to(second.values_floats, second.default_float, "values_floats", "default_float");
}

std::optional<Patch> propose_merge_label_encoders(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const NodeId before = is_encoder(n) ? view.producer(n.inputs[0]) : no_id;
  if (before == no_id || !is_encoder(view.node(before)) || !view.read_once(n.inputs[0])) return std::nullopt;
  const auto first = decode<LabelEncoder>(view.node(before).attributes),
             second = decode<LabelEncoder>(n.attributes);
  for (const LabelEncoder* e : {&first, &second})
    if (e->keys_tensor || e->values_tensor || e->default_tensor) return std::nullopt;
  Attributes a;
  for (const char* keys : {"keys_strings", "keys_int64s", "keys_floats"})
    if (const AttributeValue* list = view.node(before).attributes.find(keys)) a.set(keys, *list);
  if (!lead_on(a, first.values_strings, first.default_string, second.keys_strings, second) &&
      !lead_on(a, first.values_int64s, first.default_int64, second.keys_int64s, second))
    return std::nullopt;
  Patch p("two tables are one");
  p.replace_uses(n.outputs[0], p.add_node(n.op, view.node(before).inputs, 1, std::move(a), n.domain)[0]);
  p.remove(id);
  return p;
}

}  // namespace

void pass_merge_label_encoders(PassList& all) {
  all.push_back({.name = "merge-label-encoders",
                 .description = "looks up once what two LabelEncoders look up one after the other",
                 .level = OptimizationLevel::basic,
                 .anchors = {},
                 .propose = propose_merge_label_encoders});
}

}  // namespace lathe
