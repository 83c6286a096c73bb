// Derivatives of what moves elements about.
#include <cstdint>

#include "gradient/backward.h"

namespace lathe {
namespace {

/// The same elements in the same order.
void reshape(Backward& b) { b.give(0, b.shaped_like(b.gradient(), b.x())); }

void transpose(Backward& b) {
  const auto* perm = b.attributes().get_if<std::vector<int64_t>>("perm");
  if (!perm) return b.give(0, b.add("Transpose", {b.gradient()}));  // the other way about is its own inverse
  // Of a known rank, so that inference has looked at what perm says.
  if (b.rank(b.x()) != perm->size()) b.refuse("a perm of all axes", std::to_string(perm->size()));
  std::vector<int64_t> back(perm->size());
  for (size_t i = 0; i < perm->size(); ++i) back[static_cast<size_t>((*perm)[i])] = static_cast<int64_t>(i);
  b.give(0, b.add("Transpose", {b.gradient()}, with("perm", std::move(back))));
}

void expand(Backward& b) { b.give_broadcast(0, b.gradient()); }

void concat(Backward& b) {
  const Attributes axis = with("axis", b.attributes().get<int64_t>("axis", 0));
  const size_t n = b.node().inputs.size();
  const auto rank = static_cast<int64_t>(b.rank(b.x()));
  const int64_t a = b.attributes().get<int64_t>("axis", 0), at = a < 0 ? a + rank : a;
  Attributes one = with("start", at);
  one.set("end", at + 1);
  std::vector<ValueId> sizes;
  for (size_t i = 0; i < n; ++i) sizes.push_back(b.add("Shape", {b.x(i)}, one));
  const auto parts = b.add_all(
      "Split", {b.gradient(), b.add("Concat", std::move(sizes), with("axis", int64_t{0}))}, n, axis);
  for (size_t i = 0; i < n; ++i) b.give(i, parts[i]);
}

ValueId flat(Backward& b, ValueId v) { return b.add("Reshape", {v, b.ints({-1})}); }

/// Of operators whose outputs are elements of input 0, or zeros: the operator itself moves the elements'
/// numbers, from 1 (0 is nobody's), and then every gradient is added where the number says.
void selection(Backward& b) {
  const ValueId x = b.x();
  const ValueId one = b.add("Squeeze", {b.ints({1})}), count = b.add("Size", {x});
  const ValueId numbers = b.shaped_like(b.add("Range", {one, b.add("Add", {count, one}), one}), x);
  std::vector<ValueId> inputs = b.node().inputs;
  inputs[0] = numbers;
  if (b.node().op == "Pad" && inputs.size() > 2) {
    if (b.wants(2)) b.refuse("a Pad whose constant_value does not depend on xs", "one that does");
    inputs[2] = no_id;
    while (inputs.back() == no_id) inputs.pop_back();
  }
  const std::vector<ValueId> moved =
      b.add_all(b.node().op, std::move(inputs), b.node().outputs.size(), b.attributes());
  std::vector<ValueId> places, gradients;
  for (size_t i = 0; i < moved.size(); ++i) {
    if (b.gradient(i) == no_id) continue;
    places.push_back(flat(b, moved[i]));
    gradients.push_back(flat(b, b.gradient(i)));
  }
  const auto joined = [&](const std::vector<ValueId>& v) {
    return v.size() == 1 ? v[0] : b.add("Concat", v, with("axis", int64_t{0}));
  };
  const ValueId zeros = b.add("Pad", {flat(b, b.zeros_like(x)), b.ints({1, 0})});
  Attributes adding = with("axis", int64_t{0});
  adding.set("reduction", std::string("add"));
  const ValueId sums =
      b.add("ScatterElements", {zeros, joined(places), joined(gradients)}, std::move(adding));
  const ValueId sliced = b.add("Slice", {sums, b.ints({1}), b.ints({INT64_MAX}), b.ints({0})});
  b.give(0, b.shaped_like(sliced, x));
}

/// The numbers of the greatest are an output of it.
void max_pool(Backward& b) {
  Attributes a = b.attributes();
  a.set("storage_order", int64_t{0});
  const auto again = b.add_all("MaxPool", {b.x()}, 2, std::move(a));
  Attributes adding = with("axis", int64_t{0});
  adding.set("reduction", std::string("add"));
  const ValueId sums =
      b.add("ScatterElements", {flat(b, b.zeros_like(b.x())), flat(b, again[1]), flat(b, b.gradient())},
            std::move(adding));
  b.give(0, b.shaped_like(sums, b.x()));
}

void scatter_elements(Backward& b) {
  const std::string how = b.attributes().get<std::string>("reduction", "none");
  if (how != "none" && how != "add") b.refuse("ScatterElements that adds or replaces", "reduction " + how);
  const Attributes axis = with("axis", b.attributes().get<int64_t>("axis", 0));
  if (b.wants(2)) b.give(2, b.add("GatherElements", {b.gradient(), b.x(1)}, axis));
  if (b.wants(0))
    b.give(0, how == "add" ? b.gradient()
                           : b.add("ScatterElements", {b.gradient(), b.x(1), b.zeros_like(b.x(2))}, axis));
}

void scatter_nd(Backward& b) {
  const std::string how = b.attributes().get<std::string>("reduction", "none");
  if (how != "none" && how != "add") b.refuse("ScatterND that adds or replaces", "reduction " + how);
  if (b.wants(2)) b.give(2, b.add("GatherND", {b.gradient(), b.x(1)}));
  if (b.wants(0))
    b.give(0, how == "add" ? b.gradient() : b.add("ScatterND", {b.gradient(), b.x(1), b.zeros_like(b.x(2))}));
}

}  // namespace

void add_movement_rules(RuleTable& t) {
  t["Flatten"] = t["Reshape"] = t["Squeeze"] = t["Unsqueeze"] = reshape;
  t["Transpose"] = transpose;
  t["Expand"] = expand;
  t["Concat"] = concat;
  for (const char* op : {"CenterCropPad", "Compress", "DepthToSpace", "Gather", "GatherElements", "GatherND",
                         "Pad", "ReverseSequence", "Slice", "SpaceToDepth", "Split", "Tile", "Trilu"})
    t[op] = selection;
  t["MaxPool"] = max_pool;
  t["ScatterElements"] = scatter_elements;
  t["ScatterND"] = scatter_nd;
}

}  // namespace lathe
