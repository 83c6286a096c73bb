// Einsum: a sum of products over named axes, "bij,bjk->bik".
#pragma once

#include <algorithm>
#include <array>
#include <map>

#include "tensor/arithmetic.h"
#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// An equation with its letters numbered: output axes first, then those that are summed over.
struct EinsumPlan {
  std::vector<std::vector<int>> terms;  // per input: the number of each axis
  int output_axes = 0;                  // numbers [0, output_axes) are the axes of the output, in order
  int axes = 0;                         // the number of different axes
};

struct Einsum {
  std::string equation;
  void fields(auto&& f) { f("equation", equation); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<size_t> ranks;
    for (size_t i = 0; i < c.inputs(); ++i) ranks.push_back(c.shape(i).size());
    const EinsumPlan plan = parse(ranks);
    std::vector<D> sizes(static_cast<size_t>(plan.axes), D(1));
    std::vector<bool> met(sizes.size(), false);
    for (size_t i = 0; i < plan.terms.size(); ++i)
      for (size_t k = 0; k < plan.terms[i].size(); ++k) {
        const auto axis = static_cast<size_t>(plan.terms[i][k]);
        const D& size = c.shape(i)[k];
        if (!met[axis]) {
          sizes[axis] = size;
        } else {
          // The specification requires equal sizes; NumPy and ONNX Runtime let a size of 1 stretch.
          const auto both = broadcast(sizes[axis], size);
          c.require(both.has_value(), "axes of one letter to be equal in \"" + equation + "\"",
                    to_text(sizes[axis]) + " and " + to_text(size));
          sizes[axis] = *both;
        }
        met[axis] = true;
      }
    sizes.resize(static_cast<size_t>(plan.output_axes));
    c.output(0, std::move(sizes));
  }

  /// One term for every combination of the letters.
  template <class D>
  D operations(const OperandShapes<D>& s) const {
    std::map<char, D> sizes;
    size_t input = 0, axis = 0;
    for (char c : equation) {
      if (c == '.') throw counting::Unknown{};
      if (c == '-') break;
      if (c == ',') {
        ++input;
        axis = 0;
      } else if (c != ' ') {
        const auto& shape = counting::at(s.inputs, input);
        if (axis >= shape.size()) throw counting::Unknown{};
        sizes[c] = shape[axis++];
      }
    }
    D terms = 2;
    for (const auto& [letter, size] : sizes) terms = terms * size;
    return terms;
  }

  /// Throws node_bad_attribute for an equation that makes no sense, or not for inputs of these ranks.
  EinsumPlan parse(const std::vector<size_t>& ranks) const;

 private:
  [[noreturn]] void fail(std::string expected, std::string got) const {
    throw Error(Code::node_bad_attribute, "infer", std::move(expected),
                std::move(got) + " in equation \"" + equation + "\"");
  }
  struct Term {
    std::string letters;
    size_t ellipsis = std::string::npos;  // index of the letter that it precedes
  };
  Term parse_term(std::string_view text) const;
};

inline Einsum::Term Einsum::parse_term(std::string_view text) const {
  Term t;
  for (size_t i = 0; i < text.size(); ++i) {
    const char ch = text[i];
    if (ch == ' ') continue;
    if (ch == '.') {
      if (text.substr(i, 3) != "..." || t.ellipsis != std::string::npos)
        fail("at most one \"...\" a term", "\".\"");
      t.ellipsis = t.letters.size();
      i += 2;
    } else if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')) {
      t.letters += ch;
    } else {
      fail("letters, \"...\", \",\" and \"->\"", "'" + std::string(1, ch) + "'");
    }
  }
  return t;
}

inline EinsumPlan Einsum::parse(const std::vector<size_t>& ranks) const {
  const size_t arrow = equation.find("->");
  std::vector<Term> terms;
  for (std::string_view rest = std::string_view(equation).substr(0, arrow);;) {
    const size_t comma = rest.find(',');
    terms.push_back(parse_term(rest.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (terms.size() != ranks.size())
    fail(std::to_string(ranks.size()) + " terms, one for each input", std::to_string(terms.size()));

  // The number of axes of an ellipsis: the most that any input has.
  size_t extra = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const size_t named = terms[i].letters.size();
    if (ranks[i] < named || (ranks[i] > named && terms[i].ellipsis == std::string::npos))
      fail(std::to_string(ranks[i]) + " letters for input " + std::to_string(i), std::to_string(named));
    extra = std::max(extra, ranks[i] - named);
  }

  Term output;
  if (arrow != std::string::npos) {
    output = parse_term(std::string_view(equation).substr(arrow + 2));
  } else {
    std::array<int, 128> count{};
    for (const Term& t : terms)
      for (char letter : t.letters) ++count[static_cast<size_t>(letter)];
    for (char letter = 'A'; letter <= 'z'; ++letter)
      if (count[static_cast<size_t>(letter)] == 1) output.letters += letter;
    output.ellipsis = 0;
  }

  EinsumPlan plan;
  std::array<int, 128> number;
  number.fill(-1);
  const bool keeps_ellipsis = output.ellipsis != std::string::npos;
  int first_extra = -1;
  for (size_t k = 0; k <= output.letters.size(); ++k) {
    if (keeps_ellipsis && k == output.ellipsis) {
      first_extra = plan.axes;
      plan.axes += static_cast<int>(extra);
    }
    if (k == output.letters.size()) break;
    int& n = number[static_cast<size_t>(output.letters[k])];
    if (n >= 0) fail("each letter once in the output", "'" + output.letters.substr(k, 1) + "' twice");
    n = plan.axes++;
  }
  plan.output_axes = plan.axes;
  if (!keeps_ellipsis) {  // summed over
    first_extra = plan.axes;
    plan.axes += static_cast<int>(extra);
  }
  for (size_t i = 0; i < terms.size(); ++i) {
    std::vector<int> axes;
    const size_t own = ranks[i] - terms[i].letters.size();
    for (size_t k = 0; k <= terms[i].letters.size(); ++k) {
      if (k == terms[i].ellipsis)
        for (size_t e = 0; e < own; ++e) axes.push_back(first_extra + static_cast<int>(extra - own + e));
      if (k == terms[i].letters.size()) break;
      int& n = number[static_cast<size_t>(terms[i].letters[k])];
      if (n < 0) n = plan.axes++;
      axes.push_back(n);
    }
    plan.terms.push_back(std::move(axes));
  }
  for (char letter : output.letters) {
    const int n = number[static_cast<size_t>(letter)];
    const bool used = std::any_of(plan.terms.begin(), plan.terms.end(), [&](const std::vector<int>& t) {
      return std::find(t.begin(), t.end(), n) != t.end();
    });
    if (!used) fail("output letters that occur in an input", "'" + std::string(1, letter) + "'");
  }
  return plan;
}

}  // namespace lathe
