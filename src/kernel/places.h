// Which operands of a kernel may lie in the memory of others. Layouts ask; the kernel sees where its operands
// are, and copies nothing that is in its place. An operator tells it in <room>.place.cc:
//
//   static std::optional<Parts> parts(const Concat& op, const StepFacts& facts) { … }
//   void place_concat(PlaceTable& t) { t.parts<Concat>("concat.generic", Whole::output, parts); }
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape_rule.h"

namespace lathe {

/// What is known of a step's operands once shapes are numbers.
struct StepFacts {
  std::span<const Fact<int64_t>> inputs, outputs;
};

/// Where parts lie in their whole, each in one piece: bytes from where the whole begins, one after the other.
using PartOffsets = std::vector<size_t>;

/// `output`: the inputs may lie in output 0 (Concat); `input`: the outputs may lie in input 0 (Split).
enum class Whole : uint8_t { none, output, input };

/// Of a kernel in host memory, for elements of whole bytes.
struct Places {
  /// Output 0 may be the memory of any input of its type and shape: each element is read before the same one
  /// is written, and no other later.
  bool overwrites = false;
  Whole whole = Whole::none;
  /// By part; nothing where one is not in one piece, or where only the data tell. Shapes are known, but may
  /// be at odds with each other.
  std::function<std::optional<PartOffsets>(const void* op, const StepFacts&)> parts = {};
};

class PlaceTable {
 public:
  void overwrites(std::string kernel) { table_[std::move(kernel)].overwrites = true; }
  /// `Op`: what the kernel's functions are given.
  template <class Op>
  void parts(std::string kernel, Whole whole, std::optional<PartOffsets> (*f)(const Op&, const StepFacts&)) {
    Places& p = table_[std::move(kernel)];
    p.whole = whole;
    p.parts = [f](const void* op, const StepFacts& facts) { return f(*static_cast<const Op*>(op), facts); };
  }
  /// Null for kernels whose operands all lie apart.
  const Places* of(std::string_view kernel) const {
    const auto at = table_.find(kernel);
    return at == table_.end() ? nullptr : &at->second;
  }
  /// Of everything in src/ops.
  static const PlaceTable& standard();

 private:
  std::map<std::string, Places, std::less<>> table_;
};

/// All src/ops/*/*.place.cc; generated.
void register_all_places(PlaceTable& all);

}  // namespace lathe
