// Convolution in channel blocks by parts of float32, with tiles. Included by for_each_isa.h only.
//
// Channel j of one block and channel j of the next are a pair. A step is one tap of two blocks: 32 terms.

LATHE_INLINE Vec load_channels(const float* from, int64_t n) {
  return {_mm512_maskz_loadu_ps(first(n), from)};
}

bool split_row(const PartsRow& r) {
  Vec wrong = zero();
  const float *low = r.low, *high = r.high ? r.high : r.low;
  const int64_t highs = r.high ? r.highs : 0;
  char* to = r.to;
  for (int64_t i = 0; i < r.pixels; ++i, low += r.stride, high += r.stride, to += part_pixel) {
    const PairParts p = split_pairs(load_channels(low, r.lows), load_channels(high, highs), wrong);
    LATHE_UNROLL
    for (int j = 0; j < parts; ++j) _mm512_store_si512(to + j * r.part, p.of[j]);
  }
  return is_wrong(wrong);
}

template <int Vectors>
LATHE_INLINE void split_step(const float* low, int64_t lows, const float* high, int64_t highs, char* to,
                             Vec& wrong) {
  constexpr int64_t width = Vectors * Vec::width;
  for (int64_t j = 0; j < tile_depth; ++j, low += width, high += width, to += tiled_panel_row) {
    LATHE_UNROLL
    for (int v = 0; v < Vectors; ++v) {
      const PairParts p = split_pairs(j < lows ? load(low + v * Vec::width) : zero(),
                                      j < highs ? load(high + v * Vec::width) : zero(), wrong);
      LATHE_UNROLL
      for (int i = 0; i < parts; ++i)
        _mm512_store_si512(to + i * (tile_depth * tiled_panel_row) + v * tile_row, p.of[i]);
    }
  }
}
template <int Vectors>
LATHE_INLINE bool split_panel(const PartsWeights& w) {
  constexpr int64_t width = Vectors * Vec::width;
  Vec wrong = zero();
  char* to = w.to;
  for (int64_t channel = 0; channel < w.channels; channel += 2 * channel_block) {
    const int64_t left = w.channels - channel;
    const int64_t lows = left < channel_block ? left : channel_block, rest = left - lows;
    const int64_t highs = rest < channel_block ? rest : channel_block;
    const float* const low = w.from + channel * w.taps * width;
    const float* const high = highs > 0 ? low + channel_block * w.taps * width : low;
    for (int64_t tap = 0; tap < w.taps; ++tap, to += part_weights)
      split_step<Vectors>(low + tap * lows * width, lows, high + tap * highs * width, highs, to, wrong);
  }
  return is_wrong(wrong);
}
bool split_weights(const PartsWeights& w) {
  return w.width == Vec::width ? split_panel<1>(w) : split_panel<2>(w);
}

template <bool Lower, bool Wide>
void parts_tile(const PartsTile& t) {
  clear_tile<0>();
  if constexpr (Wide) clear_tile<1>();
  if constexpr (Lower) clear_tile<2>();
  if constexpr (Lower && Wide) clear_tile<3>();
  const char* w = t.w;
  const float* next = t.next;
  for (int64_t i = 0; i < t.steps; ++i, w += part_weights) {
    for (int64_t j = 0; j < t.next_lines; ++j, next += Vec::width) __builtin_prefetch(next, 0, 2);
    parts_step<Lower, Wide>(t.upper + t.offsets[i], t.lower + t.offsets[i], part_pixel, t.part, w);
  }
  store_tiles<Lower, Wide>(t.sums, t.upper_rows);
}

void finish_sums(const PartsSums& s) {
  const Vec least = set(s.bounds.least), greatest = set(s.bounds.greatest);
  for (int64_t b = 0; b < s.blocks; ++b) {
    const Vec bias = load(s.bias + b * channel_block);
    const float* from = s.sums + b * channel_block;
    float* to = s.y + b * s.y_block;
    for (int64_t i = 0; i < s.pixels; ++i, from += 2 * channel_block, to += channel_block)
      store(to, min(greatest, max(least, load(from) + bias)));
  }
}

void add_terms(const float* x, int64_t n, const float* w, int64_t width, float* sums) {
  for (int64_t b = 0; b < width; b += Vec::width) {
    Vec sum = load(sums + b);
    for (int64_t k = 0; k < n; ++k) sum = fma(set(x[k]), load(w + k * width + b), sum);
    store(sums + b, sum);
  }
}

constexpr PartsKernels table_of_parts = {.split_row = split_row,
                                         .split_weights = split_weights,
                                         .tile = {{parts_tile<false, false>, parts_tile<false, true>},
                                                  {parts_tile<true, false>, parts_tile<true, true>}},
                                         .finish = finish_sums,
                                         .add_terms = add_terms};
