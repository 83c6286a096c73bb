#include "cpu/gemm/gemm.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/cpu.h"
#include "cpu/ceil_of.h"
#include "cpu/gemm/gemm_in_place.h"
#include "cpu/gemm/gemm_pack.h"
#include "cpu/simd/isa.h"

namespace lathe::cpu {

/// The kernels of one instruction set: [0] the fastest, [1] the strict ones.
struct GemmTables {
  GemmKernels floats[2], bf16_dot2[2];
};

}  // namespace lathe::cpu

#define LATHE_ISA_BF16_DOT2
#define LATHE_ISA_BODY "cpu/gemm/gemm_body.h"
#define LATHE_AMX_BODY "cpu/gemm/gemm_amx_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

namespace {

LATHE_SELECT_ISA(GemmTables, gemm_tables)

std::atomic<bool> bf16_enabled{true};

/// Packed operands larger than this many floats are processed in several rounds.
constexpr int64_t packed_at_once = int64_t{1} << 21;
/// Many products are packed in groups of at most this many floats, so that operands stay in the second-level
/// cache until they are multiplied.
constexpr int64_t products_at_once = int64_t{1} << 17;
/// A larger than this many floats is processed in rounds as well, so that each is multiplied while caches
/// hold it (measured with 512 x 3072 x 768 on a Zen 5, all at once and so: 210 and 227 GFLOP/s). A round has
/// at least this many rows, whose arithmetic hides that it reads all of B. Split rows (bf16x3) are exempt, as
/// fewer of them go together.
constexpr int64_t cached_at_once = int64_t{1} << 19, min_rows_per_round = 112;
/// MC: the number of tiles whose block of A stays in the second-level cache, and of their rows.
constexpr int64_t tiles_together = 16, MC = 224;
/// MC for split rows, which take half as much again, where there are more than would fit at once: otherwise
/// reading every panel twice for a few rows costs more.
constexpr int64_t split_MC = 128;
/// Another thread is not worth waking for fewer multiplications.
constexpr int64_t min_parallel_work = int64_t{1} << 17;

/// The number of floats of C that stay in the second-level cache during all blocks of k.
constexpr int64_t group_floats = 65536;

/// NR of the widest panel of all instruction sets.
constexpr int64_t widest_panel = 32;
/// Up to this many tiles read each panel as it comes from memory.
constexpr int64_t few_tiles = 2;
/// A second-level cache may still hold a B of at most this many floats from the last run.
constexpr int64_t cached_floats = int64_t{1} << 18;
/// The number of panels between two calls of the epilogue, for a few rows.
constexpr int64_t stream_panels = 16;

/// Products of at least so many rows, terms and columns are worth splitting (measured: sixteen rows take
/// AVX-512 without AMX the same time).
constexpr int64_t min_split_rows = 32, min_split_terms = 32, min_split_columns = 16;

/// Returns whether B needs no packing.
bool is_ready(const Products& p) { return p.packed_b || p.panels; }

/// Returns whether all of B fits the first-level cache, and its rows do not fall into too few cache sets.
bool is_cached_in_place(const Products& p) {
  constexpr int64_t most = 8192, longest_row = 512;
  return p.b.row <= longest_row && p.k * p.b.row <= most;
}

/// The kernels that multiply() uses.
const GemmKernels& fastest(const GemmKernels& g, const Products& p) {
  const bool many = p.m >= min_split_rows && p.k >= min_split_terms && p.n >= min_split_columns;
  return g.bf16x3 && many ? *g.bf16x3 : g;
}

/// The division of the work of multiply(), and the layout of its scratch.
struct Cut {
  Cut(const GemmKernels& g, const Products& p)
      : tiles(p.m, g.MR),
        panels(g.panels(p.n)),
        // One tile reads B once: packing would only double the traffic. If B fits the first-level cache in
        // place, it need not be copied.
        b_in_place(!is_ready(p) && p.b.column == 1 && (tiles.count() == 1 || is_cached_in_place(p))) {
    const int64_t a_size = p.m * g.packed_terms(p.k);
    b_size = is_ready(p) ? 0 : b_in_place ? g.NR * p.k : packed_b_size(g, p.k, p.n);
    products = std::clamp<int64_t>(products_at_once / std::max<int64_t>(1, a_size + b_size), 1,
                                   std::max<int64_t>(1, p.count()));
    const int64_t cached =
        g.split_a ? 1 : std::min(ceil_of(a_size, cached_at_once), p.m / min_rows_per_round);
    rounds = products > 1 ? 1 : std::max({int64_t{1}, ceil_of(a_size, packed_at_once), cached});
    tiles_a_round = (tiles.count() + rounds - 1) / rounds;
    rounds = tiles_a_round ? (tiles.count() + tiles_a_round - 1) / tiles_a_round : 0;
    // The taller tiles come first.
    this->a_size = tiles_a_round ? tiles.begin(tiles_a_round) * g.packed_terms(p.k) : 0;
    this->b_size = (b_size + 15) / 16 * 16;
  }
  RowTiles tiles;
  int64_t panels;
  bool b_in_place;
  int64_t products = 1;  // at once
  int64_t rounds = 1;    // over the tiles of a product
  int64_t tiles_a_round = 0;
  int64_t a_size = 0, b_size = 0;  // floats of scratch of one product
};

/// The numbers of tiles and panels of a piece of work, so small that all threads get some.
std::pair<int64_t, int64_t> piece(const GemmKernels& g, const Products& p, int64_t tiles, int64_t panels,
                                  int64_t products, int threads) {
  const int64_t rows = g.split_a && p.m > MC ? split_MC : MC;
  const int64_t most = std::min({tiles, tiles_together, rows / g.MR});
  // Pieces of equal height: a low one at the end would read every panel for a few rows.
  int64_t t = ceil_of(tiles, ceil_of(tiles, most)), q = panels;
  // No product overlaps with the splitting of the first panel of each piece.
  const int64_t each = g.split_a ? 2 : 4, wanted = threads == 1 ? 1 : each * threads;
  auto work = [&] { return t * g.MR * q * g.NR * std::max<int64_t>(p.k, 1); };
  auto pieces = [&] { return products * ((tiles + t - 1) / t) * ((panels + q - 1) / q); };
  while (pieces() < wanted && work() > 2 * min_parallel_work && (t > 1 || q > 1)) {
    if (q > 1 && (t == 1 || q * g.NR >= t * g.MR))
      q = (q + 1) / 2;
    else
      t = (t + 1) / 2;
  }
  return {t, q};
}

/// Applies the epilogue to rows [r0, r1) and columns [c0, c1), which are final.
void apply_part(Epilogue* epilogue, const PackedProduct& p, int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
  if (epilogue) epilogue->apply_rows(p.first_element + r0 * p.n + c0, c1 - c0, r1 - r0, p.n);
}

/// For kernels of bf16x3: the split block of B that is multiplied, and the next one.
struct SplitBuffers {
  alignas(64) float panels[2][KC / part_depth * part_weights / static_cast<int64_t>(sizeof(float))];
};

/// The macro-kernel: loops over tiles [t0, t1) x panels [p0, p1) of a product. While one block of B (KC x NR)
/// is multiplied, the next one is prefetched: waiting for memory would take a tenth of the time of the
/// arithmetic.
class Walk {
 public:
  Walk(const GemmKernels& g, const PackedProduct& p, int64_t t0, int64_t t1, int64_t p0, int64_t p1,
       KernelContext& c, SplitBuffers* split_buffers)
      : g_(g),
        p_(p),
        tiles_(p.m, g.MR),
        t0_(t0),
        t1_(t1),
        p0_(p0),
        p1_(p1),
        c_(c),
        split_buffers_(split_buffers) {}

