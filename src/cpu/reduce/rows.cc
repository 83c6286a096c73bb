#include "cpu/reduce/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/ceil_of.h"
#include "cpu/elementwise.h"
#include "cpu/simd/isa.h"

#define LATHE_ISA_BODY "cpu/reduce/rows_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(RowKernels, row_kernels)

namespace {

/// Elements of a row that are processed between polls; longer rows are combined from such pieces.
constexpr int64_t longest_row = int64_t{1} << 18;

float joined(ReduceOp op, float a, float b) {
  if (op == ReduceOp::maximum) return a < b || b != b ? b : a;
  if (op == ReduceOp::minimum) return b < a || b != b ? b : a;
  return a + b;
}

/// Operations along the axis of one row, or of a few neighboring columns, that is too long for one call: they
/// run in pieces, with polls in between. Results depend on the length alone, as those of shorter rows do.
class LongRow {
 public:
  /// `width` columns of rows that are `stride` long; for a single contiguous row both are 1.
  LongRow(Isa isa, int64_t n, int64_t stride, int64_t width, KernelContext& c)
      : rows_(row_kernels(isa)),
        maths_(elementwise_kernels(isa)),
        n_(n),
        stride_(stride),
        width_(width),
        c_(c) {}

  /// to[width] = op over the n elements, times `factor`.
  void reduce(ReduceOp op, const float* x, float* to, float factor = 1) {
    const auto i = static_cast<size_t>(op);
    if (stride_ != 1) return columns(rows_.reduce_columns[i], {.x = x, .y = to, .factor = factor});
    each_piece([&](int64_t begin, int64_t count) {
      const float part = rows_.reduce[i](x + begin, count);
      *to = begin == 0 ? part : joined(op, *to, part);
    });
    *to *= factor;
  }
  /// to[width] = log Σ exp(x).
  void log_sum_exp(const float* x, float* to) {
    float top[widest], sums[widest];
    reduce(ReduceOp::maximum, x, top);
    if (stride_ == 1) {
      double sum = 0;
      each_piece([&](int64_t begin, int64_t count) {
        sum += static_cast<double>(rows_.exponentials(x + begin, count, *top));
      });
      *sums = static_cast<float>(sum);
    } else {
      columns(rows_.exponentials_columns, {.x = x, .y = sums, .tops = top});
    }
    // Infinities stay as they are, since subtracting them gives NaN; NaN stays NaN.
    for (int64_t k = 0; k < width_; ++k) to[k] = std::isfinite(top[k]) ? top[k] + std::log(sums[k]) : top[k];
  }
  /// y = op(x, by[column]).
  void apply(BinaryOp op, const float* x, const float* by, float* y) {
    const auto row = maths_.binary[static_cast<size_t>(op)];
    each_run([&](int64_t at, int64_t length) {
      row[static_cast<size_t>(stride_ == 1 ? RowForm::right_single : RowForm::both)](x + at, by, y + at,
                                                                                     length);
    });
  }
  /// y = exp(x); sums are by column. Null y: computes the sums only.
  void exponentials(const float* x, float* y, float* sums) {
    const auto row = maths_.unary[static_cast<size_t>(UnaryOp::exponential)];
    double totals[max_columns] = {};
    float kept[run_length];
    each_run([&](int64_t at, int64_t length) {
      float* const to = y ? y + at : kept;
      row(x + at, to, length, 0, 0);
      if (stride_ == 1)
        totals[0] += static_cast<double>(rows_.reduce[static_cast<size_t>(ReduceOp::sum)](to, length));
      else
        for (int64_t k = 0; k < width_; ++k) totals[k] += static_cast<double>(to[k]);
    });
    for (int64_t k = 0; k < width_; ++k) sums[k] = static_cast<float>(totals[k]);
  }
  static constexpr int64_t max_columns = 64;  // more than any vector has lanes
  /// The most columns for reduce() and log_sum_exp(): their results stay in the first-level cache while rows
  /// are read.
  static constexpr int64_t widest = 1024;

  /// Calls f(begin, count) for pieces of the axis.
  template <class F>
  void each_piece(F&& f) {
    const int64_t piece = std::max<int64_t>(1, longest_row / width_);
    for (int64_t i = 0; i < n_; i += piece) {
      c_.poll();
      f(i, std::min(piece, n_ - i));
    }
  }

 private:
  static constexpr int64_t run_length = 4096;

  void columns(void (*take)(const Columns&), Columns all) {
    float lost[widest];
    const auto some_rows = [&](int64_t begin, int64_t count) {
      Columns some = all;
      some.x += begin * stride_;
      some.n = count, some.stride = stride_, some.width = width_;
      some.lost = lost;
      some.begins = begin == 0, some.ends = begin + count == n_;
      take(some);
    };
    if (n_ == 0) return some_rows(0, 0);  // writes the neutral results
    each_piece(some_rows);
  }

