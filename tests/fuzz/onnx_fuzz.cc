// libFuzzer over everything that reads an ONNX file's bytes: wire, tensors, text. Built with clang and
// -DLATHE_FUZZ=ON (tests/CMakeLists.txt); run as `onnx_fuzz CORPUS`, with models of the tests as a first
// corpus.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lathe/error.h"
#include "lathe/onnx.h"
#include "onnx/each_tensor.h"

namespace {

using namespace lathe::onnx;

void ignoring_errors(auto&& f) {
  try {
    f();
  } catch (const lathe::Error&) {
  }
}

/// What was read must be written so that it reads the same.
void check_written(const ModelProto& m) {
  const std::string bytes = serialize(m);
  if (serialize(parse<ModelProto>(bytes)) != bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ignoring_errors([&] {
    const Model m = Model::parse(bytes);
    check_written(m.proto);
    each_tensor(m.proto, [&](const TensorProto& t) { ignoring_errors([&] { to_tensor(t, &m); }); });
    ignoring_errors([&] { from_text<ModelProto>(to_text(m.proto)); });
  });
  ignoring_errors([&] { check_written(from_text<ModelProto>(bytes)); });
  return 0;
}
