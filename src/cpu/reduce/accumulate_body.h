// The loops of accumulate.h, which the compiler vectorizes. Included by for_each_isa.h only.

template <AccumulateOp op>
LATHE_INLINE double join(double a, double b) {
  if (op == AccumulateOp::sum) return a + b;
  if (op == AccumulateOp::product) return a * b;
  return ((op == AccumulateOp::maximum ? b > a : b < a) | (b != b)) ? b : a;
}
template <AccumulateOp op>
LATHE_INLINE int64_t join(int64_t a, int64_t b) {
  const auto u = static_cast<uint64_t>(a), v = static_cast<uint64_t>(b);
  if (op == AccumulateOp::sum) return static_cast<int64_t>(u + v);
  if (op == AccumulateOp::product) return static_cast<int64_t>(u * v);
  return (op == AccumulateOp::maximum ? b > a : b < a) ? b : a;
}
template <AccumulateOp op, class T>
requires(sizeof(T) == 1) LATHE_INLINE T join(T a, T b) {
  return (op == AccumulateOp::maximum ? b > a : b < a) ? b : a;
}
template <class W>
constexpr W greatest = std::numeric_limits<W>::has_infinity ? std::numeric_limits<W>::infinity()
                                                            : std::numeric_limits<W>::max();
template <class W>
constexpr W least = std::numeric_limits<W>::has_infinity ? -greatest<W> : std::numeric_limits<W>::lowest();
template <AccumulateOp op, class W>
constexpr W neutral = op == AccumulateOp::product   ? W{1}
                      : op == AccumulateOp::maximum ? least<W>
                      : op == AccumulateOp::minimum ? greatest<W>
                                                    : W{0};

template <AccumulateOp op, class X, class W>
static W accumulate_row(const X* x, int64_t n, W total) {
  // Compilers vectorize minima and maxima only if they see a loop.
  constexpr bool selects = op == AccumulateOp::maximum || op == AccumulateOp::minimum;
  constexpr int64_t lanes = selects && !std::is_same_v<W, int64_t> ? 64 : 8;
  W part[lanes];
  for (W& p : part) p = neutral<op, W>;
  for (; n >= lanes; n -= lanes, x += lanes)
    for (int64_t k = 0; k < lanes; ++k) part[k] = join<op>(part[k], static_cast<W>(x[k]));
  for (int64_t k = 0; k < n; ++k) part[0] = join<op>(part[0], static_cast<W>(x[k]));
  for (const W p : part) total = join<op>(total, p);
  return total;
}

template <AccumulateOp op, class X, class W>
static void accumulate_columns(const X* __restrict x, int64_t n, int64_t stride, int64_t width,
                               W* __restrict totals) {
  for (; n > 0; --n, x += stride)
    for (int64_t k = 0; k < width; ++k) totals[k] = join<op>(totals[k], static_cast<W>(x[k]));
}

template <AccumulateOp op, class X, class W>
constexpr void fill(AccumulateLoops<X, W>& loops) {
  loops.row[static_cast<size_t>(op)] = accumulate_row<op, X, W>;
  loops.columns[static_cast<size_t>(op)] = accumulate_columns<op, X, W>;
}
template <class X, class W>
constexpr AccumulateLoops<X, W> loops_of() {
  AccumulateLoops<X, W> loops;
  if constexpr (sizeof(X) > 1) {
    fill<AccumulateOp::sum>(loops);
    fill<AccumulateOp::product>(loops);
  }
  if constexpr (!std::is_same_v<X, float>) {
    fill<AccumulateOp::maximum>(loops);
    fill<AccumulateOp::minimum>(loops);
  }
  return loops;
}
constexpr AccumulateKernels table{loops_of<float, double>(),    loops_of<double, double>(),
                                  loops_of<int32_t, int64_t>(), loops_of<int64_t, int64_t>(),
                                  loops_of<uint8_t, uint8_t>(), loops_of<int8_t, int8_t>()};
