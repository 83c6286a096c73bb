// Sums of products of bfloat16 without instructions for them. Included by for_each_isa.h only.

/// Adds x[2i] y[2i] + x[2i + 1] y[2i + 1] to lane i of `sum`: a lane holds two neighboring terms.
LATHE_INLINE Vec bf16_dot2(Vec x, Vec y, Vec sum) {
  return fma(second_of_pair(x), second_of_pair(y), fma(first_of_pair(x), first_of_pair(y), sum));
}
