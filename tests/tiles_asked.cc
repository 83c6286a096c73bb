// Linked into every test: LATHE_TILES in the environment turns tiles on from the beginning.
#include <cstdlib>

#include "support/tiles.h"

namespace {
[[maybe_unused]] const bool provided = std::getenv("LATHE_TILES") && lathe::test::provide_tiles();
}
