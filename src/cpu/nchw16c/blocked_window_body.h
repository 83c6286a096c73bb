// Windows over a block of channels for one instruction set. Included by for_each_isa.h only.
//
// Neighboring output pixels are summed side by side in registers. If windows reach beyond the image, taps
// outside are skipped, so that the image is read in place: rows of the kernel for a whole row of pixels,
// columns when a pixel of the image is loaded. Kernels of common sizes load every pixel once for all the
// windows that it is in; others load it for each.

constexpr int window_pixels = Vec::width == 16 ? 14 : 8;

/// The part of the kernel that is inside the image, and its distances there.
struct WindowTaps {
  int64_t rows = 0, columns = 0;  // how many
  int64_t row = 0, column = 0,
          pixel = 0;           // distances in the image: of kernel rows and columns, and of pixels
  int64_t weights_row = 0;     // from one kernel row of weights to the next
  int64_t first = 0, end = 0;  // the pixels that are inside, counted from the tile's first
  Bounds bounds = {};
};

struct WindowSum {
  static constexpr bool weighted = true, scaled = false;
  static LATHE_INLINE Vec step(Vec sum, Vec weight, Vec x) { return fma(weight, x, sum); }
  static LATHE_INLINE Vec join(Vec a, Vec b) { return a + b; }
  static LATHE_INLINE Vec none(Vec) { return zero(); }
};
struct WindowUnweightedSum {
  static constexpr bool weighted = false, scaled = true;
  static LATHE_INLINE Vec step(Vec sum, Vec, Vec x) { return sum + x; }
  static LATHE_INLINE Vec join(Vec a, Vec b) { return a + b; }
  static LATHE_INLINE Vec none(Vec) { return zero(); }
};
struct WindowMaximum {
  static constexpr bool weighted = false, scaled = false;
  static LATHE_INLINE Vec step(Vec most, Vec, Vec x) { return select(is_nan(most), most, max(most, x)); }
  static LATHE_INLINE Vec join(Vec a, Vec b) { return step(a, b, b); }
  static LATHE_INLINE Vec none(Vec start) { return start; }
};

template <class Op, int Pixels>
LATHE_INLINE void window_store(const Vec (&sum)[Pixels], Vec factor, const float* factors, const Bounds& b,
                               float* y) {
  const Vec least = set(b.least), greatest = set(b.greatest);
  LATHE_UNROLL
  for (int p = 0; p < Pixels; ++p) {
    const Vec result = Op::scaled ? sum[p] * (factor * set(factors[p])) : sum[p];
    store(y + p * channel_block, min(greatest, max(least, result)));
  }
}

template <class Op>
LATHE_INLINE Vec window_weight(const float* weights, int64_t tap) {
  return Op::weighted ? load(weights + tap * channel_block) : zero();
}

/// One sum through all taps of any kernel, for pixels at the border. It is computed in four chains, since
/// each step of a single one would wait for the one before.
template <class Op>
LATHE_INLINE Vec window_single(const float* x, const float* weights, const WindowTaps& t, Vec start) {
  constexpr int chains = 4;
  Vec sum[chains] = {start, Op::none(start), Op::none(start), Op::none(start)};
  for (int64_t i = 0; i < t.rows; ++i, x += t.row, weights += t.weights_row) {
    int64_t j = 0;
    for (; j + chains <= t.columns; j += chains) {
      LATHE_UNROLL
      for (int c = 0; c < chains; ++c)
        sum[c] = Op::step(sum[c], window_weight<Op>(weights, j + c), load(x + (j + c) * t.column));
    }
    for (; j < t.columns; ++j)
      sum[0] = Op::step(sum[0], window_weight<Op>(weights, j), load(x + j * t.column));
  }
  return Op::join(Op::join(sum[0], sum[1]), Op::join(sum[2], sum[3]));
}

