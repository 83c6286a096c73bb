// Rows and columns for one instruction set. Included by for_each_isa.h only.

struct Sum {
  static constexpr bool rounds = true;
  static constexpr float neutral = 0;
  static LATHE_INLINE Vec add(Vec sum, Vec x) { return sum + x; }
  static LATHE_INLINE Vec join(Vec a, Vec b) { return a + b; }
  static LATHE_INLINE float across(Vec x) { return sum_of(x); }
};
struct SumOfSquares : Sum {
  static LATHE_INLINE Vec add(Vec sum, Vec x) { return fma(x, x, sum); }
};
struct SumOfAbsolutes : Sum {
  static LATHE_INLINE Vec add(Vec sum, Vec x) { return sum + abs(x); }
};
// NaN wins: min and max return their second operand if one is NaN, so a first operand that is NaN is
// selected.
struct Maximum {
  static constexpr bool rounds = false;
  static constexpr float neutral = -std::numeric_limits<float>::infinity();
  static LATHE_INLINE Vec add(Vec a, Vec b) { return select(is_nan(a), a, max(a, b)); }
  static LATHE_INLINE Vec join(Vec a, Vec b) { return add(a, b); }
  static LATHE_INLINE float across(Vec x) {
    return any_nan(x) ? std::numeric_limits<float>::quiet_NaN() : max_of(x);
  }
};
struct Minimum {
  static constexpr bool rounds = false;
  static constexpr float neutral = std::numeric_limits<float>::infinity();
  static LATHE_INLINE Vec add(Vec a, Vec b) { return select(is_nan(a), a, min(a, b)); }
  static LATHE_INLINE Vec join(Vec a, Vec b) { return add(a, b); }
  static LATHE_INLINE float across(Vec x) {
    return any_nan(x) ? std::numeric_limits<float>::quiet_NaN() : min_of(x);
  }
};

/// The terms that are summed before they are added to a Total.
constexpr int64_t terms_together = 16;

/// The result so far, lane by lane. The rounding errors of a long sum are summed separately and added at the
/// end: models that subtract two sums (a variance as E[x^2] - E[x]^2) lose digits otherwise.
template <class Op>
struct Total {
  Vec sum, lost;

  LATHE_INLINE void take(Vec x) {
    const Vec before = sum;
    sum = Op::join(sum, x);
    if constexpr (Op::rounds) {
      const Vec taken = sum - before;
      lost = lost + ((before - (sum - taken)) + (x - taken));
    }
  }
  // Infinite sums make `lost` NaN.
  LATHE_INLINE Vec value() const { return Op::rounds ? select(is_nan(lost), sum, sum + lost) : sum; }
};

template <class Op>
float reduce_row(const float* x, int64_t n) {
  constexpr int sums = 4;
  Total<Op> total{set(Op::neutral), zero()};
  while (n > 0) {
    Vec s[sums];
    LATHE_UNROLL
    for (int i = 0; i < sums; ++i) s[i] = set(Op::neutral);
    int64_t together = terms_together;
    for (; n >= sums * Vec::width && together > 0;
         n -= sums * Vec::width, x += sums * Vec::width, --together) {
      LATHE_UNROLL
      for (int i = 0; i < sums; ++i) s[i] = Op::add(s[i], load(x + i * Vec::width));
    }
    if (together > 0) {  // the end of the row
      for (; n >= Vec::width; n -= Vec::width, x += Vec::width) s[0] = Op::add(s[0], load(x));
      if (n > 0) s[1] = Op::add(s[1], load_first(x, n, set(Op::neutral)));
      n = 0;
    }
    total.take(Op::join(Op::join(s[0], s[1]), Op::join(s[2], s[3])));
  }
  return Op::across(total.value());
}

/// Sums exp(x - top), where top is the maximum of the column.
struct SumOfExponentials : Sum {
  static LATHE_INLINE Vec add(Vec sum, Vec x, Vec top) { return sum + exp_weight(x - top); }
};
template <class Op>
LATHE_INLINE Vec add_of_column(Vec sum, Vec x, Vec top) {
  if constexpr (std::is_same_v<Op, SumOfExponentials>)
    return Op::add(sum, x, top);
  else
    return Op::add(sum, x);
}

