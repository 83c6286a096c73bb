// The function that libFuzzer calls: it runs one target, which is named when this is compiled.
#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lathe::fuzz::LATHE_FUZZ_TARGET({data, size});
  return 0;
}
