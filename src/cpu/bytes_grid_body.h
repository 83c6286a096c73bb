// Sums become bytes, as ByteGrid says. Included by bodies only, after Vec and Ints.

/// Neither rounded nor clamped.
template <bool Adds>
LATHE_INLINE Vec grid_number(const ByteGrid& g, Vec factor, Vec shift, Ints sum, const uint8_t* other) {
  const Vec q = fma(to_floats(sum), factor, shift);
  if constexpr (Adds) {
    const Vec rest = fma(to_floats(load_bytes(other)), set(g.others), set(g.constant));
    return fma(round(min(max(q, set(g.low)), set(g.high))), set(g.own), rest);
  }
  return q;
}

/// To the grid, and stored.
template <bool Adds, bool Saturates>
LATHE_INLINE void finish_vector(const ByteGrid& g, Vec factor, Vec shift, Ints sum, const uint8_t* other,
                                uint8_t* to) {
  const Vec q = grid_number<Adds>(g, factor, shift, sum, other);
  if constexpr (Saturates)
    store_saturated(to, max(to_ints(q) + set_ints(g.zero), set_ints(g.least)));
  else if constexpr (Adds)
    store_bytes(to, to_ints(min(max(q, set(g.sum_low)), set(g.sum_high))) + set_ints(g.zero));
  else
    store_bytes(to, to_ints(min(max(q, set(g.low)), set(g.high))) + set_ints(g.zero));
}
