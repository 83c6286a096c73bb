#include "verify/sums.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "cpu/gemm.h"

namespace lathe {
namespace {

/// Roundings of the largest magnitudes that a sum may lose, of half a unit in the last place of float32 each.
constexpr double product_error = 1024 * 0x1p-24;
/// The rounding errors of the finished sum and of additions to it.
constexpr double epilogue_error = 4 * 0x1p-24;
/// The error where products are denormal.
constexpr double lost_to_underflow = 0x1p-120;
/// Pixels beside a window that a tile of its image may hold; rows that a tile of a product may hold.
constexpr int64_t pixels_beside = 3, rows_of_tile = 28;

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }
double magnitude(float x) { return std::isfinite(x) ? std::abs(static_cast<double>(x)) : 0; }

/// One node with its operands.
struct ProductOperands {
  const Node& node;
  std::vector<const Tensor*> in;

  ProductOperands(const Graph& graph, const Node& n, std::span<const Value> inputs) : node(n) {
    for (ValueId v : n.inputs) {
      const Tensor* t = v == no_id ? nullptr : graph.constant_tensor(v);
      const auto at = std::ranges::find(graph.inputs(), v);
      if (!t && at != graph.inputs().end()) {
        const Value& given = inputs[static_cast<size_t>(at - graph.inputs().begin())];
        if (given.is_tensor()) t = &given.tensor();
      }
      in.push_back(t);
    }
  }
  const Tensor* operator[](size_t i) const { return i < in.size() ? in[i] : nullptr; }
  bool are_floats() const {
    return std::ranges::all_of(in, [](const Tensor* t) { return !t || t->type() == DataType::float32; });
  }
};

/// A matrix of magnitudes.
struct Magnitudes {
  int64_t rows = 0, columns = 0;
  std::vector<double> data;

  Magnitudes(int64_t r, int64_t c) : rows(r), columns(c), data(static_cast<size_t>(r * c)) {}
  double& at(int64_t i, int64_t j) { return data[static_cast<size_t>(i * columns + j)]; }
  double at(int64_t i, int64_t j) const { return data[static_cast<size_t>(i * columns + j)]; }

  /// Returns the largest magnitudes of each `together` rows; with neighbors, also of the rows before and
  /// behind.
  Magnitudes largest_of_rows(int64_t together, bool with_neighbors) const {
    const int64_t groups = (rows + together - 1) / together;
    Magnitudes most(groups, columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t g = i / together - (with_neighbors ? 1 : 0); g <= i / together + (with_neighbors ? 1 : 0);
           ++g)
        for (int64_t j = 0; g >= 0 && g < groups && j < columns; ++j)
          most.at(g, j) = std::max(most.at(g, j), at(i, j));
    return most;
  }
};

/// Sums over terms of the largest |a| of the rows that may be in a tile, times the largest |b| of two panels;
/// `a` has a row of terms for each row of the product, `b` one for each column.
Magnitudes sums_of_largest(const Magnitudes& a, const Magnitudes& b, Isa isa) {
  const int64_t panels = 2 * cpu::gemm_kernels(isa).NR;
  const Magnitudes tiles = a.largest_of_rows(rows_of_tile, true), pairs = b.largest_of_rows(panels, false);
  Magnitudes of_pairs(tiles.rows, pairs.rows), sums(a.rows, b.rows);
  for (int64_t i = 0; i < tiles.rows; ++i)
    for (int64_t j = 0; j < pairs.rows; ++j)
      for (int64_t k = 0; k < a.columns; ++k) of_pairs.at(i, j) += tiles.at(i, k) * pairs.at(j, k);
  for (int64_t i = 0; i < sums.rows; ++i)
    for (int64_t j = 0; j < sums.columns; ++j) sums.at(i, j) = of_pairs.at(i / rows_of_tile, j / panels);
  return sums;
}

/// Returns the magnitudes of a matrix in the last two axes, transposed or not.
Magnitudes matrix(const Tensor& t, bool transposed) {
  const int64_t inner = t.dim(t.rank() - 1), outer = inner > 0 ? t.size() / inner : 0;
  Magnitudes m(transposed ? inner : outer, transposed ? outer : inner);
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = 0; j < inner; ++j)
      (transposed ? m.at(j, i) : m.at(i, j)) = magnitude(t.as<float>()[static_cast<size_t>(i * inner + j)]);
  return m;
}

std::vector<double> of_product(const ProductOperands& o, Isa isa) {
  const Tensor *a = o[0], *b = o[1];
  if (!a || !b || a->rank() < 2 || b->rank() != 2) return {};
  const bool gemm = o.node.op == "Gemm";
  const auto flag = [&](const char* name) { return gemm && o.node.attributes.get<int64_t>(name, 0) != 0; };
  const double alpha = gemm ? o.node.attributes.get<float>("alpha", 1) : 1;
  Magnitudes sums = sums_of_largest(matrix(*a, flag("transA")), matrix(*b, !flag("transB")), isa);
  for (double& s : sums.data) s *= std::abs(alpha);
  return std::move(sums.data);
}

