// Weights of eight bits into panels: quads of terms, 32 filters beside each other.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "cpu/bytes_gemm.h"

namespace lathe::cpu {
namespace {

/// Quads of a filter that are packed before those of the next one: of bytes that lie together a line is read
/// once.
constexpr int64_t some_quads = 64, some_terms = some_quads * quad;

/// Sums wrap around, as those of products do.
void add(int32_t& sum, int32_t more) {
  sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(more));
}

/// Of one panel: where its bytes come from.
struct PanelBytes {
  const uint8_t* bytes;  // the first filter's
  int64_t filter, real;  // from one filter to the next, and how many there are
  const int64_t* terms;
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
    const int64_t count = quads * quad;
    int64_t place[some_terms];
    uint8_t kept[some_terms] = {};  // bits that are kept: none where there is no term
    alignas(64) uint8_t byte[panel_filters][some_terms] = {};
    bool together = terms[0] >= 0;
    for (int64_t t = 0; t < count; ++t) {
      place[t] = std::max<int64_t>(terms[t], 0);
      kept[t] = is_none(t) ? 0 : 0xff;
      together = together && terms[t] == terms[0] + t;
    }
    for (int64_t f = 0; f < real; ++f) {
      const uint8_t* const from = bytes + f * filter;
      if (together)
        std::memcpy(byte[f], from + terms[0], static_cast<size_t>(count));
      else
        for (int64_t t = 0; t < count; t += quad) {
          const uint8_t four[quad] = {from[place[t]], from[place[t + 1]], from[place[t + 2]],
                                      from[place[t + 3]]};
          std::memcpy(byte[f] + t, four, sizeof four);
        }
      add(sums[f], settle(byte[f], kept, count));
    }
    for (int64_t q = 0; q < quads; ++q) {
      for (int64_t f = 0; f < real; ++f)
        std::memcpy(to + q * panel_row + f * quad, byte[f] + q * quad, static_cast<size_t>(quad));
      std::fill(to + q * panel_row + real * quad, to + (q + 1) * panel_row, int8_t{0});
    }
  }
  /// Makes signed bytes of them, and says what they sum up to.
  int32_t settle(uint8_t* byte, const uint8_t* kept, int64_t count) const {
    constexpr int64_t vector = 16;
    int16_t sums[vector] = {};  // of few enough each
    for (int64_t t = 0; t < count; t += vector)
      for (int64_t i = t; i < t + vector; ++i) {
        byte[i] = static_cast<uint8_t>((byte[i] ^ turned) & kept[i]);
        sums[i - t] = static_cast<int16_t>(sums[i - t] + static_cast<int8_t>(byte[i]));
      }
    return std::accumulate(sums, sums + vector, 0);
  }
};

}  // namespace

int64_t packed_bytes(int64_t filters, int64_t terms) {
  return panels(filters) * panel_filters * (quads(terms) * quad + static_cast<int64_t>(sizeof(int32_t)));
}

void pack_bytes(const ByteWeights& w, int8_t* to, Workers& workers) {
  const int64_t rows = w.count / quad, all = panels(w.filters);
  auto* const sums = reinterpret_cast<int32_t*>(to + all * panel_row * rows);
  const auto some = [&](int64_t panel, int64_t done) {
    if ((panel + done / some_quads) % (polled_bytes / (some_quads * panel_row)) == 0) workers.poll();
    const int64_t first = panel * panel_filters, quads = std::min(some_quads, rows - done);
    const PanelBytes from{static_cast<const uint8_t*>(w.data) + first * w.filter, w.filter,
                          std::min(panel_filters, w.filters - first), w.terms + done * quad,
                          static_cast<uint8_t>(w.is_signed ? 0 : 128)};
    int8_t* const row = to + (panel * rows + done) * panel_row;
    w.filter == 1 ? from.rows(quads, row, sums + first) : from.filters(quads, row, sums + first);
  };
  const auto pack = [&](int64_t begin, int64_t end) {
    std::fill(sums + begin * panel_filters, sums + end * panel_filters, 0);
    // In the order in which the bytes lie.
    if (w.filter == 1)
      for (int64_t done = 0; done < rows; done += some_quads)
        for (int64_t panel = begin; panel < end; ++panel) some(panel, done);
    else
      for (int64_t panel = begin; panel < end; ++panel)
        for (int64_t done = 0; done < rows; done += some_quads) some(panel, done);
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
