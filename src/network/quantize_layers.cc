// Numbers of few bits.
#include "network/maker.h"

namespace lathe {
namespace {

double largest_number(const LayerMaker& m, DataType t) {
  switch (t) {
    case DataType::int8:
      return 127;
    case DataType::int16:
      return 32767;
    case DataType::int4:
      return 7;
    case DataType::int2:
      return 1;
    case DataType::float4e2m1:
      return 6;
    case DataType::float6e2m3:
      return 7.5;
    case DataType::float6e3m2:
      return 28;
    case DataType::float8e4m3fn:
      return 448;
    case DataType::float8e4m3fnuz:
      return 240;
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
      return 57344;
    default:
      m.fail(Code::node_bad_type, "a signed type of few bits", std::string(name_of(t)));
  }
}

Attrs blocks(int64_t axis, int64_t block_size) {
  Attrs a;
  a.number("axis", axis);
  if (block_size) a.number("block_size", block_size);
  return a;
}

/// A block of zeros has a scale of 0: 1 does as well, and divides.
ValueId not_zero(LayerMaker& m, ValueId scale) {
  const DataType t = m.type(scale);
  return m.op("Where", {m.op("Equal", {scale, m.scalar(t, 0)}), m.scalar(t, 1), scale});
}

/// The largest magnitude of every block over `largest`, of x's rank.
ValueId block_scales(LayerMaker& m, ValueId x, size_t axis, int64_t block, double largest) {
  SymShape split = m.shape(x);
  const Dim n = split[axis];
  if (!n.is_constant() || block < 1 || n.constant() % block)
    m.fail(Code::node_bad_shape,
           "axis " + std::to_string(axis) + " of a known multiple of " + std::to_string(block), n.str());
  split[axis] = Dim(n.constant() / block);
  split.insert(split.begin() + static_cast<ptrdiff_t>(axis) + 1, Dim(block));
  const ValueId blocked = m.op("Reshape", {m.op("Abs", {x}), m.sizes(split)});
  const ValueId most =
      m.op("ReduceMax", {blocked, m.ints({static_cast<int64_t>(axis) + 1})}, Attrs().number("keepdims", 0));
  return m.op("Div", {most, m.scalar(m.type(x), largest)});
}

}  // namespace

Layer Network::add_quantize(const TensorRef& x, const TensorRef& scale, const TensorRef& zero_point,
                            const QuantizeOptions& o) {
  LayerMaker m(*this, "quantize", o.name);
  m.made_by("add_quantize", x, scale, zero_point, o);
  Attrs a = blocks(o.axis, o.block_size);
  if (!o.saturate) a.number("saturate", 0);
  const ValueId zero = m.use_if(zero_point);
  if (zero == no_id)
    a.type("output_dtype", o.type);
  else if (m.type(zero) != o.type)
    m.fail(Code::node_bad_type,
           "a zero point of type " + std::string(name_of(o.type)) + ", that of the output",
           std::string(name_of(m.type(zero))));
  return m.finish(m.op("QuantizeLinear", {m.use(x), m.use(scale), zero}, a));
}

Layer Network::add_dequantize(const TensorRef& x, const TensorRef& scale, const TensorRef& zero_point,
                              const DequantizeOptions& o) {
  LayerMaker m(*this, "dequantize", o.name);
  m.made_by("add_dequantize", x, scale, zero_point, o);
  return m.finish(
      m.op("DequantizeLinear", {m.use(x), m.use(scale), m.use_if(zero_point)}, blocks(o.axis, o.block_size)));
}

Layer Network::add_dynamic_quantize(const TensorRef& x, const DynamicQuantizeOptions& o) {
  LayerMaker m(*this, "dynamic_quantize", o.name);
  m.made_by("add_dynamic_quantize", x, o);
  const ValueId v = m.use(x);
  const size_t axis = m.axis(o.axis, m.rank(v));
  ValueId scale = block_scales(m, v, axis, o.block_size, largest_number(m, o.type)), stored_scale = scale;
  if (o.double_scale) {
    const ValueId by = m.use(o.double_scale);
    stored_scale = m.op("QuantizeLinear", {scale, by}, Attrs().type("output_dtype", o.scale_type));
    scale = m.op("DequantizeLinear", {stored_scale, by});
  }
  const ValueId divisor = not_zero(m, scale);
  if (!o.double_scale) stored_scale = divisor;
  Attrs a = blocks(static_cast<int64_t>(axis), o.block_size);
  a.type("output_dtype", o.type);
  return m.finish({m.op("QuantizeLinear", {v, divisor}, a), stored_scale});
}

}  // namespace lathe
