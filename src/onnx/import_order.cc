#include "onnx/import_order.h"

#include <algorithm>
#include <queue>
#include <unordered_set>

#include "lathe/error.h"

namespace lathe {
namespace {

template <class F>
void each_body(const onnx::NodeProto& n, F&& f) {
  for (const onnx::AttributeProto& a : n.attribute) {
    if (a.g) f(*a.g);
    for (const onnx::GraphProto& g : a.graphs) f(g);
  }
}

template <class F>
void each_named(const onnx::NodeProto& n, F&& f) {
  if (!is_gradient(n.domain.value_or(""), n.op_type.value_or(""))) return;
  for (const onnx::AttributeProto& a : n.attribute) {
    if (a.s) f(a.s->view());
    for (const onnx::Bytes& b : a.strings) f(b.view());
  }
}

}  // namespace

const std::vector<std::string_view>& FreeNames::of(const onnx::GraphProto& g, int depth) {
  if (const auto at = known_.find(&g); at != known_.end()) return at->second;
  if (depth > max_nesting_)
    throw Error(Code::graph_too_deep, "import",
                "graphs nested at most " + std::to_string(max_nesting_) + " deep", "more",
                "a model made by a program that went wrong; see ImportOptions::max_nesting");
  std::unordered_set<std::string_view> defined;
  for (const auto& i : g.input)
    if (i.name) defined.insert(*i.name);
  for (const auto& t : g.initializer)
    if (t.name) defined.insert(*t.name);
  for (const auto& t : g.sparse_initializer)
    if (t.values && t.values->name) defined.insert(*t.values->name);
  for (const auto& n : g.node) defined.insert(n.output.begin(), n.output.end());
  std::vector<std::string_view> free;
  std::unordered_set<std::string_view> seen;
  auto read = [&](std::string_view name) {
    if (!name.empty() && !defined.contains(name) && seen.insert(name).second) free.push_back(name);
  };
  for (const auto& n : g.node) {
    for (const std::string& i : n.input) read(i);
    each_body(n, [&](const onnx::GraphProto& b) {
      for (std::string_view name : of(b, depth + 1)) read(name);
    });
  }
  for (const auto& o : g.output)
    if (o.name) read(*o.name);
  return known_.emplace(&g, std::move(free)).first->second;
}

NodeOrder order_nodes(const std::vector<onnx::NodeProto>& nodes, FreeNames& free_names,
                      const std::function<bool(std::string_view)>& is_given) {
  std::unordered_map<std::string_view, uint32_t> producer;
  for (uint32_t i = 0; i < nodes.size(); ++i)
    for (const std::string& o : nodes[i].output)
      if (!o.empty() && !is_given(o)) producer.try_emplace(o, i);
  auto each_producer = [&](const onnx::NodeProto& n, auto&& f) {
    auto read = [&](std::string_view name) {
      if (const auto at = producer.find(name); at != producer.end()) f(at->second);
    };
    for (const std::string& i : n.input) read(i);
    each_named(n, read);
    each_body(n, [&](const onnx::GraphProto& b) {
      for (std::string_view name : free_names.of(b)) read(name);
    });
  };

  NodeOrder order;
  for (uint32_t i = 0; i < nodes.size(); ++i)
    each_producer(nodes[i], [&](uint32_t p) { order.as_in_file &= p < i; });
  order.sorted.reserve(nodes.size());
  if (order.as_in_file) {
    for (uint32_t i = 0; i < nodes.size(); ++i) order.sorted.push_back(i);
    return order;
  }
  std::vector<uint32_t> waiting(nodes.size(), 0);
  std::vector<std::vector<uint32_t>> readers(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i)
    each_producer(nodes[i], [&](uint32_t p) {
      readers[p].push_back(i);
      ++waiting[i];
    });
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (!waiting[i]) ready.push(i);
  while (!ready.empty()) {
    const uint32_t i = ready.top();
    ready.pop();
    order.sorted.push_back(i);
    for (uint32_t r : readers[i])
      if (--waiting[r] == 0) ready.push(r);
  }
  if (order.sorted.size() == nodes.size()) return order;

  // The nodes that are left are in a cycle or depend on one. The latter are removed from the end.
  std::vector<uint32_t> read(nodes.size(), 0), ends;
  auto each_waiting_producer = [&](uint32_t i, auto&& f) {
    each_producer(nodes[i], [&](uint32_t p) {
      if (waiting[p]) f(p);
    });
  };
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (waiting[i]) each_waiting_producer(i, [&](uint32_t p) { ++read[p]; });
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (waiting[i] && !read[i]) ends.push_back(i);
  while (!ends.empty()) {
    const uint32_t i = ends.back();
    ends.pop_back();
    order.behind.push_back(i);
    each_waiting_producer(i, [&](uint32_t p) {
      if (--read[p] == 0) ends.push_back(p);
    });
  }
  std::reverse(order.behind.begin(), order.behind.end());
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (waiting[i] && read[i]) order.in_cycle.push_back(i);
  return order;
}

}  // namespace lathe
