#include "verify/sensitivity.h"

#include <algorithm>
#include <cmath>

#include "tensor/element.h"

namespace lathe {
namespace {

constexpr int draws = 2;
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

/// Every element one step up or down, as it falls.
Value moved(const Value& v, int draw) {
  if (!v.is_tensor() || last_place(v.tensor().type()) == 0) return v;
  Tensor t = v.tensor().clone();
  uint64_t state = 0x9e3779b97f4a7c15u * static_cast<uint64_t>(draw + 1);
  for (int64_t i = 0; i < t.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double sign = state >> 63 ? 1 : -1;
    store_double(t, i, load_double(t, i) * (1 + sign * last_place(t.type())));
  }
  return t;
}

/// The largest movement of an element; whole numbers move by steps, not by roundings.
double movement(const Value& a, const Value& b) {
  if (!a.is_tensor() || !b.is_tensor() || !(a.tensor().shape() == b.tensor().shape())) return 0;
  const Tensor &x = a.tensor(), &y = b.tensor();
  if (bits_of(x.type()) == 0 || is_complex(x.type())) return 0;
  double most = 0;
  for (int64_t i = 0; i < x.size(); ++i)
    if (const double off = std::abs(load_double(x, i) - load_double(y, i)); std::isfinite(off))
      most = std::max(most, off);
  return is_float(x.type()) ? roundings * most : most;
}

}  // namespace

std::vector<double> sensitivity(const Workshop& shop, const Graph& graph, std::span<const Value> inputs,
                                std::span<const Value> want) {
  std::vector<double> slack(want.size());
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<Value> near;
    for (const Value& v : inputs) near.push_back(moved(v, draw));
    std::vector<Value> got;
    try {
      got = shop.evaluate(graph, near);
    } catch (const Error& e) {
      if (e.code() == Code::cancelled || e.code() == Code::deadline) throw;
      continue;
    }
    for (size_t i = 0; i < want.size(); ++i) slack[i] = std::max(slack[i], movement(got[i], want[i]));
  }
  return slack;
}

}  // namespace lathe
