#include "cpu/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "cpu/simd/isa.h"
#include "cpu/tasks.h"

#define LATHE_ISA_BODY "cpu/attention/attention_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(AttentionKernels, attention_kernels)

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
/// The keys whose scores exist at once, and the tiles of queries that share them: fewer tiles if each query
/// sees keys of its own, since keys that one of them sees are multiplied for all.
constexpr int64_t key_block = 512;
constexpr int64_t tiles_a_block = 4, tiles_a_window = 2;
int64_t tiles_of(const AttentionRun& r) { return r.left < 0 && r.right < 0 ? tiles_a_block : tiles_a_window; }
/// With fewer queries, keys are read in place: packing them would cost more than it saves.
constexpr int64_t few_queries = 8;
/// From this many bytes of keys and values on, no cache is likely to hold them until the next call.
constexpr int64_t many_bytes = int64_t{1} << 19;

int64_t size_of(DataType t) { return bits_of(t) / 8; }
const std::byte* at(const void* elements, int64_t i, DataType t) {
  return static_cast<const std::byte*>(elements) + i * size_of(t);
}
std::byte* at(void* elements, int64_t i, DataType t) {
  return static_cast<std::byte*>(elements) + i * size_of(t);
}

/// Rounds a row to int8 and puts its scale behind it. Rows with other than finite numbers become NaN.
void quantize(const float* from, int64_t n, void* to) {
  float greatest = 0;
  for (int64_t i = 0; i < n; ++i)
    if (const float size = std::fabs(from[i]); !(size <= greatest)) greatest = size;
  const bool finite = std::isfinite(greatest) && std::all_of(from, from + n, [](float x) { return x == x; });
  const float scale = finite ? greatest / 127 : std::numeric_limits<float>::quiet_NaN(),
              inverse = finite && scale > 0 ? 1 / scale : 0;
  auto* const elements = static_cast<int8_t*>(to);
  for (int64_t i = 0; i < n; ++i)
    elements[i] = inverse > 0
                      ? static_cast<int8_t>(std::clamp(std::nearbyint(from[i] * inverse), -127.f, 127.f))
                      : int8_t{0};
  std::memcpy(elements + n, &scale, sizeof scale);
}
void dequantize(const void* from, int64_t n, float* to) {
  const auto* const elements = static_cast<const int8_t*>(from);
  float scale;
  std::memcpy(&scale, elements + n, sizeof scale);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(elements[i]) * scale;
}

/// Converts elements from or to float32, or copies elements of the same type.
void convert(Isa isa, DataType from_type, const void* from, DataType to_type, void* to, int64_t n) {
  if (from_type == to_type)
    std::memcpy(to, from, static_cast<size_t>(n * size_of(to_type)));
  else if (to_type == DataType::float32)
    widen(isa, from_type, from, static_cast<float*>(to), n);
  else
    narrow(isa, to_type, static_cast<const float*>(from), to, n);
}

/// Converts rows of so many elements, whose distances are in bytes. Rows of int8 lie one behind the other.
void convert_rows(Isa isa, DataType from_type, const void* from, int64_t from_row, DataType to_type, void* to,
                  int64_t to_row, int64_t rows, int64_t size) {
  if (from_row == to_row && from_type == to_type)
    return void(std::memcpy(to, from, static_cast<size_t>(rows * to_row)));
  if (from_type != DataType::int8 && to_type != DataType::int8 && from_row == size * size_of(from_type) &&
      to_row == size * size_of(to_type))
    return convert(isa, from_type, from, to_type, to, rows * size);
  for (int64_t i = 0; i < rows; ++i) {
    const void* const source = static_cast<const std::byte*>(from) + i * from_row;
    void* const target = static_cast<std::byte*>(to) + i * to_row;
    if (to_type == DataType::int8)
      quantize(static_cast<const float*>(source), size, target);
    else if (from_type == DataType::int8)
      dequantize(source, size, static_cast<float*>(target));
    else
      convert(isa, from_type, source, to_type, target, size);
  }
}

int64_t lines(int64_t floats) { return ceil_div(floats, 16) * 16; }