  /// Calls f(offset, length) for runs of neighbors.
  template <class F>
  void each_run(F&& f) {
    each_piece([&](int64_t begin, int64_t count) {
      if (stride_ == 1)
        for (int64_t i = 0; i < count; i += run_length) f(begin + i, std::min(run_length, count - i));
      else
        for (int64_t i = 0; i < count; ++i) f((begin + i) * stride_, width_);
    });
  }

  const RowKernels& rows_;
  const ElementwiseKernels& maths_;
  int64_t n_, stride_, width_;
  KernelContext& c_;
};

void long_softmax(LongRow row, const float* x, float* y, int64_t width, bool logarithm) {
  float top[LongRow::max_columns], sums[LongRow::max_columns];
  row.reduce(ReduceOp::maximum, x, top);
  row.apply(BinaryOp::subtract, x, top, y);
  row.exponentials(y, logarithm ? nullptr : y, sums);
  for (int64_t k = 0; k < width; ++k) sums[k] = logarithm ? std::log(sums[k]) : sums[k];
  row.apply(logarithm ? BinaryOp::subtract : BinaryOp::divide, y, sums, y);
}

/// The statistics of a row that is too long for one call.
RowStatistics long_statistics(Isa isa, const float* x, const RowNormalization& r, KernelContext& c) {
  const auto n = static_cast<float>(r.n);
  LongRow row(isa, r.n, 1, 1, c);
  float sum = 0, squares = 0;
  if (r.center) row.reduce(ReduceOp::sum, x, &sum);
  row.each_piece([&](int64_t begin, int64_t count) {
    squares += row_kernels(isa).squares_around(x + begin, count, sum / n);
  });
  return {sum / n, 1.0f / std::sqrt(squares / n + r.epsilon)};
}

/// Calls f(i, behind) for `count` rows or column groups of `size` elements each, and applies the epilogue to
/// what is computed, or to what f reports to `behind`. The results of the i-th of them begin at element at(i)
/// of the output, and end where those of the next one begin.
template <class At, class F>
void for_each_piece(int64_t count, int64_t size, Epilogue* e, KernelContext& c, At&& at, F&& f) {
  const int64_t grain = std::max<int64_t>(1, elements_a_piece / std::max<int64_t>(1, size));
  c.parallel(count, grain, [&](int64_t begin, int64_t end) {
    StreamingEpilogue behind(e, at(begin));
    for (int64_t i = begin; i < end;) {
      c.poll();
      for (const int64_t stop = std::min(end, i + grain); i < stop; ++i) f(i, behind);
      behind.computed(at(i));
    }
    behind.flush(at(end));
  });
}

/// Calls f(input offset, output offset, width) for runs of neighboring columns. Runs are as wide as possible,
/// since rows are pages apart, but there are enough of them to keep all threads busy.
template <class F>
void for_each_columns(int64_t outer, int64_t n, int64_t inner, Epilogue* e, KernelContext& c, F&& f) {
  constexpr int64_t narrowest = 128;
  const int64_t wanted = c.threads() == 1 ? 1 : 2 * c.threads();
  int64_t width = LongRow::widest;
  while (width > narrowest && outer * ceil_of(inner, width) < wanted) width /= 2;
  const int64_t runs = ceil_of(inner, width);
  const auto at = [&](int64_t i) { return i / runs * inner + i % runs * width; };
  for_each_piece(outer * runs, n * std::min(width, inner), e, c, at, [&](int64_t i, StreamingEpilogue&) {
    const int64_t o = i / runs, column = i % runs * width;
    f(o * n * inner + column, o * inner + column, std::min(width, inner - column));
  });
}
int64_t one_for_each(int64_t i) { return i; }

}  // namespace

void softmax(Isa isa, const float* x, float* y, int64_t outer, int64_t n, int64_t inner, bool logarithm,
             KernelContext& c) {
  const RowKernels& k = row_kernels(isa);
  if (n == 0) return;
  if (inner == 1) {
    const int64_t together =
        std::clamp<int64_t>(softmax_floats / (ceil_of(n, k.vector) * k.vector), 1, k.vector);
    const auto at = [&](int64_t i) { return std::min(i * together, outer) * n; };
    return for_each_piece(ceil_of(outer, together), together * n, c.epilogue(), c, at,
                          [&](int64_t i, StreamingEpilogue& behind) {
                            if (n > longest_row)
                              long_softmax(LongRow(isa, n, 1, 1, c), x + at(i), y + at(i), 1, logarithm);
                            else
                              k.softmax(x + at(i), y + at(i), std::min(together, outer - i * together), n,
                                        logarithm);
                            behind.computed(at(i + 1));
                          });
  }
  const int64_t groups = (inner + k.vector - 1) / k.vector;
  const auto at = [&](int64_t i) { return i / groups * n * inner + i % groups * k.vector; };
  for_each_piece(outer * groups, n * k.vector, nullptr, c, at, [&](int64_t i, StreamingEpilogue&) {
    const int64_t width = std::min(k.vector, inner - i % groups * k.vector);
    if (n > longest_row / k.vector)
      long_softmax(LongRow(isa, n, inner, width, c), x + at(i), y + at(i), width, logarithm);
    else
      k.softmax_columns(x + at(i), y + at(i), n, inner, width, logarithm);
  });
  // Applying the epilogue for a vector's lanes at a time would cost as much as softmax itself.
  if (Epilogue* const e = c.epilogue()) run_pointwise(*e, outer * n * inner, c);
}

