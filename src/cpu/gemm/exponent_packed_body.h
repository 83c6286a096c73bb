// The functions of exponent_packed.h for one instruction set. Included by for_each_isa.h only.

constexpr int panel_vectors = 2;
constexpr int64_t NR = panel_vectors * Vec::width;
static_assert(U8::size == Vec::width * static_cast<int64_t>(sizeof(float)));

constexpr int64_t line = sizeof(ExponentPackedBlock);
constexpr int64_t block_elements = exponent_packed_rows * NR;

/// The exponents that the codes of a block mean.
struct Exponents {
  LATHE_INLINE explicit Exponents(uint8_t base) {
    alignas(16) static constexpr uint8_t codes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    alignas(16) static constexpr uint8_t but_zero[16] = {0,   255, 255, 255, 255, 255, 255, 255,
                                                         255, 255, 255, 255, 255, 255, 255, 255};
    all = (repeated(codes) + set_u8(base)) & repeated(but_zero);
    upper = shifted_down<1>(all);
    lower = shifted_up<7>(all);
  }
  U8 all;
  U8 upper, lower;  // shifted to their places in the upper and lower byte of 16 bits
};

/// Makes the upper 16 bits of floats from sign and mantissa (`rest`) and codes below 16.
LATHE_INLINE void decode_u16(U8 rest, U8 codes, const Exponents& e, U8 (&u16s)[2]) {
  const U8 upper = chosen(0x80, rest, look_up(e.upper, codes)),
           lower = chosen(0x7f, rest, look_up(e.lower, codes));
  u16s[0] = zip_u8_low(lower, upper);
  u16s[1] = zip_u8_high(lower, upper);
}
LATHE_INLINE U8 exponents_of(const U8 (&u16s)[2]) {
  const U8 upper = odd_u8(u16s[0], u16s[1]), lower = even_u8(u16s[0], u16s[1]);
  return (upper + upper) | shifted_down<7>(lower);
}
LATHE_INLINE U8 rest_of(const U8 (&u16s)[2]) {
  return chosen(0x80, odd_u8(u16s[0], u16s[1]), even_u8(u16s[0], u16s[1]));
}

LATHE_INLINE U8 load_element(const float* from, int i) {
  return load_lanes(reinterpret_cast<const std::byte*>(from + i * Vec::width));
}

/// Elements that are floats. A group has codes for eight vectors. After them follow, for each half of the
/// codes, sign and mantissa of the upper 16 bits, then the lower 16 bits.
struct Floats {
  static constexpr int vectors = 4,
                       size = 3;  // of a half: vectors of elements, and stored vectors beside the codes
  static LATHE_INLINE void decode(const std::byte* from, U8 codes, const Exponents& e, Vec* to) {
    U8 u16s[2];
    decode_u16(load_lanes(from), codes, e, u16s);
    LATHE_UNROLL
    for (int i = 0; i < 2; ++i) {
      const U8 lower = load_lanes(from + (1 + i) * U8::size);
      to[2 * i] = as_vec(zip_u16_low(lower, u16s[i]));
      to[2 * i + 1] = as_vec(zip_u16_high(lower, u16s[i]));
    }
  }
  static LATHE_INLINE void u16s(const float* from, U8 (&to)[2]) {
    LATHE_UNROLL
    for (int i = 0; i < 2; ++i) to[i] = odd_u16(load_element(from, 2 * i), load_element(from, 2 * i + 1));
  }
  static LATHE_INLINE void encode(const float* from, const U8 (&u16s)[2], std::byte* to) {
    store_lanes(to, rest_of(u16s));
    LATHE_UNROLL
    for (int i = 0; i < 2; ++i)
      store_lanes(to + (1 + i) * U8::size,
                  even_u16(load_element(from, 2 * i), load_element(from, 2 * i + 1)));
  }
  static bool fits(uint32_t bits, uint32_t base) { return word_fits(bits >> 16, base); }
  static LATHE_INLINE void add_product(Vec& sum, Vec x, Vec y) { accumulate(sum, x, y); }

  static bool word_fits(uint32_t word, uint32_t base) {
    const uint32_t e = word >> 7 & 255;
    return e == 0 || (e > base && e <= base + 15);
  }
};

