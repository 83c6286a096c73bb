#include <cmath>

#include "network/cases.h"

namespace lathe::network_cases {
namespace {

NetworkCase reduce(const std::string& name, ReduceOperation op, bool keep) {
  return {"reduce_" + name, [=](Network& n) {
            // exp: positive numbers, which every one of them takes
            const Layer x = n.add_unary(in(n, "x", {"N", 3, 4}), UnaryOperation::exp);
            out(n, n.add_reduce(x, op, {0, -1}, {.keep_dimensions = keep}));
          }};
}

}  // namespace

std::vector<NetworkCase> compute_cases() {
  std::vector<NetworkCase> list;
  auto add = [&](NetworkCase c) { list.push_back(std::move(c)); };
  // Convolutions and windows
  add({"convolution", [](Network& n) {
         out(n, n.add_convolution(
                    in(n, "x", {"N", 4, 7, 6}), n.add_constant(weights({6, 2, 3, 3}), "kernel"),
                    n.add_constant(weights({6}), "bias"),
                    {.stride = {2, 1}, .pre_padding = {1, 0}, .post_padding = {1, 1}, .groups = 2}));
       }});
  add({"convolution_1d_same", [](Network& n) {
         out(n, n.add_convolution(in(n, "x", {"N", 2, 9}), n.add_constant(weights({3, 2, 3})), {},
                                  {.stride = {2}, .padding_mode = PaddingMode::same_upper}));
       }});
  for (const auto& [name, mode] :
       {std::pair{"lower", PaddingMode::same_lower}, std::pair{"valid", PaddingMode::valid}})
    add({std::string("convolution_") + name, [mode](Network& n) {
           out(n, n.add_convolution(in(n, "x", {"N", 2, 9, 8}), n.add_constant(weights({3, 2, 4, 3})), {},
                                    {.stride = {2, 1}, .padding_mode = mode}));
         }});
  add({"convolution_3d_dilated", [](Network& n) {
         out(n, n.add_convolution(in(n, "x", {1, 1, 4, 5, 5}), n.add_constant(weights({2, 1, 2, 2, 2})), {},
                                  {.dilation = {1, 2, 2}}));
       }});
  add({"deconvolution", [](Network& n) {
         out(n, n.add_deconvolution(in(n, "x", {"N", 2, 3, 3}), n.add_constant(weights({2, 3, 3, 3})),
                                    n.add_constant(weights({3})),
                                    {.stride = {2, 2},
                                     .pre_padding = {1, 1},
                                     .post_padding = {1, 1},
                                     .output_padding = {1, 1}}));
       }});
  add({"fully_connected", [](Network& n) {
         out(n, n.add_fully_connected(in(n, "x", {"N", 2, 3}), n.add_constant(weights({4, 6})),
                                      n.add_constant(weights({4}))));
       }});
  for (const auto& [name, type] :
       {std::pair{"max", PoolingType::max}, std::pair{"average", PoolingType::average},
        std::pair{"blend", PoolingType::max_average_blend}}) {
    const PoolingType t = type;
    add({std::string("pooling_") + name, [t](Network& n) {
           out(n, n.add_pooling(in(n, "x", {"N", 2, 5, 5}), t,
                                {.window = {2, 3},
                                 .stride = {2, 2},
                                 .pre_padding = {0, 1},
                                 .post_padding = {0, 1},
                                 .round_up = true,
                                 .blend_factor = 0.25}));
         }});
    add({std::string("pooling_global_") + name, [t](Network& n) {
           out(n, n.add_pooling(in(n, "x", {"N", 2, 5, 5}), t));
         }});
  }
  add({"pooling_average_with_padding",
       [](Network& n) {
         out(n, n.add_pooling(in(n, "x", {1, 1, 2}), PoolingType::average,
                              {.window = {2}, .pre_padding = {1}, .average_count_excludes_padding = false}));
       },
       {{"x", floats({1, 1, 2}, {2, 4})}},
       {{"y", floats({1, 1, 2}, {1, 3})}}});
  add({"lrn", [](Network& n) {
         out(n, n.add_lrn(in(n, "x", {"N", 7, 2, 2}), {.window = 3, .alpha = 0.1f, .beta = 0.5f, .k = 2}));
       }});
  // Norms
  add({"normalization_layer", [](Network& n) {
         out(n, n.add_normalization(in(n, "x", {"N", "S", 8}), n.add_constant(weights({8})),
                                    n.add_constant(weights({8}, 9)), NormalizationType::layer,
                                    {.epsilon = 1e-3f}));
       }});
  add({"normalization_rms", [](Network& n) {
         out(n, n.add_normalization(in(n, "x", {"N", 8}), n.add_constant(weights({8})), {},
                                    NormalizationType::rms));
       }});
  add({"normalization_instance", [](Network& n) {
         out(n, n.add_normalization(in(n, "x", {"N", 3, 4, 4}), n.add_constant(weights({3})),
                                    n.add_constant(weights({3}, 9)), NormalizationType::instance));
       }});
  add({"normalization_group", [](Network& n) {
         out(n,
             n.add_normalization(in(n, "x", {"N", 4, 3}), n.add_constant(weights({4})),
                                 n.add_constant(weights({4}, 9)), NormalizationType::group, {.groups = 2}));
       }});
  add({"softmax", [](Network& n) { out(n, n.add_softmax(in(n, "x", {"N", 4, 3}), {.axis = 1})); }});
  const float e = std::exp(1.0f);
  add({"ragged_softmax",
       [](Network& n) {
         out(n,
             n.add_ragged_softmax(in(n, "x", {"N", "W"}), n.add_input("lengths", DataType::int32, {"N", 1})));
       },
       {{"x", floats({3, 3}, {1, 0, 9, 5, 5, 5, 1, 2, 3})}, {"lengths", tensor<int32_t>({3, 1}, {2, 3, 0})}},
       {{"y", floats({3, 3}, {e / (1 + e), 1 / (1 + e), 0, 1 / 3.f, 1 / 3.f, 1 / 3.f, 0, 0, 0})}}});
  add({"ragged_softmax_flat", [](Network& n) {
         out(n, n.add_ragged_softmax(in(n, "x", {"N", 4, 3}), n.add_constant(longs({1, 4}, {0, 1, 2, 3}))));
       }});
  // Products
  add({"matrix_multiply", [](Network& n) {
         out(n,
             n.add_matrix_multiply(in(n, "a", {"N", 4, 3}), in(n, "b", {"N", 5, 4}),
                                   {.op0 = MatrixOperation::transpose, .op1 = MatrixOperation::transpose}));
       }});
  add({"matrix_multiply_vectors",
       [](Network& n) {
         out(n, n.add_matrix_multiply(in(n, "a", {"N", 2}), in(n, "b", {"N", 2}),
                                      {.op0 = MatrixOperation::vector, .op1 = MatrixOperation::vector}));
       },
       {{"a", floats({2, 2}, {1, 2, 3, 4})}, {"b", floats({2, 2}, {5, 6, 7, 8})}},
       {{"y", floats({2}, {17, 53})}}});
  add({"matrix_multiply_vector_matrix", [](Network& n) {
         out(n, n.add_matrix_multiply(in(n, "a", {"N", 4}), in(n, "b", {"N", 4, 3}),
                                      {.op0 = MatrixOperation::vector}));
       }});
  add({"einsum", [](Network& n) {
         out(n, n.add_einsum({in(n, "a", {"N", 3, 4}), in(n, "b", {"N", 4, 5})}, "bij,bjk->bki"));
       }});
  using R = ReduceOperation;
  bool keep = false;
  for (const auto& [name, op] :
       {std::pair{"sum", R::sum}, std::pair{"prod", R::prod}, std::pair{"max", R::max},
        std::pair{"min", R::min}, std::pair{"avg", R::avg}, std::pair{"l1", R::l1}, std::pair{"l2", R::l2},
        std::pair{"log_sum", R::log_sum}, std::pair{"log_sum_exp", R::log_sum_exp},
        std::pair{"sum_square", R::sum_square}})
    add(reduce(name, op, keep = !keep));
  add({"reduce_all", [](Network& n) { out(n, n.add_reduce(in(n, "x", {"N", 3}), R::sum, {})); }});
  add({"topk", [](Network& n) {
         out(n, n.add_topk(in(n, "x", {"N", 6}), TopKOperation::max, 3, {.index_type = DataType::int32}));
       }});
  add({"topk_tensor",
       [](Network& n) {
         out(n, n.add_topk(in(n, "x", {"N", 6}), TopKOperation::min, n.add_input("k", DataType::int64, {1}),
                           {.axis = 1}));
       },
       {{"k", longs({1}, {2})}}});
  add({"cumulative_sum",
       [](Network& n) {
         out(n, n.add_cumulative(in(n, "x", {4}), CumulativeOperation::sum, 0,
                                 {.exclusive = true, .reverse = true}));
       },
       {{"x", floats({4}, {1, 2, 3, 4})}},
       {{"y", floats({4}, {9, 7, 4, 0})}}});
  add({"cumulative_prod",
       [](Network& n) { out(n, n.add_cumulative(in(n, "x", {4}), CumulativeOperation::prod, 0)); },
       {{"x", floats({4}, {1, 2, 3, 4})}},
       {{"y", floats({4}, {1, 2, 6, 24})}}});
  // Few bits
  add({"quantize", [](Network& n) {
         const auto x = in(n, "x", {"N", 4}), scale = n.add_constant(floats({}, {0.02f}));
         const auto zero = n.add_constant(tensor<uint8_t>({}, {128}));
         const Layer q = n.add_quantize(x, scale, zero, {.type = DataType::uint8});
         out(n, q, "q");
         out(n, n.add_dequantize(q, scale, zero));
       }});
  add({"quantize_beyond",  // what is too large becomes NaN
       [](Network& n) {
         const auto one = n.add_constant(floats({}, {1}));
         const Layer q =
             n.add_quantize(in(n, "x", {3}), one, {}, {.type = DataType::float8e4m3fn, .saturate = false});
         out(n, n.add_unary(n.add_dequantize(q, one), UnaryOperation::isnan));
       },
       {{"x", floats({3}, {1, 448, 1e6f})}},
       {{"y", bools({3}, {false, false, true})}}});
  add({"quantize_blocks", [](Network& n) {
         const auto scale = n.add_constant(floats({2, 2}, {0.1f, 0.2f, 0.3f, 0.4f}));
         const Layer q = n.add_quantize(in(n, "x", {2, 8}), scale, {},
                                        {.type = DataType::int4, .axis = 1, .block_size = 4});
         out(n, n.add_dequantize(q, scale, {}, {.axis = 1, .block_size = 4}));
       }});
  add({"dynamic_quantize",
       [](Network& n) {
         const Layer q = n.add_dynamic_quantize(in(n, "x", {"N", 4}),
                                                {.axis = 1, .block_size = 2, .type = DataType::int8});
         out(n, q, "q");
         out(n, n.add_dequantize(q, q.get_output(1), {}, {.axis = 1, .block_size = 2}));
       },
       {{"x", floats({2, 4}, {127, -1, 0, 0, 254, 2, -63.5f, 0.5f})}},
       {{"q0", tensor<int8_t>({2, 4}, {127, -1, 0, 0, 127, 1, -127, 1})},
        {"q1", floats({2, 2}, {1, 1, 2, 0.5f})},
        {"y", floats({2, 4}, {127, -1, 0, 0, 254, 2, -63.5f, 0.5f})}}});
  add({"dynamic_quantize_double", [](Network& n) {
         const Layer q = n.add_dynamic_quantize(
             in(n, "x", {4, 32, 3}), {.axis = 1, .double_scale = n.add_constant(floats({}, {0.01f}))});
         const Layer scales = n.add_dequantize(q.get_output(1), n.add_constant(floats({}, {0.01f})));
         out(n, n.add_dequantize(q, scales, {}, {.axis = 1, .block_size = 16}));
       }});
  add({"dynamic_quantize_scales", [](Network& n) {
         const Layer q = n.add_dynamic_quantize(in(n, "x", {"N", 32}),
                                                {.block_size = 8,
                                                 .type = DataType::int8,
                                                 .double_scale = n.add_constant(floats({}, {0.001f})),
                                                 .scale_type = DataType::uint8});
         const Layer scales = n.add_dequantize(q.get_output(1), n.add_constant(floats({}, {0.001f})));
         out(n, n.add_dequantize(q, scales, {}, {.axis = 1, .block_size = 8}));
       }});
  // Attention
  add({"attention", [](Network& n) {
         out(n, n.add_attention(in(n, "q", {"N", 2, "S", 8}), in(n, "k", {"N", 2, "S", 8}),
                                in(n, "v", {"N", 2, "S", 8}), {.causal = true, .softcap = 5}));
       }});
  add({"attention_packed_past",
       [](Network& n) {
         out(n,
             n.add_attention(in(n, "q", {"N", "S", 16}), in(n, "k", {"N", "S", 8}), in(n, "v", {"N", "S", 8}),
                             {.mask = in(n, "mask", {"S", "S + P"}),
                              .past_key = in(n, "past_k", {"N", 1, "P", 8}),
                              .past_value = in(n, "past_v", {"N", 1, "P", 8}),
                              .query_heads = 2,
                              .key_heads = 1,
                              .scale = 0.5f}));
       },
       {},
       {},
       {{"N", 2}, {"S", 3}, {"P", 4}}});
  add({"attention_windows", [](Network& n) {
         out(n, n.add_attention(in(n, "q", {"N", 2, 6, 8}), in(n, "k", {"N", 2, 6, 8}),
                                in(n, "v", {"N", 2, 6, 8}), {.left_window = 2, .right_window = 1}));
       }});
  add({"attention_lengths",
       [](Network& n) {
         out(n, n.add_attention(in(n, "q", {2, 1, 2, 4}), in(n, "k", {2, 1, 3, 4}), in(n, "v", {2, 1, 3, 4}),
                                {.lengths = n.add_input("lengths", DataType::int64, {2})}));
       },
       {{"lengths", longs({2}, {3, 2})}}});
  add({"rotary_embedding_part", [](Network& n) {
         out(n, n.add_rotary_embedding(in(n, "x", {"N", "S", 16}), in(n, "cos", {"N", "S", 2}),
                                       in(n, "sin", {"N", "S", 2}), {.rotary_size = 4, .heads = 2}));
       }});
  add({"rotary_embedding", [](Network& n) {
         out(n, n.add_rotary_embedding(
                    in(n, "x", {"N", 2, "S", 8}), in(n, "cos", {16, 4}), in(n, "sin", {16, 4}),
                    {.positions = n.add_input("at", DataType::int64, {"N", "S"}), .interleaved = true}));
       }});
  for (const auto mode : {KvCacheMode::linear, KvCacheMode::ring})
    add({std::string("kv_cache_update_") + (mode == KvCacheMode::ring ? "ring" : "linear"),
         [mode](Network& n) {
           out(n, n.add_kv_cache_update(in(n, "cache", {2, 1, 4, 1}), in(n, "update", {2, 1, 2, 1}),
                                        n.add_input("at", DataType::int64, {2}), {.mode = mode}));
         },
         {{"cache", floats({2, 1, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8})},
          {"update", floats({2, 1, 2, 1}, {10, 20, 30, 40})},
          {"at", longs({2}, {0, mode == KvCacheMode::ring ? 3 : 2})}},
         {{"y", mode == KvCacheMode::ring ? floats({2, 1, 4, 1}, {10, 20, 3, 4, 40, 6, 7, 30})
                                          : floats({2, 1, 4, 1}, {10, 20, 3, 4, 5, 6, 30, 40})}}});
  return list;
}

}  // namespace lathe::network_cases
