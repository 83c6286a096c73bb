// Convolution in products of 2 x 2 blocks: pixels are the rows of A, the channels that windows read its
// columns, and filters the columns of B, which has the panels of direct convolution.
#include "cpu/ceil_of.h"
#include "cpu/gemm.h"
#include "cpu/nchw16c/blocked_tile.h"

namespace lathe::cpu {
namespace {

int64_t depth(const BlockedShape& s) { return s.channels * s.taps(); }

StrassenProduct product(const GemmKernels& g, const BlockedShape& s, const BlockedImages& images) {
  const auto* const panels = static_cast<const uint8_t*>(images.weights);
  const int64_t bytes = direct_weights_size(g.isa, s) * bits_of(images.weights_type) / 8;
  const bool one_row = s.taps() == 1 && s.stride[0] == 1 && s.stride[1] == 1;
  return {.m = s.out_pixels(),
          .n = s.filters,
          .k = depth(s),
          .a = {.data = images.x,
                .row = s.stride[1] * channel_block,
                .width = one_row ? 0 : s.out[1],
                .line = s.stride[0] * s.in[1] * channel_block,
                .plane = s.in_pixels() * channel_block,
                .taps = s.taps(),
                .tap_row = s.kernel[1],
                .tap = s.dilation[1] * channel_block,
                .tap_line = s.dilation[0] * s.in[1] * channel_block},
          .b = panels,
          .b_type = images.weights_type,
          .marks = panels ? panels + bytes : nullptr,
          .c = images.y,
          .c_row = channel_block,
          .c_block = s.out_pixels() * channel_block,
          .all = s.out_floats(),
          .start = {images.bias, 0, 1, 1}};
}

bool pays(const GemmKernels& g, const BlockedShape& s) { return pays_strassen(g, s.out_pixels()); }

}  // namespace

static_assert(channel_block == a_block);

/// With fewer terms, the sums of blocks cost more than is saved.
constexpr int64_t min_depth = 256;

bool fits_strassen(Isa isa, const BlockedShape& s) {
  const int64_t columns = gemm_kernels(isa).NR;
  return !s.nchw && s.pad[0] == 0 && s.pad[1] == 0 && s.channels % channel_block == 0 &&
         s.filters % columns == 0 && columns % channel_block == 0 &&
         blocked_tiles(isa).panel_filters() == columns && depth(s) >= min_depth &&
         depth(s) % (2 * a_block) == 0;
}

bool prefers_strassen(Isa isa, const BlockedShape& s) {
  constexpr int64_t min_filters = 128;
  return pays(gemm_kernels(isa), s) && s.filters >= min_filters && fastest_winograd(isa, s).output == 0;
}

int64_t strassen_weights_size(Isa isa, const BlockedShape& s) {
  return direct_weights_size(isa, s) + marks_size(gemm_kernels(isa), depth(s), s.filters);
}

void pack_strassen_weights(Isa isa, const BlockedShape& s, const float* weights, float* to,
                           Workers& workers) {
  pack_direct_weights(isa, s, weights, to, workers);
  std::fill_n(to + direct_weights_size(isa, s), strassen_weights_size(isa, s) - direct_weights_size(isa, s),
              0.0f);
}

void mark_strassen_weights(Isa isa, const BlockedShape& s, DataType type, void* packed, Workers& workers) {
  void* const marks = static_cast<uint8_t*>(packed) + direct_weights_size(isa, s) * bits_of(type) / 8;
  compare_blocks(gemm_kernels(isa), type, packed, depth(s), s.filters, marks, workers);
}

size_t strassen_workspace(Isa isa, const BlockedShape& s, bool f16, int threads) {
  if (s.empty()) return 0;
  const GemmKernels& g = gemm_kernels(isa);
  return pays(g, s) ? strassen_workspace(g, product(g, s, {}), threads)
                    : direct_workspace(isa, s, f16, threads);
}

bool strassen_adds_over(Isa isa, const BlockedShape& s, DataType weights) {
  if (s.empty()) return false;
  const GemmKernels& g = gemm_kernels(isa);
  return pays(g, s) ? sums_once(depth(s)) : direct_adds_over(isa, s, weights);
}

void strassen_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                          KernelContext& c) {
  if (s.empty()) return;
  const GemmKernels& g = gemm_kernels(isa);
  if (!pays(g, s)) return direct_convolution(isa, s, images, workspace, c);
  StrassenProduct p = product(g, s, images);
  p.epilogue = c.epilogue();
  for (int64_t image = 0; image < s.batch; ++image) {
    p.before = images.before.of_image(image);
    multiply_strassen(g, p, workspace, c);
    p.a.data += s.in_blocks() * s.in_pixels() * channel_block;
    p.c += p.n * p.m;
    p.first_element += p.n * p.m;
  }
}

}  // namespace lathe::cpu
