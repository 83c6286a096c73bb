// One kernel for each algorithm: what a plan stores is the name of the algorithm that was chosen. Each says
// whether it can; Winograd goes first, and stands back where it is thought to be slower.
#include "ops/blocked_conv/blocked_conv.h"

#include "cpu/ask.h"
#include "cpu/blocked.h"
#include "cpu/blocked_shape.h"
#include "cpu/image_strips.h"

namespace lathe {
namespace {

using cpu::floats;

/// The shape but for what X decides.
cpu::BlockedShape shape_of(const BlockedConv& op, const Shape& w) {
  cpu::BlockedShape s = cpu::blocked_window(op, w);
  s.plain = op.plain_input;
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

/// What every algorithm needs.
std::optional<Verdict> refusal(const BlockedConv& op, const KernelRequest& r) {
  if (auto no = cpu::refuse_unless_float32_with_weights(r, 1)) return no;
  const Tensor* w = cpu::constant_input(r, 1);
  if (!w) return Verdict::no("the weights are not constant");
  if (w->rank() < 3 || w->rank() > 4) return Verdict::no("neither one nor two spatial axes");
  // Packing comes before the shape rule when a plan is opened.
  if (!op.fits(w->shape())) return Verdict::no("attributes that do not fit the weights");
  return std::nullopt;
}

cpu::BlockedShape likely_shape(const BlockedConv& op, const KernelRequest& r) {
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

  static Verdict ask(const BlockedConv& op, const KernelRequest& r) {
    if (auto no = refusal(op, r)) return *no;
    if (op.depthwise()) return Verdict::no("depthwise");
    return op.group > 1 && (op.scaled || op.gated) ? Verdict::no("its input is not scaled by groups")
                                                   : Verdict::yes();
  }
  static Verdict prefer(const BlockedConv&, const KernelRequest&) { return Verdict::yes(); }
  static int64_t weights_size(const cpu::BlockedShape& s) {
    return s.sets * cpu::direct_weights_size(isa, s);
  }
  static void pack(const cpu::BlockedShape& s, const float* w, float* to, Workers& workers) {
    if (s.sets > 1 || s.merged > 1)
      cpu::pack_grouped_weights(isa, s, w, to, workers);
    else
      cpu::pack_direct_weights(isa, s, w, to, workers);
  }
  static size_t workspace(const cpu::BlockedShape& s, bool half, int threads) {
    return cpu::direct_workspace(isa, s, half, threads);
  }
  static bool adds_over(const cpu::BlockedShape& s, DataType weights) {
    return cpu::direct_adds_over(isa, s, weights);
  }
  static void run(const cpu::BlockedShape& s, const cpu::BlockedImages& i, void* scratch, KernelContext& c) {
    cpu::direct_convolution(isa, s, i, scratch, c);
  }
};

/// `turned`: are the weights, and evaluated at the points when they are used? Those of 16 bits always are.
template <Isa isa, int output, int taps, bool turned>
struct Winograd {
  static constexpr cpu::Filtering form{output, taps};
  static constexpr const char* name = taps == 5     ? "blocked_conv.winograd2_5"
                                      : output == 2 ? "blocked_conv.winograd2"
                                                    : "blocked_conv.winograd4";
  static constexpr const char* suffix = turned ? ".turned" : "";
  static constexpr int priority = 1, any_alignment = 1;

  static Verdict ask(const BlockedConv& op, const KernelRequest& r) {
    if (auto no = refusal(op, r)) return *no;
    if (op.group > 1 || !cpu::fits_winograd(shape_of(op, r.inputs[1].constant->shape()), form))
      return Verdict::no("not a kernel of " + std::to_string(taps) + " x " + std::to_string(taps) +
                         " that steps by one, over channel blocks");
    return Verdict::yes();
  }
  static Verdict prefer(const BlockedConv& op, const KernelRequest& r) {
    const cpu::BlockedShape s = likely_shape(op, r);
    const bool half = cpu::is_half(r.inputs[1].type);
    if (cpu::fastest_winograd(isa, s) != form) return Verdict::no("another algorithm is faster");
    return turned == (half || cpu::prefers_turned(isa, s, form))
               ? Verdict::yes()
               : Verdict::no("weights are better off otherwise");
  }
  /// How many floats go through all of it together, half and twice the usual: what is best depends on the
  /// caches. The same for every shape, since plans are held against it.
  static std::vector<Tunables> tactics(const BlockedConv&, const KernelRequest&) {
    return {{int64_t{1} << 16}, {int64_t{1} << 18}};
  }

  static int64_t weights_size(const cpu::BlockedShape& s) {
    return turned ? cpu::turned_weights_size(s) : cpu::winograd_weights_size(s, form);
  }
  static void pack(const cpu::BlockedShape& s, const float* w, float* to, Workers& workers) {
    if (turned)
      cpu::pack_turned_weights(isa, s, w, to, workers);
    else
      cpu::pack_winograd_weights(isa, s, form, w, to, workers);
  }
  static size_t workspace(const cpu::BlockedShape& s, bool, int threads) {
    return cpu::winograd_workspace(isa, s, form, turned, threads);
  }
  static bool adds_over(const cpu::BlockedShape&, DataType) { return true; }
  static void run(const cpu::BlockedShape& s, const cpu::BlockedImages& i, void* scratch, KernelContext& c) {
    cpu::winograd_convolution(isa, s, form, turned, i, scratch, c);
  }
};

template <Isa isa>
struct Strassen {
  static constexpr const char* name = "blocked_conv.strassen";
  static constexpr int priority = 1, any_alignment = 1;
  static constexpr bool scales = true;

  static Verdict ask(const BlockedConv& op, const KernelRequest& r) {
    if (auto no = refusal(op, r)) return *no;
    const Shape& w = r.inputs[1].constant->shape();
    for (size_t i = 0; i + 2 < w.size(); ++i)
      if (op.window.pad_end(i) > 0) return Verdict::no("windows leave the image");
    if (op.group > 1 || !cpu::fits_strassen(isa, shape_of(op, w)))
      return Verdict::no("padding, too few channels, or not so many as panels have");
    return Verdict::yes();
  }
  static Verdict prefer(const BlockedConv& op, const KernelRequest& r) {
    return cpu::prefers_strassen(isa, likely_shape(op, r)) ? Verdict::yes()
                                                           : Verdict::no("another algorithm is faster");
  }
  static int64_t weights_size(const cpu::BlockedShape& s) { return cpu::strassen_weights_size(isa, s); }
  static void pack(const cpu::BlockedShape& s, const float* w, float* to, Workers& workers) {
    cpu::pack_strassen_weights(isa, s, w, to, workers);
  }
  static void mark(const cpu::BlockedShape& s, Tensor& packed, Workers& workers) {
    cpu::mark_strassen_weights(isa, s, packed.type(), packed.data(), workers);
  }
  static size_t workspace(const cpu::BlockedShape& s, bool half, int threads) {
    return cpu::strassen_workspace(isa, s, half, threads);
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

  static Verdict ask(const BlockedConv& op, const KernelRequest& r) {
    if (auto no = refusal(op, r)) return *no;
    return op.depthwise() ? Verdict::yes() : Verdict::no("not depthwise");
  }
  static Verdict prefer(const BlockedConv&, const KernelRequest&) { return Verdict::yes(); }
  static int64_t weights_size(const cpu::BlockedShape& s) { return cpu::depthwise_weights_size(s); }
  static void pack(const cpu::BlockedShape& s, const float* w, float* to, Workers&) {
    cpu::pack_depthwise_weights(s, w, to);
  }
  static size_t workspace(const cpu::BlockedShape& s, bool half, int) {
    return cpu::depthwise_workspace(s, half);
  }
  static void run(const cpu::BlockedShape& s, const cpu::BlockedImages& i, void* scratch, KernelContext& c) {
    cpu::depthwise_convolution(isa, s, i, scratch, c);
  }
};

/// Registers an algorithm as a kernel, for weights of float32 or of 16 bits. `strips`: for images of 16 bits.
template <class Algorithm, Isa isa, bool half, bool strips>
struct Entry {
  static Verdict ask(const BlockedConv& op, const KernelRequest& r) {
    if (!strips) return ask_floats(op, r);
    if (!cpu::has_short_images(r)) return Verdict::no("neither image has 16 bits");
    if (op.group > 1 && !op.depthwise()) return Verdict::no("groups of channels");
    if (r.outputs.size() > 1 && r.outputs[1].present) return Verdict::no("means of rows are not made");
    std::vector<KernelRequest::Operand> inputs(r.inputs.begin(), r.inputs.end());
    std::vector<KernelRequest::Operand> outputs(r.outputs.begin(), r.outputs.end());
    inputs[0].type = outputs[0].type = DataType::float32;
    KernelRequest wide = r;
    wide.inputs = inputs;
    wide.outputs = outputs;
    return ask_floats(op, wide);
  }
  static Verdict ask_floats(const BlockedConv& op, const KernelRequest& r) {
    const bool narrow = r.inputs.size() > 1 && cpu::is_half(r.inputs[1].type);
    if (narrow != half) return Verdict::no(half ? "weights not of 16 bits" : "weights not of float32");
    if ((op.scaled || op.gated) && !requires { Algorithm::scales; })
      return Verdict::no("its input is not scaled");
    if (r.outputs.size() > 1 && r.outputs[1].present && !op.depthwise())
      return Verdict::no("means of rows of other than a depthwise convolution");
    return Algorithm::ask(op, r);
  }
  static std::optional<PackedForm> packed_form(const BlockedConv& op, const KernelRequest& r, size_t i) {
    if (i != 1) return std::nullopt;
    const Tensor& w = *r.inputs[1].constant;
    return PackedForm{w.type(), {Algorithm::weights_size(shape_of(op, w.shape()))}};
  }
  static void pack(const BlockedConv& op, const KernelRequest& r, size_t, Tensor& to, Workers& workers) {
    const Tensor& w = *r.inputs[1].constant;
    const cpu::BlockedShape s = shape_of(op, w.shape());
    const auto pack_floats = [&](const float* from, float* packed) {
      Algorithm::pack(s, from, packed, workers);
    };
    if (half)
      cpu::pack_narrow(isa, w, to, workers, pack_floats);
    else
      pack_floats(floats(w), floats(to));
    if constexpr (requires { &Algorithm::mark; }) Algorithm::mark(s, to, workers);
  }
  static size_t workspace(const BlockedConv& op, std::span<const Shape> inputs, int threads) {
    return workspace(shape_of(op, inputs[0], inputs[1]), threads);
  }
  static size_t workspace(const cpu::BlockedShape& s, int threads) {
    const auto needs = [&](const cpu::BlockedShape& of) { return Algorithm::workspace(of, half, threads); };
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
      const auto strip = [&](const cpu::BlockedShape& of, int64_t image, const float* x, float* y, void* room,
                             KernelContext& here) {
        cpu::BlockedImages part = images;
        part.x = x;
        part.y = y;
        part.before = images.before.of_image(image);
        Algorithm::run(of, part, room, here);
      };
      cpu::ImageStrips(s).run(isa, c.in(0), scratch, c, strip);
    } else {
      images.x = floats(c.in(0));
      images.y = floats(c.out(0));
      Algorithm::run(s, images, scratch, c);
    }
  }
  static bool adds_over(const BlockedConv& op, std::span<const Shape> inputs) {
    // Of packed weights any type of 16 bits will do.
    return Algorithm::adds_over(shape_of(op, inputs[0], inputs[1]),
                                half ? DataType::float16 : DataType::float32);
  }
  /// Those of strips are floats of 16 bits when they are added to.
  template <class A>
  static auto adds_over_of() -> bool (*)(const BlockedConv&, std::span<const Shape>) {
    if constexpr (!strips && requires { &A::adds_over; })
      return adds_over;
    else
      return nullptr;
  }
  template <class A>
  static auto tactics_of() -> std::vector<Tunables> (*)(const BlockedConv&, const KernelRequest&) {
    if constexpr (requires { &A::tactics; })
      return A::tactics;
    else
      return nullptr;
  }
  static std::string name() {
    std::string name = Algorithm::name;
    if constexpr (!half && requires { Algorithm::suffix; }) name += Algorithm::suffix;
    if (half) name += ".half";
    return strips ? name + ".short_images" : name;
  }
  static void add(KernelCatalog& k) {
    k.add<BlockedConv>({.op = "BlockedConv",
                        .domain = "lathe",
                        .name = cpu::kernel_name(name(), isa),
                        .isa = isa,
                        .priority = Algorithm::priority - (strips ? 2 : 0),
                        .finishes = true,
                        .narrows = strips,
                        .any_alignment = half ? -1 : Algorithm::any_alignment},
                       {.run = run,
                        .ask = ask,
                        .prefer = Algorithm::prefer,
                        .tactics = tactics_of<Algorithm>(),
                        .packed_form = packed_form,
                        .pack = pack,
                        .workspace = workspace,
                        .adds_over = adds_over_of<Algorithm>()});
  }
};

template <Isa isa, bool half, bool strips, bool turned>
void add_winograd(KernelCatalog& k) {
  Entry<Winograd<isa, 2, 3, turned>, isa, half, strips>::add(k);
  Entry<Winograd<isa, 4, 3, turned>, isa, half, strips>::add(k);
  Entry<Winograd<isa, 2, 5, turned>, isa, half, strips>::add(k);
}

template <Isa isa, bool half, bool strips>
void add_all(KernelCatalog& k) {
  Entry<Direct<isa>, isa, half, strips>::add(k);
  add_winograd<isa, half, strips, true>(k);
  if constexpr (!half) add_winograd<isa, half, strips, false>(k);
  Entry<Depthwise<isa>, isa, half, strips>::add(k);
  Entry<Strassen<isa>, isa, half, strips>::add(k);
}

}  // namespace

/// Of the other file.
void cpu_narrow_blocked_conv(KernelCatalog& k);

void cpu_blocked_conv(KernelCatalog& k) {
  cpu_narrow_blocked_conv(k);
  cpu::for_each_isa([&]<Isa isa>() {
    add_all<isa, false, false>(k);
    add_all<isa, true, false>(k);
    add_all<isa, false, true>(k);
    add_all<isa, true, true>(k);
  });
}

}  // namespace lathe
