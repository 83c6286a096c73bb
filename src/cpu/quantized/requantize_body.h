// Converts sums to bytes as RequantParams describes. Included by bodies only, after Vec and Ints.

/// The result before it is rounded and clamped. `Small`: all numbers are within int32, so that they are
/// rounded first and clamped as integers, which other execution ports do than the busiest ones.
template <bool Adds, bool Small>
LATHE_INLINE Vec requantized_number(const RequantParams& g, Vec factor, Vec shift, Ints sum,
                                    const uint8_t* other) {
  const Vec q = fma(to_floats(sum), factor, shift);
  if constexpr (Adds) {
    const Vec rest = fma(to_floats(load_u8(other)), set(g.others), set(g.constant));
    const Vec own = Small ? to_floats(min(max(to_ints(q), to_ints(set(g.low))), to_ints(set(g.high))))
                          : round(min(max(q, set(g.low)), set(g.high)));
    return fma(own, set(g.own), rest);
  }
  return q;
}

/// Requantizes and stores a vector.
template <bool Adds, bool Saturates>
LATHE_INLINE void requantize_vector(const RequantParams& g, Vec factor, Vec shift, Ints sum,
                                    const uint8_t* other, uint8_t* to) {
  const Vec q = requantized_number<Adds, Saturates>(g, factor, shift, sum, other);
  if constexpr (Saturates)
    store_saturated(to, max(to_ints(q) + set_ints(g.zero), set_ints(g.least)));
  else if constexpr (Adds)
    store_u8(to, to_ints(min(max(q, set(g.sum_low)), set(g.sum_high))) + set_ints(g.zero));
  else
    store_u8(to, to_ints(min(max(q, set(g.low)), set(g.high))) + set_ints(g.zero));
}

/// If requantization saturates: returns whether store_four_clamped() alone clamps as required.
LATHE_INLINE bool needs_no_clamp(const RequantParams& g) { return g.zero == 0 && g.least <= 0; }

/// Requantizes four contiguous vectors as requantize_vector() does one if it saturates.
template <bool Adds, bool Unclamped>
LATHE_INLINE void requantize_four(const RequantParams& g, Vec factor, Vec shift, const Ints (&sum)[4],
                                  const uint8_t* other, uint8_t* to) {
  Ints y[4];
  LATHE_UNROLL
  for (int i = 0; i < 4; ++i) {
    y[i] = to_ints(
        requantized_number<Adds, true>(g, factor, shift, sum[i], Adds ? other + i * Vec::width : nullptr));
    if (!Unclamped) y[i] = max(y[i] + set_ints(g.zero), set_ints(g.least));
  }
  store_four_clamped(to, y);
}
