#include "ops/label_encoder/label_encoder.h"

#include <bit>
#include <unordered_map>

#include "ops/compute.h"

namespace lathe {
namespace {

/// The key in maps: NaN is one key whatever its bits, and zero is one whatever its sign.
template <class T>
auto key_of(const T& v) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    const double wide = static_cast<double>(v);
    return std::isnan(wide) ? std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN())
                            : std::bit_cast<uint64_t>(wide == 0 ? 0.0 : wide);
  } else {
    return v;
  }
}

constexpr Types<std::string, int64_t, float, int32_t, int16_t, double> label_types;

/// The index of each key in a list, the last of equal ones.
template <class T>
class KeyIndices {
 public:
  KeyIndices(std::span<const T> keys, Poller& poll) {
    for (size_t i = 0; i < keys.size(); ++i) {
      poll.did(64);
      indices_[key_of(keys[i])] = i;
    }
  }
  std::optional<size_t> find(const T& v) const {
    const auto at = indices_.find(key_of(v));
    return at == indices_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  std::unordered_map<decltype(key_of(T())), size_t> indices_;
};

/// Looks up each element among the keys: gives the element of `values` at its index, or `otherwise`.
template <class From, class To>
void look_up(KernelContext& c, std::span<const From> keys, std::span<const To> values, const To& otherwise) {
  Poller poll(c);
  const KeyIndices<From> indices(keys, poll);
  const auto in = c.in(0).as<From>();
  const auto out = c.out(0).as<To>();
  for (size_t i = 0; i < in.size(); ++i) {
    poll.did(64);
    const auto at = indices.find(in[i]);
    out[i] = at ? values[*at] : otherwise;
  }
}

template <class T>
T default_of(const LabelEncoder& op) {
  if (op.default_tensor) return op.default_tensor->as<T>()[0];
  if constexpr (std::is_same_v<T, std::string>)
    return op.default_string;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(op.default_int64);
  else
    return static_cast<T>(op.default_float);
}

void encode_labels(const LabelEncoder& op, KernelContext& c) {
  const Tensor keys = op.keys(), values = op.values();
  if (c.in(0).type() != keys.type() || c.out(0).type() != values.type())
    c.fail(Code::node_bad_type, "elements of the type of the keys, " + std::string(name_of(keys.type())),
           std::string(name_of(c.in(0).type())));
  for_type(keys.type(), label_types, [&]<class From> {
    for_type(values.type(), label_types, [&]<class To> {
      look_up<From, To>(c, std::as_const(keys).as<From>(), std::as_const(values).as<To>(),
                        default_of<To>(op));
    });
  });
}

void map_categories(const CategoryMapper& op, KernelContext& c) {
  if (c.in(0).type() == DataType::string)
    look_up<std::string, int64_t>(c, op.cats_strings, op.cats_int64s, op.default_int64);
  else
    look_up<int64_t, std::string>(c, op.cats_int64s, op.cats_strings, op.default_string);
}

/// Towards 0; what no int64 holds is no category either.
int64_t cut(double v) { return std::abs(v) < 0x1p62 ? static_cast<int64_t>(v) : INT64_MIN; }

void one_hot_encode(const OneHotEncoder& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const auto out = c.out(0).as<float>();
  Poller poll(c);
  poll.fill(out.data(), static_cast<int64_t>(out.size()), 0.0f);
  const auto encode = [&](const auto& indices, auto&& element) {
    for (int64_t i = 0; i < x.size(); ++i) {
      poll.did(64);
      const auto at = indices.find(element(i));
      if (at)
        out[static_cast<size_t>(i) * op.categories() + *at] = 1;
      else if (!op.zeros)
        c.fail(Code::run_bad_value, "one of the categories", "another value at " + std::to_string(i),
               "set zeros to 1 to have 0 in all places instead");
    }
  };
  if ((x.type() == DataType::string) == op.cats_strings.empty())
    c.fail(Code::node_bad_type, "categories of the kind of the input", std::string(name_of(x.type())));
  if (x.type() == DataType::string)
    encode(KeyIndices<std::string>(op.cats_strings, poll),
           [&](int64_t i) -> const std::string& { return x.as<std::string>()[static_cast<size_t>(i)]; });
  else
    encode(KeyIndices<int64_t>(op.cats_int64s, poll),
           [&](int64_t i) { return is_integer(x.type()) ? load_int(x, i) : cut(load_double(x, i)); });
}

}  // namespace

void reference_label_encoder(KernelCatalog& k) {
  k.reference<LabelEncoder>("LabelEncoder", encode_labels, "ai.onnx.ml");
  k.reference<CategoryMapper>("CategoryMapper", map_categories, "ai.onnx.ml");
  k.reference<OneHotEncoder>("OneHotEncoder", one_hot_encode, "ai.onnx.ml");
}

}  // namespace lathe
