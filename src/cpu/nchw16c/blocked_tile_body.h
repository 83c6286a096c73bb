// The micro-kernels of blocked_tile.h for one instruction set. Included by for_each_isa.h only.
//
// A tile keeps Rows x Vectors registers of sums. Every term loads one row of the panel of weights and
// broadcasts one element of each pixel; if the distance of pixels is known, all addresses in the loop are
// constant distances.

constexpr int block_vectors = static_cast<int>(channel_block / Vec::width);
constexpr int max_blocked_rows = Vec::width == 16 ? 14 : Vec::width == 8 ? 6 : 2;
constexpr int blocked_panel = Vec::width == 16 ? 2 : 1;

struct BlockedFloats {
  static LATHE_INLINE void add_product(Vec& sum, Vec x, Vec w) { accumulate(sum, x, w); }
};
/// Sums with two neighboring terms in each 32 bits.
struct BlockedBf16Dot2 {
  static LATHE_INLINE void add_product(Vec& sum, Vec x, Vec w) { sum = bf16_dot2(x, w, sum); }
};

/// The sums of a tile: whole vectors and, with `half_block`, eight more filters, the first half of a last
/// block. The halves of two pixels share a vector if `Neighbors` exists and there are whole vectors: alone
/// they would wait for the pixels.
template <int Rows, int Vectors, bool half_block>
struct BlockedSums {
  static constexpr int64_t row = Vectors * Vec::width + (half_block ? channel_block : 0);  // of weights
  static constexpr bool paired = half_block && Vectors > 0 && !std::is_void_v<Neighbors>;
  using Eights = std::conditional_t<paired, Neighbors, Eight>;
  static constexpr int half_rows = paired ? (Rows + 1) / 2 : half_block ? Rows : 1;
  Vec whole[Rows][Vectors > 0 ? Vectors : 1];
  Eights half[half_rows];
};

/// Adds one term to each sum.
template <class Elements, int Rows, int Vectors, bool half_block>
LATHE_INLINE void blocked_term(BlockedSums<Rows, Vectors, half_block>& sum, const float* x, const float* w,
                               int64_t stride) {
  using Sums = BlockedSums<Rows, Vectors, half_block>;
  Vec row[Vectors > 0 ? Vectors : 1];
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) {
    row[j] = load(w + j * Vec::width);
    // A single pixel waits for its weights, so they are prefetched 64 rows ahead.
    if (Rows == 1 && j % block_vectors == 0) prefetch(w + 64 * Sums::row + j * Vec::width);
  }
  Vec before = row[0];  // the previous pixel
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    const Vec pixel = set(x[i * stride]);
    LATHE_UNROLL
    for (int j = 0; j < Vectors; ++j) Elements::add_product(sum.whole[i][j], pixel, row[j]);
    if constexpr (Sums::paired) {
      const auto eight = Sums::Eights::load_eight(w + Vectors * Vec::width);
      if (i % 2 == 1 || i + 1 == Rows)
        sum.half[i / 2] = fma(Sums::Eights::of_two(i % 2 ? before : pixel, pixel), eight, sum.half[i / 2]);
      before = pixel;
    }
  }
  if constexpr (half_block && !Sums::paired) {
    const Eight eight = load_eight(w + Vectors * Vec::width);
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i) sum.half[i] = fma(set_eight(x[i * stride]), eight, sum.half[i]);
  }
}

/// Terms that are unrolled where loop counters are a tenth of the instructions. An image's few terms are not,
/// since some would be left over: the ends of loops are mispredicted too often.
constexpr int terms_together = Vec::width == 8 ? 4 : 1;

template <class Elements, int Rows, int Vectors, bool half_block, int64_t Stride>
LATHE_INLINE void blocked_steps(BlockedSums<Rows, Vectors, half_block>& sum, const BlockedTile& t,
                                const int64_t* step, int64_t count, int64_t depth, const float*& weights,
                                int64_t next_lines) {
  constexpr int64_t wide = BlockedSums<Rows, Vectors, half_block>::row;
  const int64_t stride = Stride ? Stride : t.stride;
  const float *w = weights, *next = t.next;
  for (const int64_t* end = step + count; step < end; ++step) {
    for (int64_t i = 0; i < next_lines; ++i, next += 16) __builtin_prefetch(next, 0, 2);
    const float* x = t.x + *step;
    const float* const last = x + depth;
    if (terms_together > 1 && Rows > 1 && depth % terms_together == 0) {
      for (; x < last; x += terms_together, w += terms_together * wide) {
        LATHE_UNROLL
        for (int u = 0; u < terms_together; ++u) blocked_term<Elements>(sum, x + u, w + u * wide, stride);
      }
    }
    for (; x < last; ++x, w += wide) blocked_term<Elements>(sum, x, w, stride);
  }
  weights = w;
}