void reduce(Isa isa, ReduceOp op, const float* x, float* y, int64_t outer, int64_t n, int64_t inner,
            float factor, Epilogue* e, KernelContext& c) {
  const RowKernels& k = row_kernels(isa);
  if (inner == 1) {
    const auto row = k.reduce[static_cast<size_t>(op)];
    return for_each_piece(outer, n, e, c, one_for_each, [&](int64_t i, StreamingEpilogue&) {
      if (n > longest_row)
        LongRow(isa, n, 1, 1, c).reduce(op, x + i * n, y + i, factor);
      else
        y[i] = row(x + i * n, n) * factor;
    });
  }
  for_each_columns(outer, n, inner, e, c, [&](int64_t at, int64_t to, int64_t width) {
    LongRow(isa, n, inner, width, c).reduce(op, x + at, y + to, factor);
  });
}

void log_sum_exp(Isa isa, const float* x, float* y, int64_t outer, int64_t n, int64_t inner, Epilogue* e,
                 KernelContext& c) {
  if (inner == 1 && n > 0)
    return for_each_piece(outer, n, e, c, one_for_each, [&](int64_t i, StreamingEpilogue&) {
      LongRow(isa, n, 1, 1, c).log_sum_exp(x + i * n, y + i);
    });
  for_each_columns(outer, n, inner, e, c, [&](int64_t at, int64_t to, int64_t width) {
    if (n == 0)
      std::fill_n(y + to, width, -std::numeric_limits<float>::infinity());
    else
      LongRow(isa, n, inner, width, c).log_sum_exp(x + at, y + to);
  });
}

namespace {

/// Normalizes a row with its statistics, in parts that share a scale and a bias, and in pieces to which the
/// epilogue is then applied.
void normalize_parts(const RowKernels& k, const RowNormalization& r, int64_t row, const RowStatistics& s,
                     StreamingEpilogue& behind, KernelContext& c) {
  const int64_t together = r.channels ? r.of_channel : r.n, parts = r.channels ? r.n / together : 1;
  for (int64_t p = 0; p < parts; ++p)
    for (int64_t j = 0; j < together; j += StreamingEpilogue::piece) {
      if (j > 0 && j % elements_a_piece == 0) c.poll();
      const int64_t at = row * r.n + p * together + j, own = r.channels ? (row * parts + p) % r.channels : j;
      const int64_t n = std::min(StreamingEpilogue::piece, together - j);
      k.normalize(r.part(at, n, own), s);
      behind.computed(at + n);
    }
}

}  // namespace

void normalize(Isa isa, const RowNormalization& r, KernelContext& c) {
  const RowKernels& k = row_kernels(isa);
  const auto row_at = [&](int64_t i) { return i * r.n; };
  const auto keep = [&](int64_t i, const RowStatistics& s) {
    if (r.mean) r.mean[i] = s.mean;
    if (r.inverse) r.inverse[i] = s.inverse;
  };
  // Short rows are normalized in one call.
  if (r.n <= StreamingEpilogue::piece && (r.channels == 0 || r.of_channel == r.n))
    return for_each_piece(r.rows, r.n, c.epilogue(), c, row_at, [&](int64_t i, StreamingEpilogue& behind) {
      const int64_t own = r.channels ? i % r.channels : 0;
      keep(i, k.normalize_row(r.part(row_at(i), r.n, own), r.center, r.epsilon));
      behind.computed(row_at(i + 1));
    });
  for_each_piece(r.rows, r.n, c.epilogue(), c, row_at, [&](int64_t i, StreamingEpilogue& behind) {
    const RowStatistics s = r.n <= longest_row ? k.statistics(r.x + row_at(i), r.n, r.center, r.epsilon)
                                               : long_statistics(isa, r.x + row_at(i), r, c);
    keep(i, s);
    normalize_parts(k, r, i, s, behind, c);
  });
}

}  // namespace lathe::cpu
