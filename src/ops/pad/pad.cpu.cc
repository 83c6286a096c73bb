// Pad of elements of whole bytes. The constant mode fills the parts around the middle, which is copied; the
// other modes handle axis by axis, the innermost first: the middle is copied once, and the lines before and
// after it along an axis are then copied from the output itself.
#include "cpu/movement.h"
#include "cpu/support.h"
#include "ops/pad/pad_bounds.h"

namespace lathe {
namespace {

Support supports(const Pad&, const KernelQuery& r) { return cpu::refuse_unless_movable(r); }

/// The part of the output that is copied from the input, and where that begins in the input.
struct Middle {
  Shape shape, at;    // in the output
  int64_t from = 0;   // element of the input
  int64_t to = 0;     // element of the output
  bool whole = true;  // nothing else is in the output
};

Middle middle_of(const PadBounds& p, const Tensor& in, const Tensor& out) {
  Middle m{in.shape(), p.begin};
  const Shape in_strides = row_major(in.shape()), out_strides = row_major(out.shape());
  for (size_t a = 0; a < in.rank(); ++a) {
    // If one end cuts off more than there is, the other one may move the input outside of the output.
    const int64_t size = in.dim(a), begin = std::clamp(p.begin[a], -size, out.dim(a));
    m.at[a] = std::max<int64_t>(0, begin);
    m.shape[a] = std::clamp<int64_t>(begin + size, 0, out.dim(a)) - m.at[a];
    m.from += (m.at[a] - begin) * in_strides[a];
    m.to += m.at[a] * out_strides[a];
    m.whole = m.whole && m.shape[a] == out.dim(a);
  }
  return m;
}

/// Fills all but the middle: along each axis the parts before and behind it, within the middle of the axes
/// before.
void fill_around(Tensor& out, const Middle& m, KernelContext& c) {
  static constexpr uint64_t zeros[2] = {0, 0};
  const void* value = c.has(2) && c.in(2).size() > 0 ? c.in(2).data() : zeros;
  const Shape strides = row_major(out.shape()), still(out.rank(), 0);
  Shape shape = out.shape();
  int64_t corner = 0;
  for (size_t axis = 0; axis < out.rank(); ++axis) {
    const int64_t behind = m.at[axis] + m.shape[axis];
    for (const auto& [begin, end] : {std::pair(int64_t{0}, m.at[axis]), std::pair(behind, out.dim(axis))}) {
      shape[axis] = end - begin;
      if (count_of(shape) == 0) continue;
      cpu::move({value, still}, cpu::at(out, corner + begin * strides[axis]), strides, shape,
                cpu::element_bytes(out), c);
    }
    shape[axis] = m.shape[axis];
    corner += m.at[axis] * strides[axis];
  }
}

/// Copies the line at `from` along one axis to `to`, for all positions where the axes before are in the
/// middle and those behind are finished.
void copy_line(Tensor& out, const Middle& m, size_t axis, int64_t from, int64_t to, KernelContext& c) {
  const Shape strides = row_major(out.shape());
  Shape shape = out.shape();
  int64_t corner = 0;
  for (size_t a = 0; a < axis; ++a) {
    shape[a] = m.shape[a];
    corner += m.at[a] * strides[a];
  }
  shape[axis] = 1;
  cpu::move({cpu::at(std::as_const(out), corner + from * strides[axis]), strides},
            cpu::at(out, corner + to * strides[axis]), strides, shape, cpu::element_bytes(out), c);
}

int64_t wrapped(int64_t at, int64_t size) { return (at % size + size) % size; }
int64_t mirrored(int64_t at, int64_t size) {
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1), in = wrapped(at, period);
  return std::min(in, period - in);
}
/// The line within [0, size) that is repeated at `at`, which is outside.
int64_t line_of(const std::string& mode, int64_t at, int64_t size) {
  if (mode == "edge") return std::clamp<int64_t>(at, 0, size - 1);
  return mode == "wrap" ? wrapped(at, size) : mirrored(at, size);
}

void run(const Pad& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  const PadBounds p = pad_bounds(c);
  Tensor& out = padded_output(p, c);
  if (out.size() == 0) return;
  const Middle m = middle_of(p, in, out);
  const bool constant = op.mode == "constant";
  if (constant && !m.whole) fill_around(out, m, c);
  const Shape out_strides = row_major(out.shape());
  cpu::move({cpu::at(in, m.from), row_major(in.shape())}, cpu::at(out, m.to), out_strides, m.shape,
            cpu::element_bytes(in), c);
  if (constant) return;
  for (size_t axis = in.rank(); axis-- > 0;) {
    const int64_t size = m.shape[axis];
    if (size == 0)
      c.fail(Code::run_bad_value, "elements to repeat in mode " + op.mode,
             "an axis of size " + std::to_string(in.dim(axis)));
    const auto grow = [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at)
        copy_line(out, m, axis, m.at[axis] + line_of(op.mode, at, size), m.at[axis] + at, c);
    };
    grow(-m.at[axis], 0);
    grow(size, out.dim(axis) - m.at[axis]);
  }
}

}  // namespace

void cpu_pad(KernelCatalog& k) {
  k.add<Pad>({.op = "Pad", .name = cpu::kernel_name("pad", Isa::generic)},
             {.run = run, .supports = supports});
}

}  // namespace lathe
