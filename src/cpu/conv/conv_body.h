// Patches and depthwise planes for one instruction set. Included by for_each_isa.h only.

LATHE_INLINE void copy_run(float* to, const float* from, int64_t n) {
  for (; n >= Vec::width; n -= Vec::width, to += Vec::width, from += Vec::width) store(to, load(from));
  if (n > 0) store_first(to, load_first(from, n), n);
}

LATHE_INLINE void fill_run(float* to, int64_t n, float value) {
  for (; n >= Vec::width; n -= Vec::width, to += Vec::width) store(to, set(value));
  if (n > 0) store_first(to, set(value), n);
}

/// n / step rounded up, for n > 0, avoiding divisions, which take longer than copying a short row.
LATHE_INLINE int64_t steps_over(int64_t n, int64_t step) {
  return step == 1 ? n : step == 2 ? (n + 1) >> 1 : (n + step - 1) / step;
}

/// Copies `n` pixels from column `from` on of a row of `width` pixels, `stride` apart; `outside` replaces
/// missing pixels.
LATHE_INLINE void copy_pixels(float* to, const float* row, int64_t width, int64_t from, int64_t stride,
                              int64_t n, float outside = 0) {
  int64_t first = from < 0 ? steps_over(-from, stride) : 0;
  if (first > n) first = n;
  int64_t last = width > from ? steps_over(width - from, stride) : 0;
  if (last > n) last = n;
  if (last < first) last = first;
  if (first > 0) fill_run(to, first, outside);
  if (stride == 1) {
    copy_run(to + first, row + from + first, last - first);
  } else {
    int64_t i = first;
    if (stride == 2)
      for (; i + Vec::width <= last && from + 2 * (i + Vec::width) <= width; i += Vec::width)
        store(to + i, load_even(row + from + 2 * i));
    for (; i < last; ++i) to[i] = row[from + i * stride];
  }
  if (last < n) fill_run(to + last, n - last, outside);
}

/// Makes the patches of one run: all taps of all channels of the block.
LATHE_INLINE void patch_run(const Patches& p, const PatchRun& run) {
  const ConvShape& s = *p.shape;
  int64_t tap[3] = {p.k0 / (s.kernel[2] * s.kernel[1]) % s.kernel[0], p.k0 / s.kernel[2] % s.kernel[1],
                    p.k0 % s.kernel[2]};
  int64_t at[3];
  for (int a = 0; a < 3; ++a) at[a] = run.at[a] * s.stride[a] - s.pad[a];
  // True if no tap of the run leaves the row.
  const bool within =
      s.stride[2] == 1 && at[2] >= 0 && at[2] + (s.kernel[2] - 1) * s.dilation[2] + run.length <= s.in[2];
  const float* channel = p.image + p.k0 / s.taps() * s.in_pixels();
  float* to = p.to + run.to;
  const float* row = nullptr;  // of this tap; null: outside
  const auto find_row = [&] {
    const int64_t z = at[0] + tap[0] * s.dilation[0], y = at[1] + tap[1] * s.dilation[1];
    const bool outside = z < 0 || z >= s.in[0] || y < 0 || y >= s.in[1];
    row = outside ? nullptr : channel + (z * s.in[1] + y) * s.in[2];
  };
  find_row();
  for (int64_t k = p.k0; k < p.k1; ++k, to += p.NR) {
    const int64_t x = at[2] + tap[2] * s.dilation[2];
    if (!row)
      fill_run(to, run.length, 0);
    else if (within)
      copy_run(to, row + x, run.length);
    else
      copy_pixels(to, row, s.in[2], x, s.stride[2], run.length);
    if (++tap[2] < s.kernel[2]) continue;
    tap[2] = 0;
    if (++tap[1] == s.kernel[1]) {
      tap[1] = 0;
      if (++tap[0] == s.kernel[0]) {
        tap[0] = 0;
        channel += s.in_pixels();
      }
    }
    find_row();
  }
}

void patches(const Patches& p) {
  for (int64_t r = 0; r < p.run_count; ++r) {
    const PatchRun& run = p.runs[r];
    if (!run.empty)
      patch_run(p, run);
    else
      for (int64_t k = 0; k < p.k1 - p.k0; ++k) fill_run(p.to + run.to + k * p.NR, run.length, 0);
  }
}

struct WeightedSum {
  static constexpr float outside = 0;
  static LATHE_INLINE Vec step(Vec sum, Vec weight, Vec x) { return fma(weight, x, sum); }
};
struct PlaneMaximum {
  static constexpr float outside = -std::numeric_limits<float>::infinity();
  static LATHE_INLINE Vec step(Vec most, Vec, Vec x) { return select(is_nan(most), most, max(most, x)); }
};

