// Normalizations for float32 whose statistics run over neighboring elements, and BatchNormalization.
#include "ops/norm/norm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cpu/elementwise.h"
#include "cpu/reduce.h"
#include "cpu/support.h"
#include "ops/poller.h"

namespace lathe {
namespace {

using cpu::floats;

int64_t product(const Shape& s, size_t from) {
  int64_t n = 1;
  for (size_t i = from; i < s.size(); ++i) n *= s[i];
  return n;
}

/// Refuses scale and bias unless their shapes are the axes from `axis` on and nothing else.
std::optional<Support> refuse_broadcast(const KernelQuery& r, int64_t axis) {
  if (!r.inputs[0].shape) return Support::no("the rank is not known");
  const SymShape& x = *r.inputs[0].shape;
  const size_t first = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
  for (size_t i = 1; i < r.inputs.size(); ++i) {
    if (!r.inputs[i].present) continue;
    const auto& s = r.inputs[i].shape;
    bool along = s && s->size() == x.size() - first;
    for (size_t j = 0; along && j < s->size(); ++j) along = (*s)[j] == x[first + j];
    if (!along) return Support::no("scale or bias do not run along the normalized axes");
  }
  return std::nullopt;
}

template <class Op>
Support supports_rows(const Op& op, const KernelQuery& r) {
  if (auto refusal = cpu::refuse_unless_float32(r)) return *refusal;
  if (op.stash_type != static_cast<int64_t>(DataType::float32))
    return Support::no("statistics are not in float32");
  if (auto refusal = refuse_broadcast(r, op.axis)) return *refusal;
  return Support::yes();
}

cpu::RowNormalization rows(KernelContext& c, int64_t axis) {
  const Tensor& x = c.in(0);
  const size_t first = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.rank()) : axis);
  const int64_t n = product(x.shape(), first);
  return {.x = floats(x),
          .y = floats(c.out(0)),
          .rows = n == 0 ? 0 : x.size() / n,
          .n = n,
          .scale = floats(c, 1)};
}
float* wanted(KernelContext& c, size_t i) {
  return i < c.outputs() && c.wants(i) ? floats(c.out(i)) : nullptr;
}

template <Isa isa>
void layer(const LayerNormalization& op, KernelContext& c) {
  cpu::RowNormalization r = rows(c, op.axis);
  r.bias = floats(c, 2);
  r.epsilon = op.epsilon;
  r.mean = wanted(c, 1);
  r.inverse = wanted(c, 2);
  // Rows of no elements have no statistics.
  for (size_t i : {1, 2})
    if (float* const to = wanted(c, i); to && r.n == 0)
      Poller(c).fill(to, c.out(i).size(), std::numeric_limits<float>::quiet_NaN());
  cpu::normalize(isa, r, c);
}

template <class Op, Isa isa>
void root_mean_square(const Op& op, KernelContext& c) {
  cpu::RowNormalization r = rows(c, op.axis);
  r.center = false;
  r.epsilon = op.epsilon;
  r.inverse = wanted(c, 1);
  cpu::normalize(isa, r, c);
}

template <Isa isa>
void instance(const InstanceNormalization& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  if (x.size() == 0) return;
  cpu::normalize(isa,
                 {.x = floats(x),
                  .y = floats(c.out(0)),
                  .rows = x.dim(0) * x.dim(1),
                  .n = product(x.shape(), 2),
                  .scale = floats(c, 1),
                  .bias = floats(c, 2),
                  .channels = x.dim(1),
                  .of_channel = product(x.shape(), 2),
                  .epsilon = op.epsilon},
                 c);
}

Support supports_group(const GroupNormalization& op, const KernelQuery& r) {
  if (auto refusal = cpu::refuse_unless_float32(r)) return *refusal;
  if (op.num_groups < 1) return Support::no("no groups");
  if (!r.inputs[0].shape || r.inputs[0].shape->size() < 2)
    return Support::no("X without an axis of channels");
  return Support::yes();
}

