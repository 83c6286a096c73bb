// Operators of ai.onnx.ml that prepare features: selecting, joining, scaling, filling gaps; maps to tensors
// and back.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Columns of the last axis by their indices. One row comes out as [1, n].
struct ArrayFeatureExtractor {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.require(c.rank(0) >= 1, "features of rank 1 or more", "a scalar");
    std::vector<D> out = c.shape(0);
    out.back() = c.product(c.shape(1));
    if (out.size() == 1) out.insert(out.begin(), D(1));
    c.output(0, std::move(out));
  }
};

struct Binarizer {
  float threshold = 0;
  void fields(auto&& f) { f("threshold", threshold); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, c.shape(0));
  }
};

/// Inputs [N, C1], [N, C2], … or [C1], … side by side; each is cut or filled with zeros to its size in
/// `inputdimensions`.
struct FeatureVectorizer {
  std::vector<int64_t> inputdimensions;
  void fields(auto&& f) { f("inputdimensions", inputdimensions); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (inputdimensions.size() != c.inputs())
      c.fail(Code::node_bad_attribute,
             "inputdimensions for each of " + std::to_string(c.inputs()) + " inputs",
             std::to_string(inputdimensions.size()), {});
    std::optional<D> rows;
    D columns(0);
    for (size_t i = 0; i < c.inputs(); ++i) {
      if (inputdimensions[i] < 0)
        c.fail(Code::node_bad_attribute, "inputdimensions from 0", std::to_string(inputdimensions[i]), {});
      c.require(c.rank(i) == 1 || c.rank(i) == 2, "[N, C] or [C]", c.text(c.shape(i)));
      const D n = c.rank(i) == 1 ? D(1) : c.shape(i)[0];
      rows = rows ? c.same(*rows, n, "the rows of the inputs") : n;
      columns = columns + D(inputdimensions[i]);
    }
    if (rows) c.output(0, {*rows, columns});
  }
};

/// One value is replaced, by a value for all or one for each column.
struct Imputer {
  std::vector<float> imputed_value_floats;
  std::vector<int64_t> imputed_value_int64s;
  float replaced_value_float = 0;
  int64_t replaced_value_int64 = 0;
  void fields(auto&& f) {
    f("imputed_value_floats", imputed_value_floats);
    f("imputed_value_int64s", imputed_value_int64s);
    f("replaced_value_float", replaced_value_float);
    f("replaced_value_int64", replaced_value_int64);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (imputed_value_floats.empty() == imputed_value_int64s.empty())
      c.fail(Code::node_bad_attribute, "imputed_value_floats or imputed_value_int64s", "both or none", {});
    const auto count =
        static_cast<int64_t>(std::max(imputed_value_floats.size(), imputed_value_int64s.size()));
    if (count != 1) {
      c.require(c.rank(0) >= 1, "features of rank 1 or more", "a scalar");
      c.same(c.shape(0).back(), D(count), "the columns and the imputed values");
    }
    c.output(0, c.shape(0));
  }
};

/// Each row divided by its greatest absolute value, by the sum of them, or by its length.
struct Normalizer {
  std::string norm = "MAX";
  void fields(auto&& f) { f("norm", norm); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (norm != "MAX" && norm != "L1" && norm != "L2")
      c.fail(Code::node_bad_attribute, "norm MAX, L1 or L2", norm, {});
    c.require(c.rank(0) == 1 || c.rank(0) == 2, "[N, C] or [C]", c.text(c.shape(0)));
    c.output(0, c.shape(0));
  }
};

/// (x - offset) · scale, for all alike or for each column.
struct Scaler {
  std::vector<float> offset, scale;
  void fields(auto&& f) {
    f("offset", offset);
    f("scale", scale);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    for (const auto& v : {offset, scale})
      if (v.size() > 1) {
        c.require(c.rank(0) >= 1, "features of rank 1 or more", "a scalar");
        c.same(c.shape(0).back(), D(static_cast<int64_t>(v.size())),
               "the columns and their offsets and scales");
      }
    c.output(0, c.shape(0));
  }
};

/// The values of a map in the order of its keys [1, n]; SPARSE: each at the index of its key [1, max_map].
struct CastMap {
  std::string cast_to = "TO_FLOAT", map_form = "DENSE";
  int64_t max_map = 1;
  void fields(auto&& f) {
    f("cast_to", cast_to);
    f("map_form", map_form);
    f("max_map", max_map);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (cast_to != "TO_FLOAT" && cast_to != "TO_STRING" && cast_to != "TO_INT64")
      c.fail(Code::node_bad_attribute, "cast_to TO_FLOAT, TO_STRING or TO_INT64", cast_to, {});
    if (map_form != "DENSE" && map_form != "SPARSE")
      c.fail(Code::node_bad_attribute, "map_form DENSE or SPARSE", map_form, {});
    if (max_map < 1) c.fail(Code::node_bad_attribute, "a max_map from 1", std::to_string(max_map), {});
    const auto count = map_form == "SPARSE" ? std::optional<D>(D(max_map)) : c.data_dependent();
    if (count) c.output(0, {D(1), *count});
  }
};

/// The values of a map in the order of a vocabulary of keys [1, n]; 0 for keys that the map lacks.
struct DictVectorizer {
  std::vector<int64_t> int64_vocabulary;
  std::vector<std::string> string_vocabulary;
  void fields(auto&& f) {
    f("int64_vocabulary", int64_vocabulary);
    f("string_vocabulary", string_vocabulary);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (int64_vocabulary.empty() == string_vocabulary.empty())
      c.fail(Code::node_bad_attribute, "int64_vocabulary or string_vocabulary", "both or none", {});
    c.output(0, {D(1), D(static_cast<int64_t>(std::max(int64_vocabulary.size(), string_vocabulary.size())))});
  }
};

/// A map for each row, its columns under the keys given.
struct ZipMap {
  std::vector<int64_t> classlabels_int64s;
  std::vector<std::string> classlabels_strings;
  void fields(auto&& f) {
    f("classlabels_int64s", classlabels_int64s);
    f("classlabels_strings", classlabels_strings);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (classlabels_int64s.empty() == classlabels_strings.empty())
      c.fail(Code::node_bad_attribute, "classlabels_int64s or classlabels_strings", "both or none", {});
    c.require(c.rank(0) == 1 || c.rank(0) == 2, "[N, C] or [C]", c.text(c.shape(0)));
    c.same(c.shape(0).back(),
           D(static_cast<int64_t>(std::max(classlabels_int64s.size(), classlabels_strings.size()))),
           "the columns and the keys");
  }
};

}  // namespace lathe
