// Resize: samples a tensor on another grid, axis by axis.
#pragma once

#include <cmath>

#include "ops/shape_inputs.h"
#include "tensor/attributes.h"

namespace lathe {

/// The sizes and scales of a Resize, by axis of the input.
struct ResizeGrid {
  Shape size;  // of the output
  InlineVector<float, 6> scale;
  InlineVector<float, 6> length;  // of the output, before it was rounded to a size
};

struct Resize {
  int64_t antialias = 0;
  std::optional<std::vector<int64_t>> axes;
  std::string coordinate_transformation_mode = "half_pixel";
  float cubic_coeff_a = -0.75f;
  bool exclude_outside = false;
  float extrapolation_value = 0;
  std::string keep_aspect_ratio_policy = "stretch";
  std::string mode = "nearest";
  std::string nearest_mode = "round_prefer_floor";
  void fields(auto&& f) {
    f("antialias", antialias);
    f("axes", axes);
    f("coordinate_transformation_mode", coordinate_transformation_mode);
    f("cubic_coeff_a", cubic_coeff_a);
    f("exclude_outside", exclude_outside);
    f("extrapolation_value", extrapolation_value);
    f("keep_aspect_ratio_policy", keep_aspect_ratio_policy);
    f("mode", mode);
    f("nearest_mode", nearest_mode);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    check_words();
    if (mode != "nearest" && c.type(0) == DataType::string)
      c.fail(Code::node_bad_type, "numbers where mode is " + mode, "strings", "choose mode nearest");
    const Shape which = resized_axes(c.rank(0));
    const size_t source = measure(c);
    std::vector<D> out = c.shape(0);
    if (source == 0) {
      for (int64_t a : which) {
        const auto size = c.data_dependent();
        if (!size) return;
        out[static_cast<size_t>(a)] = *size;
      }
      return c.output(0, std::move(out));
    }
    const bool by_sizes = source == 3;
    c.require(c.rank(source) == 1, "scales and sizes of rank 1", "rank " + std::to_string(c.rank(source)));
    c.same(c.shape(source)[0], D(static_cast<int64_t>(which.size())),
           "the number of scales or sizes and of axes");
    if (const auto grid = in_numbers(c, by_sizes)) {
      for (size_t a = 0; a < out.size(); ++a) out[a] = D(grid->size[a]);
      return c.output(0, std::move(out));
    }
    const auto* sizes = by_sizes && keep_aspect_ratio_policy == "stretch" ? c.values(3) : nullptr;
    const Tensor* scales = by_sizes ? nullptr : c.constant(2);
    for (size_t i = 0; i < which.size(); ++i) {
      D& d = out[static_cast<size_t>(which[i])];
      auto size = sizes    ? std::optional((*sizes)[i])
                  : scales ? scaled(d, scales->as<float>()[i])
                           : std::nullopt;
      if (!size) size = c.data_dependent();
      if (!size) return;
      d = *size;
    }
    c.output(0, std::move(out));
  }

  /// The axes that scales, sizes and roi speak of, in their order.
  Shape resized_axes(int64_t rank) const;
  /// Sizes and scales for an input of known shape; if `scales` is null, `sizes` count.
  ResizeGrid grid(std::span<const int64_t> in, const Tensor* scales, std::span<const int64_t> sizes) const;

 private:
  void check_words() const;
  /// The input with the sizes: 2, scales, or 3, sizes; the other is left out or empty. 0 if only a run knows.
  template <class D>
  static size_t measure(const ShapeContext<D>& c) {
    enum class Given : uint8_t { no, perhaps, yes };
    const auto given = [&](size_t i) {
      if (!c.has(i)) return Given::no;
      if (c.rank(i) != 1) return Given::yes;
      const auto count = known(c.shape(i)[0]);
      return !count ? Given::perhaps : *count ? Given::yes : Given::no;
    };
    const Given scales = given(2), sizes = given(3);
    c.require(scales != sizes || scales == Given::perhaps, "either scales or sizes",
              scales == Given::yes ? "both" : "neither");
    return scales == sizes ? 0 : scales > sizes ? 2 : 3;
  }
  template <class D>
  std::optional<ResizeGrid> in_numbers(const ShapeContext<D>& c, bool by_sizes) const {
    std::vector<int64_t> in;
    for (const D& d : c.shape(0)) {
      const auto n = known(d);
      if (!n) return std::nullopt;
      in.push_back(*n);
    }
    if (by_sizes) {
      const auto sizes = c.numbers(3);
      return sizes ? std::optional(grid(in, nullptr, *sizes)) : std::nullopt;
    }
    return c.constant(2) ? std::optional(grid(in, c.constant(2), {})) : std::nullopt;
  }
  /// floor(size · scale), for scales that are fractions of a small power of two.
  template <class D>
  static std::optional<D> scaled(const D& size, float scale) {
    for (int64_t q = 1; q <= 64; q *= 2)
      if (const float p = scale * static_cast<float>(q); p == std::floor(p) && p > 0 && p < 1e6f)
        return floor_div(times(size, D(static_cast<int64_t>(p))), D(q));
    return std::nullopt;
  }
};

inline void Resize::check_words() const {
  const auto one_of = [](const std::string& word, std::initializer_list<const char*> allowed,
                         const char* name) {
    std::string list;
    for (const char* a : allowed) {
      if (word == a) return;
      list += (list.empty() ? "" : ", ") + std::string(a);
    }
    throw Error(Code::node_bad_attribute, "infer", std::string(name) + " among " + list, word);
  };
  one_of(mode, {"nearest", "linear", "cubic"}, "mode");
  one_of(nearest_mode, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}, "nearest_mode");
  one_of(keep_aspect_ratio_policy, {"stretch", "not_larger", "not_smaller"}, "keep_aspect_ratio_policy");
  one_of(coordinate_transformation_mode,
         {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
          "tf_crop_and_resize", "tf_half_pixel_for_nn"},
         "coordinate_transformation_mode");
}

