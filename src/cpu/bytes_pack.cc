// Weights of eight bits into panels: quads of terms, 32 filters beside each other.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "cpu/bytes_gemm.h"
#include "cpu/ceil_of.h"
#include "cpu/turn.h"

namespace lathe::cpu {
namespace {

/// Quads of a filter that are packed before those of the next one: of bytes that lie together a line is read
/// once. Of convolutions a block of channels is.
constexpr int64_t some_quads = 64, most_taps = 49, most_terms = channel_block * most_taps;
static_assert(some_quads * quad <= most_terms && channel_block == turned_at_once<uint8_t>);

/// Sums wrap around, as those of products do.
void add(int32_t& sum, int32_t more) {
  sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(more));
}

/// Of one panel: where its bytes come from.
struct PanelBytes {
  const uint8_t* bytes;  // the first filter's
  int64_t filter, real;  // from one filter to the next, and how many there are
  const int64_t* terms;
  int64_t taps;        // as of ByteWeights
  const uint8_t* end;  // of all filters
  int64_t soon;        // from these bytes of a filter to those that are packed next
  uint8_t turned;

  bool is_none(int64_t term) const { return terms[term] < 0; }

  /// Filters lie beside each other: four terms of all of them at once.
  void rows(int64_t quads, int8_t* to, int32_t* sums) const {
    for (int64_t t = 0; t < quads * quad; t += quad, to += panel_row) {
      int8_t four[quad][panel_filters] = {};
      for (int64_t j = 0; j < quad; ++j) {
        if (is_none(t + j)) continue;
        const uint8_t* const from = bytes + terms[t + j];
        if (real == panel_filters)  // of constant length: in vectors
          for (int64_t f = 0; f < panel_filters; ++f) four[j][f] = static_cast<int8_t>(from[f] ^ turned);
        else
          for (int64_t f = 0; f < real; ++f) four[j][f] = static_cast<int8_t>(from[f] ^ turned);
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

  /// Each filter by itself: its terms beside each other, then quads of all of them.
  void filters(int64_t quads, int8_t* to, int32_t* sums) const {
    const int64_t count = quads * quad, settled = ceil_of(count, channel_block) * channel_block;
    int64_t place[most_terms];
    uint8_t kept[most_terms];  // bits that are kept: none where there is no term
    alignas(64) uint8_t byte[panel_filters][most_terms];
    bool together = true, whole = taps > 1 && count == channel_block * taps;
    for (int64_t t = 0; t < count; ++t) {
      place[t] = std::max<int64_t>(terms[t], 0);
      kept[t] = is_none(t) ? 0 : 0xff;
      whole = whole && !is_none(t);
      together = together && !is_none(t) && terms[t] == terms[0] + t;
    }
    std::fill(kept + count, kept + settled, uint8_t{0});
    for (int64_t f = 0; f < real; ++f) {
      const uint8_t* const from = bytes + f * filter;
      uint8_t* const row = byte[f];
      // No prefetcher follows so many filters by turns.
      for (int64_t i = 0; i < count; i += 64) __builtin_prefetch(from + soon + i);
      if (together) {
        add(sums[f], settle(from + terms[0], row, kept, count));
        continue;
      }
      if (whole)
        turn_taps(from + terms[0], row);
      else
        for (int64_t t = 0; t < count; t += quad) {
          const uint8_t four[quad] = {from[place[t]], from[place[t + 1]], from[place[t + 2]],
                                      from[place[t + 3]]};
          std::memcpy(row + t, four, sizeof four);
        }
      add(sums[f], settle(row, row, kept, count));
    }
    for (int64_t f = real; f < panel_filters; ++f) std::fill(byte[f], byte[f] + settled, uint8_t{0});
    turn_quads(byte[0], quads, to);
  }
  /// A block of channels, each with its taps, becomes taps with a block of channels each.
  void turn_taps(const uint8_t* from, uint8_t* to) const {
    uint8_t copy[most_terms + channel_block];
    if (end - from < channel_block * taps + channel_block) {  // the last row would be read beyond the end
      std::memcpy(copy, from, static_cast<size_t>(channel_block * taps));
      std::fill_n(copy + channel_block * taps, channel_block, uint8_t{0});
      from = copy;
    }
    for (int64_t tap = 0; tap < taps; tap += channel_block)
      turn(from + tap, taps, to + tap * channel_block, channel_block, std::min(channel_block, taps - tap));
  }
  /// Rows of filters become rows of quads.
  static void turn_quads(const uint8_t* byte, int64_t quads, int8_t* to) {
    constexpr int64_t square = turned_at_once<uint32_t>;
    const auto* const from = reinterpret_cast<const uint32_t*>(byte);
    auto* const rows = reinterpret_cast<uint32_t*>(to);
    for (int64_t q = 0; q < quads; q += square)
      for (int64_t f = 0; f < panel_filters; f += square)
        turn(from + f * (most_terms / quad) + q, most_terms / quad, rows + q * (panel_row / quad) + f,
             panel_row / quad, std::min(square, quads - q));
  }
  /// Makes signed bytes of `count` bytes, zeros behind them to whole blocks, and says what they sum up to.
  int32_t settle(const uint8_t* from, uint8_t* to, const uint8_t* kept, int64_t count) const {
    int16_t sums[channel_block] = {};  // of few enough each
    int64_t t = 0;
    const auto settle_block = [&](const uint8_t* bytes) {
      for (int64_t i = 0; i < channel_block; ++i) {
        to[t + i] = static_cast<uint8_t>((bytes[i] ^ turned) & kept[t + i]);
        sums[i] = static_cast<int16_t>(sums[i] + static_cast<int8_t>(to[t + i]));
      }
    };
    for (; t + channel_block <= count; t += channel_block) settle_block(from + t);
    if (t < count) {
      uint8_t last[channel_block] = {};
      for (int64_t i = t; i < count; ++i) last[i - t] = from[i];
      settle_block(last);
    }
    return std::accumulate(sums, sums + channel_block, 0);
  }
};

}  // namespace

int64_t packed_bytes(int64_t filters, int64_t terms) {
  return panels(filters) * panel_filters * (quads(terms) * quad + static_cast<int64_t>(sizeof(int32_t)));
}

void pack_bytes(const ByteWeights& w, int8_t* to, Workers& workers) {
  const int64_t rows = w.count / quad, all = panels(w.filters);
  const int64_t at_once = w.taps > 1 && w.taps <= most_taps ? channel_block * w.taps / quad : some_quads;
  const auto* const bytes = static_cast<const uint8_t*>(w.data);
  auto* const sums = reinterpret_cast<int32_t*>(to + all * panel_row * rows);
  const auto some = [&](int64_t panel, int64_t done) {
    if ((panel + done / at_once) % (polled_bytes / (at_once * panel_row)) == 0) workers.poll();
    const int64_t first = panel * panel_filters, quads = std::min(at_once, rows - done);
    const int64_t next = done + quads < rows ? std::max<int64_t>(0, w.terms[(done + quads) * quad])
                                             : panel_filters * w.filter + std::max<int64_t>(0, w.terms[0]);
    const PanelBytes from{.bytes = bytes + first * w.filter,
                          .filter = w.filter,
                          .real = std::min(panel_filters, w.filters - first),
                          .terms = w.terms + done * quad,
                          .taps = w.taps,
                          .end = bytes + w.filters * w.filter,
                          .soon = next,
                          .turned = static_cast<uint8_t>(w.is_signed ? 0 : 128)};
    int8_t* const row = to + (panel * rows + done) * panel_row;
    w.filter == 1 ? from.rows(quads, row, sums + first) : from.filters(quads, row, sums + first);
  };
  const auto pack = [&](int64_t begin, int64_t end) {
    std::fill(sums + begin * panel_filters, sums + end * panel_filters, 0);
    // In the order in which the bytes lie.
    if (w.filter == 1)
      for (int64_t done = 0; done < rows; done += at_once)
        for (int64_t panel = begin; panel < end; ++panel) some(panel, done);
    else
      for (int64_t panel = begin; panel < end; ++panel)
        for (int64_t done = 0; done < rows; done += at_once) some(panel, done);
  };
  workers.parallel(all, std::max<int64_t>(1, polled_bytes / (panel_row * (rows + 1))), pack);
}

void pack_matrix(const ByteMatrix& b, int64_t k, int64_t n, int8_t* to, Workers& workers) {
  std::vector<int64_t> terms(static_cast<size_t>(quads(k) * quad));
  pack_matrix(b, k, n, to, terms.data(), workers);
}

void pack_matrix(const ByteMatrix& b, int64_t k, int64_t n, int8_t* to, int64_t* terms, Workers& workers) {
  for (int64_t i = 0; i < quads(k) * quad; ++i) terms[i] = i >= k ? -1 : b.transposed ? i : i * n;
  pack_bytes({b.data, b.is_signed, n, b.transposed ? k : 1, terms, quads(k) * quad}, to, workers);
}

}  // namespace lathe::cpu