/// A convolution over two axes of one group.
struct Window {
  int64_t batch = 0, channels = 0, filters = 0;
  int64_t in[2] = {}, out[2] = {}, kernel[2] = {}, stride[2] = {}, dilation[2] = {}, pad[2] = {};

  /// Returns nothing if the node is no such convolution.
  static std::optional<Window> of(const ProductOperands& o, const Tensor& y) {
    const Tensor *x = o[0], *w = o[1];
    if (!x || !w || x->rank() != 4 || w->rank() != 4 || o.node.attributes.get<int64_t>("group", 1) != 1)
      return std::nullopt;
    Window s;
    s.batch = x->dim(0), s.channels = x->dim(1), s.filters = w->dim(0);
    const auto list = [&](const char* name, int64_t otherwise, size_t n) {
      auto v = o.node.attributes.get<std::vector<int64_t>>(name, {});
      v.resize(n, otherwise);
      return v;
    };
    const auto strides = list("strides", 1, 2), dilations = list("dilations", 1, 2),
               pads = list("pads", 0, 4);
    const auto automatic = o.node.attributes.get<std::string>("auto_pad", "NOTSET");
    for (size_t a : {0, 1}) {
      s.in[a] = x->dim(a + 2), s.out[a] = y.dim(a + 2), s.kernel[a] = w->dim(a + 2);
      s.stride[a] = strides[a], s.dilation[a] = dilations[a], s.pad[a] = pads[a];
      const int64_t all = (s.out[a] - 1) * s.stride[a] + (s.kernel[a] - 1) * s.dilation[a] + 1 - s.in[a];
      if (automatic == "SAME_UPPER") s.pad[a] = std::max<int64_t>(all, 0) / 2;
      if (automatic == "SAME_LOWER") s.pad[a] = (std::max<int64_t>(all, 0) + 1) / 2;
    }
    return s;
  }
  int64_t in_pixels() const { return in[0] * in[1]; }
  int64_t out_pixels() const { return out[0] * out[1]; }
  int64_t taps() const { return kernel[0] * kernel[1]; }
};

/// The largest of each window of a plane, with so many pixels around it.
Magnitudes largest_of_windows(const Window& s, const Magnitudes& plane, int64_t beside) {
  const auto first = [&](int a, int64_t i) { return std::max<int64_t>(0, i - s.pad[a] - beside); };
  const auto end = [&](int a, int64_t i) { return std::min(s.in[a], i - s.pad[a] + s.kernel[a] + beside); };
  Magnitudes across(s.in[0], s.out[1]), most(s.out[0], s.out[1]);
  for (int64_t y = 0; y < s.in[0]; ++y)
    for (int64_t j = 0; j < s.out[1]; ++j)
      for (int64_t x = first(1, j); x < end(1, j); ++x)
        across.at(y, j) = std::max(across.at(y, j), plane.at(y, x));
  for (int64_t i = 0; i < s.out[0]; ++i)
    for (int64_t j = 0; j < s.out[1]; ++j)
      for (int64_t y = first(0, i); y < end(0, i); ++y)
        most.at(i, j) = std::max(most.at(i, j), across.at(y, j));
  return most;
}

/// The lesser of two bounds: the sum over channels of the largest |x| of the window and of its neighbors,
/// times those of |w|; and the largest |x| of the window itself, of all channels, times all |w|.
std::vector<double> of_winograd(const Window& s, const Tensor& x, const Tensor& w) {
  Magnitudes weights(s.filters, s.channels);
  for (int64_t i = 0; i < w.size(); ++i)
    weights.data[static_cast<size_t>(i / s.taps())] += magnitude(w.as<float>()[static_cast<size_t>(i)]);
  std::vector<double> all_weights(static_cast<size_t>(s.filters));
  for (int64_t m = 0; m < s.filters; ++m)
    for (int64_t c = 0; c < s.channels; ++c) all_weights[static_cast<size_t>(m)] += weights.at(m, c);
  std::vector<double> bounds(static_cast<size_t>(s.batch * s.filters * s.out_pixels()));
  for (int64_t n = 0; n < s.batch; ++n) {
    double* const of_image = bounds.data() + n * s.filters * s.out_pixels();
    Magnitudes pixels(s.in[0], s.in[1]);  // of all channels
    for (int64_t c = 0; c < s.channels; ++c) {
      Magnitudes plane(s.in[0], s.in[1]);
      for (int64_t i = 0; i < s.in_pixels(); ++i) {
        const auto at = static_cast<size_t>(i);
        plane.data[at] =
            magnitude(x.as<float>()[static_cast<size_t>((n * s.channels + c) * s.in_pixels() + i)]);
        pixels.data[at] = std::max(pixels.data[at], plane.data[at]);
      }
      const Magnitudes most = largest_of_windows(s, plane, pixels_beside);
      for (int64_t m = 0; m < s.filters; ++m)
        for (int64_t i = 0; i < s.out_pixels(); ++i)
          of_image[m * s.out_pixels() + i] += most.data[static_cast<size_t>(i)] * weights.at(m, c);
    }
    const Magnitudes own = largest_of_windows(s, pixels, 0);
    for (int64_t m = 0; m < s.filters; ++m)
      for (int64_t i = 0; i < s.out_pixels(); ++i) {
        double& bound = of_image[m * s.out_pixels() + i];
        bound = std::min(bound, own.data[static_cast<size_t>(i)] * all_weights[static_cast<size_t>(m)]);
      }
  }
  return bounds;
}

