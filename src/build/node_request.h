// Kernels are asked about a node of a graph.
#pragma once

#include "graph/graph.h"
#include "kernel/kernel.h"

namespace lathe {

/// What kernels are asked of a node, from the graph; `contents`: may they see what constants hold?
class NodeRequest {
 public:
  NodeRequest(const Graph& g, const Node& n, Isa isa, bool contents) {
    for (ValueId v : n.inputs) inputs_.push_back(operand(g, v, contents));
    for (ValueId v : n.outputs) outputs_.push_back(operand(g, v, contents));
    request_ = {.inputs = inputs_, .outputs = outputs_, .isa = isa};
  }
  const KernelRequest& request() const { return request_; }

 private:
  static KernelRequest::Operand operand(const Graph& g, ValueId v, bool contents) {
    KernelRequest::Operand o;
    if (v == no_id) return o;
    const ValueType& t = g.value(v).type;
    o.present = true;
    o.type = t.kind == ValueType::Kind::tensor ? t.elem : DataType::undefined;
    o.shape = t.shape;
    o.constant = contents ? g.constant_tensor(v) : nullptr;
    return o;
  }
  std::vector<KernelRequest::Operand> inputs_, outputs_;
  KernelRequest request_;
};

}  // namespace lathe
