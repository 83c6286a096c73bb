#include "cpu/gemm/strassen.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "cpu/ceil_of.h"
#include "cpu/simd/isa.h"
#include "cpu/tasks.h"

#define LATHE_ISA_BODY "cpu/gemm/strassen_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

namespace {

LATHE_SELECT_ISA(StrassenKernels, strassen_kernels)

/// The number of floats in a cache line.
constexpr int64_t line = 16;
/// Both halves of a block of k are whole blocks of packed A.
constexpr int64_t k_grain = 2 * a_block;
/// KC: C is updated after at most this many terms, so that packed A stays in the second-level cache.
constexpr int64_t strassen_KC = 768;
/// MC: half of the rows of a group, for the same reason.
constexpr int64_t strassen_MC = 112;
/// NR of the widest panel and MR of the highest tile of all instruction sets.
constexpr int64_t widest_panel = 32, highest_tile = 14;
/// The least tiles of a thread that has rows of its own: for fewer the differences of B, which each thread
/// computes, cost more than is saved.
constexpr int64_t min_tiles = 3;
/// The least terms: fewer gain too little (7 % with 256) to justify another order of summation.
constexpr int64_t min_terms = 384;
/// The least columns: fewer do not make up for the sums of quadrants.
constexpr int64_t min_columns = 256;
/// The number of floats of C that stay in the second-level cache until they are complete.
constexpr int64_t group_floats = 65536;
/// The least floats of A that a thread packs: packing a tile of 13 and 13 rows of 768 takes 15 us, waking a
/// thread two. (When one thread packed everything, two took 0.57 of the time of one for BERT with 128 tokens
/// and 0.61 for T5; now 0.52 and 0.55.)
constexpr int64_t min_packed = int64_t{1} << 12;

enum APart : uint8_t { a11, a12, a21, a22, s1, s2, s3, s4 };
enum BPart : uint8_t { t1, t2, t3, t4 };

/// The least rows that make up for them. (Measured on a Zen 4, which executes AVX-512 in halves, with weights
/// from memory: 16 rows gain nothing, 28 a fifth, 128 a tenth.)
int64_t min_rows(Isa isa) { return isa == Isa::avx512 && !cpu_features().avx512_halved ? 64 : 20; }

/// The blocks of k, which are of equal length.
struct Blocks {
  explicit Blocks(int64_t k)
      : step(ceil_of(k, ceil_of(k, strassen_KC) * k_grain) * k_grain), count(ceil_of(k, step)) {}
  int64_t step, count;
};

/// The division of the work: rows in groups of tiles, k in blocks. The packed A of one block of one group
/// stays in the cache until the next one replaces it. If tiles can be shared out evenly, every thread has
/// groups of its own, and reads no packed A that another has just written, which is slow where threads have
/// different third-level caches; otherwise all threads share the panels of one group.
struct Cut {
  Cut(const GemmKernels& g, const StrassenProduct& p, int threads)
      : tiles(tiles_of(ceil_of(p.m, 2), g.MR)),
        by_rows(threads == 1 || even(tiles.count(), threads)),
        groups(tiles.count(), height(g, tiles.count(), by_rows ? threads : 1)),
        pairs(ceil_of(p.n, 2 * g.NR)),
        blocks(p.k),
        flags(strassen_operands / 2 * groups.rows(0) * tiles.rows(0) * blocks.step),
        most(flags + ceil_of(groups.rows(0), line) * line),
        size(most + groups.rows(0) * blocks.step),
        slots(by_rows ? task_slots(groups.count(), threads) : 1),
        stride(slot_stride(size, threads)) {}
  /// The result does not depend on the number of threads, as each tile is multiplied in seven products or in
  /// eight. An even number of tiles is easily shared.
  static RowTiles tiles_of(int64_t rows, int highest) {
    const int64_t count = ceil_of(rows, highest);
    return RowTiles::of_count(count > 4 ? ceil_of(count, 2) * 2 : count, rows);
  }
  /// Returns whether every thread gets nearly the same number of tiles.
  static bool even(int64_t tiles, int threads) {
    const int64_t most = ceil_of(tiles, threads);
    return most >= min_tiles && (most * threads - tiles) * 8 <= tiles;
  }
  static int height(const GemmKernels& g, int64_t tiles, int threads) {
    const int64_t most = std::max<int64_t>(1, strassen_MC / g.MR);
    return static_cast<int>(ceil_of(tiles, threads * ceil_of(tiles, threads * most)));
  }
  /// The first row of a tile: the rows of its upper half, followed by those of the lower.
  int64_t row(int64_t tile) const { return 2 * tiles.begin(tile); }

