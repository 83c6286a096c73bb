// Finds and opens the optional components (components/component.h).
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "components/component.h"

namespace lathe {

/// A component that is there, or the reason why it is not.
struct Component {
  std::string name;
  std::filesystem::path path;             // of the library; empty: not there
  const ComponentTable* table = nullptr;  // null: not there
  std::string missing;                    // where it was looked for and what was wrong
};

/// The components there may be.
std::span<const std::string_view> component_names();

/// Opens it on the first call and remembers the outcome for the life of the process. It is looked for in the
/// directory that the environment variable LATHE_COMPONENTS names, or, where that is not set, beside the
/// library or program that this code is in, in `lathe/` there, and in the `lathe/` of the library directory
/// that goes with a program's. Thread-safe.
const Component& component(std::string_view name);

/// Throws component_absent.
const ComponentTable& require_component(std::string_view name);
/// … as the table that the component's header declares.
template <class Table>
const Table& require_component(std::string_view name) {
  return reinterpret_cast<const Table&>(require_component(name));  // the first member of each
}

/// The option of the build that brings a component, and the packages it is made of.
std::string component_remedy(std::string_view name);

}  // namespace lathe
