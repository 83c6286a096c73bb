#include "lathe/values.h"

#include <charconv>
#include <cmath>
#include <complex>

#include "lathe/error.h"
#include "tensor/element.h"

namespace lathe {
namespace {

std::string number_text(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, x, std::chars_format::general, 6).ptr;
  return std::string(text, end);
}

std::complex<double> load_complex(const Tensor& t, int64_t i) {
  const auto at = static_cast<size_t>(i);
  return t.type() == DataType::complex64 ? std::complex<double>(t.as<std::complex<float>>()[at])
                                         : t.as<std::complex<double>>()[at];
}

std::string element_text(const Tensor& t, int64_t i) {
  if (t.type() == DataType::string) return t.as<std::string>()[static_cast<size_t>(i)];
  if (t.type() == DataType::boolean) return load_int(t, i) ? "true" : "false";
  if (t.type() == DataType::uint64) return std::to_string(static_cast<uint64_t>(load_int(t, i)));
  if (is_integer(t.type())) return std::to_string(load_int(t, i));
  if (is_complex(t.type())) {
    const auto z = load_complex(t, i);
    return number_text(z.real()) + (z.imag() < 0 ? "" : "+") + number_text(z.imag()) + "i";
  }
  return number_text(load_double(t, i));
}

std::string position_text(const Shape& shape, int64_t i) {
  std::string text;
  for (size_t axis = shape.size(); axis-- > 0; i /= shape[axis])
    text = std::to_string(i % shape[axis]) + (text.empty() ? "" : ", ") + text;
  return "[" + text + "]";
}

/// Collects differences of one comparison, however deep the values are.
class Comparer {
 public:
  Comparer(double atol, double rtol) : atol_(atol), rtol_(rtol) {}

  void values(const Value& got, const Value& want, const std::string& where) {
    if (got.is_tensor() && want.is_tensor()) return tensors(got.tensor(), want.tensor(), where);
    if (got.is_sequence() && want.is_sequence()) return sequences(got.sequence(), want.sequence(), where);
    if (got.is_map() && want.is_map()) return maps(got.map(), want.map(), where);
    if (got.is_sparse() && want.is_sparse()) {
      if (!(got.sparse().shape == want.sparse().shape)) return mismatch(where, got, want);
      tensors(got.sparse().indices, want.sparse().indices, where + "indices: ");
      return tensors(got.sparse().values, want.sparse().values, where + "values: ");
    }
    if (!(got.empty() && want.empty())) mismatch(where, got, want);
  }

  Comparison result() {
    result_.equal = result_.reason.empty();
    return std::move(result_);
  }

 private:
  void mismatch(const std::string& where, const Value& got, const Value& want) {
    record_reason(where + describe(got) + ", expected " + describe(want));
    ++result_.differing;
  }
  void record_reason(std::string reason) {
    if (result_.reason.empty()) result_.reason = std::move(reason);
  }

  void sequences(const Sequence& got, const Sequence& want, const std::string& where) {
    if (got.items->size() != want.items->size()) return mismatch(where, got, want);
    for (size_t i = 0; i < want.items->size(); ++i)
      values((*got.items)[i], (*want.items)[i], where + "item " + std::to_string(i) + ": ");
  }

  void maps(const Map& got, const Map& want, const std::string& where) {
    tensors(got.keys, want.keys, where + "keys: ");
    sequences(got.values, want.values, where + "values: ");
  }

  void tensors(const Tensor& got, const Tensor& want, const std::string& where) {
    if (got.type() != want.type() || !(got.shape() == want.shape())) return mismatch(where, got, want);
    for (int64_t i = 0; i < want.size(); ++i)
      if (!close(got, want, i)) {
        ++result_.differing;
        if (result_.reason.empty())
          record_reason(where + "element " + position_text(want.shape(), i) + ": " + element_text(got, i) +
                        ", expected " + element_text(want, i));
      }
  }

  bool close(const Tensor& got, const Tensor& want, int64_t i) {
    const auto at = static_cast<size_t>(i);
    if (want.type() == DataType::string) return got.as<std::string>()[at] == want.as<std::string>()[at];
    if (is_float(want.type())) return close(load_double(got, i), load_double(want, i));
    if (is_complex(want.type())) {
      const auto a = load_complex(got, i), b = load_complex(want, i);
      return close(a.real(), b.real()) && close(a.imag(), b.imag());
    }
    const int64_t a = load_int(got, i), b = load_int(want, i);
    if (a == b) return true;
    // Different integers differ by at least 1, even if both are the same double.
    const double difference = want.type() == DataType::uint64
                                  ? std::abs(static_cast<double>(static_cast<uint64_t>(a)) -
                                             static_cast<double>(static_cast<uint64_t>(b)))
                                  : std::abs(static_cast<double>(a) - static_cast<double>(b));
    note(std::max(difference, 1.0), static_cast<double>(b));
    return false;
  }

  void note(double difference, double want) {
    result_.max_absolute = std::max(result_.max_absolute, difference);
    if (want != 0) result_.max_relative = std::max(result_.max_relative, difference / std::abs(want));
  }

  bool close(double got, double want) {
    if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
    if (std::isinf(got) || std::isinf(want)) return got == want;
    const double difference = std::abs(got - want);
    note(difference, want);
    return difference <= atol_ + rtol_ * std::abs(want);
  }

  double atol_, rtol_;
  Comparison result_;
};

/// SplitMix64 (Steele, Lea and Flood 2014): small, and the same everywhere, unlike the distributions of
/// <random>.
class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  /// In [-1, 1), a multiple of 2^-23 so that it is exact in float32.
  double centered() { return static_cast<double>(next() >> 40) * 0x1p-23 - 1; }

 private:
  uint64_t state_;
};

}  // namespace

Comparison compare(const Value& got, const Value& want, double atol, double rtol) {
  Comparer c(atol, rtol);
  c.values(got, want, "");
  return c.result();
}

std::optional<Statistics> statistics(const Tensor& t) {
  if (t.size() == 0 || bits_of(t.type()) == 0 || is_complex(t.type())) return std::nullopt;
  Statistics s;
  int64_t finite = 0;
  double sum = 0;
  for (int64_t i = 0; i < t.size(); ++i) {
    const double x = load_double(t, i);
    if (std::isnan(x)) {
      ++s.nans;
    } else if (std::isinf(x)) {
      ++s.infinities;
    } else {
      s.min = finite ? std::min(s.min, x) : x;
      s.max = finite ? std::max(s.max, x) : x;
      sum += x;
      ++finite;
    }
  }
  if (finite) s.mean = sum / static_cast<double>(finite);
  return s;
}

std::vector<std::string> first_elements(const Tensor& t, size_t count) {
  std::vector<std::string> texts;
  for (int64_t i = 0; i < t.size() && texts.size() < count; ++i) texts.push_back(element_text(t, i));
  return texts;
}

Tensor random_tensor(DataType type, const Shape& shape, uint64_t seed) {
  Tensor t(type, shape);
  if (type == DataType::string) return t;
  if (bits_of(type) == 0 || is_complex(type))
    throw Error(Code::not_supported, "run", "an element type that can be made up", std::string(name_of(type)),
                "give this input in a file");
  Generator g(seed);
  for (int64_t i = 0; i < t.size(); ++i) {
    if (is_float(type))
      store_double(t, i, g.centered());
    else
      store_int(t, i, static_cast<int64_t>(g.next() >> 63));
  }
  return t;
}

}  // namespace lathe