  RowTiles tiles;  // of half the rows
  bool by_rows;
  RowTiles groups;  // of tiles; the taller ones come first
  int64_t pairs;    // of panels
  Blocks blocks;
  int64_t flags, most,
      size;  // offset of the flags after packed A, offset of the magnitudes, size of a group's scratch
  int64_t slots, stride;
};

bool is_whole(const GemmKernels& g, int64_t pair, int64_t n) { return (pair + 1) * 2 * g.NR <= n; }

/// Further buffers of a thread.
struct Buffers {
  alignas(64) float panels[4 * strassen_KC / 2 * widest_panel];
  alignas(64) float sums[4][highest_tile * widest_panel];
  alignas(64) float most[strassen_KC];
};

/// The marks of B: the largest magnitudes of pairs of whole panels, term by term, rounded up to 16 bits; then
/// a byte for each pair and block of k, nonzero if it may be multiplied in seven products.
class Marks {
 public:
  Marks(const GemmKernels& g, DataType type, int64_t k, int64_t n)
      : isa_(g.isa), type_(type), k_(k), blocks_(Blocks(k).count), terms_(n / (2 * g.NR) * k) {}

  int64_t terms() const { return terms_; }
  uint8_t* near(void* marks, int64_t pair) const {
    return static_cast<uint8_t*>(marks) + terms_ * bits_of(type_) / 8 + pair * blocks_;
  }
  bool is_near(const void* marks, int64_t pair, int64_t block) const {
    return near(const_cast<void*>(marks), pair)[block] != 0;
  }
  /// Returns `n` magnitudes of a pair from term k on in float32, in place or in `buffer`.
  const float* most(const void* marks, int64_t pair, int64_t k, int64_t n, float* buffer) const {
    const DataType type = type_ == DataType::float32 ? type_ : DataType::bfloat16;
    return widened(isa_, type, marks, pair * k_ + k, n, buffer);
  }
  void put_most(void* marks, int64_t pair, int64_t k, std::span<const float> most) const {
    constexpr uint32_t lower = 0xffff;
    for (int64_t at = pair * k_ + k; const float x : most) {
      const uint32_t rounded_up = (std::bit_cast<uint32_t>(x) + lower) & ~lower;
      if (type_ == DataType::float32)
        static_cast<float*>(marks)[at++] = std::bit_cast<float>(rounded_up);
      else
        static_cast<uint16_t*>(marks)[at++] = static_cast<uint16_t>(rounded_up >> 16);
    }
  }

 private:
  Isa isa_;
  DataType type_;
  int64_t k_, blocks_, terms_;
};

/// The packed A of tiles [t0, t1) in a block of k.
struct PackedBlock {
  const float* a = nullptr;
  const uint8_t* near = nullptr;  // by tile
  const float* most = nullptr;    // the largest magnitudes of a tile's terms
  int64_t most_stride = 0;        // from tile to tile
  int64_t t0 = 0, t1 = 0, block = 0;
};

/// Multiplies a packed block with pairs of panels.
class Walk {
 public:
  /// `wide`: a buffer for widened panels of 16 bits.
  Walk(const GemmKernels& g, const StrassenProduct& p, const Cut& cut, const PackedBlock& packed,
       KernelContext& c, Buffers& buffers, float* wide)
      : g_(g),
        kernels_(strassen_kernels(g.isa)),
        p_(p),
        cut_(cut),
        packed_(packed),
        k0_(packed.block * cut.blocks.step),
        terms_(std::min(cut.blocks.step, p.k - k0_)),
        half_k_(terms_ / 2),
        c_(c),
        buffers_(buffers),
        wide_(wide) {}

