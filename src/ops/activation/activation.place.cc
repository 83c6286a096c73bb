// Functions of one element may write over it.
#include "cpu/ask.h"
#include "kernel/places.h"

namespace lathe {

void place_activation(PlaceTable& t) {
  for (const char* name :
       {"relu", "hard_swish", "mish", "softplus", "softsign", "sigmoid", "leaky_relu", "elu", "celu",
        "thresholded_relu", "swish", "selu", "hard_sigmoid", "gelu", "clip"})
    for (Isa isa : {Isa::generic, Isa::avx2, Isa::avx512}) t.overwrites(cpu::kernel_name(name, isa));
}

}  // namespace lathe
