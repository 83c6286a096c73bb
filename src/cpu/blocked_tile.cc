#include "cpu/blocked_tile.h"

#include <utility>

#include "cpu/isa.h"

#define LATHE_ISA_BODY "cpu/blocked_tile_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(BlockedTiles, blocked_tiles)

}  // namespace lathe::cpu
