// Probes for the peak rates of a processor: multiplications and additions in registers, and reads of memory
// alone. Included by for_each_isa.h only.

constexpr int probe_sums = Vec::width == 16 ? 24 : 12;

/// Returns the number of floating-point operations.
static double fma_probe(int64_t rounds, float* out) {
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

/// Reads an array of a multiple of 128 floats; returns a number that depends on all of them.
static float read_probe(const float* from, int64_t n) {
  Vec sum[8];
  LATHE_UNROLL
  for (int i = 0; i < 8; ++i) sum[i] = zero();
  for (int64_t at = 0; at < n; at += 8 * Vec::width) {
    LATHE_UNROLL
    for (int i = 0; i < 8; ++i) sum[i] = sum[i] + load(from + at + i * Vec::width);
  }
  Vec total = zero();
  LATHE_UNROLL
  for (int i = 0; i < 8; ++i) total = total + sum[i];
  alignas(64) float lanes[Vec::width];
  store(lanes, total);
  return lanes[0] + lanes[Vec::width - 1];
}

constexpr Probe table{fma_probe, read_probe};