/// Elements that are pairs of bfloat16, which have no lower 16 bits to store.
struct Bf16Dot2 {
  static constexpr int vectors = 2, size = 1;
  static LATHE_INLINE void decode(const std::byte* from, U8 codes, const Exponents& e, Vec* to) {
    U8 u16s[2];
    decode_u16(load_lanes(from), codes, e, u16s);
    to[0] = as_vec(u16s[0]);
    to[1] = as_vec(u16s[1]);
  }
  static LATHE_INLINE void u16s(const float* from, U8 (&to)[2]) {
    to[0] = load_element(from, 0);
    to[1] = load_element(from, 1);
  }
  static LATHE_INLINE void encode(const float*, const U8 (&u16s)[2], std::byte* to) {
    store_lanes(to, rest_of(u16s));
  }
  static bool fits(uint32_t bits, uint32_t base) {
    return Floats::word_fits(bits >> 16, base) && Floats::word_fits(bits & 0xffff, base);
  }
  static LATHE_INLINE void add_product(Vec& sum, Vec x, Vec y) { sum = bf16_dot2(x, y, sum); }
};

/// A block of elements of one kind.
template <class Elements>
struct Block {
  static constexpr int vectors = 2 * Elements::vectors;
  static constexpr int64_t group_rows = vectors / panel_vectors;
  static constexpr int64_t half_size = Elements::size * U8::size, group_size = U8::size + 2 * half_size;
  static constexpr int64_t group_elements = vectors * Vec::width;
  static constexpr int64_t groups = exponent_packed_rows / group_rows;
  static constexpr int64_t size = line + groups * group_size;
  static_assert(groups <= 16 && a_block % group_rows == 0);
};

template <class Elements>
LATHE_INLINE void decode_group(const std::byte* from, const Exponents& e,
                               Vec (&to)[Block<Elements>::vectors]) {
  const U8 codes = load_lanes(from);
  const std::byte* const half = from + U8::size;
  Elements::decode(half, codes & set_u8(15), e, to);
  Elements::decode(half + Block<Elements>::half_size, shifted_down<4>(codes), e, to + Elements::vectors);
}

LATHE_INLINE Exponents exponents(const std::byte* block) { return Exponents(static_cast<uint8_t>(block[0])); }

/// Overwrites the elements of a block that did not fit. Checks counts and positions, as a file may hold any.
__attribute__((noinline)) void put_rest(const std::byte* block, int64_t first, int64_t elements, float* to) {
  ExponentPackedBlock b = {};
  std::memcpy(&b, block, sizeof b);
  const size_t count =
      b.count < ExponentPackedBlock::max_exceptions ? b.count : ExponentPackedBlock::max_exceptions;
  for (size_t i = 0; i < count; ++i)
    if (const int64_t at = b.at[i] - first; at >= 0 && at < elements) to[at] = b.value[i];
}

template <class Elements>
void unpack_block(const std::byte* block, float* to) {
  using B = Block<Elements>;
  const Exponents e = exponents(block);
  for (int64_t i = 0; i < B::groups; ++i) {
    Vec group[B::vectors];
    decode_group<Elements>(block + line + i * B::group_size, e, group);
    LATHE_UNROLL
    for (int j = 0; j < B::vectors; ++j) store(to + i * B::group_elements + j * Vec::width, group[j]);
  }
  if (block[1] != std::byte{0}) put_rest(block, 0, block_elements, to);
}

template <class Elements>
void unpack(const std::byte* panel, int64_t k0, int64_t k, float* to) {
  const std::byte* block = panel + k0 / exponent_packed_rows * Block<Elements>::size;
  for (; k > 0; k -= exponent_packed_rows, block += Block<Elements>::size, to += block_elements) {
    if (k >= exponent_packed_rows) {
      unpack_block<Elements>(block, to);
    } else {
      float whole[block_elements];
      unpack_block<Elements>(block, whole);
      std::memcpy(to, whole, static_cast<size_t>(k * NR) * sizeof(float));
    }
  }
}

/// Inserts the elements that did not fit into a group.
template <class Elements>
LATHE_INLINE void complete(const std::byte* block, int64_t row, Vec (&group)[Block<Elements>::vectors]) {
  float elements[Block<Elements>::group_elements];
  LATHE_UNROLL
  for (int j = 0; j < Block<Elements>::vectors; ++j) store(elements + j * Vec::width, group[j]);
  put_rest(block, row * NR, Block<Elements>::group_elements, elements);
  LATHE_UNROLL
  for (int j = 0; j < Block<Elements>::vectors; ++j) group[j] = load(elements + j * Vec::width);
}

