// Makes unsigned integers that compare as elements do. Included by the bodies of for_each_isa.h only.

/// NaN of either sign has the greatest key, and both zeros have the same.
LATHE_INLINE uint32_t sort_key(float x) {
  uint32_t bits;
  const float unsigned_zero = x + 0.0f;
  memcpy(&bits, &unsigned_zero, sizeof bits);
  const uint32_t ordered = bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000u);
  return (bits & 0x7fffffffu) > 0x7f800000u ? 0xffffffffu : ordered;
}
LATHE_INLINE uint8_t sort_key(uint8_t x) { return x; }
LATHE_INLINE uint8_t sort_key(int8_t x) { return static_cast<uint8_t>(x ^ -0x80); }
LATHE_INLINE uint32_t sort_key(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000u; }
LATHE_INLINE uint64_t sort_key(int64_t x) { return static_cast<uint64_t>(x) ^ (uint64_t{1} << 63); }
