#include "ops/features/features.h"

#include "schema/schema.h"

namespace lathe {
namespace {

void infer_zip_map(InferContext& c) {
  const auto op = decode<ZipMap>(c.node().attributes);
  const DataType key = op.classlabels_strings.empty() ? DataType::int64 : DataType::string;
  c.output(0, ValueType::sequence(ValueType::map(key, ValueType::tensor(DataType::float32))));
}

DataType cast_map_type(const Node& n, std::span<const ValueType>) {
  const auto to = n.attributes.get<std::string>("cast_to", "TO_FLOAT");
  return to == "TO_STRING" ? DataType::string : to == "TO_INT64" ? DataType::int64 : DataType::float32;
}

DataType type_of_values(const Node&, std::span<const ValueType> inputs) {
  return inputs[0].kind == ValueType::Kind::map && inputs[0].inner ? inputs[0].inner->elem
                                                                   : DataType::undefined;
}

}  // namespace

// Signatures are broken between parameters.
// clang-format off
void declare_features(SchemaCatalog& c) {
  c.add("ai.onnx.ml", "ArrayFeatureExtractor")
      .version(1, "(X: T, Y: int64) -> (Z: T) [T: float double int64 int32 string]")
      .rule<ArrayFeatureExtractor>()
      .tolerance({.exact = true});
  c.add("ai.onnx.ml", "Binarizer")
      .version(1, "(X: T) -> (Y: T) {threshold: float = 0} [T: float double int64 int32]")
      .rule<Binarizer>()
      .tolerance({.exact = true});
  c.add("ai.onnx.ml", "FeatureVectorizer")
      .version(1, "(X*1: T1) -> (Y: float) {inputdimensions: ints} [T1: int32 int64 float double]")
      .rule<FeatureVectorizer>()
      .tolerance({.epsilons = 1});
  c.add("ai.onnx.ml", "Imputer")
      .version(1,
               "(X: T) -> (Y: T) {imputed_value_floats: floats, imputed_value_int64s: ints, "
               "replaced_value_float: float = 0, replaced_value_int64: int = 0} "
               "[T: float double int64 int32]")
      .rule<Imputer>()
      .tolerance({.exact = true});
  c.add("ai.onnx.ml", "Normalizer")
      .version(1, "(X: T) -> (Y: float) {norm: string = 'MAX'} [T: float double int64 int32]")
      .rule<Normalizer>()
      .tolerance({.epsilons = 8});
  c.add("ai.onnx.ml", "Scaler")
      .version(1, "(X: T) -> (Y: float) {offset: floats, scale: floats} [T: float double int64 int32]")
      .rule<Scaler>()
      .tolerance({.epsilons = 4});
  c.add("ai.onnx.ml", "CastMap")
      .version(1,
               "(X: T1) -> (Y: T2) {cast_to: string = 'TO_FLOAT', map_form: string = 'DENSE', "
               "max_map: int = 1} [T1: map(int64,string) map(int64,float); T2: string float int64]")
      .rule<CastMap>()
      .output_type(cast_map_type)
      .tolerance({.epsilons = 1});
  c.add("ai.onnx.ml", "DictVectorizer")
      .version(1,
               "(X: T1) -> (Y: T2) {int64_vocabulary: ints, string_vocabulary: strings} "
               "[T1: map(string,int64) map(int64,string) map(int64,float) map(int64,double) "
               "map(string,float) map(string,double); T2: int64 float double string]")
      .rule<DictVectorizer>()
      .output_type(type_of_values)
      .tolerance({.exact = true});
  c.add("ai.onnx.ml", "ZipMap")
      .version(1,
               "(X: float) -> (Z: T) {classlabels_int64s: ints, classlabels_strings: strings} "
               "[T: seq(map(string,float)) seq(map(int64,float))]")
      .rule<ZipMap>()
      .infer(infer_zip_map)
      .tolerance({.exact = true});
}
// clang-format on

}  // namespace lathe