/// Combines all taps for `Units` output vectors; `from` is the address of each unit's first tap. Vectors are
/// neighbors or, if `even`, every other float.
template <class Op, bool even, int Units>
LATHE_INLINE void take_taps(Vec (&sum)[Units], const float* const (&from)[Units], const float* weights,
                            const int64_t* offsets, int64_t taps) {
  Vec kept[Units];  // in registers, unlike the caller's array
  LATHE_UNROLL
  for (int u = 0; u < Units; ++u) kept[u] = sum[u];
  for (int64_t t = 0; t < taps; ++t) {
    const Vec w = set(weights ? weights[t] : 1.0f);
    LATHE_UNROLL
    for (int u = 0; u < Units; ++u) {
      const float* const x = from[u] + offsets[t];
      kept[u] = Op::step(kept[u], w, even ? load_even(x) : load(x));
    }
  }
  LATHE_UNROLL
  for (int u = 0; u < Units; ++u) sum[u] = kept[u];
}

/// The taps along an axis that are within the image, for a window that begins at `start`.
struct TapsInside {
  int64_t first, count;
};
LATHE_INLINE TapsInside taps_inside(int64_t start, int64_t kernel, int64_t dilation, int64_t in) {
  const int64_t first = start < 0 ? steps_over(-start, dilation) : 0;
  int64_t end = start < in ? steps_over(in - start, dilation) : 0;
  if (end > kernel) end = kernel;
  return {first, end > first ? end - first : 0};
}

/// The rows of the image that a window covers.
struct SeenRows {
  const float* first;
  int64_t slices, slice_step, rows, row_step;
};
/// Reduces `Units` vectors of their columns, the last of which may have only `last` pixels.
template <class Op, int Units, bool whole>
LATHE_INLINE void join_columns(const SeenRows& r, int64_t at, int64_t last, float* to) {
  Vec sum[Units];
  LATHE_UNROLL
  for (int u = 0; u < Units; ++u) sum[u] = set(Op::outside);
  for (int64_t z = 0; z < r.slices; ++z)
    for (int64_t y = 0; y < r.rows; ++y) {
      const float* const from = r.first + z * r.slice_step + y * r.row_step + at;
      LATHE_UNROLL
      for (int u = 0; u < Units; ++u) {
        const float* const x = from + u * Vec::width;
        sum[u] = Op::step(sum[u], set(1.0f), whole || u + 1 < Units ? load(x) : load_first(x, last));
      }
    }
  LATHE_UNROLL
  for (int u = 0; u < Units; ++u) {
    if (whole || u + 1 < Units)
      store(to + at + u * Vec::width, sum[u]);
    else
      store_first(to + at + u * Vec::width, sum[u], last);
  }
}
template <class Op>
LATHE_INLINE void join_rows(const SeenRows& r, int64_t n, float* to) {
  constexpr int64_t width = Vec::width;
  int64_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width) join_columns<Op, 4, true>(r, i, width, to);
  if (n - i > 2 * width) {
    join_columns<Op, 2, true>(r, i, width, to);
    i += 2 * width;
  }
  if (n - i > width)
    join_columns<Op, 2, false>(r, i, n - i - width, to);
  else if (n > i)
    join_columns<Op, 1, false>(r, i, n - i, to);
}

/// Returns whether columns stay in order in scratch, as vectors can be loaded from them directly.
LATHE_INLINE bool columns_in_order(const Plane& p) {
  return p.shape->stride[2] == 1 || (!p.weights && p.shape->stride[2] == 2);
}

/// Copies the rows of some slices that a strip of windows covers to scratch, reduced to one if they are
/// several.
template <class Op>
LATHE_INLINE void copy_rows(const Plane& p, const PlaneLayout& layout, const TapsInside& slices, int64_t rows,
                            float* to, float* joined) {
  const ConvShape& s = *p.shape;
  const bool joins = !p.weights;
  const bool in_order = columns_in_order(p);
  const int64_t first = p.row0 * s.stride[1] - s.pad[1], left = p.column0 * s.stride[2] - s.pad[2];
  // The pixels of a row that are read.
  const int64_t x0 = left < 0 ? 0 : left < s.in[2] ? left : s.in[2], beyond = left + layout.row;
  const int64_t width = (beyond < x0 ? x0 : beyond < s.in[2] ? beyond : s.in[2]) - x0;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t top = first + (joins ? i * s.stride[1] : i);
    const TapsInside inside = taps_inside(top, joins ? s.kernel[1] : 1, s.dilation[1], s.in[1]);
    const int64_t count = slices.count * inside.count;
    if (count == 0) {
      fill_run(to, layout.row, Op::outside);
      to += layout.row;
      continue;
    }
    const int64_t z = p.slice * s.stride[0] - s.pad[0] + slices.first * s.dilation[0],
                  y = top + inside.first * s.dilation[1];
    const float* row = p.image + (z * s.in[1] + y) * s.in[2] + x0;
    const bool in_place = in_order && width > 0;
    if (count > 1 || (joins && in_place)) {
      // If columns stay in order, only the ends of the row are missing.
      float* const into = in_place ? to + (x0 - left) : joined;
      join_rows<Op>(
          {row, slices.count, s.dilation[0] * s.in[1] * s.in[2], inside.count, s.dilation[1] * s.in[2]},
          width, into);
      if (in_place) {
        fill_run(to, x0 - left, Op::outside);
        fill_run(into + width, layout.row - width - (x0 - left), Op::outside);
        to += layout.row;
        continue;
      }
      row = joined;
    }
    for (int64_t phase = 0; phase < s.stride[2]; ++phase, to += layout.columns)
      copy_pixels(to, row, width, left + phase - x0, s.stride[2], layout.columns, Op::outside);
  }
}