  void run(int64_t begin, int64_t end) {
    begin_ = begin;
    const bool applies_epilogue = fused_.epilogue && is_last();
    const int64_t rows = 2 * (packed_.t1 - packed_.t0) * g_.MR;
    const int64_t most = std::max<int64_t>(1, group_floats / (rows * 2 * g_.NR));
    for (int64_t first = begin; first < end; first += most) {
      const int64_t last = std::min(first + most, end);
      if (applies_epilogue) call_epilogue(&Epilogue::prefetch_rows, first, last);
      for (int64_t pair = first; pair < last; ++pair) block(pair);
      if (applies_epilogue) call_epilogue(&Epilogue::apply_rows, first, last);
    }
  }

 private:
  bool is_last() const { return k0_ + terms_ == p_.k; }
  /// Returns whether a pair of panels may be multiplied in seven products.
  bool is_near(int64_t pair) const {
    return is_whole(g_, pair, p_.n) && marks_.is_near(p_.marks, pair, packed_.block);
  }
  /// The address of a panel in memory, even if its elements have 16 bits.
  const float* panel(int64_t i, int64_t k0) const {
    return reinterpret_cast<const float*>(static_cast<const char*>(p_.b) +
                                          (i * p_.k + k0) * g_.NR * element_);
  }
  /// Returns a panel in float32; null if there is no such panel.
  const float* wide_panel(int64_t i, float* buffer) const {
    if (i * g_.NR >= p_.n) return nullptr;
    return widened(g_.isa, p_.b_type, p_.b, (i * p_.k + k0_) * g_.NR, terms_ * g_.NR, buffer);
  }

  void block(int64_t pair) {
    left_ = wide_panel(2 * pair, wide_);
    right_ = wide_panel(2 * pair + 1, wide_ + terms_ * g_.NR);
    column_ = 2 * pair * g_.NR;
    const bool near = is_near(pair);
    const float* const most = near ? marks_.most(p_.marks, pair, k0_, terms_, buffers_.most) : nullptr;
    made_ = false;
    // After the last pair the same thread mostly continues with the next block of k.
    const bool more = pair + 1 < cut_.pairs;
    start_prefetch(more ? pair + 1 : begin_, packed_.block + (more ? 0 : 1));
    for (int64_t t = packed_.t0; t < packed_.t1; ++t) {
      row_ = cut_.row(t), rows_ = cut_.tiles.rows(t);
      a_ = packed_.a + strassen_operands * (cut_.tiles.begin(t) - cut_.tiles.begin(packed_.t0)) * half_k_;
      if (near && packed_.near[t - packed_.t0] &&
          kernels_.compare_terms(packed_.most + (t - packed_.t0) * packed_.most_stride, most, half_k_))
        seven();
      else
        eight();
    }
    c_.poll();
  }

  /// Begins to prefetch the panels that are multiplied next, one after the other.
  void start_prefetch(int64_t pair, int64_t block) {
    wanted_ = prefetched_ = 0;
    if (block == cut_.blocks.count || !is_whole(g_, pair, p_.n)) return;
    const int64_t k0 = block * cut_.blocks.step, k = std::min(cut_.blocks.step, p_.k - k0);
    next_[0] = panel(2 * pair, k0), next_[1] = panel(2 * pair + 1, k0);
    wanted_ = k * g_.NR * element_ / static_cast<int64_t>(sizeof(float)) / line;
    share_ = ceil_of(2 * wanted_, 7 * (packed_.t1 - packed_.t0) * (half_k_ / strassen_unroll));
  }

  const float* b(int64_t i, int64_t j) const { return (j ? right_ : left_) + i * half_k_ * g_.NR; }
  const float* b(BPart part) const { return buffers_.panels + part * half_k_ * g_.NR; }

