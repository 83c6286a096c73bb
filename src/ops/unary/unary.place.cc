// Functions of one element may write over it.
#include "cpu/ask.h"
#include "kernel/places.h"

namespace lathe {

void place_unary(PlaceTable& t) {
  for (const char* name :
       {"abs", "neg", "reciprocal", "sqrt", "exp", "log", "erf", "floor", "ceil", "round", "tanh", "sign"})
    for (Isa isa : {Isa::generic, Isa::avx2, Isa::avx512}) t.overwrites(cpu::kernel_name(name, isa));
}

}  // namespace lathe
