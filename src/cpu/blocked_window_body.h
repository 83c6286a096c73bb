// Windows over a block of channels for one instruction set. Included by for_each_isa.h only.
//
// Neighbouring output pixels are summed side by side in registers. Where windows reach beyond the image, taps
// outside are left out: rows of the kernel for a whole row of pixels, columns pixel by pixel. So the image is
// read in place.

constexpr int window_pixels = Vec::width == 16 ? 14 : 8;

/// The part of the kernel that is inside the image, and where it reads.
struct WindowTaps {
  int64_t rows, columns;       // how many
  int64_t row, column, pixel;  // distances in the image: of kernel rows and columns, and of pixels
  int64_t weights_row;         // from one kernel row of weights to the next
};

struct WindowSum {
  static constexpr bool weighted = true;
  static LATHE_INLINE Vec step(Vec sum, Vec weight, Vec x) { return fma(weight, x, sum); }
};
struct WindowPlainSum {
  static constexpr bool weighted = false;
  static LATHE_INLINE Vec step(Vec sum, Vec, Vec x) { return sum + x; }
};
struct WindowMaximum {
  static constexpr bool weighted = false;
  static LATHE_INLINE Vec step(Vec most, Vec, Vec x) { return select(is_nan(most), most, max(most, x)); }
};

/// Takes Pixels sums through all taps. Kernel and Stride are the columns of the kernel and the distance of
/// pixels where they are known and columns are neighbours, else 0.
template <class Op, int Pixels, int Kernel, int Stride>
LATHE_INLINE void window_tile(const float* x, const float* weights, const WindowTaps& t, Vec start,
                              Vec factor, const float* factors, float* y) {
  const int64_t columns = Kernel ? Kernel : t.columns, column = Kernel ? channel_block : t.column,
                pixel = Stride ? Stride * channel_block : t.pixel;
  Vec sum[Pixels];
  LATHE_UNROLL
  for (int p = 0; p < Pixels; ++p) sum[p] = start;
  for (int64_t i = 0; i < t.rows; ++i, x += t.row, weights += t.weights_row) {
    LATHE_UNROLL
    for (int64_t j = 0; j < columns; ++j) {
      const Vec w = Op::weighted ? load(weights + j * channel_block) : zero();
      LATHE_UNROLL
      for (int p = 0; p < Pixels; ++p) sum[p] = Op::step(sum[p], w, load(x + p * pixel + j * column));
    }
  }
  LATHE_UNROLL
  for (int p = 0; p < Pixels; ++p)
    store(y + p * channel_block, factors ? sum[p] * (factor * set(factors[p])) : sum[p]);
}

template <class Op, int Pixels, int Kernel, int Stride>
void window_tile_of(const float* x, const float* weights, const WindowTaps& t, const float* start,
                    float factor, const float* factors, float* y) {
  for (int64_t v = 0; v < channel_block; v += Vec::width)
    window_tile<Op, Pixels, Kernel, Stride>(x + v, weights + v, t, load(start + v), set(factor), factors,
                                            y + v);
}
using WindowTile = void (*)(const float*, const float*, const WindowTaps&, const float*, float, const float*,
                            float*);

struct WindowTiles {
  WindowTile run[window_pixels + 1] = {};
};
template <class Op, int Kernel, int Stride, int... Pixels>
constexpr WindowTiles window_tiles(std::integer_sequence<int, Pixels...>) {
  WindowTiles t;
  ((t.run[Pixels + 1] = window_tile_of<Op, Pixels + 1, Kernel, Stride>), ...);
  return t;
}
template <class Op, int Kernel, int Stride>
constexpr WindowTiles window_tiles_of =
    window_tiles<Op, Kernel, Stride>(std::make_integer_sequence<int, window_pixels>());

template <class Op>
const WindowTiles& find_window_tiles(const BlockedShape& s) {
  if constexpr (Op::weighted) {
    const int64_t kernel = s.dilation[1] == 1 ? s.kernel[1] : 0, stride = s.stride[1];
    if (kernel == 3 && stride == 1) return window_tiles_of<Op, 3, 1>;
    if (kernel == 3 && stride == 2) return window_tiles_of<Op, 3, 2>;
    if (kernel == 5 && stride == 1) return window_tiles_of<Op, 5, 1>;
    if (kernel == 5 && stride == 2) return window_tiles_of<Op, 5, 2>;
  }
  return window_tiles_of<Op, 0, 0>;
}

