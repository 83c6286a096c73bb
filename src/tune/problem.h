// A problem of tuning: everything that decides how long a kernel takes, as one line of text that is the same
// for the same operator, attributes, types and shapes in any model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel.h"

namespace lathe {

/// Sizes of symbols for which kernels are timed.
using TuneSizes = std::map<std::string, int64_t, std::less<>>;

struct Problem {
  struct Operand {
    bool present = false;
    DataType type = DataType::undefined;
    std::optional<Shape> shape;        // of an output: where it is known before the run
    const Tensor* constant = nullptr;  // borrowed
  };
  std::string op, domain;
  Attributes attributes;
  std::vector<Operand> inputs, outputs;
  Isa isa = Isa::generic;  // the best that may be used
  bool streamed = false;   // do constants come from memory in every run, rather than from a cache?

  /// "lathe.BlockedConv(float32[1,4,56,56,16], const float32[64,64,3,3], -) -> float32 {channels: 64} for
  /// avx512, constants from memory".
  std::string text() const;
};

/// Returns a node as a problem; nothing if no inputs can be made for it: sizes that only a run decides,
/// indices, strings, more than a gigabyte.
std::optional<Problem> problem_of(std::string_view domain, std::string_view op, const Attributes& attributes,
                                  const KernelQuery& query, const TuneSizes& sizes, bool streamed);

}  // namespace lathe
