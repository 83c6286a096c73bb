# What nearly every source reads is parsed once: a third of a build from nothing went into that. Sources name what they
# use all the same, which builds without precompiled headers hold them to (CMAKE_DISABLE_PRECOMPILE_HEADERS, as the preset
# for clang has it).
set(LATHE_COMMON_HEADERS
  <algorithm> <any> <array> <atomic> <bit> <charconv> <chrono> <cmath> <cstddef> <cstdint> <cstring> <functional>
  <limits> <map> <memory> <memory_resource> <numeric> <optional> <set> <span> <string> <string_view> <tuple>
  <unordered_map> <utility> <variant> <vector>)

# Sources that are compiled as lathe_settings say can use what is precompiled: lathe_precompiled(target).
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/empty/precompiled.cc CONTENT "")
add_library(lathe_precompiled_headers OBJECT ${PROJECT_BINARY_DIR}/empty/precompiled.cc)
target_link_libraries(lathe_precompiled_headers PRIVATE lathe_settings)
target_precompile_headers(lathe_precompiled_headers PRIVATE ${LATHE_COMMON_HEADERS})
function(lathe_precompiled target)
  target_precompile_headers(${target} REUSE_FROM lathe_precompiled_headers)
endfunction()