  void seven() {
    float *const x = buffers_.sums[0], *const y = buffers_.sums[1], *const z = buffers_.sums[2],
                 *const v = buffers_.sums[3];
    for (int64_t part = 0; part < 4; ++part) prefetch_c(part / 2, part % 2);
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
  float* c_at(int64_t row, int64_t column) const {
    return p_.c + row * p_.c_row + column / a_block * p_.c_block + column % a_block;
  }
  void prefetch_c(int64_t i, int64_t j) const {
    const int64_t row = row_ + i * rows_, last = std::min(row + rows_, p_.m);
    const float* c = c_at(row, column_ + j * g_.NR);
    const float* const added = adds_all_ && is_last() ? fused_.added_from(element(c)) : c;
    const int64_t apart = added - c;  // 0 where C is what is added
    for (int64_t r = row; r < last; ++r, c += p_.c_row)
      for (int64_t at = 0; at < g_.NR; at += a_block) {
        __builtin_prefetch(c + at / a_block * p_.c_block, 1, 3);
        if (apart) __builtin_prefetch(c + apart + at / a_block * p_.c_block, 0, 3);
      }
  }
  /// The first tile that needs a difference computes and stores it for the others.
  void multiply_difference(APart part, BPart made, const float* b, const float* less, const float* from,
                           float* to) {
    float* const panel = buffers_.panels + made * half_k_ * g_.NR;
    if (made_) return multiply(part, panel, from, to);
    StrassenTile t = tile(part, b, from, to);
    t.less = less, t.made = panel;
    kernels_.multiply_difference[rows_](t);
  }

  void eight() {
    float* const x = buffers_.sums[0];
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 2 && column_ + j * g_.NR < p_.n; ++j) {
        multiply(i ? a21 : a11, b(0, j), nullptr, x);
        multiply(i ? a22 : a12, b(1, j), x, x);
        store(i, j, x, nullptr);
      }
  }

  void multiply(APart part, const float* b, const float* from, float* to) {
    kernels_.multiply[rows_](tile(part, b, from, to));
  }
  StrassenTile tile(APart part, const float* b, const float* from, float* to) {
    StrassenTile t{.a = a_ + part * rows_ * half_k_, .b = b, .k = half_k_, .from = from, .to = to};
    if (prefetched_ < 2 * wanted_) {
      const bool second = prefetched_ >= wanted_;
      t.next = next_[second] + (prefetched_ - (second ? wanted_ : 0)) * line;
      t.next_lines = share_;
      prefetched_ += share_ * (half_k_ / strassen_unroll);
    }
    return t;
  }

  /// Stores one of the four quadrants of the tile's C.
  void store(int64_t i, int64_t j, const float* x, const float* y) const {
    const int64_t row = row_ + i * rows_, column = column_ + j * g_.NR;
    StrassenSums sums{.c = c_at(row, column),
                      .row = p_.c_row,
                      .block = p_.c_block,
                      .rows = std::min(rows_, p_.m - row),
                      .columns = std::min(g_.NR, p_.n - column),
                      .add = k0_ > 0,
                      .start = p_.start};
    if (sums.start.data) sums.start.data += row * sums.start.row + column * sums.start.column;
    if (is_last()) end(sums, column);
    kernels_.epilogue(sums, x, y);
  }
  /// Sets the bounds and the addend of complete sums.
  void end(StrassenSums& sums, int64_t column) const {
    sums.bounds = fused_.bounds;
    sums.added = fused_.added_from(adds_all_ ? element(sums.c) : column);
    if (adds_all_) sums.added_row = sums.row, sums.added_block = sums.block;
  }
  /// The index of an element of c, as the epilogue counts.
  int64_t element(const float* c) const { return p_.first_element + (c - p_.c); }

