// CenterCropPad of elements of whole bytes: what both have in common moves as one block.
#include "ops/center_crop_pad/center_crop_pad.h"

#include <algorithm>
#include <cstring>

#include "cpu/movement.h"
#include "cpu/support.h"
#include "ops/center_crop_pad/cropped.h"
#include "tensor/strides.h"

namespace lathe {
namespace {

Support supports_cropped(const CenterCropPad&, const KernelQuery& r) { return cpu::refuse_unless_movable(r); }

void crop_and_pad(const CenterCropPad& op, KernelContext& c) {
  constexpr int64_t piece_bytes = 65536;
  const Tensor& x = c.in(0);
  const Cropped cropped(op, c);
  Tensor& out = c.out(0, x.type(), cropped.shape);
  if (out.size() == 0) return;
  Shape common = cropped.shape;
  int64_t from = 0, to = 0;
  const Shape x_strides = row_major(x.shape()), out_strides = row_major(cropped.shape);
  for (size_t a = 0; a < common.size(); ++a) {
    common[a] = std::min(common[a], x.dim(a));
    from += std::max<int64_t>(cropped.first[a], 0) * x_strides[a];
    to += std::max<int64_t>(-cropped.first[a], 0) * out_strides[a];
  }
  if (!(common == cropped.shape))
    c.parallel(static_cast<int64_t>(out.bytes()), piece_bytes, [&](int64_t begin, int64_t end) {
      Poller poll(c);
      poll.fill(static_cast<std::byte*>(out.data()) + begin, end - begin, std::byte{0});
    });
  if (count_of(common) == 0) return;
  cpu::move({cpu::at(x, from), x_strides}, cpu::at(out, to), out_strides, common, cpu::element_bytes(x), c);
}

}  // namespace

void cpu_center_crop_pad(KernelCatalog& k) {
  k.add<CenterCropPad>(
      {.op = "CenterCropPad", .name = cpu::kernel_name("center_crop_pad", Isa::generic), .temporaries = true},
      {.run = crop_and_pad, .supports = supports_cropped});
}

}  // namespace lathe
