// Finds the tiles that Winograd's algorithm keeps away from, and computes them by direct sums
// (cpu/blocked_winograd.h), for one instruction set. Included by blocked_winograd_body.h only.

/// Magnitudes are compared by their bits: so NaN is larger than infinity, and does not get lost.
typedef int32_t Magnitudes __attribute__((vector_size(sizeof(float) * Vec::width)));

LATHE_INLINE Vec larger(Vec most, Vec x) {
  const Magnitudes a = (Magnitudes)most.v, b = (Magnitudes)x.v & 0x7fffffff;
  return {(decltype(x.v))(b > a ? b : a)};
}

/// Pixels whose channels are compared at once: as many as a vector has lanes.
constexpr int64_t pixels_at_once = Vec::width, parts_of_block = channel_block / Vec::width;

/// The largest of each pixel's lanes, pixel by pixel.
LATHE_INLINE Vec largest_of_each(Vec (&pixel)[pixels_at_once]) {
  LATHE_UNROLL
  for (int64_t n = pixels_at_once / 2; n > 0; n /= 2) {
    LATHE_UNROLL
    for (int64_t i = 0; i < n; ++i)
      pixel[i] = max(zip_low(pixel[i], pixel[i + n]), zip_high(pixel[i], pixel[i + n]));
  }
  return pixel[0];
}

/// Of up to pixels_at_once pixels that follow one another; NaN has become infinity. `n` blocks, of the last
/// one `channels`.
template <bool whole>
LATHE_INLINE Vec pixel_magnitudes(const float* x, int64_t plane, int64_t blocks, int64_t channels,
                                  int64_t pixels) {
  Vec most[pixels_at_once];
  LATHE_UNROLL
  for (int64_t i = 0; i < pixels_at_once; ++i) most[i] = zero();
  LATHE_ROLLED
  for (int64_t block = 0; block < blocks; ++block, x += plane) {
    const bool all = block + 1 < blocks || channels == channel_block;
    LATHE_UNROLL
    for (int64_t i = 0; i < pixels_at_once; ++i) {
      const float* const at = x + (whole || i < pixels ? i : pixels - 1) * channel_block;
      LATHE_UNROLL
      for (int64_t v = 0; v < parts_of_block; ++v) {
        const int64_t left = channels - v * Vec::width;
        const float* const lanes = at + v * Vec::width;
        if (all || left >= Vec::width)
          most[i] = larger(most[i], load(lanes));
        else if (left > 0)
          most[i] = larger(most[i], load_first(lanes, left));
      }
    }
  }
  const Vec infinity = set(std::numeric_limits<float>::infinity());
  LATHE_UNROLL
  for (int64_t i = 0; i < pixels_at_once; ++i) most[i] = select(is_nan(most[i]), infinity, most[i]);
  return largest_of_each(most);
}

/// Tiles of a row that are looked at together.
constexpr int64_t gated_tiles = 32;

template <int Output, int Taps>
struct Gate {
  static constexpr int size = Output + Taps - 1;
  /// With what vectors read and write behind the last column.
  static constexpr int64_t most_columns = (gated_tiles * Output + 2 * Taps + 2 * 16) / 16 * 16;

  const WinogradGate& g;
  const BlockedShape& s;
  float pixels[size][most_columns] = {};  // magnitudes of the image's rows that a row of tiles sees

  /// Columns of tiles [first, first + tiles) from g.column on.
  LATHE_INLINE void find(int64_t first, int64_t tiles) {
    const int64_t columns = tiles * Output + Taps - 1, x0 = (g.column + first) * Output - s.pad[1];
    for (int64_t row = 0; row < g.rows; ++row) {
      const int64_t y0 = (g.row + row) * Output - s.pad[0];
      int known = 0;  // rows that the tiles above see too
      if (row > 0)
        for (; known < Taps - 1; ++known)
          std::memcpy(pixels[known], pixels[known + Output], sizeof pixels[0]);
      for (int i = known; i < size; ++i) look(pixels[i], y0 + i, x0, columns);
      decide(g.direct + row * g.tiles + first, g.row + row, g.column + first, tiles);
    }
  }

