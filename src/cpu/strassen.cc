#include "cpu/strassen.h"

#include <algorithm>
#include <utility>

#include "base/cpu.h"
#include "cpu/ceil_of.h"
#include "cpu/isa.h"

#define LATHE_ISA_BODY "cpu/strassen_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

namespace {

LATHE_SELECT_ISA(StrassenKernels, strassen_kernels)

/// Floats of a line of the caches.
constexpr int64_t line = 16;
/// Both halves of a block of k are whole blocks of packed A.
constexpr int64_t k_grain = 2 * a_block;
/// Terms after which C is updated: so that the operands that A is packed to stay in the second-level cache.
constexpr int64_t most_terms = 768;
/// Half of the rows that a piece of the work takes together, for the same reason.
constexpr int64_t rows_together = 112;
/// Columns of the widest panel of all instruction sets, rows of the highest tile.
constexpr int64_t widest_panel = 32, highest_tile = 14;
/// Floats of C that stay in the second-level cache while k is walked along.
constexpr int64_t group_floats = 65536;
/// Fewer gain less (7 % with 256) than it is worth to sum in the order in which everybody else does.
constexpr int64_t least_terms = 384;
/// Fewer do not make up for the sums of parts.
constexpr int64_t least_columns = 256;
/// Multiplications below which another thread is not worth waking.
constexpr int64_t least_work = int64_t{1} << 17;

enum APart : uint8_t { a11, a12, a21, a22, s1, s2, s3, s4 };
enum BPart : uint8_t { t1, t2, t3, t4 };

/// Nor do fewer rows. (Measured on a Zen 4, whose AVX-512 takes two turns, and there with AVX2: 16 rows of
/// weights from memory take 0 to 6 % less, 28 a fifth, 128 a tenth.)
int64_t least_rows(Isa isa) { return isa == Isa::avx512 && !cpu_features().avx512_halved ? 64 : 20; }

bool pays(const GemmKernels& g, const Products& p) {
  return !g.strict && !g.parts && p.m >= least_rows(g.isa) && p.packed_b &&
         p.packed_type == DataType::float32 && p.a.column == 1 && p.count() == 1;
}

/// Of k: of equal length.
struct Blocks {
  explicit Blocks(int64_t k)
      : step(ceil_of(k, ceil_of(k, most_terms) * k_grain) * k_grain), count(ceil_of(k, step)) {}
  int64_t step, count;
};

/// How the work is cut: rows in groups of tiles, k in blocks. What A of one block in one group is packed to
/// stays in the cache, and makes room for the next.
struct Cut {
  Cut(const GemmKernels& g, const Products& p)
      : half_rows(ceil_of(p.m, 2)),
        tiles(half_rows, g.max_rows),
        groups(tiles.count(), static_cast<int>(std::max<int64_t>(1, rows_together / g.max_rows))),
        pairs(ceil_of(p.n, 2 * g.panel_columns)),
        blocks(p.k),
        size(strassen_operands / 2 * groups.rows(0) * tiles.rows(0) * blocks.step) {}
  int64_t half_rows;
  RowTiles tiles;   // of half the rows
  RowTiles groups;  // of tiles; the taller ones come first
  int64_t pairs;    // of panels
  Blocks blocks;
  int64_t size;  // floats that a block is packed to
};

bool is_whole(const GemmKernels& g, int64_t pair, int64_t n) { return (pair + 1) * 2 * g.panel_columns <= n; }

/// What a thread needs besides.
struct Room {
  alignas(64) float panels[4 * most_terms / 2 * widest_panel];
  alignas(64) float sums[4][highest_tile * widest_panel];
};

/// What is packed: tiles [t0, t1), a block of k.
struct PackedBlock {
  const float* a = nullptr;
  const uint8_t* near = nullptr;  // by tile
  int64_t t0 = 0, t1 = 0, block = 0;
};

/// One block times pairs of panels.
class Walk {
 public:
  Walk(const GemmKernels& g, const Products& p, const Cut& cut, const PackedBlock& packed, KernelContext& c,
       Room& room)
      : g_(g),
        kernels_(strassen_kernels(g.isa)),
        p_(p),
        cut_(cut),
        packed_(packed),
        k0_(packed.block * cut.blocks.step),
        terms_(std::min(cut.blocks.step, p.k - k0_)),
        half_(terms_ / 2),
        c_(c),
        room_(room) {}

