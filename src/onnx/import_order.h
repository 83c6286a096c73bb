// Orders the nodes of a list for the import, whatever their order in the file.
#pragma once

#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lathe/onnx.h"

namespace lathe {

/// Returns whether the operator reads tensors that its attributes name.
bool is_gradient(std::string_view domain, std::string_view op);

/// Names that graphs read from around them; each graph is visited once. Borrows the protos.
class FreeNames {
 public:
  explicit FreeNames(int max_nesting) : max_nesting_(max_nesting) {}
  /// Names read in `g`, its nested graphs included, that nothing in it defines. Throws graph_too_deep.
  const std::vector<std::string_view>& of(const onnx::GraphProto& g) { return of(g, 0); }

 private:
  const std::vector<std::string_view>& of(const onnx::GraphProto& g, int depth);
  std::unordered_map<const onnx::GraphProto*, std::vector<std::string_view>> known_;
  int max_nesting_;
};

struct NodeOrder {
  std::vector<uint32_t> sorted;    // indices of nodes, producers first, else as in the file
  std::vector<uint32_t> in_cycle;  // those that depend on themselves
  std::vector<uint32_t> behind;    // those that depend on these, sorted
  bool as_in_file = true;
};
/// `is_given` tells names that exist before the first node.
NodeOrder order_nodes(const std::vector<onnx::NodeProto>& nodes, FreeNames& free_names,
                      const std::function<bool(std::string_view)>& is_given);

}  // namespace lathe
