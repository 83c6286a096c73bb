// The loops of choose.h. They have no vectors of their own: the compiler makes them of these, as wide as the
// instruction set has them. Included by for_each_isa.h only.

/// Without a branch: the bits of one or of the other.
template <class T>
LATHE_INLINE T choose(uint8_t condition, T x, T y) {
  const T all = static_cast<T>(T(0) - T(condition != 0));
  return static_cast<T>((x & all) | (y & static_cast<T>(~all)));
}
struct TwoWords {
  uint64_t low, high;
};
LATHE_INLINE TwoWords choose(uint8_t condition, TwoWords x, TwoWords y) {
  return {choose(condition, x.low, y.low), choose(condition, x.high, y.high)};
}

template <class T, bool x_moves, bool y_moves>
static void choose_row(const uint8_t* __restrict condition, const void* xs, const void* ys, void* out,
                       int64_t n) {
  const T* __restrict x = static_cast<const T*>(xs);
  const T* __restrict y = static_cast<const T*>(ys);
  T* __restrict to = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = choose(condition[i], x[x_moves ? i : 0], y[y_moves ? i : 0]);
}

#define LATHE_CHOOSE(T)                                          \
  {                                                              \
    {choose_row<T, false, false>, choose_row<T, false, true>},   \
        {choose_row<T, true, false>, choose_row<T, true, true>}, \
  }
constexpr ChooseKernels table{{LATHE_CHOOSE(uint8_t), LATHE_CHOOSE(uint16_t), LATHE_CHOOSE(uint32_t),
                               LATHE_CHOOSE(uint64_t), LATHE_CHOOSE(TwoWords)}};
#undef LATHE_CHOOSE
