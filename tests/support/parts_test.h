// What tests of parts of float32 need: tiles of AMX.
#pragma once

#include <gtest/gtest.h>

#include "cpu/amx.h"
#include "support/tiles.h"

namespace lathe::test {

/// Skipped where there are no tiles, not even carried out one by one; a test may turn them off.
class PartsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!provide_tiles()) GTEST_SKIP() << "neither AMX with bfloat16 nor AVX-512 with VNNI here";
  }
  void TearDown() override { cpu::use_amx(true); }
};

}  // namespace lathe::test
