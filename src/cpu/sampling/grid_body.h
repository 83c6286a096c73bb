// The loops of grid.h for one instruction set. Included by for_each_isa.h only.
//
// Positions are computed in single precision and in the same steps as in the reference, because they decide
// ties.

/// The ends of an axis in pixels.
struct GridEnds {
  Vec low, high, last;
};

/// Mirrors positions that are beyond an end, if necessary at both ends and more than once.
LATHE_INLINE Vec mirrored(Vec x, Mask below, const GridEnds& e) {
  const Vec range = e.high - e.low, beyond = select(below, e.low - x, x - e.high);
  const Vec times = floor(beyond / range), rest = beyond - times * range, half = times * set(0.5f);
  const Vec from_low = e.low + rest, from_high = e.high - rest;
  const Mask even = floor(half) == half;
  const Vec within = select(below, select(even, from_low, from_high), select(even, from_high, from_low));
  return select(zero() < range, within, e.low);
}

/// Clamps positions: far outside they need not be told apart. NaN becomes a position outside.
LATHE_INLINE Vec within_reach(Vec x) {
  const Vec farthest = set(1e9f), nowhere = negate(farthest);
  return select(is_nan(x), nowhere, max(min(x, farthest), nowhere));
}

/// The positions of samples in pixels.
LATHE_INLINE Vec places(const GridAxis& a, const GridEnds& e, Vec coordinate) {
  const Vec from_zero = coordinate + set(1.0f), n = set(static_cast<float>(a.size));
  Vec x = a.align_corners ? from_zero * set(0.5f) * e.last : (from_zero * n - set(1.0f)) * set(0.5f);
  x = within_reach(x);
  if (a.taps == 1) x = round(x);
  if (a.padding == GridPadding::zeros || (a.padding == GridPadding::border && a.taps == 4)) return x;
  const Mask below = x < e.low, above = e.high < x;
  const Vec inside = a.padding == GridPadding::border ? min(max(x, zero()), e.last) : mirrored(x, below, e);
  return select(below, inside, select(above, inside, x));
}

/// The weights of the taps around a position that is `r` behind a pixel.
LATHE_INLINE void cubic_weights(Vec r, float* const (&to)[4]) {
  constexpr float a = -0.75f;
  const Vec s = set(1.0f) - r, both = set(a) * r * s;
  store(to[0], both * s);
  store(to[1], ((set(a + 2) * r - set(a + 3)) * r) * r + set(1.0f));
  store(to[2], ((set(a + 2) * s - set(a + 3)) * s) * s + set(1.0f));
  store(to[3], both * r);
}

/// The pixel of the axis that replaces pixel i, which is outside.
static int32_t mirrored_pixel(const GridAxis& a, int64_t i) {
  const int64_t period = a.align_corners ? 2 * (a.size - 1) : 2 * a.size;
  if (period == 0) return 0;
  const int64_t at = (i % period + period) % period;
  return static_cast<int32_t>(at < a.size ? at : a.align_corners ? period - at : period - 1 - at);
}

/// The pixels at distance `shift` from n integer positions.
static void pixels(const GridAxis& a, const float* places, int32_t shift, int64_t n, int32_t* to) {
  // No position is beyond a thousand million, however long the axis.
  const auto last = static_cast<int32_t>(a.size - 1 < INT32_MAX ? a.size - 1 : INT32_MAX);
  if (a.padding == GridPadding::zeros) {
    for (int64_t k = 0; k < n; ++k) {
      const int32_t i = static_cast<int32_t>(places[k]) + shift;
      to[k] = static_cast<uint32_t>(i) <= static_cast<uint32_t>(last) ? i : -1;
    }
  } else if (a.padding == GridPadding::border) {
    for (int64_t k = 0; k < n; ++k) {
      const int32_t i = static_cast<int32_t>(places[k]) + shift, in = i < 0 ? 0 : i;
      to[k] = in > last ? last : in;
    }
  } else {
    for (int64_t k = 0; k < n; ++k) {
      const int32_t i = static_cast<int32_t>(places[k]) + shift;
      to[k] = static_cast<uint32_t>(i) <= static_cast<uint32_t>(last) ? i : mirrored_pixel(a, i);
    }
  }
}

