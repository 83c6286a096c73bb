// ConvInteger and QLinearConv of plain images with constant weights, of any zero points, in groups, over up
// to three spatial axes: windows become the rows of a matrix, some at a time, which is multiplied with the
// filters. Most layers of quantized networks do not use this: the builder keeps them in channel blocks.
#include <cstring>

#include "cpu/quantized.h"
#include "ops/integer_matmul/integer_matmul.h"
#include "ops/integer_matmul/quantization.h"

namespace lathe {
namespace {

/// The indices of the inputs of the two operators.
struct InputIndices {
  size_t x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias;
};
constexpr InputIndices integer_inputs{none, 2, 1, none, 3, none, none, none};
constexpr InputIndices linear_inputs{1, 2, 3, 4, 5, 6, 7, 8};

/// Bytes of windows that are multiplied at once.
constexpr int64_t strip_bytes = int64_t{1} << 18;

struct Sizes {
  template <class Op>
  Sizes(const Op& op, const Shape& x, const Shape& w, const Shape& y)
      : batch(x[0]), group(op.group), channels(w[1]), filters(w[0] / group), axes(op.axes(x, w, y)) {
    for (const WindowAxis& a : axes) {
      taps *= a.kernel;
      in_plane *= a.in;
      out_plane *= a.out;
    }
    terms = channels * taps;
    strip = std::clamp<int64_t>(strip_bytes / std::max<int64_t>(1, terms), 16, 1024);
    strip = std::min(strip, out_plane);
    columns = cpu::panels(filters) * cpu::panel_filters;
  }
  int64_t batch, group, channels, filters;  // of a group
  WindowAxes axes;
  int64_t taps = 1, in_plane = 1, out_plane = 1, terms = 0, strip = 0, columns = 0;
};

/// Offsets in the scratch memory: windows, their products, three numbers for each filter, the product's
/// workspace.
struct Scratch {
  Scratch(Isa isa, const Sizes& s, int64_t result) {
    const auto lines = [](int64_t n) { return (n + 63) / 64 * 64; };
    products = lines(s.strip * s.terms);
    numbers = products + lines(s.strip * s.filters * result);
    rest = numbers + 3 * s.columns * static_cast<int64_t>(sizeof(int32_t));
    bytes = static_cast<size_t>(rest) + cpu::int8_product_workspace(isa, s.strip, s.terms);
  }
  int64_t products, numbers, rest;
  size_t bytes;
};

template <class Op>
Shape output_shape(const Op& op, const Shape& x, const Shape& w) {
  Conv conv;
  conv.window = op.window;
  conv.kernel_shape = op.kernel_shape;
  conv.group = op.group;
  Fact<int64_t> in[2], out;
  for (auto [fact, shape] : {std::pair{&in[0], &x}, std::pair{&in[1], &w}}) {
    fact->present = fact->ranked = true;
    fact->shape.assign(shape->begin(), shape->end());
  }
  ShapeContext<int64_t> c(in, {&out, 1});
  conv.shape(c);
  return Shape(out.shape.begin(), out.shape.end());
}

template <class Op, const InputIndices& at>
Support supports(const Op& op, const KernelQuery& r) {
  for (size_t i : {size_t{0}, at.w, at.y_zero})
    if (i != none && !(cpu::has_input(r, i) && is_eight_bits(r.inputs[i].type)))
      return Support::no("only int8 and uint8");
  for (size_t i : {at.x_scale, at.w_scale, at.y_scale})
    if (i != none && !(cpu::has_input(r, i) && r.inputs[i].type == DataType::float32))
      return Support::no("only scales of float32");
  const DataType result = at.y_zero == none ? DataType::int32 : r.inputs[at.y_zero].type;
  if (r.outputs.empty() || r.outputs[0].type != result) return Support::no("another type of result");
  if (at.bias != none && cpu::has_input(r, at.bias) && r.inputs[at.bias].type != DataType::int32)
    return Support::no("only a bias of int32");
  const Tensor* w = cpu::constant_input(r, at.w);
  if (!w) return Support::no("the weights are not constant");
  if (w->rank() < 3 || w->rank() > 5) return Support::no("neither one nor two nor three spatial axes");
  for (size_t i : {at.x_zero, at.x_scale, at.y_scale, at.y_zero})
    if (i != none && !is_single(r, i)) return Support::no("scales or zero points of channels");
  for (size_t i : {at.w_zero, at.w_scale})
    if (i != none && !is_for_columns(r, i, w->dim(0)))
      return Support::no("scales or zero points that are neither one nor one for each filter");
  // Packing comes before the shape rule when a plan is opened.
  const int64_t group = op.group;
  if (group < 1 || group > INT32_MAX || w->dim(0) % group != 0 || !op.window.counts_fit(w->rank() - 2))
    return Support::no("attributes that do not fit the weights");
  return Support::yes();
}

/// Bytes of one group's packed weights, in whole lines.
int64_t group_bytes(const Shape& w, int64_t group) {
  const int64_t terms = count_of(w) / std::max<int64_t>(1, w[0]);
  return (cpu::packed_bytes(w[0] / group, cpu::quads(terms) * cpu::quad) + 63) / 64 * 64;
}

template <class Op, const InputIndices& at>
std::optional<PackedForm> packed_form(const Op& op, const KernelQuery& r, size_t i) {
  if (i != at.w) return std::nullopt;
  return PackedForm{DataType::int8, {op.group * group_bytes(r.inputs[i].constant->shape(), op.group)}};
}

template <class Op, const InputIndices& at>
void pack(const Op& op, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
  const Tensor& w = *r.inputs[at.w].constant;
  std::memset(to.data(), 0, to.bytes());
  if (w.size() == 0) return;
  const int64_t filters = w.dim(0) / op.group, terms = w.size() / w.dim(0),
                bytes = group_bytes(w.shape(), op.group);
  for (int64_t g = 0; g < op.group; ++g)
    cpu::pack_matrix(
        {static_cast<const uint8_t*>(w.data()) + g * filters * terms, w.type() == DataType::int8, true},
        terms, filters, to.as<int8_t>().data() + g * bytes, workers);
}

template <class Op, const InputIndices& at, Isa isa>
size_t workspace(const Op& op, std::span<const Shape> inputs, int) {
  const Shape y = output_shape(op, inputs[0], inputs[at.w]);
  return Scratch(isa, Sizes(op, inputs[0], inputs[at.w], y), at.y_zero == none ? 4 : 1).bytes;
}

/// Calls f(tap, offset in the plane, or -1 outside) for each tap of the window of an output pixel.
template <class F>
void for_each_tap(const Sizes& s, int64_t pixel, F&& f) {
  for (int64_t tap = 0; tap < s.taps; ++tap) {
    int64_t offset = 0, stride = 1, o = pixel, k = tap;
    for (size_t i = s.axes.size(); i-- > 0;) {
      const WindowAxis& a = s.axes[i];
      const int64_t position = a.start(o % a.out) + k % a.kernel * a.dilation;
      offset = offset < 0 || position < 0 || position >= a.in ? -1 : offset + position * stride;
      stride *= a.in;
      o /= a.out;
      k /= a.kernel;
    }
    f(tap, offset);
  }
}

/// The windows of `count` pixels from `first` on, as rows.
void gather(const Sizes& s, const uint8_t* x, uint8_t zero, int64_t first, int64_t count, uint8_t* to,
            KernelContext& c) {
  c.parallel(count, std::max<int64_t>(1, 16384 / (s.terms + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      c.poll();
      uint8_t* const row = to + i * s.terms;
      for_each_tap(s, first + i, [&](int64_t tap, int64_t offset) {
        for (int64_t channel = 0; channel < s.channels; ++channel)
          row[channel * s.taps + tap] = offset < 0 ? zero : x[channel * s.in_plane + offset];
      });
    }
  });
}

/// Rows of filters to planes.
template <class T>
void scatter(const Sizes& s, const T* from, int64_t count, T* to, KernelContext& c) {
  c.parallel(s.filters, std::max<int64_t>(1, 16384 / (count + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t f = begin; f < end; ++f) {
      c.poll();
      for (int64_t i = 0; i < count; ++i) to[f * s.out_plane + i] = from[i * s.filters + f];
    }
  });
}

/// Numbers of one group's filters.
template <class T>
const T* of_group(std::span<const T> all, int64_t first, int64_t n, int64_t columns, T* to) {
  for (int64_t j = 0; j < columns; ++j)
    to[j] = j >= n ? T{} : all[all.size() == 1 ? 0 : static_cast<size_t>(first + j)];
  return to;
}

template <class Op, const InputIndices& at, Isa isa>
void run(const Op& op, KernelContext& c) {
  using Result = std::conditional_t<at.y_zero == none, int32_t, uint8_t>;
  const Tensor &x = c.in(0), &w = c.in(at.w);
  Tensor& y = c.out(0);
  const Sizes s(op, x.shape(), w.shape(), y.shape());
  const Scratch scratch(isa, s, sizeof(Result));
  auto* const memory = static_cast<uint8_t*>(c.workspace(scratch.bytes));
  auto* const results = reinterpret_cast<Result*>(memory + scratch.products);
  auto* const zeros = reinterpret_cast<int32_t*>(memory + scratch.numbers);
  auto* const biases = zeros + s.columns;
  auto* const scales = reinterpret_cast<float*>(biases + s.columns);
  const int32_t x_zero = zero_of(optional_input(c, at.x_zero), 0);
  cpu::Int8Product p{.n = s.filters, .k = s.terms};
  p.a = memory;
  p.a_signed = x.type() == DataType::int8;
  p.a_zero = x_zero + (p.a_signed ? 128 : 0);
  float x_scale = 1, y_scale = 1;
  if constexpr (at.y_zero != none) {
    check_scale(c, at.x_scale, false);
    check_scale(c, at.w_scale, false);
    check_scale(c, at.y_scale, true);
    x_scale = c.in(at.x_scale).template as<float>()[0];
    y_scale = c.in(at.y_scale).template as<float>()[0];
    p.zero = zero_of(&c.in(at.y_zero), 0);
    p.lowest = y.type() == DataType::int8 ? -128 : 0;
    p.bytes = results;
  } else {
    p.ints = results;
  }
  const int64_t packed = group_bytes(w.shape(), op.group);
  for (int64_t g = 0; g < s.group; ++g) {
    const int64_t first = g * s.filters;
    p.b = c.packed(at.w)->template as<int8_t>().data() + g * packed;
    p.b_zero = column_zeros(optional_input(c, at.w_zero), w.type(), first, s.filters, s.columns, zeros);
    if constexpr (at.y_zero != none) {
      p.scale =
          column_scales(x_scale,
                        {of_group(c.in(at.w_scale).template as<float>(), first, s.filters, s.columns, scales),
                         static_cast<size_t>(s.columns)},
                        y_scale, s.filters, s.columns, scales);
      if (const Tensor* b = optional_input(c, at.bias))
        p.bias = of_group(b->as<int32_t>(), first, s.filters, s.columns, biases);
    }
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t at_pixel = 0; at_pixel < s.out_plane; at_pixel += s.strip) {
        p.m = std::min(s.strip, s.out_plane - at_pixel);
        gather(s, static_cast<const uint8_t*>(x.data()) + (n * s.group + g) * s.channels * s.in_plane,
               static_cast<uint8_t>(x_zero), at_pixel, p.m, memory, c);
        cpu::multiply_int8(isa, p, memory + scratch.rest, c);
        scatter(s, results, p.m,
                static_cast<Result*>(y.data()) + (n * s.group * s.filters + first) * s.out_plane + at_pixel,
                c);
      }
  }
}

template <class Op, const InputIndices& at, Isa isa>
void add(KernelCatalog& k, const char* op, const char* name) {
  k.add<Op>({.op = op, .name = cpu::kernel_name(name, isa), .isa = isa},
            {.run = run<Op, at, isa>,
             .supports = supports<Op, at>,
             .packed_form = packed_form<Op, at>,
             .pack = pack<Op, at>,
             .workspace = workspace<Op, at, isa>});
}

}  // namespace

void cpu_integer_conv(KernelCatalog& k);
void cpu_integer_conv(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    add<ConvInteger, integer_inputs, isa>(k, "ConvInteger", "conv_integer");
    add<QLinearConv, linear_inputs, isa>(k, "QLinearConv", "qlinear_conv");
  });
}

}  // namespace lathe
