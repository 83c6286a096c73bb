// The functions of short_floats.h for one instruction set. Included by for_each_isa.h only.

constexpr int panel_vectors = 2;
constexpr int64_t panel_columns = panel_vectors * Vec::width;

constexpr int group_vectors = short_group_rows * panel_vectors, group_words = group_vectors - 1;
constexpr int64_t group_size = group_words * Vec::width * static_cast<int64_t>(sizeof(float));
constexpr int64_t line = sizeof(ShortBlock);
constexpr int64_t block_groups = short_block_rows / short_group_rows;
constexpr int64_t block_size = line + block_groups * group_size;
constexpr int64_t group_floats = short_group_rows * panel_columns;
constexpr int64_t block_floats = short_block_rows * panel_columns;
/// Bytes that are asked for before they are read (measured on an Intel Xeon: best from 500 to 1500).
constexpr int64_t asked_ahead = 3 * group_size;

/// The vector whose sign and mantissa are in bits 30 to 23 of three words.
LATHE_INLINE Vec between(const Ints* words, Ints exponent) {
  const Ints two = chosen(0xff00, shifted_down<15>(words[1]), shifted_down<23>(words[0]));
  const Ints all = chosen(0xff0000, shifted_down<7>(words[2]), two);
  return kept_or(chosen(INT32_MIN, shifted_up<8>(all), all), static_cast<int32_t>(0x807fffff), exponent);
}

LATHE_INLINE void decode_group(const std::byte* from, const Exponents& exponents, Vec (&to)[group_vectors]) {
  Ints words[group_words];
  LATHE_UNROLL
  for (int i = 0; i < group_words; ++i)
    words[i] = load_ints(reinterpret_cast<const int32_t*>(from) + i * Vec::width);
  Ints codes = words[group_words - 1];
  LATHE_UNROLL
  for (int i = 0; i < group_vectors; ++i, codes = shifted_down<4>(codes)) {
    const Ints e = exponents.of(codes);
    to[i] = i < 6 ? kept_or(words[i], static_cast<int32_t>(0x807fffff), e) : between(words + (i - 6) * 3, e);
  }
}

/// What of a block does not fit. Numbers from a file may be any.
__attribute__((noinline)) void put_rest(const std::byte* block, int64_t first, int64_t floats, float* to) {
  ShortBlock b = {};
  std::memcpy(&b, block, sizeof b);
  const size_t count = b.count < ShortBlock::most ? b.count : ShortBlock::most;
  for (size_t i = 0; i < count; ++i)
    if (const int64_t at = b.at[i] - first; at >= 0 && at < floats) to[at] = b.value[i];
}

void unpack_block(const std::byte* block, float* to) {
  const Exponents exponents(static_cast<int32_t>(block[0]));
  for (int64_t i = 0; i < block_groups; ++i) {
    Vec group[group_vectors];
    decode_group(block + line + i * group_size, exponents, group);
    LATHE_UNROLL
    for (int j = 0; j < group_vectors; ++j) store(to + (i * group_vectors + j) * Vec::width, group[j]);
  }
  if (block[1] != std::byte{0}) put_rest(block, 0, block_floats, to);
}

void unpack(const std::byte* panel, int64_t k0, int64_t k, float* to) {
  const std::byte* block = panel + k0 / short_block_rows * block_size;
  for (; k > 0; k -= short_block_rows, block += block_size, to += block_floats) {
    if (k >= short_block_rows) {
      unpack_block(block, to);
    } else {
      float whole[block_floats];
      unpack_block(block, whole);
      std::memcpy(to, whole, static_cast<size_t>(k * panel_columns) * sizeof(float));
    }
  }
}

/// Puts into a group what of it does not fit.
LATHE_INLINE void complete(const std::byte* block, int64_t row, Vec (&group)[group_vectors]) {
  float floats[group_floats];
  LATHE_UNROLL
  for (int j = 0; j < group_vectors; ++j) store(floats + j * Vec::width, group[j]);
  put_rest(block, row * panel_columns, group_floats, floats);
  LATHE_UNROLL
  for (int j = 0; j < group_vectors; ++j) group[j] = load(floats + j * Vec::width);
}