inline Shape Resize::resized_axes(int64_t rank) const {
  Shape which;
  if (!axes) {
    for (int64_t a = 0; a < rank; ++a) which.push_back(a);
    return which;
  }
  for (int64_t a : *axes) {
    const int64_t at = a < 0 ? a + rank : a;
    if (a < -rank || a >= rank || std::find(which.begin(), which.end(), at) != which.end())
      throw Error(Code::node_bad_attribute, "infer",
                  "axes in [" + std::to_string(-rank) + ", " + std::to_string(rank) + "), each once",
                  std::to_string(a));
    which.push_back(at);
  }
  return which;
}

inline ResizeGrid Resize::grid(std::span<const int64_t> in, const Tensor* scales,
                               std::span<const int64_t> sizes) const {
  const Shape which = resized_axes(static_cast<int64_t>(in.size()));
  const auto count = scales ? scales->size() : static_cast<int64_t>(sizes.size());
  if (count != static_cast<int64_t>(which.size()))
    throw Error(Code::node_bad_shape, "infer", std::to_string(which.size()) + " scales or sizes",
                std::to_string(count));
  ResizeGrid g{Shape(in), InlineVector<float, 6>(in.size(), 1.0f), {}};
  for (int64_t n : in) g.length.push_back(static_cast<float>(n));
  // One scale for all axes, the one that keeps within the sizes or fills them.
  std::optional<float> common;
  for (size_t i = 0; i < which.size(); ++i) {
    const auto a = static_cast<size_t>(which[i]);
    if (scales) {
      const float s = scales->as<float>()[i], length = s * static_cast<float>(in[a]);
      // In single precision, as in other runtimes, as long as it holds every size.
      const double size = in[a] <= exact_integers(DataType::float32)
                              ? static_cast<double>(length)
                              : static_cast<double>(s) * static_cast<double>(in[a]);
      if (!(s > 0) || !(size < 9e18))
        throw Error(Code::node_bad_value, "infer", "scales above 0", std::to_string(s));
      g.scale[a] = s;
      g.length[a] = length;
      g.size[a] = static_cast<int64_t>(size);
    } else {
      const int64_t size = sizes[i];
      if (size < 0 || (in[a] == 0 && size > 0))
        throw Error(Code::node_bad_value, "infer", "sizes of 0 or more, 0 for an axis of size 0",
                    std::to_string(size));
      g.size[a] = size;
      g.length[a] = static_cast<float>(size);
      g.scale[a] = in[a] ? static_cast<float>(size) / static_cast<float>(in[a]) : 1.0f;
      if (in[a] && keep_aspect_ratio_policy != "stretch")
        common = !common                                    ? g.scale[a]
                 : keep_aspect_ratio_policy == "not_larger" ? std::min(*common, g.scale[a])
                                                            : std::max(*common, g.scale[a]);
    }
  }
  if (common)
    for (int64_t axis : which) {
      const auto a = static_cast<size_t>(axis);
      const float size = std::floor(*common * static_cast<float>(in[a]) + 0.5f);
      if (!(size < 9e18f))
        throw Error(Code::node_bad_value, "infer", "sizes that fit 63 bits", std::to_string(size));
      g.scale[a] = *common;
      g.length[a] = *common * static_cast<float>(in[a]);
      g.size[a] = static_cast<int64_t>(size);
    }
  return g;
}

}  // namespace lathe
