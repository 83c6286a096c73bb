// Packs weights of eight bits into panels of NR = 32 filters: quads of terms of neighboring filters.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "cpu/ceil_of.h"
#include "cpu/quantized/int8_gemm.h"
#include "cpu/simd/transpose_tile.h"

namespace lathe::cpu {
namespace {

/// The quads of a filter that are packed before those of the next one, so that a line of contiguous bytes is
/// read once. In convolutions it is a block of channels instead.
constexpr int64_t some_quads = 64, max_taps = 49, max_terms = channel_block * max_taps;
static_assert(some_quads * quad <= max_terms && channel_block == transpose_side<uint8_t>);

/// Adds with wraparound, as products do.
void add(int32_t& sum, int32_t more) {
  sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(more));
}

/// The source of one panel's bytes.
struct Int8Panel {
  const uint8_t* bytes;  // the first filter's
  int64_t filter, real;  // distance between two filters, and their number
  const int64_t* terms;
  int64_t taps;        // as in Int8Weights
  const uint8_t* end;  // of all filters
  int64_t soon;        // distance from these bytes to those that are packed next
  uint8_t sign_xor;

  bool is_none(int64_t term) const { return terms[term] < 0; }

  /// Packs filters whose elements are neighbors, four terms of all of them at once.
  void rows(int64_t quads, int8_t* to, int32_t* sums) const {
    for (int64_t t = 0; t < quads * quad; t += quad, to += panel_row) {
      int8_t four[quad][panel_filters] = {};
      for (int64_t j = 0; j < quad; ++j) {
        if (is_none(t + j)) continue;
        const uint8_t* const from = bytes + terms[t + j];
        if (real == panel_filters)  // a constant length, so that it is vectorized
          for (int64_t f = 0; f < panel_filters; ++f) four[j][f] = static_cast<int8_t>(from[f] ^ sign_xor);
        else
          for (int64_t f = 0; f < real; ++f) four[j][f] = static_cast<int8_t>(from[f] ^ sign_xor);
      }
      for (int64_t f = 0; f < panel_filters; ++f) {
        to[quad * f] = four[0][f];
        to[quad * f + 1] = four[1][f];
        to[quad * f + 2] = four[2][f];
        to[quad * f + 3] = four[3][f];
      }
      for (int64_t f = 0; f < panel_filters; ++f)
        add(sums[f], static_cast<int16_t>(four[0][f] + four[1][f] + four[2][f] + four[3][f]));
    }
  }

  /// Packs filters that are stored one after the other: makes each one's terms contiguous, then transposes
  /// quads of all.
  void filters(int64_t quads, int8_t* to, int32_t* sums) const {
    const int64_t count = quads * quad, padded = ceil_of(count, channel_block) * channel_block;
    int64_t place[max_terms];
    uint8_t kept[max_terms];  // a mask for each byte: 0 if there is no term
    alignas(64) uint8_t byte[panel_filters][max_terms];
    bool together = true, whole = taps > 1 && count == channel_block * taps;
    for (int64_t t = 0; t < count; ++t) {
      place[t] = std::max<int64_t>(terms[t], 0);
      kept[t] = is_none(t) ? 0 : 0xff;
      whole = whole && !is_none(t);
      together = together && !is_none(t) && terms[t] == terms[0] + t;
    }
    std::fill(kept + count, kept + padded, uint8_t{0});
    for (int64_t f = 0; f < real; ++f) {
      const uint8_t* const from = bytes + f * filter;
      uint8_t* const row = byte[f];
      // Hardware prefetchers do not follow so many interleaved filters.
      for (int64_t i = 0; i < count; i += 64) __builtin_prefetch(from + soon + i);
      if (together) {
        add(sums[f], finalize_row(from + terms[0], row, kept, count));
        continue;
      }
      if (whole)
        transpose_taps(from + terms[0], row);
      else
        for (int64_t t = 0; t < count; t += quad) {
          const uint8_t four[quad] = {from[place[t]], from[place[t + 1]], from[place[t + 2]],
                                      from[place[t + 3]]};
          std::memcpy(row + t, four, sizeof four);
        }
      add(sums[f], finalize_row(row, row, kept, count));
    }
    for (int64_t f = real; f < panel_filters; ++f) std::fill(byte[f], byte[f] + padded, uint8_t{0});
    transpose_quads(byte[0], quads, to);
  }
  /// Transposes a block of channels with their taps to taps with a block of channels each.
  void transpose_taps(const uint8_t* from, uint8_t* to) const {
    uint8_t copy[max_terms + channel_block];
    if (end - from < channel_block * taps + channel_block) {  // the last row would be read past the end
      std::memcpy(copy, from, static_cast<size_t>(channel_block * taps));
      std::fill_n(copy + channel_block * taps, channel_block, uint8_t{0});
      from = copy;
    }
    for (int64_t tap = 0; tap < taps; tap += channel_block)
      transpose_tile(from + tap, taps, to + tap * channel_block, channel_block,
                     std::min(channel_block, taps - tap));
  }
  /// Transposes rows of filters to rows of quads.
  static void transpose_quads(const uint8_t* byte, int64_t quads, int8_t* to) {
    constexpr int64_t square = transpose_side<uint32_t>;
    const auto* const from = reinterpret_cast<const uint32_t*>(byte);
    auto* const rows = reinterpret_cast<uint32_t*>(to);
    for (int64_t q = 0; q < quads; q += square)
      for (int64_t f = 0; f < panel_filters; f += square)
        transpose_tile(from + f * (max_terms / quad) + q, max_terms / quad, rows + q * (panel_row / quad) + f,
                       panel_row / quad, std::min(square, quads - q));
  }
  /// Makes `count` bytes signed, fills the last block up with zeros, and returns the sum.
  int32_t finalize_row(const uint8_t* from, uint8_t* to, const uint8_t* kept, int64_t count) const {
    int16_t sums[channel_block] = {};  // each of few enough bytes
    int64_t t = 0;
    const auto finalize_block = [&](const uint8_t* bytes) {
      for (int64_t i = 0; i < channel_block; ++i) {
        to[t + i] = static_cast<uint8_t>((bytes[i] ^ sign_xor) & kept[t + i]);
        sums[i] = static_cast<int16_t>(sums[i] + static_cast<int8_t>(to[t + i]));
      }
    };
    for (; t + channel_block <= count; t += channel_block) finalize_block(from + t);
    if (t < count) {
      uint8_t last[channel_block] = {};
      for (int64_t i = t; i < count; ++i) last[i - t] = from[i];
      finalize_block(last);
    }
    return std::accumulate(sums, sums + channel_block, 0);
  }
};

}  // namespace

