// TopK: most of a row is only compared with the least of those found so far. Columns are searched side by
// side for a small K; for a larger one they are copied into rows.
#include "ops/top_k/top_k.h"

#include <algorithm>

#include "cpu/reduce.h"
#include "cpu/support.h"
#include "cpu/tasks.h"
#include "ops/movement.h"

namespace lathe {
namespace {

/// Columns beside each other that are copied into rows at once.
constexpr int64_t columns_together = 16;

constexpr Types<float, int32_t, int64_t, Float16, BFloat16, int8_t, uint8_t, int16_t, uint16_t> ranked_types;
/// The type in which elements are ranked; it keeps the values of narrow ones.
template <class T>
using Walked = std::conditional_t<std::is_integral_v<T> && sizeof(T) < sizeof(int32_t), int32_t, Compute<T>>;

Support supports(const TopK&, const KernelQuery& r) {
  return cpu::supports_type(r.inputs[0].type, ranked_types);
}

/// The rows of one call.
struct Rows {
  Rows(const TopK& op, const Shape& x) {
    const size_t axis = axis_of(op.axis, x.size());
    length = x[axis];
    for (size_t i = 0; i < x.size(); ++i)
      if (i != axis) (i < axis ? outer : inner) *= x[i];
    columns = std::min(inner, columns_together);
  }
  int64_t tasks() const { return columns == 0 ? 0 : outer * ceil_div(inner, columns); }
  /// Bytes of a task's scratch: the candidates, then columns or narrow elements as rows. Shapes tell neither
  /// K nor the element type: it is enough for any.
  size_t candidates() const {
    return lines(static_cast<size_t>(cpu::top_candidates(length, length)) *
                 sizeof(cpu::KeyedIndex<uint64_t>));
  }
  size_t slot() const {
    return candidates() + lines(static_cast<size_t>(columns * length) * sizeof(int64_t));
  }
  size_t workspace(int threads) const {
    return static_cast<size_t>(cpu::task_slots(tasks(), threads)) * slot();
  }
  static size_t lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

  int64_t outer = 1, length = 0, inner = 1, columns = 1;
};

size_t workspace(const TopK& op, std::span<const Shape> inputs, int threads) {
  return Rows(op, inputs[0]).workspace(threads);
}

/// Copies `columns` neighboring columns, whose elements are `stride` apart, into rows.
template <Isa isa, class T>
void copy_as_rows(const T* from, int64_t n, int64_t stride, int64_t columns, Walked<T>* to) {
  if (stride == 1) {
    if constexpr (std::is_same_v<Walked<T>, float> && sizeof(T) == 2)
      cpu::widen(isa, type_of<T>, from, to, n);
    else
      std::copy_n(from, n, to);
    return;
  }
  for (int64_t j = 0; j < n; ++j, from += stride)
    for (int64_t i = 0; i < columns; ++i) to[i * n + j] = Element<T>::load(from[i]);
}

/// Searches columns side by side, for a small K.
template <Isa isa, class T>
void walk_columns(const Rows& rows, const T* from, int64_t k, bool largest, T* values, int64_t* places,
                  KernelContext& c) {
  constexpr int64_t together = cpu::kept_blocks * cpu::kept_columns;
  const int64_t n = rows.length, inner = rows.inner, blocks = ceil_div(inner, together);
  const int64_t grain = std::max<int64_t>(1, 16384 / (std::max<int64_t>(n, 1) * together));
  c.parallel(rows.outer * blocks, grain, [&](int64_t begin, int64_t end) {
    cpu::KeptColumns<cpu::SortKey<T>> kept[cpu::kept_blocks];
    for (int64_t task = begin; task < end; ++task) {
      const int64_t outer = task / blocks, first = task % blocks * together;
      const int64_t columns = std::min(together, inner - first);
      const T* const column = from + outer * n * inner + first;
      cpu::find_top_of_columns(isa, column, n, inner, columns, k, largest, kept, c);
      for (int64_t j = 0; j < k; ++j)
        for (int64_t i = 0; i < columns; ++i) {
          const auto place =
              static_cast<int64_t>(kept[i / cpu::kept_columns].places[j][i % cpu::kept_columns]);
          const int64_t to = (outer * k + j) * inner + first + i;
          if (values) values[to] = column[place * inner + i];
          if (places) places[to] = place;
        }
    }
  });
}

template <Isa isa>
void top_k(const TopK& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const Tensor& count = c.in(1);
  const Rows rows(op, x.shape());
  const int64_t n = rows.length, k = count.size() == 1 ? count.as<int64_t>()[0] : -1, inner = rows.inner;
  if (k < 0 || k > n) c.fail(Code::run_bad_value, "K in [0, " + std::to_string(n) + "]", std::to_string(k));
  if (n > cpu::longest_top_row)
    c.fail(Code::run_too_large, "at most 2^31 elements along the axis", std::to_string(n));
  Shape shape = x.shape();
  shape[axis_of(op.axis, x.rank())] = k;
  for_type(x.type(), ranked_types, [&]<class T> {
    constexpr bool narrow = !std::is_same_v<T, Walked<T>>;
    const T* const from = x.as<T>().data();
    T* const values = c.wants(0) ? c.out(0, x.type(), shape).template as<T>().data() : nullptr;
    int64_t* const places = c.wants(1) ? c.out(1, DataType::int64, shape).as<int64_t>().data() : nullptr;
    auto* const scratch = static_cast<char*>(c.workspace(rows.workspace(c.threads())));
    if constexpr (!narrow)
      if (inner > 1 && k <= cpu::max_kept)
        return walk_columns<isa>(rows, from, k, op.largest, values, places, c);
    const int64_t blocks = rows.columns == 0 ? 0 : ceil_div(inner, rows.columns);
    cpu::for_each_task(c, rows.tasks(), [&](int64_t task, int64_t slot) {
      char* const mine = scratch + static_cast<size_t>(slot) * rows.slot();
      auto* const candidates = reinterpret_cast<cpu::KeyedIndex<cpu::SortKey<Walked<T>>>*>(mine);
      auto* const copies = reinterpret_cast<Walked<T>*>(mine + rows.candidates());
      const int64_t outer = task / blocks, first = task % blocks * rows.columns;
      const int64_t columns = std::min(rows.columns, inner - first);
      const T* const column = from + outer * n * inner + first;
      if (narrow || inner > 1) copy_as_rows<isa>(column, n, inner, columns, copies);
      for (int64_t i = 0; i < columns; ++i) {
        const Walked<T>* row = copies + i * n;
        if constexpr (!narrow)
          if (inner == 1) row = column;
        cpu::find_top(isa, row, n, k, op.largest, candidates, c);
        int64_t to = outer * k * inner + first + i;
        for (int64_t j = 0; j < k; ++j, to += inner) {
          const int64_t place = candidates[j].index;
          if (values) values[to] = column[place * inner + i];
          if (places) places[to] = place;
        }
      }
    });
  });
}

}  // namespace

void cpu_top_k(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<TopK>({.op = "TopK", .name = cpu::kernel_name("top_k", isa), .isa = isa},
                {.run = top_k<isa>, .supports = supports, .workspace = workspace});
  });
}

}  // namespace lathe