  /// Calls a member of the epilogue for the rows of these pairs.
  template <typename Member>
  void call_epilogue(Member member, int64_t first, int64_t end) const {
    const int64_t begin = first * 2 * g_.NR, last = std::min(end * 2 * g_.NR, p_.n);
    const int64_t width = p_.c_block == a_block ? last - begin : a_block;
    const int64_t row = cut_.row(packed_.t0), rows = std::min(cut_.row(packed_.t1), p_.m) - row;
    for (int64_t column = begin; column < last; column += width)
      (fused_.epilogue->*member)(element(c_at(row, column)), std::min(width, last - column), rows, p_.c_row);
  }

  const GemmKernels& g_;
  const StrassenKernels& kernels_;
  const StrassenProduct& p_;
  const Cut& cut_;
  const PackedBlock& packed_;
  const Marks marks_{g_, p_.b_type, p_.k, p_.n};
  const int64_t k0_, terms_, half_k_;
  /// True if the epilogue adds a tensor with the layout of all of C, false if it adds a row to all rows.
  const bool adds_all_ = p_.epilogue && p_.all > 0 && p_.epilogue->added().length == p_.all;
  const FusedBiasActivation fused_{p_.epilogue, adds_all_ ? p_.all : p_.n};
  KernelContext& c_;
  Buffers& buffers_;
  float* const wide_;
  const int64_t element_ = bits_of(p_.b_type) / 8;
  int64_t begin_ = 0;  // the first pair
  // The current pair.
  const float *left_ = nullptr, *right_ = nullptr;
  int64_t column_ = 0;
  bool made_ = false;  // true once its differences are stored
  // The current tile.
  const float* a_ = nullptr;
  int64_t row_ = 0, rows_ = 0;
  // The next pair's panels, and how many lines of each are prefetched.
  const float* next_[2] = {};
  int64_t wanted_ = 0, share_ = 0, prefetched_ = 0;
};

/// A function of its own, since its buffers are large and a caller's stack may be small.
__attribute__((noinline)) void walk(const GemmKernels& g, const StrassenProduct& p, const Cut& cut,
                                    const PackedBlock& packed, int64_t begin, int64_t end, KernelContext& c,
                                    float* wide) {
  Buffers buffers;
  Walk(g, p, cut, packed, c, buffers, wide).run(begin, end);
}
/// The same for B of 16 bits.
__attribute__((noinline)) void walk_widened(const GemmKernels& g, const StrassenProduct& p, const Cut& cut,
                                            const PackedBlock& packed, int64_t begin, int64_t end,
                                            KernelContext& c) {
  alignas(64) float wide[2 * strassen_KC * widest_panel];
  walk(g, p, cut, packed, begin, end, c, wide);
}

/// Packs the tiles of A of a block of k.
class Packing {
 public:
  Packing(const StrassenKernels& kernels, const StrassenProduct& p, const Cut& cut, int64_t block)
      : kernels_(kernels), p_(p), cut_(cut) {
    const int64_t k0 = block * cut.blocks.step, terms = std::min(cut.blocks.step, p.k - k0);
    half_k_ = terms / 2;
    for (int64_t i = 0; i < terms / a_block; ++i) {
      terms_[i] = p.a.terms_at(k0 / a_block + i);
      channels_[i] = (k0 / a_block + i) / p.a.taps * a_block;
    }
  }
  int64_t half_k() const { return half_k_; }
  /// Packs a tile, and the largest magnitudes of its terms to `most`. Returns whether the norms of its rows
  /// are near each other.
  bool pack(int64_t tile, float* to, float* most) const {
    int64_t top[highest_tile], bottom[highest_tile];
    const int64_t row = cut_.row(tile), rows = cut_.tiles.rows(tile);
    for (int64_t i = 0; i < rows; ++i) {
      // A missing lower row is replaced by the upper one.
      const int64_t below = row + i + rows;
      top[i] = p_.a.row_at(row + i), bottom[i] = below < p_.m ? p_.a.row_at(below) : top[i];
    }
    const bool scaled = p_.before.factor != nullptr;
    return kernels_.pack_rows[scaled]({.a = p_.a.data,
                                       .top = top,
                                       .bottom = bottom,
                                       .terms = terms_,
                                       .rows = rows,
                                       .half_k = half_k_,
                                       .scale = p_.alpha,
                                       .channels = channels_,
                                       .before = p_.before,
                                       .to = to,
                                       .most = most});
  }

