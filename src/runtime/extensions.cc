#include "runtime/extensions.h"

#include <dlfcn.h>

#include <algorithm>

#include "lathe/error.h"
#include "runtime/plugin_kernel.h"

namespace lathe {

void register_all_references(KernelCatalog& all);
void register_all_cpu_kernels(KernelCatalog& all);

namespace {

[[noreturn]] void plugin_failed(const std::string& where, std::string expected, std::string got) {
  throw Error(Code::build_plugin_failed, "build", std::move(expected), std::move(got)).at("build", where, "");
}

template <class F>
F* symbol(void* library, const char* name, const std::string& where) {
  auto* f = reinterpret_cast<F*>(dlsym(library, name));
  if (!f) plugin_failed(where, std::string("a plug-in that defines ") + name, "none");
  return f;
}

/// Names stand in lists of the command line.
bool is_word(const std::string& name) {
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

/// Lets plug-ins find the library's symbols, wherever it is linked into: some programs, as Python, keep the
/// symbols of what they open apart. Fails without harm where it is part of the program itself.
void share_symbols() {
  static const bool once = [] {
    Dl_info at;
    const auto* here = reinterpret_cast<const void*>(&share_symbols);
    return dladdr(here, &at) && at.dli_fname && dlopen(at.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  }();
  (void)once;
}

}  // namespace

/// The registry that a plug-in adds its parts to while it is loaded.
class Registration final : public PluginRegistry {
 public:
  Registration(Extensions& to, std::string where) : to_(to), where_(std::move(where)) {}

  void add(std::shared_ptr<Backend> backend) override {
    if (!backend) plugin_failed(where_, "a device", "none");
    const std::string name(backend->name());
    if (name.empty() || name == "cpu" || name == "reference" || to_.device(name))
      plugin_failed(where_, "a device with a name of its own, from a library that is loaded once",
                    "'" + name + "'");
    if (!is_word(name))
      plugin_failed(where_, "a name of letters, digits, '-' and '_' for a device", "'" + name + "'");
    to_.devices_.push_back(std::move(backend));
  }
  void add(PluginKernel kernel) override {
    const bool on_host = kernel.backend.empty() || kernel.backend == "cpu";
    if (!on_host && !to_.device(kernel.backend))
      plugin_failed(where_, "kernels for a registered device", kernel.backend);
    if (kernel.name.empty() || to_.own_->by_name(kernel.name))
      plugin_failed(where_, "a kernel with a name of its own", "'" + kernel.name + "'");
    if (!to_.own_->codec_of(kernel.domain, kernel.op))
      plugin_failed(where_, "kernels for operators that exist", kernel.op);
    if (!kernel.run) plugin_failed(where_, "a kernel that runs", kernel.name + " without a function");
    if (on_host && kernel.takes_epilogue)
      plugin_failed(where_, "an epilogue of a kernel on a device", kernel.name + " in host memory");
    const Backend* const device = on_host ? nullptr : to_.device(kernel.backend);
    to_.own_->add(adapt(std::move(kernel), device));
  }
  void add(PluginPass pass) override {
    if (pass.name.empty() ||
        std::ranges::find(to_.passes_, pass.name, &PluginPass::name) != to_.passes_.end())
      plugin_failed(where_, "a pass with a name of its own", "'" + pass.name + "'");
    if (!is_word(pass.name))
      plugin_failed(where_, "a name of letters, digits, '-' and '_' for a pass", "'" + pass.name + "'");
    if (!to_.device(pass.backend))
      plugin_failed(where_, "passes for a registered device", "'" + pass.backend + "'");
    if (!pass.rewrite)
      plugin_failed(where_, "a pass that rewrites", "'" + pass.name + "' without a function");
    to_.passes_.push_back(std::move(pass));
  }
  void add(PluginOperator op) override {
    if (to_.own_->codec_of(op.domain, op.name))
      plugin_failed(where_, "an operator that does not exist yet", op.name);
    if (!op.run) plugin_failed(where_, "an operator that runs", op.name + " without a function");
    to_.own_->add_codec(op.name, op.domain, codec_for(op));
    PluginKernel floor{.op = op.name,
                       .domain = op.domain,
                       .name = op.domain + "." + op.name + ".ref",
                       .backend = "cpu",
                       .run = op.run};
    Kernel k = adapt(std::move(floor), nullptr);
    k.backend = "reference";
    to_.own_->add(std::move(k));
    to_.operators_.push_back(std::move(op));
  }

 private:
  Extensions& to_;
  std::string where_;
};

std::shared_ptr<const Extensions> Extensions::none() {
  static const std::shared_ptr<const Extensions> library = of(KernelCatalog::standard());
  return library;
}

std::shared_ptr<const Extensions> Extensions::of(const KernelCatalog& kernels) {
  auto e = std::make_shared<Extensions>();
  e->kernels_ = &kernels;
  return e;
}

std::shared_ptr<const Extensions> Extensions::load(std::span<const std::filesystem::path> libraries) {
  if (libraries.empty()) return none();
  share_symbols();
  auto e = std::make_shared<Extensions>();
  e->own_ = std::make_unique<KernelCatalog>();
  register_all_references(*e->own_);
  register_all_cpu_kernels(*e->own_);
  e->kernels_ = e->own_.get();
  for (const std::filesystem::path& path : libraries) {
    const std::string where = path.string();
    // A name without a folder would be looked for wherever the system keeps libraries.
    const std::filesystem::path file = path.has_parent_path() ? path : "." / path;
    const std::shared_ptr<void> library(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL), [](void* l) {
      if (l) dlclose(l);
    });
    if (!library) plugin_failed(where, "a shared library", dlerror());
    const int abi = symbol<int()>(library.get(), "lathe_plugin_abi", where)();
    if (abi != plugin_abi)
      plugin_failed(where, "a plug-in for interface " + std::to_string(plugin_abi),
                    "one for " + std::to_string(abi));
    e->libraries_.push_back(library);
    e->paths_.push_back(path);
    Registration registration(*e, where);
    auto* enter = symbol<void(PluginRegistry&)>(library.get(), "lathe_plugin", where);
    try {
      enter(registration);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& x) {
      plugin_failed(where, "a plug-in that registers without failing", x.what());
    } catch (...) {
      plugin_failed(where, "a plug-in that registers without failing", "an exception of no known type");
    }
  }
  return e;
}

Backend* Extensions::device(std::string_view name) const {
  const auto at = std::ranges::find_if(devices_, [&](const auto& d) { return d->name() == name; });
  return at == devices_.end() ? nullptr : at->get();
}

std::string Extensions::searched() const {
  std::string text = "cpu, reference";
  for (const auto& d : devices_) text += ", " + std::string(d->name());
  text += paths_.empty() ? "; no plug-ins were loaded" : "; plug-ins loaded:";
  for (const auto& p : paths_) text += " " + p.string();
  return text;
}

void Extensions::require_backend(std::string_view name) const {
  if (name == "cpu" || name == "reference" || device(name)) return;
  throw Error(Code::build_device_absent, "build", "the device '" + std::string(name) + "'",
              "only " + searched(), "load the plug-in that brings it");
}

}  // namespace lathe
