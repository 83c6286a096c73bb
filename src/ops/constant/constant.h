// Tensors that are made from little: Constant, ConstantOfShape, Range, EyeLike, OneHot.
#pragma once

#include <cmath>

#include "ops/shape_inputs.h"
#include "tensor/attributes.h"
#include "tensor/element.h"

namespace lathe {

/// An importer keeps the contents of a Constant as a value of the graph; a node of it can be run all the
/// same.
struct Constant {
  std::optional<Tensor> value;
  std::optional<float> value_float;
  std::optional<std::vector<float>> value_floats;
  std::optional<int64_t> value_int;
  std::optional<std::vector<int64_t>> value_ints;
  std::optional<std::string> value_string;
  std::optional<std::vector<std::string>> value_strings;
  void fields(auto&& f) {
    f("value", value);
    f("value_float", value_float);
    f("value_floats", value_floats);
    f("value_int", value_int);
    f("value_ints", value_ints);
    f("value_string", value_string);
    f("value_strings", value_strings);
  }

  Tensor tensor() const {
    const auto list = [](const auto& v) { return Tensor::from({static_cast<int64_t>(v.size())}, v); };
    if (value) return *value;
    if (value_float) return Tensor::scalar(*value_float);
    if (value_floats) return list(*value_floats);
    if (value_int) return Tensor::scalar(*value_int);
    if (value_ints) return list(*value_ints);
    if (value_string) return Tensor::scalar(*value_string);
    if (value_strings) return list(*value_strings);
    throw Error(Code::node_bad_attribute, "infer", "one of the attributes value, value_float, value_ints, …",
                "none");
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    const Tensor t = tensor();
    c.output(0, std::vector<D>(t.shape().begin(), t.shape().end()));
    if (std::vector<int64_t> v; read_integers(t, v)) c.output_values(0, std::vector<D>(v.begin(), v.end()));
  }
};

struct ConstantOfShape {
  std::optional<Tensor> value;  // one element; a float 0 without it
  void fields(auto&& f) { f("value", value); }

  DataType type() const { return value ? value->type() : DataType::float32; }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (value && value->size() != 1)
      c.fail(Code::node_bad_attribute, "a value of one element", describe(*value), {});
    const auto length = count_of_sizes(c, 0);
    const auto* sizes = sizes_input(c, 0);
    if (!sizes) {
      if (length) output_of_rank(c, *length);
      return;
    }
    c.output(0, *sizes);
    const auto count = sizes->size() <= 1 ? known(sizes->empty() ? D(1) : (*sizes)[0]) : std::nullopt;
    std::vector<int64_t> fill{0};
    if (count && *count <= max_tracked_values && (!value || read_integers(*value, fill)))
      c.output_values(0, std::vector<D>(static_cast<size_t>(*count), D(fill[0])));
  }
};

/// The number of elements in [start, limit), `delta` apart.
inline int64_t range_count(int64_t start, int64_t limit, int64_t delta) {
  if (delta == 0) throw Error(Code::node_bad_value, "infer", "a delta other than 0", "0");
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  const uint64_t a = static_cast<uint64_t>(start), b = static_cast<uint64_t>(limit),
                 d = static_cast<uint64_t>(delta);
  const uint64_t span = delta > 0 ? b - a : a - b;
  const uint64_t steps = (span - 1) / (delta > 0 ? d : 0 - d);
  if (steps >= static_cast<uint64_t>(INT64_MAX))
    throw Error(Code::run_too_large, "infer", "a range of fewer than 2^63 elements", std::to_string(steps));
  return static_cast<int64_t>(steps) + 1;
}
inline int64_t range_count(double start, double limit, double delta) {
  if (delta == 0) throw Error(Code::node_bad_value, "infer", "a delta other than 0", "0");
  const double n = std::ceil((limit - start) / delta);
  if (n <= 0) return 0;
  if (!(n < 9.2e18))
    throw Error(Code::node_bad_value, "infer", "a range that ends",
                std::to_string(start) + " to " + std::to_string(limit) + " by " + std::to_string(delta));
  return static_cast<int64_t>(n);
}

