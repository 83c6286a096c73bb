// TopK: most of a row is only held against the least of what was found so far.
#include "ops/top_k/top_k.h"

#include <algorithm>

#include "cpu/ask.h"
#include "cpu/tasks.h"
#include "cpu/top.h"
#include "ops/movement.h"

namespace lathe {
namespace {

/// Columns beside each other that are copied into rows at once.
constexpr int64_t columns_together = 16;

Verdict ask(const TopK&, const KernelRequest& r) {
  const DataType t = r.inputs[0].type;
  if (t != DataType::float32 && t != DataType::int32 && t != DataType::int64)
    return Verdict::no("only float32, int32 and int64, not " + std::string(name_of(t)));
  return Verdict::yes();
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
  /// Bytes of a task's scratch: the candidates, then columns as rows. Shapes say neither K nor the element
  /// type: it is enough for any.
  size_t candidates() const {
    return lines(static_cast<size_t>(cpu::top_candidates(length, length)) * sizeof(cpu::Ranked<uint64_t>));
  }
  size_t slot() const {
    return candidates() + (inner == 1 ? 0 : lines(static_cast<size_t>(columns * length) * sizeof(int64_t)));
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
  for_type(x.type(), Types<float, int32_t, int64_t>{}, [&]<class T> {
    const T* const from = x.as<T>().data();
    T* const values = c.wants(0) ? c.out(0, x.type(), shape).template as<T>().data() : nullptr;
    int64_t* const places = c.wants(1) ? c.out(1, DataType::int64, shape).as<int64_t>().data() : nullptr;
    auto* const scratch = static_cast<char*>(c.workspace(rows.workspace(c.threads())));
    const int64_t blocks = rows.columns == 0 ? 0 : ceil_div(inner, rows.columns);
    cpu::for_each_task(c, rows.tasks(), [&](int64_t task, int64_t slot) {
      char* const mine = scratch + static_cast<size_t>(slot) * rows.slot();
      auto* const candidates = reinterpret_cast<cpu::Ranked<cpu::RankKey<T>>*>(mine);
      const int64_t outer = task / blocks, first = task % blocks * rows.columns;
      const int64_t columns = std::min(rows.columns, inner - first);
      const T* row = from + outer * n * inner + first;
      if (inner > 1) {
        T* const copies = reinterpret_cast<T*>(mine + rows.candidates());
        for (int64_t j = 0; j < n; ++j, row += inner)
          for (int64_t i = 0; i < columns; ++i) copies[i * n + j] = row[i];
        row = copies;
      }
      for (int64_t i = 0; i < columns; ++i, row += n) {
        cpu::find_top(isa, row, n, k, op.largest, candidates, c);
        int64_t to = outer * k * inner + first + i;
        for (int64_t j = 0; j < k; ++j, to += inner) {
          const uint32_t place = candidates[j].index;
          if (values) values[to] = row[place];
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
                {.run = top_k<isa>, .ask = ask, .workspace = workspace});
  });
}

}  // namespace lathe