  /// The magnitudes of one row of pixels; 0 beside the image.
  LATHE_INLINE void look(float* to, int64_t y, int64_t x0, int64_t columns) const {
    for (int64_t i = 0; i < columns + Taps - 1 + Vec::width; i += Vec::width) store(to + i, zero());
    if (y < 0 || y >= s.in[0]) return;
    const int64_t begin = x0 < 0 ? -x0 : 0, end = x0 + columns > s.in[1] ? s.in[1] - x0 : columns;
    const int64_t plane = s.in_pixels() * channel_block, blocks = s.in_blocks();
    const int64_t channels = s.channels - (blocks - 1) * channel_block;
    const float* const row = g.x + (y * s.in[1] + x0) * channel_block;
    int64_t i = begin;
    for (; i + pixels_at_once <= end; i += pixels_at_once)
      store(to + i, pixel_magnitudes<true>(row + i * channel_block, plane, blocks, channels, pixels_at_once));
    if (i < end)
      store_first(to + i, pixel_magnitudes<false>(row + i * channel_block, plane, blocks, channels, end - i),
                  end - i);
  }

  LATHE_INLINE void decide(uint8_t* direct, int64_t row, int64_t column, int64_t tiles) const {
    // Of each column of windows the least, of each column of pixels the largest.
    float windows[most_columns], largest[most_columns];
    const int64_t columns = tiles * Output, left = s.out[1] - column * Output;
    const int64_t outputs = left < columns ? left : columns,
                  rows = s.out[0] - row * Output < Output ? s.out[0] - row * Output : Output;
    Vec least_of_all = set(std::numeric_limits<float>::infinity()), most_of_all = zero();
    for (int64_t j = 0; j < columns + Taps - 1; j += Vec::width) {
      Vec across[size], most = zero();
      LATHE_UNROLL
      for (int i = 0; i < size; ++i) {
        const Vec pixel = load(pixels[i] + j);
        most = max(most, pixel);
        across[i] = pixel;
        LATHE_UNROLL
        for (int t = 1; t < Taps; ++t) across[i] = max(across[i], load(pixels[i] + j + t));
      }
      Vec least = set(std::numeric_limits<float>::infinity());
      LATHE_UNROLL
      for (int i = 0; i < Output; ++i) {
        Vec window = across[i];
        LATHE_UNROLL
        for (int t = 1; t < Taps; ++t) window = max(window, across[i + t]);
        if (i < rows) least = min(least, window);
      }
      store(windows + j, least);
      store(largest + j, most);
      most_of_all = max(most_of_all, most);
      if (j + Vec::width <= outputs)
        least_of_all = min(least_of_all, least);
      else if (j < outputs)
        least_of_all = min(least_of_all,
                           load_first(windows + j, outputs - j, set(std::numeric_limits<float>::infinity())));
    }
    const bool alike = are_alike(min_of(least_of_all), max_of(most_of_all));
    for (int64_t i = 0; i < tiles; ++i)
      direct[i] = alike ? 0 : is_apart(windows, largest, i * Output, outputs);
  }
  static LATHE_INLINE bool are_alike(float least, float most) {
    return most <= most_apart_pixels * least && most < large_pixel;
  }
  static LATHE_INLINE uint8_t is_apart(const float* windows, const float* largest, int64_t first,
                                       int64_t outputs) {
    const int64_t last = first + Output < outputs ? first + Output : outputs;
    float least = windows[first], most = 0;
    for (int64_t j = first + 1; j < last; ++j) least = windows[j] < least ? windows[j] : least;
    for (int64_t j = first; j < first + size; ++j) most = largest[j] > most ? largest[j] : most;
    return !are_alike(least, most);
  }
};

template <int Output, int Taps>
void find_direct_tiles(const WinogradGate& g) {
  Gate<Output, Taps> gate{g, *g.shape};
  for (int64_t first = 0; first < g.tiles; first += gated_tiles)
    gate.find(first, g.tiles - first < gated_tiles ? g.tiles - first : gated_tiles);
}

