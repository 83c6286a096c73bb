// Range of the numbers that index and measure, on all threads.
#include "ops/constant/constant.h"

#include "cpu/ask.h"
#include "cpu/elementwise.h"

namespace lathe {
namespace {

constexpr Types<int32_t, int64_t, float, double> fast_types;

Verdict ask(const Range&, const KernelRequest& r) {
  const DataType type = r.inputs[0].type;
  if (type == DataType::int32 || type == DataType::int64 || type == DataType::float32 ||
      type == DataType::float64)
    return Verdict::yes();
  return Verdict::no("not for " + std::string(name_of(type)));
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

}  // namespace

void cpu_constant(KernelCatalog& k) {
  k.add<Range>({.op = "Range", .name = cpu::kernel_name("range", Isa::generic)}, {.run = run, .ask = ask});
}

}  // namespace lathe
