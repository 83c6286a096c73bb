// Conversions of half.h for one instruction set. Included by for_each_isa.h only.

template <class Half>
void widen_row(const Half* x, float* y, int64_t n) {
  for (; n >= Vec::width; n -= Vec::width, x += Vec::width, y += Vec::width) store(y, load_half(x));
  for (; n > 0; --n) *y++ = to_float(*x++);
}

template <class Half>
void narrow_row(const float* x, Half* y, int64_t n) {
  for (; n >= Vec::width; n -= Vec::width, x += Vec::width, y += Vec::width) store_half(y, load(x));
  for (; n > 0; --n) *y++ = Element<Half>::store(*x++);
}

constexpr HalfKernels table{.from_float16 = widen_row<Float16>,
                            .from_bfloat16 = widen_row<BFloat16>,
                            .to_float16 = narrow_row<Float16>,
                            .to_bfloat16 = narrow_row<BFloat16>};
