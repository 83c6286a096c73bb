// Functions of one byte, in blocks or not, including other quantization parameters for the same numbers.
#include "targets/cpu/quantized/layout.h"

namespace lathe {

bool quantize_function(QuantizedLayout& l, const QuantizedTarget& t, const Node& source) {
  const auto table = l.functions.stored_by(t.last);
  if (!table || l.graph.value(table->of).is_constant()) return false;
  const auto blocks = l.form.find(table->of);
  const bool blocked = blocks != l.form.end();
  Node n = l.described(t, source, "LookupTable");
  const auto sign = [&](ValueId v) -> uint8_t {
    return blocked && l.graph.value(v).type.elem == DataType::int8 ? 128 : 0;
  };
  n.inputs = {blocked ? blocks->second : table->of,
              l.add_table(*table, sign(table->of), sign(t.quant.bytes))};
  n.outputs = {blocked ? l.add_blocked_value(t.quant.bytes) : t.quant.bytes};
  return blocked ? l.finish_if_it_runs(t, std::move(n)) : l.finish_in_nchw(t, std::move(n));
}

}  // namespace lathe
