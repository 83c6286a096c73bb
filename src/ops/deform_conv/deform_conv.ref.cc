#include "ops/deform_conv/deform_conv.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "ops/compute.h"

namespace lathe {
namespace {

/// Linear interpolation between the elements of a plane around a position; elements outside are 0.
double interpolated(const double* plane, const WindowAxes& axes, const double* position) {
  const size_t rank = axes.size();
  for (size_t i = 0; i < rank; ++i)  // also false for NaN
    if (!(position[i] > -1 && position[i] < static_cast<double>(axes[i].in))) return 0;
  double sum = 0;
  for (uint64_t corner = 0; corner < uint64_t{1} << rank; ++corner) {
    double weight = 1;
    int64_t at = 0;
    bool inside = true;
    for (size_t i = 0; i < rank; ++i) {
      const double low = std::floor(position[i]);
      const bool high = corner >> i & 1;
      const int64_t index = static_cast<int64_t>(low) + high;
      inside = inside && index >= 0 && index < axes[i].in;
      weight *= high ? position[i] - low : 1 - (position[i] - low);
      at = at * axes[i].in + index;
    }
    if (inside) sum += weight * plane[at];
  }
  return sum;
}

void deform_conv(const DeformConv& op, KernelContext& c) {
  const Tensor x = in_double(c.in(0), c), w = in_double(c.in(1), c), offset = in_double(c.in(2), c);
  const Tensor bias = c.has(3) ? in_double(c.in(3), c) : Tensor(),
               mask = c.has(4) ? in_double(c.in(4), c) : Tensor();
  Tensor& y = c.out(0);
  const WindowAxes axes = op.conv.axes(x.shape(), w.shape(), y.shape());
  const int64_t channels = x.dim(1), filters = y.dim(1), rank = static_cast<int64_t>(axes.size());
  const int64_t in_plane = count_between(x.shape(), 2, x.rank());
  const int64_t out_plane = count_between(y.shape(), 2, y.rank());
  const int64_t kernel = count_between(w.shape(), 2, w.rank());
  const int64_t per_group = channels / op.conv.group, filters_per_group = filters / op.conv.group;
  const int64_t per_offset_group = channels / op.offset_group;

  // One piece for each thread, which takes a column once.
  const int64_t pieces = x.dim(0) * out_plane,
                grain = std::max<int64_t>(1, (pieces + c.threads() - 1) / c.threads());
  c.parallel(pieces, grain, [&](int64_t begin, int64_t end) {
    Poller poll(c);
    std::pmr::vector<double> column(static_cast<size_t>(channels * kernel), c.scratch()),
        position(axes.size(), c.scratch());
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t image = piece / out_plane, o = piece % out_plane;
      for (int64_t group = 0; group < op.offset_group; ++group)
        for (int64_t k = 0; k < kernel; ++k) {
          const int64_t field = (image * op.offset_group + group) * kernel + k;
          int64_t rest_o = o, rest_k = k;
          for (int64_t i = rank; i-- > 0;) {
            const WindowAxis& a = axes[static_cast<size_t>(i)];
            position[static_cast<size_t>(i)] =
                static_cast<double>(a.start(rest_o % a.out) + rest_k % a.kernel * a.dilation) +
                offset.as<double>()[static_cast<size_t>((field * rank + i) * out_plane + o)];
            rest_o /= a.out;
            rest_k /= a.kernel;
          }
          const double factor =
              mask.defined() ? mask.as<double>()[static_cast<size_t>(field * out_plane + o)] : 1;
          poll.did(1);
          for (int64_t channel = group * per_offset_group; channel < (group + 1) * per_offset_group;
               ++channel) {
            poll.did(int64_t{1} << rank);
            column[static_cast<size_t>(channel * kernel + k)] =
                factor * interpolated(x.as<double>().data() + (image * channels + channel) * in_plane, axes,
                                      position.data());
          }
        }
      for (int64_t filter = 0; filter < filters; ++filter) {
        const double* from = column.data() + filter / filters_per_group * per_group * kernel;
        const double* weights = w.as<double>().data() + filter * per_group * kernel;
        double sum = bias.defined() ? bias.as<double>()[static_cast<size_t>(filter)] : 0;
        poll.did(1);
        poll.pieces(per_group * kernel, 1, [&](int64_t first, int64_t last) {
          for (int64_t i = first; i < last; ++i) sum += from[i] * weights[i];
        });
        store_double(y, (image * filters + filter) * out_plane + o, sum);
      }
    }
  });
}

/// Operands in double, and a column of each thread.
std::optional<size_t> scratch(const DeformConv&, std::span<const Shape> inputs, std::span<const Shape>) {
  const auto lines = [](int64_t n) { return (static_cast<size_t>(n) * sizeof(double) + 63) / 64 * 64; };
  size_t bytes = 0;
  for (const Shape& s : inputs) bytes += lines(count_of(s)) + 128;
  const size_t threads = std::max(1U, std::thread::hardware_concurrency());
  return bytes + threads * (lines(inputs[0][1] * count_between(inputs[1], 2, inputs[1].size())) + 64);
}

}  // namespace

void reference_deform_conv(KernelCatalog& k) {
  k.add<DeformConv>(
      {.op = "DeformConv", .name = "DeformConv.ref", .backend = "reference", .temporaries = true},
      {.run = deform_conv, .scratch = scratch});
}

}  // namespace lathe