/// Every channel of every image: to = from * a + b; `factors` gives a and b.
template <class F>
void scale_channels(Isa isa, const float* from, float* to, int64_t images, int64_t pixels, KernelContext& c,
                    F&& factors) {
  const auto row = cpu::elementwise_kernels(isa).unary[static_cast<size_t>(cpu::UnaryOp::linear)];
  const int64_t grain = std::max<int64_t>(1, cpu::elements_a_piece / std::max<int64_t>(1, pixels));
  c.parallel(images, grain, [&](int64_t begin, int64_t end) {
    cpu::StreamingEpilogue behind(c.epilogue(), begin * pixels);
    for (int64_t i = begin; i < end; ++i) {
      if ((i - begin) % grain == 0) c.poll();
      const auto [a, b] = factors(i);
      for (int64_t p = 0; p < pixels; p += cpu::StreamingEpilogue::piece) {
        if (p > 0 && p % cpu::elements_a_piece == 0) c.poll();
        const int64_t at = i * pixels + p, length = std::min(pixels - p, cpu::StreamingEpilogue::piece);
        row(from + at, to + at, length, a, b);
        behind.computed(at + length);
      }
    }
    behind.flush(end * pixels);
  });
}

template <Isa isa>
void group(const GroupNormalization& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  if (x.size() == 0) return;
  const int64_t channels = x.dim(1), pixels = product(x.shape(), 2);
  cpu::normalize(isa,
                 {.x = floats(x),
                  .y = floats(c.out(0)),
                  .rows = x.dim(0) * op.num_groups,
                  .n = channels / op.num_groups * pixels,
                  .scale = floats(c, 1),
                  .bias = floats(c, 2),
                  .channels = channels,
                  .of_channel = pixels,
                  .epsilon = op.epsilon},
                 c);
}

Support supports_batch(const BatchNormalization&, const KernelQuery& r) {
  if (auto refusal = cpu::refuse_unless_float32(r)) return *refusal;
  if (!r.inputs[0].shape || r.inputs[0].shape->size() < 2)
    return Support::no("X without an axis of channels");
  return Support::yes();
}

/// Sums in double, in an order that vectors keep.
struct Lanes {
  static constexpr int64_t count = 8;
  double part[count] = {};

  /// Adds f(x) of n elements.
  template <class F>
  void add(const float* x, int64_t n, F&& f) {
    for (; n >= count; n -= count, x += count)
      for (int64_t k = 0; k < count; ++k) part[k] += f(static_cast<double>(x[k]));
    for (int64_t k = 0; k < n; ++k) part[k] += f(static_cast<double>(x[k]));
  }
  double sum() const { return std::accumulate(std::begin(part), std::end(part), 0.0); }
};

/// The mean and variance of each channel over all images, and what outputs 1 and 2 make of them.
void measure_channels(const BatchNormalization& op, float* mean, float* variance, KernelContext& c) {
  const Tensor& x = c.in(0);
  const int64_t images = x.dim(0), channels = x.dim(1), pixels = product(x.shape(), 2);
  const double momentum = static_cast<double>(op.momentum);
  c.parallel(channels, 1, [&](int64_t begin, int64_t end) {
    Poller poll(c);
    for (int64_t channel = begin; channel < end; ++channel) {
      const auto average = [&](auto&& f) {
        Lanes lanes;
        for (int64_t n = 0; n < images && pixels > 0; ++n)  // an empty tensor may have any number of images
          poll.pieces(pixels, 1, [&](int64_t first, int64_t last) {
            lanes.add(floats(x) + (n * channels + channel) * pixels + first, last - first, f);
          });
        return lanes.sum() / static_cast<double>(images * pixels);
      };
      const double center = average([](double v) { return v; });
      const double spread = average([&](double v) { return (v - center) * (v - center); });
      mean[channel] = static_cast<float>(center);
      variance[channel] = static_cast<float>(spread);
      for (size_t i : {size_t{1}, size_t{2}})
        if (c.outputs() > i && c.wants(i))
          floats(c.out(i))[channel] =
              static_cast<float>(static_cast<double>(floats(c, i + 2)[channel]) * momentum +
                                 (i == 1 ? center : spread) * (1 - momentum));
    }
  });
}

size_t batch_workspace(const BatchNormalization& op, std::span<const Shape> inputs, int) {
  return op.training_mode ? static_cast<size_t>(2 * inputs[0][1]) * sizeof(float) : 0;
}

template <Isa isa>
void batch(const BatchNormalization& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const int64_t channels = x.dim(1), pixels = product(x.shape(), 2);
  const float *scale = floats(c, 1), *bias = floats(c, 2), *mean = floats(c, 3), *variance = floats(c, 4);
  if (op.training_mode) {
    const Shape shapes[] = {x.shape()};
    auto* const measured = static_cast<float*>(c.workspace(batch_workspace(op, shapes, c.threads())));
    measure_channels(op, measured, measured + channels, c);
    mean = measured;
    variance = measured + channels;
  }
  if (x.size() == 0) return;
  const float* from = floats(x);
  float* const to = floats(c.out(0));
  scale_channels(isa, from, to, x.dim(0) * channels, pixels, c, [&](int64_t i) {
    const int64_t channel = i % channels;
    const float by = scale[channel] / std::sqrt(variance[channel] + op.epsilon);
    return std::pair(by, bias[channel] - mean[channel] * by);
  });
}