  void run() {
    if (t0_ == t1_ || p0_ == p1_) return;
    if (t1_ - t0_ <= few_tiles) return stream();
    const int64_t most = group_floats / ((t1_ - t0_) * g_.MR * g_.NR);
    const int64_t groups = ceil_of(p1_ - p0_, std::max<int64_t>(1, most)),
                  length = ceil_of(p1_ - p0_, groups);
    for (int64_t first = p0_; first < p1_; first += length) group(first, std::min(first + length, p1_));
  }

 private:
  /// The start of a block of B.
  struct BlockStart {
    int64_t panel, k0;
  };
  bool has(BlockStart at) const { return at.panel >= p0_ && at.panel < p1_; }

  /// Multiplies a few rows: their A stays in the cache, and each panel is read as one stream, or several at
  /// once as several streams. The sums are the same as in group().
  void stream() {
    const bool few = !g_.split_a && !p_.panels && t1_ - t0_ == 1 && tiles_.rows(t0_) <= two_panel_rows;
    const bool two_panels = few && (is_float() || is_stream());
    const bool four_panels = two_panels && tiles_.rows(t0_) == 1 && g_.four_panels && !is_stream();
    const int64_t count = p1_ - p0_, together = four_panels ? 4 : two_panels ? 2 : 1;
    for (int64_t done = 0; done < count; done += stream_panels) {
      const int64_t some = std::min(stream_panels, count - done);
      for (int64_t i = 0, panels; i < some; i += panels) {
        panels = some - i >= together ? together : std::min<int64_t>(some - i, 2);
        const int64_t panel = streamed(done + i, panels), after = streamed(done + i + panels, panels);
        for (int64_t k0 = 0; k0 == 0 || k0 < p_.k; k0 += step_) {
          const BlockStart at{panel, k0},
              next = k0 + step_ < p_.k ? BlockStart{panel, k0 + step_} : BlockStart{after, 0};
          two_panels ? multiply_single_tile(at, next, panels) : block(at, next);
        }
      }
      const int64_t first = streamed(done, some);
      apply_epilogue(first, first + some);
      c_.poll();
    }
  }
  /// Multiplies one, two or four panels with the single tile: block() without the steps that a few rows do
  /// not need, which would cost them time.
  void multiply_single_tile(BlockStart at, BlockStart next, int64_t panels) {
    const int64_t row = tiles_.begin(t0_), rows = tiles_.rows(t0_), column = at.panel * g_.NR;
    Tile tile{.a = p_.a + (row - p_.first_row) * g_.packed_terms(p_.k) + g_.packed_terms(at.k0) * rows,
              .b = reinterpret_cast<const float*>(address_of(at)),
              .b_row = p_.b_row,
              .b_panel = p_.b_panel,
              .c = p_.c + row * p_.c_row + column,
              .c_row = p_.c_row,
              .rows = rows,
              .k = std::min(step_, p_.k - at.k0),
              .columns = std::min(panels * g_.NR, p_.n - column),
              .after = prefetch_address(next)};
    start_and_end(tile, at.k0, row, column);
    if (is_float())
      is_stream() ? g_.run_stream(rows, tile) : g_.run(rows, tile);
    else
      g_.f16_of(p_.b_type).run_stream(rows, tile, panels);
  }
  /// Sets the start of a tile's sums, and the bias and bounds for complete sums.
  void start_and_end(Tile& tile, int64_t k0, int64_t row, int64_t column) const {
    tile.start = k0 > 0 ? Start{tile.c, p_.c_row, 1, 1} : start(row, column);
    if (k0 + tile.k == p_.k) tile.added = fused_.added_from(column), tile.bounds = fused_.bounds;
  }
  bool is_float() const { return p_.b_type == DataType::float32; }
  /// Returns whether the rows of a panel are contiguous in memory.
  bool is_dense() const { return !p_.panels && p_.b_row == g_.NR; }
  /// The lowest of the i-th to (i + n - 1)-th panels in the order of reading.
  int64_t streamed(int64_t i, int64_t n) const { return p_.backwards ? p1_ - i - n : p0_ + i; }

