// The micro-kernels of bytes_tile.h for one instruction set. Included by for_each_isa.h only.

constexpr int tile_block_vectors = static_cast<int>(channel_block / Vec::width);
constexpr bool has_vnni = Vec::width == 16 && LATHE_VNNI;
constexpr int byte_rows = has_vnni ? 14 : Vec::width == 16 ? 12 : Vec::width == 8 ? 4 : 2;
constexpr int tile_blocks = Vec::width == 16 ? 2 : 1;

template <int Rows, int Vectors>
LATHE_INLINE void begin_sums(Ints (&sum)[Rows][Vectors], const int32_t* start) {
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) {
    const Ints from = load_ints(start + j * Vec::width);
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i) sum[i][j] = from;
  }
}

/// One row of the panel, times a quad of each pixel.
template <int Rows, int Vectors>
LATHE_INLINE void byte_step(Ints (&sum)[Rows][Vectors], const uint8_t* x, int64_t stride, const int8_t* w) {
  SignedQuads row[Vectors];
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) row[j] = load_quads(w + j * Vec::width * quad);
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    const Quads pixel = repeat_quad(x + i * stride);
    LATHE_UNROLL
    for (int j = 0; j < Vectors; ++j) sum[i][j] = dot(sum[i][j], pixel, row[j]);
  }
}

template <int Rows, int Vectors, int64_t Stride>
LATHE_INLINE void byte_steps(Ints (&sum)[Rows][Vectors], const ByteTile& t, const int64_t* step,
                             int64_t count, int64_t depth, const int8_t*& weights) {
  const int64_t stride = Stride ? Stride : t.stride, ahead = t.ahead;
  const int8_t* w = weights;
  for (const int64_t* end = step + count; step < end; ++step) {
    const uint8_t* x = t.x + *step;
    for (const uint8_t* last = x + depth * quad; x < last; x += quad, w += panel_row) {
      LATHE_UNROLL
      for (int64_t j = 0; j < Vectors * Vec::width * quad; j += 64) __builtin_prefetch(w + ahead + j, 0, 2);
      byte_step<Rows, Vectors>(sum, x, stride, w);
    }
  }
  weights = w;
}

template <int Rows, int Vectors>
LATHE_INLINE void store_sums(const Ints (&sum)[Rows][Vectors], int32_t* to) {
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    LATHE_UNROLL
    for (int j = 0; j < Vectors; ++j) store_ints(to + i * panel_filters + j * Vec::width, sum[i][j]);
  }
}

/// To the grid, and stored. Apart from the loop that sums, whose registers must all be sums.
template <int Vectors, bool Adds>
LATHE_INLINE void finish_pixels(const ByteTile& t, const int32_t* sums, int rows) {
  const ByteGrid& g = *t.grid;
  const Vec low = set(g.low), high = set(g.high), sum_low = set(g.sum_low), sum_high = set(g.sum_high),
            own = set(g.own), others = set(g.others), constant = set(g.constant);
  const Ints zero = set_ints(g.zero);
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) {
    const Vec factor = load(g.factor + j * Vec::width), shift = load(g.shift + j * Vec::width);
    const int64_t at = j / tile_block_vectors * t.y_block + j % tile_block_vectors * Vec::width;
    const uint8_t* other = Adds ? t.other + at : nullptr;
    uint8_t* to = t.y + at;
    for (int i = 0; i < rows; ++i, to += channel_block) {
      const Ints sum = load_ints(sums + i * panel_filters + j * Vec::width);
      Vec q = min(max(fma(to_floats(sum), factor, shift), low), high);
      if constexpr (Adds) {
        q = fma(round(q), own, fma(to_floats(load_bytes(other)), others, constant));
        q = min(max(q, sum_low), sum_high);
        other += channel_block;
      }
      store_bytes(to, to_ints(q) + zero);
    }
  }
}
template <int Vectors>
__attribute__((noinline)) void finish_tile(const ByteTile& t, const int32_t* sums, int rows) {
  if (t.grid->adds)
    finish_pixels<Vectors, true>(t, sums, rows);
  else
    finish_pixels<Vectors, false>(t, sums, rows);
}

template <int Rows, int Vectors, int64_t Stride>
void byte_tile(const ByteTile& t) {
  alignas(64) int32_t sums[Rows * panel_filters];
  Ints sum[Rows][Vectors];
  begin_sums<Rows, Vectors>(sum, t.start);
  const int8_t* w = t.w;
  byte_steps<Rows, Vectors, Stride>(sum, t, t.steps, t.count, t.depth, w);
  if (t.last_count > 0)
    byte_steps<Rows, Vectors, Stride>(sum, t, t.steps + t.count, t.last_count, t.last_depth, w);
  store_sums<Rows, Vectors>(sum, sums);
  finish_tile<Vectors>(t, sums, Rows);
}

/// Rows of A as they are packed: byte_block bytes of each, then the next bytes of each.
template <int Rows, int Vectors>
void sum_tile(const ByteTile& t) {
  Ints sum[Rows][Vectors];
  begin_sums<Rows, Vectors>(sum, t.start);
  const int8_t* w = t.w;
  const uint8_t* x = t.x;
  for (int64_t i = 0; i <= t.count; ++i, x += Rows * byte_block) {
    const int64_t depth = i < t.count ? byte_block : t.last_depth * quad;
    for (int64_t k = 0; k < depth; k += quad, w += panel_row) {
      LATHE_UNROLL
      for (int64_t j = 0; j < Vectors * Vec::width * quad; j += 64) __builtin_prefetch(w + t.ahead + j, 0, 2);
      byte_step<Rows, Vectors>(sum, x + k, byte_block, w);
    }
  }
  store_sums<Rows, Vectors>(sum, t.sums);
}

template <int Vectors, int64_t Stride, int... Rows>
constexpr void fill_bytes(ByteTiles::Run (&to)[most_byte_rows + 1], std::integer_sequence<int, Rows...>) {
  ((to[Rows + 1] = byte_tile<Rows + 1, Vectors, Stride>), ...);
}
template <int Vectors, int... Rows>
constexpr void fill_sums(ByteTiles::Run (&to)[most_byte_rows + 1], std::integer_sequence<int, Rows...>) {
  ((to[Rows + 1] = sum_tile<Rows + 1, Vectors>), ...);
}
template <int... Kind>
constexpr void fill_kinds(ByteTiles& t, std::integer_sequence<int, Kind...>) {
  constexpr auto rows = std::make_integer_sequence<int, byte_rows>();
  (fill_bytes<tile_block_vectors, byte_strides[Kind]>(t.bytes[Kind][0], rows), ...);
  (fill_bytes<tile_block_vectors * tile_blocks, byte_strides[Kind]>(t.bytes[Kind][1], rows), ...);
}

constexpr ByteTiles make_byte_tiles() {
  ByteTiles t{.max_rows = byte_rows, .blocks = tile_blocks};
  fill_kinds(t, std::make_integer_sequence<int, byte_stride_kinds>());
  constexpr auto rows = std::make_integer_sequence<int, byte_rows>();
  fill_sums<tile_block_vectors>(t.sums[0], rows);
  fill_sums<tile_block_vectors * tile_blocks>(t.sums[1], rows);
  return t;
}
constexpr ByteTiles table = make_byte_tiles();
