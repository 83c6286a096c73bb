// Rows of transposed convolutions for one instruction set. Included by for_each_isa.h only.

/// The sums of `n` columns of a phase, all of which are reached by all taps.
template <bool whole>
LATHE_INLINE Vec sum_columns(const TransposedRow& r, const TapPhase& phase, int64_t column, int64_t n) {
  Vec sum = set(r.start);
  for (int64_t l = 0; l < r.line_count; ++l)
    for (int64_t t = 0; t < phase.count; ++t) {
      const float* const from = r.shares + (r.lines[l] + phase.taps[t].at + column);
      sum = sum + (whole ? load(from) : load_first(from, n));
    }
  return sum;
}

/// That of any column, in the same order.
inline float sum_column(const TransposedRow& r, const TapPhase& phase, int64_t column) {
  float sum = r.start;
  for (int64_t l = 0; l < r.line_count; ++l)
    for (int64_t t = 0; t < phase.count; ++t) {
      const TapColumns& tap = phase.taps[t];
      if (column >= tap.begin && column < tap.end) sum += r.shares[r.lines[l] + tap.at + column];
    }
  return sum;
}

/// Columns [begin, end) of all phases, one by one.
inline void make_columns(const TransposedRow& r, int64_t begin, int64_t end) {
  for (int64_t column = begin; column < end; ++column)
    for (int64_t p = 0, at = column * r.phase_count; p < r.phase_count && at < r.columns; ++p, ++at)
      r.y[at] = sum_column(r, r.phases[p], column);
}

LATHE_INLINE void store_columns(const TransposedRow& r, int64_t phase, int64_t column, Vec sum, int64_t n) {
  if (r.phase_count == 1) return store_first(r.y + column, sum, n);
  float of[Vec::width];
  store(of, sum);
  for (int64_t i = 0; i < n; ++i) r.y[(column + i) * r.phase_count + phase] = of[i];
}

/// The first `n` of both, in turn.
LATHE_INLINE void store_interleaved(float* y, Vec even, Vec odd, int64_t n) {
  const int64_t first = 2 * n < Vec::width ? 2 * n : Vec::width;
  store_first(y, zip_low(even, odd), first);
  if (2 * n > first) store_first(y + first, zip_high(even, odd), 2 * n - first);
}

/// Columns [begin, end), which all taps of all phases reach.
LATHE_INLINE void make_inner_columns(const TransposedRow& r, int64_t begin, int64_t end) {
  if (r.phase_count == 2) {
    const TapPhase &even = r.phases[0], &odd = r.phases[1];
    int64_t i = begin;
    for (; i + Vec::width <= end; i += Vec::width) {
      const Vec a = sum_columns<true>(r, even, i, Vec::width), b = sum_columns<true>(r, odd, i, Vec::width);
      store(r.y + 2 * i, zip_low(a, b));
      store(r.y + 2 * i + Vec::width, zip_high(a, b));
    }
    if (i < end)
      store_interleaved(r.y + 2 * i, sum_columns<false>(r, even, i, end - i),
                        sum_columns<false>(r, odd, i, end - i), end - i);
    return;
  }
  for (int64_t p = 0; p < r.phase_count; ++p) {
    int64_t i = begin;
    for (; i + Vec::width <= end; i += Vec::width)
      store_columns(r, p, i, sum_columns<true>(r, r.phases[p], i, Vec::width), Vec::width);
    if (i < end) store_columns(r, p, i, sum_columns<false>(r, r.phases[p], i, end - i), end - i);
  }
}

void transposed_row(const TransposedRow& r) {
  const int64_t all = (r.columns + r.phase_count - 1) / r.phase_count;
  int64_t begin = 0, end = r.columns / r.phase_count;
  for (int64_t p = 0; p < r.phase_count; ++p) {
    if (r.phases[p].begin > begin) begin = r.phases[p].begin;
    if (r.phases[p].end < end) end = r.phases[p].end;
  }
  if (end <= begin) return make_columns(r, 0, all);
  make_columns(r, 0, begin);
  make_inner_columns(r, begin, end);
  make_columns(r, end, all);
}

constexpr TransposedKernels table{.row = transposed_row};
