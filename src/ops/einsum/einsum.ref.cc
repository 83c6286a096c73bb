#include "ops/einsum/einsum.h"

#include <vector>

#include "ops/compute.h"
#include "ops/movement.h"

namespace lathe {
namespace {

inline constexpr Types<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                       uint64_t>
    summed_types;

void einsum(const Einsum& op, KernelContext& c) {
  std::pmr::vector<Tensor> inputs(c.scratch());
  std::vector<size_t> ranks;
  for (size_t i = 0; i < c.inputs(); ++i) {
    inputs.push_back(in_compute_type(c.in(i), c));
    ranks.push_back(inputs[i].rank());
  }
  const EinsumPlan plan = op.parse(ranks);
  const auto axes = static_cast<size_t>(plan.axes), output_axes = static_cast<size_t>(plan.output_axes);

  // Sizes of the axes, and how far each input moves along each: a repeated letter walks the diagonal.
  std::pmr::vector<int64_t> sizes(axes, 1, c.scratch());
  std::pmr::vector<std::pmr::vector<int64_t>> strides(inputs.size(), c.scratch());
  for (auto& s : strides) s.assign(axes, 0);
  for (size_t i = 0; i < inputs.size(); ++i) {
    int64_t stride = 1;
    for (size_t k = ranks[i]; k-- > 0; stride *= inputs[i].dim(k)) {
      const auto axis = static_cast<size_t>(plan.terms[i][k]);
      if (inputs[i].dim(k) == 1) continue;
      sizes[axis] = inputs[i].dim(k);
      strides[i][axis] += stride;
    }
  }
  int64_t summed = 1;
  for (size_t a = output_axes; a < axes; ++a) {
    if (__builtin_mul_overflow(summed, sizes[a], &summed))
      c.fail(Code::run_too_large, "a sum of fewer than 2^63 terms", op.equation);
  }

  ComputeOutput y(c.out(0), c);
  for_type(inputs[0].type(), summed_types, [&]<class T> {
    using Sum = Accumulator<T>;
    const auto to = y.tensor().as<T>();
    c.parallel(static_cast<int64_t>(to.size()), 1, [&](int64_t begin, int64_t end) {
      Poller poll(c);
      std::pmr::vector<int64_t> start(inputs.size(), c.scratch()), at(inputs.size(), c.scratch()),
          index(axes, c.scratch());
      for (int64_t o = begin; o < end; ++o) {
        std::fill(start.begin(), start.end(), 0);
        int64_t rest = o;
        for (size_t a = output_axes; a-- > 0; rest /= sizes[a])
          for (size_t i = 0; i < inputs.size(); ++i) start[i] += rest % sizes[a] * strides[i][a];
        at = start;
        std::fill(index.begin(), index.end(), 0);
        Sum sum{};
        for (int64_t term = 0; term < summed; ++term) {
          poll.did(1);
          Sum product = 1;
          for (size_t i = 0; i < inputs.size(); ++i)
            product *= static_cast<Sum>(inputs[i].as<T>()[static_cast<size_t>(at[i])]);
          sum += product;
          for (size_t a = axes; a-- > output_axes;) {  // the next combination of the axes summed over
            const bool carries = ++index[a] == sizes[a];
            for (size_t i = 0; i < inputs.size(); ++i)
              at[i] += carries ? -(sizes[a] - 1) * strides[i][a] : strides[i][a];
            if (!carries) break;
            index[a] = 0;
          }
        }
        to[static_cast<size_t>(o)] = static_cast<T>(sum);
      }
    });
  });
  y.finish();
}

}  // namespace

void reference_einsum(KernelCatalog& k) { k.reference<Einsum>("Einsum", einsum); }

}  // namespace lathe
