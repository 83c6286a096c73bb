// One kernel for each algorithm: a plan stores the name of the algorithm that was chosen. Each tells whether
// it supports a node; Winograd has priority, and is skipped if it is expected to be slower.
#include "ops/blocked_conv/blocked_conv.h"

#include "cpu/nchw16c.h"
#include "cpu/support.h"

namespace lathe {
namespace {

using cpu::floats;

/// The shape but for what X decides.
cpu::BlockedShape shape_of(const BlockedConv& op, const Shape& w) {
  cpu::BlockedShape s = cpu::blocked_window(op, w);
  s.nchw = op.nchw_input;
  s.scaled = op.scaled;
  s.gated = op.gated;
  if (!op.tunables.empty()) s.group = op.tunables[0];
  if (op.group > 1 && !op.depthwise()) {
    s.sets = op.sets(w[0]);
    s.merged = op.group / s.sets;
    s.channels /= s.sets;
    s.filters /= s.sets;
  }
  return s;
}

cpu::BlockedShape shape_of(const BlockedConv& op, const Shape& x, const Shape& w) {
  cpu::BlockedShape s = shape_of(op, w);
  cpu::fit_image(s, op.window, x, w.size() - 2);
  s.batch *= s.sets;
  return s;
}

/// Returns why no algorithm supports the node, if so.
std::optional<Support> refusal(const BlockedConv& op, const KernelQuery& r) {
  if (auto no = cpu::refuse_unless_float32_with_weights(r, 1)) return no;
  const Tensor* w = cpu::constant_input(r, 1);
  if (!w) return Support::no("the weights are not constant");
  if (w->rank() < 3 || w->rank() > 4) return Support::no("neither one nor two spatial axes");
  // Packing comes before the shape rule when a plan is opened.
  if (!op.fits(w->shape())) return Support::no("attributes that do not fit the weights");
  return std::nullopt;
}

cpu::BlockedShape likely_shape(const BlockedConv& op, const KernelQuery& r) {
  const Shape& w = r.inputs[1].constant->shape();
  cpu::BlockedShape s = shape_of(op, w);
  cpu::fit_likely_output(s, r, w.size() - 2);
  return s;
}

template <Isa isa>
struct Direct {
  static constexpr const char* name = "blocked_conv";
  static constexpr int priority = 0, any_alignment = 1;
  static constexpr bool scales = true;

  static Support supports(const BlockedConv& op, const KernelQuery& r) {
    if (auto no = refusal(op, r)) return *no;
    if (op.depthwise()) return Support::no("depthwise");
    return op.group > 1 && (op.scaled || op.gated) ? Support::no("its input is not scaled by groups")
                                                   : Support::yes();
  }
  static Support is_preferred(const BlockedConv&, const KernelQuery&) { return Support::yes(); }
  static int64_t weights_size(const cpu::BlockedShape& s) {
    return s.sets * cpu::direct_weights_size(isa, s);
  }
  static void pack(const cpu::BlockedShape& s, const float* w, float* to, Workers& workers) {
    if (s.sets > 1 || s.merged > 1)
      cpu::pack_grouped_weights(isa, s, w, to, workers);
    else
      cpu::pack_direct_weights(isa, s, w, to, workers);
  }
  static size_t workspace(const cpu::BlockedShape& s, bool f16, int threads) {
    return cpu::direct_workspace(isa, s, f16, threads);
  }
  static bool adds_over(const cpu::BlockedShape& s, DataType weights) {
    return cpu::direct_adds_over(isa, s, weights);
  }
  static void run(const cpu::BlockedShape& s, const cpu::BlockedImages& i, void* scratch, KernelContext& c) {
    cpu::direct_convolution(isa, s, i, scratch, c);
  }
};

/// `untransformed`: the weights are transformed when they are used, as those of 16 bits always are.
template <Isa isa, int output, int taps, bool untransformed>
struct Winograd {
  static constexpr cpu::Filtering form{output, taps};
  static constexpr const char* name = taps == 5     ? "blocked_conv.winograd2_5"
                                      : output == 2 ? "blocked_conv.winograd2"
                                                    : "blocked_conv.winograd4";
  static constexpr const char* suffix = untransformed ? ".untransformed" : "";
  static constexpr int priority = 1, any_alignment = 1;

