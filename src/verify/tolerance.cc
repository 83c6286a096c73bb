#include "verify/tolerance.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "lathe/values.h"
#include "tensor/element.h"

namespace lathe {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double part_of(const Tensor& t, int64_t i, int part) {
  if (t.type() == DataType::complex64) return reinterpret_cast<const float*>(t.data())[2 * i + part];
  if (t.type() == DataType::complex128) return reinterpret_cast<const double*>(t.data())[2 * i + part];
  return load_double(t, i);
}

std::string position(const Shape& shape, int64_t i) {
  std::string text;
  for (size_t axis = shape.size(); axis-- > 0; i /= shape[axis])
    text = std::to_string(i % shape[axis]) + (text.empty() ? "" : ", ") + text;
  return "[" + text + "]";
}

std::string element(const Tensor& t, int64_t i) {
  // Nine digits distinguish neighboring floats.
  if (is_float(t.type())) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", load_double(t, i));
    return text;
  }
  return first_elements(t, static_cast<size_t>(i) + 1).back();
}

class Judge {
 public:
  explicit Judge(Held held) : held_(held) {}

  void output(const Value& got, const Value& want, const std::string& name, double slack) {
    slack_ = slack;
    values(got, want, name);
  }
  void within(const Tensor& got, const Tensor& want, const std::string& name,
              std::span<const double> bounds) {
    for (int64_t i = 0; i < want.size(); ++i) {
      const double a = load_double(got, i), b = load_double(want, i), bound = bounds[static_cast<size_t>(i)];
      if (!std::isfinite(b) || std::abs(a - b) <= bound) continue;
      at_element(std::isfinite(a) ? std::abs(a - b) : infinity, {bound, 0}, got, want, i, name);
    }
  }
  Difference result() { return std::move(result_); }

 private:
  struct Bound {
    double atol = 0, rtol = 0;
  };

  void values(const Value& got, const Value& want, const std::string& name) {
    if (got.is_tensor() && want.is_tensor()) return tensors(got.tensor(), want.tensor(), name);
    if (got.is_sequence() && want.is_sequence()) return sequences(got.sequence(), want.sequence(), name);
    if (got.is_map() && want.is_map()) {
      tensors(got.map().keys, want.map().keys, name + ".keys");
      return sequences(got.map().values, want.map().values, name);
    }
    if (got.is_sparse() && want.is_sparse()) {
      tensors(got.sparse().indices, want.sparse().indices, name + ".indices");
      return tensors(got.sparse().values, want.sparse().values, name + ".values");
    }
    if (!(got.empty() && want.empty())) other_kind(describe(got), describe(want), name);
  }

  void other_kind(const std::string& got, const std::string& want, const std::string& name) {
    beyond(infinity, {}, name + ": " + want, got);
  }

  void sequences(const Sequence& got, const Sequence& want, const std::string& name) {
    if (got.items->size() != want.items->size())
      return other_kind(describe(Value(got)), describe(Value(want)), name);
    for (size_t i = 0; i < want.items->size(); ++i)
      values((*got.items)[i], (*want.items)[i], name + "[" + std::to_string(i) + "]");
  }

  void tensors(const Tensor& got, const Tensor& want, const std::string& name) {
    if (got.type() != want.type() || !(got.shape() == want.shape()))
      return other_kind(describe(got), describe(want), name);
    if (is_float(want.type()) || is_complex(want.type())) return floats(got, want, name);
    for (int64_t i = 0; i < want.size(); ++i) exact(got, want, i, name);
  }

  void exact(const Tensor& got, const Tensor& want, int64_t i, const std::string& name) {
    double off = 1;
    if (want.type() == DataType::string) {
      const auto at = static_cast<size_t>(i);
      if (got.as<std::string>()[at] == want.as<std::string>()[at]) return;
    } else {
      const int64_t a = load_int(got, i), b = load_int(want, i);
      if (a == b) return;
      off = std::max(1.0, std::abs(static_cast<double>(a) - static_cast<double>(b)));
    }
    if (off > slack_) at_element(off, {slack_, 0}, got, want, i, name);
  }

