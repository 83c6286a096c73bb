// Weights of three taps at the points of F(4, 3). Included by bodies only.

/// A column or row of three weights at one of the points 0, 1, -1, 2, -2 and infinity.
template <int Point>
LATHE_INLINE Vec weight_at(Vec w0, Vec w1, Vec w2) {
  if constexpr (Point == 0) return w0;
  if constexpr (Point == 1) return (w0 + w2) + w1;
  if constexpr (Point == 2) return (w0 + w2) - w1;
  if constexpr (Point == 3) return fma(set(2), w1, fma(set(4), w2, w0));
  if constexpr (Point == 4) return fma(set(-2), w1, fma(set(4), w2, w0));
  return w2;
}
