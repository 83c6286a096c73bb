// Kernels and operators of plug-ins in the words of the kernel catalog.
#pragma once

#include <new>
#include <string>

#include "kernel/kernel.h"
#include "lathe/backend.h"

namespace lathe {

/// Calls a plug-in, and turns its exceptions into Errors. `what`: the function, as messages name it.
template <class F>
auto guarded(const std::string& what, F&& f) {
  try {
    return f();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    throw Error(Code::internal, "run", what + " of a plug-in to end well", e.what());
  } catch (...) {
    throw Error(Code::internal, "run", what + " of a plug-in to end well", "an exception of no known type");
  }
}

/// A kernel of the catalog that calls the plug-in's. `device`: where it runs, which must outlive it; null: in
/// host memory.
Kernel adapt(PluginKernel kernel, const Backend* device);
/// The attributes of a node as plug-ins see them: a copy.
std::shared_ptr<const AttributeView> attribute_view(const Attributes& attributes);
/// How a plug-in's operator is decoded (its attributes as they are) and sized.
OpCodec codec_for(const PluginOperator& op);

}  // namespace lathe
