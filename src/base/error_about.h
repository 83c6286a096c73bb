// Errors about a node, a tensor, a file, a module: what Error's own constructor leaves unnamed.
#pragma once

#include <string>

#include "lathe/error.h"

namespace lathe {

/// `about` stands where a node's name does.
Error error_about(Code code, std::string stage, std::string about, std::string expected, std::string got,
                  std::string remedy = {});

}  // namespace lathe