/// The division of the work, and the layout of scratch in floats.
struct Cut {
  Cut(const GemmKernels& g, const AttentionRun& r, bool narrow, bool strict)
      : few(strict || r.queries < few_queries),
        rows(few ? 1 : std::min<int64_t>(r.queries, tiles_of(r) * g.MR)),
        blocks(ceil_div(r.queries, rows)),
        blocks_a_task(strict ? Cut(g, r, narrow, false).rows : 1),
        columns(std::min(r.scored(), key_block)),
        pack_values(!few && r.v_head % g.NR != 0),
        copies_past_caches(r.past_k.data != r.present_k.data && r.batch * r.kv_heads * (r.past + r.fresh) *
                                                                        (r.head + r.v_head) *
                                                                        size_of(r.cached) >=
                                                                    many_bytes),
        packed_k(few ? 0 : lines(packed_b_size(g, r.head, r.scored()))),
        packed_v(pack_values ? lines(packed_b_size(g, r.keys, r.v_head)) : 0),
        heads(r.batch * r.kv_heads),
        joins(!few && (r.past > 0 || narrow)) {
    q = scores = 0;
    if (!few) scores = lines(rows * blocked(r.head));
    weights = scores + lines(rows * columns);
    bias = weights + (few ? 0 : lines(rows * blocked(columns)));
    sums = bias + (r.bias.present() ? lines(columns) : 0);
    slot = sums + lines(rows * r.v_head);
  }
  int64_t tasks_a_head() const { return ceil_div(blocks, blocks_a_task); }
  int64_t tasks(const AttentionRun& r) const { return r.batch * r.q_heads * tasks_a_head(); }
  int64_t packed() const { return heads * (packed_k + packed_v); }
  /// The floats for keys and values that are in pieces or narrow, and not required elsewhere.
  int64_t joined(const AttentionRun& r) const {
    return joins ? lines(heads * (r.past + r.fresh) * (r.head + r.v_head)) : 0;
  }

  bool few;
  int64_t rows, blocks;  // queries of a block, and blocks of a head
  /// Strict runs have a block for each query, and as many tasks as others, so that scratch memory for others
  /// is enough.
  int64_t blocks_a_task;
  int64_t columns;  // keys at once
  bool pack_values, copies_past_caches;
  int64_t packed_k, packed_v, heads;
  bool joins;
  int64_t q, scores, weights, bias, sums, slot;  // within the scratch of a task
};

/// The queries of one block.
class QueryBlock {
 public:
  QueryBlock(Isa isa, const AttentionRun& r, const Cut& cut, int64_t block, const float* packed,
             float* scratch, KernelContext& c)
      : isa_(isa),
        g_(gemm_kernels(isa)),
        kernels_(attention_kernels(isa)),
        r_(r),
        cut_(cut),
        b_(block / cut.blocks / r.q_heads),
        h_(block / cut.blocks % r.q_heads),
        kv_(h_ / (r.q_heads / r.kv_heads)),
        row0_(block % cut.blocks * cut.rows),
        rows_(std::min(cut.rows, r.queries - row0_)),
        first_(r.first_of(b_)),
        all_keys_(r.keys_of(b_)),
        tiles_(rows_, g_.MR),
        packed_k_(packed + (b_ * r.kv_heads + kv_) * cut.packed_k),
        packed_v_(packed + cut.heads * cut.packed_k + (b_ * r.kv_heads + kv_) * cut.packed_v),
        scratch_(scratch),
        c_(c) {}

  void run() {
    gather();
    copy_until(r_.past + r_.fresh);
    // A product of matrices multiplies the values of masked keys by 0, which gives NaN if they are not
    // finite.
    if (!cut_.few && !kernels_.finite(sums(), rows_ * r_.v_head)) {
      one_by_one_ = true;
      gather();
    }
    for (int64_t i = 0; i < rows_; ++i)
      kernels_.scale(sums() + i * r_.v_head, r_.y + b_ * r_.y_batch + h_ * r_.y_head + (row0_ + i) * r_.y_row,
                     r_.v_head, share_of_total(i));
    if (r_.shows_unseen()) show_unseen();
    for (int64_t i = 0; shows(ShownScores::weights) && i < rows_; ++i) show_weights(i);
  }

