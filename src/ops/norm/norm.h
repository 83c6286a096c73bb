// Normalizations: each subtracts a mean and divides by a deviation (or only divides), taken over some of the
// axes.
#pragma once

#include <algorithm>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Refuses a parameter that is not [channels].
template <class D>
void require_per_channel(const ShapeContext<D>& c, size_t input, const D& channels, std::string_view what) {
  c.require(c.rank(input) == 1, std::string(what) + " of rank 1", c.text(c.shape(input)));
  c.same(c.shape(input)[0], channels, "the size of " + std::string(what) + " and the channels");
}

/// Refuses a parameter that does not broadcast to X without growing it.
template <class D>
void require_broadcasts_to(const ShapeContext<D>& c, size_t input, const std::vector<D>& x) {
  const auto& p = c.shape(input);
  bool fits = p.size() <= x.size();
  for (size_t i = 0; fits && i < p.size(); ++i) {
    const auto have = known(p[p.size() - 1 - i]), want = known(x[x.size() - 1 - i]);
    fits = !have || *have == 1 || !want || *have == *want;
  }
  c.require(fits, "a scale or bias that broadcasts to " + c.text(x), c.text(p));
}

/// stash_type: the type in which the statistics are computed; float or wider than the stored type.
template <class D>
void require_stash_type(const ShapeContext<D>& c, int64_t stash_type) {
  const auto t = static_cast<DataType>(stash_type);
  const bool known_float =
      stash_type > 0 && stash_type < data_type_count &&
      (t == DataType::float32 || t == DataType::float64 || t == DataType::float16 || t == DataType::bfloat16);
  if (!known_float)
    c.fail(Code::node_bad_attribute, "stash_type 1 (float), 10 (float16), 11 (double) or 16 (bfloat16)",
           std::to_string(stash_type), {});
}

/// X [N, C, …]; scale, B, mean and variance [C]. A vector X has one channel.
struct BatchNormalization {
  float epsilon = 1e-5f, momentum = 0.9f;
  bool training_mode = false;
  void fields(auto&& f) {
    f("epsilon", epsilon);
    f("momentum", momentum);
    f("training_mode", training_mode);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto& x = c.shape(0);
    c.require(!x.empty(), "X of rank 1 or more: [N, C, …]", c.text(x));
    const D channels = x.size() > 1 ? x[1] : D(1);
    const char* names[] = {"scale", "B", "the mean", "the variance"};
    for (size_t i = 1; i <= 4; ++i) require_per_channel(c, i, channels, names[i - 1]);
    if (!training_mode && (c.wants(1) || c.wants(2)))
      c.fail(Code::node_bad_arity, "one output outside training mode", "running_mean or running_var", {});
    c.output(0, x);
    c.output(1, {channels});
    c.output(2, {channels});
  }
};

/// X [N, C, …]: statistics per instance and channel; scale and B [C].
struct InstanceNormalization {
  float epsilon = 1e-5f;
  void fields(auto&& f) { f("epsilon", epsilon); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto& x = c.shape(0);
    c.require(x.size() >= 3, "input of rank 3 or more: [N, C, spatial axes]", c.text(x));
    require_per_channel(c, 1, x[1], "scale");
    require_per_channel(c, 2, x[1], "B");
    c.output(0, x);
  }
};

/// X [N, C, …]: statistics per instance and group of channels; scale and bias [C].
struct GroupNormalization {
  float epsilon = 1e-5f;
  int64_t num_groups = 1, stash_type = 1;
  void fields(auto&& f) {
    f("epsilon", epsilon);
    f("num_groups", num_groups);
    f("stash_type", stash_type);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto& x = c.shape(0);
    c.require(x.size() >= 2, "X of rank 2 or more: [N, C, …]", c.text(x));
    require_stash_type(c, stash_type);
    if (num_groups < 1)
      c.fail(Code::node_bad_attribute, "num_groups of at least 1", std::to_string(num_groups), {});
    const auto channels = known(x[1]);
    c.require(!channels || *channels % num_groups == 0,
              "channels divisible by num_groups " + std::to_string(num_groups), to_text(x[1]));
    require_per_channel(c, 1, x[1], "scale");
    require_per_channel(c, 2, x[1], "bias");
    c.output(0, x);
  }
};

/// Statistics over the axes from `axis` on; Scale and B broadcast to X. Outputs: Y, and Mean and InvStdDev
/// with those axes of size 1.
struct LayerNormalization {
  float epsilon = 1e-5f;
  int64_t axis = -1, stash_type = 1;
  void fields(auto&& f) {
    f("axis", axis);
    f("epsilon", epsilon);
    f("stash_type", stash_type);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto& x = c.shape(0);
    const int64_t first = c.axis(axis, c.rank(0));
    require_stash_type(c, stash_type);
    require_broadcasts_to(c, 1, x);
    if (c.has(2)) require_broadcasts_to(c, 2, x);
    std::vector<D> statistics = x;
    std::fill(statistics.begin() + first, statistics.end(), D(1));
    c.output(0, x);
    c.output(1, statistics);
    c.output(2, statistics);
  }
};

/// X / sqrt(mean(X²) + epsilon) * scale, the mean over the axes from `axis` on.
struct RmsNormalization {
  float epsilon = 1e-5f;
  int64_t axis = -1, stash_type = 1;
  void fields(auto&& f) {
    f("axis", axis);
    f("epsilon", epsilon);
    f("stash_type", stash_type);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.axis(axis, c.rank(0));
    require_stash_type(c, stash_type);
    require_broadcasts_to(c, 1, c.shape(0));
    c.output(0, c.shape(0));
  }
};

/// Divides by a power of the sum of squares over `size` neighboring channels; X [N, C, …].
struct Lrn {
  float alpha = 1e-4f, beta = 0.75f, bias = 1;
  int64_t size = 1;
  void fields(auto&& f) {
    f("alpha", alpha);
    f("beta", beta);
    f("bias", bias);
    f("size", size);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.require(c.rank(0) >= 2, "X of rank 2 or more: [N, C, …]", c.text(c.shape(0)));
    if (size < 1) c.fail(Code::node_bad_attribute, "size of at least 1", std::to_string(size), {});
    c.output(0, c.shape(0));
  }
};

/// Divides by the 1-norm or 2-norm along an axis; if that is 0, the result is 0.
struct LpNormalization {
  int64_t axis = -1, p = 2;
  void fields(auto&& f) {
    f("axis", axis);
    f("p", p);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.axis(axis, c.rank(0));
    if (p != 1 && p != 2) c.fail(Code::node_bad_attribute, "p of 1 or 2", std::to_string(p), {});
    c.output(0, c.shape(0));
  }
};

/// (X - E X) / sqrt(E (X - E X)²) over the axes given.
struct MeanVarianceNormalization {
  std::vector<int64_t> axes{0, 2, 3};
  void fields(auto&& f) { f("axes", axes); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    for (int64_t a : axes) c.axis(a, c.rank(0), "axes");
    c.output(0, c.shape(0));
  }
};

}  // namespace lathe
