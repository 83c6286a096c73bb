#include "ops/label_encoder/label_encoder.h"

#include "schema/schema.h"
#include "schema/upgrade.h"

namespace lathe {
namespace {

/// In version 1 there is one list of strings, whose indices are the other labels.
void label_encoder_2_from_1(UpgradeContext& u) {
  Attributes& a = u.node().attributes;
  const auto words = a.get<std::vector<std::string>>("classes_strings", {});
  a.erase("classes_strings");
  std::vector<int64_t> places(words.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i);
  const bool from_words = u.input_type(0).elem == DataType::string;
  a.set(from_words ? "keys_strings" : "values_strings", words);
  a.set(from_words ? "values_int64s" : "keys_int64s", std::move(places));
}

DataType values_type(const Node& n, std::span<const ValueType>) {
  return decode<LabelEncoder>(n.attributes).values().type();
}

DataType other_kind(const Node&, std::span<const ValueType> inputs) {
  return inputs[0].elem == DataType::string  ? DataType::int64
         : inputs[0].elem == DataType::int64 ? DataType::string
                                             : DataType::undefined;
}

}  // namespace

// Signatures are broken between parameters.
// clang-format off
void declare_label_encoder(SchemaCatalog& c) {
  c.add("ai.onnx.ml", "LabelEncoder")
      .version(1,
               "(X: T1) -> (Y: T2) {classes_strings: strings, default_int64: int = -1, "
               "default_string: string = '_Unused'} [T1: string int64; T2: string int64]")
      .version(2,
               "(X: T1) -> (Y: T2) {keys_strings: strings, keys_int64s: ints, keys_floats: floats, "
               "values_strings: strings, values_int64s: ints, values_floats: floats, "
               "default_string: string = '_Unused', default_int64: int = -1, default_float: float = -0.0} "
               "[T1: string int64 float; T2: string int64 float]",
               label_encoder_2_from_1)
      .version(4,
               "(X: T1) -> (Y: T2) {keys_tensor: tensor, keys_strings: strings, keys_int64s: ints, "
               "keys_floats: floats, values_tensor: tensor, values_strings: strings, values_int64s: ints, "
               "values_floats: floats, default_string: string = '_Unused', default_int64: int = -1, "
               "default_float: float = -0.0, default_tensor: tensor} "
               "[T1: string int64 float int32 int16 double; T2: string int64 float int32 int16 double]")
      .rule<LabelEncoder>()
      .output_type(values_type)
      .tolerance({.exact = true});
  c.add("ai.onnx.ml", "CategoryMapper")
      .version(1,
               "(X: T1) -> (Y: T2) {cats_int64s: ints, cats_strings: strings, default_int64: int = -1, "
               "default_string: string = '_Unused'} [T1: string int64; T2: string int64]")
      .rule<CategoryMapper>()
      .output_type(other_kind)
      .tolerance({.exact = true});
  c.add("ai.onnx.ml", "OneHotEncoder")
      .version(1,
               "(X: T) -> (Y: float) {cats_int64s: ints, cats_strings: strings, zeros: int = 1} "
               "[T: string int64 int32 float double]")
      .rule<OneHotEncoder>()
      .tolerance({.exact = true});
}
// clang-format on

}  // namespace lathe