 private:
  /// Computes the weighted sums of the values.
  void gather() {
    std::fill_n(greatest_, rows_, minus_infinity);
    std::fill_n(total_, rows_, 0.0f);
    std::fill_n(sums(), rows_ * r_.v_head, 0.0f);
    for (int64_t i = 0; shows_biased() && i < rows_; ++i) std::fill_n(shown(i), all_rows(), minus_infinity);
    if (!cut_.few) pack_queries();
    // Keys that no query sees are skipped.
    const auto [begin, end] = seen_blocks();
    for (int64_t k0 = begin; k0 < end; k0 += key_block) {
      c_.poll();
      key0_ = k0;
      keys_ = std::min(key_block, end - k0);
      copy_until(k0 + keys_);
      score();
      if (r_.shows_unseen()) show_products();
      for (int64_t i = 0; i < rows_; ++i) weigh(i);
      combine();
    }
  }

  int64_t all_rows() const { return r_.past + r_.fresh; }
  float share_of_total(int64_t i) const { return total_[i] > 0 ? 1 / total_[i] : total_[i]; }

  bool shows(ShownScores s) const { return r_.shown && r_.shows == s; }
  /// Weights are computed from biased scores, once all of them are known.
  bool shows_biased() const { return shows(ShownScores::biased) || shows(ShownScores::weights); }
  float* shown(int64_t i) const {
    return r_.shown + ((b_ * r_.q_heads + h_) * r_.queries + row0_ + i) * all_rows();
  }
  /// Writes the scores of the current keys, before a bias, to the output.
  void show_products() const {
    for (int64_t i = 0; i < rows_; ++i) {
      float* const to = shown(i) + key0_;
      std::copy_n(scores() + i * cut_.columns, keys_, to);
      if (r_.shows == ShownScores::capped && r_.softcap > 0)
        kernels_.prepare({.scores = to, .n = keys_, .softcap = r_.softcap});
    }
  }
  void show_products(int64_t begin, int64_t end) {
    for (key0_ = begin; key0_ < end; key0_ += key_block) {
      c_.poll();
      keys_ = std::min(key_block, end - key0_);
      score();
      show_products();
    }
  }
  void show_unseen() {
    const auto [begin, end] = seen_blocks();
    show_products(0, begin);
    const int64_t rest = end == all_rows() ? end : end / g_.NR * g_.NR;
    show_products(std::max(begin, rest), all_rows());
  }
  void show_weights(int64_t i) const {
    float* const row = shown(i);
    if (greatest_[i] == minus_infinity) return void(std::fill_n(row, all_rows(), total_[i]));
    kernels_.weigh(row, all_rows(), greatest_[i], row, a_block);
    kernels_.scale(row, row, all_rows(), share_of_total(i));
  }

  /// Returns whether the values of each key are added one by one, instead of in a product of matrices.
  bool row_by_row() const { return cut_.few || one_by_one_; }
  float* scores() const { return scratch_ + cut_.scores; }
  float* weights() const { return scratch_ + cut_.weights; }
  float* sums() const { return scratch_ + cut_.sums; }
  const float* query(int64_t i) const { return static_cast<const float*>(r_.q.at(b_, h_, row0_ + i)); }

  /// The keys that a query sees. Windows may have any length within int64.
  std::pair<int64_t, int64_t> range(int64_t i) const {
    const int64_t position = row0_ + i + first_;
    const bool from_first = r_.left < 0 || r_.left >= position;
    const int64_t begin = from_first ? 0 : std::min(position - r_.left, all_keys_);
    const bool to_last = r_.right < 0 || r_.right >= all_keys_ - position;
    const int64_t end = to_last ? all_keys_ : std::clamp(position + r_.right + 1, begin, all_keys_);
    return {begin, end};
  }

  /// The range from the first block of keys that a query sees to the last key that one sees.
  std::pair<int64_t, int64_t> seen_blocks() const {
    return {range(0).first / key_block * key_block, range(rows_ - 1).second};
  }

