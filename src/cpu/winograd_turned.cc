#include "cpu/winograd_turned.h"

#include <utility>

#include "cpu/isa.h"

#define LATHE_ISA_BODY "cpu/winograd_turned_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(TurnedTiles, turned_tiles)

}  // namespace lathe::cpu
