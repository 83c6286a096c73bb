// LabelEncoder, CategoryMapper, OneHotEncoder: strings and numbers are mapped to each other by lists.
#pragma once

#include <optional>
#include <string>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Keys and values as tensors, of any types (the newest form; others are brought into it at import).
struct LabelEncoder {
  std::optional<Tensor> keys_tensor, values_tensor, default_tensor;
  std::vector<int64_t> keys_int64s, values_int64s;
  std::vector<float> keys_floats, values_floats;
  std::vector<std::string> keys_strings, values_strings;
  int64_t default_int64 = -1;
  float default_float = -0.0f;
  std::string default_string = "_Unused";
  void fields(auto&& f) {
    f("keys_tensor", keys_tensor);
    f("values_tensor", values_tensor);
    f("default_tensor", default_tensor);
    f("keys_int64s", keys_int64s);
    f("values_int64s", values_int64s);
    f("keys_floats", keys_floats);
    f("values_floats", values_floats);
    f("keys_strings", keys_strings);
    f("values_strings", values_strings);
    f("default_int64", default_int64);
    f("default_float", default_float);
    f("default_string", default_string);
  }
  Tensor keys() const { return one_of(keys_tensor, keys_int64s, keys_floats, keys_strings); }
  Tensor values() const { return one_of(values_tensor, values_int64s, values_floats, values_strings); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const Tensor from = keys(), to = values();
    if (from.type() == DataType::undefined || to.type() == DataType::undefined)
      c.fail(Code::node_bad_attribute, "one of the keys_* and one of the values_*", "none", {});
    if (from.size() != to.size())
      c.fail(Code::node_bad_attribute, "a value for each key",
             std::to_string(from.size()) + " keys and " + std::to_string(to.size()) + " values", {});
    if (default_tensor && (default_tensor->size() != 1 || default_tensor->type() != to.type()))
      c.fail(Code::node_bad_attribute, "a default_tensor of one value", describe(*default_tensor), {});
    c.output(0, c.shape(0));
  }

 private:
  static Tensor one_of(const std::optional<Tensor>& t, const std::vector<int64_t>& ints,
                       const std::vector<float>& floats, const std::vector<std::string>& strings) {
    if (t) return *t;
    const auto made = [](const auto& v) {
      using T = typename std::remove_cvref_t<decltype(v)>::value_type;
      return Tensor::from<T>({static_cast<int64_t>(v.size())}, v);
    };
    return !strings.empty()  ? made(strings)
           : !ints.empty()   ? made(ints)
           : !floats.empty() ? made(floats)
                             : Tensor();
  }
};

struct CategoryMapper {
  std::vector<int64_t> cats_int64s;
  std::vector<std::string> cats_strings;
  int64_t default_int64 = -1;
  std::string default_string = "_Unused";
  void fields(auto&& f) {
    f("cats_int64s", cats_int64s);
    f("cats_strings", cats_strings);
    f("default_int64", default_int64);
    f("default_string", default_string);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (cats_int64s.size() != cats_strings.size())
      c.fail(Code::node_bad_attribute, "as many cats_int64s as cats_strings",
             std::to_string(cats_int64s.size()) + " and " + std::to_string(cats_strings.size()), {});
    c.output(0, c.shape(0));
  }
};

/// A new last axis: 1 at the category, else 0.
struct OneHotEncoder {
  std::vector<int64_t> cats_int64s;
  std::vector<std::string> cats_strings;
  bool zeros = true;  // other elements become all 0, or else are refused
  void fields(auto&& f) {
    f("cats_int64s", cats_int64s);
    f("cats_strings", cats_strings);
    f("zeros", zeros);
  }
  size_t categories() const { return std::max(cats_int64s.size(), cats_strings.size()); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (cats_int64s.empty() == cats_strings.empty())
      c.fail(Code::node_bad_attribute, "cats_int64s or cats_strings", "both or none", {});
    std::vector<D> out = c.shape(0);
    out.push_back(D(static_cast<int64_t>(categories())));
    c.output(0, std::move(out));
  }
};

}  // namespace lathe