  void pack_queries() const {
    for (int64_t t = 0; t < tiles_.count(); ++t)
      g_.pack_a(scratch_ + cut_.q + tiles_.begin(t) * blocked(r_.head), {query(tiles_.begin(t)), r_.q.row, 1},
                tiles_.rows(t), r_.head, r_.scale);
  }

  /// Keys or values at equal distances.
  struct Piece {
    DataType type;
    const void* rows;
    int64_t row;       // elements from one to the next
    int64_t first, n;  // their indices
  };
  /// Calls f with the pieces that keys or values [first, last) consist of.
  template <class F>
  void for_pieces(const CachedRows<const void*>& past, const HeadRows& fresh, int64_t size, int64_t first,
                  int64_t last, F&& f) const {
    const int64_t bytes = r_.cached_row(size);
    for (int64_t i = first, end = std::min(last, r_.past); i < end;) {
      const auto [rows, some] = past.at(b_ * r_.kv_heads + kv_, i, bytes);
      const int64_t n = std::min(some, end - i);
      f(Piece{r_.cached, rows, bytes / size_of(r_.cached), i, n});
      i += n;
    }
    if (const int64_t from = std::max(first, r_.past); from < last)
      f(Piece{fresh.type, fresh.at(b_, kv_, from - r_.past), fresh.row, from, last - from});
  }

  /// Few queries read keys in place, and copy them to the updated KV cache just before, block by block, so
  /// that they are read from memory once. Blocks of queries that share keys copy a part of each.
  void copy_until(int64_t end) {
    if (!cut_.few) return;
    const int64_t group = r_.q_heads / r_.kv_heads, sharing = group * cut_.blocks,
                  which = h_ % group * cut_.blocks + row0_ / cut_.rows;
    while (copied_ < end) {
      const int64_t n = std::min(key_block, r_.past + r_.fresh - copied_);
      const int64_t first = copied_ + n * which / sharing, last = copied_ + n * (which + 1) / sharing;
      copy(r_.past_k, r_.k, r_.head, r_.present_k, first, last);
      copy(r_.past_v, r_.v, r_.v_head, r_.present_v, first, last);
      copied_ += n;
      c_.poll();
    }
  }
  void copy(const CachedRows<const void*>& past, const HeadRows& fresh, int64_t size,
            const CachedRows<void*>& all, int64_t first, int64_t last) const {
    if (!all.data) return;
    if (past.data == all.data) first = std::max(first, r_.past);  // those are there
    const int64_t to_row = r_.cached_row(size);
    for_pieces(past, fresh, size, first, last, [&](const Piece& p) {
      const int64_t from_row = p.row * size_of(p.type);
      for (int64_t i = 0; i < p.n;) {
        const auto [to, some] = all.at(b_ * r_.kv_heads + kv_, p.first + i, to_row);
        const int64_t n = std::min(some, p.n - i);
        const void* const from = static_cast<const std::byte*>(p.rows) + i * from_row;
        if (p.type == r_.cached && from_row == to_row && cut_.copies_past_caches)
          kernels_.copy(from, to, static_cast<size_t>(n * to_row));
        else
          convert_rows(isa_, p.type, from, from_row, r_.cached, to, to_row, n, size);
        i += n;
      }
    });
  }

  void score() const {
    if (cut_.few)
      return for_pieces(r_.past_k, r_.k, r_.head, key0_, key0_ + keys_, [&](const Piece& p) {
        kernels_.few(p.type).products(query(0), p.rows, p.row, p.n, r_.head, r_.scale,
                                      scores() + p.first - key0_);
      });
    Tile tile{.b_row = g_.NR, .c_row = cut_.columns, .k = r_.head};
    for (int64_t j = 0; j < keys_; j += g_.NR) {
      c_.poll();
      tile.columns = std::min(g_.NR, keys_ - j);
      tile.b = packed_k_ + (key0_ + j) * r_.head;
      for (int64_t t = 0; t < tiles_.count(); ++t) {
        tile.a = scratch_ + cut_.q + tiles_.begin(t) * blocked(r_.head);
        tile.c = scores() + tiles_.begin(t) * cut_.columns + j;
        g_.run(tiles_.rows(t), tile);
      }
    }
  }

