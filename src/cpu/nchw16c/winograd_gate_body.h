// Finds the tiles that Winograd's algorithm must not compute, and computes them by direct sums
// (cpu/nchw16c/blocked_winograd.h), for one instruction set. Included by blocked_winograd_body.h only.

/// Magnitudes are compared by their bits, so that NaN is larger than infinity and is not lost.
typedef int32_t Magnitudes __attribute__((vector_size(sizeof(float) * Vec::width)));

LATHE_INLINE Vec larger(Vec most, Vec x) {
  const Magnitudes a = (Magnitudes)most.v, b = (Magnitudes)x.v & 0x7fffffff;
  return {(decltype(x.v))(b > a ? b : a)};
}

/// Replaces NaN by infinity.
LATHE_INLINE Vec without_nan(Vec magnitude) {
  constexpr int32_t infinity = 0x7f800000;
  const Magnitudes a = (Magnitudes)magnitude.v;
  return {(decltype(magnitude.v))(a < infinity ? a : Magnitudes{} + infinity)};
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

/// The magnitudes of up to pixels_at_once contiguous pixels; NaN becomes infinity. There are `blocks` blocks;
/// the last one has `channels` channels.
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
  LATHE_UNROLL
  for (int64_t i = 0; i < pixels_at_once; ++i) most[i] = without_nan(most[i]);
  return largest_of_each(most);
}

/// The same for `Cells` cells of two by two pixels. The columns of a cell are at `first` and `second` in both
/// rows; those of the next cell are two pixels further.
template <int Cells>
LATHE_INLINE void cell_magnitudes(const float* const (&rows)[2], int64_t first, int64_t second, int64_t plane,
                                  int64_t blocks, int64_t channels, float* to) {
  Vec most[Cells];
  LATHE_UNROLL
  for (int i = 0; i < Cells; ++i) most[i] = zero();
  LATHE_ROLLED
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t here = block + 1 < blocks ? channel_block : channels;
    LATHE_UNROLL
    for (int row = 0; row < 2; ++row) {
      const float* const x = rows[row] + block * plane;
      LATHE_UNROLL
      for (int64_t v = 0; v < channel_block; v += Vec::width) {
        if (here - v >= Vec::width) {
          LATHE_UNROLL
          for (int i = 0; i < Cells; ++i) {
            most[i] = larger(most[i], load(x + first + 2 * i * channel_block + v));
            most[i] = larger(most[i], load(x + second + 2 * i * channel_block + v));
          }
        } else if (here > v) {
          LATHE_UNROLL
          for (int i = 0; i < Cells; ++i) {
            most[i] = larger(most[i], load_first(x + first + 2 * i * channel_block + v, here - v));
            most[i] = larger(most[i], load_first(x + second + 2 * i * channel_block + v, here - v));
          }
        }
      }
    }
  }
  LATHE_UNROLL
  for (int i = 0; i < Cells; ++i) to[i] = max_of(without_nan(most[i]));
}

/// Tiles of a row that are examined together.
constexpr int64_t gated_tiles = 32;

/// Every window contains a whole cell of two by two pixels, counted from the first pixel of its tile; with
/// five taps the windows of a tile have one in common. So windows are examined only if the least maximum of
/// the cells is not near the largest pixel of all, as it mostly is.
template <int Output, int Taps>
struct Gate {
  static constexpr int size = Output + Taps - 1, side = size / 2;  // of a tile, in pixels and in cells
  /// Includes the columns that vectors read and write behind the last one.
  static constexpr int64_t max_columns = (gated_tiles * Output + 2 * Taps + 2 * 16) / 16 * 16,
                           max_cells = (gated_tiles * Output + Taps - 1) / 2;

  const WinogradGate& g;
  const BlockedShape& s;
  const int64_t plane = s.in_pixels() * channel_block, blocks = s.in_blocks(),
                channels = s.channels - (blocks - 1) * channel_block;  // of the last block
  float cells[side][max_cells];                                        // the cells of a row of tiles
  float pixels[size][max_columns];

  LATHE_INLINE explicit Gate(const WinogradGate& gate) : g(gate), s(*gate.shape) {}

  /// Marks columns of tiles [first, first + tiles), counted from g.column.
  LATHE_INLINE void find(int64_t first, int64_t tiles) {
    const int64_t n = (tiles * Output + Taps - 1) / 2, x0 = (g.column + first) * Output - s.pad[1];
    for (int64_t row = 0; row < g.rows; ++row) {
      const int64_t y0 = (g.row + row) * Output - s.pad[0];
      int known = 0;  // rows of cells shared with the tiles above
      if (row > 0)
        for (; known < side - Output / 2; ++known)
          std::memcpy(cells[known], cells[known + Output / 2], sizeof cells[0]);
      for (int i = known; i < side; ++i) look_at_cells(cells[i], y0 + 2 * i, x0, n);
      TileMark* const marks = g.marks + row * g.tiles + first;
      if (cells_are_alike(g.row + row, g.column + first, tiles)) {
        for (int64_t i = 0; i < tiles; ++i) marks[i] = 0;
        continue;
      }
      for (int i = 0; i < size; ++i) look(pixels[i], y0 + i, x0, 2 * n);
      decide(marks, g.row + row, g.column + first, tiles);
    }
  }

