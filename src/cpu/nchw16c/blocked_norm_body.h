// Statistics of blocks of channels for one instruction set. Included by for_each_isa.h only.

constexpr int squares_together = 4;

/// sums += (x - mean)^2, lane by lane.
void add_squares(const float* x, int64_t pixels, const float* mean, float* sums) {
  for (int64_t v = 0; v < channel_block; v += Vec::width) {
    const Vec m = load(mean + v);
    Vec sum[squares_together];
    for (Vec& s : sum) s = zero();
    int64_t p = 0;
    for (; p + squares_together <= pixels; p += squares_together) {
      LATHE_UNROLL
      for (int i = 0; i < squares_together; ++i) {
        const Vec d = load(x + (p + i) * channel_block + v) - m;
        sum[i] = fma(d, d, sum[i]);
      }
    }
    for (; p < pixels; ++p) {
      const Vec d = load(x + p * channel_block + v) - m;
      sum[0] = fma(d, d, sum[0]);
    }
    store(sums + v, load(sums + v) + ((sum[0] + sum[1]) + (sum[2] + sum[3])));
  }
}

/// y = (x - mean) * factor + bias, lane by lane, within bounds.
void scale_pixels(const BlockScaling& s) {
  const Vec least = set(s.bounds.least), greatest = set(s.bounds.greatest);
  for (int64_t v = 0; v < channel_block; v += Vec::width) {
    const Vec m = load(s.mean + v), by = load(s.factor + v), bias = load(s.bias + v);
    for (int64_t at = v; at < s.pixels * channel_block; at += channel_block)
      store(s.y + at, min(greatest, max(least, fma(load(s.x + at) - m, by, bias))));
  }
}

constexpr NormKernels table{.add_squares = add_squares, .scale = scale_pixels};