  /// Returns the bias of these keys' scores, in scratch if memory does not have it in this form.
  const float* bias(int64_t i, int64_t first, int64_t n) const {
    const ScoreBias& s = r_.bias;
    if (!s.present()) return nullptr;
    const int64_t at = b_ * s.batch + h_ * s.head + (row0_ + i) * s.query + first * s.key;
    if (s.numbers && s.key == 1) return s.numbers + at;
    float* const row = scratch_ + cut_.bias;
    for (int64_t j = 0; j < n; ++j) {
      const int64_t element = at + j * s.key;
      row[j] = s.numbers ? s.numbers[element] : s.bools[element] ? 0 : minus_infinity;
    }
    return row;
  }

  /// Returns whether there is a key that is not masked. If all such keys have scores of minus infinity, their
  /// weights are 0/0; a query that sees no key at all gets 0.
  static bool shows_any(const float* added, int64_t n) {
    return added ? std::any_of(added, added + n, [](float v) { return v != minus_infinity; }) : n > 0;
  }

  /// A query's weights of these keys: in place of its scores, or packed as the left operand of the product
  /// with the values.
  struct WeightRow {
    float* data;
    int64_t block;  // from a_block weights to the next
    int64_t size;
    float* at(int64_t i) const { return data + i / a_block * block + i % a_block; }
    void hide(int64_t first, int64_t last) const {
      while (first < last) {
        const int64_t end = std::min(first / a_block * a_block + a_block, last);
        std::fill_n(at(first), end - first, 0.0f);
        first = end;
      }
    }
  };
  WeightRow weight_row(int64_t i) const {
    if (row_by_row()) return {scores() + i * cut_.columns, a_block, keys_};
    const PackedRow row(tiles_, i, keys_);
    return {weights() + row.first, row.block, blocked(keys_)};
  }

  /// Turns scores of a query into weights, and rescales its sums so far to a new greatest score.
  void weigh(int64_t i) {
    float* const row = scores() + i * cut_.columns;
    const WeightRow to = weight_row(i);
    const auto [begin, end] = range(i);
    const int64_t first = std::clamp<int64_t>(begin - key0_, 0, keys_),
                  last = std::clamp<int64_t>(end - key0_, first, keys_);
    const int64_t n = last - first;
    const float* const added = bias(i, key0_ + first, n);
    const float here =
        kernels_.prepare({.scores = row + first, .n = n, .softcap = r_.softcap, .bias = added});
    if (shows_biased()) std::copy_n(row + first, n, shown(i) + key0_ + first);
    const float most = std::isnan(here) ? here : std::max(greatest_[i], here);
    if (most == minus_infinity) {
      to.hide(0, to.size);
      if (shows_any(added, n)) total_[i] = std::numeric_limits<float>::quiet_NaN();
      return;
    }
    // Weights are computed in whole blocks: keys of the first one that a window hides get weight 0.
    const int64_t from = first / a_block * a_block;
    std::fill(row + from, row + first, minus_infinity);
    to.hide(0, from);
    to.hide(last, to.size);
    const float sum = kernels_.weigh(row + from, last - from, most, to.at(from), to.block);
    if (greatest_[i] == minus_infinity) total_[i] = 0;
    if (greatest_[i] < most && total_[i] > 0) {
      const float factor = std::exp(greatest_[i] - most);
      total_[i] *= factor;
      kernels_.scale(sums() + i * r_.v_head, sums() + i * r_.v_head, r_.v_head, factor);
    }
    greatest_[i] = most;
    total_[i] += sum;
  }

  void combine() const {
    if (row_by_row())
      return for_pieces(r_.past_v, r_.v, r_.v_head, key0_, key0_ + keys_, [&](const Piece& p) {
        for (int64_t i = 0; i < rows_; ++i)
          kernels_.few(p.type).combine(scores() + i * cut_.columns + p.first - key0_, p.rows, p.row, p.n,
                                       r_.v_head, sums() + i * r_.v_head);
      });
    const float* const v = static_cast<const float*>(r_.v.at(b_, kv_, key0_));
    for (int64_t j = 0; j < r_.v_head; j += g_.NR) {
      c_.poll();
      Tile tile{.b = v + j, .b_row = r_.v.row, .c_row = r_.v_head, .k = keys_};
      tile.columns = std::min(g_.NR, r_.v_head - j);
      if (cut_.pack_values) {
        tile.b = packed_v_ + j * r_.keys + key0_ * g_.NR;
        tile.b_row = g_.NR;
      }
      for (int64_t t = 0; t < tiles_.count(); ++t) {
        tile.a = weights() + tiles_.begin(t) * blocked(keys_);
        tile.c = sums() + tiles_.begin(t) * r_.v_head + j;
        tile.start = {tile.c, r_.v_head, 1, 1};
        g_.run(tiles_.rows(t), tile);
      }
    }
  }

