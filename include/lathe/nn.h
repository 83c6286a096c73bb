// Networks made of modules: trees of layers with named parameters, which take their weights from a checkpoint
// or one by one, and append themselves to a Network (lathe/network.h). docs/guide/modules.md shows how.
//
//   struct Classifier : lathe::nn::Module {
//     lathe::nn::Linear hidden{16, 32}, out{32, 4};
//     void fields(lathe::nn::Fields& f) override { f("hidden", hidden); f("out", out); }
//     lathe::TensorRef operator()(const lathe::TensorRef& x) const { return out(lathe::nn::relu(hidden(x)));
//     }
//   };
//   Classifier c;
//   c.bind(lathe::Checkpoint::open("model.safetensors"));
//   lathe::Network n;
//   auto x = n.add_input("x", lathe::DataType::float32, {"N", 16});
//   lathe::nn::Emission emission(n, c);
//   n.mark_output(c(x), "y");
#pragma once

#include "lathe/nn/attention.h"
#include "lathe/nn/layers.h"
#include "lathe/nn/model.h"
#include "lathe/nn/module.h"
#include "lathe/nn/ops.h"
