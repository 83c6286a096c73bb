// The loops of choose.h. The compiler vectorizes them as wide as the instruction set allows. Included by
// for_each_isa.h only.

/// Selects by a mask, without a branch.
template <class T>
LATHE_INLINE T choose(uint8_t condition, T x, T y) {
  const T all = static_cast<T>(T(0) - T(condition != 0));
  return static_cast<T>((x & all) | (y & static_cast<T>(~all)));
}
struct U64x2 {
  uint64_t low, high;
};
LATHE_INLINE U64x2 choose(uint8_t condition, U64x2 x, U64x2 y) {
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
                               LATHE_CHOOSE(uint64_t), LATHE_CHOOSE(U64x2)}};
#undef LATHE_CHOOSE
