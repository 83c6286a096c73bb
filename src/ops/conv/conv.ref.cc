#include "ops/conv/conv.h"

#include "ops/conv/conv_loops.h"

namespace lathe {
namespace {

void conv(const Conv& op, KernelContext& c) {
  const Tensor x = in_compute_type(c.in(0), c), w = in_compute_type(c.in(1), c);
  const Tensor bias = c.has(2) ? in_compute_type(c.in(2), c) : Tensor();
  ComputeOutput y(c.out(0), c);
  const ConvSizes s(x.shape(), w.shape(), op.group, op.axes(x.shape(), w.shape(), y.tensor().shape()));
  for_type(x.type(), Types<float, double>{}, [&]<class T> {
    T* to = y.tensor().as<T>().data();
    const T* offset = bias.defined() ? bias.as<T>().data() : nullptr;
    convolve<double>(s, x.as<T>().data(), w.as<T>().data(), c,
                     [&](int64_t image, int64_t filter, int64_t at, const double* sums, int64_t count) {
                       T* row = to + (image * s.filters + filter) * s.out_plane + at;
                       const double b = offset ? static_cast<double>(offset[filter]) : 0;
                       for (int64_t i = 0; i < count; ++i) row[i] = static_cast<T>(sums[i] + b);
                     });
  });
  y.finish();
}

}  // namespace

void reference_conv(KernelCatalog& k) { k.reference<Conv>("Conv", conv); }

}  // namespace lathe
