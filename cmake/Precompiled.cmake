# What nearly every source of a subsystem reads is parsed once: half of a build from nothing went into that. Sources name what they
# use all the same, which builds without precompiled headers hold them to (CMAKE_DISABLE_PRECOMPILE_HEADERS, as the preset
# for clang has it).
set(LATHE_COMMON_HEADERS
  <algorithm> <any> <array> <atomic> <bit> <charconv> <chrono> <cmath> <cstddef> <cstdint> <cstring> <functional>
  <limits> <map> <memory> <memory_resource> <numeric> <optional> <set> <span> <string> <string_view> <tuple>
  <unordered_map> <utility> <variant> <vector>)
# A subsystem's kind, by what its sources build on: nothing of ours, kernels, or graphs.
set(base_headers "")
set(kernels_headers src/kernel/kernel.h src/tensor/element.h)
set(graphs_headers src/schema/schema.h src/tensor/element.h include/lathe/engine.h include/lathe/network.h)

# Links a target with lathe_sanitized_flags or lathe_flags, whose flags it must be compiled with, and what is precompiled with them
# for its kind.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/empty/precompiled.cc CONTENT "")
function(lathe_precompiled target flags kind)
  set(precompiled ${flags}_${kind}_precompiled)
  if(NOT TARGET ${precompiled})
    add_library(${precompiled} OBJECT ${PROJECT_BINARY_DIR}/empty/precompiled.cc)
    target_link_libraries(${precompiled} PRIVATE ${flags})
    list(TRANSFORM ${kind}_headers PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE ours)
    target_precompile_headers(${precompiled} PRIVATE ${LATHE_COMMON_HEADERS} ${ours})
  endif()
  target_link_libraries(${target} PRIVATE ${flags})
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_compile_options(${target} PRIVATE -fPIC)  # as what is precompiled
  endif()
endfunction()