/// Taps and their weights around positions that fill whole vectors.
static void around(const GridAxis& a, float* place, int64_t n, GridAxisTaps& to) {
  for (int64_t i = 0; i < n; i += Vec::width) {
    const Vec x = load(place + i);
    float* const weights[4] = {&to.weight[0][i], &to.weight[1][i], &to.weight[2][i], &to.weight[3][i]};
    if (a.taps == 1) {
      store(weights[0], set(1.0f));
      continue;
    }
    const Vec base = floor(x), r = x - base;
    store(place + i, base);
    if (a.taps == 4) {
      cubic_weights(r, weights);
    } else {
      store(weights[0], set(1.0f) - r);
      store(weights[1], r);
    }
  }
  for (int64_t t = 0; t < a.taps; ++t)
    pixels(a, place, static_cast<int32_t>(a.taps == 4 ? t - 1 : t), n, to.index[t].data());
}

static void along(const GridAxis& a, const float* coordinates, int64_t step, int64_t n, GridAxisTaps& to) {
  const float size = static_cast<float>(a.size);
  const GridEnds ends = {.low = set(a.align_corners ? 0.0f : -0.5f),
                         .high = set(a.align_corners ? size - 1 : size - 0.5f),
                         .last = set(size - 1)};
  float place[grid_block];
  for (int64_t i = 0; i < n; ++i) place[i] = coordinates[i * step];
  for (int64_t i = n; i % Vec::width != 0; ++i) place[i] = 0;
  for (int64_t i = 0; i < n; i += Vec::width) store(place + i, places(a, ends, load(place + i)));
  around(a, place, n, to);
}

static void between(const GridAxis& a, const float* places, int64_t n, GridAxisTaps& to) {
  float place[grid_block];
  for (int64_t i = 0; i < n; i += Vec::width) {
    const int64_t some = n - i < Vec::width ? n - i : Vec::width;
    store(place + i, within_reach(load_first(places + i, some)));
  }
  around(a, place, n, to);
}

static void join(const GridAxis (&axes)[3], const GridAxisTaps (&taps)[3], int64_t n, int64_t outside,
                 GridTaps& to) {
  to.count = 0;
  for (int64_t z = 0; z < axes[0].taps; ++z)
    for (int64_t y = 0; y < axes[1].taps; ++y)
      for (int64_t x = 0; x < axes[2].taps; ++x, ++to.count) {
        const int32_t *const slice = taps[0].index[z].data(), *const row = taps[1].index[y].data(),
                             *const column = taps[2].index[x].data();
        const float *const a = taps[0].weight[z].data(), *const b = taps[1].weight[y].data(),
                           *const c = taps[2].weight[x].data();
        int64_t* const at = to.at[to.count].data();
        float* const weight = to.weight[to.count].data();
        for (int64_t i = 0; i < n; ++i) {
          const int64_t place = (slice[i] * axes[1].size + row[i]) * axes[2].size + column[i];
          at[i] = (slice[i] | row[i] | column[i]) < 0 ? outside : place;
          weight[i] = a[i] * b[i] * c[i];
        }
      }
}

/// Copies the pixels, since there is one tap and its weight is 1.
static void pick_nchw16c(const GridTaps& t, const float* image, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < grid_lanes; k += Vec::width)
      store(to + i * grid_lanes + k, load(image + t.at[0][i] * grid_lanes + k));
}

static void sample_nchw16c(const GridTaps& t, const float* image, int64_t n, float* to) {
  if (t.count == 1) return pick_nchw16c(t, image, n, to);
  constexpr int parts = grid_lanes / Vec::width;
  for (int64_t i = 0; i < n; ++i) {
    Vec sum[parts];
    LATHE_UNROLL
    for (int k = 0; k < parts; ++k) sum[k] = zero();
    for (int64_t tap = 0; tap < t.count; ++tap) {
      const float* const from = image + t.at[tap][i] * grid_lanes;
      const Vec weight = set(t.weight[tap][i]);
      LATHE_UNROLL
      for (int k = 0; k < parts; ++k) sum[k] = fma(weight, load(from + k * Vec::width), sum[k]);
    }
    LATHE_UNROLL
    for (int k = 0; k < parts; ++k) store(to + i * grid_lanes + k * Vec::width, sum[k]);
  }
}

static void sample_plane(const GridTaps& t, const float* plane, int64_t n, float* to) {
  if (t.count == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = t.at[0][i] < 0 ? 0.0f : plane[t.at[0][i]];
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    float sum = 0;
    for (int64_t tap = 0; tap < t.count; ++tap) {
      const int64_t at = t.at[tap][i];
      sum += at < 0 ? 0.0f : t.weight[tap][i] * plane[at];
    }
    to[i] = sum;
  }
}

constexpr GridKernels table{.along = along,
                            .between = between,
                            .join = join,
                            .sample_nchw16c = sample_nchw16c,
                            .sample_plane = sample_plane};