/// Adds the next rows of `Vectors` neighboring vectors of columns, from column j on; if not `whole`, the
/// vector has only `last` columns.
template <class Op, int Vectors, bool whole>
LATHE_INLINE void take_rows(const Columns& c, int64_t row, int64_t rows, int64_t j, int64_t last) {
  Vec s[Vectors], top[Vectors];
  LATHE_UNROLL
  for (int v = 0; v < Vectors; ++v) {
    s[v] = set(Op::neutral);
    top[v] = !c.tops ? zero() : whole ? load(c.tops + j + v * Vec::width) : load_first(c.tops + j, last);
  }
  const float* x = c.x + row * c.stride + j;
  for (int64_t i = 0; i < rows; ++i, x += c.stride) {
    LATHE_UNROLL
    for (int v = 0; v < Vectors; ++v)
      s[v] = add_of_column<Op>(s[v], whole ? load(x + v * Vec::width) : load_first(x, last), top[v]);
  }
  const bool begins = c.begins && row == 0, ends = c.ends && row + rows == c.n;
  LATHE_UNROLL
  for (int v = 0; v < Vectors; ++v) {
    float *const y = c.y + j + v * Vec::width, *const lost = c.lost + j + v * Vec::width;
    Total<Op> total{set(Op::neutral), zero()};
    if (!begins && whole) total = {load(y), load(lost)};
    if (!begins && !whole) total = {load_first(y, last), load_first(lost, last)};
    total.take(s[v]);
    if (ends) total.sum = total.value() * set(c.factor);
    if (whole) {
      store(y, total.sum);
      if (!ends) store(lost, total.lost);
    } else {
      store_first(y, total.sum, last);
      if (!ends) store_first(lost, total.lost, last);
    }
  }
}

/// Reads a few rows of all columns, then the next few: neighbors are on the same pages, and there are only as
/// many memory streams as rows.
template <class Op>
void reduce_columns(const Columns& c) {
  constexpr int together = 4;  // vectors
  for (int64_t row = 0; row == 0 || row < c.n; row += terms_together) {
    const int64_t rows = c.n - row < terms_together ? c.n - row : terms_together;
    int64_t j = 0;
    for (; j + together * Vec::width <= c.width; j += together * Vec::width)
      take_rows<Op, together, true>(c, row, rows, j, Vec::width);
    for (; j + Vec::width <= c.width; j += Vec::width) take_rows<Op, 1, true>(c, row, rows, j, Vec::width);
    if (j < c.width) take_rows<Op, 1, false>(c, row, rows, j, c.width - j);
  }
}

/// Unlike Maximum it may lose NaN, since the sum of the weights is then NaN.
struct Top {
  static LATHE_INLINE Vec join(Vec a, Vec b) { return max(a, b); }
};

LATHE_INLINE Vec top_of(const float* x, int64_t n) {
  const Vec nothing = set(-std::numeric_limits<float>::infinity());
  Vec even = nothing, odd = nothing;
  int64_t i = 0;
  for (; i + 2 * Vec::width <= n; i += 2 * Vec::width) {
    even = max(even, load(x + i));
    odd = max(odd, load(x + i + Vec::width));
  }
  for (; i < n; i += Vec::width)
    even = max(even, n - i < Vec::width ? load_first(x + i, n - i, nothing) : load(x + i));
  return max(even, odd);
}

/// The sum of the weights exp(x - top), which are also stored if `weights` is not null. With `padded` the
/// last ones are stored as a whole vector, which can be read again much sooner than a part.
LATHE_INLINE Vec weigh(const float* x, float* weights, int64_t n, Vec top, bool padded) {
  Vec sum = zero();
  int64_t i = 0;
  for (; i + Vec::width <= n; i += Vec::width) {
    const Vec e = exp_weight(load(x + i) - top);
    sum = sum + e;
    if (weights) store(weights + i, e);
  }
  if (i == n) return sum;
  const Vec e = exp_weight(load_first(x + i, n - i, set(-std::numeric_limits<float>::infinity())) - top);
  if (weights && padded) store(weights + i, e);
  if (weights && !padded) store_first(weights + i, e, n - i);
  return sum + e;
}

/// Several rows go through each step together, so that none waits for its reduction across lanes; the
/// reductions of all rows are computed at once.
template <bool logarithm>
void softmax_rows(const float* x, float* y, int64_t rows, int64_t n) {
  RowVectors vectors;
  alignas(64) float kept[softmax_floats];
  float tops[Vec::width], ends[Vec::width];
  const int64_t whole = (n + Vec::width - 1) / Vec::width * Vec::width;
  const bool keeps = rows * whole <= softmax_floats;
  float* const weights = logarithm ? nullptr : keeps ? kept : y;
  const int64_t step = keeps ? whole : n;

  for (int64_t r = rows; r < Vec::width; ++r) store(vectors.rows[r], zero());
  for (int64_t r = 0; r < rows; ++r) store(vectors.rows[r], top_of(x + r * n, n));
  store(tops, vectors.across<Top>());
  for (int64_t r = 0; r < rows; ++r)
    store(vectors.rows[r],
          weigh(x + r * n, logarithm ? nullptr : weights + r * step, n, set(tops[r]), keeps));
  const Vec sums = vectors.across<Sum>();
  store(ends, logarithm ? log(sums) : set(1.0f) / sums);
  for (int64_t r = 0; r < rows; ++r) {
    const Vec top = set(tops[r]), end = set(ends[r]);
    const float* const from = logarithm ? x + r * n : weights + r * step;
    float* const to = y + r * n;
    int64_t i = 0;
    for (; i + Vec::width <= n; i += Vec::width)
      store(to + i, logarithm ? load(from + i) - top - end : load(from + i) * end);
    if (i == n) continue;
    const Vec v = !logarithm && keeps ? load(from + i) : load_first(from + i, n - i);
    store_first(to + i, logarithm ? v - top - end : v * end, n - i);
  }
}
void softmax(const float* x, float* y, int64_t rows, int64_t n, bool logarithm) {
  (logarithm ? softmax_rows<true> : softmax_rows<false>)(x, y, rows, n);
}

