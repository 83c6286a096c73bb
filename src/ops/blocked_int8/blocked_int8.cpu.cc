#include "ops/blocked_int8/blocked_int8.h"

#include <algorithm>
#include <cmath>

#include "cpu/elementwise.h"
#include "cpu/nchw16c.h"
#include "cpu/quantized.h"
#include "cpu/support.h"
#include "ops/compute.h"
#include "tensor/element.h"

namespace lathe {
namespace {

using cpu::is_eight_bits;

/// A zero point for images of uint8: that of int8 is raised by 128.
int32_t zero_of(const Tensor& t) {
  return static_cast<int32_t>(load_int(t, 0)) + (t.type() == DataType::int8 ? 128 : 0);
}
float scale_of(const Tensor& t) { return t.as<float>()[0]; }
const uint8_t* bytes(const Tensor& t) { return static_cast<const uint8_t*>(t.data()); }
uint8_t* bytes(Tensor& t) { return static_cast<uint8_t*>(t.data()); }

/// A refusal unless images, scales and zero points are at these inputs, and Y is bytes.
std::optional<Support> refuse_unless(const KernelQuery& r, std::initializer_list<size_t> images,
                                     std::initializer_list<size_t> scales,
                                     std::initializer_list<size_t> zeros) {
  const auto type = [&](size_t i) { return cpu::has_input(r, i) ? r.inputs[i].type : DataType::undefined; };
  for (size_t i : images)
    if (type(i) != DataType::uint8) return Support::no("only images of uint8");
  for (size_t i : scales)
    if (type(i) != DataType::float32) return Support::no("only scales of float32");
  for (size_t i : zeros)
    if (!is_eight_bits(type(i))) return Support::no("only zero points of int8 and uint8");
  if (r.outputs.empty() || r.outputs[0].type != DataType::uint8) return Support::no("only results of uint8");
  return std::nullopt;
}

/// The bounds of a clamped number in units of y's scale, less the zero point of y.
void bounds(const Clamp& clamp, float scale, int32_t zero, float& low, float& high) {
  low = std::min(std::max(static_cast<float>(-zero), clamp.low / scale), static_cast<float>(255 - zero));
  high = std::max(std::min(static_cast<float>(255 - zero), clamp.high / scale), low);
}

// Convolution.

cpu::Int8ConvShape window_of(const BlockedInt8Conv& op, const Shape& w) {
  return {cpu::blocked_window(op, w), op.group};
}
cpu::Int8ConvShape shape_of(const BlockedInt8Conv& op, const Shape& x, const Shape& w) {
  cpu::Int8ConvShape s = window_of(op, w);
  cpu::fit_image(s, op.window, x, w.size() - 2);
  return s;
}

/// Weights that are signed bytes about 0, or become that when 128 is taken from them.
bool is_centered(const Tensor& w, const Tensor& zero) {
  const int64_t middle = w.type() == DataType::uint8 ? 128 : 0;
  for (int64_t i = 0; i < zero.size(); ++i)
    if (load_int(zero, i) != middle) return false;
  return zero.type() == w.type();
}

template <class Algorithm>
Support supports_conv(const BlockedInt8Conv& op, const KernelQuery& r) {
  if (auto no = refuse_unless(r, {0}, {1, 4, 6}, {2, 3, 5, 7})) return *no;
  if (cpu::has_input(r, 9))
    if (auto no = refuse_unless(r, {9}, {10, 12}, {11, 13})) return *no;
  if (cpu::has_input(r, 8) && r.inputs[8].type != DataType::float32 && r.inputs[8].type != DataType::int32)
    return Support::no("a bias that is neither float32 nor int32");
  const Tensor* w = cpu::constant_input(r, 3);
  const Tensor* zero = cpu::constant_input(r, 5);
  if (!w || !zero) return Support::no("the weights are not constant");
  if (w->rank() < 3 || w->rank() > 4) return Support::no("neither one nor two spatial axes");
  if (!is_centered(*w, *zero)) return Support::no("weights whose zero points are not in the middle");
  // Packing comes before the shape rule when a plan is opened.
  if (!op.fits(w->shape())) return Support::no("attributes that do not fit the weights");
  if (op.depthwise(w->shape()) != Algorithm::depthwise)
    return Support::no(Algorithm::depthwise ? "not depthwise" : "depthwise");
  return Algorithm::fits(window_of(op, w->shape()));
}

/// Sums over all channels.
struct Direct {
  static constexpr const char* name = "blocked_int8_conv";
  static constexpr bool depthwise = false;
  static constexpr int priority = 0;
  static Support fits(const cpu::Int8ConvShape&) { return Support::yes(); }
  static bool prefers(Isa, const cpu::Int8ConvShape&) { return true; }
  static constexpr auto weights_size = cpu::int8_conv_weights_size;
  static void pack(const cpu::Int8ConvShape& s, const Tensor& w, int8_t* to, Workers& workers) {
    cpu::pack_int8_conv(s, w.data(), w.type() == DataType::int8, to, workers);
  }
  static constexpr auto sums = cpu::int8_conv_sums;
  static constexpr auto workspace = cpu::int8_conv_workspace;
  static constexpr auto run = cpu::int8_convolution;
};
/// The same sums with fewer products: this has priority, and is skipped if it is expected to be slower.
struct Winograd {
  static constexpr const char* name = "blocked_int8_conv.winograd2";
  static constexpr bool depthwise = false;
  static constexpr int priority = 1;
  static Support fits(const cpu::Int8ConvShape& s) {
    return cpu::fits_int8_winograd(s)
               ? Support::yes()
               : Support::no("not a kernel of 3 x 3 that steps by one, over at most 1024 channels");
  }
  static constexpr auto prefers = cpu::prefers_int8_winograd;
  static constexpr auto weights_size = cpu::int8_winograd_weights_size;
  static void pack(const cpu::Int8ConvShape& s, const Tensor& w, int8_t* to, Workers& workers) {
    cpu::pack_int8_winograd(s, w.data(), w.type() == DataType::int8, to, workers);
  }
  static constexpr auto sums = cpu::int8_winograd_sums;
  static constexpr auto workspace = cpu::int8_winograd_workspace;
  static constexpr auto run = cpu::int8_winograd;
};
struct Depthwise {
  static constexpr const char* name = "blocked_int8_conv.depthwise";
  static constexpr bool depthwise = true;
  static constexpr int priority = 0;
  static Support fits(const cpu::Int8ConvShape&) { return Support::yes(); }
  static bool prefers(Isa, const cpu::Int8ConvShape&) { return true; }
  static constexpr auto weights_size = cpu::int8_depthwise_weights_size;
  static void pack(const cpu::BlockedShape& s, const Tensor& w, int8_t* to, Workers&) {
    cpu::pack_int8_depthwise(s, w.data(), w.type() == DataType::int8, to);
  }
  static constexpr auto sums = cpu::int8_depthwise_sums;
  static size_t workspace(Isa, const cpu::Int8ConvShape& s, int) { return cpu::int8_depthwise_workspace(s); }
  static constexpr auto run = cpu::int8_depthwise;
};

/// Registers an algorithm as a kernel.
template <class Algorithm, Isa isa>
struct Entry {
  static int64_t lanes(const cpu::BlockedShape& s) { return cpu::panels(s.filters) * cpu::panel_filters; }
  /// Start, factor and shift of each filter.
  static size_t vectors(const cpu::BlockedShape& s) {
    return static_cast<size_t>(lanes(s)) * (2 * sizeof(float) + sizeof(int32_t));
  }