  /// Returns whether a few rows wait for panels that no cache holds.
  bool is_stream() const { return t1_ - t0_ <= few_tiles && p_.n * p_.k > cached_floats; }

  void apply_epilogue(int64_t first, int64_t end) const {
    apply_part(fused_.epilogue, p_, tiles_.begin(t0_), tiles_.begin(t1_), first * g_.NR,
               std::min(end * g_.NR, p_.n));
  }

  void group(int64_t first, int64_t end) {
    for (int64_t k0 = 0; k0 == 0 || k0 < p_.k; k0 += step_)
      for (int64_t panel = first; panel < end; ++panel)
        block({panel, k0}, panel + 1 < end     ? BlockStart{panel + 1, k0}
                           : k0 + step_ < p_.k ? BlockStart{first, k0 + step_}
                                               : BlockStart{end, 0});
    apply_epilogue(first, end);
  }

  void block(BlockStart at, BlockStart next) {
    const int64_t column = at.panel * g_.NR;
    const int64_t k = std::min(step_, p_.k - at.k0);
    alignas(64) float widened[KC * widest_panel];
    const bool f16 = !is_float(), few = f16 && !g_.split_a && t1_ - t0_ <= few_tiles;
    const bool is_widened = p_.panels || (f16 && !few);
    if (p_.panels)
      p_.panels->unpack(at.panel, at.k0, k, widened);
    else if (is_widened)
      widen(g_.isa, p_.b_type, address_of(at), widened, k * p_.b_row);
    Tile tile{.b = is_widened ? widened : reinterpret_cast<const float*>(address_of(at)),
              .b_row = p_.b_row,
              .b_panel = p_.b_panel,
              .c_row = p_.c_row,
              .k = k,
              .columns = std::min(g_.NR, p_.n - column)};
    if (g_.split_a && !p_.no_split) split(tile, next);
    // The tiles share the prefetching of the next block.
    if (is_dense() && !tile.split && has(next) && k > 0) {
      const int64_t bytes = std::min(step_, p_.k - next.k0) * p_.b_row * element_size_;
      tile.next = reinterpret_cast<const float*>(address_of(next));
      tile.next_step = ceil_of(bytes, k * (t1_ - t0_) * static_cast<int64_t>(sizeof(float)));
    }
    for (int64_t t = t0_; t < t1_; ++t) {
      const int64_t row = tiles_.begin(t), rows = tiles_.rows(t);
      tile.a = p_.a + (row - p_.first_row) * g_.packed_terms(p_.k) + g_.packed_terms(at.k0) * rows;
      tile.c = p_.c + row * p_.c_row + column;
      start_and_end(tile, at.k0, row, column);
      tile.rows = rows;
      if (rows >= g_.tiled_rows) registers_.set(rows);
      if (few)
        g_.f16_of(p_.b_type).one[rows](tile);
      else
        g_.run(rows, tile);
      tile.next += k * tile.next_step;
    }
    if (tile.split) g_.split_b(split_);
    c_.poll();
  }

