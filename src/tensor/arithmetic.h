// How much arithmetic an operator does at given shapes. Written once over the dimension type, like the shape
// rules: Dim for what `inspect` says of a model, double for what a profile says of a run.
//
// Two for every term that a contraction sums, one for every element that other arithmetic makes (or a
// reduction reads), nothing for movement, comparison and logic.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/dim.h"
#include "tensor/attributes.h"

namespace lathe {

/// Which of an operator's sizes its arithmetic follows.
enum class Arithmetic : uint8_t { none, per_output, per_input, contraction };
inline constexpr int arithmetic_kinds = 4;

/// The shapes of an operator's operands. Null: absent, no tensor, or of unknown shape.
template <class D>
struct OperandShapes {
  std::span<const std::vector<D>* const> inputs;
  std::span<const std::vector<D>* const> outputs;  // tensors that somebody wants
};

namespace counting {

/// Thrown inside this header only: a shape that the count needs is not known.
struct Unknown {};

template <class D>
const std::vector<D>& at(std::span<const std::vector<D>* const> shapes, size_t i) {
  if (i >= shapes.size() || !shapes[i]) throw Unknown{};
  return *shapes[i];
}

template <class D>
D product(const std::vector<D>& shape, size_t from = 0) {
  D n = 1;
  for (size_t i = from; i < shape.size(); ++i) n = n * shape[i];
  if constexpr (std::is_same_v<D, Dim>)
    if (n.has_unknown()) throw Unknown{};
  return n;
}

template <class D>
D output_elements(const OperandShapes<D>& s) {
  D sum = 0;
  for (size_t i = 0; i < s.outputs.size(); ++i) sum = sum + product(at(s.outputs, i));
  return sum;
}

template <class D>
D matrix_product(const Attributes&, const OperandShapes<D>& s) {
  const auto& a = at(s.inputs, 0);
  if (a.empty()) throw Unknown{};
  return D(2) * output_elements(s) * a.back();
}

template <class D>
D gemm(const Attributes& attributes, const OperandShapes<D>& s) {
  const auto& a = at(s.inputs, 0);
  if (a.size() != 2) throw Unknown{};
  return D(2) * output_elements(s) * a[attributes.get<int64_t>("transA", 0) != 0 ? 0 : 1];
}

/// Every output element sums over one filter [M, C/group, k…].
template <class D, size_t weights>
D convolution(const Attributes&, const OperandShapes<D>& s) {
  return D(2) * output_elements(s) * product(at(s.inputs, weights), 1);
}

/// The same where the output is [N, blocks, out…, lanes]: lanes beyond the last channel do not count.
template <class D, size_t weights>
D blocked_convolution(const Attributes&, const OperandShapes<D>& s) {
  const auto &w = at(s.inputs, weights), &y = at(s.outputs, 0);
  if (y.size() < 3) throw Unknown{};
  D points = y[0];
  for (size_t i = 2; i + 1 < y.size(); ++i) points = points * y[i];
  return D(2) * points * product(w);
}

/// Two in one, the second depthwise and of everything that the first one makes; of a pool nothing counts.
template <class D>
D blocked_pair(const Attributes& attributes, const OperandShapes<D>& s) {
  if constexpr (!std::is_same_v<D, double>) {
    throw Unknown{};  // in plans only, whose shapes are numbers
  } else {
    using Ints = std::vector<int64_t>;
    const auto &x = at(s.inputs, 0), &w = at(s.inputs, 1);
    if (w.size() < 3 || x.size() < w.size()) throw Unknown{};
    const auto number = [&](const char* name, size_t i, double otherwise) {
      const Ints list = attributes.get<Ints>(name, {});
      return i < list.size() ? static_cast<double>(list[i]) : otherwise;
    };
    const size_t spatial = w.size() - 2;
    double points = x[0];
    for (size_t i = 0; i < spatial; ++i) {
      const double reach = (w[i + 2] - 1) * number("dilations", i, 1) + 1,
                   padded = x[i + 2] + number("pads", i, 0) + number("pads", spatial + i, 0);
      points *= std::floor((padded - reach) / number("strides", i, 1)) + 1;
    }
    const bool pools = !attributes.get<Ints>("pool_shape", {}).empty();
    return 2 * points * product(w) + (pools ? 0 : blocked_convolution<D, 3>(attributes, s));
  }
}

/// Every input element meets one filter [C, M/group, k…].
template <class D>
D transposed_convolution(const Attributes&, const OperandShapes<D>& s) {
  return D(2) * product(at(s.inputs, 0)) * product(at(s.inputs, 1), 1);
}

/// Both matrices, for every step of every sequence.
template <class D>
D recurrent(const Attributes&, const OperandShapes<D>& s) {
  const auto& x = at(s.inputs, 0);
  if (x.size() != 3) throw Unknown{};
  return D(2) * x[0] * x[1] * (product(at(s.inputs, 1)) + product(at(s.inputs, 2)));
}

/// Scores and their sums of V, for every pair of a query and a key: masks and causality save nothing here.
/// Y is like Q with V's head size; keys are those of the past and K's own.
template <class D>
D attention(const Attributes& attributes, const OperandShapes<D>& s) {
  const auto &q = at(s.inputs, 0), &k = at(s.inputs, 1), &y = at(s.outputs, 0);
  if (q.size() < 3 || q.size() > 4 || k.size() != q.size()) throw Unknown{};
  D keys = k[k.size() - 2];
  if (s.inputs.size() > 4 && s.inputs[4]) keys = keys + at(s.inputs, 4).at(2);
  return D(2) * keys * (product(q) + product(y));
}

/// One term for every combination of the letters.
template <class D>
D einsum(const Attributes& attributes, const OperandShapes<D>& s) {
  std::map<char, D> sizes;
  size_t input = 0, axis = 0;
  for (char c : attributes.get<std::string>("equation", "")) {
    if (c == '.') throw Unknown{};
    if (c == '-') break;
    if (c == ',') {
      ++input;
      axis = 0;
    } else if (c != ' ') {
      const auto& shape = at(s.inputs, input);
      if (axis >= shape.size()) throw Unknown{};
      sizes[c] = shape[axis++];
    }
  }
  D terms = 2;
  for (const auto& [letter, size] : sizes) terms = terms * size;
  return terms;
}

template <class D>
using Count = D (*)(const Attributes&, const OperandShapes<D>&);

/// What the general rule cannot know: operators whose terms do not show in the size of their outputs. Null
/// for others.
template <class D>
Count<D> contraction(std::string_view op) {
  static const std::map<std::string_view, Count<D>> counts = {
      {"Attention", attention<D>},
      {"BlockedByteConv", blocked_convolution<D, 3>},
      {"BlockedConv", blocked_convolution<D, 1>},
      {"BlockedConvPair", blocked_pair<D>},
      {"Conv", convolution<D, 1>},
      {"ConvInteger", convolution<D, 1>},
      {"ConvTranspose", transposed_convolution<D>},
      {"Einsum", einsum<D>},
      {"FewBitsMatMul", matrix_product<D>},
      {"GRU", recurrent<D>},
      {"Gemm", gemm<D>},
      {"LSTM", recurrent<D>},
      {"MatMul", matrix_product<D>},
      {"MatMulInteger", matrix_product<D>},
      {"NarrowBlockedConv", blocked_convolution<D, 1>},
      {"NarrowMatMul", matrix_product<D>},
      {"QLinearConv", convolution<D, 3>},
      {"QLinearMatMul", matrix_product<D>},
      {"RNN", recurrent<D>},
      {"ScaledMatMulInteger", matrix_product<D>},
  };
  const auto found = counts.find(op);
  return found == counts.end() ? nullptr : found->second;
}

}  // namespace counting

inline bool is_contraction(std::string_view op) { return counting::contraction<double>(op) != nullptr; }

/// Operations of one execution; nothing where a shape that the count needs is not known.
template <class D>
std::optional<D> count_arithmetic(Arithmetic kind, std::string_view op, const Attributes& attributes,
                                  const OperandShapes<D>& shapes) {
  try {
    switch (kind) {
      case Arithmetic::none:
        break;
      case Arithmetic::per_output:
        return counting::output_elements(shapes);
      case Arithmetic::per_input:
        return counting::product(counting::at(shapes.inputs, 0));
      case Arithmetic::contraction:
        if (const auto count = counting::contraction<D>(op)) return count(attributes, shapes);
        break;
    }
    return D(0);
  } catch (const counting::Unknown&) {
    return std::nullopt;
  }
}

}  // namespace lathe
