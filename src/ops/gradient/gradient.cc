// Gradient names tensors of its own graph: it is replaced with other operators when a file is read
// (src/gradient).
#include "schema/schema.h"

namespace lathe {
namespace {

void refuse(InferContext& c) {
  throw Error(Code::not_supported, "infer", "Gradient in a model that is read from a file",
              "a node made otherwise", "write the derivative with other operators")
      .at("infer", c.node().name, c.node().op);
}

}  // namespace

void declare_gradient(SchemaCatalog& c) {
  c.add("ai.onnx.preview.training", "Gradient")
      .version(1,
               "(Inputs~1: T1) -> (Outputs~1: T2) {xs: strings!, zs: strings, y: string!} [T1: @all; T2: "
               "float16 float double]")
      .infer(refuse);
}

}  // namespace lathe
