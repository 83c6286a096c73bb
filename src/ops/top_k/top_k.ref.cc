#include "ops/top_k/top_k.h"

#include <algorithm>
#include <numeric>

#include "ops/movement.h"

namespace lathe {
namespace {

/// Returns whether `a` comes before `b`. NaN counts as the largest; equal elements keep their order.
template <class C>
bool comes_first(C a, C b, bool largest) {
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan || b_nan) return largest ? a_nan && !b_nan : b_nan && !a_nan;
  return largest ? a > b : a < b;
}

void top_k(const TopK& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const Tensor& k_input = c.in(1);
  const size_t axis = axis_of(op.axis, x.rank());
  const int64_t n = x.dim(axis), k = k_input.size() == 1 ? k_input.as<int64_t>()[0] : -1;
  if (k < 0 || k > n) c.fail(Code::run_bad_value, "K in [0, " + std::to_string(n) + "]", std::to_string(k));
  Shape shape = x.shape();
  shape[axis] = k;
  Tensor& values = c.out(0, x.type(), shape);
  Tensor unwanted;
  if (!c.wants(1)) unwanted = temporary(c, DataType::int64, shape);
  Tensor& indices = c.wants(1) ? c.out(1, DataType::int64, shape) : unwanted;
  const int64_t inner = count_of(Shape(x.shape().begin() + axis + 1, x.shape().end()));
  const int64_t outer = count_of(Shape(x.shape().begin(), x.shape().begin() + axis));
  for_type(x.type(), number_types, [&]<class T> {
    const auto from = x.as<T>();
    auto picked = values.as<T>();
    auto where = indices.as<int64_t>();
    std::pmr::vector<int64_t> order(static_cast<size_t>(n), c.scratch());
    Poller poll(c);
    for (int64_t row = 0; row < outer * inner; ++row) {
      const int64_t o = row / inner, i = row % inner;
      auto at = [&](int64_t j) { return static_cast<size_t>((o * n + j) * inner + i); };
      std::iota(order.begin(), order.end(), int64_t{0});
      // Ties go to the lower index, so the order is total and any sort gives the same answer.
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
        poll.did(4);
        const auto u = Element<T>::load(from[at(a)]), v = Element<T>::load(from[at(b)]);
        if (comes_first(u, v, op.largest)) return true;
        if (comes_first(v, u, op.largest)) return false;
        return a < b;
      });
      poll.did(n + 1);
      for (int64_t j = 0; j < k; ++j) {
        poll.did(1);
        const auto to = static_cast<size_t>((o * k + j) * inner + i);
        picked[to] = from[at(order[static_cast<size_t>(j)])];
        where[to] = order[static_cast<size_t>(j)];
      }
    }
  });
}

}  // namespace

void reference_top_k(KernelCatalog& k) { k.reference<TopK>("TopK", top_k); }

}  // namespace lathe
