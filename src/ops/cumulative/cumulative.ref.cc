#include "ops/cumulative/cumulative.h"

#include <functional>

#include "kernel/lean_reference.h"
#include "ops/cumulative/cumulative_axis.h"

namespace lathe {
namespace {

template <class Combine>
void cumulative(const Cumulative& op, KernelContext& c, int neutral) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  const size_t axis = cumulative_axis(c);
  const int64_t n = x.dim(axis);
  const int64_t inner = count_of(Shape(x.shape().begin() + axis + 1, x.shape().end()));
  const int64_t rows = n ? x.size() / n : 0;
  Poller poll(c);
  for_type(x.type(), number_types, [&]<class T> {
    using C = Compute<T>;
    // Sums of floats run in double: this is the judge. Integers wrap.
    using Sum = std::conditional_t<std::is_floating_point_v<C>, double,
                                   std::make_unsigned_t<std::conditional_t<std::is_integral_v<C>, C, int>>>;
    const auto from = x.as<T>();
    auto to = y.as<T>();
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t start = row / inner * n * inner + row % inner;
      auto running = static_cast<Sum>(neutral);
      for (int64_t k = 0; k < n; ++k) {
        poll.did(1);
        const auto at = static_cast<size_t>(start + (op.reverse ? n - 1 - k : k) * inner);
        const auto next = static_cast<Sum>(Combine()(running, static_cast<Sum>(Element<T>::load(from[at]))));
        to[at] = Element<T>::store(static_cast<C>(op.exclusive ? running : next));
        running = next;
      }
    }
  });
}

}  // namespace

void reference_cumulative(KernelCatalog& k) {
  lean_reference<Cumulative>(
      k, "CumSum", [](const Cumulative& op, KernelContext& c) { cumulative<std::plus<>>(op, c, 0); });
  lean_reference<Cumulative>(
      k, "CumProd", [](const Cumulative& op, KernelContext& c) { cumulative<std::multiplies<>>(op, c, 1); });
}

}  // namespace lathe
