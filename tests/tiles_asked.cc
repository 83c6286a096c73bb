// In every test: LATHE_TILES in the environment asks for tiles from the beginning.
#include <cstdlib>

#include "support/tiles.h"

namespace {
[[maybe_unused]] const bool provided = std::getenv("LATHE_TILES") && lathe::test::provide_tiles();
}