  static Support supports(const BlockedConv& op, const KernelQuery& r) {
    if (auto no = refusal(op, r)) return *no;
    if (op.group > 1 || !cpu::fits_winograd(shape_of(op, r.inputs[1].constant->shape()), form))
      return Support::no("not a kernel of " + std::to_string(taps) + " x " + std::to_string(taps) +
                         " that steps by one, over channel blocks");
    return Support::yes();
  }
  static Support is_preferred(const BlockedConv& op, const KernelQuery& r) {
    const cpu::BlockedShape s = likely_shape(op, r);
    const bool f16 = cpu::is_f16(r.inputs[1].type);
    if (cpu::fastest_winograd(isa, s) != form) return Support::no("another algorithm is faster");
    return untransformed == (f16 || cpu::prefers_untransformed(isa, s, form))
               ? Support::yes()
               : Support::no("weights are better off otherwise");
  }
  /// The number of floats that are transformed together, half and twice the usual, since the best one depends
  /// on the caches. It is the same for every shape, because plans are compared with it.
  static std::vector<Tunables> tactics(const BlockedConv&, const KernelQuery&) {
    return {{int64_t{1} << 16}, {int64_t{1} << 18}};
  }

  static int64_t weights_size(const cpu::BlockedShape& s) {
    return untransformed ? cpu::untransformed_weights_size(s) : cpu::winograd_weights_size(s, form);
  }
  static void pack(const cpu::BlockedShape& s, const float* w, float* to, Workers& workers) {
    if (untransformed)
      cpu::pack_untransformed_weights(isa, s, w, to, workers);
    else
      cpu::pack_winograd_weights(isa, s, form, w, to, workers);
  }
  static size_t workspace(const cpu::BlockedShape& s, bool, int threads) {
    return cpu::winograd_workspace(isa, s, form, untransformed, threads);
  }
  static bool adds_over(const cpu::BlockedShape&, DataType) { return true; }
  static void run(const cpu::BlockedShape& s, const cpu::BlockedImages& i, void* scratch, KernelContext& c) {
    cpu::winograd_convolution(isa, s, form, untransformed, i, scratch, c);
  }
};

template <Isa isa>
struct Strassen {
  static constexpr const char* name = "blocked_conv.strassen";
  static constexpr int priority = 1, any_alignment = 1;
  static constexpr bool scales = true;

  static Support supports(const BlockedConv& op, const KernelQuery& r) {
    if (auto no = refusal(op, r)) return *no;
    const Shape& w = r.inputs[1].constant->shape();
    for (size_t i = 0; i + 2 < w.size(); ++i)
      if (op.window.pad_end(i) > 0) return Support::no("windows leave the image");
    if (op.group > 1 || !cpu::fits_strassen(isa, shape_of(op, w)))
      return Support::no("padding, too few channels, or not so many as panels have");
    return Support::yes();
  }
  static Support is_preferred(const BlockedConv& op, const KernelQuery& r) {
    return cpu::prefers_strassen(isa, likely_shape(op, r)) ? Support::yes()
                                                           : Support::no("another algorithm is faster");
  }
  static int64_t weights_size(const cpu::BlockedShape& s) { return cpu::strassen_weights_size(isa, s); }
  static void pack(const cpu::BlockedShape& s, const float* w, float* to, Workers& workers) {
    cpu::pack_strassen_weights(isa, s, w, to, workers);
  }
  static void mark(const cpu::BlockedShape& s, Tensor& packed, Workers& workers) {
    cpu::mark_strassen_weights(isa, s, packed.type(), packed.data(), workers);
  }
  static size_t workspace(const cpu::BlockedShape& s, bool f16, int threads) {
    return cpu::strassen_workspace(isa, s, f16, threads);
  }
  static bool adds_over(const cpu::BlockedShape& s, DataType weights) {
    return cpu::strassen_adds_over(isa, s, weights);
  }
  static void run(const cpu::BlockedShape& s, const cpu::BlockedImages& i, void* scratch, KernelContext& c) {
    cpu::strassen_convolution(isa, s, i, scratch, c);
  }
};

template <Isa isa>
struct Depthwise {
  static constexpr const char* name = "blocked_conv.depthwise";
  static constexpr int priority = 0, any_alignment = -1;