/// Computes Pixels sums through all taps of any kernel.
template <class Op, int Pixels>
LATHE_INLINE void window_tile(const float* x, const float* weights, const WindowTaps& t, Vec start,
                              Vec factor, const float* factors, float* y) {
  Vec sum[Pixels];
  LATHE_UNROLL
  for (int p = 0; p < Pixels; ++p) sum[p] = start;
  if (Pixels == 1) {
    sum[0] = window_single<Op>(x, weights, t, start);
  } else {
    for (int64_t i = 0; i < t.rows; ++i, x += t.row, weights += t.weights_row)
      for (int64_t j = 0; j < t.columns; ++j) {
        const Vec w = window_weight<Op>(weights, j);
        LATHE_UNROLL
        for (int p = 0; p < Pixels; ++p) sum[p] = Op::step(sum[p], w, load(x + p * t.pixel + j * t.column));
      }
  }
  window_store<Op>(sum, factor, factors, t.bounds, y);
}

/// Keeps a value in its register: compilers would rather read memory again for each use.
LATHE_INLINE void window_keep(Vec& x) {
#if defined(__x86_64__)
  asm("" : "+v"(x.v));
#endif
}

/// The weights of a row of the kernel.
template <int Kernel>
struct WindowWeights {
  Vec of[Kernel];
};
template <class Op, int Kernel>
LATHE_INLINE WindowWeights<Kernel> window_weights(const float* from) {
  WindowWeights<Kernel> w;
  LATHE_UNROLL
  for (int j = 0; j < Kernel; ++j) w.of[j] = window_weight<Op>(from, j);
  return w;
}

/// Adds pixel Q of the image to the sums of all windows it is in.
template <class Op, bool border, int Stride, int Q, int Pixels, int Kernel>
LATHE_INLINE void window_pixel(Vec (&sum)[Pixels], const WindowWeights<Kernel>& w, const float* x,
                               const WindowTaps& t) {
  if (border && (Q < t.first || Q >= t.end)) return;
  Vec pixel = load(x + Q * channel_block);
  window_keep(pixel);
  LATHE_UNROLL
  for (int j = 0; j < Kernel; ++j)
    if (Q >= j && (Q - j) % Stride == 0 && (Q - j) / Stride < Pixels) {
      Vec& s = sum[(Q - j) / Stride];
      s = Op::step(s, w.of[j], pixel);
    }
}
template <class Op, bool border, int Stride, int Pixels, int Kernel, int... Q>
LATHE_INLINE void window_row(Vec (&sum)[Pixels], const WindowWeights<Kernel>& w, const float* x,
                             const WindowTaps& t, std::integer_sequence<int, Q...>) {
  (window_pixel<Op, border, Stride, Q>(sum, w, x, t), ...);
}

/// The same for a kernel with Kernel neighboring columns and pixels that are Stride apart.
template <class Op, bool border, int Pixels, int Kernel, int Stride>
LATHE_INLINE void window_known_tile(const float* x, const float* weights, const WindowTaps& t, Vec start,
                                    Vec factor, const float* factors, float* y) {
  constexpr auto pixels = std::make_integer_sequence<int, (Pixels - 1) * Stride + Kernel>();
  Vec sum[Pixels];
  LATHE_UNROLL
  for (int p = 0; p < Pixels; ++p) sum[p] = start;
  // Few rows are unrolled, so that the instructions of one overlap with those of the next.
  if (Op::weighted && Kernel == 3 && t.rows == Kernel) {
    LATHE_UNROLL
    for (int i = 0; i < Kernel; ++i)
      window_row<Op, border, Stride>(sum, window_weights<Op, Kernel>(weights + i * t.weights_row),
                                     x + i * t.row, t, pixels);
  } else {
    for (int64_t i = 0; i < t.rows; ++i, x += t.row, weights += t.weights_row)
      window_row<Op, border, Stride>(sum, window_weights<Op, Kernel>(weights), x, t, pixels);
  }
  window_store<Op>(sum, factor, factors, t.bounds, y);
}

using WindowTile = void (*)(const float*, const float*, const WindowTaps&, const float*, float, const float*,
                            float*);
/// Computes one vector of the lanes.
template <class Op, bool border, int Pixels, int Kernel, int Stride>
void window_tile_of(const float* x, const float* weights, const WindowTaps& t, const float* start,
                    float factor, const float* factors, float* y) {
  if constexpr (Kernel == 0)
    window_tile<Op, Pixels>(x, weights, t, load(start), set(factor), factors, y);
  else
    window_known_tile<Op, border, Pixels, Kernel, Stride>(x, weights, t, load(start), set(factor), factors,
                                                          y);
}