template <class Op>
void plane(const Plane& p) {
  const ConvShape& s = *p.shape;
  const PlaneLayout layout(s, p.column1 - p.column0);
  // Without weights all rows that a window covers are first reduced to one row; with weights slices are
  // stored one after the other.
  const bool joins = !p.weights, in_order = columns_in_order(p);
  const int64_t kernel_rows = joins ? 1 : s.kernel[1], row_stride = joins ? 1 : s.stride[1];
  const int64_t rows = (p.row1 - p.row0 - 1) * row_stride + (kernel_rows - 1) * s.dilation[1] + 1;
  const TapsInside seen = taps_inside(p.slice * s.stride[0] - s.pad[0], s.kernel[0], s.dilation[0], s.in[0]);
  const int64_t slices = joins ? 1 : seen.count, slice = rows * layout.row;
  if (joins)
    copy_rows<Op>(p, layout, seen, rows, p.scratch, p.scratch + slice);
  else
    for (int64_t z = 0; z < slices; ++z)
      copy_rows<Op>(p, layout, {seen.first + z, 1}, rows, p.scratch + z * slice, nullptr);

  int64_t offsets[max_plane_taps], taps = 0;
  for (int64_t z = 0; z < slices; ++z)
    for (int64_t i = 0; i < kernel_rows; ++i)
      for (int64_t j = 0; j < s.kernel[2]; ++j) {
        const int64_t column = j * s.dilation[2];
        const int64_t place =
            in_order ? column : column % s.stride[2] * layout.columns + column / s.stride[2];
        offsets[taps++] = z * slice + i * s.dilation[1] * layout.row + place;
      }
  const float* const weights = joins ? nullptr : p.weights + seen.first * kernel_rows * s.kernel[2];
  const int64_t column_step = in_order ? s.stride[2] : 1;

  // Units are vectors of the output, row after row, so that narrow planes keep as many sums in flight as wide
  // ones.
  constexpr int together = 8;
  for (int64_t row = p.row0, column = p.column0; row < p.row1;) {
    const float* from[together];
    float* to[together];
    int64_t rows[together], columns[together];
    Vec sum[together];
    int units = 0;
    for (; units < together && row < p.row1; ++units) {
      from[units] = p.scratch + (row - p.row0) * row_stride * layout.row + (column - p.column0) * column_step;
      to[units] = p.to + (p.slice * s.out[1] + row) * s.out[2] + column;
      rows[units] = row;
      columns[units] = column;
      column += Vec::width;
      if (column >= p.column1) column = p.column0, ++row;
    }
    // If there are too few units, the last one is repeated, so that one loop suffices.
    for (int u = units; u < together; ++u) from[u] = from[units - 1];
    for (int u = 0; u < together; ++u) sum[u] = set(p.start);
    if (column_step == 2)
      take_taps<Op, true>(sum, from, weights, offsets, taps);
    else
      take_taps<Op, false>(sum, from, weights, offsets, taps);
    for (int u = 0; u < units; ++u) {
      const int64_t rest = p.column1 - columns[u], width = rest < Vec::width ? rest : Vec::width;
      if (p.row_factor)
        sum[u] = sum[u] * (set(p.slice_factor * p.row_factor[rows[u]]) *
                           load_first(p.column_factor + columns[u], width));
      if (width == Vec::width)
        store(to[u], sum[u]);
      else
        store_first(to[u], sum[u], width);
    }
  }
}

constexpr ConvKernels table{
    .patches = patches, .weighted_sum = plane<WeightedSum>, .maximum = plane<PlaneMaximum>};