  static Support supports(const BlockedConv& op, const KernelQuery& r) {
    if (auto no = refusal(op, r)) return *no;
    return op.depthwise() ? Support::yes() : Support::no("not depthwise");
  }
  static Support is_preferred(const BlockedConv&, const KernelQuery&) { return Support::yes(); }
  static int64_t weights_size(const cpu::BlockedShape& s) { return cpu::depthwise_weights_size(s); }
  static void pack(const cpu::BlockedShape& s, const float* w, float* to, Workers&) {
    cpu::pack_depthwise_weights(s, w, to);
  }
  static size_t workspace(const cpu::BlockedShape& s, bool f16, int) {
    return cpu::depthwise_workspace(s, f16);
  }
  static void run(const cpu::BlockedShape& s, const cpu::BlockedImages& i, void* scratch, KernelContext& c) {
    cpu::depthwise_convolution(isa, s, i, scratch, c);
  }
};

/// Registers an algorithm as a kernel, for weights of float32 or of 16 bits. `strips`: for images of 16 bits.
template <class Algorithm, Isa isa, bool f16, bool strips>
struct Entry {
  static Support supports(const BlockedConv& op, const KernelQuery& r) {
    if (!strips) return supports_floats(op, r);
    if (!cpu::has_f16_activations(r)) return Support::no("neither image has 16 bits");
    if (op.group > 1 && !op.depthwise()) return Support::no("groups of channels");
    if (r.outputs.size() > 1 && r.outputs[1].present) return Support::no("means of rows are not made");
    std::vector<KernelQuery::Operand> inputs(r.inputs.begin(), r.inputs.end());
    std::vector<KernelQuery::Operand> outputs(r.outputs.begin(), r.outputs.end());
    inputs[0].type = outputs[0].type = DataType::float32;
    KernelQuery wide = r;
    wide.inputs = inputs;
    wide.outputs = outputs;
    return supports_floats(op, wide);
  }
  static Support supports_floats(const BlockedConv& op, const KernelQuery& r) {
    const bool narrow = r.inputs.size() > 1 && cpu::is_f16(r.inputs[1].type);
    if (narrow != f16) return Support::no(f16 ? "weights not of 16 bits" : "weights not of float32");
    if ((op.scaled || op.gated) && !requires { Algorithm::scales; })
      return Support::no("its input is not scaled");
    if (r.outputs.size() > 1 && r.outputs[1].present && !op.depthwise())
      return Support::no("means of rows of other than a depthwise convolution");
    return Algorithm::supports(op, r);
  }
  static std::optional<PackedForm> packed_form(const BlockedConv& op, const KernelQuery& r, size_t i) {
    if (i != 1) return std::nullopt;
    const Tensor& w = *r.inputs[1].constant;
    return PackedForm{w.type(), {Algorithm::weights_size(shape_of(op, w.shape()))}};
  }
  static void pack(const BlockedConv& op, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
    const Tensor& w = *r.inputs[1].constant;
    const cpu::BlockedShape s = shape_of(op, w.shape());
    const auto pack_floats = [&](const float* from, float* packed) {
      Algorithm::pack(s, from, packed, workers);
    };
    if (f16)
      cpu::pack_f16(isa, w, to, workers, pack_floats);
    else
      pack_floats(floats(w), floats(to));
    if constexpr (requires { &Algorithm::mark; }) Algorithm::mark(s, to, workers);
  }
  static size_t workspace(const BlockedConv& op, std::span<const Shape> inputs, int threads) {
    return workspace(shape_of(op, inputs[0], inputs[1]), threads);
  }
  static size_t workspace(const cpu::BlockedShape& s, int threads) {
    const auto needs = [&](const cpu::BlockedShape& of) { return Algorithm::workspace(of, f16, threads); };
    return strips ? cpu::ImageStrips(s).workspace(needs) : needs(s);
  }
  static void run(const BlockedConv& op, KernelContext& c) {
    const cpu::BlockedShape s = shape_of(op, c.in(0).shape(), c.in(1).shape());
    void* const scratch = c.workspace(workspace(s, c.threads()));
    const Tensor& w = *c.packed(1);
    cpu::BlockedImages images{.weights = w.data(), .weights_type = w.type(), .bias = floats(c, 2)};
    if (c.wants(1)) images.row_means = floats(c.out(1));
    if (op.scaled) images.before = {floats(c.in(3)), floats(c.in(4)), {op.least, op.greatest}};
    if (op.gated) {
      const Tensor& gates = c.in(3);
      images.before = {.factor = floats(gates),
                       .image = gates.dim(0) == 1 ? 0 : s.in_blocks() * cpu::channel_block};
    }
    if constexpr (strips) {
      const auto strip = [&](const cpu::BlockedShape& of, int64_t image, const float* x, float* y,
                             void* strip_scratch, KernelContext& here) {
        cpu::BlockedImages part = images;
        part.x = x;
        part.y = y;
        part.before = images.before.of_image(image);
        Algorithm::run(of, part, strip_scratch, here);
      };
      cpu::ImageStrips(s).run(isa, c.in(0), scratch, c, strip);
    } else {
      images.x = floats(c.in(0));
      images.y = floats(c.out(0));
      Algorithm::run(s, images, scratch, c);
    }
  }
  static bool adds_over(const BlockedConv& op, std::span<const Shape> inputs) {
    // Packed weights may have either type of 16 bits.
    return Algorithm::adds_over(shape_of(op, inputs[0], inputs[1]),
                                f16 ? DataType::float16 : DataType::float32);
  }
  /// Null for strips, because they add to outputs of 16 bits.
  template <class A>
  static auto adds_over_of() -> bool (*)(const BlockedConv&, std::span<const Shape>) {
    if constexpr (!strips && requires { &A::adds_over; })
      return adds_over;
    else
      return nullptr;
  }
  template <class A>
  static auto tactics_of() -> std::vector<Tunables> (*)(const BlockedConv&, const KernelQuery&) {
    if constexpr (requires { &A::tactics; })
      return A::tactics;
    else
      return nullptr;
  }
  static std::string name() {
    std::string name = Algorithm::name;
    if constexpr (!f16 && requires { Algorithm::suffix; }) name += Algorithm::suffix;
    if (f16) name += ".f16";
    return strips ? name + ".f16_activations" : name;
  }
  static void add(KernelCatalog& k) {
    k.add<BlockedConv>({.op = "BlockedConv",
                        .domain = "lathe",
                        .name = cpu::kernel_name(name(), isa),
                        .isa = isa,
                        .priority = Algorithm::priority - (strips ? 2 : 0),
                        .fuses_epilogue = true,
                        .writes_f16 = strips,
                        .any_alignment = f16 ? -1 : Algorithm::any_alignment},
                       {.run = run,
                        .supports = supports,
                        .is_preferred = Algorithm::is_preferred,
                        .tactics = tactics_of<Algorithm>(),
                        .packed_form = packed_form,
                        .pack = pack,
                        .workspace = workspace,
                        .adds_over = adds_over_of<Algorithm>()});
  }
};

template <Isa isa, bool f16, bool strips, bool untransformed>
void add_winograd(KernelCatalog& k) {
  Entry<Winograd<isa, 2, 3, untransformed>, isa, f16, strips>::add(k);
  Entry<Winograd<isa, 4, 3, untransformed>, isa, f16, strips>::add(k);
  Entry<Winograd<isa, 2, 5, untransformed>, isa, f16, strips>::add(k);
}

template <Isa isa, bool f16, bool strips>
void add_all(KernelCatalog& k) {
  Entry<Direct<isa>, isa, f16, strips>::add(k);
  add_winograd<isa, f16, strips, true>(k);
  if constexpr (!f16) add_winograd<isa, f16, strips, false>(k);
  Entry<Depthwise<isa>, isa, f16, strips>::add(k);
  Entry<Strassen<isa>, isa, f16, strips>::add(k);
}

}  // namespace

/// Defined in blocked_conv_bf16.cpu.cc.
void cpu_bf16_blocked_conv(KernelCatalog& k);

void cpu_blocked_conv(KernelCatalog& k) {
  k.replaces("BlockedConv", {"Conv"});
  cpu_bf16_blocked_conv(k);
  cpu::for_each_isa([&]<Isa isa>() {
    add_all<isa, false, false>(k);
    add_all<isa, true, false>(k);
    add_all<isa, false, true>(k);
    add_all<isa, true, true>(k);
  });
}

}  // namespace lathe
