#include <string>

#include "fuzz/targets.h"
#include "lathe/onnx.h"

namespace lathe::fuzz {

void text(Bytes data) {
  using namespace onnx;
  code_of([&] {
    const auto m = from_text<ModelProto>(chars(data));
    std::string printed;
    // A parsed model may have tensors whose numbers do not fit their type: these are not printed.
    if (code_of([&] { printed = to_text(m); }) != Code::none) return;
    ModelProto again;
    require(code_of([&] { again = from_text<ModelProto>(printed); }) == Code::none,
            "what is printed can be read");
    require(to_text(again) == printed, "and prints the same");
  });
  code_of([&] { from_text<FunctionProto>(chars(data)); });
}

}  // namespace lathe::fuzz