  static Support is_preferred(const BlockedInt8Conv& op, const KernelQuery& r) {
    const Shape& w = r.inputs[3].constant->shape();
    cpu::Int8ConvShape s = window_of(op, w);
    cpu::fit_likely_output(s, r, w.size() - 2);
    return Algorithm::prefers(isa, s) ? Support::yes() : Support::no("another algorithm is faster");
  }
  static std::optional<PackedForm> packed_form(const BlockedInt8Conv& op, const KernelQuery& r, size_t i) {
    if (i != 3) return std::nullopt;
    return PackedForm{DataType::int8,
                      {Algorithm::weights_size(window_of(op, r.inputs[3].constant->shape()))}};
  }
  static void pack(const BlockedInt8Conv& op, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
    const Tensor& w = *r.inputs[3].constant;
    Algorithm::pack(window_of(op, w.shape()), w, to.as<int8_t>().data(), workers);
  }
  static size_t workspace(const BlockedInt8Conv& op, std::span<const Shape> inputs, int threads) {
    const cpu::Int8ConvShape s = shape_of(op, inputs[0], inputs[3]);
    return vectors(s) + Algorithm::workspace(isa, s, threads);
  }

  /// Fills in the parts of each filter's sum that only the run knows.
  static void describe(const cpu::Int8ConvShape& s, KernelContext& c, int32_t* start, float* factor,
                       float* shift) {
    const int64_t n = lanes(s), filters = s.filters;
    const int32_t* const sums = Algorithm::sums(s, c.packed(3)->template as<int8_t>().data());
    const auto x_zero = static_cast<uint32_t>(zero_of(c.in(2)));
    for (int64_t m = 0; m < n; ++m)
      start[m] = static_cast<int32_t>(0u - x_zero * static_cast<uint32_t>(sums[m]));
    const float x_scale = scale_of(c.in(1)), y_scale = scale_of(c.in(6));
    const auto w_scale = c.in(4).template as<float>();
    if (w_scale.size() == 1)
      std::fill_n(factor, filters, x_scale * w_scale[0] / y_scale);
    else
      for (int64_t m = 0; m < filters; ++m) factor[m] = x_scale * w_scale.data()[m] / y_scale;
    std::fill_n(factor + filters, n - filters, 0.0f);
    std::fill_n(shift, n, 0.0f);
    if (!cpu::has_input(c, 8)) return;
    if (const Tensor& bias = c.in(8); bias.type() == DataType::int32) {
      const int32_t* const b = bias.as<int32_t>().data();
      for (int64_t m = 0; m < filters; ++m)
        start[m] = static_cast<int32_t>(static_cast<uint32_t>(start[m]) + static_cast<uint32_t>(b[m]));
    } else {
      const float* const b = cpu::floats(bias);
      for (int64_t m = 0; m < filters; ++m) shift[m] = b[m] / y_scale;
    }
  }

