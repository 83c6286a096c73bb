// DeformConv for float32: the windows of a strip of pixels are interpolated into a matrix that is packed for
// the product with the weights. Taps are computed once for all channels that share offsets.
#include "ops/deform_conv/deform_conv.h"

#include <algorithm>

#include "cpu/ceil_of.h"
#include "cpu/gemm.h"
#include "cpu/movement.h"
#include "cpu/sampling.h"
#include "cpu/tasks.h"
#include "ops/compute.h"
#include "ops/conv_weights.h"

namespace lathe {
namespace {

using cpu::ceil_of;
using cpu::grid_block;
using cpu::grid_lanes;

/// Floats of the matrix of a strip: it stays in the second-level cache.
constexpr int64_t strip_floats = int64_t{1} << 17;
/// Channels that share offsets from which on the image is brought to nChw16c.
constexpr int64_t min_nchw16c = 4;

/// Sizes of one run; nothing overflows for shapes that the rule accepted.
struct Sizes {
  Sizes(const DeformConv& op, const Shape& x, const Shape& w, const Shape& y)
      : axes(op.conv.axes(x, w, y)),
        batch(x[0]),
        channels(x[1]),
        filters(w[0]),
        groups(op.conv.group),
        offset_groups(op.offset_group),
        kernel(count_between(w, 2, w.size())),
        in_area(count_between(x, 2, x.size())),
        out_area(count_between(y, 2, y.size())),
        nchw16c(channels / offset_groups, in_area),
        uses_nchw16c(nchw16c.channels >= min_nchw16c && in_area > 0 &&
                     in_area / 4 <= times(kernel, out_area) && nchw16c.blocks <= INT32_MAX / offset_groups &&
                     cpu::Nchw16cImage(nchw16c.blocks * offset_groups * grid_lanes, in_area).fits()) {}

  int64_t depth() const { return channels / groups * kernel; }  // terms of a sum
  int64_t rows() const { return channels * kernel; }            // of the matrix of a strip
  bool empty() const { return times(times(batch, filters), out_area) == 0; }
  /// Pixels of a strip, in whole blocks of samples.
  int64_t strip() const {
    const int64_t fit = strip_floats / std::max<int64_t>(1, rows()) / grid_block * grid_block;
    return std::clamp(fit, grid_block, ceil_of(out_area, grid_block) * grid_block);
  }
  int64_t strips() const { return ceil_of(out_area, strip()); }
  int64_t tasks() const { return batch * strips(); }
  int64_t nchw16c_floats() const { return uses_nchw16c ? offset_groups * nchw16c.floats() : 0; }
  int64_t packed_filters() const { return whole_lines_of(cpu::packed_a_size(filters / groups, depth())); }
  int64_t packed_weights() const { return groups * packed_filters(); }
  int64_t slot(int threads) const { return cpu::slot_stride(times(rows(), strip()), threads); }

  WindowAxes axes;
  int64_t batch, channels, filters, groups, offset_groups, kernel, in_area, out_area;
  cpu::Nchw16cImage nchw16c;  // of the channels that share offsets
  bool uses_nchw16c;
};

/// The sizes that packing depends on, which do not include the image.
Sizes weights_sizes(const DeformConv& op, const Shape& w) {
  Shape x(w.size(), 1), y(w.size(), 1);
  x[1] = w[1] * op.conv.group;
  y[1] = w[0];
  return {op, x, w, y};
}

void pack_filters(const cpu::GemmKernels& g, const Sizes& s, const float* w, float* to, Workers& workers) {
  const int64_t filters = s.filters / s.groups, depth = s.depth();
  for (int64_t i = 0; i < s.groups; ++i)
    cpu::pack_whole_a(g, to + i * s.packed_filters(), {w + i * filters * depth, depth, 1}, filters, depth,
                      workers);
}

struct Operands {
  const float *x, *offset, *mask, *bias;  // mask and bias may be null
  const float* weights;                   // packed
  float* y;
};

/// Some pixels of one image.
class Strip {
 public:
  Strip(Isa isa, const Sizes& s, const Operands& o, const float* nchw16c, int64_t image, int64_t first,
        float* matrix, KernelContext& c)
      : isa_(isa),
        g_(cpu::gemm_kernels(isa)),
        kernels_(cpu::grid_kernels(isa)),
        s_(s),
        o_(o),
        nchw16c_(nchw16c),
        image_(image),
        first_(first),
        count_(std::min(s.strip(), s.out_area - first)),
        matrix_(matrix),
        poll_(c),
        c_(c) {
    for (size_t i = 0; i < spatial(); ++i) grid_axis(i) = {.size = s.axes[i].in, .taps = 2};
    for (size_t i = 0; i < 3 - spatial(); ++i) {
      along_[i].index[0].fill(0);
      along_[i].weight[0].fill(1);
    }
  }

  void run() {
    s_.in_area > 0 ? sample() : clear();
    multiply();
  }

 private:
  size_t spatial() const { return s_.axes.size(); }
  cpu::GridAxis& grid_axis(size_t i) { return grid_axes_[3 - spatial() + i]; }

