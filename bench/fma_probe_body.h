// What the arithmetic alone reaches: multiplications and additions that never leave the registers. Included
// by for_each_isa.h only.

constexpr int probe_sums = Vec::width == 16 ? 24 : 12;

/// Returns how many floating-point operations it took.
double fma_probe(int64_t rounds, float* out) {
  Vec sum[probe_sums];
  LATHE_UNROLL
  for (int i = 0; i < probe_sums; ++i) sum[i] = set(static_cast<float>(i));
  Vec factor = set(0.999f), offset = set(0.001f);
  for (int64_t r = 0; r < rounds; ++r) {
    LATHE_UNROLL
    for (int i = 0; i < 16 && i < probe_sums; ++i) sum[i] = fma(sum[i], factor, offset);
    LATHE_UNROLL
    for (int i = 16; i < probe_sums; ++i) sum[i] = fma(sum[i], factor, offset);
  }
  Vec total = zero();
  LATHE_UNROLL
  for (int i = 0; i < 16 && i < probe_sums; ++i) total = total + sum[i];
  LATHE_UNROLL
  for (int i = 16; i < probe_sums; ++i) total = total + sum[i];
  store(out, total);
  return 2.0 * probe_sums * Vec::width * static_cast<double>(rounds);
}

constexpr Probe table{fma_probe};