/// The offset in y of a vector of a row of the tile.
LATHE_INLINE int64_t offset_of(const BlockedTile& t, int row, int vector) {
  return vector / block_vectors * t.y_block + row * channel_block + vector % block_vectors * Vec::width;
}
LATHE_INLINE float* place_of(const BlockedTile& t, int row, int vector) {
  return t.y + offset_of(t, row, vector);
}

/// The other half of the last block becomes 0, since other kernels read whole blocks.
template <int Rows, int Vectors>
LATHE_INLINE void store_half_blocks(const BlockedSums<Rows, Vectors, true>& sum, const BlockedTile& t) {
  using Sums = BlockedSums<Rows, Vectors, true>;
  float* y = place_of(t, 0, Vectors);
  if constexpr (Sums::paired) {
    using Eights = typename Sums::Eights;
    const auto least = Eights::set(t.bounds.least), greatest = Eights::set(t.bounds.greatest);
    LATHE_UNROLL
    for (int i = 0; i < Sums::half_rows; ++i) {
      const auto two = min(greatest, max(least, sum.half[i]));
      store(y + 2 * i * channel_block, two.template of<0>());
      if (2 * i + 1 < Rows) store(y + (2 * i + 1) * channel_block, two.template of<1>());
    }
  } else {
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i, y += channel_block) {
      store(y, min(set_eight(t.bounds.greatest), max(set_eight(t.bounds.least), sum.half[i])));
      store(y + channel_block / 2, set_eight(0));
    }
  }
}

template <class Elements, int Rows, int Vectors, bool half_block, int64_t Stride>
void blocked_tile(const BlockedTile& t) {
  using Sums = BlockedSums<Rows, Vectors, half_block>;
  Sums sum;
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) {
    const Vec start = t.bias ? load(t.bias + j * Vec::width) : zero();
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i) sum.whole[i][j] = start;
  }
  if constexpr (half_block) {
    const float none[channel_block / 2] = {}, *const start = t.bias ? t.bias + Vectors * Vec::width : none;
    LATHE_UNROLL
    for (int i = 0; i < Sums::half_rows; ++i) {
      if constexpr (Sums::paired)
        sum.half[i] = Sums::Eights::load_eight(start);
      else
        sum.half[i] = load_eight(start);
    }
  }
  if constexpr (!half_block && adds_at(Stride)) {
    if (t.adds) {
      LATHE_UNROLL
      for (int i = 0; i < Rows; ++i) {
        LATHE_UNROLL
        for (int j = 0; j < Vectors; ++j) sum.whole[i][j] = load(place_of(t, i, j));
      }
    }
    if (t.added) {  // it is loaded at the end
      for (int j = 0; j < Vectors; j += block_vectors)
        for (int i = 0; i < Rows; ++i) prefetch(t.added + offset_of(t, i, j));
    }
  }
  const float* w = t.w;
  blocked_steps<Elements, Rows, Vectors, half_block, Stride>(sum, t, t.steps, t.count, t.depth, w,
                                                             t.next_lines);
  if (t.last_count > 0)
    blocked_steps<Elements, Rows, Vectors, half_block, Stride>(sum, t, t.steps + t.count, t.last_count,
                                                               t.last_depth, w, 0);
  if constexpr (!half_block && adds_at(Stride)) {
    if (t.added) {
      LATHE_UNROLL
      for (int i = 0; i < Rows; ++i) {
        LATHE_UNROLL
        for (int j = 0; j < Vectors; ++j)
          sum.whole[i][j] = sum.whole[i][j] + load(t.added + offset_of(t, i, j));
      }
    }
  }
  const Vec least = set(t.bounds.least), greatest = set(t.bounds.greatest);
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    LATHE_UNROLL
    for (int j = 0; j < Vectors; ++j) store(place_of(t, i, j), min(greatest, max(least, sum.whole[i][j])));
  }
  if constexpr (half_block) store_half_blocks<Rows, Vectors>(sum, t);
}

/// Eight filters for contiguous pixels: two pixels share a vector. A last single pixel has one for itself.
template <class N, int Rows>
struct BlockedNeighbors {
  static constexpr int pairs = (Rows + 1) / 2;
  N sum[pairs];