  /// Writes the magnitudes of one row of cells; 0 beside the image.
  LATHE_INLINE void look_at_cells(float* to, int64_t y, int64_t x0, int64_t n) const {
    constexpr int together = 8;
    const bool inside = y + 1 >= 0 && y < s.in[0];
    // In cells that are partly outside, pixels inside replace the others.
    const float* const upper = g.x + (y < 0 ? 0 : y) * s.in[1] * channel_block;
    const float* const rows[2] = {upper, y < 0 || y + 1 >= s.in[0] ? upper : upper + s.in[1] * channel_block};
    const int64_t whole = x0 < 0 ? (1 - x0) / 2 : 0, end = (s.in[1] - x0) / 2;
    for (int64_t i = 0; i < n;) {
      const int64_t x = x0 + 2 * i;
      if (!inside || x + 1 < 0 || x >= s.in[1]) {
        to[i++] = 0;
      } else if (i >= whole && i + together <= n && i + together <= end) {
        cell_magnitudes<together>(rows, x * channel_block, (x + 1) * channel_block, plane, blocks, channels,
                                  to + i);
        i += together;
      } else {
        const int64_t left = x < 0 ? x + 1 : x, right = x + 1 < s.in[1] ? x + 1 : x;
        cell_magnitudes<1>(rows, left * channel_block, right * channel_block, plane, blocks, channels,
                           to + i);
        ++i;
      }
    }
  }

  /// Compares all tiles together or, if that fails, each one.
  LATHE_INLINE bool cells_are_alike(int64_t row, int64_t column, int64_t tiles) const {
    const int64_t down = s.out[0] - row * Output, along = s.out[1] - column * Output;
    const int64_t outputs = tiles * Output;
    if (cells_are_alike(0, (outputs + Taps - 1) / 2, down < Output ? down : Output,
                        along < outputs ? along : outputs))
      return true;
    for (int64_t i = 0; i < tiles; ++i) {
      const int64_t left = along - i * Output;
      if (!cells_are_alike(i * Output / 2, side, down < Output ? down : Output,
                           left < Output ? left : Output))
        return false;
    }
    return true;
  }
  /// Compares `n` columns of cells, for so many rows and columns of outputs.
  LATHE_INLINE bool cells_are_alike(int64_t first, int64_t n, int64_t out_rows, int64_t out_columns) const {
    float least = std::numeric_limits<float>::infinity(), most = 0;
    for (int64_t i = 0; i < side; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const float x = cells[i][first + j];
        most = x > most ? x : most;
        // With three taps, output j has cell (j + 1) / 2; with five, j / 2 + 1.
        constexpr int more = Taps == 5 ? 1 : 0;
        if (i >= more && i <= (out_rows + more) / 2 && j >= more && j <= (out_columns + more) / 2)
          least = x < least ? x : least;
      }
    return are_alike(least, most);
  }

  /// Writes the magnitudes of one row of pixels; 0 beside the image.
  LATHE_INLINE void look(float* to, int64_t y, int64_t x0, int64_t columns) const {
    for (int64_t i = 0; i < columns + Taps - 1 + Vec::width; i += Vec::width) store(to + i, zero());
    if (y < 0 || y >= s.in[0]) return;
    const int64_t begin = x0 < 0 ? -x0 : 0, end = x0 + columns > s.in[1] ? s.in[1] - x0 : columns;
    const float* const row = g.x + (y * s.in[1] + x0) * channel_block;
    int64_t i = begin;
    for (; i + pixels_at_once <= end; i += pixels_at_once)
      store(to + i, pixel_magnitudes<true>(row + i * channel_block, plane, blocks, channels, pixels_at_once));
    if (i < end)
      store_first(to + i, pixel_magnitudes<false>(row + i * channel_block, plane, blocks, channels, end - i),
                  end - i);
  }

  LATHE_INLINE void decide(TileMark* marks, int64_t row, int64_t column, int64_t tiles) const {
    // The largest pixels of each window, and of each column of pixels.
    float windows[Output][max_columns], largest[max_columns];
    const int64_t columns = tiles * Output;
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
      store(largest + j, most);
      LATHE_UNROLL
      for (int i = 0; i < Output; ++i) {
        Vec window = across[i];
        LATHE_UNROLL
        for (int t = 1; t < Taps; ++t) window = max(window, across[i + t]);
        store(windows[i] + j, window);
      }
    }
    const int64_t down = s.out[0] - row * Output, along = s.out[1] - column * Output;
    for (int64_t i = 0; i < tiles; ++i) {
      const int64_t left = along - i * Output;
      marks[i] =
          mark(windows, largest, i * Output, down < Output ? down : Output, left < Output ? left : Output);
    }
  }
  static LATHE_INLINE bool are_alike(float least, float most) {
    return most <= max_norm_ratio_pixels * least && most < large_pixel;
  }
  /// The mark of a tile with so many rows and columns of outputs.
  static LATHE_INLINE TileMark mark(const float (&windows)[Output][max_columns], const float* largest,
                                    int64_t first, int64_t rows, int64_t columns) {
    float least = std::numeric_limits<float>::infinity(), most = 0;
    TileMark nothing = 0;
    for (int64_t j = first; j < first + size; ++j) most = largest[j] > most ? largest[j] : most;
    if (most == 0) return 0;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const float window = windows[i][first + j];
        if (window == 0)
          nothing |= TileMark{1} << (i * Output + j);
        else
          least = window < least ? window : least;
      }
    return are_alike(least, most) ? nothing : direct_tile;
  }
};

template <int Output, int Taps>
void mark_tiles(const WinogradGate& g) {
  Gate<Output, Taps> gate(g);
  for (int64_t first = 0; first < g.tiles; first += gated_tiles)
    gate.find(first, g.tiles - first < gated_tiles ? g.tiles - first : gated_tiles);
}

/// For a tile that reaches beyond the image, adds the terms inside it: zeros around it would make NaN of
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

/// Some channels' terms are summed separately, and then added to the sums, so that rounding does not grow
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
