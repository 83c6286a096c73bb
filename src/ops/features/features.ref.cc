#include "ops/features/features.h"

#include <charconv>
#include <map>

#include "kernel/lean_reference.h"
#include "ops/compute.h"

namespace lathe {
namespace {

void extract_features(const ArrayFeatureExtractor&, KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(0);
  const int64_t columns = x.dim(x.rank() - 1);
  const std::pmr::vector<int64_t> chosen = integers_of(c.in(1), c);
  for (int64_t i : chosen)
    if (i < 0 || i >= columns)
      c.fail(Code::run_bad_value, "indices from 0 to " + std::to_string(columns - 1), std::to_string(i));
  for_size(x.type(), [&]<class T>() {
    const auto* from = static_cast<const T*>(x.data());
    auto* to = static_cast<T*>(out.data());
    Poller poll(c);
    const auto width = static_cast<int64_t>(chosen.size());
    for (int64_t i = 0; i < out.size(); ++i, poll.did(2))
      to[i] = from[i / width * columns + chosen[static_cast<size_t>(i % width)]];
  });
}

void binarize(const Binarizer& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  Poller poll(c);
  for (int64_t i = 0; i < x.size(); ++i, poll.did(4))
    store_double(c.out(0), i, load_double(x, i) > static_cast<double>(op.threshold) ? 1 : 0);
}

void join_features(const FeatureVectorizer& op, KernelContext& c) {
  Tensor& out = c.out(0);
  const auto to = out.as<float>();
  Poller poll(c);
  poll.fill(to.data(), out.size(), 0.0f);
  int64_t first = 0;
  for (size_t i = 0; i < c.inputs(); ++i) {
    const Tensor& x = c.in(i);
    const int64_t columns = x.dim(x.rank() - 1), wanted = op.inputdimensions[i];
    for (int64_t row = 0; row < out.dim(0); ++row)
      for (int64_t k = 0; k < std::min(columns, wanted); ++k, poll.did(4))
        to[static_cast<size_t>(row * out.dim(1) + first + k)] =
            static_cast<float>(load_double(x, row * columns + k));
    first += wanted;
  }
}

void impute(const Imputer& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(0);
  const bool integers = is_integer(x.type());
  const size_t count = integers ? op.imputed_value_int64s.size() : op.imputed_value_floats.size();
  if (count == 0)
    c.fail(Code::node_bad_type,
           integers ? "imputed_value_int64s, for integers" : "imputed_value_floats, for floats",
           "the others");
  const double replaced = static_cast<double>(op.replaced_value_float);
  Poller poll(c);
  for (int64_t i = 0; i < x.size(); ++i, poll.did(4)) {
    const size_t at = count == 1 ? 0 : static_cast<size_t>(i % static_cast<int64_t>(count));
    if (integers) {
      const int64_t v = load_int(x, i);
      store_int(out, i, v == op.replaced_value_int64 ? op.imputed_value_int64s[at] : v);
    } else {
      const double v = load_double(x, i);
      const bool gap = std::isnan(replaced) ? std::isnan(v) : v == replaced;
      store_double(out, i, gap ? static_cast<double>(op.imputed_value_floats[at]) : v);
    }
  }
}

void normalize(const Normalizer& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const int64_t columns = x.dim(x.rank() - 1), rows = x.rank() == 1 ? 1 : x.dim(0);
  Poller poll(c);
  for (int64_t row = 0; row < rows; ++row) {
    double divisor = 0;
    for (int64_t k = 0; k < columns; ++k, poll.did(4)) {
      const double v = std::abs(load_double(x, row * columns + k));
      divisor = op.norm == "MAX" ? std::max(divisor, v) : divisor + (op.norm == "L1" ? v : v * v);
    }
    if (op.norm == "L2") divisor = std::sqrt(divisor);
    for (int64_t k = 0; k < columns; ++k, poll.did(4)) {
      const double v = load_double(x, row * columns + k);
      store_double(c.out(0), row * columns + k, divisor == 0 ? v : v / divisor);
    }
  }
}

void scale_features(const Scaler& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const auto of = [](const std::vector<float>& v, int64_t i, double otherwise) {
    if (v.empty()) return otherwise;
    return static_cast<double>(
        v[v.size() == 1 ? 0 : static_cast<size_t>(i % static_cast<int64_t>(v.size()))]);
  };
  Poller poll(c);
  for (int64_t i = 0; i < x.size(); ++i, poll.did(4))
    store_double(c.out(0), i, (load_double(x, i) - of(op.offset, i, 0)) * of(op.scale, i, 1));
}

/// Value `i` of a map: a tensor of one element.
const Tensor& value_at(const Map& m, size_t i, KernelContext& c) {
  const auto& items = *m.values.items;
  if (i >= items.size() || !items[i].is_tensor() || items[i].tensor().size() != 1)
    c.fail(Code::run_bad_value, "one value for each key of a map", describe(Value(m)));
  return items[i].tensor();
}

const Map& map_input(KernelContext& c) {
  if (!c.value(0).is_map()) c.fail(Code::run_bad_input, "a map", describe(c.value(0)));
  return c.value(0).map();
}

double number_of(const std::string& text, KernelContext& c) {
  double v = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), v);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size())
    c.fail(Code::run_bad_value, "numbers, to cast to", "'" + text + "'");
  return v;
}

/// The shortest text that is read back as the same float.
std::string text_of(float v) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, v).ptr);
}

