// Values as JSON: for strings, sequences, maps, and whatever else .npy cannot hold.
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/file.h"
#include "lathe/error.h"
#include "lathe/io.h"
#include "tensor/element.h"
#include "tensor/sparse.h"

namespace lathe {
namespace {

using nlohmann::ordered_json;

[[noreturn]] void malformed(std::string expected, std::string got) {
  throw Error(Code::json_malformed, "read JSON", std::move(expected), std::move(got),
              "see to_json for the form");
}

DataType dtype_of(const ordered_json& j, const char* key) {
  const std::string name = j.value(key, "");
  auto t = data_type_from(name);
  if (!t) malformed("an element type in '" + std::string(key) + "'", name);
  return *t;
}

double number_of(const ordered_json& j) {
  if (j.is_number()) return j.get<double>();
  if (j.is_boolean()) return j.get<bool>();
  if (j == "nan") return NAN;
  if (j == "inf") return INFINITY;
  if (j == "-inf") return -INFINITY;
  malformed("a number", j.dump());
}

Shape shape_from(const ordered_json& j) {
  Shape shape;
  for (const auto& d : j.value("shape", ordered_json::array())) {
    if (!d.is_number_integer()) malformed("integers in the shape", d.dump());
    shape.push_back(d.get<int64_t>());
  }
  return shape;
}

/// [real, imaginary] as element `i`.
void store_complex(Tensor& t, int64_t i, const ordered_json& x) {
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

Tensor tensor_from(DataType type, Shape shape, const ordered_json& data) {
  const int64_t count = checked_count(shape, type, "tensor");
  if (!data.is_array() || static_cast<int64_t>(data.size()) != count)
    malformed(std::to_string(count) + " elements", data.is_array() ? std::to_string(data.size()) : "no list");
  Tensor t(type, std::move(shape));
  for (int64_t i = 0; i < count; ++i) {
    const ordered_json& x = data[static_cast<size_t>(i)];
    if (type == DataType::string) {
      if (!x.is_string()) malformed("a string", x.dump());
      t.as<std::string>()[static_cast<size_t>(i)] = x.get<std::string>();
    } else if (is_complex(type)) {
      store_complex(t, i, x);
    } else if (type == DataType::uint64 && x.is_number_unsigned()) {
      t.as<uint64_t>()[static_cast<size_t>(i)] = x.get<uint64_t>();
    } else if (x.is_number_integer()) {
      store_int(t, i, x.get<int64_t>());
    } else {
      store_double(t, i, number_of(x));
    }
  }
  return t;
}

Value value_from(const ordered_json& j, int depth) {
  if (!j.is_object() || depth > 32) malformed("an object of bounded depth", j.type_name());
  const std::string type = j.value("type", "");
  if (type == "none") return {};
  if (type == "tensor")
    return tensor_from(dtype_of(j, "dtype"), shape_from(j), j.value("data", ordered_json::array()));
  if (type == "sparse") {
    const auto part = [&](const char* name) {
      Value v = value_from(j.value(name, ordered_json::object()), depth + 1);
      if (!v.is_tensor()) malformed("a tensor of " + std::string(name), describe(v));
      return v.tensor();
    };
    SparseTensor s{part("values"), part("indices"), shape_from(j)};
    if (auto fault = sparse_fault(s)) malformed(std::move(fault->expected), std::move(fault->got));
    return s;
  }
  if (type == "sequence") {
    Sequence s;
    for (const auto& item : j.value("items", ordered_json::array()))
      s.items->push_back(value_from(item, depth + 1));
    if (!s.items->empty() && s.items->front().is_tensor()) s.elem = s.items->front().tensor().type();
    return s;
  }
  if (type == "map") {
    const auto keys = j.value("keys", ordered_json::array()),
               values = j.value("values", ordered_json::array());
    Map m;
    m.keys = tensor_from(dtype_of(j, "key"), {static_cast<int64_t>(keys.size())}, keys);
    const DataType elem = dtype_of(j, "value");
    for (const auto& v : values)
      m.values.items->push_back(v.is_object() ? value_from(v, depth + 1)
                                              : tensor_from(elem, {}, ordered_json::array({v})));
    m.values.elem = elem;
    if (keys.size() != values.size()) malformed("as many values as keys", std::to_string(values.size()));
    return m;
  }
  malformed("a type of tensor, sparse, sequence, map or none", type);
}

ordered_json json_of_number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return v;
}

ordered_json element(const Tensor& t, int64_t i) {
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
    return ordered_json::array({json_of_number(part(0)), json_of_number(part(1))});
  }
  return json_of_number(load_double(t, i));
}

ordered_json tensor_json(const Tensor& t) {
  ordered_json data = ordered_json::array();
  for (int64_t i = 0; i < t.size(); ++i) data.push_back(element(t, i));
  ordered_json shape = ordered_json::array();
  for (int64_t d : t.shape()) shape.push_back(d);
  return {{"type", "tensor"}, {"dtype", name_of(t.type())}, {"shape", shape}, {"data", std::move(data)}};
}

ordered_json json_of(const Value& v) {
  if (v.is_tensor()) return tensor_json(v.tensor());
  if (v.is_sequence()) {
    ordered_json items = ordered_json::array();
    for (const Value& item : *v.sequence().items) items.push_back(json_of(item));
    return {{"type", "sequence"}, {"items", std::move(items)}};
  }
  if (v.is_map()) {
    const Map& m = v.map();
    ordered_json keys = ordered_json::array(), values = ordered_json::array();
    for (int64_t i = 0; i < m.keys.size(); ++i) keys.push_back(element(m.keys, i));
    for (const Value& item : *m.values.items)
      values.push_back(item.is_tensor() && item.tensor().size() == 1 ? element(item.tensor(), 0)
                                                                     : json_of(item));
    return {{"type", "map"},
            {"key", name_of(m.keys.type())},
            {"value", name_of(m.values.elem)},
            {"keys", keys},
            {"values", values}};
  }
  if (v.is_sparse()) {
    ordered_json shape = ordered_json::array();
    for (int64_t d : v.sparse().shape) shape.push_back(d);
    return {{"type", "sparse"},
            {"shape", shape},
            {"values", tensor_json(v.sparse().values)},
            {"indices", tensor_json(v.sparse().indices)}};
  }
  return {{"type", "none"}};
}

}  // namespace

Value parse_value_json(std::string_view text) {
  const auto j = ordered_json::parse(text, nullptr, false);
  if (j.is_discarded()) malformed("JSON", std::string(text.substr(0, 40)));
  return value_from(j, 0);
}

std::string to_json(const Value& v) {
  return json_of(v).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace lathe
