#include <complex>

#include "ops/cases.h"

namespace lathe {
namespace {

using Floats = std::vector<float>;

OpCase& resize_case(CaseTable& t, const char* name, const char* mode, Shape from, Floats v, Floats scales) {
  auto& c = t.add("Resize", name);
  c.input<float>(std::move(from), v).absent();
  c.input<float>({static_cast<int64_t>(scales.size())}, scales).as_constant();
  return c.attribute("mode", std::string(mode));
}

}  // namespace

void cases_resize(CaseTable& t) {
  using Complex = std::complex<float>;
  t.add("Resize", "complex, linear")
      .input<Complex>({2}, {{0, 8}, {4, 0}})
      .absent()
      .input<float>({1}, {2})
      .as_constant()
      .attribute("mode", std::string("linear"))
      .expect<Complex>({4}, {{0, 8}, {1, 6}, {3, 2}, {4, 0}});
  t.add("Resize", "bools, linear")
      .input<bool>({2}, {false, true})
      .absent()
      .input<float>({1}, {2})
      .as_constant()
      .attribute("mode", std::string("linear"))
      .expect<bool>({4}, {false, false, true, true});
  resize_case(t, "nearest_doubled", "nearest", {1, 1, 1, 2}, {1, 2}, {1, 1, 2, 2})
      .expect<float>({1, 1, 2, 4}, {1, 1, 2, 2, 1, 1, 2, 2});
  // Coordinates -0.25, 0.25, 0.75, 1.25, the outer ones clamped to the edge.
  resize_case(t, "linear_half_pixel", "linear", {2}, {0, 4}, {2}).expect<float>({4}, {0, 1, 3, 4});
  resize_case(t, "linear_align_corners", "linear", {2}, {0, 3}, {2})
      .attribute("coordinate_transformation_mode", std::string("align_corners"))
      .expect<float>({4}, {0, 1, 2, 3});
  resize_case(t, "linear_asymmetric", "linear", {2}, {0, 4}, {2})
      .attribute("coordinate_transformation_mode", std::string("asymmetric"))
      .expect<float>({4}, {0, 2, 4, 4});
  // Coordinates 0, 2/3, 4/3 and 2, which is a whole number.
  resize_case(t, "nearest_half_pixel_symmetric", "nearest", {3}, {1, 2, 3}, {1.5f})
      .attribute("coordinate_transformation_mode", std::string("half_pixel_symmetric"))
      .attribute("nearest_mode", std::string("floor"))
      .expect<float>({4}, {1, 1, 2, 3});
  Shape axes_of_one(39, 1), many = axes_of_one;
  many.push_back(2);
  Floats scales(39, 1);
  scales.push_back(2);
  Shape doubled = axes_of_one;
  doubled.push_back(4);
  resize_case(t, "linear_many_axes", "linear", many, {0, 4}, scales).expect<float>(doubled, {0, 1, 3, 4});
  // Halfway between two pixels the weights are -0.09375, 0.59375, 0.59375, -0.09375.
  resize_case(t, "cubic_halved", "cubic", {4}, {0, 0, 1, 1}, {0.5f})
      .expect<float>({2}, {-0.09375f, 1.09375f});
  // A triangle of twice the width: weights 1, 3, 3, 1 of 8.
  resize_case(t, "linear_antialias", "linear", {4}, {0, 8, 16, 24}, {0.5f})
      .attribute("antialias", int64_t{1})
      .expect<float>({2}, {5, 19});
  t.add("Resize", "sizes_and_axes")
      .input<int8_t>({1, 2, 1}, {1, 2})
      .absent()
      .absent()
      .input<int64_t>({1}, {4})
      .attribute("axes", std::vector<int64_t>{-2})
      .expect<int8_t>({1, 4, 1}, {1, 1, 2, 2});
  t.add("Resize", "not_larger")
      .input<float>({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})
      .absent()
      .absent()
      .input<int64_t>({2}, {2, 2})
      .as_constant()
      .attribute("axes", std::vector<int64_t>{1, 2})
      .attribute("keep_aspect_ratio_policy", std::string("not_larger"))
      .attribute("coordinate_transformation_mode", std::string("asymmetric"))
      .expect<float>({1, 1, 2}, {1, 3});
  t.add("Resize", "crop")
      .input<float>({4}, {0, 1, 2, 3})
      .input<float>({2}, {0.5f, 1.5f})
      .absent()
      .input<int64_t>({1}, {3})
      .attribute("mode", std::string("linear"))
      .attribute("coordinate_transformation_mode", std::string("tf_crop_and_resize"))
      .attribute("extrapolation_value", -1.0f)
      .expect<float>({3}, {1.5f, 3, -1});
  t.add("Resize", "opset_10")
      .at_opset(10)
      .input<float>({1, 3}, {1, 2, 3})
      .input<float>({2}, {1, 2})
      .as_constant()
      .expect<float>({1, 6}, {1, 1, 2, 2, 3, 3});
  t.add("Upsample", "opset_9")
      .at_opset(9)
      .input<float>({1, 2}, {1, 2})
      .input<float>({2}, {2, 1})
      .as_constant()
      .expect<float>({2, 2}, {1, 2, 1, 2});
  t.add("Upsample", "opset_7_linear")
      .at_opset(7)
      .input<float>({2}, {0, 4})
      .attribute("scales", Floats{2})
      .attribute("mode", std::string("linear"))
      .expect<float>({4}, {0, 2, 4, 4});
  auto& image = t.add("Resize", "image");
  image.random(DataType::float32, {1, 32, 40, 40}).absent();
  image.input<float>({4}, {1, 1, 2, 2}).as_constant();
  image.attribute("mode", std::string("linear"));
}

}  // namespace lathe
