// Errors about an output, a file, a tensor: what a node is elsewhere.
#pragma once

#include <string>
#include <utility>

#include "lathe/error.h"

namespace lathe::exporters {

inline Error fault(Code code, std::string stage, std::string about, std::string expected, std::string got,
                   std::string remedy = {}) {
  Diagnostic d;
  d.code = code;
  d.stage = std::move(stage);
  d.node = std::move(about);
  d.expected = std::move(expected);
  d.got = std::move(got);
  d.remedy = std::move(remedy);
  return Error(std::move(d));
}

}  // namespace lathe::exporters
