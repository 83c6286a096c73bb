#include "ops/reduce/reduce.h"

#include <array>
#include <cmath>

#include "ops/elementwise/lines.h"
#include "ops/reduce/reduced_axes.h"

namespace lathe {
namespace {

/// A function over a set of elements. Floats are summed in double. L is the lane.
template <ReduceFunction function, class L>
struct Reduction {
  using F = ReduceFunction;
  // Sums and products of integers wrap around.
  using W = std::conditional_t<std::is_same_v<L, double>, double, uint64_t>;
  static constexpr bool real = std::is_same_v<L, double>;

  L total;
  double shift = -HUGE_VAL;  // log_sum_exp: the greatest so far

  explicit Reduction(DataType type) : total(start(type)) {}

  /// The result of no elements: for max and min, the end of the type's range.
  static L start(DataType type) {
    if constexpr (function == F::prod) return 1;
    if constexpr (function != F::max && function != F::min) return 0;
    constexpr bool lowest = function == F::max;
    if constexpr (real) return lowest ? -HUGE_VAL : HUGE_VAL;
    if (!is_signed_integer(type)) return lowest ? 0 : static_cast<L>(-1);
    const int64_t least = INT64_MIN >> (64 - bits_of(type));
    return static_cast<L>(lowest ? least : -1 - least);
  }
  static L plus(L a, L b) { return static_cast<L>(static_cast<W>(a) + static_cast<W>(b)); }
  static L times(L a, L b) { return static_cast<L>(static_cast<W>(a) * static_cast<W>(b)); }

  void add(L x) {
    if constexpr (function == F::sum || function == F::mean || function == F::log_sum)
      total = plus(total, x);
    else if constexpr (function == F::prod)
      total = times(total, x);
    else if constexpr (function == F::l1)
      total = plus(total, x < 0 ? times(x, static_cast<L>(-1)) : x);
    else if constexpr (function == F::l2 || function == F::sum_square)
      total = plus(total, times(x, x));
    else if constexpr (function == F::max)
      total = x > total || x != x ? x : total;
    else if constexpr (function == F::min)
      total = x < total || x != x ? x : total;
    else
      add_exp(static_cast<double>(x));
  }
  /// Sum of exp(x - shift), rescaled when a greater x comes.
  void add_exp(double x) {
    if (x > shift) {
      total = static_cast<L>(static_cast<double>(total) * std::exp(shift - x) + 1);
      shift = x;
    } else if (x != -HUGE_VAL || std::isnan(x)) {
      total = static_cast<L>(static_cast<double>(total) + (x == shift ? 1 : std::exp(x - shift)));
    }
  }
  /// The root of a sum of squares that wrapped around is no number.
  static L lane(double x) {
    if constexpr (real) return x;
    return static_cast<L>(to_integer(x));
  }
  L result(int64_t n) const {
    if constexpr (function == F::mean) return real || n > 0 ? total / static_cast<L>(n) : 0;
    if constexpr (function == F::l2) return lane(std::sqrt(static_cast<double>(total)));
    if constexpr (function == F::log_sum) return lane(std::log(static_cast<double>(total)));
    if constexpr (function == F::log_sum_exp)
      return lane(std::log(static_cast<double>(total)) + (std::isinf(shift) && shift < 0 ? 0 : shift));
    return total;
  }
};

/// The offsets of the elements that share an output, in runs of `run` elements.
struct ReducedSet {
  Shape kept, kept_strides, gone, gone_strides;
  int64_t run = 1;     // the innermost reduced axis
  int64_t stride = 1;  // … and the distance between its elements
  int64_t count = 1;   // elements of one set

  ReducedSet(const Shape& shape, const AxisFlags& reduced) {
    int64_t stride_of_axis = 1;
    Shape strides(shape.size(), 0);
    for (size_t a = shape.size(); a-- > 0;) {
      strides[a] = stride_of_axis;
      stride_of_axis *= shape[a];
    }
    for (size_t a = 0; a < shape.size(); ++a) {
      (reduced[a] ? gone : kept).push_back(shape[a]);
      (reduced[a] ? gone_strides : kept_strides).push_back(strides[a]);
    }
    count = count_of(gone);
    if (!gone.empty()) {
      run = gone.back();
      stride = gone_strides.back();
      gone.pop_back();
      gone_strides.pop_back();
    }
  }
};

/// Offset of the i-th index of a shape, under strides.
int64_t offset_at(int64_t i, const Shape& shape, const Shape& strides) {
  int64_t offset = 0;
  for (size_t a = shape.size(); a-- > 0;) {
    offset += i % shape[a] * strides[a];
    i /= shape[a];
  }
  return offset;
}

template <ReduceFunction function, class L>
void reduce_lane(KernelContext& c, const ReducedSet& set, Tensor& out) {
  const Tensor& in = c.in(0);
  const int64_t runs = set.count == 0 ? 0 : set.count / set.run;
  c.parallel(out.size(), std::max<int64_t>(4096 / std::max<int64_t>(set.count, 1), 1),
             [&](int64_t begin, int64_t end) {
               std::array<L, lane_block> block;
               for (int64_t o = begin; o < end; ++o) {
                 if ((o & 255) == 0) c.poll();
                 Reduction<function, L> r(in.type());
                 const int64_t base = offset_at(o, set.kept, set.kept_strides);
                 for (int64_t g = 0; g < runs; ++g) {
                   const int64_t first = base + offset_at(g, set.gone, set.gone_strides);
                   for (int64_t i = 0; i < set.run; i += lane_block) {
                     c.poll();
                     const int64_t n = std::min(lane_block, set.run - i);
                     if (set.stride == 1)
                       load_lanes(in, first + i, n, block.data());
                     else
                       for (int64_t j = 0; j < n; ++j)
                         load_lanes(in, first + (i + j) * set.stride, 1, &block[static_cast<size_t>(j)]);
                     for (int64_t j = 0; j < n; ++j) r.add(block[static_cast<size_t>(j)]);
                   }
                 }
                 const L result = r.result(set.count);
                 store_lanes(out, o, 1, &result);
               }
             });
}

template <ReduceFunction function>
void reduce(const Reduce<function>& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  const AxisFlags reduced = reduced_axes(c, in.rank(), op.noop_with_empty_axes);
  Tensor& out = reduced_output(c, reduced, op.keepdims);
  const ReducedSet set(in.shape(), reduced);
  with_lane(in.type(), [&]<class L> { reduce_lane<function, L>(c, set, out); });
}

template <ReduceFunction function>
void add_reduce(KernelCatalog& k, const char* name) {
  k.reference<Reduce<function>>(name, reduce<function>);
}

}  // namespace

void reference_reduce(KernelCatalog& k) {
  add_reduce<ReduceFunction::sum>(k, "ReduceSum");
  add_reduce<ReduceFunction::mean>(k, "ReduceMean");
  add_reduce<ReduceFunction::max>(k, "ReduceMax");
  add_reduce<ReduceFunction::min>(k, "ReduceMin");
  add_reduce<ReduceFunction::prod>(k, "ReduceProd");
  add_reduce<ReduceFunction::l1>(k, "ReduceL1");
  add_reduce<ReduceFunction::l2>(k, "ReduceL2");
  add_reduce<ReduceFunction::log_sum>(k, "ReduceLogSum");
  add_reduce<ReduceFunction::log_sum_exp>(k, "ReduceLogSumExp");
  add_reduce<ReduceFunction::sum_square>(k, "ReduceSumSquare");
}

}  // namespace lathe
