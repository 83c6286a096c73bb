// The kernels and devices that an engine can draw on: the library's own, and those of plug-ins.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernel/kernel.h"
#include "lathe/backend.h"

namespace lathe {

/// Immutable once made; an engine holds on to it.
class Extensions {
 public:
  /// The library alone.
  static std::shared_ptr<const Extensions> none();
  /// The library and plug-ins. Throws build_plugin_failed.
  static std::shared_ptr<const Extensions> load(std::span<const std::filesystem::path> libraries);
  /// Kernels of a test's own.
  static std::shared_ptr<const Extensions> of(const KernelCatalog& kernels);

  const KernelCatalog& kernels() const { return *kernels_; }
  /// A device by name; null when there is none.
  Backend* device(std::string_view name) const;
  const std::vector<std::shared_ptr<Backend>>& devices() const { return devices_; }
  /// Lowering passes for devices, in the order of their registration.
  const std::vector<PluginPass>& passes() const { return passes_; }
  /// Operators that plug-ins define, for the catalog of schemas.
  const std::vector<PluginOperator>& operators() const { return operators_; }
  /// The searched devices and libraries: "npu (/opt/libnpu.so)", one for each.
  std::string searched() const;
  /// Throws build_device_absent unless it is "cpu", "reference" or a device that is there.
  void require_backend(std::string_view name) const;

 private:
  friend class Registration;
  std::vector<std::shared_ptr<void>> libraries_;  // unloaded last
  std::vector<std::filesystem::path> paths_;
  std::vector<std::shared_ptr<Backend>> devices_;
  std::vector<PluginOperator> operators_;
  std::vector<PluginPass> passes_;
  std::unique_ptr<KernelCatalog> own_;
  const KernelCatalog* kernels_ = nullptr;
};

}  // namespace lathe
