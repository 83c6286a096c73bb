// Vectors of doubles with as many bits as Vec. Included by bodies only.

typedef double Doubles __attribute__((vector_size(sizeof(Vec))));
constexpr int64_t doubles_width = static_cast<int64_t>(sizeof(Doubles) / sizeof(double));

LATHE_INLINE Doubles load_doubles(const double* p) {
  Doubles x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
LATHE_INLINE void store_doubles(double* p, Doubles x) { std::memcpy(p, &x, sizeof x); }
LATHE_INLINE Doubles set_doubles(double x) { return x - Doubles{}; }  // -0 stays -0
/// a b + c, rounded once where Vec::fuses. A template, so that each instruction set sees its own alone.
template <class D>
LATHE_INLINE D fused(D a, D b, D c) {
  LATHE_AVX512(if constexpr (Vec::width == 16) return _mm512_fmadd_pd(a, b, c);)
  LATHE_AVX2(if constexpr (Vec::width == 8) return _mm256_fmadd_pd(a, b, c);)
  if constexpr (Vec::width == 4) return a * b + c;
}