  /// An image without pixels consists of padding alone.
  void clear() { std::fill_n(matrix_, g_.panels(count_) * g_.NR * s_.rows(), 0.0f); }
  void sample() {
    for (int64_t block = 0; block < count_; block += grid_block) {
      const int64_t n = std::min(grid_block, count_ - block);
      find_starts(first_ + block, n);
      for (int64_t group = 0; group < s_.offset_groups; ++group)
        for (int64_t k = 0; k < s_.kernel; ++k) {
          find_taps(group, k, first_ + block, n);
          s_.uses_nchw16c ? sample_nchw16c(group, k, block, n) : sample_planes(group, k, block, n);
        }
    }
  }

  /// Finds the first positions of the windows of n pixels.
  void find_starts(int64_t pixel, int64_t n) {
    for (int64_t j = 0; j < n; ++j) {
      int64_t rest = pixel + j;
      for (size_t i = spatial(); i-- > 0; rest /= s_.axes[i].out)
        starts_[i][static_cast<size_t>(j)] = s_.axes[i].start(rest % s_.axes[i].out);
    }
  }

  /// Finds the taps of element k of their windows, for the channels of a group.
  void find_taps(int64_t group, int64_t k, int64_t pixel, int64_t n) {
    const int64_t field = (image_ * s_.offset_groups + group) * s_.kernel + k;
    const auto axes = static_cast<int64_t>(spatial());
    int64_t rest = k;
    for (size_t i = spatial(); i-- > 0; rest /= s_.axes[i].kernel) {
      const int64_t shift = rest % s_.axes[i].kernel * s_.axes[i].dilation;
      const float* const offset = o_.offset + (field * axes + static_cast<int64_t>(i)) * s_.out_area + pixel;
      float places[grid_block];
      for (int64_t j = 0; j < n; ++j)
        places[j] = static_cast<float>(starts_[i][static_cast<size_t>(j)] + shift) + offset[j];
      kernels_.between(grid_axis(i), places, n, along_[3 - spatial() + i]);
    }
    kernels_.join(grid_axes_, along_, n, s_.uses_nchw16c ? s_.nchw16c.outside() : -1, taps_);
    if (!o_.mask) return;
    const float* const mask = o_.mask + field * s_.out_area + pixel;
    for (int64_t t = 0; t < taps_.count; ++t)
      for (int64_t j = 0; j < n; ++j) taps_.weight[static_cast<size_t>(t)][static_cast<size_t>(j)] *= mask[j];
  }

  /// Row `row` of the panel that column `column` of the matrix begins.
  float* at(int64_t column, int64_t row) const { return matrix_ + column * s_.rows() + row * g_.NR; }

  void sample_nchw16c(int64_t group, int64_t k, int64_t block, int64_t n) {
    const cpu::Nchw16cImage& t = s_.nchw16c;
    const float* const image = nchw16c_ + group * t.floats();
    float made[grid_block * grid_lanes];
    for (int64_t i = 0; i < t.blocks; ++i) {
      kernels_.sample_nchw16c(taps_, t.block(image, i), n, made);
      const int64_t channel = group * t.channels + i * grid_lanes;
      for (int64_t j = 0; j < n; j += g_.NR)
        cpu::transpose_kernels(isa_).transpose(made + j * grid_lanes, grid_lanes,
                                               at(block + j, channel * s_.kernel + k), s_.kernel * g_.NR,
                                               std::min(g_.NR, n - j), t.lanes(i));
      poll_.did(n * (taps_.count + 2));
    }
  }
  void sample_planes(int64_t group, int64_t k, int64_t block, int64_t n) {
    float made[grid_block];
    for (int64_t i = 0; i < s_.nchw16c.channels; ++i) {
      const int64_t channel = group * s_.nchw16c.channels + i;
      kernels_.sample_plane(taps_, o_.x + (image_ * s_.channels + channel) * s_.in_area, n, made);
      for (int64_t j = 0; j < n; j += g_.NR)
        std::copy_n(made + j, std::min(g_.NR, n - j), at(block + j, channel * s_.kernel + k));
      poll_.did(n * (taps_.count + 2));
    }
  }

  void multiply() {
    const int64_t filters = s_.filters / s_.groups, depth = s_.depth();
    for (int64_t group = 0; group < s_.groups; ++group) {
      const int64_t filter = group * filters;
      const cpu::PackedProduct p{.m = filters,
                                 .n = count_,
                                 .k = depth,
                                 .a = o_.weights + group * s_.packed_filters(),
                                 .b = at(0, group * depth),
                                 .b_row = g_.NR,
                                 .b_panel = g_.NR * s_.rows(),
                                 .c = o_.y + (image_ * s_.filters + filter) * s_.out_area + first_,
                                 .c_row = s_.out_area,
                                 .start = {o_.bias ? o_.bias + filter : nullptr, 1, 0, 1}};
      cpu::multiply_packed(g_, p, 0, cpu::RowTiles(filters, g_.MR).count(), 0, g_.panels(count_), c_);
    }
  }

