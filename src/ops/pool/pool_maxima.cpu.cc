// MaxPool with the positions of the maxima, or of elements that are no float32.
#include <algorithm>
#include <array>
#include <limits>

#include "cpu/elementwise.h"
#include "cpu/reduce.h"
#include "cpu/support.h"
#include "ops/poller.h"
#include "ops/pool/pool.h"

namespace lathe {
namespace {

using PooledTypes = Types<float, double, int8_t, uint8_t>;

/// Taps whose distances are kept on the stack.
constexpr int64_t max_taps = 1024;

Support supports_maxima(const MaxPool& op, const KernelQuery& r) {
  const bool positions = r.outputs.size() > 1 && r.outputs[1].present;
  const DataType type = r.inputs[0].type;
  if (Support known = cpu::supports_type(type, PooledTypes{}); !known.accepted) return known;
  if (type == DataType::float32 && !positions) return Support::no("float32 without positions");
  if (op.kernel_shape.size() > 3) return Support::no("more than three spatial axes");
  int64_t taps = 1;
  for (int64_t k : op.kernel_shape) taps *= std::min(k, max_taps + 1);
  return positions && taps > max_taps ? Support::no("a window of too many elements") : Support::yes();
}

/// Windows over a volume; shorter inputs are one slice or row of it.
struct Maxima {
  std::array<WindowAxis, 3> axes;
  std::array<int64_t, 3> steps;               // from one position to the next along each axis
  std::array<int64_t, max_taps> places = {};  // by tap, from the start of its window

  Maxima(const MaxPool& op, const WindowAxes& given, bool positions) {
    std::copy(given.begin(), given.end(), axes.end() - static_cast<int64_t>(given.size()));
    const auto& [slices, rows, columns] = axes;
    if (op.column_major)
      steps = {1, slices.in, slices.in * rows.in};
    else
      steps = {rows.in * columns.in, columns.in, 1};
    if (!positions) return;
    auto place = places.begin();
    for (int64_t z = 0; z < slices.kernel; ++z)
      for (int64_t y = 0; y < rows.kernel; ++y)
        for (int64_t x = 0; x < columns.kernel; ++x)
          *place++ =
              z * slices.dilation * steps[0] + y * rows.dilation * steps[1] + x * columns.dilation * steps[2];
  }
  int64_t volume() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t lines() const { return axes[0].out * axes[1].out; }
  /// Elements of a window, at most.
  int64_t work() const {
    int64_t n = 1;
    for (const WindowAxis& a : axes) n *= std::min(a.kernel, a.in);
    return n;
  }

  /// Some neighboring windows of a row, of the volume of this index.
  static constexpr int64_t together = 128;
  template <class T>
  void run(const cpu::MaximaLoops<T>& loops, const T* x, int64_t index, int64_t line, int64_t first,
           int64_t count, T* greatest, int64_t* positions, Poller& poll) const {
    using Limits = std::numeric_limits<T>;
    const auto& [slices, rows, columns] = axes;
    const int64_t z = line / rows.out, y = line % rows.out;
    std::array<int32_t, together> taps;
    std::fill_n(greatest, count, Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
    if (positions) std::fill_n(taps.begin(), count, -1);
    for (int64_t kz = slices.first_inside(z); kz < slices.end_inside(z); ++kz)
      for (int64_t ky = rows.first_inside(y); ky < rows.end_inside(y); ++ky) {
        const int64_t slice = slices.start(z) + kz * slices.dilation;
        const int64_t row = slice * rows.in + rows.start(y) + ky * rows.dilation;
        (positions ? loops.take : loops.take_values)(
            {.x = x + index * volume() + row * columns.in,
             .in = columns.in,
             .kernel = columns.kernel,
             .stride = columns.stride,
             .dilation = columns.dilation,
             .pad = columns.pad_begin,
             .first = first,
             .count = count,
             .tap = positions ? static_cast<int32_t>((kz * rows.kernel + ky) * columns.kernel) : 0,
             .greatest = greatest,
             .taps = positions ? taps.data() : nullptr});
        poll.did(count * std::min(columns.kernel, columns.in));
      }
    if (!positions) return;
    const int64_t begin = index * volume() + slices.start(z) * steps[0] + rows.start(y) * steps[1] +
                          columns.start(first) * steps[2];
    for (int64_t i = 0; i < count; ++i) {
      const int32_t tap = taps[static_cast<size_t>(i)];
      positions[i] = tap < 0 ? -1 : begin + i * columns.stride * steps[2] + places[static_cast<size_t>(tap)];
    }
  }
};

template <Isa isa>
void pool_maxima(const MaxPool& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  if (y.size() == 0) return;
  int64_t* const positions = c.wants(1) ? c.out(1).as<int64_t>().data() : nullptr;
  const Maxima windows(op, op.axes(x.shape(), y.shape()), positions != nullptr);
  const int64_t lines = windows.lines(), width = windows.axes[2].out;
  const int64_t blocks = ceil_div(width, Maxima::together);
  const int64_t work = std::min(width, Maxima::together) * windows.work();
  for_type(x.type(), PooledTypes{}, [&]<class T> {
    const auto& loops = cpu::maxima_kernels(isa).of<T>();
    c.parallel(y.size() / width * blocks,
               std::max<int64_t>(1, cpu::elements_a_piece / std::max<int64_t>(1, work)),
               [&](int64_t begin, int64_t end) {
                 Poller poll(c);
                 c.poll();
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t line = i / blocks, first = i % blocks * Maxima::together;
                   const int64_t to = line * width + first;
                   windows.run(loops, x.as<T>().data(), line / lines, line % lines, first,
                               std::min(Maxima::together, width - first), y.as<T>().data() + to,
                               positions ? positions + to : nullptr, poll);
                 }
               });
  });
}

}  // namespace

void cpu_pool_maxima(KernelCatalog& k);
void cpu_pool_maxima(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<MaxPool>({.op = "MaxPool", .name = cpu::kernel_name("max_pool_maxima", isa), .isa = isa},
                   {.run = pool_maxima<isa>, .supports = supports_maxima});
  });
}

}  // namespace lathe