/// Element `i` of a range. The product may wrap around; the sum is within the range.
inline int64_t range_element(int64_t start, int64_t delta, int64_t i) {
  return static_cast<int64_t>(static_cast<uint64_t>(start) +
                              static_cast<uint64_t>(delta) * static_cast<uint64_t>(i));
}
inline double range_element(double start, double delta, int64_t i) {
  return start + static_cast<double>(i) * delta;
}

struct Range {
  int64_t stash_type = 1;
  void fields(auto&& f) { f("stash_type", stash_type); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    for (size_t i = 0; i < 3; ++i) {
      const D size = c.product(c.shape(i));
      c.require(known(size).value_or(1) == 1, "start, limit and delta that are scalars", c.text(c.shape(i)));
    }
    const auto *start = c.values(0), *limit = c.values(1), *delta = c.values(2);
    const Tensor* constants[] = {c.constant(0), c.constant(1), c.constant(2)};
    std::optional<D> count;
    if (start && limit && delta && start->size() == 1 && limit->size() == 1 && delta->size() == 1) {
      count = count_between((*start)[0], (*limit)[0], (*delta)[0]);
      const auto n = count ? known(*count) : std::nullopt;
      if (n && *n <= max_tracked_values && is_integer(c.type(0))) {
        std::vector<D> all;
        for (int64_t i = 0; i < *n; ++i) all.push_back(i ? plus(all.back(), (*delta)[0]) : (*start)[0]);
        c.output_values(0, std::move(all));
      }
    } else if (constants[0] && constants[1] && constants[2]) {
      count = D(range_count(load_double(*constants[0], 0), load_double(*constants[1], 0),
                            load_double(*constants[2], 0)));
    }
    if (!count) count = c.data_dependent();
    if (count) c.output(0, {*count});
  }

 private:
  static std::optional<int64_t> count_between(int64_t start, int64_t limit, int64_t delta) {
    return range_count(start, limit, delta);
  }
  static std::optional<Dim> count_between(const Dim& start, const Dim& limit, const Dim& delta) {
    const auto step = delta.value();
    if (!step) return std::nullopt;
    if (start.value() && limit.value()) return range_count(*start.value(), *limit.value(), *step);
    if (*step == 0) throw Error(Code::node_bad_value, "infer", "a delta other than 0", "0");
    const Dim span = *step > 0 ? limit - start : start - limit;
    const Dim n = ceil_div(span, *step > 0 ? delta : Dim(0) - delta);
    return surely_at_least(n, 0) ? n : max(n, Dim(0));
  }
};

struct EyeLike {
  std::optional<int64_t> dtype;  // of TensorProto; the input's without it
  int64_t k = 0;                 // which diagonal: above the main one when positive
  void fields(auto&& f) {
    f("dtype", dtype);
    f("k", k);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.require(c.rank(0) == 2, "an input of rank 2", "rank " + std::to_string(c.rank(0)));
    c.output(0, c.shape(0));
  }
};

struct OneHot {
  int64_t axis = -1;
  void fields(auto&& f) { f("axis", axis); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const D count = c.product(c.shape(1)), values = c.product(c.shape(2));
    c.require(known(count).value_or(1) == 1, "a depth of one element", c.text(c.shape(1)));
    c.require(known(values).value_or(2) == 2, "values of two elements, off and on", c.text(c.shape(2)));
    const int64_t at = c.axis(axis, c.rank(0) + 1);
    std::optional<D> depth;
    if (const auto* v = c.values(1); v && v->size() == 1)
      depth = (*v)[0];
    else if (const Tensor* t = c.constant(1); t && t->size() == 1)
      depth = D(depth_of(load_double(*t, 0)));
    else
      depth = c.data_dependent();
    if (!depth) return;
    const auto n = known(*depth);
    if (n && *n < 0) c.fail(Code::node_bad_value, "a depth of 0 or more", std::to_string(*n), {});
    std::vector<D> out = c.shape(0);
    out.insert(out.begin() + at, *depth);
    c.output(0, std::move(out));
  }
  static int64_t depth_of(double depth) {
    if (!(depth >= 0 && depth < 9.2e18))
      throw Error(Code::node_bad_value, "infer", "a depth of 0 or more", std::to_string(depth));
    return static_cast<int64_t>(depth);
  }
};

}  // namespace lathe
