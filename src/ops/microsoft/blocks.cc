// Low-bit weights with a scale for each block: DequantizeLinear takes them after they are unpacked.
#include <algorithm>
#include <numeric>

#include "ops/microsoft/microsoft.h"

namespace lathe::microsoft {
namespace {

/// The type that packs numbers of so many bits, the lowest bits first; uint8 if there is none.
DataType stored_type(int64_t bits) {
  return bits == 2 ? DataType::uint2 : bits == 4 ? DataType::uint4 : DataType::uint8;
}

/// Unpacks rows of `count` numbers from rows of bytes, as elements of `type`. `bytes` must hold that many
/// rows of ceil(count * bits / 8) bytes or more. If the packing is that of `type`, this is a view of the
/// bytes.
Tensor unpacked(const Tensor& bytes, int64_t rows, int64_t count, int64_t bits, DataType type) {
  const int64_t row = rows == 0 ? 0 : bytes.size() / rows;
  if (bits_of(type) == bits && count * bits == row * 8) {
    const Tensor kept = bytes.owned();
    return Tensor::view(type, {rows, count}, const_cast<void*>(kept.data()), kept.owner());
  }
  Tensor numbers(type, {rows, count});
  const uint8_t* from = bytes.as<uint8_t>().data();
  for (int64_t r = 0; r < rows; ++r, from += row)
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = i * bits / 8, shift = i * bits % 8;
      const int next = shift + bits > 8 ? from[at + 1] : 0;
      store_int(numbers, r * count + i, ((from[at] | next << 8) >> shift) & ((1 << bits) - 1));
    }
  return numbers;
}

ValueId byte_list(UpgradeContext& u, const std::vector<uint8_t>& v) {
  return u.add_constant(Tensor::from<uint8_t>({static_cast<int64_t>(v.size())}, v), "bytes");
}

/// The same for bytes that only a run knows, as uint8: the last axis, `size` bytes, becomes `count` numbers.
/// Groups of numbers that end at a byte are unpacked together.
ValueId unpacked(UpgradeContext& u, ValueId bytes, size_t rank, int64_t size, int64_t count, int64_t bits) {
  std::vector<int64_t> shape(rank, 0);
  const auto last = [&](int64_t n) {
    shape.back() = n;
    return shape;
  };
  if (bits < 8) {
    const int64_t common = std::gcd(bits, int64_t{8}), group = bits / common, numbers = 8 / common;
    const int64_t groups = (size + group - 1) / group;
    if (groups * group != size) {
      std::vector<int64_t> pads(2 * rank, 0);
      pads.back() = groups * group - size;
      bytes = one(u, "Pad", {bytes, ints(u, std::move(pads))});
    }
    std::vector<int64_t> apart = last(groups);
    apart.push_back(group);
    bytes = reshaped(u, bytes, std::move(apart));
    std::vector<int64_t> first, second;
    std::vector<uint8_t> down, up, crossing;
    for (int64_t i = 0; i < numbers; ++i) {
      const int64_t at = i * bits / 8, shift = i * bits % 8;
      const bool crosses = shift + bits > 8;
      first.push_back(at);
      second.push_back(crosses ? at + 1 : at);
      down.push_back(static_cast<uint8_t>(shift));
      up.push_back(static_cast<uint8_t>(crosses ? 8 - shift : 0));
      crossing.push_back(crosses ? 255 : 0);
    }
    const auto part = [&](const std::vector<int64_t>& which) {
      return group == 1 ? bytes : one(u, "Gather", {bytes, ints(u, which)}, with("axis", int64_t{-1}));
    };
    const auto shifted = [&](ValueId v, const std::vector<uint8_t>& by, const char* direction) {
      return one(u, "BitShift", {v, byte_list(u, by)}, with("direction", std::string(direction)));
    };
    ValueId all = shifted(part(first), down, "RIGHT");
    if (group > 1) {
      const ValueId rest = one(u, "BitwiseAnd", {shifted(part(second), up, "LEFT"), byte_list(u, crossing)});
      all = one(u, "BitwiseOr", {all, rest});
    }
    bytes = one(u, "BitwiseAnd", {all, byte_list(u, {static_cast<uint8_t>((1 << bits) - 1)})});
    size = groups * numbers;
  }
  bytes = reshaped(u, bytes, last(size));
  if (size == count) return bytes;
  return sliced(u, bytes, ints(u, {0}), ints(u, {count}), static_cast<int64_t>(rank) - 1);
}

/// Bytes, constant or not, as [rows, count] numbers; constants as elements of `type`, others as uint8.
ValueId numbers(UpgradeContext& u, size_t i, int64_t rows, int64_t row_bytes, int64_t count, int64_t bits,
                DataType type) {
  const ValueId bytes = input(u, i);
  if (const Tensor* t = u.constant(bytes)) {
    if (t->size() != rows * row_bytes)
      throw Error(Code::node_bad_shape, "import",
                  "input " + std::to_string(i) + " of " + std::to_string(rows) + " rows of " +
                      std::to_string(row_bytes) + " bytes",
                  describe(*t), "compare it with the attributes N, K, bits and block_size");
    return u.add_constant(unpacked(*t, rows, count, bits, type), "weights");
  }
  return unpacked(u, reshaped(u, bytes, {rows, row_bytes}), 2, row_bytes, count, bits);
}

/// A tensor of one number in the shape of `like`. Only constants have less than a byte.
ValueId filled_like(UpgradeContext& u, int64_t number, DataType type, ValueId like) {
  if (bits_of(type) == 8) {
    Tensor one_of_them(type, {});
    store_int(one_of_them, 0, number);
    return one(u, "Expand", {u.add_constant(std::move(one_of_them), "number"), one(u, "Shape", {like})});
  }
  Shape shape;
  for (const Dim& d : *u.type(like).shape) shape.push_back(d.constant());
  Tensor all(type, shape);
  for (int64_t i = 0; i < all.size(); ++i) store_int(all, i, number);
  return u.add_constant(std::move(all), "numbers");
}

/// W [N, K] of MatMulNBits.
struct BitMatrix {
  int64_t n, k, bits, block, blocks;
};

BitMatrix bit_matrix(UpgradeContext& u) {
  const Attributes& a = u.node().attributes;
  BitMatrix w{a.get<int64_t>("N", 0), a.get<int64_t>("K", 0), a.get<int64_t>("bits", 4),
              a.get<int64_t>("block_size", 0), 0};
  const auto bad = [](const char* expected, int64_t got) {
    throw Error(Code::node_bad_attribute, "import", expected, std::to_string(got),
                "quantize the model again");
  };
  if (w.bits < 2 || w.bits > 8) bad("bits from 2 to 8", w.bits);
  if (w.block < 16 || w.block > (1 << 20) || (w.block & (w.block - 1)) != 0)
    bad("a block_size that is a power of 2 and 16 or more", w.block);
  constexpr int64_t most = int64_t{1} << 40;
  if (w.n < 1 || w.n > most) bad("N of 1 or more", w.n);
  if (w.k < 1 || w.k > most / w.n) bad("K of 1 or more", w.k);
  w.blocks = (w.k + w.block - 1) / w.block;
  return w;
}

/// A matrix that some write as a list.
ValueId as_matrix(UpgradeContext& u, ValueId v, const BitMatrix& w) {
  const auto& shape = u.type(v).shape;
  return shape && *shape == SymShape{Dim(w.n), Dim(w.blocks)} ? v : reshaped(u, v, {w.n, w.blocks});
}

/// Returns whether blocks of zeros have a scale of 0, which DequantizeLinear refuses.
bool has_empty_blocks(UpgradeContext& u) {
  const Tensor* scales = u.constant(input(u, 2));
  for (int64_t i = 0; scales && i < scales->size(); ++i)
    if (load_double(*scales, i) == 0) return true;
  return false;
}

ValueId bit_weights(UpgradeContext& u, const BitMatrix& w) {
  const bool float_zeros = has(u, 3) && is_float(u.input_type(3).elem);
  const bool all_known = u.constant(input(u, 1)) && (!has(u, 3) || float_zeros || u.constant(input(u, 3))),
             subtracts = float_zeros || has_empty_blocks(u);
  // The Gather for blocks that are not neighbors does not take elements smaller than a byte.
  const DataType type =
      all_known && !has(u, 4) && (float_zeros || !subtracts) ? stored_type(w.bits) : DataType::uint8;
  const ValueId q = numbers(u, 1, w.n, w.blocks * (w.block * w.bits / 8), w.k, w.bits, type);
  const ValueId scales = as_matrix(u, input(u, 2), w);
  Attributes blocks = with("axis", int64_t{1});
  blocks.set("block_size", w.block);

  const auto zeros_like = [&](ValueId scale, auto&& by_group) {
    if (!has(u, 3)) return filled_like(u, 1 << (w.bits - 1), type, scale);
    if (float_zeros) return by_group(as_matrix(u, cast(u, input(u, 3), u.type(scales).elem), w));
    return by_group(numbers(u, 3, w.n, (w.blocks * w.bits + 7) / 8, w.blocks, w.bits, type));
  };
  if (!subtracts && !has(u, 4))
    return one(u, "DequantizeLinear", {q, scales, zeros_like(scales, [](ValueId v) { return v; })},
               std::move(blocks));

  ValueId group = no_id;  // of each k
  if (has(u, 4)) {
    group = input(u, 4);
    if (!(size_of(u, group, 0) == Dim(w.k))) group = sliced(u, group, ints(u, {0}), ints(u, {w.k}), 0);
  } else {
    group = one(u, "Div", {count_up(u, ints(u, {w.k})), ints(u, {w.block})});
  }
  const auto by_group = [&](ValueId v) { return one(u, "Gather", {v, group}, with("axis", int64_t{1})); };
  const ValueId scale = by_group(scales), zeros = zeros_like(scale, by_group);
  if (subtracts) {
    const DataType real = u.type(scales).elem;
    return one(u, "Mul", {one(u, "Sub", {cast(u, q, real), cast(u, zeros, real)}), scale});
  }
  blocks.set("block_size", int64_t{1});
  return one(u, "DequantizeLinear", {q, scale, zeros}, std::move(blocks));
}

void matmul_n_bits(UpgradeContext& u) {
  const BitMatrix w = bit_matrix(u);
  if (const auto packed = u.node().attributes.get<int64_t>("weight_prepacked", 0); packed != 0)
    refuse(u, "weight_prepacked 0", std::to_string(packed) + ", the layout of one kernel of one device");
  const ValueId a = input(u, 0), bias = input(u, 5), weights = transposed(u, bit_weights(u, w), {1, 0});
  become(u, "MatMul", {a, weights});
  if (bias != no_id) u.append(0, "Add", {bias}, {});
}

// ── GatherBlockQuantized

struct BlockGather {
  ValueId data, indices, scales, zeros;
  int64_t rank, index_rank, axis, quantized, block, bits;
  DataType type;
  int64_t gathered_axis() const { return quantized + (quantized > axis ? index_rank - 1 : 0); }
  size_t gathered_rank() const { return static_cast<size_t>(rank + index_rank - 1); }
};

BlockGather block_gather(UpgradeContext& u) {
  const Attributes& a = u.node().attributes;
  BlockGather g{};
  g.data = input(u, 0), g.indices = input(u, 1), g.scales = input(u, 2), g.zeros = input(u, 3);
  g.rank = static_cast<int64_t>(rank_of_input(u, 0));
  g.index_rank = static_cast<int64_t>(rank_of_input(u, 1));
  g.type = u.input_type(0).elem;
  g.bits = g.type == DataType::uint8 ? a.get<int64_t>("bits", 4) : bits_of(g.type);
  g.block = a.get<int64_t>("block_size", 128);
  const auto axis = [&](const char* name, int64_t fallback) {
    const int64_t v = a.get<int64_t>(name, fallback);
    if (v < -g.rank || v >= g.rank)
      throw Error(Code::node_bad_attribute, "import",
                  std::string(name) + " within a rank of " + std::to_string(g.rank), std::to_string(v), {});
    return v < 0 ? v + g.rank : v;
  };
  g.axis = axis("gather_axis", 0);
  g.quantized = axis("quantize_axis", 1);
  const bool whole_rows = g.block == 0 && is_float(g.type);
  if (!whole_rows && (g.block < 16 || (g.block & (g.block - 1)) != 0))
    throw Error(Code::node_bad_attribute, "import", "a block_size that is a power of 2 and 16 or more",
                std::to_string(g.block), {});
  if (g.bits != 2 && g.bits != 4 && g.bits != 8)
    throw Error(Code::node_bad_attribute, "import", "bits 2, 4 or 8", std::to_string(g.bits), {});
  if (is_float(g.type) && g.zeros != no_id) refuse(u, "no zero points with narrow floats", "some");
  if (g.type == DataType::uint8 && g.bits < 8 && (g.axis == g.rank - 1 || g.quantized != g.rank - 1))
    refuse(u, "packed numbers that are gathered along another axis and in blocks along the last",
           "gather_axis " + std::to_string(g.axis) + ", quantize_axis " + std::to_string(g.quantized));
  return g;
}

ValueId taken(UpgradeContext& u, const BlockGather& g, ValueId v, ValueId indices) {
  return one(u, "Gather", {v, indices}, with("axis", g.axis));
}

/// The indices of the blocks of elements that are gathered along the axis of blocks.
ValueId indices_of_blocks(UpgradeContext& u, const BlockGather& g) {
  const ValueId i = cast(u, g.indices, DataType::int64);
  const ValueId size = length(u, g.data, g.axis), zero = ints(u, {0});
  const ValueId from_start = one(u, "Where", {one(u, "Less", {i, zero}), one(u, "Add", {i, size}), i});
  ValueId block = one(u, "Div", {from_start, ints(u, {g.block})});
  // A list of one broadcasts a scalar to its own rank.
  return g.index_rank == 0 ? one(u, "Squeeze", {block}) : block;
}

/// Narrow floats have no zero points: a factor for each block, or for the whole axis.
void gather_floats(UpgradeContext& u, const BlockGather& g) {
  const auto axis_of_one = [&](int64_t axis) { return size_of(u, g.scales, axis) == Dim(1); };
  ValueId scales = g.scales;
  if (g.block > 0 && g.quantized != g.axis) {
    const auto size = known(size_of(u, g.data, g.quantized));
    if (!size) refuse(u, "data of known size", u.type(g.data).str());
    const ValueId block = one(u, "Div", {count_up(u, ints(u, {*size})), ints(u, {g.block})});
    scales = one(u, "Gather", {scales, block}, with("axis", g.quantized));
  }
  ValueId where = g.quantized == g.axis && g.block > 0 ? indices_of_blocks(u, g) : g.indices;
  if (axis_of_one(g.axis)) where = one(u, "Sub", {g.indices, g.indices});  // the only one, for all
  const ValueId data = taken(u, g, cast(u, g.data, u.type(g.scales).elem), g.indices);
  become(u, "Mul", {data, taken(u, g, scales, where)});
}

/// The gathered elements; packed ones become uint8 [.., size].
ValueId taken_numbers(UpgradeContext& u, const BlockGather& g, ValueId v, int64_t count) {
  if (g.type != DataType::uint8)
    return taken(
        u, g,
        cast(u, v, g.type == DataType::int4 || g.type == DataType::int2 ? DataType::int8 : DataType::uint8),
        g.indices);
  const ValueId bytes = taken(u, g, v, g.indices);
  return g.bits == 8 ? bytes : unpacked(u, bytes, g.gathered_rank(), (count * g.bits + 7) / 8, count, g.bits);
}

void gather_block_quantized(UpgradeContext& u) {
  const BlockGather g = block_gather(u);
  if (is_float(g.type)) return gather_floats(u, g);
  const bool packed = g.type == DataType::uint8 && g.bits < 8;
  const auto count = known(size_of(u, g.data, -1)), blocks = known(size_of(u, g.scales, -1));
  if (packed && (!count || !blocks)) refuse(u, "data and scales of known size", u.type(g.data).str());
  const bool along_blocks = g.quantized == g.axis;
  const ValueId data = taken_numbers(u, g, g.data, packed ? *count * 8 / g.bits : 0);
  const ValueId where = along_blocks ? indices_of_blocks(u, g) : g.indices;
  const ValueId scales = taken(u, g, g.scales, where);
  const DataType type = u.type(data).elem;
  ValueId zeros;
  if (g.zeros == no_id)
    zeros = filled_like(u, g.type == DataType::uint8 ? 1 << (g.bits - 1) : 0, type, scales);
  else if (along_blocks)
    zeros = taken(u, g, cast(u, g.zeros, type), where);
  else
    zeros = taken_numbers(u, g, g.zeros, packed ? *blocks : 0);
  // A scale of its own for each element is a block of one along any axis.
  Attributes a = with("axis", along_blocks ? 0 : g.gathered_axis());
  a.set("block_size", along_blocks ? 1 : g.block);
  become(u, "DequantizeLinear", {data, scales, zeros}, std::move(a));
}

}  // namespace

std::span<const Declared> block_operators() {
  // clang-format off
  static constexpr Declared list[] = {
      {"MatMulNBits",
       "(A: T1, B: T2, scales: T1, zero_points?: T3, g_idx?: T4, bias?: T1) -> (Y: T1) {K: int!, N: int!, "
       "accuracy_level: int = 0, bits: int = 4, block_size: int!, weight_prepacked: int = 0} "
       "[T1: float float16 bfloat16; T2: uint8; T3: uint8 float16 float bfloat16; T4: int32]",
       matmul_n_bits},
      {"GatherBlockQuantized",
       "(data: T1, indices: Tind, scales: T2, zero_points?: T1) -> (output: T2) "
       "{bits: int = 4, block_size: int = 128, gather_axis: int = 0, quantize_axis: int = 1} "
       "[T1: int4 uint4 uint8 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float4e2m1; "
       "T2: float float16 bfloat16; Tind: int32 int64]",
       gather_block_quantized},
  };
  // clang-format on
  return list;
}

}  // namespace lathe::microsoft
