// Kernels and operators of plug-ins in the words of the kernel catalog.
#pragma once

#include "kernel/kernel.h"
#include "lathe/backend.h"

namespace lathe {

/// A kernel of the catalog that calls the plug-in's. Its memory is not the host's unless its backend is
/// "cpu".
Kernel adapt(PluginKernel kernel);
/// How a plug-in's operator is decoded (its attributes as they are) and sized.
OpCodec codec_for(const PluginOperator& op);

}  // namespace lathe