  LATHE_INLINE void add(const float* x, N row) {
    LATHE_UNROLL
    for (int i = 0; i < pairs; ++i) {
      const N pixels = 2 * i + 1 < Rows ? N::load_two(x + 2 * i) : N::set(x[2 * i]);
      sum[i] = fma(pixels, row, sum[i]);
    }
  }
  LATHE_INLINE void add_steps(const float* x, const int64_t* step, int64_t count, int64_t depth,
                              const float*& w) {
    for (const int64_t* end = step + count; step < end; ++step)
      for (int64_t k = 0; k < depth; ++k, w += channel_block) add(x + *step + k, N::load_eight(w));
  }
};
template <class N, int Rows>
void blocked_neighbors(const BlockedTile& t) {
  BlockedNeighbors<N, Rows> tile;
  LATHE_UNROLL
  for (N& sum : tile.sum) sum = t.bias ? N::load_eight(t.bias) : N::set(0);
  const float* w = t.w;
  tile.add_steps(t.x, t.steps, t.count, t.depth, w);
  tile.add_steps(t.x, t.steps + t.count, t.last_count, t.last_depth, w);
  const N least = N::set(t.bounds.least), greatest = N::set(t.bounds.greatest);
  LATHE_UNROLL
  for (int i = 0; i < tile.pairs; ++i) {
    const N y = min(greatest, max(least, tile.sum[i]));
    float* const to = t.y + 2 * i * channel_block;
    store(to, y.template of<0>());
    if (2 * i + 1 < Rows) store(to + channel_block, y.template of<1>());
  }
}
/// Eight filters for pixels in channel blocks: two terms share a vector, since broadcasts take longer than
/// multiplications.
template <class N, int Rows, int64_t Stride>
struct BlockedTerms {
  static constexpr int64_t row = channel_block;  // of weights
  N sum[Rows];

  LATHE_INLINE void add_steps(const float* image, const int64_t* step, int64_t count, int64_t depth,
                              const float*& w) {
    const float none[channel_block / 2] = {};
    for (const int64_t* end = step + count; step < end; ++step) {
      const float* x = image + *step;
      const float* const last = x + depth;
      for (; x + 1 < last; x += 2, w += 2 * row) {
        const N terms = N::load_eights(w, w + row);
        LATHE_UNROLL
        for (int i = 0; i < Rows; ++i) sum[i] = fma(N::load_two(x + i * Stride), terms, sum[i]);
      }
      if (x == last) continue;
      const N term = N::load_eights(w, none);
      LATHE_UNROLL
      for (int i = 0; i < Rows; ++i) sum[i] = fma(N::set(x[i * Stride]), term, sum[i]);
      w += row;
    }
  }
};
template <class N, int Rows, int64_t Stride>
void blocked_terms(const BlockedTile& t) {
  const float none[channel_block / 2] = {};
  BlockedTerms<N, Rows, Stride> tile;
  LATHE_UNROLL
  for (N& sum : tile.sum) sum = N::load_eights(t.bias ? t.bias : none, none);
  const float* w = t.w;
  tile.add_steps(t.x, t.steps, t.count, t.depth, w);
  tile.add_steps(t.x, t.steps + t.count, t.last_count, t.last_depth, w);
  const Vec least = set(t.bounds.least), greatest = set(t.bounds.greatest);
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    const Vec y = tile.sum[i].template of<0>() + tile.sum[i].template of<1>();
    store(t.y + i * channel_block, min(greatest, max(least, y)));
  }
}
template <class N, int64_t Stride, int... Rows>
constexpr void fill_blocked_terms(void (*(&to)[max_tile_rows + 1])(const BlockedTile&),
                                  std::integer_sequence<int, Rows...>) {
  ((to[Rows + 1] = blocked_terms<N, Rows + 1, Stride>), ...);
}
template <class N, int... Rows>
constexpr void fill_blocked_neighbors(void (*(&to)[max_tile_rows + 1])(const BlockedTile&),
                                      std::integer_sequence<int, Rows...>) {
  ((to[Rows + 1] = blocked_neighbors<N, Rows + 1>), ...);
}

template <class Elements, int Vectors, bool half_block, int64_t Stride, int... Rows>
constexpr void fill_blocked_rows(void (*(&to)[max_tile_rows + 1])(const BlockedTile&),
                                 std::integer_sequence<int, Rows...>) {
  ((to[Rows + 1] = blocked_tile<Elements, Rows + 1, Vectors, half_block, Stride>), ...);
}

