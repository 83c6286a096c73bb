// The loops of fold.h; the compiler makes vectors of them. Included by for_each_isa.h only.

template <FoldOp op>
LATHE_INLINE double join(double a, double b) {
  if (op == FoldOp::sum) return a + b;
  if (op == FoldOp::product) return a * b;
  return ((op == FoldOp::maximum ? b > a : b < a) | (b != b)) ? b : a;
}
template <FoldOp op>
LATHE_INLINE int64_t join(int64_t a, int64_t b) {
  const auto u = static_cast<uint64_t>(a), v = static_cast<uint64_t>(b);
  if (op == FoldOp::sum) return static_cast<int64_t>(u + v);
  if (op == FoldOp::product) return static_cast<int64_t>(u * v);
  return (op == FoldOp::maximum ? b > a : b < a) ? b : a;
}
template <FoldOp op, class T>
requires(sizeof(T) == 1) LATHE_INLINE T join(T a, T b) {
  return (op == FoldOp::maximum ? b > a : b < a) ? b : a;
}
template <class W>
constexpr W greatest = std::numeric_limits<W>::has_infinity ? std::numeric_limits<W>::infinity()
                                                            : std::numeric_limits<W>::max();
template <class W>
constexpr W least = std::numeric_limits<W>::has_infinity ? -greatest<W> : std::numeric_limits<W>::lowest();
template <FoldOp op, class W>
constexpr W neutral = op == FoldOp::product   ? W{1}
                      : op == FoldOp::maximum ? least<W>
                      : op == FoldOp::minimum ? greatest<W>
                                              : W{0};

template <FoldOp op, class X, class W>
static W fold_row(const X* x, int64_t n, W total) {
  // Of selections compilers make vectors only where they see a loop.
  constexpr bool selects = op == FoldOp::maximum || op == FoldOp::minimum;
  constexpr int64_t lanes = selects && !std::is_same_v<W, int64_t> ? 64 : 8;
  W part[lanes];
  for (W& p : part) p = neutral<op, W>;
  for (; n >= lanes; n -= lanes, x += lanes)
    for (int64_t k = 0; k < lanes; ++k) part[k] = join<op>(part[k], static_cast<W>(x[k]));
  for (int64_t k = 0; k < n; ++k) part[0] = join<op>(part[0], static_cast<W>(x[k]));
  for (const W p : part) total = join<op>(total, p);
  return total;
}

template <FoldOp op, class X, class W>
static void fold_columns(const X* __restrict x, int64_t n, int64_t stride, int64_t width,
                         W* __restrict totals) {
  for (; n > 0; --n, x += stride)
    for (int64_t k = 0; k < width; ++k) totals[k] = join<op>(totals[k], static_cast<W>(x[k]));
}

template <FoldOp op, class X, class W>
constexpr void fill(FoldLoops<X, W>& loops) {
  loops.row[static_cast<size_t>(op)] = fold_row<op, X, W>;
  loops.columns[static_cast<size_t>(op)] = fold_columns<op, X, W>;
}
template <class X, class W>
constexpr FoldLoops<X, W> folds_of() {
  FoldLoops<X, W> loops;
  if constexpr (sizeof(X) > 1) {
    fill<FoldOp::sum>(loops);
    fill<FoldOp::product>(loops);
  }
  if constexpr (!std::is_same_v<X, float>) {
    fill<FoldOp::maximum>(loops);
    fill<FoldOp::minimum>(loops);
  }
  return loops;
}
constexpr FoldKernels table{folds_of<float, double>(),    folds_of<double, double>(),
                            folds_of<int32_t, int64_t>(), folds_of<int64_t, int64_t>(),
                            folds_of<uint8_t, uint8_t>(), folds_of<int8_t, int8_t>()};