  void run(int64_t begin, int64_t end) {
    begin_ = begin;
    const int64_t rows = 2 * (packed_.t1 - packed_.t0) * g_.max_rows;
    const int64_t most = std::max<int64_t>(1, group_floats / (rows * 2 * g_.panel_columns));
    for (int64_t first = begin; first < end; first += most) {
      const int64_t last = std::min(first + most, end);
      for (int64_t pair = first; pair < last; ++pair) block(pair, end);
      if (k0_ + terms_ == p_.k) finish(first, last);
    }
  }

 private:
  bool is_near(int64_t pair) const {
    const auto* const flags = reinterpret_cast<const uint8_t*>(static_cast<const float*>(p_.packed_b) +
                                                               packed_b_size(g_, p_.k, p_.n));
    return flags[pair * cut_.blocks.count + packed_.block] != 0;
  }
  const float* panel(int64_t i, int64_t k0) const {
    return static_cast<const float*>(p_.packed_b) + (i * p_.k + k0) * g_.panel_columns;
  }

  void block(int64_t pair, int64_t end) {
    left_ = panel(2 * pair, k0_), right_ = panel(2 * pair + 1, k0_), column_ = 2 * pair * g_.panel_columns;
    const bool near = is_near(pair);
    made_ = false;
    ask_meanwhile(pair + 1 < end ? pair + 1 : begin_, packed_.block + (pair + 1 < end ? 0 : 1));
    for (int64_t t = packed_.t0; t < packed_.t1; ++t) {
      row_ = cut_.tiles.begin(t), rows_ = cut_.tiles.rows(t);
      a_ = packed_.a + strassen_operands * (row_ - cut_.tiles.begin(packed_.t0)) * half_;
      if (near && packed_.near[t - packed_.t0])
        seven();
      else
        eight();
    }
    c_.poll();
  }

  /// What is multiplied next, one panel after the other.
  void ask_meanwhile(int64_t pair, int64_t block) {
    wanted_ = asked_ = 0;
    if (block == cut_.blocks.count || !is_whole(g_, pair, p_.n)) return;
    const int64_t k0 = block * cut_.blocks.step, k = std::min(cut_.blocks.step, p_.k - k0);
    next_[0] = panel(2 * pair, k0), next_[1] = panel(2 * pair + 1, k0);
    wanted_ = k * g_.panel_columns / line;
    share_ = ceil_of(2 * wanted_, 7 * (packed_.t1 - packed_.t0) * (half_ / strassen_turn));
  }

  const float* b(int64_t i, int64_t j) const { return (j ? right_ : left_) + i * half_ * g_.panel_columns; }
  const float* b(BPart part) const { return room_.panels + part * half_ * g_.panel_columns; }

  void seven() {
    float *const x = room_.sums[0], *const y = room_.sums[1], *const z = room_.sums[2],
                 *const v = room_.sums[3];
    for (int64_t part = 0; part < 4; ++part) ask_for_c(part / 2, part % 2);
    multiply(a11, b(0, 0), nullptr, x);
    multiply(a12, b(1, 0), x, v);
    store(0, 0, v, nullptr);
    multiply_difference(s1, t1, b(0, 1), b(0, 0), nullptr, y);
    multiply_difference(s2, t2, b(1, 1), b(t1), x, x);
    multiply_difference(s3, t3, b(1, 1), b(0, 1), x, z);
    multiply(s4, b(1, 1), x, x);
    store(0, 1, x, y);
    store(1, 1, z, y);
    multiply_difference(a22, t4, b(1, 0), b(t2), z, z);
    store(1, 0, z, nullptr);
    made_ = true;
  }
  void ask_for_c(int64_t i, int64_t j) const {
    const int64_t row = row_ + i * cut_.half_rows, last = std::min(row + rows_, p_.m);
    const float* c = p_.c + row * p_.n + column_ + j * g_.panel_columns;
    for (int64_t r = row; r < last; ++r, c += p_.n)
      for (int64_t at = 0; at < g_.panel_columns; at += 16) __builtin_prefetch(c + at, 1, 3);
  }
  /// Of the first tile that wants it; the others find the difference made.
  void multiply_difference(APart part, BPart made, const float* b, const float* less, const float* from,
                           float* to) {
    float* const panel = room_.panels + made * half_ * g_.panel_columns;
    if (made_) return multiply(part, panel, from, to);
    StrassenTile t = tile(part, b, from, to);
    t.less = less, t.made = panel;
    kernels_.multiply_difference[rows_](t);
  }

