// Sums become bytes, as ByteGrid says. Included by bodies only, after Vec and Ints.

/// Neither rounded nor clamped. Where all stays within int32, the numbers of a grid of its own are rounded
/// first and clamped as whole ones, which other ports do than those that everything else waits for.
template <bool Adds, bool Small>
LATHE_INLINE Vec grid_number(const ByteGrid& g, Vec factor, Vec shift, Ints sum, const uint8_t* other) {
  const Vec q = fma(to_floats(sum), factor, shift);
  if constexpr (Adds) {
    const Vec rest = fma(to_floats(load_bytes(other)), set(g.others), set(g.constant));
    const Vec own = Small ? to_floats(min(max(to_ints(q), to_ints(set(g.low))), to_ints(set(g.high))))
                          : round(min(max(q, set(g.low)), set(g.high)));
    return fma(own, set(g.own), rest);
  }
  return q;
}

/// To the grid, and stored.
template <bool Adds, bool Saturates>
LATHE_INLINE void finish_vector(const ByteGrid& g, Vec factor, Vec shift, Ints sum, const uint8_t* other,
                                uint8_t* to) {
  const Vec q = grid_number<Adds, Saturates>(g, factor, shift, sum, other);
  if constexpr (Saturates)
    store_saturated(to, max(to_ints(q) + set_ints(g.zero), set_ints(g.least)));
  else if constexpr (Adds)
    store_bytes(to, to_ints(min(max(q, set(g.sum_low)), set(g.sum_high))) + set_ints(g.zero));
  else
    store_bytes(to, to_ints(min(max(q, set(g.low)), set(g.high))) + set_ints(g.zero));
}

/// Where the grid saturates: does what store_four_clamped() does see to all of it?
LATHE_INLINE bool is_plain(const ByteGrid& g) { return g.zero == 0 && g.least <= 0; }

/// Four vectors, one after the other, of what finish_vector() makes of one where it saturates.
template <bool Adds, bool Plain>
LATHE_INLINE void finish_four(const ByteGrid& g, Vec factor, Vec shift, const Ints (&sum)[4],
                              const uint8_t* other, uint8_t* to) {
  Ints y[4];
  LATHE_UNROLL
  for (int i = 0; i < 4; ++i) {
    y[i] =
        to_ints(grid_number<Adds, true>(g, factor, shift, sum[i], Adds ? other + i * Vec::width : nullptr));
    if (!Plain) y[i] = max(y[i] + set_ints(g.zero), set_ints(g.least));
  }
  store_four_clamped(to, y);
}
