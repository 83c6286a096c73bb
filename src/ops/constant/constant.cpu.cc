// Range of the numbers that index and measure, and OneHot of elements of whole bytes, on all threads.
#include "ops/constant/constant.h"

#include "cpu/elementwise.h"
#include "cpu/support.h"
#include "ops/compute.h"
#include "ops/picked.h"

namespace lathe {
namespace {

constexpr Types<int32_t, int64_t, float, double> fast_types;

Support supports(const Range&, const KernelQuery& r) {
  const DataType type = r.inputs[0].type;
  if (type == DataType::int32 || type == DataType::int64 || type == DataType::float32 ||
      type == DataType::float64)
    return Support::yes();
  return Support::no("not for " + std::string(name_of(type)));
}

void run(const Range&, KernelContext& c) {
  for (size_t i = 0; i < 3; ++i)
    if (c.in(i).size() != 1)
      c.fail(Code::run_bad_shape, "start, limit and delta that are scalars", describe(c.in(i)));
  for_type(c.in(0).type(), fast_types, [&]<class T>() -> void {
    using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
    const auto read = [&](size_t i) { return static_cast<Wide>(c.in(i).as<T>()[0]); };
    const Wide start = read(0), delta = read(2);
    Tensor& out = c.out(0, type_of<T>, {range_count(start, read(1), delta)});
    T* const to = out.as<T>().data();
    c.parallel(out.size(), cpu::elements_a_piece, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        c.poll();
        for (const int64_t stop = std::min(end, begin + cpu::elements_a_piece); begin < stop; ++begin)
          to[begin] = static_cast<T>(range_element(start, delta, begin));
      }
    });
  });
}

Support supports_one_hot(const OneHot&, const KernelQuery& r) {
  if (bits_of(r.inputs[2].type) < 8) return Support::no("elements are not of whole bytes");
  const DataType type = r.inputs[0].type;
  return type == DataType::int32 || type == DataType::int64
             ? Support::yes()
             : Support::no("no indices of " + std::string(name_of(type)));
}

/// The output, which is [outer, depth, inner].
template <class T, class I>
struct OneHotRows {
  int64_t depth, inner;
  T off, on;
  const I* indices;
  T* to;

  /// Elements [begin, end).
  void write(int64_t begin, int64_t end) const { inner == 1 ? mark(begin, end) : compare(begin, end); }

 private:
  void mark(int64_t begin, int64_t end) const {
    std::fill(to + begin, to + end, off);
    for (int64_t i = begin / depth; i * depth < end; ++i) {
      const int64_t index = indices[i];
      if (index < -depth || index >= depth) continue;
      const int64_t at = i * depth + (index < 0 ? index + depth : index);
      if (at >= begin && at < end) to[at] = on;
    }
  }
  void compare(int64_t begin, int64_t end) const {
    while (begin < end) {
      const int64_t row = begin / inner, first = begin % inner, n = std::min(inner - first, end - begin);
      const int64_t wanted = row % depth, from_back = wanted - depth;
      const I* const index = indices + row / depth * inner + first;
      for (int64_t i = 0; i < n; ++i) to[begin + i] = index[i] == wanted || index[i] == from_back ? on : off;
      begin += n;
    }
  }
};

void one_hot_of_integers(const OneHot& op, KernelContext& c) {
  const Tensor &indices = c.in(0), &values = c.in(2);
  if (values.size() != 2) c.fail(Code::run_bad_shape, "values of two elements, off and on", describe(values));
  Tensor& out = c.out(0);
  if (out.size() == 0) return;
  const size_t axis = axis_of(op.axis, out.rank());
  for_picked(values.type(), indices.type(), [&]<class T, class I> {
    const auto off_on = values.as<T>();
    const OneHotRows<T, I> rows{out.dim(axis),
                                count_between(out.shape(), axis + 1, out.rank()),
                                off_on[0],
                                off_on[1],
                                indices.as<I>().data(),
                                out.as<T>().data()};
    c.parallel(out.size(), cpu::elements_a_piece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += cpu::elements_a_piece) {
        c.poll();
        rows.write(i, std::min(end, i + cpu::elements_a_piece));
      }
    });
  });
}

}  // namespace

void cpu_constant(KernelCatalog& k) {
  k.add<OneHot>({.op = "OneHot", .name = cpu::kernel_name("one_hot", Isa::generic)},
                {.run = one_hot_of_integers, .supports = supports_one_hot});
  k.add<Range>({.op = "Range", .name = cpu::kernel_name("range", Isa::generic)},
               {.run = run, .supports = supports});
}

}  // namespace lathe
