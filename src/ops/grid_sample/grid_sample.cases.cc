#include <complex>
#include <limits>

#include "ops/cases.h"

namespace lathe {
namespace {

/// One row of four pixels, sampled along x.
OpCase& grid_case(CaseTable& t, const char* name, std::vector<float> x, std::vector<float> expected) {
  std::vector<float> grid;
  for (float v : x) grid.insert(grid.end(), {v, 0});
  const auto n = static_cast<int64_t>(x.size());
  return t.add("GridSample", name)
      .input<float>({1, 1, 1, 4}, {0, 10, 20, 30})
      .input<float>({1, 1, n, 2}, grid)
      .expect<float>({1, 1, 1, n}, expected);
}

}  // namespace

void cases_grid_sample(CaseTable& t) {
  // Pixel centers are at -0.75, -0.25, 0.25, 0.75; with zeros outside, -1 is half a pixel off.
  grid_case(t, "linear", {-0.75f, 0, 0.25f, -1}, {0, 15, 20, 0});
  grid_case(t, "linear_off_the_right", {1, 1.25f, 5}, {15, 0, 0});
  grid_case(t, "border", {-5, 5}, {0, 30}).attribute("padding_mode", std::string("border"));
  grid_case(t, "reflection", {1.25f, 1.75f, -1.25f}, {30, 20, 0})
      .attribute("padding_mode", std::string("reflection"));
  grid_case(t, "align_corners", {-1, 0, 1}, {0, 15, 30}).attribute("align_corners", int64_t{1});
  grid_case(t, "nearest_ties_to_even", {-0.5f, 0}, {0, 20}).attribute("mode", std::string("nearest"));
  // Weights -0.09375, 0.59375, 0.59375, -0.09375.
  grid_case(t, "cubic", {0}, {15}).attribute("mode", std::string("cubic"));
  // Each neighbor beyond the border is clamped to it, not the position between them.
  grid_case(t, "cubic_border", {-1.125f, 1, 1.3f, -5}, {-0.3515625f, 30.9375f, 30, 0})
      .attribute("mode", std::string("cubic"))
      .attribute("padding_mode", std::string("border"));
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  grid_case(t, "nowhere", {infinity, -infinity, nan}, {0, 0, 0});
  t.add("GridSample", "opset_16")
      .at_opset(16)
      .input<float>({1, 1, 1, 2}, {0, 4})
      .input<float>({1, 1, 1, 2}, {0, 0})
      .attribute("mode", std::string("bilinear"))
      .expect<float>({1, 1, 1, 1}, {2});
  t.add("GridSample", "complex")
      .input<std::complex<double>>({1, 1, 1, 2}, {{0, 2}, {4, 0}})
      .input<double>({1, 1, 1, 2}, {0, 0})
      .expect<std::complex<double>>({1, 1, 1, 1}, {{2, 1}});
  t.add("GridSample", "volume")
      .random(DataType::float32, {2, 3, 4, 5, 6})
      .random(DataType::float32, {2, 3, 3, 3, 3}, -1.2, 1.2);
}

}  // namespace lathe
