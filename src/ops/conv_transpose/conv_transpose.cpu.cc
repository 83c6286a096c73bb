// ConvTranspose for float32: the transposed weights times the image give, for every filter and tap, what each
// pixel of X adds; planes of Y then gather their shares (col2im).
#include "ops/conv_transpose/conv_transpose.h"

#include "cpu/ask.h"
#include "cpu/gemm.h"
#include "ops/compute.h"
#include "ops/poller.h"

namespace lathe {
namespace {

/// The sizes of one execution. Fewer than three spatial axes are axes of size 1 in front.
struct Sizes {
  int64_t batch, groups, channels, filters;  // channels and filters of one group
  WindowAxis axes[3];                        // `in` is Y's, `out` X's: the convolution from Y to X
  int64_t taps = 1, x_plane = 1, y_plane = 1;

  Sizes(const ConvTranspose& op, const Shape& x, const Shape& w, const Shape& y)
      : batch(x[0]), groups(op.group), channels(x[1] / op.group), filters(w[1]) {
    const WindowAxes given = op.axes(x, w, y);
    std::copy(given.begin(), given.end(), axes + 3 - given.size());
    for (const WindowAxis& a : axes) {
      taps *= a.kernel;
      x_plane *= a.out;
      y_plane *= a.in;
    }
  }