  const Isa isa_;
  const GemmKernels& g_;
  const AttentionKernels& kernels_;
  const AttentionRun& r_;
  const Cut& cut_;
  int64_t b_, h_, kv_, row0_, rows_, first_, all_keys_;
  RowTiles tiles_;
  const float* packed_k_;
  const float* packed_v_;
  float* scratch_;
  KernelContext& c_;
  int64_t key0_ = 0, keys_ = 0, copied_ = 0;
  bool one_by_one_ = false;
  float greatest_[tiles_a_block * 16], total_[tiles_a_block * 16];
};

enum class Rows { all, seen };
/// Joins past and fresh rows of each head as elements of `type`: float32, or the type of the KV cache. Past
/// rows that are there already stay.
void join(Isa isa, const AttentionRun& r, const CachedRows<const void*>& past, const HeadRows& fresh,
          int64_t size, Rows rows, DataType type, const CachedRows<void*>& to, KernelContext& c) {
  if (size == 0) return;
  const int64_t total = r.past + r.fresh,
                to_row = type == r.cached ? r.cached_row(size) : size * size_of(type);
  c.parallel(r.batch * r.kv_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      c.poll();
      const int64_t b = i / r.kv_heads, h = i % r.kv_heads,
                    end_row = rows == Rows::all ? total : r.scored_of(b);
      const auto put = [&](DataType from_type, const void* from, int64_t from_row, int64_t first, int64_t n) {
        while (n > 0) {
          const auto [target, some] = to.at(i, first, to_row);
          const int64_t now = std::min(n, some);
          convert_rows(isa, from_type, from, from_row, type, target, to_row, now, size);
          from = static_cast<const std::byte*>(from) + now * from_row;
          first += now;
          n -= now;
        }
      };
      for (int64_t j = 0, end_past = past.data == to.data ? 0 : std::min(r.past, end_row); j < end_past;) {
        const auto [from, some] = past.at(i, j, r.cached_row(size));
        const int64_t n = std::min(some, end_past - j);
        put(r.cached, from, r.cached_row(size), j, n);
        j += n;
      }
      if (end_row > r.past)
        put(fresh.type, fresh.at(b, h, 0), fresh.row * size_of(fresh.type), r.past, end_row - r.past);
    }
  });
}

/// Updates the KV cache if it is required, and returns float32 rows in one piece for packing: the fresh rows
/// or the cache if they are that, else rows in `buffer`.
HeadRows in_one_piece(Isa isa, const AttentionRun& r, const CachedRows<const void*>& past,
                      const HeadRows& fresh, int64_t size, const CachedRows<void*>& all, float* buffer,
                      KernelContext& c) {
  constexpr DataType floats = DataType::float32;
  if (all.data) join(isa, r, past, fresh, size, Rows::all, r.cached, all, c);
  if (r.past == 0 && fresh.type == floats) return fresh;
  const bool is_wanted = all.data && r.cached == floats && !all.blocks;
  const CachedRows<void*> to = is_wanted ? all : CachedRows<void*>{buffer, r.past + r.fresh};
  if (!is_wanted) join(isa, r, past, fresh, size, Rows::seen, floats, to, c);
  return {to.data, r.kv_heads * to.rows * size, to.rows * size, size};
}
AttentionRun in_one_piece(Isa isa, AttentionRun r, float* buffer, KernelContext& c) {
  const int64_t total = r.past + r.fresh;
  float* const v_buffer = buffer + r.batch * r.kv_heads * total * r.head;
  r.k = in_one_piece(isa, r, r.past_k, r.k, r.head, r.present_k, buffer, c);
  r.v = in_one_piece(isa, r, r.past_v, r.v, r.v_head, r.present_v, v_buffer, c);
  r.fresh = total;
  r.past = 0;
  return r;
}