  void eight() {
    float* const x = room_.sums[0];
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 2 && column_ + j * g_.panel_columns < p_.n; ++j) {
        multiply(i ? a21 : a11, b(0, j), nullptr, x);
        multiply(i ? a22 : a12, b(1, j), x, x);
        store(i, j, x, nullptr);
      }
  }

  void multiply(APart part, const float* b, const float* from, float* to) {
    kernels_.multiply[rows_](tile(part, b, from, to));
  }
  StrassenTile tile(APart part, const float* b, const float* from, float* to) {
    StrassenTile t{.a = a_ + part * rows_ * half_, .b = b, .k = half_, .from = from, .to = to};
    if (asked_ < 2 * wanted_) {
      const bool second = asked_ >= wanted_;
      t.next = next_[second] + (asked_ - (second ? wanted_ : 0)) * line;
      t.next_lines = share_;
      asked_ += share_ * (half_ / strassen_turn);
    }
    return t;
  }

  /// One of the four parts of the tile's C.
  void store(int64_t i, int64_t j, const float* x, const float* y) const {
    const int64_t row = row_ + i * cut_.half_rows, column = column_ + j * g_.panel_columns;
    Tile tile{.c = p_.c + row * p_.n + column,
              .c_row = p_.n,
              .rows = std::min(rows_, p_.m - row),
              .columns = std::min(g_.panel_columns, p_.n - column),
              .start = p_.start};
    if (k0_ > 0)
      tile.start = {tile.c, p_.n, 1, 1};
    else if (tile.start.data)
      tile.start.data += row * tile.start.row + column * tile.start.column;
    if (k0_ + terms_ == p_.k) tile.bounds = finish_.bounds;
    kernels_.finish(tile, x, y);
  }

  void finish(int64_t first, int64_t end) const {
    if (!finish_.epilogue) return;
    const int64_t column = first * 2 * g_.panel_columns;
    const int64_t columns = std::min(end * 2 * g_.panel_columns, p_.n) - column;
    const int64_t top = cut_.tiles.begin(packed_.t0), rows = cut_.tiles.begin(packed_.t1) - top;
    for (int64_t row : {top, top + cut_.half_rows}) {
      const int64_t last = std::min(row + rows, p_.m);
      if (columns == p_.n)
        finish_.epilogue->finish(row * p_.n, (last - row) * p_.n);
      else
        for (; row < last; ++row) finish_.epilogue->finish(row * p_.n + column, columns);
    }
  }

  const GemmKernels& g_;
  const StrassenKernels& kernels_;
  const Products& p_;
  const Cut& cut_;
  const PackedBlock& packed_;
  const int64_t k0_, terms_, half_;
  const Finish finish_{p_.epilogue};
  KernelContext& c_;
  Room& room_;
  int64_t begin_ = 0;  // the first pair
  // The pair that is multiplied.
  const float *left_ = nullptr, *right_ = nullptr;
  int64_t column_ = 0;
  bool made_ = false;  // are its differences there?
  // Its tile.
  const float* a_ = nullptr;
  int64_t row_ = 0, rows_ = 0;
  // What is asked for: of each panel of the next pair so many lines.
  const float* next_[2] = {};
  int64_t wanted_ = 0, share_ = 0, asked_ = 0;
};

/// By itself, since its room is large: a caller's stack may be small.
__attribute__((noinline)) void walk(const GemmKernels& g, const Products& p, const Cut& cut,
                                    const PackedBlock& packed, int64_t begin, int64_t end, KernelContext& c) {
  Room room;
  Walk(g, p, cut, packed, c, room).run(begin, end);
}

/// Bytes for pairs of panels and blocks of k, in whole floats.
int64_t flags_size(const GemmKernels& g, int64_t k, int64_t n) {
  return ceil_of(ceil_of(n, 2 * g.panel_columns) * Blocks(k).count, sizeof(float));
}

}  // namespace

