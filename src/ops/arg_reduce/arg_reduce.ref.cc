#include "ops/arg_reduce/arg_reduce.h"

#include <cmath>

#include "kernel/lean_reference.h"
#include "ops/movement.h"

namespace lathe {
namespace {

/// Returns whether `v` beats `best`. NaN beats every number, as in ReduceMax and ReduceMin.
template <class Op, class C>
bool better(C v, C best) {
  if constexpr (std::is_floating_point_v<C>)
    if (std::isnan(v) || std::isnan(best)) return !std::isnan(best);
  return std::is_same_v<Op, ArgMax> ? v > best : v < best;
}

template <class Op>
void arg_reduce(const Op& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  auto out = c.out(0).as<int64_t>();
  if (x.rank() == 0) {
    out[0] = 0;
    return;
  }
  const size_t axis = axis_of(op.axis, x.rank());
  const int64_t n = x.dim(axis);
  const int64_t inner = count_of(Shape(x.shape().begin() + axis + 1, x.shape().end()));
  if (n == 0 && !out.empty()) c.fail(Code::run_bad_shape, "an axis with elements", describe(x.shape()));
  Poller poll(c);
  for_type(x.type(), number_types, [&]<class T> {
    const auto from = x.as<T>();
    for (size_t i = 0; i < out.size(); ++i) {
      const auto row = static_cast<int64_t>(i) / inner * n * inner + static_cast<int64_t>(i) % inner;
      auto best = Element<T>::load(from[static_cast<size_t>(row)]);
      int64_t at = 0;
      for (int64_t k = 1; k < n; ++k) {
        poll.did(1);
        const auto v = Element<T>::load(from[static_cast<size_t>(row + k * inner)]);
        if (better<Op>(v, best) || (op.select_last_index && !better<Op>(best, v))) best = v, at = k;
      }
      out[i] = at;
      poll.did(1);
    }
  });
}

}  // namespace

void reference_arg_reduce(KernelCatalog& k) {
  lean_reference<ArgMax>(k, "ArgMax", arg_reduce<ArgMax>);
  lean_reference<ArgMin>(k, "ArgMin", arg_reduce<ArgMin>);
}

}  // namespace lathe
