// Every module of the library, with weights that are made up.
#include <cmath>

#include "lathe/nn.h"
#include "network/cases.h"

namespace lathe::network_cases {
namespace {

using Refs = std::vector<TensorRef>;

void fill(nn::Module& m) {
  uint64_t seed = 20;
  for (const nn::NamedParameter& p : m.named_parameters()) {
    nn::Parameter handle = p.parameter;
    Tensor t = random_tensor(handle.type(), handle.shape(), seed++);
    if (p.name.ends_with("running_var"))
      for (float& x : t.as<float>()) x = 0.5f + std::abs(x);
    handle.value = t;
  }
}

/// `call` returns the results for inputs of these shapes.
template <class M>
NetworkCase module(const std::string& name, M m, const std::vector<Sizes>& inputs,
                   std::function<Refs(const M&, const Refs&)> call) {
  return {.name = "module_" + name, .build = [=](Network& n) {
            M made = m;
            fill(made);
            Refs given;
            for (const Sizes& shape : inputs)
              given.push_back(in(n, "x" + std::to_string(given.size()), shape));
            Refs results;
            {
              const nn::Emission emission(n, made);
              results = call(made, given);
            }
            for (size_t i = 0; i < results.size(); ++i) n.mark_output(results[i], "y" + std::to_string(i));
          }};
}
/// A module that takes one tensor.
template <class M>
NetworkCase module(const std::string& name, M m, const Sizes& x) {
  return module<M>(name, std::move(m), {x}, [](const M& made, const Refs& in) { return Refs{made(in[0])}; });
}

nn::Lora low_rank(double scale) {
  nn::Lora l(nn::Linear(4, 3), 2, 4);
  l.scale = scale;
  return l;
}

NetworkCase attention(const std::string& name, const nn::AttentionModuleOptions& o, bool cross = false) {
  std::vector<Sizes> inputs = {{"N", "S", 8}};
  if (cross) inputs.push_back({"N", 5, 6});
  return module<nn::Attention>("attention_" + name, nn::Attention(8, 4, o), inputs,
                               [=](const nn::Attention& a, const Refs& in) {
                                 const auto y = a(in[0], {.memory = cross ? in[1] : TensorRef()});
                                 return Refs{y.output, y.present.key, y.present.value};
                               });
}

NetworkCase rope(const std::string& name, const nn::RopeOptions& o) {
  return module<nn::Rope>("rope_" + name, nn::Rope(8, o), {{"N", 2, "S", 8}},
                          [](const nn::Rope& r, const Refs& in) {
                            const nn::Ops ops(r, in[0]);
                            const TensorRef at = ops.unsqueeze(ops.range(ops.size(in[0], 2)), {0});
                            return Refs{r(in[0], r.angles(at))};
                          });
}

}  // namespace

std::vector<NetworkCase> module_cases() {
  std::vector<NetworkCase> list = {
      module("linear", nn::Linear(4, 3), {"N", "S", 4}),
      module("linear_transposed", nn::Linear(4, 3, {.bias = false, .transposed = true}), {"N", 4}),
      module("lora", low_rank(0.5), {"N", 4}),
      module("lora_off", low_rank(0), {"N", 4}),
      module("layer_norm", nn::LayerNorm(4), {"N", "S", 4}),
      module("rms_norm", nn::RmsNorm(4, {.plus_one = true}), {"N", "S", 4}),
      module("group_norm", nn::GroupNorm(2, 4), {"N", 4, 3, 3}),
      module("batch_norm", nn::BatchNorm(4), {"N", 4, 3}),
      module("conv_1d", nn::Conv1d(2, 4, {3}, {.stride = {2}, .padding = {1}}), {"N", 2, 9}),
      module("conv_2d", nn::Conv2d(4, 4, {3}, {.padding = {1}, .groups = 2}), {"N", 4, 5, 6}),
      module("conv_3d", nn::Conv3d(1, 2, {2}, {.dilation = {1, 2, 2}, .bias = false}), {1, 1, 4, 5, 5}),
      module("conv_transpose_2d",
             nn::ConvTranspose2d(2, 3, {3}, {.stride = {2}, .padding = {1}, .output_padding = {1}}),
             {"N", 2, 4, 4}),
      module("max_pool", nn::MaxPool({2, 2}), {"N", 2, 6, 6}),
      module("avg_pool", nn::AvgPool({3}, {.stride = {2}, .padding = {1}, .count_padding = false}),
             {"N", 2, 7}),
      module("global_avg_pool", nn::GlobalAvgPool(), {"N", 2, 3, 4}),
      module("cast", nn::Cast(DataType::float16), {"N", 3}),
      module("mlp", nn::Mlp(4, 6, {.activation = "gelu_new"}), {"N", "S", 4}),
      module("gated_mlp", nn::GatedMlp(4, 6), {"N", "S", 4}),
      attention("causal", {.causal = true}),
      attention("groups_rope_window",
                {.groups = 2, .bias = false, .causal = true, .window = 2, .rope = nn::RopeOptions{}}),
      attention("alibi", {.causal = true, .alibi = true}),
      attention("cross", {.memory_size = 6, .softcap = 5}, true),
      rope("pairs", {.interleaved = true}),
      rope("part_linear", {.type = "linear", .factor = 2, .partial = 0.5}),
      rope("dynamic", {.type = "dynamic", .factor = 2, .max_positions = 2}),
      rope("llama3", {.type = "llama3", .factor = 8, .max_positions = 64, .original_max_positions = 8}),
      rope("yarn", {.type = "yarn", .factor = 4, .max_positions = 64, .original_max_positions = 16}),
      rope("longrope", {.type = "longrope",
                        .factor = 2,
                        .max_positions = 4,
                        .original_max_positions = 2,
                        .short_factor = {1, 1, 1, 1},
                        .long_factor = {1, 2, 3, 4}}),
  };
  for (const char* name : {"gelu", "quick_gelu", "silu", "mish", "relu2", "hardswish"})
    list.push_back(module(std::string("activation_") + name, nn::Activation(name), {"N", 5}));
  NetworkCase embedding{.name = "module_embedding", .build = [](Network& n) {
                          nn::Embedding e(10, 4);
                          fill(e);
                          const auto ids = n.add_input("ids", DataType::int64, {"N", 2});
                          const nn::Emission emission(n, e);
                          n.mark_output(e(ids), "y");
                        }};
  embedding.inputs = {{"ids", longs({2, 2}, {0, 9, 3, 3})}};
  list.push_back(embedding);
  const auto all_of = [](const nn::RecurrentResult& r) {
    Refs results = {r.output, r.hidden};
    if (r.cell) results.push_back(r.cell);
    return results;
  };
  list.push_back(
      module<nn::Lstm>("lstm", nn::Lstm(3, 2, {.layers = 2, .batch_first = true, .bidirectional = true}),
                       {{"N", "S", 3}}, [=](const nn::Lstm& l, const Refs& in) { return all_of(l(in[0])); }));
  list.push_back(module<nn::Gru>("gru", nn::Gru(3, 2), {{"S", "N", 3}, {1, "N", 2}},
                                 [=](const nn::Gru& g, const Refs& in) { return all_of(g(in[0], in[1])); }));
  return list;
}

}  // namespace lathe::network_cases
