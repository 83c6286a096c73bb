#include "onnx/import_functions.h"

#include <algorithm>

#include "base/op_key.h"
#include "onnx/optional_text.h"

namespace lathe {
FunctionTable::Key FunctionTable::key_of(const onnx::NodeProto& n) {
  return {canonical_domain(text(n.domain)), text(n.op_type), text(n.overload)};
}

FunctionTable::FunctionTable(const std::vector<onnx::FunctionProto>& functions, size_t max_nodes,
                             int max_nesting, std::vector<Diagnostic>& findings) {
  for (const onnx::FunctionProto& f : functions) {
    const Key key{canonical_domain(text(f.domain)), text(f.name), text(f.overload)};
    Entry e;
    e.function = &f;
    entries_.push_back(e);
    if (!index_.try_emplace(key, entries_.size() - 1).second)
      refuse(entries_.back(), Code::graph_duplicate_name, "functions of different domain, name or overload",
             "two of this name", "rename one, or give it an overload", findings);
  }
  for (Entry& e : entries_) {
    try {
      collect_calls(e, e.function->node, max_nesting);
    } catch (const Error& x) {
      refuse(e, x.code(), x.diagnostic().expected, x.diagnostic().got, x.diagnostic().remedy, findings);
      e.calls.clear();
    }
  }

  // A depth-first search with an explicit stack: a callee is done before its caller, unless the calls are
  // recursive.
  enum class Mark : uint8_t { fresh, open, done };
  std::vector<Mark> marks(entries_.size(), Mark::fresh);
  std::vector<size_t> grown(entries_.size(), 0);  // nodes after inlining
  std::vector<int> height(entries_.size(), 0);
  for (size_t root = 0; root < entries_.size(); ++root) {
    std::vector<std::pair<size_t, size_t>> stack;  // entry, next call
    if (marks[root] == Mark::fresh) stack.emplace_back(root, 0), marks[root] = Mark::open;
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      Entry& e = entries_[at];
      if (next < e.calls.size()) {
        const size_t callee = e.calls[next++];
        if (marks[callee] == Mark::fresh) {
          marks[callee] = Mark::open;
          stack.emplace_back(callee, 0);
        } else if (marks[callee] == Mark::open && !entries_[callee].refused) {
          refuse(entries_[callee], Code::function_recursion, "functions that do not call themselves",
                 "a call of itself through '" + std::string(text(e.function->name)) + "'",
                 "use Loop for recurrence", findings);
        }
        continue;
      }
      grown[at] = e.nodes;
      for (size_t c : e.calls) {
        grown[at] = std::min(grown[at] + grown[c], max_nodes + 1);
        height[at] = std::max(height[at], height[c] + 1);
        if (entries_[c].refused && !e.refused) e.refused = true;  // reported once, for the faulty function
      }
      if (!e.refused && grown[at] > max_nodes)
        refuse(
            e, Code::function_too_large, "at most " + std::to_string(max_nodes) + " nodes after inlining",
            "more",
            "functions that call each other more than once grow exponentially; see ImportOptions::max_nodes",
            findings);
      if (!e.refused && height[at] > max_nesting)
        refuse(e, Code::function_too_large,
               "functions nested at most " + std::to_string(max_nesting) + " deep", "more",
               "see ImportOptions::max_nesting", findings);
      marks[at] = Mark::done;
      stack.pop_back();
    }
  }
}

void FunctionTable::collect_calls(Entry& e, const std::vector<onnx::NodeProto>& nodes, int max_nesting) {
  if (max_nesting < 0)
    throw Error(Code::graph_too_deep, "import", "bodies that are not nested so deep", "a deeper one", {});
  for (const onnx::NodeProto& n : nodes) {
    ++e.nodes;
    if (const auto at = index_.find(key_of(n)); at != index_.end()) e.calls.push_back(at->second);
    for (const onnx::AttributeProto& a : n.attribute)
      if (a.g) collect_calls(e, a.g->node, max_nesting - 1);
  }
}

void FunctionTable::refuse(Entry& e, Code code, std::string expected, std::string got, std::string remedy,
                           std::vector<Diagnostic>& findings) {
  e.refused = true;
  Diagnostic d;
  d.code = code;
  d.stage = "import";
  d.node = "function " + std::string(text(e.function->domain)) + "::" + std::string(text(e.function->name));
  d.expected = std::move(expected);
  d.got = std::move(got);
  d.remedy = std::move(remedy);
  findings.push_back(std::move(d));
}

const onnx::FunctionProto* FunctionTable::find(const onnx::NodeProto& call) const {
  const auto at = index_.find(key_of(call));
  return at == index_.end() || entries_[at->second].refused ? nullptr : entries_[at->second].function;
}

bool FunctionTable::is_refused(const onnx::NodeProto& call) const {
  const auto at = index_.find(key_of(call));
  return at != index_.end() && entries_[at->second].refused;
}

bool FunctionTable::knows_domain(std::string_view domain) const {
  const auto at = index_.lower_bound(Key{canonical_domain(domain), {}, {}});
  return at != index_.end() && std::get<0>(at->first) == canonical_domain(domain);
}

}  // namespace lathe
