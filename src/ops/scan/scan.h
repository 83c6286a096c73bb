// Scan: a body run once for every slice of its inputs.
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Inputs: N states, M scan inputs. Body: (N states, M slices) → (N states, K slices). Outputs: N states, K
/// tensors of the slices. States keep their shapes from iteration to iteration: so the specification wants
/// it, inference follows it, and the run checks it.
struct Scan {
  int64_t num_scan_inputs = 1;
  std::vector<int64_t> scan_input_axes, scan_input_directions;  // by scan input; empty: all 0
  std::vector<int64_t> scan_output_axes, scan_output_directions;
  void fields(auto&& f) {
    f("num_scan_inputs", num_scan_inputs);
    f("scan_input_axes", scan_input_axes);
    f("scan_input_directions", scan_input_directions);
    f("scan_output_axes", scan_output_axes);
    f("scan_output_directions", scan_output_directions);
  }
  template <class D>
  void shape(ShapeContext<D>&) const {}

  /// The number of inputs that are states. Checks that lists have the right length, and axes are within known
  /// ranks.
  size_t states(size_t inputs, size_t outputs) const {
    const auto bad = [](std::string expected, std::string got) {
      throw Error(Code::node_bad_attribute, "infer", std::move(expected), std::move(got));
    };
    if (num_scan_inputs < 1 || static_cast<size_t>(num_scan_inputs) > inputs)
      bad("num_scan_inputs in [1, " + std::to_string(inputs) + "]", std::to_string(num_scan_inputs));
    const size_t scans = static_cast<size_t>(num_scan_inputs), n = inputs - scans;
    if (outputs < n) bad("at least as many outputs as states, " + std::to_string(n), std::to_string(outputs));
    const auto check = [&](const std::vector<int64_t>& list, size_t count, const char* name, bool flags) {
      if (!list.empty() && list.size() != count)
        bad(std::string(name) + " of " + std::to_string(count) + " numbers", std::to_string(list.size()));
      for (int64_t v : list)
        if (flags && v != 0 && v != 1) bad(std::string(name) + " of 0 and 1", std::to_string(v));
    };
    check(scan_input_axes, scans, "scan_input_axes", false);
    check(scan_input_directions, scans, "scan_input_directions", true);
    check(scan_output_axes, outputs - n, "scan_output_axes", false);
    check(scan_output_directions, outputs - n, "scan_output_directions", true);
    return n;
  }
  static int64_t at(const std::vector<int64_t>& list, size_t i) { return list.empty() ? 0 : list[i]; }
  /// An axis within a rank, made non-negative.
  static int64_t axis(const std::vector<int64_t>& list, size_t i, int64_t rank, const char* name) {
    const int64_t a = at(list, i);
    if (a < -rank || a >= rank)
      throw Error(Code::node_bad_attribute, "infer",
                  std::string(name) + " in [" + std::to_string(-rank) + ", " + std::to_string(rank) + ")",
                  std::to_string(a));
    return a < 0 ? a + rank : a;
  }
};

}  // namespace lathe