void cast_map(const CastMap& op, KernelContext& c) {
  const Map& m = map_input(c);
  if (m.keys.type() != DataType::int64)
    c.fail(Code::node_bad_type, "keys of int64", std::string(name_of(m.keys.type())));
  const bool sparse = op.map_form == "SPARSE";
  const int64_t count = sparse ? op.max_map : m.keys.size();
  const DataType type = op.cast_to == "TO_STRING"  ? DataType::string
                        : op.cast_to == "TO_INT64" ? DataType::int64
                                                   : DataType::float32;
  std::map<int64_t, size_t> order;
  Poller poll(c);
  for (int64_t i = 0; i < m.keys.size(); ++i, poll.did(64))
    order[load_int(m.keys, i)] = static_cast<size_t>(i);
  if (!sparse && static_cast<int64_t>(order.size()) != count)
    c.fail(Code::run_bad_value, "keys that differ", "equal ones");
  Tensor& out = c.out(0, type, {1, count});
  const auto store = [&](int64_t at, const Tensor* v) {
    const bool text = v && v->type() == DataType::string;
    if (type == DataType::string)
      out.as<std::string>()[static_cast<size_t>(at)] = text ? v->as<std::string>()[0]
                                                       : v  ? text_of(static_cast<float>(load_double(*v, 0)))
                                                            : std::string();
    else if (!v)
      store_double(out, at, 0);
    else
      store_double(out, at, text ? number_of(v->as<std::string>()[0], c) : load_double(*v, 0));
  };
  if (sparse)
    for (int64_t i = 0; i < count; ++i, poll.did(1)) store(i, nullptr);
  int64_t next = 0;
  for (const auto& [key, place] : order) {
    poll.did(64);
    if (sparse && (key < 0 || key >= count))
      c.fail(Code::run_bad_value, "keys from 0 to " + std::to_string(count - 1), std::to_string(key),
             "raise max_map");
    store(sparse ? key : next++, &value_at(m, place, c));
  }
}

template <class Key>
void vectorize(const std::vector<Key>& vocabulary, const Map& m, KernelContext& c) {
  std::map<Key, size_t> places;
  Poller poll(c);
  const auto keys = m.keys.as<Key>();
  for (size_t i = 0; i < keys.size(); ++i, poll.did(64)) places[keys[i]] = i;
  Tensor& out = c.out(0);
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    poll.did(64);
    const auto at = places.find(vocabulary[i]);
    const Tensor* v = at == places.end() ? nullptr : &value_at(m, at->second, c);
    if (v && v->type() != out.type())
      c.fail(Code::node_bad_type, "values of one type", std::string(name_of(v->type())));
    if (out.type() == DataType::string)
      out.as<std::string>()[i] = v ? v->as<std::string>()[0] : std::string();
    else if (out.type() == DataType::int64)
      store_int(out, static_cast<int64_t>(i), v ? load_int(*v, 0) : 0);
    else
      store_double(out, static_cast<int64_t>(i), v ? load_double(*v, 0) : 0);
  }
}

void vectorize_map(const DictVectorizer& op, KernelContext& c) {
  const Map& m = map_input(c);
  const bool words = !op.string_vocabulary.empty();
  if (m.keys.type() != (words ? DataType::string : DataType::int64))
    c.fail(Code::node_bad_type, "keys of the kind of the vocabulary", std::string(name_of(m.keys.type())));
  words ? vectorize(op.string_vocabulary, m, c) : vectorize(op.int64_vocabulary, m, c);
}

void zip_maps(const ZipMap& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const auto keys = [&] {
    const auto count =
        static_cast<int64_t>(std::max(op.classlabels_int64s.size(), op.classlabels_strings.size()));
    return op.classlabels_strings.empty() ? Tensor::from<int64_t>({count}, op.classlabels_int64s)
                                          : Tensor::from<std::string>({count}, op.classlabels_strings);
  }();
  if (x.rank() == 0 || x.dim(x.rank() - 1) != keys.size())
    c.fail(Code::run_bad_shape, std::to_string(keys.size()) + " columns", describe(x.shape()));
  Sequence rows;
  Poller poll(c);
  const int64_t count = x.rank() == 1 ? 1 : x.dim(0);
  for (int64_t row = 0; row < count; ++row) {
    Map m{keys, {}};
    m.values.elem = DataType::float32;
    for (int64_t k = 0; k < keys.size(); ++k, poll.did(64))
      m.values.items->push_back(Tensor::scalar(x.as<float>()[static_cast<size_t>(row * keys.size() + k)]));
    rows.items->push_back(std::move(m));
  }
  c.set(0, std::move(rows));
}

}  // namespace

void reference_features(KernelCatalog& k) {
  k.reference<ArrayFeatureExtractor>("ArrayFeatureExtractor", extract_features, "ai.onnx.ml");
  lean_reference<Binarizer>(k, "Binarizer", binarize, "ai.onnx.ml");
  lean_reference<FeatureVectorizer>(k, "FeatureVectorizer", join_features, "ai.onnx.ml");
  lean_reference<Imputer>(k, "Imputer", impute, "ai.onnx.ml");
  lean_reference<Normalizer>(k, "Normalizer", normalize, "ai.onnx.ml");
  lean_reference<Scaler>(k, "Scaler", scale_features, "ai.onnx.ml");
  lean_reference<CastMap>(k, "CastMap", cast_map, "ai.onnx.ml");
  lean_reference<DictVectorizer>(k, "DictVectorizer", vectorize_map, "ai.onnx.ml");
  lean_reference<ZipMap>(k, "ZipMap", zip_maps, "ai.onnx.ml");
}

}  // namespace lathe