  /// Sets a tile's split panel, which is ready except for the first panel, and lets the kernel split the next
  /// one meanwhile. Panels that are not in memory as float32 are split before they are multiplied.
  void split(Tile& tile, BlockStart next) {
    const bool in_memory = is_float() && !p_.panels;
    if (!in_memory || split_.to == nullptr) {
      split_ = {.from = tile.b, .row = tile.b_row, .left = tile.k, .to = split_buffers_->panels[ready_]};
      g_.split_b(split_);
    }
    tile.bf16x3 = split_.wrong ? nullptr : split_buffers_->panels[ready_];
    if (!in_memory || !has(next)) return;
    ready_ = 1 - ready_;
    split_ = {.from = reinterpret_cast<const float*>(address_of(next)),
              .row = p_.b_row,
              .left = std::min(step_, p_.k - next.k0),
              .to = split_buffers_->panels[ready_],
              .share = ceil_of(k_grain / 2, part_products * (t1_ - t0_))};
    tile.split = &split_;
  }

  const std::byte* address_of(BlockStart at) const {
    const int64_t element = (at.panel - p_.first_panel) * p_.b_panel + at.k0 * p_.b_row;
    return static_cast<const std::byte*>(p_.b) + element * element_size_;
  }
  /// The address of a block; after the last panel that of the first one, as it is only prefetched.
  const float* prefetch_address(BlockStart at) const {
    return reinterpret_cast<const float*>(address_of(has(at) ? at : BlockStart{p0_, 0}));
  }
  Start start(int64_t row, int64_t column) const {
    Start s = p_.start;
    if (s.data) s.data += row * s.row + column * s.column;
    return s;
  }