  cpu::Products products() const {
    cpu::Products p{.m = filters * taps, .n = x_plane, .k = channels};
    p.a = {nullptr, 1, filters * taps};
    p.b = {nullptr, x_plane, 1};
    return p;
  }
  /// Without an image, a channel or an output there is no product, however large the sizes of one would be.
  bool has_product() const { return batch > 0 && channels > 0 && filters > 0 && y_plane > 0; }
  int64_t weights() const { return channels * filters * taps; }  // of one group
  size_t share_bytes() const {
    return static_cast<size_t>((times(times(filters, taps), x_plane) + 15) / 16 * 16) * 4;
  }
};

/// Adds what one tap gives to one plane: every pixel of X at the place it reaches.
void add_tap(const Sizes& s, const int64_t (&tap)[3], const float* shares, float* plane, Poller& poll) {
  const WindowAxis &d = s.axes[0], &h = s.axes[1], &w = s.axes[2];
  const auto reached = [&](int axis, int64_t o) {
    return s.axes[axis].start(o) + tap[axis] * s.axes[axis].dilation;
  };
  // The columns of X that reach into Y.
  int64_t first = 0, last = w.out;
  while (first < last && reached(2, first) < 0) ++first;
  while (first < last && reached(2, last - 1) >= w.in) --last;
  for (int64_t z = 0; z < d.out; ++z)
    for (int64_t y = 0; y < h.out; ++y) {
      poll.did(w.out + 1);
      const int64_t to_z = reached(0, z), to_y = reached(1, y);
      if (to_z < 0 || to_z >= d.in || to_y < 0 || to_y >= h.in) continue;
      const float* from = shares + (z * h.out + y) * w.out;
      float* to = plane + (to_z * h.in + to_y) * w.in + reached(2, 0);
      if (w.stride == 1)
        for (int64_t x = first; x < last; ++x) to[x] += from[x];
      else
        for (int64_t x = first; x < last; ++x) to[x * w.stride] += from[x];
    }
}

/// `shares` is null where there is no product: only the bias is left.
void gather_planes(const Sizes& s, const float* shares, const float* bias, float* y, KernelContext& c) {
  c.parallel(s.filters, 1, [&](int64_t begin, int64_t end) {
    Poller poll(c);
    for (int64_t f = begin; f < end; ++f) {
      float* plane = y + f * s.y_plane;
      poll.fill(plane, s.y_plane, bias ? bias[f] : 0.0f);
      if (!shares) continue;
      const float* from = shares + f * s.taps * s.x_plane;
      int64_t tap[3];
      for (tap[0] = 0; tap[0] < s.axes[0].kernel; ++tap[0])
        for (tap[1] = 0; tap[1] < s.axes[1].kernel; ++tap[1])
          for (tap[2] = 0; tap[2] < s.axes[2].kernel; ++tap[2], from += s.x_plane)
            add_tap(s, tap, from, plane, poll);
    }
  });
}

/// One kernel for weights of float32, one for constants of 16 bits.
template <bool half>
Verdict ask(const ConvTranspose&, const KernelRequest& r) {
  if (auto refusal = cpu::refuse_unless_float32_with_weights(r, 1)) return *refusal;
  if (cpu::is_half(r.inputs[1].type) != half)
    return Verdict::no(half ? "weights not of 16 bits" : "weights not of float32");
  if (!r.inputs[0].shape) return Verdict::no("the rank is not known");
  if (r.inputs[0].shape->size() > 5) return Verdict::no("more than three spatial axes");
  return Verdict::yes();
}

Shape output_shape(const ConvTranspose& op, std::span<const Shape> inputs) {
  Fact<int64_t> in[2], out;
  for (size_t i = 0; i < 2; ++i) {
    in[i].present = in[i].ranked = true;
    in[i].shape.assign(inputs[i].begin(), inputs[i].end());
  }
  ShapeContext<int64_t> c(in, {&out, 1});
  op.shape(c);
  return Shape(out.shape.begin(), out.shape.end());
}

/// Bytes of scratch: what the taps add, a group's weights if they are widened, and the product's own.
struct Scratch {
  Scratch(const Sizes& s, const cpu::GemmKernels& g, bool half) {
    if (!s.has_product()) return;
    weights = s.share_bytes();
    product = weights + (half ? static_cast<size_t>((s.weights() + 15) / 16 * 16) * sizeof(float) : 0);
    size = product + cpu::multiply_workspace(g, s.products());
  }
  size_t weights = 0, product = 0, size = 0;
};

template <Isa isa, bool half>
size_t workspace(const ConvTranspose& op, std::span<const Shape> inputs, int) {
  const Sizes s(op, inputs[0], inputs[1], output_shape(op, inputs));
  return Scratch(s, cpu::gemm_kernels(isa), half).size;
}

/// The weights of one group in float32.
template <Isa isa, bool half>
const float* weights_of(const Tensor& w, int64_t group, const Sizes& s, float* wide, Workers& workers) {
  if (!half) return cpu::floats(w) + group * s.weights();
  const auto* const from = static_cast<const std::byte*>(w.data());
  cpu::widen(isa, w.type(), from + group * s.weights() * static_cast<int64_t>(sizeof(Float16)), wide,
             s.weights(), workers);
  return wide;
}

template <Isa isa, bool half>
void run(const ConvTranspose& op, KernelContext& c) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
  const Tensor &x = c.in(0), &w = c.in(1);
  Tensor& y = c.out(0);
  if (y.size() == 0) return;
  const Sizes s(op, x.shape(), w.shape(), y.shape());
  const bool product = s.has_product();
  cpu::Products p = s.products();
  const Scratch at(s, g, half);
  char* const scratch = product ? static_cast<char*>(c.workspace(at.size)) : nullptr;
  p.c = reinterpret_cast<float*>(scratch);
  const float* bias = cpu::floats(c, 2);
  for (int64_t i = 0; i < s.batch * s.groups; ++i) {
    const int64_t group = i % s.groups;
    if (product) {
      p.a.data = weights_of<isa, half>(w, group, s, reinterpret_cast<float*>(scratch + at.weights), c);
      p.b.data = cpu::floats(x) + i * s.channels * s.x_plane;
      cpu::multiply(g, p, scratch + at.product, c);
    }
    gather_planes(s, p.c, bias ? bias + group * s.filters : nullptr,
                  cpu::floats(y) + i * s.filters * s.y_plane, c);
  }
}

template <Isa isa, bool half>
void add(KernelCatalog& k, const char* name) {
  k.add<ConvTranspose>({.op = "ConvTranspose", .name = cpu::kernel_name(name, isa), .isa = isa},
                       {.run = run<isa, half>, .ask = ask<half>, .workspace = workspace<isa, half>});
}

}  // namespace

void cpu_conv_transpose(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    add<isa, false>(k, "conv_transpose");
    add<isa, true>(k, "conv_transpose.half");
  });
}

}  // namespace lathe
