// Tables of 256 entries for parts of a quantized graph that depend on one byte alone: a DequantizeLinear,
// elementwise operators whose other operands are single numbers, and a QuantizeLinear.
#pragma once

#include <array>
#include <map>
#include <optional>

#include "targets/cpu/quantized_view.h"

namespace lathe {

class LookupTables {
 public:
  /// All arguments outlive the object.
  LookupTables(const Graph& g, const QuantizedView& view, const KernelCatalog& kernels)
      : graph_(g), view_(view), kernels_(kernels) {}

  /// Entry i has the bits of the result for the bits i of a byte of `of`.
  struct Table {
    ValueId of;
    std::array<uint8_t, 256> entries;
  };
  /// Returns the table of a QuantizeLinear with one scale, if what it stores is a function of one byte. It is
  /// remembered, so that functions of what it stores are functions of that byte too.
  std::optional<Table> stored_by(NodeId quantize);

 private:
  /// A number for each byte of `of`: [256], of the type of the value.
  struct Numbers {
    ValueId of;
    Tensor of_byte;
  };
  std::optional<Table> evaluated(NodeId quantize);
  std::optional<Numbers> numbers(ValueId v, int depth);
  std::optional<Numbers> dequantized(ValueId v) const;
  std::optional<Numbers> computed(NodeId id, int depth);

  const Graph& graph_;
  const QuantizedView& view_;
  const KernelCatalog& kernels_;
  std::map<ValueId, Table> tables_;                    // by the bytes that they make
  std::map<ValueId, std::optional<Numbers>> numbers_;  // by the values that were requested
};

}  // namespace lathe
