// Options that few models use, and families at other ranks and types.
#include "network/cases.h"

namespace lathe::network_cases {
namespace {

/// The modes that find the pads themselves.
const std::vector<std::pair<std::string, PaddingMode>> padding_modes = {
    {"upper", PaddingMode::same_upper}, {"lower", PaddingMode::same_lower}, {"valid", PaddingMode::valid}};

}  // namespace

std::vector<NetworkCase> option_cases() {
  std::vector<NetworkCase> list;
  auto add = [&](NetworkCase c) { list.push_back(std::move(c)); };
  // Windows
  add({"convolution_kernel_given", [](Network& n) {
         out(n, n.add_convolution(in(n, "x", {"N", 2, 6, 5}), in(n, "kernel", {3, 2, 3, 2}),
                                  in(n, "bias", {3}), {.post_padding = {0, 1}}));
       }});
  add({"deconvolution_groups_dilated", [](Network& n) {
         out(n, n.add_deconvolution(in(n, "x", {"N", 4, 3, 4}), n.add_constant(weights({4, 3, 2, 3})),
                                    n.add_constant(weights({6})), {.dilation = {2, 1}, .groups = 2}));
       }});
  for (const auto& [name, mode] : padding_modes) {
    add({"deconvolution_" + name, [mode](Network& n) {
           out(n, n.add_deconvolution(in(n, "x", {"N", 2, 4, 3}), n.add_constant(weights({2, 3, 3, 4})), {},
                                      {.stride = {2, 1}, .padding_mode = mode}));
         }});
    for (const auto type : {PoolingType::max, PoolingType::average})
      add({"pooling_" + name + (type == PoolingType::max ? "_max" : "_average"), [mode, type](Network& n) {
             out(n, n.add_pooling(in(n, "x", {"N", 2, 7, 6}), type,
                                  {.window = {3, 2}, .stride = {2, 2}, .padding_mode = mode}));
           }});
  }
  add({"deconvolution_1d",
       [](Network& n) {
         out(n, n.add_deconvolution(in(n, "x", {1, 1, 3}), n.add_constant(floats({1, 1, 2}, {1, 10})), {},
                                    {.stride = {2}}));
       },
       {{"x", floats({1, 1, 3}, {1, 2, 3})}},
       {{"y", floats({1, 1, 6}, {1, 10, 2, 20, 3, 30})}}});
  add({"deconvolution_3d", [](Network& n) {
         out(n, n.add_deconvolution(in(n, "x", {"N", 2, 3, 2, 2}), n.add_constant(weights({2, 1, 2, 2, 3})),
                                    n.add_constant(weights({1})), {.stride = {2, 1, 2}}));
       }});
  add({"pooling_dilated",
       [](Network& n) {
         out(n, n.add_pooling(in(n, "x", {1, 1, 6}), PoolingType::max, {.window = {2}, .dilation = {3}}));
       },
       {{"x", floats({1, 1, 6}, {6, 2, 3, 4, 5, 1})}},
       {{"y", floats({1, 1, 3}, {6, 5, 3})}}});
  add({"pooling_3d", [](Network& n) {
         out(n, n.add_pooling(in(n, "x", {"N", 2, 4, 3, 5}), PoolingType::average,
                              {.window = {2, 3, 2}, .stride = {2, 1, 1}, .pre_padding = {0, 1, 1}}));
       }});
  // Axes other than the usual ones
  add({"fully_connected_axis", [](Network& n) {
         out(n, n.add_fully_connected(in(n, "x", {"N", 2, 3}), n.add_constant(weights({4, 3})),
                                      n.add_constant(weights({4})), {.axis = 2}));
       }});
  add({"scale_axis",
       [](Network& n) {
         out(n, n.add_scale(in(n, "x", {1, 2, 2}), {.scale = n.add_constant(floats({2}, {2, 3})),
                                                    .shift = n.add_constant(floats({2}, {0, -1})),
                                                    .axis = 2}));
       },
       {{"x", floats({1, 2, 2}, {1, 2, 3, 4})}},
       {{"y", floats({1, 2, 2}, {2, 5, 6, 11})}}});
  add({"scale_elements", [](Network& n) {
         out(n, n.add_scale(in(n, "x", {2, 3}), {.scale = n.add_constant(weights({2, 3})),
                                                 .shift = n.add_constant(weights({2, 3}, 9))}));
       }});
  for (const auto type : {NormalizationType::layer, NormalizationType::rms})
    add({std::string("normalization_axis_") + (type == NormalizationType::layer ? "layer" : "rms"),
         [type](Network& n) {
           out(n, n.add_normalization(in(n, "x", {"N", 3, 4}), n.add_constant(weights({3, 4})), {}, type,
                                      {.axis = 1}));
         }});
  add({"one_hot_axis",
       [](Network& n) {
         out(n, n.add_one_hot(n.add_input("i", DataType::int64, {3}), n.add_constant(floats({2}, {0, 5})),
                              n.add_constant(longs({}, {2})), 0));
       },
       {{"i", longs({3}, {1, 0, 1})}},
       {{"y", floats({2, 3}, {0, 5, 0, 5, 0, 5})}}});
  // Products
  add({"matrix_multiply_matrix_vector",
       [](Network& n) {
         out(n, n.add_matrix_multiply(in(n, "a", {2, 2}), in(n, "b", {2}), {.op1 = MatrixOperation::vector}));
       },
       {{"a", floats({2, 2}, {1, 2, 3, 4})}, {"b", floats({2}, {10, 1})}},
       {{"y", floats({2}, {12, 34})}}});
  add({"einsum_ellipsis", [](Network& n) {
         out(n, n.add_einsum({in(n, "a", {"N", 2, 3, 4}), in(n, "b", {4, 5})}, "...ij,jk->...ki"));
       }});
  add({"einsum_diagonal",
       [](Network& n) {
         out(n, n.add_einsum({in(n, "x", {2, 2})}, "ii->i"));
       },
       {{"x", floats({2, 2}, {1, 2, 3, 4})}},
       {{"y", floats({2}, {1, 4})}}});
  add({"scatter_nd_add",
       [](Network& n) {
         out(n, n.add_scatter(in(n, "x", {2, 2}), n.add_constant(longs({2, 2}, {1, 0, 1, 0})),
                              n.add_constant(floats({2}, {10, 20})),
                              {.mode = ScatterMode::nd, .reduction = ScatterReduction::add}));
       },
       {{"x", floats({2, 2}, {1, 2, 3, 4})}},
       {{"y", floats({2, 2}, {1, 2, 33, 4})}}});
  // Volumes
  for (const auto mode : {InterpolationMode::linear, InterpolationMode::nearest})
    add({std::string("resize_volume_") + (mode == InterpolationMode::linear ? "linear" : "nearest"),
         [mode](Network& n) {
           out(n, n.add_resize(in(n, "x", {"N", 1, 3, 2, 4}), {.sizes = {"N", 1, 5, 4, 3}, .mode = mode}));
         }});
  // Making
  for (const auto type : {DataType::float64, DataType::int16, DataType::int32, DataType::int64})
    add({"fill_linspace_" + std::string(name_of(type)), [type](Network& n) {
           n.add_input("x", DataType::float32, {"N"});
           out(n, n.add_fill({"N", 3}, FillOperation::linspace, {.alpha = -4, .beta = {7, 2}, .type = type}));
         }});
  for (const auto op : {FillOperation::random_uniform, FillOperation::random_normal})
    add({std::string("fill_shape_given_") + (op == FillOperation::random_normal ? "normal" : "uniform"),
         [op](Network& n) {
           out(n, n.add_fill(n.add_input("shape", DataType::int64, {2}), op, {.seed = 5}));
         },
         {{"shape", longs({2}, {3, 4})}}});
  // Few bits: a scale for every row, and the narrow types, there and back
  add({"quantize_rows",
       [](Network& n) {
         const auto scale = n.add_constant(floats({2}, {0.5f, 2})),
                    zero = n.add_constant(tensor<int8_t>({2}, {1, -1}));
         const Layer q = n.add_quantize(in(n, "x", {2, 2}), scale, zero, {.axis = 0});
         out(n, q, "q");
         out(n, n.add_dequantize(q, scale, zero, {.axis = 0}));
       },
       {{"x", floats({2, 2}, {1, -2, 6, 1000})}},
       {{"q", tensor<int8_t>({2, 2}, {3, -3, 2, 127})}, {"y", floats({2, 2}, {1, -2, 6, 256})}}});
  for (const auto type : {DataType::float8e4m3fn, DataType::float8e5m2, DataType::float4e2m1, DataType::uint4,
                          DataType::int2, DataType::uint2, DataType::int16})
    add({"quantize_" + std::string(name_of(type)), [type](Network& n) {
           const auto scale = n.add_constant(floats({}, {0.5f}));
           out(n, n.add_dequantize(n.add_quantize(in(n, "x", {"N", 6}), scale, {}, {.type = type}), scale));
         }});
  add({"dynamic_quantize_float8", [](Network& n) {
         const Layer q =
             n.add_dynamic_quantize(in(n, "x", {"N", 8}), {.block_size = 4, .type = DataType::float8e4m3fn});
         out(n, n.add_dequantize(q, q.get_output(1), {}, {.axis = 1, .block_size = 4}));
       }});
  // Attention
  add({"attention_mask_of_truths",
       [](Network& n) {
         out(n, n.add_attention(in(n, "q", {"N", 1, 2, 4}), in(n, "k", {"N", 1, 3, 4}),
                                in(n, "v", {"N", 1, 3, 4}),
                                {.mask = n.add_input("mask", DataType::boolean, {2, 3})}));
       },
       {{"mask", bools({2, 3}, {true, false, true, false, true, true})}}});
  add({"kv_cache_update_from_the_start",
       [](Network& n) {
         out(n,
             n.add_kv_cache_update(in(n, "cache", {1, 4, 1}), in(n, "update", {1, 2, 1}), {}, {.axis = 1}));
       },
       {{"cache", floats({1, 4, 1}, {1, 2, 3, 4})}, {"update", floats({1, 2, 1}, {10, 20})}},
       {{"y", floats({1, 4, 1}, {10, 20, 3, 4})}}});
  // A loop that ends by whichever comes first
  for (const int64_t trips : {2, 9})
    add({"loop_count_or_while_" + std::to_string(trips),
         [trips](Network& n) {
           const auto x = in(n, "x", {}), limit = n.add_constant(floats({}, {20}), "limit");
           out(n, n.add_loop(
                      {.trip_limit = n.add_constant(longs({}, {trips})),
                       .initial_condition = n.add_constant(bools({}, {true}))},
                      [&](LoopBody& b) {
                        const TensorRef v = b.add_recurrence(x);
                        const Layer next = b.network().add_elementwise(v, v, ElementWiseOperation::sum);
                        b.set_next(v, next);
                        b.set_condition(b.network().add_elementwise(next, limit, ElementWiseOperation::less));
                        b.add_output(v, LoopOutput::last_value);
                      }));
         },
         {{"x", floats({}, {3})}},
         {{"y", floats({}, {trips == 2 ? 12.f : 24.f})}}});
  return list;
}

}  // namespace lathe::network_cases
