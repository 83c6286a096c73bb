#include "cpu/gemm/exponent_packed.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/cpu.h"
#include "cpu/ceil_of.h"
#include "cpu/gemm/gemm_pack.h"
#include "cpu/simd/isa.h"
#include "cpu/support.h"

#define LATHE_ISA_BYTES
#define LATHE_ISA_BF16_DOT2
#define LATHE_ISA_BODY "cpu/gemm/exponent_packed_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {
namespace {

LATHE_SELECT_ISA(ExponentPackedTables, exponent_packed_tables)

static_assert(k_grain % exponent_packed_rows == 0);

/// Another thread is not worth waking for fewer multiplications.
constexpr int64_t min_parallel_work = int64_t{1} << 17;
/// The number of panels between two calls of the epilogue.
constexpr int64_t stream_panels = 16;
/// NR of the widest panel of all instruction sets.
constexpr int64_t widest_panel = 32;
/// A cache may hold weights of at most this many floats.
constexpr int64_t cached_floats = int64_t{1} << 18;

const GemmKernels& whole_kernels(Isa isa, ExponentPackedKind kind, bool strict = false) {
  return kind == ExponentPackedKind::floats ? gemm_kernels(isa, strict) : bf16_dot2_kernels(isa, strict);
}
int64_t panel_size(Isa isa, ExponentPackedKind kind, int64_t k) {
  return ceil_of(k, exponent_packed_rows) * exponent_packed_kernels(isa, kind).block_size;
}
int64_t whole_size(const GemmKernels& g, int64_t k, int64_t n) {
  return packed_b_size(g, k, n) * static_cast<int64_t>(sizeof(float));
}
const std::byte* panel_of(const ExponentPackedProduct& p, int64_t panel, int64_t size) {
  return static_cast<const std::byte*>(p.b) + panel * size;
}

class Unpacking final : public PanelSource {
 public:
  Unpacking(Isa isa, const ExponentPackedProduct& p)
      : p_(p), unpack_(exponent_packed_kernels(isa, p.kind).unpack), panel_(panel_size(isa, p.kind, p.k)) {}
  void unpack(int64_t panel, int64_t k0, int64_t k, float* to) const override {
    unpack_(panel_of(p_, panel, panel_), k0, k, to);
  }

 private:
  const ExponentPackedProduct& p_;
  void (*const unpack_)(const std::byte*, int64_t, int64_t, float*);
  const int64_t panel_;
};

bool is_few(int64_t m) { return m <= two_panel_rows; }

/// A has as many floats for each term as an element of B has numbers.
Operand a_of(const ExponentPackedProduct& p) {
  const int64_t numbers = p.kind == ExponentPackedKind::bf16_pairs ? 2 : 1;
  return {p.a, numbers * p.k, numbers};
}

/// The arguments of gemm.h's multiply() for many rows, with panels of B from `panels`, or for a matrix that
/// is not packed by exponents (null).
Products products(const ExponentPackedProduct& p, const PanelSource* panels) {
  Products all{.m = p.m, .n = p.n, .k = p.k};
  all.a = a_of(p);
  all.panels = panels;
  if (!panels) all.packed_b = p.b;
  all.c = p.c;
  all.start = p.start;
  all.epilogue = p.epilogue;
  return all;
}

/// Multiplies a few rows with some panels.
class FewRows {
 public:
  FewRows(Isa isa, const GemmKernels& g, const ExponentPackedProduct& p, const float* a, bool strict)
      : g_(g),
        kernels_(exponent_packed_kernels(isa, p.kind)),
        p_(p),
        a_(a),
        panel_(panel_size(isa, p.kind, p.k)) {
    const bool past = cpu_features().streams_past_l2;
    multiply_ = p.m == 1 && !strict ? kernels_.multiply_row[past] : kernels_.multiply[past][p.m];
  }

