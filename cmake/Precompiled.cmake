# What nearly every source reads is parsed once: a third of a build from nothing went into that. Sources name what they
# use all the same, which builds without precompiled headers hold them to (CMAKE_DISABLE_PRECOMPILE_HEADERS, as the preset
# for clang has it).
set(LATHE_COMMON_HEADERS
  <algorithm> <any> <array> <atomic> <bit> <charconv> <chrono> <cmath> <cstddef> <cstdint> <cstring> <functional>
  <limits> <map> <memory> <memory_resource> <numeric> <optional> <set> <span> <string> <string_view> <tuple>
  <unordered_map> <utility> <variant> <vector>)

# Links a target with lathe_settings or lathe_plain, whose flags it must be compiled with, and what is precompiled with them.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/empty/precompiled.cc CONTENT "")
function(lathe_precompiled target flags)
  if(NOT TARGET ${flags}_precompiled)
    add_library(${flags}_precompiled OBJECT ${PROJECT_BINARY_DIR}/empty/precompiled.cc)
    target_link_libraries(${flags}_precompiled PRIVATE ${flags})
    target_precompile_headers(${flags}_precompiled PRIVATE ${LATHE_COMMON_HEADERS})
  endif()
  target_link_libraries(${target} PRIVATE ${flags})
  target_precompile_headers(${target} REUSE_FROM ${flags}_precompiled)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_compile_options(${target} PRIVATE -fPIC)  # as what is precompiled
  endif()
endfunction()
