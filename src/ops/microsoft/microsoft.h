// Operators of domain com.microsoft, which ONNX Runtime's optimizer and its exporters write into files: each
// is replaced with standard operators when it is read. Nodes that these cannot express are refused with a
// reason. This header has helpers for building the nodes that replace a node.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "schema/node_builder.h"

namespace lathe::microsoft {

using namespace node_builder;

struct Declared {
  const char *name, *signature;
  Upgrade into_standard;
};

// One list for each file of this folder.
std::span<const Declared> attention_operators();
std::span<const Declared> group_query_operators();
std::span<const Declared> fused_operators();
std::span<const Declared> norm_operators();
std::span<const Declared> quantized_operators();
std::span<const Declared> block_operators();
/// ONNX Runtime writes these as if they were the standard's.
std::span<const Declared> operators_in_the_standards_domain();

/// Throws node_cannot_convert: the standard cannot express `got`.
[[noreturn]] inline void refuse(UpgradeContext& u, std::string expected, std::string got) {
  throw Error(Code::node_cannot_convert, "import", std::move(expected) + " of com.microsoft." + u.node().op,
              std::move(got), "export or optimize the model without this operator");
}

// ── The node's inputs and outputs

/// Throws if the rank is unknown.
inline size_t rank_of_input(UpgradeContext& u, size_t i) {
  const ValueType t = u.input_type(i);
  if (!t.shape) refuse(u, "inputs of known rank", t.str());
  return t.shape->size();
}

/// The node itself, as another operator.
inline void become(UpgradeContext& u, const char* op, std::vector<ValueId> inputs, Attributes a = {}) {
  Node& n = u.node();
  n.op = op;
  n.domain.clear();
  while (!inputs.empty() && inputs.back() == no_id) inputs.pop_back();
  n.outputs.trim();
  n.inputs = std::move(inputs);
  n.attributes = std::move(a);
}

/// Refuses nodes of which outputs from the number `kept` on are used.
inline void only_output(UpgradeContext& u, size_t kept = 1) {
  for (size_t i = kept; i < u.node().outputs.size(); ++i)
    if (wants(u, i)) refuse(u, "no output " + std::to_string(i), "one that is wanted");
  if (u.node().outputs.size() > kept) u.node().outputs.resize(kept);
}

// ── Other nodes

/// A number in the type of a value.
inline ValueId number_like(UpgradeContext& u, float v, ValueId like) {
  const ValueId plain = u.add_constant(Tensor::scalar(v), "number");
  return u.type(like).elem == DataType::float32 ? plain : one(u, "CastLike", {plain, like});
}

/// Squeezes a list of one number to a scalar.
inline ValueId as_scalar(UpgradeContext& u, ValueId v) {
  const ValueType t = u.type(v);
  if (!t.shape || t.shape->size() != 1 || known((*t.shape)[0]) != 1) return v;
  return one(u, "Squeeze", {v});
}

/// The zero point, or 0 of `type` if there is none.
inline ValueId zero_point(UpgradeContext& u, size_t i, DataType type) {
  if (has(u, i)) return input(u, i);
  Tensor zero(type, {});
  store_int(zero, 0, 0);
  return u.add_constant(std::move(zero), "zero_point");
}

/// Input `x` as real numbers, by its scale and zero point; several of them are those of an axis.
inline ValueId real(UpgradeContext& u, size_t x, size_t scale, size_t zero, int64_t axis = -1) {
  const DataType type = u.input_type(x).elem;
  return one(u, "DequantizeLinear",
             {input(u, x), as_scalar(u, input(u, scale)), as_scalar(u, zero_point(u, zero, type))},
             with("axis", axis));
}

// ── Heads of attention

/// The attribute with a number of heads. Throws node_bad_attribute.
inline int64_t head_count(UpgradeContext& u, const char* attribute) {
  const int64_t heads = u.node().attributes.get<int64_t>(attribute, 0);
  if (heads < 1 || heads > INT32_MAX)
    throw Error(Code::node_bad_attribute, "import", std::string(attribute) + " of at least 1",
                std::to_string(heads), {});
  return heads;
}

/// [batch, seq, heads * size] as [batch, heads, seq, size].
inline ValueId heads_first(UpgradeContext& u, ValueId v, int64_t heads) {
  const auto width = known(size_of(u, v, -1));
  return transposed(u, reshaped(u, v, {0, 0, heads, width ? *width / heads : -1}), {0, 2, 1, 3});
}

/// Output 0, [batch, heads, seq, size], becomes [batch, seq, heads * size].
inline void append_heads_last(UpgradeContext& u, int64_t heads, const Dim& size) {
  const auto n = known(size);
  u.append(0, "Reshape", {ints(u, {0, 0, n ? heads * *n : -1})}, {});
  u.append(0, "Transpose", {}, with("perm", std::vector<int64_t>{0, 2, 1, 3}));
}

/// The attributes for numbers of heads and the scale of scores: 0 in these operators means the usual 1 /
/// sqrt(size).
inline Attributes of_heads(UpgradeContext& u, int64_t q_heads, int64_t kv_heads) {
  Attributes a = with("q_num_heads", q_heads);
  a.set("kv_num_heads", kv_heads);
  if (const float scale = u.node().attributes.get("scale", 0.0f); scale != 0) a.set("scale", scale);
  return a;
}

/// A mask for all queries as one for each: not every runtime broadcasts that axis.
inline ValueId for_each_query(UpgradeContext& u, ValueId mask, ValueId queries) {
  const ValueId one_of_all = ints(u, {1});
  return one(u, "Expand", {mask, concat(u, {one_of_all, one_of_all, queries, one_of_all}, 0)});
}

/// Writes new rows to a KV cache, both [batch, heads, seq, size], from a position of each sample's own on.
inline ValueId written(UpgradeContext& u, ValueId cache, ValueId rows, ValueId places) {
  return one(u, "TensorScatter", {cache, rows, places}, with("axis", int64_t{2}));
}

}  // namespace lathe::microsoft
