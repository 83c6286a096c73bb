// Sizes of synthetic inputs as options of a subcommand.
#pragma once

#include <CLI/CLI.hpp>

#include "lathe/exporters.h"

namespace lathe::cli {

/// `s` says what holds where an option is left out, and must live as long as `sub`.
void add_shapes(CLI::App* sub, exporters::DummyShapes& s);

}  // namespace lathe::cli
