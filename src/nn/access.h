// Internal state of modules and parameters behind their public classes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lathe/nn/module.h"
#include "network/state.h"

namespace lathe::nn::detail {

/// The data of a parameter, which all handles to it share.
struct Slot {
  DataType type = DataType::undefined;
  Shape shape;
  Tensor tensor;
  std::string name;
};

/// The position of a module while a network is emitted.
struct Place {
  Network network;
  std::string path;  // "encoder.layer.0"
  std::shared_ptr<const std::vector<Substitute>> substitutes;
};

struct Access {
  static Slot* slot(const Parameter& p) { return p.value.slot_.get(); }
  static std::shared_ptr<const Place>& place(Module& m) { return m.place_; }
  static const std::shared_ptr<const Place>& place(const Module& m) { return m.place_; }
};

/// Callbacks for everything below `root` that is reached, parents first; modules include `root` with `path`.
struct Visitor {
  std::function<void(const std::string& path, Parameter&)> parameter;
  std::function<void(const std::string& path, Module&)> module;
};
void visit(Module& root, const std::string& path, const Visitor& visitor);

/// Returns the names that a parameter of this path may have in a checkpoint, the likeliest first; without
/// BindOptions::rename, which applies to the checkpoint's names.
std::vector<std::string> path_variants(const std::string& path, const BindOptions& options);
/// Returns whether two tensors of a checkpoint have the same elements.
bool same_elements(const Checkpoint& checkpoint, const std::string& a, const std::string& b);

/// "a.b" of a module's path and a member's name.
std::string join(std::string_view path, std::string_view name);

/// An Error of stage "nn".
Error fault(Code code, std::string where, std::string expected, std::string got, std::string remedy = {});
/// Returns ": did you mean 'a' or 'b'?" as a remedy; empty if no name is similar.
std::string near(std::string_view wanted, const std::vector<std::string>& known);
/// Returns "'a', 'b', …" of all names, without a limit.
std::string listed(const std::vector<std::string>& names);

}  // namespace lathe::nn::detail
