#include "tensor/sparse.h"

#include "tensor/element.h"

namespace lathe {

std::optional<SparseFault> sparse_fault(const SparseTensor& s) {
  const auto within = [](int64_t end) { return "indices in [0, " + std::to_string(end) + ")"; };
  if (!s.values.defined() || s.values.rank() != 1) return SparseFault{"values of rank 1", describe(s.values)};
  if (!s.indices.defined() || s.indices.type() != DataType::int64)
    return SparseFault{"indices of int64", describe(s.indices)};
  const int64_t total = checked_count(s.shape, s.values.type(), "sparse tensor");
  const int64_t stored = s.values.size(), rank = static_cast<int64_t>(s.shape.size());
  const bool linear = s.indices.rank() == 1;
  if (linear ? s.indices.dim(0) != stored
             : s.indices.rank() != 2 || s.indices.dim(0) != stored || s.indices.dim(1) != rank)
    return SparseFault{"indices of shape [NNZ] or [NNZ, rank]", describe(s.indices)};
  const int64_t* const index = s.indices.as<int64_t>().data();
  int64_t before = -1;
  for (int64_t i = 0; i < stored; ++i) {
    int64_t at = linear ? index[i] : 0;
    if (linear && (at < 0 || at >= total)) return SparseFault{within(total), std::to_string(at)};
    for (int64_t k = 0; !linear && k < rank; ++k) {
      const int64_t x = index[i * rank + k], size = s.shape[static_cast<size_t>(k)];
      if (x < 0 || x >= size) return SparseFault{within(size), std::to_string(x)};
      at = at * size + x;
    }
    if (at <= before)
      return SparseFault{"sorted, unique indices", "entry " + std::to_string(i) + " out of order"};
    before = at;
  }
  return std::nullopt;
}

}  // namespace lathe