/// For neighboring pixels at a time: their squares are summed over the window of channels, and x is divided
/// by exp(beta log(bias + alpha / size * sum)).
template <Isa isa>
void local_response(const Lrn& op, KernelContext& c) {
  constexpr int64_t block = 512;
  const Tensor& x = c.in(0);
  const int64_t channels = x.dim(1), pixels = product(x.shape(), 2), images = x.dim(0);
  const int64_t before = (op.size - 1) / 2, after = op.size - 1 - before;
  const cpu::ElementwiseKernels& k = cpu::elementwise_kernels(isa);
  const auto unary = [&](cpu::UnaryOp f, float* row, int64_t n, float a = 0, float b = 0) {
    k.unary[static_cast<size_t>(f)](row, row, n, a, b);
  };
  const auto binary = [&](cpu::BinaryOp f, const float* a, const float* b, float* to, int64_t n) {
    k.binary[static_cast<size_t>(f)][static_cast<size_t>(cpu::RowForm::both)](a, b, to, n);
  };
  const int64_t blocks = (pixels + block - 1) / block;
  c.parallel(images * channels * blocks, std::max<int64_t>(1, cpu::elements_a_piece / block),
             [&](int64_t begin, int64_t end) {
               alignas(64) float sums[block], squares[block];
               for (int64_t i = begin; i < end; ++i) {
                 const int64_t channel = i / blocks % channels, at = i / blocks * pixels + i % blocks * block;
                 const int64_t n = std::min(block, pixels - i % blocks * block);
                 const int64_t first = std::max(-channel, -before),
                               last = std::min(channels - 1 - channel, after);
                 std::fill_n(sums, n, 0.0f);
                 for (int64_t w = first; w <= last; ++w) {
                   if ((w - first) % 64 == 0) c.poll();
                   const float* const from = floats(x) + at + w * pixels;
                   binary(cpu::BinaryOp::multiply, from, from, squares, n);
                   binary(cpu::BinaryOp::add, sums, squares, sums, n);
                 }
                 unary(cpu::UnaryOp::linear, sums, n, op.alpha / static_cast<float>(op.size), op.bias);
                 unary(cpu::UnaryOp::logarithm, sums, n);
                 unary(cpu::UnaryOp::linear, sums, n, -op.beta, 0);
                 unary(cpu::UnaryOp::exponential, sums, n);
                 binary(cpu::BinaryOp::multiply, floats(x) + at, sums, floats(c.out(0)) + at, n);
               }
             });
}

}  // namespace

void cpu_norm_lines(KernelCatalog& k);

void cpu_norm(KernelCatalog& k) {
  cpu_norm_lines(k);
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<LayerNormalization>({.op = "LayerNormalization",
                               .name = cpu::kernel_name("layer_norm", isa),
                               .isa = isa,
                               .fuses_epilogue = true},
                              {.run = layer<isa>, .supports = supports_rows<LayerNormalization>});
    k.add<Lrn>({.op = "LRN", .name = cpu::kernel_name("lrn", isa), .isa = isa},
               {.run = local_response<isa>, .supports = cpu::supports_float32<Lrn>});
    k.add<RmsNormalization>(
        {.op = "RMSNormalization",
         .name = cpu::kernel_name("rms_norm", isa),
         .isa = isa,
         .fuses_epilogue = true},
        {.run = root_mean_square<RmsNormalization, isa>, .supports = supports_rows<RmsNormalization>});
    k.add<InstanceNormalization>(
        {.op = "InstanceNormalization",
         .name = cpu::kernel_name("instance_norm", isa),
         .isa = isa,
         .fuses_epilogue = true},
        {.run = instance<isa>, .supports = cpu::supports_float32<InstanceNormalization>});
    k.add<GroupNormalization>({.op = "GroupNormalization",
                               .name = cpu::kernel_name("group_norm", isa),
                               .isa = isa,
                               .fuses_epilogue = true},
                              {.run = group<isa>, .supports = supports_group});
    k.add<BatchNormalization>({.op = "BatchNormalization",
                               .name = cpu::kernel_name("batch_norm", isa),
                               .isa = isa,
                               .fuses_epilogue = true},
                              {.run = batch<isa>, .supports = supports_batch, .workspace = batch_workspace});
  });
}

}  // namespace lathe
