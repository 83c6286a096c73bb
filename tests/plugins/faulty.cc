// Faults of plug-ins, one at a time: the variable LATHE_FAULT names it.
#include <cstdlib>
#include <string_view>

#include "lathe/backend.h"

namespace {

using namespace lathe;

std::vector<std::optional<Shape>> same_shape(const AttributeView&, std::span<const Shape> in) {
  return {in[0]};
}
std::vector<std::optional<Shape>> many_shapes(const AttributeView&, std::span<const Shape> in) {
  return {in[0], in[0], in[0]};
}
void copy(KernelCall& c) {
  const auto x = c.input(0).as<float>();
  const auto y = c.output(0).as<float>();
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[i];
}
void give_integers(KernelCall& c) { c.output(0, DataType::int64, c.input(0).shape()); }
void give_nothing(KernelCall&) {}
void read_beyond(KernelCall& c) {
  c.output(0);
  c.input(9);
}

}  // namespace

extern "C" LATHE_API int lathe_plugin_abi() { return lathe::plugin_abi; }
extern "C" LATHE_API void lathe_plugin(lathe::PluginRegistry& registry) {
  const char* const named = std::getenv("LATHE_FAULT");
  const std::string_view fault = named ? named : "";
  PluginOperator op{.domain = "odd",
                    .name = "Odd",
                    .signature = "(x: T) -> (y: T) [T: float]",
                    .shape = same_shape,
                    .run = copy};
  if (fault == "no device") registry.add(std::shared_ptr<Backend>());
  if (fault == "no function") op.run = {};
  if (fault == "kernel without function") registry.add(PluginKernel{.op = "Hardmax", .name = "odd.hardmax"});
  if (fault == "name of a pass")
    registry.add(PluginPass{
        .name = "Bad Name,x", .backend = "cpu", .rewrite = [](auto&, auto, auto&) { return false; }});
  if (fault == "many shapes") op.shape = many_shapes;
  if (fault == "other type") op.shape = {}, op.run = give_integers;
  if (fault == "no output") op.run = give_nothing;
  if (fault == "input beyond") op.run = read_beyond;
  if (fault == "throws") op.run = [](KernelCall&) { throw std::string("text"); };
  registry.add(std::move(op));
}
