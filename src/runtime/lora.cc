#include "runtime/lora.h"

#include "tensor/element.h"

namespace lathe {
namespace {

std::vector<double> numbers(const Tensor& t) {
  std::vector<double> list(static_cast<size_t>(t.size()));
  for (size_t i = 0; i < list.size(); ++i) list[i] = load_double(t, static_cast<int64_t>(i));
  return list;
}

std::vector<double> transposed(const std::vector<double>& from, size_t rows, size_t columns) {
  std::vector<double> to(from.size());
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  return to;
}

/// One adapter as a product in the weight's own layout: left [rows, rank] · right [rank, columns].
struct Product {
  explicit Product(const LowRank& l)
      : rank(static_cast<size_t>(l.a.dim(0))), scale(static_cast<double>(l.scale)) {
    const auto in = static_cast<size_t>(l.a.dim(1)), out = static_cast<size_t>(l.b.dim(0));
    left = l.transposed ? transposed(numbers(l.a), rank, in) : numbers(l.b);
    right = l.transposed ? transposed(numbers(l.b), out, rank) : numbers(l.a);
  }
  std::vector<double> left, right;
  size_t rank;
  double scale;
};

}  // namespace

void check_fit(const LoraDelta& d, const Tensor& weight) {
  const auto refuse = [&](std::string expected, std::string got, std::string remedy = {}) {
    throw Error(Code::refit_bad_weight, "refit", std::move(expected), std::move(got), std::move(remedy))
        .at("refit", d.weight, "");
  };
  if (!is_float(weight.type()) || weight.rank() != 2)
    refuse("a matrix of floats for an adapter to change", describe(weight));
  const size_t out = d.transposed ? 1 : 0;
  for (const auto& [name, t] : {std::pair{"a [rank, in]", &d.a}, std::pair{"b [out, rank]", &d.b}})
    if (!t->defined() || !is_float(t->type()) || t->rank() != 2)
      refuse(std::string("a matrix of floats as ") + name, t->defined() ? describe(*t) : "nothing");
  if (d.a.dim(0) == d.b.dim(1) && d.a.dim(1) == weight.dim(1 - out) && d.b.dim(0) == weight.dim(out)) return;
  const bool other_way =
      d.a.dim(0) == d.b.dim(1) && d.a.dim(1) == weight.dim(out) && d.b.dim(0) == weight.dim(1 - out);
  refuse("a of [rank, " + std::to_string(weight.dim(1 - out)) + "] and b of [" +
             std::to_string(weight.dim(out)) + ", rank] for " + describe(weight),
         describe(d.a) + " and " + describe(d.b),
         other_way ? std::string("set transposed to ") + (d.transposed ? "false" : "true") : "");
}

Tensor merged(const AdaptedWeight& weight, RunControl* control) {
  std::vector<Product> products;
  for (const auto& [name, low] : weight.adapters) products.emplace_back(*low);
  Tensor result = weight.base.clone();
  const auto rows = static_cast<size_t>(result.dim(0)), columns = static_cast<size_t>(result.dim(1));
  std::vector<double> delta(columns), total(columns);
  for (size_t i = 0; i < rows; ++i) {
    if (control) control->check();
    std::ranges::fill(total, 0.0);
    for (const Product& p : products) {
      std::ranges::fill(delta, 0.0);
      for (size_t k = 0; k < p.rank; ++k) {
        const double factor = p.left[i * p.rank + k];
        const double* row = p.right.data() + k * columns;
        for (size_t j = 0; j < columns; ++j) delta[j] += factor * row[j];
      }
      for (size_t j = 0; j < columns; ++j) total[j] += p.scale * delta[j];
    }
    for (size_t j = 0; j < columns; ++j) {
      const auto at = static_cast<int64_t>(i * columns + j);
      store_double(result, at, load_double(result, at) + total[j]);
    }
  }
  return result;
}

}  // namespace lathe