/// Taps of window `at` of an axis that are inside: from the first, so many.
LATHE_INLINE void window_inside(const BlockedShape& s, int axis, int64_t at, int64_t& first, int64_t& count) {
  const int64_t start = at * s.stride[axis] - s.pad[axis], step = s.dilation[axis], room = s.in[axis] - start;
  first = start < 0 ? (-start + step - 1) / step : 0;
  int64_t end = room > 0 ? (room + step - 1) / step : 0;
  if (end > s.kernel[axis]) end = s.kernel[axis];
  count = end > first ? end - first : 0;
}

/// The pixels of a row whose windows are inside the image: from first to end.
LATHE_INLINE void window_interior(const BlockedShape& s, int64_t& first, int64_t& end) {
  first = (s.pad[1] + s.stride[1] - 1) / s.stride[1];
  if (first > s.out[1]) first = s.out[1];
  const int64_t room = s.in[1] + s.pad[1] - s.reach(1);
  end = room < 0 ? 0 : room / s.stride[1] + 1;
  if (end > s.out[1]) end = s.out[1];
  if (end < first) end = first;
}

template <class Op>
void window_rows(const WindowRows& r, const float* start) {
  const BlockedShape& s = *r.shape;
  const WindowTiles &inner = find_window_tiles<Op>(s), &outer = window_tiles_of<Op, 0, 0>;
  int64_t first, end;
  window_interior(s, first, end);
  const int64_t pieces = (end - first + window_pixels - 1) / window_pixels;
  WindowTaps t{.rows = 0,
               .columns = 0,
               .row = s.dilation[0] * s.in[1] * channel_block,
               .column = s.dilation[1] * channel_block,
               .pixel = s.stride[1] * channel_block,
               .weights_row = Op::weighted ? s.kernel[1] * channel_block : 0};
  for (int64_t row = r.row0; row < r.row1; ++row) {
    int64_t i0;
    window_inside(s, 0, row, i0, t.rows);
    const float* x = r.x + (row * s.stride[0] - s.pad[0] + i0 * s.dilation[0]) * s.in[1] * channel_block;
    const float* weights = r.weights + i0 * t.weights_row;
    float* y = r.y + row * s.out[1] * channel_block;
    const float factor = r.row_factor ? r.row_factor[row] : 1;
    for (int64_t column = 0; column < s.out[1];) {
      const float* factors = r.column_factor ? r.column_factor + column : nullptr;
      int64_t j0 = 0, pixels = 1;
      const WindowTiles* tiles = &outer;
      if (column >= first && column < end) {
        // Pieces of nearly equal length.
        const int64_t piece = ((column - first + 1) * pieces - 1) / (end - first);
        pixels = (piece + 1) * (end - first) / pieces + first - column;
        t.columns = s.kernel[1];
        tiles = &inner;
      } else {
        window_inside(s, 1, column, j0, t.columns);
      }
      const int64_t at = column * s.stride[1] - s.pad[1] + j0 * s.dilation[1];
      tiles->run[pixels](x + at * channel_block, weights + (Op::weighted ? j0 * channel_block : 0), t, start,
                         factor, factors, y + column * channel_block);
      column += pixels;
    }
  }
}

void window_weighted(const WindowRows& r) { window_rows<WindowSum>(r, r.bias); }
void window_maximum(const WindowRows& r) {
  float start[channel_block];
  for (float& x : start) x = -std::numeric_limits<float>::infinity();
  window_rows<WindowMaximum>(r, start);
}
void window_average(const WindowRows& r) {
  const float start[channel_block] = {};
  window_rows<WindowPlainSum>(r, start);
}

void window_add_up(const float* x, int64_t pixels, float* sums) {
  constexpr int together = 4;
  for (int64_t v = 0; v < channel_block; v += Vec::width) {
    Vec sum[together];
    for (Vec& s : sum) s = zero();
    int64_t p = 0;
    for (; p + together <= pixels; p += together) {
      LATHE_UNROLL
      for (int i = 0; i < together; ++i) sum[i] = sum[i] + load(x + (p + i) * channel_block + v);
    }
    for (; p < pixels; ++p) sum[0] = sum[0] + load(x + p * channel_block + v);
    store(sums + v, load(sums + v) + ((sum[0] + sum[1]) + (sum[2] + sum[3])));
  }
}

constexpr WindowKernels table{.weighted = window_weighted,
                              .maximum = window_maximum,
                              .average = window_average,
                              .add_up = window_add_up};
