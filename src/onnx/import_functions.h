// The functions of a model: found by domain, name and overload; refused if calls recurse or grow without
// bound.
#pragma once

#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "lathe/error.h"
#include "lathe/onnx.h"

namespace lathe {

/// Borrows the model's functions.
class FunctionTable {
 public:
  /// Faults go to `findings`: two of one name, recursion (directly, mutually, through bodies), growth beyond
  /// `max_nodes` when inlined, nesting beyond `max_nesting`. find() does not return faulty functions.
  FunctionTable(const std::vector<onnx::FunctionProto>& functions, size_t max_nodes, int max_nesting,
                std::vector<Diagnostic>& findings);

  const onnx::FunctionProto* find(const onnx::NodeProto& call) const;
  /// Returns whether a function of that name was refused.
  bool is_refused(const onnx::NodeProto& call) const;
  bool knows_domain(std::string_view domain) const;

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  struct Entry {
    const onnx::FunctionProto* function = nullptr;
    std::vector<size_t> calls;  // indices of entries, one per call
    size_t nodes = 0;           // its own, bodies included
    bool refused = false;
  };
  void collect_calls(Entry& e, const std::vector<onnx::NodeProto>& nodes, int max_nesting);
  void refuse(Entry& e, Code code, std::string expected, std::string got, std::string remedy,
              std::vector<Diagnostic>& findings);
  static Key key_of(const onnx::NodeProto& n);

  std::map<Key, size_t> index_;
  std::vector<Entry> entries_;
};

}  // namespace lathe
