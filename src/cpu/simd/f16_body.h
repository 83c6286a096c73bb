// The conversions of f16.h for one instruction set. Included by for_each_isa.h only.

template <class F16>
void widen_row(const F16* x, float* y, int64_t n) {
  for (; n >= Vec::width; n -= Vec::width, x += Vec::width, y += Vec::width) store(y, load_f16(x));
  for (; n > 0; --n) *y++ = to_float(*x++);
}

template <class F16>
void narrow_row(const float* x, F16* y, int64_t n) {
  for (; n >= Vec::width; n -= Vec::width, x += Vec::width, y += Vec::width) store_f16(y, load(x));
  for (; n > 0; --n) *y++ = Element<F16>::store(*x++);
}

constexpr F16Kernels table{.from_float16 = widen_row<Float16>,
                           .from_bfloat16 = widen_row<BFloat16>,
                           .to_float16 = narrow_row<Float16>,
                           .to_bfloat16 = narrow_row<BFloat16>};