  static cpu::RequantParams requant(const BlockedInt8Conv& op, KernelContext& c) {
    cpu::RequantParams g;
    const float y_scale = scale_of(c.in(6));
    g.zero = zero_of(c.in(7));
    bounds(op.clamp, y_scale, g.zero, g.low, g.high);
    if (!cpu::has_input(c, 9)) return g;
    const float z_scale = scale_of(c.in(10)), sum_scale = scale_of(c.in(12));
    g.adds = true;
    g.own = y_scale / sum_scale;
    g.others = z_scale / sum_scale;
    g.constant = -static_cast<float>(zero_of(c.in(11))) * g.others;
    g.zero = zero_of(c.in(13));
    bounds(op.sum_clamp, sum_scale, g.zero, g.sum_low, g.sum_high);
    return g;
  }

  static void run(const BlockedInt8Conv& op, KernelContext& c) {
    const cpu::Int8ConvShape s = shape_of(op, c.in(0).shape(), c.in(3).shape());
    auto* const start =
        static_cast<int32_t*>(c.workspace(vectors(s) + Algorithm::workspace(isa, s, c.threads())));
    auto* const factor = reinterpret_cast<float*>(start + lanes(s));
    float* const shift = factor + lanes(s);
    describe(s, c, start, factor, shift);
    cpu::Int8Images images{.x = bytes(c.in(0)),
                           .x_zero = static_cast<uint8_t>(zero_of(c.in(2))),
                           .weights = c.packed(3)->template as<int8_t>().data(),
                           .start = start,
                           .requant = requant(op, c),
                           .other = cpu::has_input(c, 9) ? bytes(c.in(9)) : nullptr,
                           .y = bytes(c.out(0))};
    images.requant.factor = factor;
    images.requant.shift = shift;
    images.requant.find_shortcut(s.filters);
    Algorithm::run(isa, s, images, shift + lanes(s), c);
  }

  static void add(KernelCatalog& k) {
    k.add<BlockedInt8Conv>({.op = "BlockedInt8Conv",
                            .domain = "lathe",
                            .name = cpu::kernel_name(Algorithm::name, isa),
                            .isa = isa,
                            .priority = Algorithm::priority},
                           {.run = run,
                            .supports = supports_conv<Algorithm>,
                            .is_preferred = is_preferred,
                            .packed_form = packed_form,
                            .pack = pack,
                            .workspace = workspace});
  }
};

// Sums, scaling and pooling.

Support supports_add(const BlockedInt8Add&, const KernelQuery& r) {
  if (auto no = refuse_unless(r, {0, 3}, {1, 4, 6}, {2, 5, 7})) return *no;
  return Support::yes();
}

template <Isa isa>
void add(const BlockedInt8Add& op, KernelContext& c) {
  const float y_scale = scale_of(c.in(6));
  cpu::Int8Addition how{.a_scale = scale_of(c.in(1)) / y_scale, .b_scale = scale_of(c.in(4)) / y_scale};
  how.constant = -(static_cast<float>(zero_of(c.in(2))) * how.a_scale +
                   static_cast<float>(zero_of(c.in(5))) * how.b_scale);
  how.zero = zero_of(c.in(7));
  bounds(op.clamp, y_scale, how.zero, how.low, how.high);
  const uint8_t *a = bytes(c.in(0)), *b = bytes(c.in(3));
  uint8_t* const y = bytes(c.out(0));
  c.parallel(c.out(0).size(), cpu::elements_a_piece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += cpu::elements_a_piece) {
      c.poll();
      cpu::int8_row_kernels(isa).add(how, a + i, b + i, y + i, std::min(cpu::elements_a_piece, end - i));
    }
  });
}

