// Values as JSON: for strings, sequences, maps, and whatever else .npy cannot hold.
#include <cmath>

#include "base/json.h"
#include "io/file.h"
#include "lathe/error.h"
#include "lathe/io.h"
#include "tensor/element.h"
#include "tensor/sparse.h"

namespace lathe {
namespace {

[[noreturn]] void malformed(std::string expected, std::string got) {
  throw Error(Code::json_malformed, "read JSON", std::move(expected), std::move(got),
              "see to_json for the form");
}

/// Empty where there is none.
std::string text_at(const Json& j, const char* key) {
  const Json* text = j.find(key);
  if (!text) return {};
  if (!text->is_string()) malformed("a string in '" + std::string(key) + "'", text->type_name());
  return text->get<std::string>();
}

/// Empty where there is none.
const Json& list_at(const Json& j, const char* key) {
  static const Json none = Json::array();
  const Json* list = j.find(key);
  return list ? *list : none;
}

DataType dtype_of(const Json& j, const char* key) {
  const std::string name = text_at(j, key);
  auto t = data_type_from(name);
  if (!t) malformed("an element type in '" + std::string(key) + "'", name);
  return *t;
}

double number_of(const Json& j) {
  if (j.is_number()) return j.get<double>();
  if (j.is_boolean()) return j.get<bool>();
  const std::string word = j.is_string() ? j.get<std::string>() : "";
  if (word == "nan") return NAN;
  if (word == "inf") return INFINITY;
  if (word == "-inf") return -INFINITY;
  malformed("a number", j.dump());
}

Shape shape_from(const Json& j) {
  Shape shape;
  for (const auto& d : list_at(j, "shape")) {
    if (!d.is_number_integer()) malformed("integers in the shape", d.dump());
    shape.push_back(d.get<int64_t>());
  }
  return shape;
}

/// [real, imaginary] as element `i`.
void store_complex(Tensor& t, int64_t i, const Json& x) {
  if (!x.is_array() || x.size() != 2) malformed("[real, imaginary]", x.dump());
  for (size_t k : {0, 1}) {
    const double part = number_of(x[k]);
    const size_t at = static_cast<size_t>(i) * 2 + k;
    if (t.type() == DataType::complex64)
      static_cast<float*>(t.data())[at] = static_cast<float>(part);
    else
      static_cast<double*>(t.data())[at] = part;
  }
}

/// x as element `i`.
void store_element(Tensor& t, int64_t i, const Json& x) {
  if (t.type() == DataType::string) {
    if (!x.is_string()) malformed("a string", x.dump());
    t.as<std::string>()[static_cast<size_t>(i)] = x.get<std::string>();
  } else if (is_complex(t.type())) {
    store_complex(t, i, x);
  } else if (t.type() == DataType::uint64 && x.is_number_unsigned()) {
    t.as<uint64_t>()[static_cast<size_t>(i)] = x.get<uint64_t>();
  } else if (x.is_number_integer()) {
    store_int(t, i, x.get<int64_t>());
  } else {
    store_double(t, i, number_of(x));
  }
}

Tensor tensor_from(DataType type, Shape shape, const Json& data) {
  const int64_t count = checked_count(shape, type, "tensor");
  if (!data.is_array() || static_cast<int64_t>(data.size()) != count)
    malformed(std::to_string(count) + " elements", data.is_array() ? std::to_string(data.size()) : "no list");
  Tensor t(type, std::move(shape));
  for (int64_t i = 0; i < count; ++i) store_element(t, i, data[static_cast<size_t>(i)]);
  return t;
}

Value value_from(const Json& j, int depth) {
  if (!j.is_object() || depth > 32) malformed("an object of bounded depth", j.type_name());
  const std::string type = text_at(j, "type");
  if (type == "none") return {};
  if (type == "tensor") return tensor_from(dtype_of(j, "dtype"), shape_from(j), list_at(j, "data"));
  if (type == "sparse") {
    const auto part = [&](const char* name) {
      static const Json none = Json::object();
      const Json* held = j.find(name);
      Value v = value_from(held ? *held : none, depth + 1);
      if (!v.is_tensor()) malformed("a tensor of " + std::string(name), describe(v));
      return v.tensor();
    };
    SparseTensor s{part("values"), part("indices"), shape_from(j)};
    if (auto fault = sparse_fault(s)) malformed(std::move(fault->expected), std::move(fault->got));
    return s;
  }
  if (type == "sequence") {
    Sequence s;
    for (const auto& item : list_at(j, "items")) s.items->push_back(value_from(item, depth + 1));
    if (!s.items->empty() && s.items->front().is_tensor()) s.elem = s.items->front().tensor().type();
    return s;
  }
  if (type == "map") {
    const Json &keys = list_at(j, "keys"), &values = list_at(j, "values");
    Map m;
    m.keys = tensor_from(dtype_of(j, "key"), {static_cast<int64_t>(keys.size())}, keys);
    const DataType elem = dtype_of(j, "value");
    for (const auto& v : values) {
      if (v.is_object()) {
        m.values.items->push_back(value_from(v, depth + 1));
        continue;
      }
      Tensor t(elem, {});
      store_element(t, 0, v);
      m.values.items->push_back(std::move(t));
    }
    m.values.elem = elem;
    if (keys.size() != values.size()) malformed("as many values as keys", std::to_string(values.size()));
    return m;
  }
  malformed("a type of tensor, sparse, sequence, map or none", type);
}

Json json_of_number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return v;
}

Json element(const Tensor& t, int64_t i) {
  if (t.type() == DataType::string) return t.as<std::string>()[static_cast<size_t>(i)];
  if (t.type() == DataType::boolean) return load_int(t, i) != 0;
  if (t.type() == DataType::uint64) return t.as<uint64_t>()[static_cast<size_t>(i)];
  if (is_integer(t.type())) return load_int(t, i);
  if (is_complex(t.type())) {
    const auto part = [&](size_t k) -> double {
      return t.type() == DataType::complex64
                 ? static_cast<double>(static_cast<const float*>(t.data())[static_cast<size_t>(i) * 2 + k])
                 : static_cast<const double*>(t.data())[static_cast<size_t>(i) * 2 + k];
    };
    return Json::array(json_of_number(part(0)), json_of_number(part(1)));
  }
  return json_of_number(load_double(t, i));
}

Json tensor_json(const Tensor& t) {
  Json data = Json::array();
  for (int64_t i = 0; i < t.size(); ++i) data.push_back(element(t, i));
  Json shape = Json::array();
  for (int64_t d : t.shape()) shape.push_back(d);
  return {{"type", "tensor"},
          {"dtype", name_of(t.type())},
          {"shape", std::move(shape)},
          {"data", std::move(data)}};
}

Json json_of(const Value& v) {
  if (v.is_tensor()) return tensor_json(v.tensor());
  if (v.is_sequence()) {
    Json items = Json::array();
    for (const Value& item : *v.sequence().items) items.push_back(json_of(item));
    return {{"type", "sequence"}, {"items", std::move(items)}};
  }
  if (v.is_map()) {
    const Map& m = v.map();
    Json keys = Json::array(), values = Json::array();
    for (int64_t i = 0; i < m.keys.size(); ++i) keys.push_back(element(m.keys, i));
    for (const Value& item : *m.values.items)
      values.push_back(item.is_tensor() && item.tensor().size() == 1 ? element(item.tensor(), 0)
                                                                     : json_of(item));
    return {{"type", "map"},
            {"key", name_of(m.keys.type())},
            {"value", name_of(m.values.elem)},
            {"keys", std::move(keys)},
            {"values", std::move(values)}};
  }
  if (v.is_sparse()) {
    Json shape = Json::array();
    for (int64_t d : v.sparse().shape) shape.push_back(d);
    return {{"type", "sparse"},
            {"shape", std::move(shape)},
            {"values", tensor_json(v.sparse().values)},
            {"indices", tensor_json(v.sparse().indices)}};
  }
  return {{"type", "none"}};
}

}  // namespace

Value parse_value_json(std::string_view text) {
  Json j;
  try {
    j = Json::parse(text);
  } catch (const JsonFault&) {
    malformed("JSON", std::string(text.substr(0, 40)));
  }
  return value_from(j, 0);
}

std::string to_json(const Value& v) { return json_of(v).dump(); }

}  // namespace lathe