  void run(int64_t p0, int64_t p1, KernelContext& c) const {
    for (int64_t first = p0; first < p1; first += stream_panels) {
      const int64_t last = std::min(first + stream_panels, p1);
      for (int64_t panel = first; panel < last; ++panel) {
        c.poll();
        one(panel);
      }
      apply_epilogue(first * g_.NR, std::min(last * g_.NR, p_.n));
    }
  }

 private:
  void one(int64_t panel) const {
    alignas(64) float sums[two_panel_rows * widest_panel];
    const int64_t step = k_step(p_.k);
    for (int64_t k0 = 0; k0 < p_.k; k0 += step) {
      const std::byte* const block = panel_of(p_, panel, panel_);
      const ExponentPackedTile tile{.a = a_ + k0 * p_.m,
                                    .panel = block + k0 / exponent_packed_rows * kernels_.block_size,
                                    .k = std::min(step, p_.k - k0),
                                    .sums = sums};
      multiply_(tile);
      store(panel, k0, k0 + tile.k == p_.k, sums);
    }
  }

  void store(int64_t panel, int64_t k0, bool last, const float* sums) const {
    const int64_t column = panel * g_.NR;
    Start start = p_.start;
    if (start.data) start.data += column * start.column;
    float* const c = p_.c + column;
    Tile tile{.c = c,
              .c_row = p_.n,
              .rows = p_.m,
              .columns = std::min(g_.NR, p_.n - column),
              .start = k0 > 0 ? Start{c, p_.n, 1, 1} : start};
    if (last) tile.added = fused_.added_from(column), tile.bounds = fused_.bounds;
    g_.epilogue_sums(tile, sums);
  }

  void apply_epilogue(int64_t column, int64_t end) const {
    if (fused_.epilogue) fused_.epilogue->apply_rows(column, end - column, p_.m, p_.n);
  }

  const GemmKernels& g_;
  const ExponentPackedKernels& kernels_;
  const ExponentPackedProduct& p_;
  const float* const a_;
  const int64_t panel_;
  const FusedBiasActivation fused_{p_.epilogue, p_.n};
  void (*multiply_)(const ExponentPackedTile&);
};

/// Packs blocks that rows(k0, k, column, columns, to) writes, until one does not fit. Returns whether all
/// fit.
bool pack(Isa isa, ExponentPackedKind kind, std::byte* to, int64_t k, int64_t n, bool by_rows,
          Workers& workers, const auto& rows) {
  constexpr int64_t polled_blocks = 64;
  const GemmKernels& g = whole_kernels(isa, kind);
  const ExponentPackedKernels& kernels = exponent_packed_kernels(isa, kind);
  const int64_t width = g.NR, panels = g.panels(n), blocks = ceil_of(k, exponent_packed_rows);
  std::atomic<bool> fits = true;
  const auto pack_block = [&](int64_t panel, int64_t block) {
    alignas(64) float some[exponent_packed_rows * widest_panel] = {};
    const int64_t k0 = block * exponent_packed_rows, column = panel * width;
    rows(k0, std::min(exponent_packed_rows, k - k0), column, std::min(width, n - column), some);
    if (!kernels.encode(some, to + (panel * blocks + block) * kernels.block_size))
      fits.store(false, std::memory_order_relaxed);
  };
  // Along the rows of B or down its columns, whichever are dense.
  const int64_t outer = by_rows ? blocks : panels, inner = by_rows ? panels : blocks;
  const int64_t grain = std::max<int64_t>(1, packed_in_one_go / (exponent_packed_rows * width * (inner + 1)));
  workers.parallel(outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && fits.load(std::memory_order_relaxed); ++i)
      for (int64_t other = 0; other < inner; ++other) {
        if (other % polled_blocks == 0) workers.poll();
        by_rows ? pack_block(other, i) : pack_block(i, other);
      }
  });
  return fits.load();
}

}  // namespace

const ExponentPackedKernels& exponent_packed_kernels(Isa isa, ExponentPackedKind kind) {
  if (kind == ExponentPackedKind::floats) return exponent_packed_tables(isa).floats;
  LATHE_AVX512(if (isa == Isa::avx512 && uses_bf16()) return bf16::table.bf16_pairs;)
  return exponent_packed_tables(isa).bf16_pairs;
}