/// One row of each panel's block times an element of each row of A.
template <int Rows, int Panels>
LATHE_INLINE void add_row_of(const Vec (&row)[Panels * panel_vectors], const float* a,
                             Vec (&sum)[Rows][Panels * panel_vectors]) {
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    const Vec x = set(a[i * a_block]);
    LATHE_UNROLL
    for (int j = 0; j < Panels * panel_vectors; ++j) sum[i][j] = fma(x, row[j], sum[i][j]);
  }
}

/// A block's terms as they come.
template <int Rows, int Panels, int Sums>
LATHE_INLINE void add_whole(const std::byte* const (&block)[Panels], const float* a,
                            Vec (&sum)[Sums][Rows][Panels * panel_vectors]) {
  static_assert(short_group_rows == 4 && Sums <= 2);
  for (int64_t k = 0; k < short_block_rows; k += short_group_rows) {
    Vec rows[short_group_rows][Panels * panel_vectors];
    LATHE_UNROLL
    for (int p = 0; p < Panels; ++p) {
      const std::byte* const from = block[p] + line + k / short_group_rows * group_size;
      LATHE_UNROLL
      for (int64_t i = 0; i < group_size; i += line)
        prefetch(reinterpret_cast<const float*>(from + asked_ahead + i));
      Vec group[group_vectors];
      decode_group(from, Exponents(static_cast<int32_t>(block[p][0])), group);
      if ((static_cast<int>(block[p][2]) >> k / short_group_rows & 1) != 0) [[unlikely]]
        complete(block[p], k, group);
      LATHE_UNROLL
      for (int j = 0; j < group_vectors; ++j)
        rows[j / panel_vectors][p * panel_vectors + j % panel_vectors] = group[j];
    }
    LATHE_UNROLL
    for (int u = 0; u < short_group_rows; ++u)
      add_row_of<Rows, Panels>(rows[u], a + k / a_block * a_block * Rows + k % a_block + u, sum[u % Sums]);
  }
}

/// The same of a block whose rows are fewer.
template <int Rows, int Panels, int Sums>
__attribute__((noinline)) void add_unpacked(const std::byte* const (&block)[Panels], int64_t k,
                                            const float* a, Vec (&sum)[Sums][Rows][Panels * panel_vectors]) {
  alignas(64) float floats[Panels][block_floats];
  for (int p = 0; p < Panels; ++p) unpack_block(block[p], floats[p]);
  for (int64_t kk = 0; kk < k; ++kk) {
    Vec row[Panels * panel_vectors];
    LATHE_UNROLL
    for (int j = 0; j < Panels * panel_vectors; ++j)
      row[j] = load(floats[j / panel_vectors] + kk * panel_columns + j % panel_vectors * Vec::width);
    // Terms behind the last whole block of A are added to the first sums.
    const bool in_turn = kk / a_block * a_block + a_block <= k;
    const float* const at = a + kk / a_block * a_block * Rows + kk % a_block;
    add_row_of<Rows, Panels>(row, at, sum[in_turn ? kk % Sums : 0]);
  }
}

template <int Rows, int Panels, int Sums>
void multiply_short(const ShortTile& t) {
  Vec sum[Sums][Rows][Panels * panel_vectors];
  LATHE_UNROLL
  for (int s = 0; s < Sums; ++s) {
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      LATHE_UNROLL
      for (int j = 0; j < Panels * panel_vectors; ++j) sum[s][i][j] = zero();
    }
  }
  const std::byte* block[Panels];
  for (int p = 0; p < Panels; ++p) block[p] = t.panel[p];
  for (int64_t k0 = 0; k0 < t.k; k0 += short_block_rows) {
    const float* const a = t.a + k0 * Rows;
    if (t.k - k0 >= short_block_rows) [[likely]] {
      add_whole<Rows, Panels, Sums>(block, a, sum);
    } else {
      Vec other[Sums][Rows][Panels * panel_vectors];  // whose address is taken
      std::memcpy(other, sum, sizeof sum);
      add_unpacked<Rows, Panels, Sums>(block, t.k - k0, a, other);
      std::memcpy(sum, other, sizeof sum);
    }
    for (int p = 0; p < Panels; ++p) block[p] += block_size;
  }
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Panels * panel_vectors; ++j) {
      Vec all = sum[0][i][j];
      for (int s = 1; s < Sums; ++s) all = all + sum[s][i][j];
      store(t.sums + (j / panel_vectors * Rows + i) * panel_columns + j % panel_vectors * Vec::width, all);
    }
}