/// Adds one row of a block times an element of each row of A.
template <class Elements, int Rows>
LATHE_INLINE void add_row(const Vec* row, const float* a, Vec (&sum)[Rows][panel_vectors]) {
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    const Vec x = set(a[i * a_block]);
    LATHE_UNROLL
    for (int j = 0; j < panel_vectors; ++j) Elements::add_product(sum[i][j], x, row[j]);
  }
}

/// Prefetches the next few groups from memory (measured on an Intel Xeon: best from 500 to 1500 bytes ahead)
/// or, past the second-level cache, groups further ahead (on a Zen 5, floats of 28 bits: 10.3 ms without,
/// 11.0 with 1344 bytes, 9.6 with 3584, 10.4 with 8960; bfloat16 of 12 bits: 4.4, 4.9 with 768, 4.2 with
/// 3072, 3.9 with 6144, 4.1 with 12288).
template <class Elements, bool Past>
LATHE_INLINE void prefetch_ahead(const std::byte* group) {
  constexpr int64_t size = Block<Elements>::group_size;
  constexpr int64_t ahead = !Past ? 1344 : Elements::size == 1 ? 6144 : 3584;
  LATHE_UNROLL
  for (int64_t i = 0; i < size; i += line) __builtin_prefetch(group + ahead + i, 0, Past ? 0 : 3);
}

/// Adds the products of a complete block.
template <class Elements, int Rows, int Sums, bool Past>
LATHE_INLINE void add_whole(const std::byte* block, const float* a, Vec (&sum)[Sums][Rows][panel_vectors]) {
  using B = Block<Elements>;
  static_assert(B::group_rows % Sums == 0);
  const Exponents e = exponents(block);
  const int unfit = static_cast<int>(block[2]) | static_cast<int>(block[3]) << 8;
  for (int64_t i = 0; i < B::groups; ++i) {
    const std::byte* const from = block + line + i * B::group_size;
    const int64_t k = i * B::group_rows;
    prefetch_ahead<Elements, Past>(from);
    Vec group[B::vectors];
    decode_group<Elements>(from, e, group);
    if ((unfit >> i & 1) != 0) [[unlikely]]
      complete<Elements>(block, k, group);
    LATHE_UNROLL
    for (int u = 0; u < B::group_rows; ++u)
      add_row<Elements, Rows>(group + u * panel_vectors, a + k / a_block * a_block * Rows + k % a_block + u,
                              sum[u % Sums]);
  }
}

/// The same for a block of fewer rows.
template <class Elements, int Rows, int Sums>
__attribute__((noinline)) void add_unpacked(const std::byte* block, int64_t k, const float* a,
                                            Vec (&sum)[Sums][Rows][panel_vectors]) {
  alignas(64) float elements[block_elements];
  unpack_block<Elements>(block, elements);
  for (int64_t kk = 0; kk < k; ++kk) {
    Vec row[panel_vectors];
    for (int j = 0; j < panel_vectors; ++j) row[j] = load(elements + kk * NR + j * Vec::width);
    // Terms after the last whole block of A are added to the first sums.
    const bool in_turn = kk / a_block * a_block + a_block <= k;
    const float* const at = a + kk / a_block * a_block * Rows + kk % a_block;
    add_row<Elements, Rows>(row, at, sum[in_turn ? kk % Sums : 0]);
  }
}

template <class Elements, int Rows, int Sums, bool Past>
void multiply_exponent_packed(const ExponentPackedTile& t) {
  Vec sum[Sums][Rows][panel_vectors];
  LATHE_UNROLL
  for (int s = 0; s < Sums; ++s) {
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      LATHE_UNROLL
      for (int j = 0; j < panel_vectors; ++j) sum[s][i][j] = zero();
    }
  }
  const std::byte* block = t.panel;
  for (int64_t k0 = 0; k0 < t.k; k0 += exponent_packed_rows, block += Block<Elements>::size) {
    const float* const a = t.a + k0 * Rows;
    if (t.k - k0 >= exponent_packed_rows) [[likely]] {
      add_whole<Elements, Rows, Sums, Past>(block, a, sum);
    } else {
      Vec other[Sums][Rows][panel_vectors];  // a copy, whose address is taken
      std::memcpy(other, sum, sizeof sum);
      add_unpacked<Elements, Rows, Sums>(block, t.k - k0, a, other);
      std::memcpy(sum, other, sizeof sum);
    }
  }
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < panel_vectors; ++j) {
      Vec all = sum[0][i][j];
      for (int s = 1; s < Sums; ++s) all = all + sum[s][i][j];
      store(t.sums + i * NR + j * Vec::width, all);
    }
}

