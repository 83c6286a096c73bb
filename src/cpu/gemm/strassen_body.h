// Sums of quadrants and block products of Strassen's algorithm, for one instruction set. Included by
// for_each_isa.h only.

#include "cpu/gemm/gemm_rows_body.h"

constexpr float max_norm_ratio_squared = max_norm_ratio * max_norm_ratio;
/// The limit of sums of squares: beyond it, sums of quadrants could be infinite where C is not.
constexpr float max_squared = 1e30F;

/// The scaling that is applied to a block of terms of A as it is packed.
template <bool scaled>
struct BlockScalings {
  static constexpr int vectors = scaled ? a_block / Vec::width : 1;
  Vec factor[vectors], shift[vectors], least, greatest;

  LATHE_INLINE BlockScalings(const StrassenRows& r, int64_t channel)
      : least(set(r.before.bounds.least)), greatest(set(r.before.bounds.greatest)) {
    LATHE_UNROLL
    for (int i = 0; i < vectors; ++i) {
      factor[i] = scaled ? load(r.before.factor + channel + i * Vec::width) : set(r.scale);
      shift[i] = scaled && r.before.shift ? load(r.before.shift + channel + i * Vec::width) : zero();
    }
  }
  LATHE_INLINE Vec of(const float* terms, int64_t j) const {
    const Vec x = load(terms + j);
    if constexpr (!scaled) return x * factor[0];
    const auto i = static_cast<size_t>(scaled ? j / Vec::width : 0);
    return min(greatest, max(least, fma(x, factor[i], shift[i])));
  }
};

/// The outer loop runs along k, so that all writes are sequential.
template <bool scaled>
bool pack_rows(const StrassenRows& rows) {
  const StrassenRows r = rows;  // a copy, which stores cannot alias
  const int64_t matrix = r.rows * r.half_k;
  alignas(64) float squares[2][MR * Vec::width] = {};
  float* to = r.to;
  for (int64_t k0 = 0; k0 < r.half_k; k0 += a_block) {
    const int64_t at = k0 / a_block, beyond = (k0 + r.half_k) / a_block;
    const int64_t near = r.terms[at], far = r.terms[beyond];
    const BlockScalings<scaled> first(r, r.channels[at]), second(r, r.channels[beyond]);
    constexpr int vectors = a_block / Vec::width;
    Vec most[2][vectors];
    LATHE_UNROLL
    for (int j = 0; j < vectors; ++j) most[0][j] = most[1][j] = zero();
    for (int64_t i = 0; i < r.rows; ++i, to += a_block) {
      const float *const top = r.a + r.top[i], *const bottom = r.a + r.bottom[i];
      float *const up = squares[0] + i * Vec::width, *const down = squares[1] + i * Vec::width;
      Vec upper = load(up), lower = load(down);
      LATHE_UNROLL
      for (int64_t j = 0; j < a_block; j += Vec::width) {
        const Vec p11 = first.of(top + near, j), p12 = second.of(top + far, j);
        const Vec p21 = first.of(bottom + near, j), p22 = second.of(bottom + far, j);
        Vec &one = most[0][j / Vec::width], &other = most[1][j / Vec::width];
        one = max(one, max(abs(p11), abs(p21)));
        other = max(other, max(abs(p12), abs(p22)));
        upper = fma(p11, p11, fma(p12, p12, upper));
        lower = fma(p21, p21, fma(p22, p22, lower));
        const Vec s1 = p21 + p22, s2 = s1 - p11;
        store(to + j, p11);
        store(to + matrix + j, p12);
        store(to + 2 * matrix + j, p21);
        store(to + 3 * matrix + j, p22);
        store(to + 4 * matrix + j, s1);
        store(to + 5 * matrix + j, s2);
        store(to + 6 * matrix + j, p11 - p21);
        store(to + 7 * matrix + j, p12 - s2);
      }
      store(up, upper);
      store(down, lower);
    }
    LATHE_UNROLL
    for (int j = 0; j < vectors; ++j) {
      store(r.most + k0 + j * Vec::width, most[0][j]);
      store(r.most + r.half_k + k0 + j * Vec::width, most[1][j]);
    }
  }
  bool near = true;
  for (int64_t i = 0; i < r.rows; ++i) {
    const float u = sum_of(load(squares[0] + i * Vec::width)), l = sum_of(load(squares[1] + i * Vec::width));
    near = near && u * max_norm_ratio_squared >= l && l * max_norm_ratio_squared >= u && u + l < max_squared;
  }
  return near;
}

bool compare_panels(const float* left, const float* right, int64_t half_k, float* max_by_term) {
  const int64_t matrix = half_k * NR;
  for (int64_t k = 0; k < 2 * half_k; ++k) {
    Vec most = zero();
    for (int64_t j = k * NR; j < (k + 1) * NR; j += Vec::width)
      most = max(most, max(abs(load(left + j)), abs(load(right + j))));
    max_by_term[k] = max_of(most);
  }
  const Vec one = set(1), far = set(max_norm_ratio_squared);
  Vec wrong = zero();
  for (int64_t j = 0; j < NR; j += Vec::width) {
    Vec sum[4] = {zero(), zero(), zero(), zero()};
    for (int64_t i = j; i < matrix; i += NR) {
      const Vec part[4] = {load(left + i), load(left + matrix + i), load(right + i),
                           load(right + matrix + i)};
      LATHE_UNROLL
      for (int p = 0; p < 4; ++p) sum[p] = fma(part[p], part[p], sum[p]);
    }
    const Vec least = min(min(sum[0], sum[1]), min(sum[2], sum[3]));
    const Vec most = max(max(sum[0], sum[1]), max(sum[2], sum[3]));
    const Vec all = sum[0] + sum[1] + (sum[2] + sum[3]);
    wrong = wrong + select(least * far >= most, zero(), one) + select(all < set(max_squared), zero(), one);
  }
  return sum_of(wrong) == 0;
}

