#include "ops/where/where.h"

#include "kernel/lean_reference.h"
#include "ops/elementwise/lanes.h"

namespace lathe {
namespace {

void where_elements(const Where&, KernelContext& c) {
  Tensor& out = c.out(0);
  const Shape* shapes[] = {&c.in(0).shape(), &c.in(1).shape(), &c.in(2).shape()};
  const BroadcastRows rows(c, out.shape(), shapes);
  const bool* condition = c.in(0).as<bool>().data();
  for_size(out.type(), [&]<class T> {
    const T* x = c.in(1).as<T>().data();
    const T* y = c.in(2).as<T>().data();
    T* to = out.as<T>().data();
    c.parallel(out.size(), 4096, [&](int64_t begin, int64_t end) {
      c.poll();
      rows.each(begin, end, [&](int64_t at, const int64_t* from, int64_t n) {
        for (int64_t i = 0; i < n; ++i)
          to[at + i] = condition[from[0] + i * rows.step(0)] ? x[from[1] + i * rows.step(1)]
                                                             : y[from[2] + i * rows.step(2)];
      });
    });
  });
}

}  // namespace

void reference_where(KernelCatalog& k) { lean_reference<Where>(k, "Where", where_elements); }

}  // namespace lathe
