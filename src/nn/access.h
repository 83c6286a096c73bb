// What modules and parameters keep behind their public faces.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lathe/nn/module.h"
#include "network/state.h"

namespace lathe::nn::detail {

/// A parameter, whatever handles there are.
struct Slot {
  DataType type = DataType::undefined;
  Shape shape;
  Tensor tensor;
  std::string name;
};

/// Where a module stands in an emission.
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

/// Calls back for everything below `root` that is reached, parents first; modules too, `root` with `path`.
struct Visitor {
  std::function<void(const std::string& path, Parameter&)> parameter;
  std::function<void(const std::string& path, Module&)> module;
};
void visit(Module& root, const std::string& path, const Visitor& visitor);

/// What a parameter of this path may be called in a checkpoint, the likeliest first; without
/// BindOptions::rename, which is about the checkpoint's names.
std::vector<std::string> spellings(const std::string& path, const BindOptions& options);
/// Do two names of a checkpoint stand for the same elements?
bool same_elements(const Checkpoint& checkpoint, const std::string& a, const std::string& b);

/// "a.b" of a module's path and a member's name.
std::string join(std::string_view path, std::string_view name);

/// An Error of stage "nn".
Error fault(Code code, std::string where, std::string expected, std::string got, std::string remedy = {});
/// ": did you mean 'a' or 'b'?" as a remedy; empty where nothing is near.
std::string near(std::string_view wanted, const std::vector<std::string>& known);
/// "'a', 'b', …" of all; the list of a model's paths is as long as it is.
std::string listed(const std::vector<std::string>& names);

}  // namespace lathe::nn::detail