Support supports_scale(const BlockedInt8Scale& op, const KernelQuery& r) {
  if (auto no = refuse_unless(r, {0}, {1, 7}, {2, 8})) return *no;
  if (op.channels < 1 || op.channels > INT32_MAX) return Support::no("channels that cannot be counted");
  if (cpu::has_input(r, 6) && r.inputs[6].type != DataType::float32)
    return Support::no("only shifts of float32");
  if (cpu::has_input(r, 4)) {
    if (auto no = refuse_unless(r, {3}, {4}, {5})) return *no;
  } else if (r.inputs[3].type != DataType::float32) {
    return Support::no("only factors of float32");
  }
  return Support::yes();
}

/// The factors and shifts of a block of channels of one image.
cpu::Int8Scaling scaling(const BlockedInt8Scale& op, KernelContext& c, int64_t image, int64_t block) {
  const float y_scale = scale_of(c.in(7)), unit = scale_of(c.in(1)) / y_scale;
  cpu::Int8Scaling how;
  how.zero = zero_of(c.in(8));
  bounds(op.clamp, y_scale, how.zero, how.low, how.high);
  const bool bytes_too = cpu::has_input(c, 4);
  const int64_t first = block * cpu::channel_block;
  for (int64_t l = 0; l < cpu::channel_block; ++l) {
    const int64_t channel = std::min(first + l, op.channels - 1);  // those beyond the last may be anything
    float factor = 0;
    if (bytes_too)
      factor = static_cast<float>(bytes(c.in(3))[(image * c.in(0).dim(1) + block) * cpu::channel_block + l] -
                                  zero_of(c.in(5))) *
               scale_of(c.in(4));
    else
      factor = cpu::floats(c.in(3))[channel];
    how.factor[l] = factor * unit;
    how.shift[l] = (cpu::has_input(c, 6) ? cpu::floats(c.in(6))[channel] / y_scale : 0) -
                   static_cast<float>(zero_of(c.in(2))) * how.factor[l];
  }
  return how;
}

template <Isa isa>
void scale(const BlockedInt8Scale& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  if (x.size() == 0) return;
  const int64_t blocks = x.dim(0) * x.dim(1), pixels = x.size() / (blocks * cpu::channel_block);
  // Strips of pixels, so that one large block is work for several threads.
  const int64_t strip = cpu::elements_a_piece / cpu::channel_block, strips = (pixels + strip - 1) / strip;
  const int64_t together = std::max<int64_t>(1, strip / pixels);
  c.parallel(blocks * strips, together, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      c.poll();
      const int64_t block = i / strips, from = i % strips * strip;
      const cpu::Int8Scaling how = scaling(op, c, block / x.dim(1), block % x.dim(1));
      const int64_t at = (block * pixels + from) * cpu::channel_block;
      cpu::int8_row_kernels(isa).scale(how, bytes(x) + at, bytes(c.out(0)) + at,
                                       std::min(strip, pixels - from));
    }
  });
}

Support supports_mean(const BlockedInt8GlobalAveragePool&, const KernelQuery& r) {
  if (auto no = refuse_unless(r, {0}, {1, 3}, {2, 4})) return *no;
  return Support::yes();
}

Support supports_average(const BlockedInt8AveragePool& op, const KernelQuery& r) {
  constexpr int64_t most = 1024;  // a side of a window, so that int32 holds its sums
  if (auto no = refuse_unless(r, {0}, {1, 3}, {2, 4})) return *no;
  if (std::ranges::any_of(op.kernel_shape, [](int64_t k) { return k < 1 || k > most; }))
    return Support::no("windows of unusual sizes");
  return Support::yes();
}