void softmax_columns(const float* x, float* y, int64_t n, int64_t stride, int64_t width, bool logarithm) {
  Vec top = set(Maximum::neutral);
  for (int64_t i = 0; i < n; ++i) top = Top::join(top, load_first(x + i * stride, width));
  Vec sum = zero();
  for (int64_t i = 0; i < n; ++i) {
    const Vec d = load_first(x + i * stride, width) - top, e = exp_weight(d);
    sum = sum + e;
    store_first(y + i * stride, logarithm ? d : e, width);
  }
  const Vec shift = logarithm ? log(sum) : zero(), factor = set(1.0f) / sum;
  for (int64_t i = 0; i < n; ++i) {
    const Vec e = load_first(y + i * stride, width);
    store_first(y + i * stride, logarithm ? e - shift : e * factor, width);
  }
}

float exponentials(const float* x, int64_t n, float top) {
  const Vec t = set(top);
  Vec s[2] = {zero(), zero()};
  int64_t i = 0;
  for (; i + 2 * Vec::width <= n; i += 2 * Vec::width) {
    s[0] = s[0] + exp_weight(load(x + i) - t);
    s[1] = s[1] + exp_weight(load(x + i + Vec::width) - t);
  }
  const Vec nothing = set(-std::numeric_limits<float>::infinity());
  for (; i < n; i += Vec::width)
    s[0] = s[0] + exp_weight((n - i < Vec::width ? load_first(x + i, n - i, nothing) : load(x + i)) - t);
  return sum_of(s[0] + s[1]);
}

LATHE_INLINE float squares_around(const float* x, int64_t n, float mean) {
  const Vec m = set(mean);
  Vec s[2] = {zero(), zero()};
  int64_t i = 0;
  for (; i + 2 * Vec::width <= n; i += 2 * Vec::width) {
    const Vec a = load(x + i) - m, b = load(x + i + Vec::width) - m;
    s[0] = fma(a, a, s[0]);
    s[1] = fma(b, b, s[1]);
  }
  for (; i < n; i += Vec::width) {
    const Vec a = (n - i < Vec::width ? load_first(x + i, n - i, set(mean)) : load(x + i)) - m;
    s[0] = fma(a, a, s[0]);
  }
  return sum_of(s[0] + s[1]);
}

LATHE_INLINE RowStatistics statistics(const float* x, int64_t n, bool center, float epsilon) {
  const auto count = static_cast<float>(n);
  const float mean = center ? reduce_row<Sum>(x, n) / count : 0.0f;
  return {mean, 1.0f / std::sqrt(squares_around(x, n, mean) / count + epsilon)};
}

LATHE_INLINE void normalize(const Normalization& r, const RowStatistics& s) {
  const Vec m = set(s.mean), by = set(s.inverse);
  const Vec one_scale = set(r.scale ? *r.scale : 1.0f), one_bias = set(r.bias ? *r.bias : 0.0f);
  const bool scales = r.scale && !r.single, biases = r.bias && !r.single;
  int64_t i = 0;
  for (; i + Vec::width <= r.n; i += Vec::width)
    store(r.y + i, fma((load(r.x + i) - m) * by, scales ? load(r.scale + i) : one_scale,
                       biases ? load(r.bias + i) : one_bias));
  if (const int64_t left = r.n - i; left > 0)
    store_first(r.y + i,
                fma((load_first(r.x + i, left) - m) * by, scales ? load_first(r.scale + i, left) : one_scale,
                    biases ? load_first(r.bias + i, left) : one_bias),
                left);
}

RowStatistics normalize_row(const Normalization& r, bool center, float epsilon) {
  const RowStatistics s = statistics(r.x, r.n, center, epsilon);
  normalize(r, s);
  return s;
}

template <class Op>
constexpr void fill(RowKernels& t, ReduceOp op) {
  t.reduce[static_cast<size_t>(op)] = reduce_row<Op>;
  t.reduce_columns[static_cast<size_t>(op)] = reduce_columns<Op>;
}
constexpr RowKernels make_table() {
  RowKernels t{.softmax = softmax,
               .softmax_columns = softmax_columns,
               .normalize = normalize,
               .statistics = statistics,
               .normalize_row = normalize_row,
               .squares_around = squares_around};
  fill<Sum>(t, ReduceOp::sum);
  fill<SumOfSquares>(t, ReduceOp::sum_of_squares);
  fill<SumOfAbsolutes>(t, ReduceOp::sum_of_absolutes);
  fill<Maximum>(t, ReduceOp::maximum);
  fill<Minimum>(t, ReduceOp::minimum);
  t.exponentials = exponentials;
  t.exponentials_columns = reduce_columns<SumOfExponentials>;
  t.vector = Vec::width;
  return t;
}
constexpr RowKernels table = make_table();