/// Of a tile that reaches beyond the image, the terms that are in it: zeros around it would make NaN of
/// infinite weights.
template <int Output, int Taps>
LATHE_INLINE void add_terms_inside(const DirectTile& t, int64_t y, int64_t x) {
  const BlockedShape& s = *t.shape;
  for (int64_t i = 0; i < Output; ++i)
    for (int64_t j = 0; j < Output; ++j)
      for (int64_t lane = 0; lane < channel_block; lane += Vec::width) {
        Vec sum = zero();
        const float* w = t.w + lane;
        for (int64_t c = 0; c < t.channels; ++c, w += t.w_channel)
          for (int64_t a = 0; a < Taps; ++a)
            for (int64_t b = 0; b < Taps; ++b) {
              const int64_t row = y + i + a, column = x + j + b;
              if (row < 0 || row >= s.in[0] || column < 0 || column >= s.in[1]) continue;
              const float pixel = t.x[(row * s.in[1] + column) * channel_block + c];
              sum = fma(set(pixel), load(w + (a * Taps + b) * channel_block), sum);
            }
        float* const to = t.sums + (i * Output + j) * channel_block + lane;
        store(to, load(to) + sum);
      }
}

/// Some channels' terms are summed by themselves, and then added to what is there: so rounding does not grow
/// with the number of channels.
template <int Output, int Taps>
void add_direct_tile(const DirectTile& t) {
  constexpr int size = Output + Taps - 1;
  // Rows of the output whose sums stay in registers.
  constexpr int rows = Vec::width == channel_block ? Output : 1;
  const BlockedShape& s = *t.shape;
  float border[size * size * channel_block];
  const int64_t y = t.row * Output - s.pad[0], x = t.column * Output - s.pad[1];
  const float* from = border;
  int64_t row = size * channel_block;
  if (y >= 0 && x >= 0 && y + size <= s.in[0] && x + size <= s.in[1]) {
    from = t.x + (y * s.in[1] + x) * channel_block;
    row = s.in[1] * channel_block;
  } else if (t.large_weights) {
    return add_terms_inside<Output, Taps>(t, y, x);
  } else {
    winograd_border<Vec, size>(s, t.x, y, x, channel_block, border);
  }
  for (int64_t lane = 0; lane < channel_block; lane += Vec::width)
    for (int i0 = 0; i0 < Output; i0 += rows) {
      Vec sum[rows][Output];
      LATHE_UNROLL
      for (int i = 0; i < rows; ++i) {
        LATHE_UNROLL
        for (int j = 0; j < Output; ++j) sum[i][j] = zero();
      }
      const float* pixel = from + i0 * row;
      const float* w = t.w + lane;
      LATHE_ROLLED
      for (int64_t c = 0; c < t.channels; ++c, ++pixel, w += t.w_channel) {
        LATHE_UNROLL
        for (int a = 0; a < Taps; ++a) {
          LATHE_UNROLL
          for (int b = 0; b < Taps; ++b) {
            const Vec weight = load(w + (a * Taps + b) * channel_block);
            LATHE_UNROLL
            for (int i = 0; i < rows; ++i) {
              LATHE_UNROLL
              for (int j = 0; j < Output; ++j)
                sum[i][j] = fma(set(pixel[(i + a) * row + (j + b) * channel_block]), weight, sum[i][j]);
            }
          }
        }
      }
      LATHE_UNROLL
      for (int i = 0; i < rows; ++i) {
        LATHE_UNROLL
        for (int j = 0; j < Output; ++j) {
          float* const to = t.sums + ((i0 + i) * Output + j) * channel_block + lane;
          store(to, load(to) + sum[i][j]);
        }
      }
    }
}

template <int Output>
void store_direct_tile(const WinogradRow& r) {
  const BlockedShape& s = *r.shape;
  const Vec least = set(r.bounds.least), greatest = set(r.bounds.greatest);
  const int64_t y0 = r.row * Output, x0 = r.column * Output;
  for (int64_t i = 0; i < Output && y0 + i < s.out[0]; ++i)
    for (int64_t j = 0; j < Output && x0 + j < s.out[1]; ++j)
      for (int64_t v = 0; v < channel_block; v += Vec::width) {
        const int64_t at = ((y0 + i) * s.out[1] + x0 + j) * channel_block + v;
        Vec y = load(r.points + (i * Output + j) * r.point + v) + load(r.bias + v);
        if (r.added) y = y + load(r.added + at);
        store(r.y + at, min(greatest, max(least, y)));
      }
}
