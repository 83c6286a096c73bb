#include "ops/slice/slice.h"

#include "ops/movement.h"

namespace lathe {
namespace {

void slice(const Slice&, KernelContext& c) {
  const Tensor& in = c.in(0);
  Shape shape = in.shape(), strides = row_major(in.shape());
  int64_t offset = 0;
  const int64_t n = c.in(1).size();
  for (size_t i = 2; i < c.inputs(); ++i)
    if (c.has(i) && c.in(i).size() != n)
      c.fail(Code::run_bad_shape, std::to_string(n) + " starts, ends, axes and steps",
             std::to_string(c.in(i).size()));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t named = c.has(3) ? load_int(c.in(3), i) : i, step = c.has(4) ? load_int(c.in(4), i) : 1;
    const auto axis = static_cast<size_t>(checked_index(c, named, static_cast<int64_t>(in.rank())));
    if (step == 0) c.fail(Code::run_bad_value, "steps other than 0", "0");
    const SliceRange r = slice_range(in.dim(axis), load_int(c.in(1), i), load_int(c.in(2), i), step);
    offset += r.count > 0 ? r.start * strides[axis] : 0;
    strides[axis] = r.count > 1 ? strides[axis] * r.step : 0;
    shape[axis] = r.count;
  }
  Tensor& out = c.out(0, in.type(), shape);
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    copy_strided(from.data() + offset, to.data(), shape, strides, c);
  });
}

}  // namespace

void reference_slice(KernelCatalog& k) { k.reference<Slice>("Slice", slice); }

}  // namespace lathe