/// Appends the new rows to the KV cache first, so that all rows are read as the cache has them, rounded to
/// its type: they will be so in later calls.
AttentionRun in_the_cache(Isa isa, AttentionRun r, KernelContext& c) {
  join(isa, r, r.past_k, r.k, r.head, Rows::all, r.cached, r.present_k, c);
  join(isa, r, r.past_v, r.v, r.v_head, Rows::all, r.cached, r.present_v, c);
  r.past_k = {r.present_k.data, r.present_k.rows, r.present_k.blocks};
  r.past_v = {r.present_v.data, r.present_v.rows, r.present_v.blocks};
  r.present_k = r.present_v = {};
  r.past += r.fresh;
  r.fresh = 0;
  return r;
}

/// Returns whether there are no results other than the KV cache.
bool makes_nothing(const AttentionRun& r) {
  return r.batch * r.q_heads * r.queries == 0 || (r.v_head == 0 && !r.shown);
}

}  // namespace

size_t attention_workspace(Isa isa, const AttentionRun& r, bool narrow, int threads) {
  if (makes_nothing(r)) return 0;
  const Cut cut(gemm_kernels(isa), r, narrow, false);
  return static_cast<size_t>(task_slots(cut.tasks(r), threads) * slot_stride(cut.slot, threads) +
                             cut.joined(r) + cut.packed()) *
         sizeof(float);
}

void attention(Isa isa, const AttentionRun& run, bool narrow, bool strict, void* workspace,
               KernelContext& c) {
  if (makes_nothing(run)) {
    if (run.present_k.data)
      join(isa, run, run.past_k, run.k, run.head, Rows::all, run.cached, run.present_k, c);
    if (run.present_v.data)
      join(isa, run, run.past_v, run.v, run.v_head, Rows::all, run.cached, run.present_v, c);
    return;
  }
  const GemmKernels& g = gemm_kernels(isa);
  const Cut cut(g, run, narrow, strict);
  const int64_t stride = slot_stride(cut.slot, c.threads());
  float* const scratch = static_cast<float*>(workspace);
  float* const buffer = scratch + task_slots(cut.tasks(run), c.threads()) * stride;
  float* const packed = buffer + cut.joined(run);
  const bool rounds = run.k.type != run.cached && run.present_k.data && run.present_v.data;
  const AttentionRun r = !cut.few           ? in_one_piece(isa, run, buffer, c)
                         : strict && rounds ? in_the_cache(isa, run, c)
                                            : run;
  if (!cut.few)
    c.parallel(cut.heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / r.kv_heads, h = i % r.kv_heads, scored = r.scored_of(b), keys = r.keys_of(b);
        for (int64_t j = 0; j < scored; j += g.NR) {
          c.poll();
          g.pack_b(packed + i * cut.packed_k + j * r.head,
                   {static_cast<const float*>(r.k.at(b, h, j)), 1, r.k.row}, r.head,
                   std::min(g.NR, scored - j));
        }
        const float* const v = static_cast<const float*>(r.v.at(b, h, 0));
        for (int64_t j = 0; cut.pack_values && j < r.v_head; j += g.NR) {
          c.poll();
          g.pack_b(packed + cut.heads * cut.packed_k + i * cut.packed_v + j * r.keys, {v + j, r.v.row, 1},
                   keys, std::min(g.NR, r.v_head - j));
        }
      }
    });
  for_each_task(c, cut.tasks(r), [&](int64_t task, int64_t slot) {
    const int64_t head = task / cut.tasks_a_head(), first = task % cut.tasks_a_head() * cut.blocks_a_task,
                  last = std::min(cut.blocks, first + cut.blocks_a_task);
    for (int64_t block = first; block < last; ++block)
      QueryBlock(isa, r, cut, head * cut.blocks + block, packed, scratch + slot * stride, c).run();
  });
}

}  // namespace lathe::cpu
