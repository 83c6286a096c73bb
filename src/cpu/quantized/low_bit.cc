#include "cpu/quantized/low_bit.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cpu/simd/isa.h"
#include "cpu/tasks.h"

#define LATHE_ISA_INTS
#define LATHE_ISA_BODY "cpu/quantized/low_bit_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(LowBitKernels, low_bit_kernels)

namespace {

/// Another thread is not worth waking for fewer multiplications.
constexpr int64_t min_parallel_work = int64_t{1} << 17;
/// The number of panels between two calls of the epilogue.
constexpr int64_t stream_panels = 16;
/// The rows of A that stay in the cache while a panel after another is multiplied with them.
constexpr int64_t rows_together = 64;
/// The numbers that are packed between two polls.
constexpr int64_t packed_in_one_go = int64_t{1} << 16;

int64_t width_of(Isa isa) { return gemm_kernels(isa).NR; }
size_t form_of(const LowBit& w) { return w.bits == 8 ? 1 : 0; }

/// Panel `i` of a packed matrix.
LowBitPanel panel_of(Isa isa, const LowBit& w, int64_t i) {
  const int64_t width = width_of(isa), scales = i * w.blocks() * width;
  return {w.numbers + i * w.k * width * w.bits / 8,
          w.scales + scales,
          w.zeros ? w.zeros + scales : nullptr,
          w.zero,
          w.block,
          w.minimums ? w.minimums + scales : nullptr};
}

class Unpacking final : public PanelSource {
 public:
  Unpacking(Isa isa, const LowBit& w) : isa_(isa), w_(w), unpack_(low_bit_kernels(isa).unpack[form_of(w)]) {}
  void unpack(int64_t panel, int64_t k0, int64_t k, float* to) const override {
    unpack_(panel_of(isa_, w_, panel), k0, k, to);
  }

 private:
  Isa isa_;
  const LowBit& w_;
  void (*unpack_)(const LowBitPanel&, int64_t, int64_t, float*);
};

Products products(const LowBitProduct& p, const PanelSource& panels) {
  Products all{.m = p.m, .n = p.w.n, .k = p.w.k};
  all.a = {p.a, p.w.k, 1};
  all.panels = &panels;
  all.c = p.c;
  all.epilogue = p.epilogue;
  return all;
}

bool is_few(const LowBitProduct& p, bool strict) {
  return p.m <= (strict ? strict_low_bit_rows : low_bit_rows);
}

/// Sums the rows of A over the blocks, in an order that depends on the block alone.
void sum_blocks(const LowBitProduct& p, float* to) {
  constexpr int64_t lanes = 8;
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t k = 0; k < p.w.k; k += p.w.block, ++to) {
      const float* const a = p.a + i * p.w.k + k;
      const int64_t n = std::min(p.w.block, p.w.k - k);
      std::array<float, lanes> sums{};
      int64_t j = 0;
      for (; j + lanes <= n; j += lanes)
        for (int64_t l = 0; l < lanes; ++l) sums[static_cast<size_t>(l)] += a[j + l];
      for (; j < n; ++j) sums[static_cast<size_t>(j % lanes)] += a[j];
      *to = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }
}

size_t block_sums_bytes(const LowBitProduct& p) {
  return p.w.has_minimums ? static_cast<size_t>(p.m * p.w.blocks()) * sizeof(float) : 0;
}

/// Returns the arguments of the micro-kernels for panel `i`, from row `row` on.
LowBitRows rows_of(Isa isa, const LowBitProduct& p, int64_t i, int64_t row, const float* block_sums,
                   Bounds bounds) {
  const int64_t width = width_of(isa), blocks = p.w.blocks();
  return {.panel = panel_of(isa, p.w, i),
          .k = p.w.k,
          .a = p.a + row * p.w.k,
          .a_row = p.w.k,
          .c = p.c + row * p.w.n + i * width,
          .c_row = p.w.n,
          .columns = std::min(width, p.w.n - i * width),
          .bounds = bounds,
          .block_sums = p.w.has_minimums ? block_sums + row * blocks : nullptr,
          .block_sums_row = blocks};
}