/// Tiles by their pixels, within the image and at its border.
struct WindowTiles {
  WindowTile within[window_pixels + 1] = {}, border[window_pixels + 1] = {};
};
template <class Op, int Kernel, int Stride, int... Pixels>
constexpr WindowTiles make_window_tiles(std::integer_sequence<int, Pixels...>) {
  WindowTiles t;
  ((t.within[Pixels + 1] = window_tile_of<Op, false, Pixels + 1, Kernel, Stride>), ...);
  ((t.border[Pixels + 1] = window_tile_of<Op, Kernel != 0, Pixels + 1, Kernel, Stride>), ...);
  return t;
}
/// Kernel 0: any.
template <class Op, int Kernel, int Stride>
constexpr WindowTiles window_tiles =
    make_window_tiles<Op, Kernel, Stride>(std::make_integer_sequence<int, window_pixels>());

/// The tiles for the columns of a common kernel, or null.
template <class Op>
const WindowTiles* known_window_tiles(const BlockedShape& s) {
  const int64_t kernel = s.dilation[1] == 1 ? s.kernel[1] : 0, stride = s.stride[1];
  if (kernel == 3 && stride == 2) return &window_tiles<Op, 3, 2>;
  if constexpr (Op::weighted) {
    if (kernel == 3 && stride == 1) return &window_tiles<Op, 3, 1>;
    if (kernel == 5 && stride == 1) return &window_tiles<Op, 5, 1>;
    if (kernel == 5 && stride == 2) return &window_tiles<Op, 5, 2>;
    if (kernel == 7 && stride == 1) return &window_tiles<Op, 7, 1>;
    if (kernel == 7 && stride == 2) return &window_tiles<Op, 7, 2>;
  }
  return nullptr;
}

/// The taps of window `at` of an axis that are inside the image: `count` taps from `first` on.
LATHE_INLINE void window_inside(const BlockedShape& s, int axis, int64_t at, int64_t& first, int64_t& count) {
  const int64_t start = at * s.stride[axis] - s.pad[axis], step = s.dilation[axis],
                space = s.in[axis] - start;
  // Avoids a division for each row, which would delay the next instructions.
  const auto steps = [&](int64_t n) { return n <= 0 ? 0 : step == 1 ? n : (n + step - 1) / step; };
  first = steps(-start);
  int64_t end = steps(space);
  if (end > s.kernel[axis]) end = s.kernel[axis];
  count = end > first ? end - first : 0;
}

/// The pixels of a row whose windows are inside the image: from first to end.
LATHE_INLINE void window_interior(const BlockedShape& s, int64_t& first, int64_t& end) {
  first = (s.pad[1] + s.stride[1] - 1) / s.stride[1];
  if (first > s.out[1]) first = s.out[1];
  const int64_t space = s.in[1] + s.pad[1] - s.reach(1);
  end = space < 0 ? 0 : space / s.stride[1] + 1;
  if (end > s.out[1]) end = s.out[1];
  if (end < first) end = first;
}

/// One row of output pixels, all of whose windows read the same rows of the image.
struct WindowRow {
  const float* x;        // the image's row under the first of them
  const float* weights;  // of that row of the kernel
  const float* start;
  const float* column_factor;
  float factor;
  float* y;
};

/// Divides pixels into pieces of nearly equal length. A division for each piece would delay the next
/// instructions.
struct WindowPieces {
  int64_t count, length, rest;

  explicit WindowPieces(int64_t pixels)
      : count((pixels + window_pixels - 1) / window_pixels),
        length(count ? pixels / count : 0),
        rest(count ? pixels % count : 0) {}
  /// The length of the next one; `left` is 0 before the first.
  LATHE_INLINE int64_t next(int64_t& left) const {
    left += rest;
    if (left < count) return length;
    left -= count;
    return length + 1;
  }
};

LATHE_INLINE void run_window_tile(WindowTile tile, const WindowRow& r, int64_t at, int64_t j,
                                  const WindowTaps& t, int64_t column) {
  const float* const factors = r.column_factor ? r.column_factor + column : nullptr;
  const bool weighted = t.weights_row != 0;
  for (int64_t v = 0; v < channel_block; v += Vec::width)
    tile(r.x + at * channel_block + v, weighted ? r.weights + j * channel_block + v : nullptr, t, r.start + v,
         r.factor, factors, r.y + column * channel_block + v);
}