int64_t packed_bytes(int64_t filters, int64_t terms) {
  return panels(filters) * panel_filters * (quads(terms) * quad + static_cast<int64_t>(sizeof(int32_t)));
}

void pack_int8(const Int8Weights& w, int8_t* to, Workers& workers) {
  const int64_t rows = w.count / quad, all = panels(w.filters);
  const int64_t at_once = w.taps > 1 && w.taps <= max_taps ? channel_block * w.taps / quad : some_quads;
  const auto* const bytes = static_cast<const uint8_t*>(w.data);
  auto* const sums = reinterpret_cast<int32_t*>(to + all * panel_row * rows);
  const auto some = [&](int64_t panel, int64_t done) {
    if ((panel + done / at_once) % (polled_bytes / (at_once * panel_row)) == 0) workers.poll();
    const int64_t first = panel * panel_filters, quads = std::min(at_once, rows - done);
    const int64_t next = done + quads < rows ? std::max<int64_t>(0, w.terms[(done + quads) * quad])
                                             : panel_filters * w.filter + std::max<int64_t>(0, w.terms[0]);
    const Int8Panel from{.bytes = bytes + first * w.filter,
                         .filter = w.filter,
                         .real = std::min(panel_filters, w.filters - first),
                         .terms = w.terms + done * quad,
                         .taps = w.taps,
                         .end = bytes + w.filters * w.filter,
                         .soon = next,
                         .sign_xor = static_cast<uint8_t>(w.is_signed ? 0 : 128)};
    int8_t* const row = to + (panel * rows + done) * panel_row;
    w.filter == 1 ? from.rows(quads, row, sums + first) : from.filters(quads, row, sums + first);
  };
  const auto pack = [&](int64_t begin, int64_t end) {
    std::fill(sums + begin * panel_filters, sums + end * panel_filters, 0);
    // In the order of the bytes in memory.
    if (w.filter == 1)
      for (int64_t done = 0; done < rows; done += at_once)
        for (int64_t panel = begin; panel < end; ++panel) some(panel, done);
    else
      for (int64_t panel = begin; panel < end; ++panel)
        for (int64_t done = 0; done < rows; done += at_once) some(panel, done);
  };
  workers.parallel(all, std::max<int64_t>(1, polled_bytes / (panel_row * (rows + 1))), pack);
}

void pack_matrix(const Int8Matrix& b, int64_t k, int64_t n, int8_t* to, Workers& workers) {
  std::vector<int64_t> terms(static_cast<size_t>(quads(k) * quad));
  pack_matrix(b, k, n, to, terms.data(), workers);
}

void pack_matrix(const Int8Matrix& b, int64_t k, int64_t n, int8_t* to, int64_t* terms, Workers& workers) {
  for (int64_t i = 0; i < quads(k) * quad; ++i) terms[i] = i >= k ? -1 : b.transposed ? i : i * n;
  pack_int8({b.data, b.is_signed, n, b.transposed ? k : 1, terms, quads(k) * quad}, to, workers);
}

}  // namespace lathe::cpu