void multiply_few(Isa isa, const LowBitProduct& p, bool strict, float* block_sums, KernelContext& c) {
  if (p.w.has_minimums) sum_blocks(p, block_sums);
  const int64_t width = width_of(isa), panels = ceil_div(p.w.n, width);
  const LowBitKernels& kernels = low_bit_kernels(isa);
  const auto run =
      strict ? kernels.multiply_strict[form_of(p.w)][p.m - 1] : kernels.multiply[form_of(p.w)][p.m - 1];
  const FusedActivation fused(p.epilogue);
  const auto some = [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end; first += stream_panels) {
      c.poll();
      const int64_t last = std::min(end, first + stream_panels), column = first * width,
                    columns = std::min(p.w.n, last * width) - column;
      for (int64_t i = first; i < last; ++i) run(rows_of(isa, p, i, 0, block_sums, fused.bounds));
      if (fused.epilogue) fused.epilogue->apply_rows(column, columns, p.m, p.w.n);
    }
  };
  const int64_t work = p.m * p.w.k * width;
  if (panels * work < 2 * min_parallel_work) return some(0, panels);
  c.parallel(panels, std::max<int64_t>(1, min_parallel_work / work), some);
}

/// The floats of a panel's numbers, and of all block sums, in whole lines.
int64_t unpacked_floats(Isa isa, const LowBitProduct& p) { return p.w.k * width_of(isa); }
int64_t block_sums_floats(const LowBitProduct& p) {
  return ceil_div(static_cast<int64_t>(block_sums_bytes(p) / sizeof(float)), 16) * 16;
}
/// A task multiplies so many panels, whose epilogue is applied at once.
int64_t stream_tasks(Isa isa, const LowBitProduct& p) {
  return ceil_div(p.w.n, stream_panels * width_of(isa));
}

/// Multiplies many rows, each with the bits that multiply_few() gives it where it is strict.
void multiply_many(Isa isa, const LowBitProduct& p, float* scratch, KernelContext& c) {
  float* const block_sums = scratch;
  float* const slots = scratch + block_sums_floats(p);
  if (p.w.has_minimums) sum_blocks(p, block_sums);
  const int64_t width = width_of(isa), panels = ceil_div(p.w.n, width),
                stride = slot_stride(unpacked_floats(isa, p), c.threads());
  const LowBitKernels& kernels = low_bit_kernels(isa);
  const FusedActivation fused(p.epilogue);
  for_each_task(c, stream_tasks(isa, p), [&](int64_t task, int64_t slot) {
    float* const numbers = slots + slot * stride;
    const int64_t first = task * stream_panels, last = std::min(panels, first + stream_panels),
                  column = first * width, columns = std::min(p.w.n, last * width) - column;
    for (int64_t row0 = 0; row0 < p.m; row0 += rows_together) {
      const int64_t end = std::min(p.m, row0 + rows_together);
      for (int64_t i = first; i < last; ++i) {
        c.poll();
        kernels.unpack_numbers[form_of(p.w)](panel_of(isa, p.w, i), p.w.k, numbers);
        for (int64_t row = row0; row < end; row += kernels.unpacked_rows) {
          LowBitRows some = rows_of(isa, p, i, row, block_sums, fused.bounds);
          some.unpacked = numbers;
          kernels.multiply_unpacked[std::min<int64_t>(kernels.unpacked_rows, end - row) - 1](some);
        }
      }
    }
    if (fused.epilogue) fused.epilogue->apply_rows(column, columns, p.m, p.w.n);
  });
}

/// Calls f(panel, begin, end) for the rows of all panels, some at a time.
template <class F>
void each_panel(Isa isa, int64_t rows, int64_t n, Workers& workers, F&& f) {
  const int64_t width = width_of(isa), panels = (n + width - 1) / width;
  const int64_t step = std::max<int64_t>(1, packed_in_one_go / width);
  workers.parallel(panels, std::max<int64_t>(1, packed_in_one_go / (width * (rows + 1))),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i)
                       for (int64_t k = 0; k < rows; k += step) {
                         workers.poll();
                         f(i, k, std::min(rows, k + step));
                       }
                   });
}

}  // namespace

int64_t packed_numbers_size(Isa isa, int64_t k, int64_t n, int bits) {
  return packed_b_size(gemm_kernels(isa), k, n) * packed_bits(bits) / 8;
}
int64_t packed_scales_size(Isa isa, int64_t blocks, int64_t n) {
  return packed_b_size(gemm_kernels(isa), blocks, n);
}