Verdict ask_strassen(DataType type, int64_t k) {
  if (type != DataType::float32) return Verdict::no("only weights of float32 are taken apart");
  if (k < least_terms || k % k_grain != 0)
    return Verdict::no("terms are less than " + std::to_string(least_terms) + ", or no multiple of " +
                       std::to_string(k_grain));
  return Verdict::yes();
}

Verdict prefer_strassen(const KernelRequest& r, std::optional<int64_t> m, int64_t n) {
  if (r.strict) return Verdict::no("rows are not to depend on each other");
  if (gemm_kernels(r.isa).parts) return Verdict::no("AMX multiplies parts of float32 faster");
  if ((m && *m < least_rows(r.isa)) || n < least_columns)
    return Verdict::no("too small to make up for sums of parts");
  return Verdict::yes();
}

int64_t strassen_size(Isa isa, int64_t k, int64_t n) {
  const GemmKernels& g = gemm_kernels(isa);
  return packed_b_size(g, k, n) + flags_size(g, k, n);
}

void pack_strassen(Isa isa, float* to, const Operand& b, int64_t k, int64_t n, Workers& workers) {
  const GemmKernels& g = gemm_kernels(isa);
  pack_whole_b(g, to, b, k, n, workers);
  float* const behind = to + packed_b_size(g, k, n);
  std::fill_n(behind, flags_size(g, k, n), 0.0F);
  auto* const flags = reinterpret_cast<uint8_t*>(behind);
  const Blocks blocks(k);
  workers.parallel(ceil_of(n, 2 * g.panel_columns), 1, [&](int64_t begin, int64_t end) {
    for (int64_t pair = begin; pair < end && is_whole(g, pair, n); ++pair)
      for (int64_t i = 0; i < blocks.count; ++i) {
        workers.poll();
        const int64_t k0 = i * blocks.step;
        const float* const left = to + (2 * pair * k + k0) * g.panel_columns;
        flags[pair * blocks.count + i] = strassen_kernels(isa).compare_panels(
            left, left + k * g.panel_columns, std::min(blocks.step, k - k0) / 2);
      }
  });
}

size_t strassen_workspace(const GemmKernels& g, const Products& p) {
  if (!pays(g, p)) return multiply_workspace(g, p);
  const Cut cut(g, p);
  const int64_t flags = ceil_of(cut.groups.rows(0), sizeof(float));
  return static_cast<size_t>(cut.size + flags) * sizeof(float);
}

void multiply_strassen(const GemmKernels& g, const Products& p, void* workspace, KernelContext& c) {
  if (!pays(g, p)) return multiply(g, p, workspace, c);
  const StrassenKernels& kernels = strassen_kernels(g.isa);
  const Cut cut(g, p);
  auto* const packed = static_cast<float*>(workspace);
  auto* const near = reinterpret_cast<uint8_t*>(packed + cut.size);
  for (int64_t group = 0; group < cut.groups.count(); ++group) {
    const int64_t t0 = cut.groups.begin(group), tiles = cut.groups.rows(group), row0 = cut.tiles.begin(t0);
    for (int64_t block = 0; block < cut.blocks.count; ++block) {
      const int64_t k0 = block * cut.blocks.step, half = std::min(cut.blocks.step, p.k - k0) / 2;
      const auto pack = [&](int64_t begin, int64_t end) {
        for (int64_t t = t0 + begin; t < t0 + end; ++t) {
          const int64_t row = cut.tiles.begin(t), rows = cut.tiles.rows(t), below = row + cut.half_rows;
          near[t - t0] = kernels.pack_rows({.top = p.a.data + row * p.a.row + k0,
                                            .bottom = p.a.data + below * p.a.row + k0,
                                            .row = p.a.row,
                                            .rows = rows,
                                            .bottom_rows = std::min(rows, p.m - below),
                                            .half = half,
                                            .scale = p.alpha,
                                            .to = packed + strassen_operands * (row - row0) * half});
        }
      };
      c.parallel(tiles, std::max<int64_t>(1, least_work / (64 * half)), pack);
      const PackedBlock there{.a = packed, .near = near, .t0 = t0, .t1 = t0 + tiles, .block = block};
      const int64_t pieces = c.threads() == 1 ? 1 : int64_t{4} * c.threads();
      c.parallel(cut.pairs, ceil_of(cut.pairs, pieces),
                 [&](int64_t begin, int64_t end) { walk(g, p, cut, there, begin, end, c); });
    }
  }
}

}  // namespace lathe::cpu
