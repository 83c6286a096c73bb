#include "cpu/strassen.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "cpu/ceil_of.h"
#include "cpu/isa.h"
#include "cpu/tasks.h"

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
/// Of a thread that has rows of its own: for fewer the differences of B, which each thread makes for itself,
/// cost more than is saved.
constexpr int64_t least_tiles = 3;
/// Fewer gain less (7 % with 256) than it is worth to sum in the order in which everybody else does.
constexpr int64_t least_terms = 384;
/// Fewer do not make up for the sums of parts.
constexpr int64_t least_columns = 256;
/// Floats of C that stay in the second-level cache until they are finished.
constexpr int64_t group_floats = 65536;
/// Floats of A that are worth packing by themselves: a tile of 13 and 13 rows of 768 takes 15 us, another
/// thread two to begin. (When one thread did all of it, two took 0.57 of the time of one for BERT with 128
/// tokens and 0.61 for T5; now 0.52 and 0.55.)
constexpr int64_t least_packed = int64_t{1} << 12;

enum APart : uint8_t { a11, a12, a21, a22, s1, s2, s3, s4 };
enum BPart : uint8_t { t1, t2, t3, t4 };

/// Nor do fewer rows. (Measured on a Zen 4, whose AVX-512 takes two turns: of 16 rows, when weights come from
/// memory, nothing is gained, of 28 a fifth, of 128 a tenth.)
int64_t least_rows(Isa isa) { return isa == Isa::avx512 && !cpu_features().avx512_halved ? 64 : 20; }

/// Of k: of equal length.
struct Blocks {
  explicit Blocks(int64_t k)
      : step(ceil_of(k, ceil_of(k, most_terms) * k_grain) * k_grain), count(ceil_of(k, step)) {}
  int64_t step, count;
};

/// How the work is cut: rows in groups of tiles, k in blocks. What A of one block in one group is packed to
/// stays in the cache, and makes room for the next. Where tiles can be shared out evenly, every thread has
/// groups of its own, and reads no packed A that another has just written, which takes long where threads
/// have different third-level caches; else all share the panels of one group.
struct Cut {
  Cut(const GemmKernels& g, const StrassenProduct& p, int threads)
      : tiles(tiles_of(ceil_of(p.m, 2), g.max_rows)),
        by_rows(threads == 1 || even(tiles.count(), threads)),
        groups(tiles.count(), height(g, tiles.count(), by_rows ? threads : 1)),
        pairs(ceil_of(p.n, 2 * g.panel_columns)),
        blocks(p.k),
        flags(strassen_operands / 2 * groups.rows(0) * tiles.rows(0) * blocks.step),
        most(flags + ceil_of(groups.rows(0), line) * line),
        size(most + groups.rows(0) * blocks.step),
        slots(by_rows ? task_slots(groups.count(), threads) : 1),
        stride(slot_stride(size, threads)) {}
  /// The same for any number of threads: a tile is taken apart, or not, as a whole. An even number of tiles
  /// is easily shared.
  static RowTiles tiles_of(int64_t rows, int highest) {
    const int64_t count = ceil_of(rows, highest);
    return RowTiles::of_count(count > 4 ? ceil_of(count, 2) * 2 : count, rows);
  }
  /// Has every thread nearly as many?
  static bool even(int64_t tiles, int threads) {
    const int64_t most = ceil_of(tiles, threads);
    return most >= least_tiles && (most * threads - tiles) * 8 <= tiles;
  }
  static int height(const GemmKernels& g, int64_t tiles, int threads) {
    const int64_t most = std::max<int64_t>(1, rows_together / g.max_rows);
    return static_cast<int>(ceil_of(tiles, threads * ceil_of(tiles, threads * most)));
  }
  /// The first row of a tile: those of its upper half, and behind them those of the lower.
  int64_t row(int64_t tile) const { return 2 * tiles.begin(tile); }

