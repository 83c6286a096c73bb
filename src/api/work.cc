#include "api/work.h"

#include <map>
#include <optional>
#include <string>

namespace lathe {
namespace {

/// Thrown inside this file only: a shape that the count needs is not known.
struct Unknown {};

const SymShape& shape_of(const Graph& g, ValueId v) {
  if (v == no_id || !g.value(v).type.shape) throw Unknown{};
  return *g.value(v).type.shape;
}

Dim product(const SymShape& shape, size_t from = 0) {
  Dim n = 1;
  for (size_t i = from; i < shape.size(); ++i) n = n * shape[i];
  if (n.has_unknown()) throw Unknown{};
  return n;
}

Dim elements(const Graph& g, ValueId v) { return product(shape_of(g, v)); }

const SymShape& input_shape(const Graph& g, const Node& n, size_t i) {
  if (i >= n.inputs.size()) throw Unknown{};
  return shape_of(g, n.inputs[i]);
}

Dim output_elements(const Graph& g, const Node& n) {
  Dim sum;
  for (ValueId v : n.outputs)
    if (v != no_id && g.value(v).type.is_tensor()) sum = sum + elements(g, v);
  return sum;
}

using Count = Dim (*)(const Graph&, const Node&);

Dim matrix_product(const Graph& g, const Node& n) {
  const SymShape& a = input_shape(g, n, 0);
  if (a.empty()) throw Unknown{};
  return Dim(2) * output_elements(g, n) * a.back();
}

Dim gemm(const Graph& g, const Node& n) {
  const SymShape& a = input_shape(g, n, 0);
  if (a.size() != 2) throw Unknown{};
  const bool transposed = n.attributes.get<int64_t>("transA", 0) != 0;
  return Dim(2) * output_elements(g, n) * a[transposed ? 0 : 1];
}

/// Every output element sums over one filter [M, C/group, k…].
template <size_t Weights>
Dim convolution(const Graph& g, const Node& n) {
  return Dim(2) * output_elements(g, n) * product(input_shape(g, n, Weights), 1);
}

/// Every input element meets one filter [C, M/group, k…].
Dim transposed_convolution(const Graph& g, const Node& n) {
  return Dim(2) * elements(g, n.inputs[0]) * product(input_shape(g, n, 1), 1);
}

/// Both matrices, for every step of every sequence.
Dim recurrent(const Graph& g, const Node& n) {
  const SymShape& x = input_shape(g, n, 0);
  if (x.size() != 3) throw Unknown{};
  return Dim(2) * x[0] * x[1] * (product(input_shape(g, n, 1)) + product(input_shape(g, n, 2)));
}

/// One term for every combination of the letters.
Dim einsum(const Graph& g, const Node& n) {
  std::map<char, Dim> sizes;
  size_t input = 0, axis = 0;
  for (char c : n.attributes.get<std::string>("equation", "")) {
    if (c == '.') throw Unknown{};
    if (c == '-') break;
    if (c == ',') {
      ++input;
      axis = 0;
    } else if (c != ' ') {
      const SymShape& s = input_shape(g, n, input);
      if (axis >= s.size()) throw Unknown{};
      sizes[c] = s[axis++];
    }
  }
  Dim terms = 2;
  for (const auto& [letter, size] : sizes) terms = terms * size;
  return terms;
}

/// What the general rule cannot know: operators whose terms do not show in the size of their outputs.
Count contraction(const std::string& op) {
  static const std::map<std::string, Count> counts = {
      {"MatMul", matrix_product},
      {"MatMulInteger", matrix_product},
      {"QLinearMatMul", matrix_product},
      {"Gemm", gemm},
      {"Conv", convolution<1>},
      {"ConvInteger", convolution<1>},
      {"QLinearConv", convolution<3>},
      {"ConvTranspose", transposed_convolution},
      {"LSTM", recurrent},
      {"GRU", recurrent},
      {"RNN", recurrent},
      {"Einsum", einsum},
  };
  const auto at = counts.find(op);
  return at == counts.end() ? nullptr : at->second;
}

Dim arithmetic_of(const Graph& g, const Node& n, const SchemaCatalog& catalog) {
  if (n.domain.empty())
    if (const Count count = contraction(n.op)) return count(g, n);
  const OpSchema* schema = catalog.find(n.domain, n.op);
  if (!schema) throw Unknown{};
  if (schema->contract().exact) return 0;
  return schema->contract().per_reduced ? elements(g, n.inputs.at(0)) : output_elements(g, n);
}

void add(Work& to, const Work& more) {
  to.flops = to.flops + more.flops;
  to.unknown_nodes += more.unknown_nodes;
}

Work work_of_bodies(const Node& n, const SchemaCatalog& catalog) {
  Work total;
  for (const Body& body : n.bodies) {
    const Work w = work_of(*body.graph, catalog);
    if (n.op == "If")
      total = {max(total.flops, w.flops), total.unknown_nodes + w.unknown_nodes};
    else
      add(total, w);
  }
  return total;
}

}  // namespace

Work work_of(const Graph& g, const SchemaCatalog& catalog) {
  Work total;
  for (NodeId id : g.order()) {
    const Node& n = g.node(id);
    if (!n.bodies.empty()) {
      add(total, work_of_bodies(n, catalog));
      continue;
    }
    try {
      total.flops = total.flops + arithmetic_of(g, n, catalog);
    } catch (const Unknown&) {
      ++total.unknown_nodes;
    }
  }
  return total;
}

}  // namespace lathe