 private:
  const StrassenKernels& kernels_;
  const StrassenProduct& p_;
  const Cut& cut_;
  int64_t half_k_;
  int64_t terms_[strassen_KC / a_block], channels_[strassen_KC / a_block];
};

bool pays(const GemmKernels& g, const Products& p) {
  return pays_strassen(g, p.m) && p.packed_b && p.a.column == 1 && p.count() == 1;
}
StrassenProduct of_matrices(const GemmKernels& g, const Products& p) {
  const int64_t bytes = packed_b_size(g, p.k, p.n) * bits_of(p.packed_type) / 8;
  return {.m = p.m,
          .n = p.n,
          .k = p.k,
          .a = {.data = p.a.data, .row = p.a.row},
          .b = p.packed_b,
          .b_type = p.packed_type,
          .marks = static_cast<const uint8_t*>(p.packed_b) + bytes,
          .c = p.c,
          .c_row = p.n,
          .start = p.start,
          .epilogue = p.epilogue,
          .alpha = p.alpha};
}

}  // namespace

bool sums_once(int64_t k) { return Blocks(k).count == 1; }

Support supports_strassen(const KernelQuery& r, DataType type, int64_t k) {
  if (r.strict) return Support::no("rows are not to depend on each other");
  if (type != DataType::float32 && !is_f16(type))
    return Support::no("only weights of float32 or of 16 bits are split");
  if (k < min_terms || k % k_grain != 0)
    return Support::no("terms are less than " + std::to_string(min_terms) + ", or no multiple of " +
                       std::to_string(k_grain));
  return Support::yes();
}

Support prefer_strassen(const KernelQuery& r, std::optional<int64_t> m, int64_t n) {
  const GemmKernels& g = gemm_kernels(r.isa);
  if (g.bf16x3) return Support::no("AMX multiplies in bf16x3 faster");
  // Starting and ending chains of six rows costs more than is saved (measured on a Zen 3, 128 x 768 x 768,
  // 128 x 768 x 3072 and 512 x 768 x 3072: 1.12, 1.07 and 1.04 times the time of products in one piece).
  if (g.isa == Isa::avx2) return Support::no("tiles of AVX2 are too small to make up for sums of parts");
  if ((m && !pays_strassen(g, *m)) || n < min_columns)
    return Support::no("too small to make up for sums of parts");
  return Support::yes();
}

int64_t marks_size(const GemmKernels& g, int64_t k, int64_t n) {
  return Marks(g, DataType::float32, k, n).terms() + ceil_of(n, 2 * g.NR) * Blocks(k).count;
}

void compare_blocks(const GemmKernels& g, DataType type, const void* panels, int64_t k, int64_t n,
                    void* marks, Workers& workers) {
  const Blocks blocks(k);
  const Marks known(g, type, k, n);
  const StrassenKernels& kernels = strassen_kernels(g.isa);
  std::memset(marks, 0, static_cast<size_t>(marks_size(g, k, n) * bits_of(type) / 8));
  workers.parallel(n / (2 * g.NR), 1, [&](int64_t begin, int64_t end) {
    std::vector<float> wide(is_f16(type) ? 2 * blocks.step * g.NR : 0);
    std::vector<float> most(static_cast<size_t>(blocks.step));
    for (int64_t pair = begin; pair < end; ++pair)
      for (int64_t i = 0; i < blocks.count; ++i) {
        workers.poll();
        const int64_t k0 = i * blocks.step, terms = std::min(blocks.step, k - k0);
        const auto panel = [&](int64_t which) {
          return widened(g.isa, type, panels, ((2 * pair + which) * k + k0) * g.NR, terms * g.NR,
                         wide.data() + which * static_cast<int64_t>(wide.size()) / 2);
        };
        const float* const left = panel(0);
        known.near(marks, pair)[i] = kernels.compare_panels(left, panel(1), terms / 2, most.data());
        known.put_most(marks, pair, k0, std::span(most).first(static_cast<size_t>(terms)));
      }
  });
}