void pack_numbers(Isa isa, uint8_t* to, const BitMatrix& from, int64_t k, int64_t n, Workers& workers) {
  const int64_t width = width_of(isa);
  const bool halved = packed_bits(from.bits) == 4;
  const int64_t row = halved ? width / 2 : width;
  each_panel(isa, k, n, workers, [&](int64_t panel, int64_t begin, int64_t end) {
    uint8_t* const first = to + (panel * k + begin) * row;
    std::fill(first, first + (end - begin) * row, uint8_t{0});
    // Column by column, as reads are then mostly contiguous.
    for (int64_t j = 0; j < std::min(width, n - panel * width); ++j) {
      const int shift = halved && j >= row ? 4 : 0;
      uint8_t* at = first + (halved ? j % row : j);
      for (int64_t i = begin; i < end; ++i, at += row)
        *at = static_cast<uint8_t>(*at | from.at(i, panel * width + j) << shift);
    }
  });
}

void pack_scales(Isa isa, float* to, DataType type, const void* from, int64_t row, int64_t column,
                 int64_t blocks, int64_t n, Workers& workers) {
  const int64_t width = width_of(isa), size = bits_of(type) / 8;
  each_panel(isa, blocks, n, workers, [&](int64_t panel, int64_t begin, int64_t end) {
    float* at = to + (panel * blocks + begin) * width;
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = panel * width; j < (panel + 1) * width; ++j, ++at) {
        *at = 0;
        if (j >= n) continue;
        const void* const one = static_cast<const std::byte*>(from) + (i * row + j * column) * size;
        if (type == DataType::float32)
          std::memcpy(at, one, sizeof *at);
        else
          widen(isa, type, one, at, 1);
      }
  });
}

void pack_zeros(Isa isa, uint8_t* to, const BitMatrix& from, int64_t blocks, int64_t n, Workers& workers) {
  const int64_t width = width_of(isa);
  each_panel(isa, blocks, n, workers, [&](int64_t panel, int64_t begin, int64_t end) {
    uint8_t* at = to + (panel * blocks + begin) * width;
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = panel * width; j < (panel + 1) * width; ++j)
        *at++ = j < n ? from.at(i, j) : uint8_t{0};
  });
}

void unpack_column(Isa isa, const LowBit& w, int64_t column, float* to) {
  const int64_t width = width_of(isa), lane = column % width;
  const LowBitPanel panel = panel_of(isa, w, column / width);
  const bool halved = w.bits == 4;
  const int64_t row = halved ? width / 2 : width;
  const int shift = halved && lane >= row ? 4 : 0, mask = halved ? 15 : 255;
  const uint8_t* at = panel.numbers + (halved ? lane % row : lane);
  for (int64_t block = 0, i = 0; i < w.k; ++block) {
    const int64_t parameter = block * width + lane, end = std::min(w.k, i + w.block);
    const int zero = panel.zeros ? panel.zeros[parameter] : panel.zero;
    const float scale = panel.scales[parameter];
    float* const first = to + i;
    const int64_t n = end - i;
    for (; i < end; ++i, at += row) to[i] = static_cast<float>((*at >> shift & mask) - zero) * scale;
    if (!panel.minimums) continue;
    const float minimum = panel.minimums[parameter];
    for (int64_t j = 0; j < n; ++j) first[j] += minimum;
  }
}

size_t multiply_workspace(Isa isa, const LowBitProduct& p, bool strict, int threads) {
  if (p.m == 0) return 0;
  if (is_few(p, strict)) return block_sums_bytes(p);
  if (!strict) return multiply_workspace(gemm_kernels(isa), products(p, Unpacking(isa, p.w)));
  return static_cast<size_t>(block_sums_floats(p) + task_slots(stream_tasks(isa, p), threads) *
                                                        slot_stride(unpacked_floats(isa, p), threads)) *
         sizeof(float);
}

void multiply(Isa isa, const LowBitProduct& p, bool strict, void* workspace, KernelContext& c) {
  if (p.m == 0) return;
  float* const scratch = static_cast<float*>(workspace);
  if (is_few(p, strict)) return multiply_few(isa, p, strict, scratch, c);
  if (strict) return multiply_many(isa, p, scratch, c);
  const Unpacking panels(isa, p.w);
  multiply(gemm_kernels(isa), products(p, panels), workspace, c);
}

}  // namespace lathe::cpu