/// The greatest exponent of a block, except that of infinities and NaN.
template <class Elements>
uint8_t greatest_exponent(const float* rows) {
  constexpr int64_t step = Elements::vectors * Vec::width;
  U8 most = set_u8(1);
  for (int64_t i = 0; i < block_elements; i += step) {
    U8 u16s[2];
    Elements::u16s(rows + i, u16s);
    most = max(most, exponents_of(u16s) + set_u8(1));
  }
  std::byte lanes[U8::size];
  store_lanes(lanes, most);
  auto greatest = std::byte{1};
  for (const std::byte one : lanes) greatest = greatest > one ? greatest : one;
  return static_cast<uint8_t>(static_cast<int>(greatest) - 1);
}

/// Encodes a group for decode_group(). Returns whether all elements fit.
template <class Elements>
LATHE_INLINE bool encode_group(const float* from, uint8_t base, const Exponents& e, std::byte* to) {
  U8 codes[2], wrong = set_u8(0);
  LATHE_UNROLL
  for (int h = 0; h < 2; ++h) {
    U8 u16s[2];
    Elements::u16s(from + h * Elements::vectors * Vec::width, u16s);
    Elements::encode(from + h * Elements::vectors * Vec::width, u16s,
                     to + U8::size + h * Block<Elements>::half_size);
    const U8 is = exponents_of(u16s);
    codes[h] = min(less(is, set_u8(base)), set_u8(15));
    wrong = wrong | (look_up(e.all, codes[h]) ^ is);
  }
  store_lanes(to, codes[0] | shifted_up<4>(codes[1]));
  std::byte lanes[U8::size], any{0};
  store_lanes(lanes, wrong);
  for (const std::byte one : lanes) any |= one;
  return any == std::byte{0};
}

/// Records the elements of a group that do not fit. Returns false if there is no space for them.
template <class Elements>
bool note_rest(const float* elements, int64_t group, ExponentPackedBlock& block) {
  const int64_t first = group * Block<Elements>::group_elements;
  for (int64_t i = first; i < first + Block<Elements>::group_elements; ++i) {
    uint32_t bits;
    std::memcpy(&bits, elements + i, sizeof bits);
    if (Elements::fits(bits, block.base)) continue;
    if (block.count == ExponentPackedBlock::max_exceptions) return false;
    block.groups = static_cast<uint16_t>(block.groups | 1 << group);
    block.at[block.count] = static_cast<uint16_t>(i);
    block.value[block.count++] = elements[i];
  }
  return true;
}

template <class Elements>
bool encode(const float* rows, std::byte* to) {
  using B = Block<Elements>;
  const uint8_t greatest = greatest_exponent<Elements>(rows);
  ExponentPackedBlock block = {};
  block.base = static_cast<uint8_t>(greatest > 15 ? greatest - 15 : 0);
  const Exponents e(block.base);
  for (int64_t i = 0; i < B::groups; ++i)
    if (!encode_group<Elements>(rows + i * B::group_elements, block.base, e, to + line + i * B::group_size) &&
        !note_rest<Elements>(rows, i, block))
      return false;
  std::memcpy(to, &block, sizeof block);
  return true;
}

template <class Elements, int... Rows>
constexpr ExponentPackedKernels make_table(std::integer_sequence<int, Rows...>) {
  ExponentPackedKernels k{
      .block_size = Block<Elements>::size, .encode = encode<Elements>, .unpack = unpack<Elements>};
  ((k.multiply[0][Rows + 1] = multiply_exponent_packed<Elements, Rows + 1, 1, false>,
    k.multiply[1][Rows + 1] = multiply_exponent_packed<Elements, Rows + 1, 1, true>),
   ...);
  k.multiply_row[0] = multiply_exponent_packed<Elements, 1, 2, false>;
  k.multiply_row[1] = multiply_exponent_packed<Elements, 1, 2, true>;
  return k;
}
constexpr ExponentPackedTables table{make_table<Floats>(std::make_integer_sequence<int, two_panel_rows>()),
                                     make_table<Bf16Dot2>(std::make_integer_sequence<int, two_panel_rows>())};
