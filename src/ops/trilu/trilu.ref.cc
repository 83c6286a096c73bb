#include "ops/trilu/trilu.h"

#include "kernel/lean_reference.h"
#include "ops/movement.h"

namespace lathe {
namespace {

void trilu(const Trilu& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  if (c.has(1) && c.in(1).size() != 1)
    c.fail(Code::run_bad_shape, "a diagonal k of one element", describe(c.in(1)));
  const int64_t k = c.has(1) ? load_int(c.in(1), 0) : 0;
  const int64_t rows = in.dim(in.rank() - 2), columns = in.dim(in.rank() - 1);
  Tensor& out = c.out(0);
  if (out.size() == 0) return;
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    Poller poll(c);
    size_t at = 0;
    for (int64_t matrix = in.size() / (rows * columns); matrix-- > 0;)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j, ++at) {
          poll.did(1);
          to[at] = (op.upper ? j - i >= k : j - i <= k) ? from[at] : T{};
        }
  });
}

}  // namespace

void reference_trilu(KernelCatalog& k) { lean_reference<Trilu>(k, "Trilu", trilu); }

}  // namespace lathe