  RowTiles tiles;  // of half the rows
  bool by_rows;
  RowTiles groups;  // of tiles; the taller ones come first
  int64_t pairs;    // of panels
  Blocks blocks;
  int64_t flags, most, size;  // floats that a block is packed to, and with flags, and all that a group needs
  int64_t slots, stride;
};

bool is_whole(const GemmKernels& g, int64_t pair, int64_t n) { return (pair + 1) * 2 * g.panel_columns <= n; }

/// What a thread needs besides.
struct Room {
  alignas(64) float panels[4 * most_terms / 2 * widest_panel];
  alignas(64) float sums[4][highest_tile * widest_panel];
  alignas(64) float most[most_terms];
};

/// What is known of B: the largest magnitudes of pairs of panels that are whole, term by term, so large that
/// 16 bits hold them; then for each pair and block of k a byte, whether it may be taken apart.
class Marks {
 public:
  Marks(const GemmKernels& g, DataType type, int64_t k, int64_t n)
      : isa_(g.isa), type_(type), k_(k), blocks_(Blocks(k).count), terms_(n / (2 * g.panel_columns) * k) {}

  int64_t terms() const { return terms_; }
  uint8_t* near(void* marks, int64_t pair) const {
    return static_cast<uint8_t*>(marks) + terms_ * bits_of(type_) / 8 + pair * blocks_;
  }
  bool is_near(const void* marks, int64_t pair, int64_t block) const {
    return near(const_cast<void*>(marks), pair)[block] != 0;
  }
  /// `n` magnitudes of a pair from term k on, in float32: where they lie, or in `room`.
  const float* most(const void* marks, int64_t pair, int64_t k, int64_t n, float* room) const {
    const DataType type = type_ == DataType::float32 ? type_ : DataType::bfloat16;
    return widened(isa_, type, marks, pair * k_ + k, n, room);
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

/// What is packed: tiles [t0, t1), a block of k.
struct PackedBlock {
  const float* a = nullptr;
  const uint8_t* near = nullptr;  // by tile
  const float* most = nullptr;    // the largest magnitudes of a tile's terms
  int64_t most_tile = 0;          // from tile to tile
  int64_t t0 = 0, t1 = 0, block = 0;
};

/// One block times pairs of panels.
class Walk {
 public:
  /// `wide`: where panels of 16 bits are widened.
  Walk(const GemmKernels& g, const StrassenProduct& p, const Cut& cut, const PackedBlock& packed,
       KernelContext& c, Room& room, float* wide)
      : g_(g),
        kernels_(strassen_kernels(g.isa)),
        p_(p),
        cut_(cut),
        packed_(packed),
        k0_(packed.block * cut.blocks.step),
        terms_(std::min(cut.blocks.step, p.k - k0_)),
        half_(terms_ / 2),
        c_(c),
        room_(room),
        wide_(wide) {}

  void run(int64_t begin, int64_t end) {
    begin_ = begin;
    const bool finishes = finish_.epilogue && is_last();
    const int64_t rows = 2 * (packed_.t1 - packed_.t0) * g_.max_rows;
    const int64_t most = std::max<int64_t>(1, group_floats / (rows * 2 * g_.panel_columns));
    for (int64_t first = begin; first < end; first += most) {
      const int64_t last = std::min(first + most, end);
      if (finishes) tell(&Epilogue::ask_rows, first, last);
      for (int64_t pair = first; pair < last; ++pair) block(pair);
      if (finishes) tell(&Epilogue::finish_rows, first, last);
    }
  }

 private:
  bool is_last() const { return k0_ + terms_ == p_.k; }
  /// May a pair of panels be taken apart for some tile?
  bool is_near(int64_t pair) const {
    return is_whole(g_, pair, p_.n) && marks_.is_near(p_.marks, pair, packed_.block);
  }
  /// As it lies in memory, be it of 16 bits.
  const float* panel(int64_t i, int64_t k0) const {
    return reinterpret_cast<const float*>(static_cast<const char*>(p_.b) +
                                          (i * p_.k + k0) * g_.panel_columns * element_);
  }
  /// In float32; null where there is no such panel.
  const float* wide_panel(int64_t i, float* room) const {
    if (i * g_.panel_columns >= p_.n) return nullptr;
    return widened(g_.isa, p_.b_type, p_.b, (i * p_.k + k0_) * g_.panel_columns, terms_ * g_.panel_columns,
                   room);
  }

  void block(int64_t pair) {
    left_ = wide_panel(2 * pair, wide_);
    right_ = wide_panel(2 * pair + 1, wide_ + terms_ * g_.panel_columns);
    column_ = 2 * pair * g_.panel_columns;
    const bool near = is_near(pair);
    const float* const most = near ? marks_.most(p_.marks, pair, k0_, terms_, room_.most) : nullptr;
    made_ = false;
    // What lies behind the last pair is mostly what the same thread takes next.
    const bool more = pair + 1 < cut_.pairs;
    ask_meanwhile(more ? pair + 1 : begin_, packed_.block + (more ? 0 : 1));
    for (int64_t t = packed_.t0; t < packed_.t1; ++t) {
      row_ = cut_.row(t), rows_ = cut_.tiles.rows(t);
      a_ = packed_.a + strassen_operands * (cut_.tiles.begin(t) - cut_.tiles.begin(packed_.t0)) * half_;
      if (near && packed_.near[t - packed_.t0] &&
          kernels_.compare_terms(packed_.most + (t - packed_.t0) * packed_.most_tile, most, half_))
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
    wanted_ = k * g_.panel_columns * element_ / static_cast<int64_t>(sizeof(float)) / line;
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
  float* c_at(int64_t row, int64_t column) const {
    return p_.c + row * p_.c_row + column / a_block * p_.c_block + column % a_block;
  }
  void ask_for_c(int64_t i, int64_t j) const {
    const int64_t row = row_ + i * rows_, last = std::min(row + rows_, p_.m);
    const float* c = c_at(row, column_ + j * g_.panel_columns);
    const float* const added = adds_all_ && is_last() ? finish_.added_from(element(c)) : c;
    const int64_t apart = added - c;  // 0 where C is what is added
    for (int64_t r = row; r < last; ++r, c += p_.c_row)
      for (int64_t at = 0; at < g_.panel_columns; at += a_block) {
        __builtin_prefetch(c + at / a_block * p_.c_block, 1, 3);
        if (apart) __builtin_prefetch(c + apart + at / a_block * p_.c_block, 0, 3);
      }
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
    const int64_t row = row_ + i * rows_, column = column_ + j * g_.panel_columns;
    StrassenSums sums{.c = c_at(row, column),
                      .row = p_.c_row,
                      .block = p_.c_block,
                      .rows = std::min(rows_, p_.m - row),
                      .columns = std::min(g_.panel_columns, p_.n - column),
                      .add = k0_ > 0,
                      .start = p_.start};
    if (sums.start.data) sums.start.data += row * sums.start.row + column * sums.start.column;
    if (is_last()) end(sums, column);
    kernels_.finish(sums, x, y);
  }
  /// What is done with sums once they are whole.
  void end(StrassenSums& sums, int64_t column) const {
    sums.bounds = finish_.bounds;
    sums.added = finish_.added_from(adds_all_ ? element(sums.c) : column);
    if (adds_all_) sums.added_row = sums.row, sums.added_block = sums.block;
  }
  /// What the epilogue calls an element of c.
  int64_t element(const float* c) const { return p_.first_element + (c - p_.c); }

  /// Tells the epilogue of the rows of these pairs.
  template <typename Told>
  void tell(Told told, int64_t first, int64_t end) const {
    const int64_t begin = first * 2 * g_.panel_columns, last = std::min(end * 2 * g_.panel_columns, p_.n);
    const int64_t width = p_.c_block == a_block ? last - begin : a_block;
    const int64_t row = cut_.row(packed_.t0), rows = std::min(cut_.row(packed_.t1), p_.m) - row;
    for (int64_t column = begin; column < last; column += width)
      (finish_.epilogue->*told)(element(c_at(row, column)), std::min(width, last - column), rows, p_.c_row);
  }

  const GemmKernels& g_;
  const StrassenKernels& kernels_;
  const StrassenProduct& p_;
  const Cut& cut_;
  const PackedBlock& packed_;
  const Marks marks_{g_, p_.b_type, p_.k, p_.n};
  const int64_t k0_, terms_, half_;
  /// Is a tensor added that lies as all of C does, or a row to all rows?
  const bool adds_all_ = p_.epilogue && p_.all > 0 && p_.epilogue->added().length == p_.all;
  const AddingFinish finish_{p_.epilogue, adds_all_ ? p_.all : p_.n};
  KernelContext& c_;
  Room& room_;
  float* const wide_;
  const int64_t element_ = bits_of(p_.b_type) / 8;
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
__attribute__((noinline)) void walk(const GemmKernels& g, const StrassenProduct& p, const Cut& cut,
                                    const PackedBlock& packed, int64_t begin, int64_t end, KernelContext& c,
                                    float* wide) {
  Room room;
  Walk(g, p, cut, packed, c, room, wide).run(begin, end);
}
/// Of B of 16 bits.
__attribute__((noinline)) void walk_widened(const GemmKernels& g, const StrassenProduct& p, const Cut& cut,
                                            const PackedBlock& packed, int64_t begin, int64_t end,
                                            KernelContext& c) {
  alignas(64) float wide[2 * most_terms * widest_panel];
  walk(g, p, cut, packed, begin, end, c, wide);
}

/// The tiles that a block's A is packed to.
class Packing {
 public:
  Packing(const StrassenKernels& kernels, const StrassenProduct& p, const Cut& cut, int64_t block)
      : kernels_(kernels), p_(p), cut_(cut) {
    const int64_t k0 = block * cut.blocks.step, terms = std::min(cut.blocks.step, p.k - k0);
    half_ = terms / 2;
    for (int64_t i = 0; i < terms / a_block; ++i) {
      terms_[i] = p.a.terms_at(k0 / a_block + i);
      channels_[i] = (k0 / a_block + i) / p.a.taps * a_block;
    }
  }
  int64_t half() const { return half_; }
  /// Are its rows near each other? `most`: for the largest magnitudes of its terms.
  bool pack(int64_t tile, float* to, float* most) const {
    int64_t top[highest_tile], bottom[highest_tile];
    const int64_t row = cut_.row(tile), rows = cut_.tiles.rows(tile);
    for (int64_t i = 0; i < rows; ++i) {
      // Where there is none below, the one above stands in.
      const int64_t below = row + i + rows;
      top[i] = p_.a.row_at(row + i), bottom[i] = below < p_.m ? p_.a.row_at(below) : top[i];
    }
    const bool scaled = p_.before.factor != nullptr;
    return kernels_.pack_rows[scaled]({.a = p_.a.data,
                                       .top = top,
                                       .bottom = bottom,
                                       .terms = terms_,
                                       .rows = rows,
                                       .half = half_,
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
  int64_t half_;
  int64_t terms_[most_terms / a_block], channels_[most_terms / a_block];
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

Verdict ask_strassen(const KernelRequest& r, DataType type, int64_t k) {
  if (r.strict) return Verdict::no("rows are not to depend on each other");
  if (type != DataType::float32 && !is_half(type))
    return Verdict::no("only weights of float32 or of 16 bits are taken apart");
  if (k < least_terms || k % k_grain != 0)
    return Verdict::no("terms are less than " + std::to_string(least_terms) + ", or no multiple of " +
                       std::to_string(k_grain));
  return Verdict::yes();
}

Verdict prefer_strassen(const KernelRequest& r, std::optional<int64_t> m, int64_t n) {
  const GemmKernels& g = gemm_kernels(r.isa);
  if (g.parts) return Verdict::no("AMX multiplies parts of float32 faster");
  // Chains of six rows take longer to begin and to end than is saved (measured on a Zen 3, 128 x 768 x 768,
  // 128 x 768 x 3072 and 512 x 768 x 3072: 1.12, 1.07 and 1.04 times the time of products in one piece).
  if (g.isa == Isa::avx2) return Verdict::no("tiles of AVX2 are too small to make up for sums of parts");
  if ((m && !pays_strassen(g, *m)) || n < least_columns)
    return Verdict::no("too small to make up for sums of parts");
  return Verdict::yes();
}

int64_t marks_size(const GemmKernels& g, int64_t k, int64_t n) {
  return Marks(g, DataType::float32, k, n).terms() + ceil_of(n, 2 * g.panel_columns) * Blocks(k).count;
}

void compare_parts(const GemmKernels& g, DataType type, const void* panels, int64_t k, int64_t n, void* marks,
                   Workers& workers) {
  const Blocks blocks(k);
  const Marks known(g, type, k, n);
  const StrassenKernels& kernels = strassen_kernels(g.isa);
  std::memset(marks, 0, static_cast<size_t>(marks_size(g, k, n) * bits_of(type) / 8));
  workers.parallel(n / (2 * g.panel_columns), 1, [&](int64_t begin, int64_t end) {
    std::vector<float> wide(is_half(type) ? 2 * blocks.step * g.panel_columns : 0);
    std::vector<float> most(static_cast<size_t>(blocks.step));
    for (int64_t pair = begin; pair < end; ++pair)
      for (int64_t i = 0; i < blocks.count; ++i) {
        workers.poll();
        const int64_t k0 = i * blocks.step, terms = std::min(blocks.step, k - k0);
        const auto panel = [&](int64_t which) {
          return widened(g.isa, type, panels, ((2 * pair + which) * k + k0) * g.panel_columns,
                         terms * g.panel_columns,
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
  compare_parts(g, type, to, k, n, static_cast<uint8_t*>(to) + packed_b_size(g, k, n) * bits_of(type) / 8,
                workers);
}

bool pays_strassen(const GemmKernels& g, int64_t m) {
  return !g.strict && !g.parts && m >= least_rows(g.isa);
}

size_t strassen_workspace(const GemmKernels& g, const StrassenProduct& p, int threads) {
  const Cut cut(g, p, threads);
  return static_cast<size_t>(cut.slots * cut.stride) * sizeof(float);
}

void multiply_strassen(const GemmKernels& g, const StrassenProduct& p, void* workspace, KernelContext& c) {
  const StrassenKernels& kernels = strassen_kernels(g.isa);
  const Cut cut(g, p, c.threads());
  // f(n, grain, work): does all of work(0, n), here or on all threads.
  const auto group = [&](int64_t i, float* packed, auto&& f) {
    auto* const near = reinterpret_cast<uint8_t*>(packed + cut.flags);
    float* const most = packed + cut.most;
    const int64_t t0 = cut.groups.begin(i), tiles = cut.groups.rows(i), row0 = cut.tiles.begin(t0);
    for (int64_t block = 0; block < cut.blocks.count; ++block) {
      const Packing packing(kernels, p, cut, block);
      const int64_t of_tile = 4 * cut.tiles.rows(t0) * packing.half();
      f(tiles, ceil_of(least_packed, of_tile), [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t)
          near[t] = packing.pack(
              t0 + t, packed + strassen_operands * (cut.tiles.begin(t0 + t) - row0) * packing.half(),
              most + t * cut.blocks.step);
      });
      const PackedBlock there{.a = packed,
                              .near = near,
                              .most = most,
                              .most_tile = cut.blocks.step,
                              .t0 = t0,
                              .t1 = t0 + tiles,
                              .block = block};
      f(cut.pairs, ceil_of(cut.pairs, 4 * c.threads()), [&](int64_t begin, int64_t end) {
        if (is_half(p.b_type))
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