  void floats(const Tensor& got, const Tensor& want, const std::string& name) {
    if (held_ == Held::none) return;
    const int parts = is_complex(want.type()) ? 2 : 1;
    const Tolerance t = tolerance_of(want.type());
    double most = 0;
    for (int64_t i = 0; i < want.size(); ++i)
      for (int p = 0; p < parts; ++p)
        if (const double x = std::abs(part_of(want, i, p)); std::isfinite(x)) most = std::max(most, x);
    const Bound bound{t.of_largest * most + t.floor + slack_, t.relative};
    for (int64_t i = 0; i < want.size(); ++i)
      for (int p = 0; p < parts; ++p) {
        const double a = part_of(got, i, p), b = part_of(want, i, p);
        if (!std::isfinite(b)) {
          if (held_ == Held::all && !(std::isnan(b) ? std::isnan(a) : a == b))
            at_element(infinity, {}, got, want, i, name);
          continue;
        }
        const double off = std::isfinite(a) ? std::abs(a - b) : infinity;
        if (off > bound.atol + bound.rtol * std::abs(b))
          at_element(most > 0 ? off / most : off, bound, got, want, i, name);
        else if (most > 0 && off > t.floor)
          result_.largest = std::max(result_.largest, off / most);
      }
  }

  void at_element(double off, const Bound& bound, const Tensor& got, const Tensor& want, int64_t i,
                  const std::string& name) {
    result_.largest = std::max(result_.largest, off);
    if (result_.within)
      beyond(off, bound, name + position(want.shape(), i) + " = " + element(want, i), element(got, i));
  }

  void beyond(double off, const Bound& bound, std::string want, std::string got) {
    result_.largest = std::max(result_.largest, off);
    if (!result_.within) return;
    result_.within = false;
    result_.expected = std::move(want);
    result_.got = std::move(got);
    result_.atol = bound.atol;
    result_.rtol = bound.rtol;
  }

  Held held_;
  double slack_ = 0;
  Difference result_;
};

bool identical(const Value& a, const Value& b);

bool identical(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || !(a.shape() == b.shape())) return false;
  if (a.type() == DataType::string) return std::ranges::equal(a.as<std::string>(), b.as<std::string>());
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

bool identical(const Sequence& a, const Sequence& b) {
  return std::ranges::equal(*a.items, *b.items,
                            [](const Value& x, const Value& y) { return identical(x, y); });
}

bool identical(const Value& a, const Value& b) {
  if (a.is_tensor() && b.is_tensor()) return identical(a.tensor(), b.tensor());
  if (a.is_sequence() && b.is_sequence()) return identical(a.sequence(), b.sequence());
  if (a.is_map() && b.is_map())
    return identical(a.map().keys, b.map().keys) && identical(a.map().values, b.map().values);
  if (a.is_sparse() && b.is_sparse())
    return identical(a.sparse().indices, b.sparse().indices) &&
           identical(a.sparse().values, b.sparse().values);
  return a.empty() && b.empty();
}

}  // namespace

Tolerance tolerance_of(DataType type) {
  switch (type) {
    case DataType::float64:
    case DataType::complex128:
      return {1e-9, 1e-10, 0x1p-1022};
    case DataType::float32:
    case DataType::complex64:
      return {1e-3, 1e-4, 0x1p-126};
    case DataType::float16:
      return {1e-2, 5e-3, 0x1p-22};
    case DataType::bfloat16:
      return {4e-2, 2e-2, 0x1p-126};
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
    case DataType::float6e2m3:
      return {0.13, 0.06, 0x1p-9};
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
    case DataType::float6e3m2:
      return {0.26, 0.13, 0x1p-16};
    case DataType::float4e2m1:
    case DataType::float8e8m0:
      return {0.5, 0.25, 0};
    default:
      return {};
  }
}

Difference tolerance_difference(std::span<const Value> got, std::span<const Value> want,
                                std::span<const std::string> names, Held held,
                                std::span<const double> slack) {
  Judge judge(held);
  for (size_t i = 0; i < want.size(); ++i)
    judge.output(got[i], want[i], names[i], i < slack.size() ? slack[i] : 0);
  return judge.result();
}

Difference bounds_difference(const Tensor& got, const Tensor& want, const std::string& name,
                             std::span<const double> bounds) {
  Judge judge(Held::finite);
  judge.within(got, want, name, bounds);
  return judge.result();
}

bool identical(std::span<const Value> a, std::span<const Value> b) {
  return std::ranges::equal(a, b, [](const Value& x, const Value& y) { return identical(x, y); });
}

}  // namespace lathe
