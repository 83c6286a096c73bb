#include "verify/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "tensor/element.h"

namespace lathe {
namespace {

constexpr int draws_each = 2;
/// Sums of n terms round more often than their operands do, by about the root of n.
constexpr double roundings = 64;

double last_place(DataType t) {
  switch (t) {
    case DataType::float64:
      return 0x1p-52;
    case DataType::float32:
      return 0x1p-23;
    case DataType::float16:
      return 0x1p-10;
    case DataType::bfloat16:
      return 0x1p-7;
    default:
      return 0;
  }
}

/// Every element so many steps up or down, as it falls; `turned`: the other way.
Value moved(const Value& v, int draw, double steps = 1, bool opposite = false) {
  if (!v.is_tensor() || last_place(v.tensor().type()) == 0) return v;
  Tensor t = v.tensor().clone();
  uint64_t state = 0x9e3779b97f4a7c15u * static_cast<uint64_t>(draw + 1);
  for (int64_t i = 0; i < t.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double sign = (state >> 63 != 0) != opposite ? 1 : -1;
    store_double(t, i, load_double(t, i) * (1 + sign * steps * last_place(t.type())));
  }
  return t;
}

/// Returns whether the graph rounds to whole numbers. Numbers halfway between two may then round either way.
bool rounds(const Graph& g) {
  for (NodeId id : g.order())
    for (const char* op : {"QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul"})
      if (g.node(id).domain.empty() && g.node(id).op == op) return true;
  return false;
}

/// Returns the graph with changed constants, since kernels may round scales and weights too.
std::unique_ptr<Graph> with_moved_constants(const Graph& graph, int draw) {
  std::unique_ptr<Graph> g = graph.clone();
  for (ValueId v = 0; v < g->value_count(); ++v)
    if (g->value(v).is_constant() && is_float(g->value(v).type.elem))
      g->value(v).constant = std::make_shared<const Value>(moved(*g->value(v).constant, draw, roundings));
  return g;
}

/// The largest movement of an element; whole numbers move by steps, not by roundings.
double movement(const Value& a, const Value& b, double times = roundings) {
  if (!a.is_tensor() || !b.is_tensor() || !(a.tensor().shape() == b.tensor().shape())) return 0;
  const Tensor &x = a.tensor(), &y = b.tensor();
  if (bits_of(x.type()) == 0 || is_complex(x.type())) return 0;
  double most = 0;
  for (int64_t i = 0; i < x.size(); ++i)
    if (const double off = std::abs(load_double(x, i) - load_double(y, i)); std::isfinite(off))
      most = std::max(most, off);
  return is_float(x.type()) ? times * most : most;
}

}  // namespace

std::vector<double> sensitivity(const BuildVariants& variants, const Graph& graph,
                                std::span<const Value> inputs, std::span<const Value> want) {
  std::vector<double> slack(want.size());
  const auto draw_of = [&](const Graph& g, int draw, double steps) {
    std::vector<Value> near, got;
    // Inputs move all in the same direction, or every other one in the opposite one: if two inputs cancel,
    // one of these alone may show nothing.
    for (size_t i = 0; i < inputs.size(); ++i)
      near.push_back(moved(inputs[i], draw, steps, draw % 2 == 0 && i % 2 == 1));
    try {
      got = variants.evaluate(g, near);
    } catch (const Error& e) {
      if (e.code() == Code::cancelled || e.code() == Code::deadline) throw;
      return;
    }
    for (size_t i = 0; i < want.size(); ++i)
      slack[i] = std::max(slack[i], movement(got[i], want[i], roundings / steps));
  };
  for (int draw = 0; draw < draws_each; ++draw) draw_of(graph, draw, 1);
  // A rounding more or less decides of whole steps, which many of the smallest movements would hardly meet.
  if (rounds(graph))
    for (int draw = 0; draw < draws_each; ++draw)
      draw_of(*with_moved_constants(graph, draw), draw, roundings);
  return slack;
}

}  // namespace lathe
