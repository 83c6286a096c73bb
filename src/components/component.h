// The interface between Lathe and its optional components. A component is a shared library of this project
// that links other people's libraries (libjpeg, RE2, …): it is opened when an operator first needs it, so
// that nobody who links Lathe depends on them (docs/reference/components.md). The interface is plain data and
// function pointers: both sides are built from these headers, and the number below tells whether from the
// same ones.
#pragma once

#include <cstdint>

namespace lathe {

inline constexpr int32_t component_abi = 2;

/// The beginning of each table. All of it lives as long as the process.
struct ComponentTable {
  int32_t abi;       // component_abi of the sources it was built from
  const char* name;  // "images"
  const char* has;   // "bmp pnm png"; empty: there are no parts
  const char*
      lacks;  // parts that were left out, and what they need: "jpeg (libjpeg-dev), tiff (libtiff-dev)"
};

/// The one symbol of a component: `extern "C" const ComponentTable* lathe_component()`.
inline constexpr char component_entry[] = "lathe_component";

}  // namespace lathe