std::optional<int64_t> exponent_packed_size(Isa isa, ExponentPackedKind kind, int64_t k, int64_t n) {
  const GemmKernels& g = whole_kernels(isa, kind);
  const int64_t size = g.panels(n) * panel_size(isa, kind, k);
  return size < whole_size(g, k, n) ? std::optional(size) : std::nullopt;
}

bool pack_exponents(Isa isa, std::byte* to, const Operand& b, int64_t k, int64_t n, Workers& workers) {
  const GemmKernels& g = gemm_kernels(isa);
  return pack(isa, ExponentPackedKind::floats, to, k, n, b.column == 1, workers,
              [&](int64_t k0, int64_t some, int64_t column, int64_t columns, float* at) {
                g.pack_b(at, {b.data + k0 * b.row + column * b.column, b.row, b.column}, some, columns);
              });
}

bool pack_exponents(Isa isa, std::byte* to, const Bf16PairOperand& b, int64_t k, int64_t n,
                    Workers& workers) {
  const int64_t width = bf16_dot2_kernels(isa).NR;
  return pack(isa, ExponentPackedKind::bf16_pairs, to, k, n, b.column == 1, workers,
              [&](int64_t k0, int64_t some, int64_t column, int64_t columns, float* at) {
                pack_bf16_pairs(b.from(2 * k0, column), some, columns, width,
                                reinterpret_cast<BFloat16*>(at));
              });
}

Support prefer_exponent_packed(const KernelQuery& r, int64_t m, int64_t k, int64_t n) {
  // Not measured on processors that execute AVX-512 in halves (Zen 4): decoding takes twice the operations
  // there.
  const bool pays = r.isa == Isa::avx512 && !cpu_features().avx512_halved && is_few(m) &&
                    k * n > cached_floats && k % exponent_packed_rows == 0;
  return pays ? Support::yes() : Support::no("weights from memory are not what it waits for");
}

size_t multiply_workspace(Isa isa, const ExponentPackedProduct& p) {
  if (p.m == 0 || p.n == 0) return 0;
  const GemmKernels& g = whole_kernels(isa, p.kind);
  const Unpacking panels(isa, p);
  const size_t many = multiply_workspace(g, products(p, &panels));
  const size_t few = is_few(p.m) ? static_cast<size_t>(packed_a_size(p.m, p.k)) * sizeof(float) : 0;
  return std::max(many, few);
}

void multiply(Isa isa, const ExponentPackedProduct& p, bool strict, void* workspace, KernelContext& c) {
  if (p.m == 0 || p.n == 0) return;
  const GemmKernels& g = whole_kernels(isa, p.kind, strict);
  if (!p.is_packed || !is_few(p.m) || p.k == 0) {
    const Unpacking panels(isa, p);
    return multiply(g, products(p, p.is_packed ? &panels : nullptr), workspace, c);
  }
  const float* a = p.a;
  if (p.m > 1 || p.kind == ExponentPackedKind::bf16_pairs) {
    pack_whole_a(g, static_cast<float*>(workspace), a_of(p), p.m, p.k, c);
    a = static_cast<const float*>(workspace);
  }
  const FewRows rows(isa, g, p, a, strict);
  const int64_t panels = g.panels(p.n), work = p.m * g.NR * p.k;
  const auto some = [&](int64_t begin, int64_t end) { rows.run(begin, end, c); };
  if (panels * work < 2 * min_parallel_work) return some(0, panels);
  c.parallel(panels, std::max<int64_t>(1, min_parallel_work / work), some);
}

void multiply_operands(Isa isa, ExponentPackedProduct p, KernelContext& c) {
  p.a = floats(c.in(0));
  p.b = c.packed(1)->data();
  p.is_packed = c.packed(1)->type() == DataType::uint8;
  p.c = floats(c.out(0));
  p.epilogue = c.epilogue();
  multiply(isa, p, c.strict(), c.workspace(multiply_workspace(isa, p)), c);
}

}  // namespace lathe::cpu
