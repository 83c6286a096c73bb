// Slice of elements of whole bytes: rows are copied whole, or none if the output is a view of the input.
#include "cpu/movement.h"
#include "cpu/support.h"
#include "ops/slice/slice_view.h"
#include "ops/subviews.h"

namespace lathe {
namespace {

Support supports(const Slice&, const KernelQuery& r) { return cpu::refuse_unless_movable(r); }

void run(const Slice&, KernelContext& c) {
  const Tensor& in = c.in(0);
  const SliceView v = slice_view(c);
  Tensor& out = c.out(0, in.type(), v.shape);
  const void* const place = cpu::at(in, v.offset);
  if (out.data() != place)
    cpu::move({place, v.strides}, out.data(), row_major(v.shape), v.shape, cpu::element_bytes(in), c);
}

/// One piece: behind the last axis that is cut all is kept, in front of it one index of each.
std::optional<SubviewOffsets> subviews(const Slice&, const StepFacts& facts) {
  const Fact<int64_t>& in = facts.inputs[0];
  const ShapeContext<int64_t> c(facts.inputs, {});
  const auto axes = Slice::slice_axes(c);
  const auto starts = c.numbers(1), ends = c.numbers(2), steps = c.numbers(4);
  if (!axes || !starts || !ends || (c.has(4) && !steps)) return std::nullopt;
  const size_t n = axes->size();
  if (starts->size() != n || ends->size() != n || (steps && steps->size() != n)) return std::nullopt;
  const Shape strides = row_major(Shape(in.shape.begin(), in.shape.end()));
  std::vector<int64_t> kept = in.shape;
  int64_t offset = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto axis = static_cast<size_t>((*axes)[i]);
    const SliceRange r = slice_range(in.shape[axis], (*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1);
    if (r.count == 0 || (r.count > 1 && r.step != 1)) return std::nullopt;
    offset += r.start * strides[axis];
    kept[axis] = r.count;
  }
  const auto cut = std::mismatch(kept.rbegin(), kept.rend(), in.shape.rbegin()).first;
  if (cut != kept.rend() && std::any_of(cut + 1, kept.rend(), [](int64_t d) { return d != 1; }))
    return std::nullopt;
  return SubviewOffsets{static_cast<size_t>(offset) * bytes_of_element(in)};
}

}  // namespace

void cpu_slice(KernelCatalog& k) {
  k.add<Slice>(
      {.op = "Slice", .name = cpu::kernel_name("slice", Isa::generic), .subviews_of = SubviewsOf::input},
      {.run = run, .supports = supports, .subviews = subviews});
}

}  // namespace lathe
