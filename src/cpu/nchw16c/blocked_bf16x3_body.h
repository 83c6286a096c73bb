// Convolution in channel blocks in bf16x3, with tiles. Included by for_each_isa.h only.
//
// Channel j of one block and channel j of the next are a pair. A step is one tap of two blocks: 32 terms.

void split_source(Bf16x3Source& s, int64_t vectors) {
  Vec wrong = load(s.wrong);
  while (vectors > 0 && s.left > 0) {
    if (s.run.count == 0) s.next();
    Bf16x3Run& r = s.run;
    const int64_t n = vectors < r.count ? vectors : r.count, ahead = r.ahead;
    const auto lows = static_cast<__mmask16>(r.lows), highs = static_cast<__mmask16>(r.highs);
    const float *low = r.low, *high = r.high;
    char* to = r.to;
    for (int64_t i = 0; i < n; ++i, low += r.stride, high += r.stride, to += r.to_stride) {
      if (ahead) {
        __builtin_prefetch(low + ahead, 0, 2);
        __builtin_prefetch(high + ahead, 0, 2);
      }
      const Bf16x3Pairs p = split_pairs<RowPairs>({_mm512_maskz_loadu_ps(lows, low)},
                                                  {_mm512_maskz_loadu_ps(highs, high)}, wrong);
      LATHE_UNROLL
      for (int j = 0; j < part_count; ++j) _mm512_store_si512(to + j * r.part, p.of[j]);
    }
    r.low = low, r.high = high, r.to = to;
    r.count -= n, s.left -= n, vectors -= n;
  }
  store(s.wrong, wrong);
}

bool split_nchw_row(const NchwBf16x3Row& r) {
  Vec wrong = zero();
  char* to = r.to;
  for (int64_t i = 0; i < r.pixels; i += Vec::width, to += 2 * part_pixel) {
    const int64_t n = r.pixels - i < Vec::width ? r.pixels - i : Vec::width;
    Vec x[4];
    LATHE_UNROLL
    for (int c = 0; c < 4; ++c) x[c] = r.channel[c] ? load_first(r.channel[c] + i, n) : zero();
    const Bf16x3Pairs front = split_pairs<RowPairs>(x[0], x[1], wrong),
                      back = split_pairs<RowPairs>(x[2], x[3], wrong);
    const __mmask16 low = first(n < 8 ? 2 * n : 16), high = first(n < 8 ? 0 : 2 * n - 16);
    LATHE_UNROLL
    for (int j = 0; j < part_count; ++j) {
      const Vec a = float_of(front.of[j]), b = float_of(back.of[j]);
      _mm512_mask_storeu_epi32(to + j * r.part, low, float_bits(zip_low(a, b)));
      _mm512_mask_storeu_epi32(to + j * r.part + part_pixel, high, float_bits(zip_high(a, b)));
    }
  }
  return any_nan(wrong);
}

/// Splits some vectors after each group of products of a step.
struct Bf16x3Splitting {
  const Bf16x3Tile& tile;
  int64_t due[2] = {};
  LATHE_INLINE void some() {
    LATHE_UNROLL
    for (int i = 0; i < 2; ++i) {
      due[i] += tile.rate[i];
      if (due[i] < part_products) continue;
      split_source(*tile.split_meanwhile[i], due[i] / part_products);
      due[i] %= part_products;
    }
  }
};

template <bool Lower, bool Wide>
void bf16x3_tile(const Bf16x3Tile& t) {
  constexpr int64_t lower_sums = 2 * channel_block;
  if (t.adds) {
    float* const lower = t.sums + t.upper_rows * lower_sums;
    load_tile<0>(t.sums, tiled_panel_row);
    if constexpr (Wide) load_tile<1>(t.sums + channel_block, tiled_panel_row);
    if constexpr (Lower) load_tile<2>(lower, tiled_panel_row);
    if constexpr (Lower && Wide) load_tile<3>(lower + channel_block, tiled_panel_row);
  } else {
    clear_tile<0>();
    if constexpr (Wide) clear_tile<1>();
    if constexpr (Lower) clear_tile<2>();
    if constexpr (Lower && Wide) clear_tile<3>();
  }
  const char* w = t.w;
  Bf16x3Splitting splitting{t};
  for (int64_t i = 0; i < t.steps; ++i, w += part_weights)
    bf16x3_step<Lower, Wide>(t.upper + t.offsets[i], t.lower + t.offsets[i], t.row, t.part, w, splitting);
  store_tiles<Lower, Wide>(t.sums, t.upper_rows);
}

void epilogue_sums(const Bf16x3Sums& s) {
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

constexpr Bf16x3Kernels bf16x3_table = {.split = split_source,
                                        .split_nchw = split_nchw_row,
                                        .tile = {{bf16x3_tile<false, false>, bf16x3_tile<false, true>},
                                                 {bf16x3_tile<true, false>, bf16x3_tile<true, true>}},
                                        .epilogue = epilogue_sums,
                                        .add_terms = add_terms};
