#include "exporters/emit.h"

#include <algorithm>
#include <set>

#include "base/error_about.h"
#include "lathe/network.h"
#include "lathe/version.h"

namespace lathe::exporters {
namespace {

/// Returns axes with the config's names; an axis that it does not name is as long as in a synthetic input.
Sizes sizes_of(const Axes& axes, const Tensor& example, bool fixed) {
  Sizes sizes;
  for (size_t i = 0; i < example.rank(); ++i) {
    const auto at = axes.find(static_cast<int>(i));
    if (at == axes.end() || fixed)
      sizes.emplace_back(example.dim(i));
    else
      sizes.emplace_back(at->second);
  }
  return sizes;
}

nn::Outputs run(const nn::Model& model, const OnnxConfig& config, Network& network,
                const nn::Inputs& inputs) {
  const ConfigBehavior behavior = config.options().behavior;
  if (behavior == ConfigBehavior::monolith) return model.forward(network, inputs);
  const auto* parts = dynamic_cast<const nn::Seq2SeqModel*>(&model);
  if (!parts)
    throw Error(Code::bad_argument, "export", "an architecture with an encoder and a decoder",
                "one that is whole", "derive it from nn::Seq2SeqModel, or export it with --monolith");
  return behavior == ConfigBehavior::encoder ? parts->encode(network, inputs)
                                             : parts->decode(network, inputs);
}

void mark_outputs(Network& network, const NamedAxes& wanted, const nn::Outputs& given) {
  for (const auto& [name, axes] : wanted) {
    const TensorRef t = given.find(name);
    if (!t) {
      std::string all;
      for (const auto& [known, tensor] : given) all += (all.empty() ? "" : ", ") + known;
      throw Error(Code::bad_argument, "export", "an output '" + name + "' of the architecture", "none",
                  "it gives " + all + "; the config's outputs() says what is wanted");
    }
    // Inputs, constants and tensors that are an output already cannot take another name.
    const bool own = !t.is_network_input() && !t.is_network_output() && !t.constant();
    network.mark_output(own ? t : TensorRef(network.add_identity(t)), name);
  }
}

/// Returns the names of sizes that the network's inputs have.
std::set<std::string> known_symbols(const Network& network) {
  std::set<std::string> all;
  for (const TensorRef& t : network.inputs())
    for (const Dim& d : t.shape())
      for (const std::string& s : d.symbols()) all.insert(s);
  return all;
}

/// Gives axes the config's names if they mean the same as the inferred size ("past + new", not "new + past"),
/// or if a part of them is no size of an input: a name of inputs alone for another size would be wrong. A sum
/// with a part that no input has is a size of its own, as that of keys and values without a past.
void name_axes(onnx::GraphProto& graph, const NamedAxes& names, const Network& network, bool outputs) {
  const std::set<std::string> known = known_symbols(network);
  for (onnx::ValueInfoProto& info : outputs ? graph.output : graph.input) {
    const Axes* axes = names.find(*info.name);
    if (!axes || !info.type || !info.type->tensor_type || !info.type->tensor_type->shape) continue;
    auto& dims = info.type->tensor_type->shape->dim;
    for (const auto& [axis, name] : *axes) {
      if (static_cast<size_t>(axis) >= dims.size())
        throw error_about(Code::node_bad_shape, "export", *info.name,
                          "an axis " + std::to_string(axis) + " called '" + name + "'",
                          std::to_string(dims.size()) + " axes");
      auto& dim = dims[static_cast<size_t>(axis)];
      if (dim.dim_value) continue;
      const Dim declared = Dim::parse(name);
      const bool same = dim.dim_param && Dim::parse(*dim.dim_param) == declared;
      const bool free =
          !std::ranges::all_of(declared.symbols(), [&](const std::string& s) { return known.contains(s); });
      if (same || free) dim.dim_param = name;
    }
  }
}

}  // namespace

onnx::Model emit(nn::Model& model, const OnnxConfig& config, const EmitOptions& options) {
  Network network(options.name);
  const NamedAxes axes = config.ordered_inputs();
  const Ordered<Tensor> examples = config.file_inputs(options.shapes);
  nn::Inputs inputs;
  for (const auto& [name, named] : axes) {
    const Tensor& example = *examples.find(name);
    inputs.set(name,
               network.add_input(name, example.type(), sizes_of(named, example, options.no_dynamic_axes)));
  }
  const NamedAxes wanted = config.outputs();
  {
    const nn::Emission emission(network, model, {}, config.patching_specs());
    mark_outputs(network, wanted, run(model, config, network, inputs));
  }
  network.remove_unused();
  onnx::Model made = network.to_model(options.opset);
  made.proto.producer_name = "lathe";
  made.proto.producer_version = std::string(version());
  name_axes(*made.proto.graph, axes, network, false);
  name_axes(*made.proto.graph, wanted, network, true);
  return made;
}

}  // namespace lathe::exporters
