// The fixture for tests of bf16x3, which need tiles of AMX.
#pragma once

#include <gtest/gtest.h>

#include "cpu/simd/amx.h"
#include "support/tiles.h"

namespace lathe::test {

/// Skipped if there are no tiles, not even emulated ones; a test may turn them off.
class Bf16x3Test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!provide_tiles()) GTEST_SKIP() << "neither AMX with bfloat16 nor AVX-512 with VNNI here";
  }
  void TearDown() override { cpu::use_amx(true); }
};

}  // namespace lathe::test
