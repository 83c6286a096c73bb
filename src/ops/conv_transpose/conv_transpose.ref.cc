#include "ops/conv_transpose/conv_transpose.h"

#include <vector>

#include "ops/compute.h"
#include "ops/movement.h"

namespace lathe {
namespace {

/// Adds a channel of X times its kernel to the sums of a plane of Y.
template <class T>
void scatter_plane(const WindowAxes& axes, const T* x, const T* kernel, double* sums, Poller& poll) {
  const WindowAxis& last = axes.back();
  const size_t outer = axes.size() - 1;
  int64_t rows = 1, kernel_rows = 1;
  for (size_t i = 0; i < outer; ++i) {
    rows *= axes[i].out;
    kernel_rows *= axes[i].kernel;
  }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t kernel_row = 0; kernel_row < kernel_rows; ++kernel_row) {
      // The row of Y that this row of X reaches with this row of the kernel, unless it is cropped.
      poll.did(1);
      int64_t to = 0, o = row, k = kernel_row, stride = last.in;
      bool inside = true;
      for (size_t i = outer; i-- > 0 && inside;) {
        const int64_t position = axes[i].start(o % axes[i].out) + k % axes[i].kernel * axes[i].dilation;
        inside = position >= 0 && position < axes[i].in;
        to += position * stride;
        stride *= axes[i].in;
        o /= axes[i].out;
        k /= axes[i].kernel;
      }
      if (!inside) continue;
      for (int64_t j = 0; j < last.out; ++j) {
        const double value = static_cast<double>(x[row * last.out + j]);
        poll.did(last.kernel);
        for (int64_t i = last.first_inside(j); i < last.end_inside(j); ++i)
          sums[to + last.start(j) + i * last.dilation] +=
              value * static_cast<double>(kernel[kernel_row * last.kernel + i]);
      }
    }
}

void conv_transpose(const ConvTranspose& op, KernelContext& c) {
  const Tensor x = in_compute_type(c.in(0), c), w = in_compute_type(c.in(1), c);
  const Tensor bias = c.has(2) ? in_compute_type(c.in(2), c) : Tensor();
  ComputeOutput y(c.out(0), c);
  const Shape& shape = y.tensor().shape();
  const WindowAxes axes = op.axes(x.shape(), w.shape(), shape);
  const int64_t channels = x.dim(1), filters = shape[1];
  const int64_t x_plane = count_between(x.shape(), 2, x.rank()),
                y_plane = count_between(shape, 2, shape.size());
  const int64_t kernel = count_between(w.shape(), 2, w.rank());
  const int64_t per_group = channels / op.group, filters_per_group = w.dim(1);
  if (y.tensor().size() == 0) return;
  for_type(x.type(), Types<float, double>{}, [&]<class T> {
    T* to = y.tensor().as<T>().data();
    c.parallel(x.dim(0) * filters, 1, [&](int64_t begin, int64_t end) {
      Poller poll(c);
      std::pmr::vector<double> sums(static_cast<size_t>(y_plane), c.scratch());
      for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t image = piece / filters, filter = piece % filters;
        const int64_t group = filter / filters_per_group;
        const double start =
            bias.defined() ? static_cast<double>(bias.as<T>()[static_cast<size_t>(filter)]) : 0;
        std::fill(sums.begin(), sums.end(), start);
        for (int64_t channel = group * per_group; channel < (group + 1) * per_group; ++channel)
          scatter_plane(
              axes, x.as<T>().data() + (image * channels + channel) * x_plane,
              w.as<T>().data() + (channel * filters_per_group + filter % filters_per_group) * kernel,
              sums.data(), poll);
        for (int64_t i = 0; i < y_plane; ++i)
          to[piece * y_plane + i] = static_cast<T>(sums[static_cast<size_t>(i)]);
      }
    });
  });
  y.finish();
}

}  // namespace

void reference_conv_transpose(KernelCatalog& k) {
  k.reference<ConvTranspose>("ConvTranspose", conv_transpose);
}

}  // namespace lathe