/// Pixels are the rows of a product, what windows see its terms.
std::vector<double> of_pixels(const Window& s, const Tensor& x, const Tensor& w, Isa isa) {
  const int64_t terms = s.channels * s.taps();
  Magnitudes b(s.filters, terms);
  for (int64_t i = 0; i < w.size(); ++i)
    b.data[static_cast<size_t>(i)] = magnitude(w.as<float>()[static_cast<size_t>(i)]);
  std::vector<double> bounds(static_cast<size_t>(s.batch * s.filters * s.out_pixels()));
  for (int64_t n = 0; n < s.batch; ++n) {
    Magnitudes a(s.out_pixels(), terms);
    for (int64_t p = 0; p < a.rows; ++p)
      for (int64_t k = 0; k < terms; ++k) {
        const int64_t tap = k % s.taps();
        const int64_t y = p / s.out[1] * s.stride[0] - s.pad[0] + tap / s.kernel[1] * s.dilation[0],
                      column = p % s.out[1] * s.stride[1] - s.pad[1] + tap % s.kernel[1] * s.dilation[1];
        if (y < 0 || y >= s.in[0] || column < 0 || column >= s.in[1]) continue;
        const int64_t plane = n * s.channels + k / s.taps();
        a.at(p, k) = magnitude(x.as<float>()[static_cast<size_t>((plane * s.in[0] + y) * s.in[1] + column)]);
      }
    const Magnitudes sums = sums_of_largest(a, b, isa);
    for (int64_t m = 0; m < s.filters; ++m)
      for (int64_t p = 0; p < a.rows; ++p)
        bounds[static_cast<size_t>((n * s.filters + m) * a.rows + p)] = sums.at(p, m);
  }
  return bounds;
}

}  // namespace

bool sums_operands(std::string_view kernel) {
  // Sums of bytes are exact.
  return has(kernel, "strassen") || (has(kernel, "winograd") && !has(kernel, "byte"));
}

std::string fast_kernel(const std::vector<StepInfo>& steps, std::string_view node) {
  for (const StepInfo& s : steps) {
    if (!sums_operands(s.kernel)) continue;
    if (node.empty() || s.node == node || std::ranges::find(s.origin, node) != s.origin.end())
      return s.kernel;
  }
  return {};
}

std::vector<double> bounds_of_sums(const Graph& graph, std::string_view kernel, std::span<const Value> inputs,
                                   const Value& want, Isa isa) {
  const std::vector<NodeId> nodes = graph.order();
  if (!sums_operands(kernel) || nodes.size() != 1 || !want.is_tensor()) return {};
  const Node& n = graph.node(nodes[0]);
  const ProductOperands o(graph, n, inputs);
  if (!n.domain.empty() || !o.are_floats() || want.tensor().type() != DataType::float32) return {};
  std::vector<double> bounds;
  if (n.op == "MatMul" || n.op == "Gemm") {
    bounds = of_product(o, isa);
  } else if (n.op == "Conv") {
    if (const auto s = Window::of(o, want.tensor()))
      bounds = has(kernel, "winograd") ? of_winograd(*s, *o[0], *o[1]) : of_pixels(*s, *o[0], *o[1], isa);
  }
  if (bounds.size() != static_cast<size_t>(want.tensor().size())) return {};
  double added = 0;
  if (const Tensor* bias = o[2])
    for (const float x : bias->as<float>()) added = std::max(added, magnitude(x));
  if (n.op == "Gemm") added *= std::abs(n.attributes.get<float>("beta", 1));
  for (size_t i = 0; i < bounds.size(); ++i)
    bounds[i] = product_error * bounds[i] +
                epilogue_error * (magnitude(want.tensor().as<float>()[i]) + added) + lost_to_underflow;
  return bounds;
}

}  // namespace lathe