  const Isa isa_;
  const cpu::GemmKernels& g_;
  const cpu::GridKernels& kernels_;
  const Sizes& s_;
  const Operands& o_;
  const float* const nchw16c_;
  const int64_t image_, first_, count_;
  float* const matrix_;
  Poller poll_;
  KernelContext& c_;
  std::array<std::array<int64_t, grid_block>, 3> starts_;
  cpu::GridAxis grid_axes_[3];
  cpu::GridAxisTaps along_[3];
  cpu::GridTaps taps_;
};

template <Isa isa>
void convolve(const Sizes& s, const Operands& o, float* scratch, KernelContext& c) {
  float* const slots = scratch + s.nchw16c_floats();
  const int64_t strips = s.strips();
  // Images that are converted to nChw16c are computed one at a time; otherwise all strips are alike.
  const int64_t rounds = s.uses_nchw16c ? s.batch : 1, tasks = s.tasks() / rounds;
  for (int64_t round = 0; round < rounds; ++round) {
    for (int64_t group = 0; s.uses_nchw16c && group < s.offset_groups; ++group)
      cpu::to_nchw16c(isa, s.nchw16c, o.x + (round * s.channels + group * s.nchw16c.channels) * s.in_area,
                      scratch + group * s.nchw16c.floats(), c);
    cpu::for_each_task(c, tasks, [&](int64_t task, int64_t slot) {
      Strip(isa, s, o, scratch, round + task / strips, task % strips * s.strip(),
            slots + slot * s.slot(c.threads()), c)
          .run();
    });
  }
}

template <WeightsFrom kind>
Support supports(const DeformConv& op, const KernelQuery& r) {
  if (auto refusal = refuse_weights<kind>(r)) return *refusal;
  // Packing comes before the shape rule when a plan is opened.
  if (op.conv.group < 1 || op.conv.group > INT32_MAX || op.offset_group < 1 || op.offset_group > INT32_MAX ||
      !op.conv.window.counts_fit(r.inputs[1].shape->size() - 2))
    return Support::no("attributes that do not fit the weights");
  return Support::yes();
}

std::optional<PackedForm> packed_form(const DeformConv& op, const KernelQuery& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Tensor& w = *r.inputs[1].constant;
  return PackedForm{w.type(), {weights_sizes(op, w.shape()).packed_weights()}};
}

template <Isa isa>
void pack(const DeformConv& op, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
  const Tensor& w = *r.inputs[1].constant;
  pack_filters(cpu::gemm_kernels(isa), weights_sizes(op, w.shape()), cpu::floats(w), cpu::floats(to),
               workers);
}

template <WeightsFrom kind>
size_t workspace_of(const Sizes& s, int threads) {
  if (s.empty()) return 0;
  const int64_t packed = kind == WeightsFrom::given ? s.packed_weights() : 0;
  const int64_t slots = cpu::task_slots(s.uses_nchw16c ? s.strips() : s.tasks(), threads);
  return static_cast<size_t>(packed + s.nchw16c_floats() + slots * s.slot(threads)) * sizeof(float);
}
template <WeightsFrom kind>
size_t workspace(const DeformConv& op, std::span<const Shape> inputs, int threads) {
  return workspace_of<kind>(Sizes(op, inputs[0], inputs[1], output_shape(op.conv, inputs)), threads);
}

template <Isa isa, WeightsFrom kind>
void run(const DeformConv& op, KernelContext& c) {
  Tensor& y = c.out(0);
  const Sizes s(op, c.in(0).shape(), c.in(1).shape(), y.shape());
  if (s.empty()) return;
  auto* scratch = static_cast<float*>(c.workspace(workspace_of<kind>(s, c.threads())));
  Operands o{cpu::floats(c.in(0)), cpu::floats(c.in(2)), cpu::floats(c, 4), cpu::floats(c, 3), scratch,
             cpu::floats(y)};
  if constexpr (kind == WeightsFrom::given) {
    pack_filters(cpu::gemm_kernels(isa), s, cpu::floats(c.in(1)), scratch, c);
    scratch += s.packed_weights();
  } else {
    o.weights = cpu::floats(*c.packed(1));
  }
  convolve<isa>(s, o, scratch, c);
}

}  // namespace

void cpu_deform_conv(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<DeformConv>({.op = "DeformConv", .name = cpu::kernel_name("deform_conv", isa), .isa = isa},
                      {.run = run<isa, WeightsFrom::packed>,
                       .supports = supports<WeightsFrom::packed>,
                       .packed_form = packed_form,
                       .pack = pack<isa>,
                       .workspace = workspace<WeightsFrom::packed>});
    k.add<DeformConv>({.op = "DeformConv", .name = cpu::kernel_name("deform_conv.given", isa), .isa = isa},
                      {.run = run<isa, WeightsFrom::given>,
                       .supports = supports<WeightsFrom::given>,
                       .workspace = workspace<WeightsFrom::given>});
  });
}

}  // namespace lathe