constexpr auto blocked_rows = std::make_integer_sequence<int, max_blocked_rows>();

template <class Elements, int64_t Stride>
constexpr void fill_blocked_kind(BlockedTiles& t, int kind) {
  fill_blocked_rows<Elements, block_vectors, false, Stride>(t.run[kind][0], blocked_rows);
  fill_blocked_rows<Elements, block_vectors * blocked_panel, false, Stride>(t.run[kind][1], blocked_rows);
}
/// Kernels whose last block is a half.
template <int64_t Stride>
constexpr void fill_half_blocks(BlockedTiles& t, int kind) {
  fill_blocked_rows<BlockedFloats, 0, true, Stride>(t.half_block[kind][0], blocked_rows);
  fill_blocked_rows<BlockedFloats, block_vectors*(blocked_panel - 1), true, Stride>(t.half_block[kind][1],
                                                                                    blocked_rows);
  using N = std::conditional_t<Stride == 1 || Stride >= channel_block, Neighbors, void>;
  if constexpr (!std::is_void_v<N>) {
    if constexpr (Stride == 1)
      fill_blocked_neighbors<N>(t.half_block[kind][0], blocked_rows);
    else
      fill_blocked_terms<N, Stride>(t.half_block[kind][0], blocked_rows);
  }
}

/// One block of filters, whose weights for all channels are loaded once: tiles would store their registers of
/// sums, and start again, after few terms.
template <int Channels>
void blocked_few(const float* x, const float* w, float* y, int64_t pixels) {
  for (int64_t lane = 0; lane < channel_block; lane += Vec::width) {
    Vec weight[Channels];
    LATHE_UNROLL
    for (int k = 0; k < Channels; ++k) weight[k] = load(w + k * channel_block + lane);
    for (int64_t i = 0; i < pixels * channel_block; i += channel_block) {
      Vec sum = zero();
      LATHE_UNROLL
      for (int k = 0; k < Channels; ++k) sum = fma(set(x[i + k]), weight[k], sum);
      store(y + i + lane, sum);
    }
  }
}
constexpr int max_few_channels = Vec::width == 16 ? 16 : 8;
template <int... Channels>
constexpr void fill_blocked_few(BlockedTiles& t, std::integer_sequence<int, Channels...>) {
  ((t.few[Channels + 1] = blocked_few<Channels + 1>), ...);
}

bool any_nan_of_pixels(const float* y, int64_t pixels) {
  Vec wrong = zero();
  for (int64_t i = 0; i < pixels * channel_block; i += Vec::width) wrong = fma(load(y + i), zero(), wrong);
  if (!any_nan(wrong)) return false;  // the usual case; infinities give NaN too
  bool found = false;
  for (int64_t i = 0; i < pixels * channel_block; i += Vec::width) found = found || any_nan(load(y + i));
  return found;
}

template <int... Kind>
constexpr BlockedTiles blocked_float_tiles(std::integer_sequence<int, Kind...>) {
  BlockedTiles t{.strides = {tile_strides[Kind]...}, .MR = max_blocked_rows, .panel_blocks = blocked_panel};
  (fill_blocked_kind<BlockedFloats, tile_strides[Kind]>(t, Kind), ...);
  (fill_half_blocks<tile_strides[Kind]>(t, Kind), ...);
  fill_blocked_few(t, std::make_integer_sequence<int, max_few_channels>());
  t.any_nan = any_nan_of_pixels;
  return t;
}
constexpr BlockedTiles make_bf16_dot2_table() {
  BlockedTiles t{.strides = {bf16_dot2_strides[0], bf16_dot2_strides[1], bf16_dot2_strides[2],
                             bf16_dot2_strides[3], bf16_dot2_strides[4]},
                 .MR = max_blocked_rows,
                 .panel_blocks = blocked_panel};
  fill_blocked_kind<BlockedBf16Dot2, bf16_dot2_strides[0]>(t, 0);
  fill_blocked_kind<BlockedBf16Dot2, bf16_dot2_strides[1]>(t, 1);
  fill_blocked_kind<BlockedBf16Dot2, 0>(t, tile_stride_kinds - 1);
  return t;
}
#if !LATHE_BF16
constexpr BlockedTiles table = blocked_float_tiles(std::make_integer_sequence<int, tile_stride_kinds>());
#endif
constexpr BlockedTiles bf16_dot2_table = make_bf16_dot2_table();