  const GemmKernels& g_;
  const PackedProduct& p_;
  const FusedBiasActivation fused_{p_.epilogue, p_.n};
  const RowTiles tiles_;
  const int64_t t0_, t1_, p0_, p1_;
  const int64_t step_ = k_step(p_.k);
  const int64_t element_size_ =
      static_cast<int64_t>(p_.b_type == DataType::float32 ? sizeof(float) : sizeof(Float16));
  TileRegisters registers_;
  KernelContext& c_;
  PanelSplit split_;
  SplitBuffers* const split_buffers_;
  int ready_ = 0;
};

/// A function of its own, since its buffers are large and a caller's stack may be small.
__attribute__((noinline)) void walk_splitting(const GemmKernels& g, const PackedProduct& p, int64_t t0,
                                              int64_t t1, int64_t p0, int64_t p1, KernelContext& c) {
  SplitBuffers buffers;
  Walk(g, p, t0, t1, p0, p1, c, &buffers).run();
}

/// Returns whether the product is one row times packed weights: a dense row needs no packing.
bool is_row(const Products& p) {
  return p.m == 1 && p.count() == 1 && p.packed_b && p.a.column == 1 && p.alpha == 1;
}

}  // namespace

namespace {

/// Computes the same as Walk for one row of few terms, without its bookkeeping, which takes longer than the
/// arithmetic of a small product. The bits are the same.
void multiply_few(const GemmKernels& g, const RowProduct& p) {
  const FusedBiasActivation fused(p.epilogue, p.n);
  const int64_t width = 2 * g.NR;
  for (int64_t column = 0; column < p.n; column += width)
    g.run(1, {.a = p.a,
              .b = static_cast<const float*>(p.packed_b) + column * p.k,
              .b_row = g.NR,
              .b_panel = g.NR * p.k,
              .c = p.c + column,
              .c_row = p.n,
              .k = p.k,
              .columns = std::min(width, p.n - column),
              .start = {p.start.data ? p.start.data + column * p.start.column : nullptr, 0, p.start.column,
                        p.start.scale},
              .added = fused.added_from(column),
              .bounds = fused.bounds});
  if (fused.epilogue) fused.epilogue->apply(0, p.n);
}

}  // namespace

void multiply(const GemmKernels& g, const RowProduct& p, KernelContext& c) {
  const bool few = p.n * std::max<int64_t>(p.k, 1) < 2 * min_parallel_work;
  if (few && p.k <= KC && p.packed_type == DataType::float32) return multiply_few(g, p);
  const PackedProduct row{.m = 1,
                          .n = p.n,
                          .k = p.k,
                          .a = p.a,
                          .b = p.packed_b,
                          .b_type = p.packed_type,
                          .b_row = g.NR,
                          .b_panel = g.NR * p.k,
                          .c = p.c,
                          .c_row = p.n,
                          .start = p.start,
                          .epilogue = p.epilogue};
  // Two panels are read at once: pieces of an odd number of panels would each end with a single one.
  const int64_t panels = g.panels(p.n), work = 2 * g.NR * std::max<int64_t>(p.k, 1);
  auto some = [&](int64_t begin, int64_t end) {
    multiply_packed(g, row, 0, 1, 2 * begin, std::min(2 * end, panels), c);
  };
  const int64_t pairs = ceil_of(panels, 2);
  if (pairs * work < 2 * min_parallel_work) return some(0, pairs);
  c.parallel(pairs, std::max<int64_t>(1, min_parallel_work / work), some);
}

