// The whole verification; tests pass in passes and kernels of their own.
#pragma once

#include <memory>
#include <vector>

#include "lathe/verify.h"
#include "passes/pass.h"
#include "runtime/extensions.h"

namespace lathe {

struct LoweringPass;

/// The passes and kernels that are verified with the model.
struct Toolchain {
  const PassList* passes = nullptr;                     // null: all_passes()
  const std::vector<LoweringPass>* lowering = nullptr;  // null: lowering_passes()
  std::shared_ptr<const Extensions> extensions{};       // null: those that the options load
};

VerifyReport verify_model(const onnx::Model& model, const VerifyOptions& options,
                          const Toolchain& toolchain = {});

}  // namespace lathe