bool compare_terms(const float* a, const float* b, int64_t half_k) {
  Vec apart = zero(), mixed = zero();
  for (int64_t k = 0; k < half_k; k += Vec::width) {
    const Vec a0 = load(a + k), a1 = load(a + half_k + k), b0 = load(b + k), b1 = load(b + half_k + k);
    apart = fma(a0, b0, fma(a1, b1, apart));
    mixed = fma(a0, b1, fma(a1, b0, mixed));
  }
  return sum_of(mixed) <= max_mixed * sum_of(apart);
}

/// Sums are computed in chains of at most strassen_chain terms, each of which is added to the result so far.
/// So rounding errors hardly grow with k, and seven products lose no more than one sum over all of k would.
template <int Rows, bool Difference>
void multiply(const StrassenTile& t) {
  const float *a = t.a, *next = t.next, *from = t.from;
  int64_t at = 0;
  for (int64_t k0 = 0; k0 < t.k; k0 += strassen_chain) {
    Vec sum[Rows][2];
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      LATHE_UNROLL
      for (int j = 0; j < 2; ++j) sum[i][j] = zero();
    }
    const int64_t end = t.k - k0 < strassen_chain ? t.k : k0 + strassen_chain;
    for (int64_t k = k0; k < end; k += a_block, a += Rows * a_block) {
      LATHE_ROLLED
      for (int64_t kk = 0; kk < a_block; kk += strassen_unroll) {
        for (int64_t i = 0; i < t.next_lines; ++i, next += 16) __builtin_prefetch(next, 0, 2);
        LATHE_UNROLL
        for (int u = 0; u < strassen_unroll; ++u, at += NR) {
          Vec row[2];
          LATHE_UNROLL
          for (int j = 0; j < 2; ++j) {
            const int64_t here = at + j * Vec::width;
            row[j] = load(t.b + here);
            if (Difference) {
              row[j] = row[j] - load(t.less + here);
              store(t.made + here, row[j]);
            }
          }
          LATHE_UNROLL
          for (int i = 0; i < Rows; ++i) {
            const Vec x = set(a[i * a_block + kk + u]);
            LATHE_UNROLL
            for (int j = 0; j < 2; ++j) accumulate(sum[i][j], x, row[j]);
          }
        }
      }
    }
    if (from) {
      LATHE_UNROLL
      for (int i = 0; i < Rows; ++i) {
        LATHE_UNROLL
        for (int j = 0; j < 2; ++j) sum[i][j] = sum[i][j] + load(from + i * NR + j * Vec::width);
      }
    }
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i) store_row(t.to + i * NR, sum[i], NR, true);
    from = t.to;
  }
}

void epilogue(const StrassenSums& s, const float* x, const float* y) {
  const Vec scale = set(s.start.scale), least = set(s.bounds.least), greatest = set(s.bounds.greatest);
  for (int64_t i = 0; i < s.rows; ++i, x += NR) {
    const float* const start = s.start.data ? s.start.data + i * s.start.row : nullptr;
    LATHE_UNROLL
    for (int64_t j = 0; j < NR; j += Vec::width) {
      const int64_t left = s.columns - j;
      if (left <= 0) continue;
      const bool whole = left >= Vec::width;
      float* const c = s.c + i * s.row + j / a_block * s.block + j % a_block;
      Vec sum = load(x + j);
      if (y) sum = sum + load(y + i * NR + j);
      if (s.add)
        sum = sum + (whole ? load(c) : load_first(c, left));
      else if (start)
        sum = fma(scale,
                  s.start.column == 0 ? set(*start)
                  : whole             ? load(start + j)
                                      : load_first(start + j, left),
                  sum);
      if (s.added) {
        const float* const added = s.added + i * s.added_row + j / a_block * s.added_block + j % a_block;
        sum = sum + (whole ? load(added) : load_first(added, left));
      }
      sum = min(greatest, max(least, sum));
      whole ? store(c, sum) : store_first(c, sum, left);
    }
  }
}

template <int... Rows>
constexpr StrassenKernels make_table(std::integer_sequence<int, Rows...>) {
  StrassenKernels k{.pack_rows = {pack_rows<false>, pack_rows<true>},
                    .compare_panels = compare_panels,
                    .compare_terms = compare_terms,
                    .epilogue = epilogue};
  ((k.multiply[Rows + 1] = multiply<Rows + 1, false>,
    k.multiply_difference[Rows + 1] = multiply<Rows + 1, true>),
   ...);
  return k;
}
constexpr StrassenKernels table = make_table(std::make_integer_sequence<int, MR>());