inline void known_window_row(const WindowTiles& tiles, const BlockedShape& s, const WindowPieces& pieces,
                             const WindowRow& r, WindowTaps& t) {
  for (int64_t column = 0, left = 0; column < s.out[1];) {
    const int64_t pixels = pieces.next(left), at = column * s.stride[1] - s.pad[1];
    t.first = -at;
    t.end = s.in[1] - at;
    const bool within = at >= 0 && (pixels - 1) * s.stride[1] + s.kernel[1] <= t.end;
    run_window_tile((within ? tiles.within : tiles.border)[pixels], r, at, 0, t, column);
    column += pixels;
  }
}

/// `first` and `end` bound the pixels whose windows are inside the image; `pieces` divides these.
inline void any_window_row(const WindowTiles& tiles, const BlockedShape& s, int64_t first, int64_t end,
                           const WindowPieces& pieces, const WindowRow& r, WindowTaps& t) {
  for (int64_t column = 0, left = 0; column < s.out[1];) {
    int64_t j = 0, pixels = 1;
    if (column >= first && column < end) {
      t.columns = s.kernel[1];
      pixels = pieces.next(left);
    } else {
      window_inside(s, 1, column, j, t.columns);
    }
    run_window_tile(tiles.within[pixels], r, column * s.stride[1] - s.pad[1] + j * s.dilation[1], j, t,
                    column);
    column += pixels;
  }
}

template <class Op>
void window_rows(const WindowRows& r, const float* start) {
  const BlockedShape& s = *r.shape;
  const WindowTiles* const known = known_window_tiles<Op>(s);
  WindowTaps t;
  t.row = s.dilation[0] * s.in[1] * channel_block;
  t.column = s.dilation[1] * channel_block;
  t.pixel = s.stride[1] * channel_block;
  t.weights_row = Op::weighted ? s.kernel[1] * channel_block : 0;
  t.bounds = r.bounds;
  int64_t first = 0, end = s.out[1];
  if (!known) window_interior(s, first, end);
  const WindowPieces pieces(end - first);
  for (int64_t row = r.row0; row < r.row1; ++row) {
    int64_t i;
    window_inside(s, 0, row, i, t.rows);
    const WindowRow line{
        .x = r.x + (row * s.stride[0] - s.pad[0] + i * s.dilation[0]) * s.in[1] * channel_block,
        .weights = r.weights + i * t.weights_row,
        .start = start,
        .column_factor = r.column_factor,
        .factor = r.row_factor ? r.row_factor[row] : 1,
        .y = r.y + row * s.out[1] * channel_block};
    if (known)
      known_window_row(*known, s, pieces, line, t);
    else
      any_window_row(window_tiles<Op, 0, 0>, s, first, end, pieces, line, t);
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
  window_rows<WindowUnweightedSum>(r, start);
}

/// The sum of one vector of each of `pixels` pixels.
LATHE_INLINE Vec window_sum_of(const float* x, int64_t pixels) {
  constexpr int together = 4;
  Vec sum[together];
  for (Vec& s : sum) s = zero();
  int64_t p = 0;
  for (; p + together <= pixels; p += together) {
    LATHE_UNROLL
    for (int i = 0; i < together; ++i) sum[i] = sum[i] + load(x + (p + i) * channel_block);
  }
  for (; p < pixels; ++p) sum[0] = sum[0] + load(x + p * channel_block);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

void window_add_up(const float* x, int64_t pixels, float* sums) {
  for (int64_t v = 0; v < channel_block; v += Vec::width)
    store(sums + v, load(sums + v) + window_sum_of(x + v, pixels));
}

void window_row_means(const float* x, int64_t rows, int64_t pixels, float* means) {
  const Vec factor = set(1.0f / static_cast<float>(pixels));
  for (; rows > 0; --rows, x += pixels * channel_block, means += channel_block)
    for (int64_t v = 0; v < channel_block; v += Vec::width)
      store(means + v, window_sum_of(x + v, pixels) * factor);
}

constexpr WindowKernels table{.weighted = window_weighted,
                              .maximum = window_maximum,
                              .average = window_average,
                              .add_up = window_add_up,
                              .row_means = window_row_means};
