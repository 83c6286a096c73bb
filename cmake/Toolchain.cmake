# Compiler settings shared by every target: lathe_sanitized_flags; lathe_flags is the same without sanitizers.
add_library(lathe_flags INTERFACE)
add_library(lathe_sanitized_flags INTERFACE)
target_link_libraries(lathe_sanitized_flags INTERFACE lathe_flags)
target_compile_options(lathe_flags INTERFACE -Wall -Wextra -Wpedantic -Wno-unused-parameter -fno-math-errno
                                                -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc would carry what one step of a loop has read on to later ones that overlap: kernels over images of few
  # channels have no registers left for that, and spent half of their time on the stack. Said to all, since what is
  # precompiled decides for functions of other instruction sets.
  target_compile_options(lathe_flags INTERFACE -fno-predictive-commoning)
  # gcc 12 sees ghosts in std::string and std::vector inlined at -O2 and up.
  target_compile_options(lathe_flags INTERFACE -fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow -Wno-restrict -Wno-maybe-uninitialized)
endif()
# One set of definitions for all: what is precompiled with others would not be taken.
target_compile_definitions(lathe_flags INTERFACE FMT_HEADER_ONLY=1)
target_include_directories(lathe_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)

if(LATHE_SANITIZE)
  # Subsystems without sanitizers are compiled as in any other build of that type.
  target_compile_options(lathe_sanitized_flags INTERFACE -O1 -g1 -fsanitize=${LATHE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(lathe_sanitized_flags INTERFACE -fsanitize=${LATHE_SANITIZE})
  if(LATHE_SANITIZE MATCHES "address.*undefined" AND NOT LATHE_FUZZ)
    # What comes of the first two AddressSanitizer sees as well. Whether addresses are multiples matters where bytes of files are
    # taken for numbers, and is looked at in those subsystems alone (src/CMakeLists.txt). Without all three it compiles in two thirds
    # of the time. Fuzzing runs for longer than it compiles, and makes all checks.
    target_compile_options(lathe_sanitized_flags INTERFACE -fno-sanitize=null,object-size,alignment)
  endif()
  # Programs of hundreds of megabytes, for every test: linked in less than half of the time.
  find_program(LATHE_LLD ld.lld)
  if(LATHE_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_link_options(lathe_sanitized_flags INTERFACE -fuse-ld=lld)
  endif()
endif()

# Said to those alone that sanitizers are for, the others come out of ccache as in a release.
if(NOT LATHE_AVX512 AND LATHE_SANITIZE)
  target_compile_definitions(lathe_sanitized_flags INTERFACE LATHE_WITHOUT_AVX512)
elseif(NOT LATHE_AVX512)
  target_compile_definitions(lathe_flags INTERFACE LATHE_WITHOUT_AVX512)
endif()

find_program(LATHE_CCACHE ccache)
if(LATHE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without these two it would not keep what was compiled with precompiled headers. By what the compiler says it read,
  # not by what the preprocessor leaves of it: a precompiled header knows its sources by their every byte, and one kept
  # from before a comment changed would let `#pragma once` read the same header twice.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1
      ${LATHE_CCACHE})
endif()
find_package(Threads REQUIRED)
