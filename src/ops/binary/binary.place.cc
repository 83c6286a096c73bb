// Functions of two elements may write over one of them.
#include "cpu/ask.h"
#include "kernel/places.h"

namespace lathe {

void place_binary(PlaceTable& t) {
  for (const char* name : {"add", "sub", "mul", "div", "min", "max", "mod"})
    for (Isa isa : {Isa::generic, Isa::avx2, Isa::avx512}) t.overwrites(cpu::kernel_name(name, isa));
}

}  // namespace lathe