const GemmKernels& gemm_kernels(Isa isa, bool strict) {
  LATHE_AVX512(
      if (isa == Isa::avx512 && !strict && uses_amx() && cpu_features().amx_bf16) return amx::floats;)
  return gemm_tables(isa).floats[strict];
}

void use_bf16(bool yes) { bf16_enabled.store(yes, std::memory_order_relaxed); }

bool uses_bf16() { return bf16_enabled.load(std::memory_order_relaxed) && cpu_features().avx512_bf16; }

const GemmKernels& bf16_dot2_kernels(Isa isa, bool strict) {
  LATHE_AVX512(if (isa == Isa::avx512 && uses_bf16()) {
    return !strict && uses_amx() && cpu_features().amx_bf16 ? amx::table : bf16::table.bf16_dot2[strict];
  })
  return gemm_tables(isa).bf16_dot2[strict];
}

void multiply_packed(const GemmKernels& g, const PackedProduct& p, int64_t t0, int64_t t1, int64_t p0,
                     int64_t p1, KernelContext& c) {
  if (g.split_a) return walk_splitting(g, p, t0, t1, p0, p1, c);
  Walk(g, p, t0, t1, p0, p1, c, nullptr).run();
}

size_t multiply_workspace(const GemmKernels& g, const Products& p) {
  if (p.m == 0 || p.n == 0 || p.count() == 0 || is_row(p)) return 0;
  const auto of = [&](const GemmKernels& kernels) {
    const Cut cut(kernels, p);
    return static_cast<size_t>(cut.products * (cut.a_size + cut.b_size)) * sizeof(float);
  };
  // Strict kernels need no more.
  return std::max(of(g), of(fastest(g, p)));
}