LATHE_INLINE Ints exponent_of(Ints bits) { return shifted_down<24>(shifted_up<1>(bits)); }
LATHE_INLINE Ints load_bits(const float* from) { return load_ints(reinterpret_cast<const int32_t*>(from)); }

/// The greatest exponent of a block, but for that of infinities and NaN.
inline int32_t greatest_exponent(const float* rows) {
  Ints most = set_ints(0);
  for (int64_t i = 0; i < block_floats; i += Vec::width)
    most = max(most, chosen(255, exponent_of(load_bits(rows + i)) + set_ints(1), set_ints(0)));
  int32_t lanes[Vec::width], all = 1;
  store_ints(lanes, most);
  for (const int32_t one : lanes) all = all > one ? all : one;
  return all - 1;
}

/// A group in words, as decode_group takes them apart: the bits of exponents that came out otherwise.
LATHE_INLINE Ints encode_group(const float* from, int32_t base, std::byte* to) {
  const Exponents exponents(base);
  const Ints none = set_ints(0);
  Ints bits[group_vectors], codes = none, wrong = none;
  LATHE_UNROLL
  for (int i = group_vectors - 1; i >= 0; --i) {
    bits[i] = load_bits(from + i * Vec::width);
    const Ints code = chosen(15, max(exponent_of(bits[i]) - set_ints(base), none), none);
    wrong = max(wrong, chosen(0x7f800000, bits[i] ^ exponents.of(code), none));
    codes = shifted_up<4>(codes) + code;
  }
  int32_t* const words = reinterpret_cast<int32_t*>(to);
  LATHE_UNROLL
  for (int i = 0; i < 6; i += 3) {
    const Ints x = bits[6 + i / 3], all = chosen(0x7fffff, x, shifted_down<8>(x));
    constexpr auto kept = static_cast<int32_t>(0x807fffff);
    store_ints(words + i * Vec::width, chosen(kept, bits[i], shifted_up<23>(all)));
    store_ints(words + (i + 1) * Vec::width, chosen(kept, bits[i + 1], shifted_up<23>(shifted_down<8>(all))));
    store_ints(words + (i + 2) * Vec::width,
               chosen(kept, bits[i + 2], shifted_up<23>(shifted_down<16>(all))));
  }
  store_ints(words + 6 * Vec::width, codes);
  return wrong;
}

/// Notes what of a group does not fit. False: there is no room for it.
inline bool note_rest(const float* floats, int64_t first, ShortBlock& block) {
  for (int64_t i = first; i < first + group_floats; ++i) {
    uint32_t bits;
    std::memcpy(&bits, floats + i, sizeof bits);
    const uint32_t e = bits >> 23 & 255;
    if (e == 0 || (e > block.base && e <= block.base + 15U)) continue;
    if (block.count == ShortBlock::most) return false;
    block.groups = static_cast<uint8_t>(block.groups | 1 << first / group_floats);
    block.at[block.count] = static_cast<uint16_t>(i);
    block.value[block.count++] = floats[i];
  }
  return true;
}

bool encode(const float* rows, std::byte* to) {
  const int32_t greatest = greatest_exponent(rows);
  ShortBlock block = {};
  block.base = static_cast<uint8_t>(greatest > 15 ? greatest - 15 : 0);
  int32_t wrong[block_groups][Vec::width];
  for (int64_t i = 0; i < block_groups; ++i)
    store_ints(wrong[i], encode_group(rows + i * group_floats, block.base, to + line + i * group_size));
  for (int64_t i = 0; i < block_groups; ++i) {
    int32_t any = 0;
    for (const int32_t one : wrong[i]) any |= one;
    if (any != 0 && !note_rest(rows, i * group_floats, block)) return false;
  }
  std::memcpy(to, &block, sizeof block);
  return true;
}

template <int... Rows>
constexpr ShortKernels make_table(std::integer_sequence<int, Rows...>) {
  ShortKernels k{.block_size = block_size, .encode = encode, .unpack = unpack};
  ((k.multiply[Rows + 1][0] = multiply_short<Rows + 1, 1, 1>,
    k.multiply[Rows + 1][1] = multiply_short<Rows + 1, 2, 1>),
   ...);
  k.multiply_row[0] = multiply_short<1, 1, 2>;
  k.multiply_row[1] = multiply_short<1, 2, 2>;
  return k;
}
constexpr ShortKernels table = make_table(std::make_integer_sequence<int, twin_rows>());