int64_t strassen_size(Isa isa, int64_t k, int64_t n) {
  const GemmKernels& g = gemm_kernels(isa);
  return packed_b_size(g, k, n) + marks_size(g, k, n);
}

void pack_strassen(Isa isa, DataType type, void* to, const void* from, int64_t row, int64_t column, int64_t k,
                   int64_t n, Workers& workers) {
  const GemmKernels& g = gemm_kernels(isa);
  pack_whole_b(g, type, to, from, row, column, k, n, workers);
  compare_blocks(g, type, to, k, n, static_cast<uint8_t*>(to) + packed_b_size(g, k, n) * bits_of(type) / 8,
                 workers);
}

bool pays_strassen(const GemmKernels& g, int64_t m) { return !g.strict && !g.bf16x3 && m >= min_rows(g.isa); }

size_t strassen_workspace(const GemmKernels& g, const StrassenProduct& p, int threads) {
  const Cut cut(g, p, threads);
  return static_cast<size_t>(cut.slots * cut.stride) * sizeof(float);
}

void multiply_strassen(const GemmKernels& g, const StrassenProduct& p, void* workspace, KernelContext& c) {
  const StrassenKernels& kernels = strassen_kernels(g.isa);
  const Cut cut(g, p, c.threads());
  // f(n, grain, work) calls work for all of [0, n), on this thread or on all.
  const auto group = [&](int64_t i, float* packed, auto&& f) {
    auto* const near = reinterpret_cast<uint8_t*>(packed + cut.flags);
    float* const most = packed + cut.most;
    const int64_t t0 = cut.groups.begin(i), tiles = cut.groups.rows(i), row0 = cut.tiles.begin(t0);
    for (int64_t block = 0; block < cut.blocks.count; ++block) {
      const Packing packing(kernels, p, cut, block);
      const int64_t of_tile = 4 * cut.tiles.rows(t0) * packing.half_k();
      f(tiles, ceil_of(min_packed, of_tile), [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t)
          near[t] = packing.pack(
              t0 + t, packed + strassen_operands * (cut.tiles.begin(t0 + t) - row0) * packing.half_k(),
              most + t * cut.blocks.step);
      });
      const PackedBlock there{.a = packed,
                              .near = near,
                              .most = most,
                              .most_stride = cut.blocks.step,
                              .t0 = t0,
                              .t1 = t0 + tiles,
                              .block = block};
      f(cut.pairs, ceil_of(cut.pairs, 4 * c.threads()), [&](int64_t begin, int64_t end) {
        if (is_f16(p.b_type))
          walk_widened(g, p, cut, there, begin, end, c);
        else
          walk(g, p, cut, there, begin, end, c, nullptr);
      });
    }
  };
  auto* const scratch = static_cast<float*>(workspace);
  if (!cut.by_rows) {
    for (int64_t i = 0; i < cut.groups.count(); ++i)
      group(i, scratch, [&](int64_t n, int64_t grain, auto&& work) { c.parallel(n, grain, work); });
    return;
  }
  for_each_task(c, cut.groups.count(), [&](int64_t i, int64_t slot) {
    group(i, scratch + slot * cut.stride, [](int64_t n, int64_t, auto&& work) { work(0, n); });
  });
}

size_t strassen_workspace(const GemmKernels& g, const Products& p, int threads) {
  return pays(g, p) ? strassen_workspace(g, of_matrices(g, p), threads) : multiply_workspace(g, p);
}

void multiply_strassen(const GemmKernels& g, const Products& p, void* workspace, KernelContext& c) {
  if (!pays(g, p)) return multiply(g, p, workspace, c);
  multiply_strassen(g, of_matrices(g, p), workspace, c);
}

}  // namespace lathe::cpu