void multiply(const GemmKernels& kernels, const Products& p, void* workspace, KernelContext& c) {
  if (p.m == 0 || p.n == 0 || p.count() == 0) return;
  const GemmKernels& g = fastest(kernels, p);
  if (is_row(p))
    return multiply(g, {p.n, p.k, p.a.data, p.packed_b, p.packed_type, p.c, p.start, p.epilogue}, c);
  if (multiplies_in_place(g, p)) return multiply_in_place(g, p, c);
  const Cut cut(g, p);
  const int64_t in_place = cut.b_in_place ? p.n / g.NR : 0;  // panels
  float* const packed_a = static_cast<float*>(workspace);
  float* const packed_b = packed_a + cut.products * cut.a_size;
  auto a_of = [&](int64_t i) { return p.a.data + p.matrix(i, p.a_step) * p.a_matrix; };
  auto b_of = [&](int64_t i) { return p.b.data + p.matrix(i, p.b_step) * p.b_matrix; };
  const int64_t count = p.count();

  for (int64_t first = 0; first < count; first += cut.products) {
    const int64_t products = std::min(cut.products, count - first);
    for (int64_t round = 0; round < cut.rounds; ++round) {
      const int64_t t0 = round * cut.tiles_a_round;
      const int64_t tiles = std::min(cut.tiles_a_round, cut.tiles.count() - t0);
      const int64_t row0 = cut.tiles.begin(t0);
      const int64_t b_panels = is_ready(p) || round > 0 ? 0 : cut.panels - in_place;
      std::atomic<bool> no_split = false;

      auto pack = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t product = i / (tiles + b_panels), j = i % (tiles + b_panels);
          if (j < tiles) {
            const int64_t row = cut.tiles.begin(t0 + j);
            const int64_t rows = cut.tiles.rows(t0 + j);
            const float* const a = a_of(first + product) + row * p.a.row;
            float* const to = packed_a + product * cut.a_size + (row - row0) * g.packed_terms(p.k);
            pack_pieces(p.k, rows, c, [&](int64_t k0, int64_t length) {
              const Operand some{a + k0 * p.a.column, p.a.row, p.a.column};
              float* const at = to + g.packed_terms(k0) * rows;
              if (!g.split_a)
                g.pack_a(at, some, rows, length, p.alpha);
              else if (!g.split_a(at, some, rows, length, p.alpha))
                no_split.store(true, std::memory_order_relaxed);
            });
          } else {
            const int64_t panel = in_place + j - tiles, column = panel * g.NR;
            const float* const b = b_of(first + product) + column * p.b.column;
            float* const to = packed_b + product * cut.b_size + (j - tiles) * g.NR * p.k;
            pack_pieces(p.k, g.NR, c, [&](int64_t k0, int64_t length) {
              g.pack_b(to + k0 * g.NR, {b + k0 * p.b.row, p.b.row, p.b.column}, length,
                       std::min(g.NR, p.n - column));
            });
          }
        }
      };
      // The cost of packing one term of a tile, in multiplications.
      const int64_t packing = g.split_a ? 128 : 16;
      c.parallel(products * (tiles + b_panels),
                 std::max<int64_t>(1, min_parallel_work / (packing * (p.k + 1))), pack);

      const auto [some_tiles, some_panels] = piece(g, p, tiles, cut.panels, products, c.threads());
      const int64_t down = (tiles + some_tiles - 1) / some_tiles,
                    across = (cut.panels + some_panels - 1) / some_panels;
      auto compute = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t product = i / (down * across), tile = i / across % down * some_tiles,
                        panel = i % across * some_panels;
          PackedProduct part{.m = p.m,
                             .n = p.n,
                             .k = p.k,
                             .a = packed_a + product * cut.a_size,
                             .b = packed_b + product * cut.b_size,
                             .panels = p.panels,
                             .b_row = g.NR,
                             .b_panel = g.NR * p.k,
                             .first_row = row0,
                             .first_panel = in_place,
                             .c = p.c + (first + product) * p.m * p.n,
                             .c_row = p.n,
                             .start = p.start,
                             .epilogue = p.epilogue,
                             .first_element = (first + product) * p.m * p.n,
                             .no_split = no_split.load(std::memory_order_relaxed)};
          if (is_ready(p)) part.first_panel = 0;
          if (p.packed_b) {
            part.b_type = p.packed_type;
            part.b = static_cast<const std::byte*>(p.packed_b) + p.matrix(first + product, p.b_step) *
                                                                     packed_b_size(g, p.k, p.n) *
                                                                     bits_of(p.packed_type) / 8;
          }
          const int64_t t = t0 + tile, t_end = std::min(t + some_tiles, t0 + tiles);
          const int64_t panel_end = std::min(panel + some_panels, cut.panels);
          if (in_place > panel) {
            PackedProduct there = part;
            there.b = b_of(first + product);
            there.b_row = p.b.row;
            there.b_panel = g.NR;
            there.first_panel = 0;
            multiply_packed(g, there, t, t_end, panel, std::min(in_place, panel_end), c);
          }
          if (panel_end > in_place) {
            multiply_packed(g, part, t, t_end, std::max(panel, in_place), panel_end, c);
          }
        }
      };
      const int64_t work = some_tiles * g.MR * some_panels * g.NR * std::max<int64_t>(p.k, 1);
      c.parallel(products * down * across, std::max<int64_t>(1, min_parallel_work / work), compute);
    }
  }
}

}  // namespace lathe::cpu
