#include <string>

#include "fuzz/targets.h"
#include "lathe/onnx.h"
#include "onnx/each_tensor.h"

namespace lathe::fuzz {

void wire(Bytes data) {
  using namespace onnx;
  code_of([&] {
    const Model m = Model::parse(chars(data));
    const std::string bytes = serialize(m.proto);
    require(serialize(parse<ModelProto>(bytes)) == bytes,
            "what was read is written so that it reads the same");
    each_tensor(m.proto, [&](const TensorProto& t) { code_of([&] { to_tensor(t, &m); }); });
  });
  // These messages can be files of their own.
  code_of([&] { to_tensor(parse<TensorProto>(chars(data))); });
  code_of([&] { to_value(parse<SequenceProto>(chars(data))); });
  code_of([&] { to_value(parse<MapProto>(chars(data))); });
  code_of([&] { to_value(parse<OptionalProto>(chars(data))); });
}

}  // namespace lathe::fuzz
