// What tests of parts of float32 need: tiles of AMX.
#pragma once

#include <gtest/gtest.h>

#include "base/cpu.h"
#include "cpu/amx.h"

namespace lathe::test {

/// Skipped where there is no AMX; a test may turn it off.
class PartsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::uses_amx() || !cpu_features().amx_bf16 || !cpu_features().avx512)
      GTEST_SKIP() << "no AMX with bfloat16 here";
  }
  void TearDown() override { cpu::use_amx(true); }
};

}  // namespace lathe::test
