#include "ops/cast/cast.h"

#include "ops/element_type.h"
#include "schema/node_builder.h"

namespace lathe {
namespace {

/// In version 1 the type is a name.
void cast_6_from_1(UpgradeContext& u) {
  std::string word = u.node().attributes.get<std::string>("to", "");
  for (char& ch : word) ch = static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
  const auto type = data_type_from(word);
  if (!type)
    throw Error(Code::node_bad_attribute, "import", "attribute 'to' to name an element type",
                "'" + word + "'");
  u.node().attributes.set("to", static_cast<int64_t>(*type));
}

DataType named_type(const Node& n, std::span<const ValueType>) {
  return element_type(n.attributes.get<int64_t>("to", 0), "to");
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// Removes the attributes for floats of 8 bits from casts to other types.
std::vector<ValueId> cast_node(DecomposeContext& c) {
  Attributes a = c.node().attributes;
  const auto to = static_cast<DataType>(a.get<int64_t>("to", 0));
  bool changed = false;
  if (!is_float(to) || bits_of(to) > 8) changed = a.erase("saturate");
  if (to != DataType::float8e8m0) changed = a.erase("round_mode") || changed;
  if (!changed) unsupported({}, {});
  return {one(c, "Cast", {input(c, 0)}, std::move(a))};
}

/// Inserts a Cast, because the type is known before a run.
std::vector<ValueId> cast_like(DecomposeContext& c) {
  Attributes a = c.node().attributes;
  a.set("to", static_cast<int64_t>(elem_of(c, input(c, 1))));
  return {one(c, "Cast", {input(c, 0)}, std::move(a))};
}

/// Between integers of one width Cast keeps the bits, and booleans are 0 and 1.
std::vector<ValueId> bit_cast(DecomposeContext& c) {
  const DataType from = elem_of(c, input(c, 0)), to = elem_of(c, c.node().outputs[0]);
  if (!(is_integer(from) || from == DataType::boolean) || !is_integer(to))
    unsupported("integers", std::string(name_of(from)) + " to " + std::string(name_of(to)));
  return {cast(c, input(c, 0), to)};
}

}  // namespace
}  // namespace decomposition

void declare_cast(SchemaCatalog& c) {
  c.add("Cast")
      .version(1, "(input: T1) -> (output: T2) {to: string!} [T1: @plain; T2: @plain]")
      .version(6, "(input: T1) -> (output: T2) {to: int!} [T1: @plain; T2: @plain]", cast_6_from_1)
      .version(9, "(input: T1) -> (output: T2) {to: int!} [T1: @plain string; T2: @plain string]")
      .version(13, "(input: T1) -> (output: T2) {to: int!} [T1: @plain_13 string; T2: @plain_13 string]")
      .version(19, "(input: T1) -> (output: T2) {saturate: int = 1, to: int!} [T1: @real_ir9; T2: @real_ir9]")
      .version(21,
               "(input: T1) -> (output: T2) {saturate: int = 1, to: int!} [T1: @real_ir10; T2: @real_ir10]")
      .version(23,
               "(input: T1) -> (output: T2) {saturate: int = 1, to: int!} [T1: @real_ir11; T2: @real_ir11]")
      .version(24,
               "(input: T1) -> (output: T2) {round_mode: string = 'up', saturate: int = 1, to: int!} [T1: "
               "@real_ir12; T2: @real_ir12]")
      .version(25,
               "(input: T1) -> (output: T2) {round_mode: string = 'up', saturate: int = 1, to: int!} [T1: "
               "@real_ir13; T2: @real_ir13]")
      .version(28,
               "(input: T1) -> (output: T2) {round_mode: string = 'up', saturate: int = 1, to: int!} [T1: "
               "@real_ir14; T2: @real_ir14]")
      .rule<Cast>()
      .decompose(decomposition::cast_node)
      .output_type(named_type)
      .tolerance({.epsilons = 1});
  c.add("CastLike")
      .version(15,
               "(input: T1, target_type: T2) -> (output: T2) [T1: @plain_13 string; T2: @plain_13 string]")
      .version(
          19,
          "(input: T1, target_type: T2) -> (output: T2) {saturate: int = 1} [T1: @real_ir9; T2: @real_ir9]")
      .version(
          21,
          "(input: T1, target_type: T2) -> (output: T2) {saturate: int = 1} [T1: @real_ir10; T2: @real_ir10]")
      .version(
          23,
          "(input: T1, target_type: T2) -> (output: T2) {saturate: int = 1} [T1: @real_ir11; T2: @real_ir11]")
      .version(24,
               "(input: T1, target_type: T2) -> (output: T2) {round_mode: string = 'up', saturate: int = 1} "
               "[T1: @real_ir12; T2: @real_ir12]")
      .version(25,
               "(input: T1, target_type: T2) -> (output: T2) {round_mode: string = 'up', saturate: int = 1} "
               "[T1: @real_ir13; T2: @real_ir13]")
      .rule<CastLike>()
      .decompose(decomposition::cast_like)
      .tolerance({.epsilons = 1});
  c.add("BitCast")
      .version(26,
               "(input: T1) -> (output: T2) {to: int!} [T1: @plain_13 complex64 complex128 float8e4m3fn "
               "float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1 float8e8m0 uint2 int2; T2: "
               "@plain_13 complex64 complex128 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 "
               "int4 float4e2m1 float8e8m0 uint2 int2]")
      .rule<BitCast>()
      .decompose(decomposition::bit_cast)
      .output_type(named_type)
      .tolerance({.exact = true});
}

}  // namespace lathe
