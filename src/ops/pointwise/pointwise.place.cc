// Pointwise programs may write over an operand: blocks of elements are read, taken through the whole program
// and written, one after the other.
#include "cpu/ask.h"
#include "kernel/places.h"

namespace lathe {

void place_pointwise(PlaceTable& t) {
  for (Isa isa : {Isa::generic, Isa::avx2, Isa::avx512}) t.overwrites(cpu::kernel_name("pointwise", isa));
}

}  // namespace lathe
