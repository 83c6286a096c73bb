// RandomUniform, RandomNormal, their Like forms, Bernoulli, Multinomial.
#pragma once

#include <optional>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct RandomShaped {
  std::vector<int64_t> sizes;
  std::optional<int64_t> dtype;
  std::optional<float> seed;
  float low = 0, high = 1, mean = 0, scale = 1;
  void fields(auto&& f) {
    f("shape", sizes);
    f("dtype", dtype);
    f("seed", seed);
    f("low", low);
    f("high", high);
    f("mean", mean);
    f("scale", scale);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    for (int64_t d : sizes) c.require(d >= 0, "sizes that are not negative", std::to_string(d));
    c.output(0, std::vector<D>(sizes.begin(), sizes.end()));
  }
};

struct RandomLike : RandomShaped {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, c.shape(0));
  }
};

struct Multinomial {
  std::optional<float> seed;
  int64_t sample_size = 1, dtype = 6;
  void fields(auto&& f) {
    f("seed", seed);
    f("sample_size", sample_size);
    f("dtype", dtype);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.require(c.rank(0) == 2, "input of rank 2", "rank " + std::to_string(c.rank(0)));
    c.require(sample_size >= 0, "a sample_size that is not negative", std::to_string(sample_size));
    c.output(0, {c.shape(0)[0], D(sample_size)});
  }
};

}  // namespace lathe
