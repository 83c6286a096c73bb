// What of a quantized graph depends on one byte alone: behind DequantizeLinear, operators that go element by
// element, whose other operands are single numbers, up to QuantizeLinear. It is a table of 256.
#pragma once

#include <array>
#include <map>
#include <optional>

#include "compiler/quantized_view.h"

namespace lathe {

class LookupTables {
 public:
  /// All outlive it.
  LookupTables(const Graph& g, const QuantizedView& view, const KernelCatalog& kernels)
      : graph_(g), view_(view), kernels_(kernels) {}

  /// The bytes of `of`, by its bits, as bits of the result.
  struct Table {
    ValueId of;
    std::array<uint8_t, 256> entries;
  };
  /// What a QuantizeLinear of one scale stores, if that is a function of one byte. It is remembered, so that
  /// functions of what it stores are functions of that byte too.
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
  std::map<ValueId, Table> tables_;                    // by the bytes that they give
  std::map<ValueId, std::optional<Numbers>> numbers_;  // of those that were requested
};

}  // namespace lathe