template <Isa isa>
void average_pool(const BlockedInt8AveragePool& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  const int64_t channels = x.dim(1) * cpu::channel_block;
  cpu::BlockedShape s{.batch = x.dim(0), .channels = channels, .filters = channels};
  cpu::Int8Mean how{.scale = scale_of(c.in(1)) / scale_of(c.in(3)),
                    .x_zero = zero_of(c.in(2)),
                    .y_zero = zero_of(c.in(4)),
                    .counts_padding = op.count_include_pad};
  const size_t spatial = x.rank() - 3;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t at = 2 - spatial + i;
    s.in[at] = x.dim(i + 2);
    s.out[at] = y.dim(i + 2);
    s.kernel[at] = op.kernel_shape[i];
    s.stride[at] = op.window.stride(i);
    s.dilation[at] = op.window.dilation(i);
    s.pad[at] = op.window.pad_begin(i);
    how.pad_end[at] = op.window.pad_end(i);
  }
  cpu::int8_average(isa, s, how, bytes(x), bytes(y), c);
}

/// The sums of one block, in pieces that int32 holds.
template <Isa isa>
void add_up(const uint8_t* x, int64_t pixels, KernelContext& c, double* sums) {
  constexpr int64_t piece = 8192;
  for (int64_t p = 0; p < pixels; p += piece) {
    c.poll();
    int32_t some[cpu::channel_block] = {};
    cpu::int8_row_kernels(isa).add_up(x + p * cpu::channel_block, std::min(piece, pixels - p), some);
    for (int64_t l = 0; l < cpu::channel_block; ++l) sums[l] += some[l];
  }
}

template <Isa isa>
void global_average_pool(const BlockedInt8GlobalAveragePool&, KernelContext& c) {
  const Tensor& x = c.in(0);
  uint8_t* const y = bytes(c.out(0));
  int64_t pixels = 1;
  for (size_t a = 2; a + 1 < x.rank(); ++a) pixels *= x.dim(a);
  const double x_zero = zero_of(c.in(2)), x_scale = scale_of(c.in(1)), y_zero = zero_of(c.in(4));
  const float y_scale = scale_of(c.in(3));
  c.parallel(x.dim(0) * x.dim(1), std::max<int64_t>(1, 4096 / (pixels + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double sums[cpu::channel_block] = {};
      add_up<isa>(bytes(x) + i * pixels * cpu::channel_block, pixels, c, sums);
      for (int64_t l = 0; l < cpu::channel_block; ++l) {
        const auto mean = static_cast<float>((sums[l] / static_cast<double>(pixels) - x_zero) * x_scale);
        const double q = static_cast<double>(std::nearbyint(mean / y_scale)) + y_zero;
        y[i * cpu::channel_block + l] = saturated<uint8_t>(q);
      }
    }
  });
}

}  // namespace

void cpu_blocked_int8(KernelCatalog& k) {
  k.replaces("BlockedInt8Conv", {"Conv", "ConvTranspose", "QLinearConv"});
  k.replaces("BlockedInt8Add", {"Add"});
  k.replaces("BlockedInt8Scale", {"Add", "Mul"});
  k.replaces("BlockedInt8AveragePool", {"AveragePool"});
  k.replaces("BlockedInt8GlobalAveragePool", {"GlobalAveragePool"});
  cpu::for_each_isa([&]<Isa isa>() {
    Entry<Direct, isa>::add(k);
    Entry<Winograd, isa>::add(k);
    Entry<Depthwise, isa>::add(k);
    const auto kernel = [](const char* op, const char* name) {
      return Kernel{.op = op, .domain = "lathe", .name = cpu::kernel_name(name, isa), .isa = isa};
    };
    k.add<BlockedInt8Add>(kernel("BlockedInt8Add", "blocked_int8_add"),
                          {.run = add<isa>, .supports = supports_add});
    k.add<BlockedInt8Scale>(kernel("BlockedInt8Scale", "blocked_int8_scale"),
                            {.run = scale<isa>, .supports = supports_scale});
    k.add<BlockedInt8AveragePool>(kernel("BlockedInt8AveragePool", "blocked_int8_average_pool"),
                                  {.run = average_pool<isa>, .supports = supports_average});
    k.add<BlockedInt8GlobalAveragePool>(
        kernel("BlockedInt8GlobalAveragePool", "blocked_int8_global_average_pool"),
        {.run = global_average_pool<isa>, .supports = supports_mean});
  });
}

}  // namespace lathe
