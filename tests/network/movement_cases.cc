#include "network/cases.h"

namespace lathe::network_cases {
namespace {

NetworkCase slice(const std::string& name, SliceMode mode, std::vector<float> want) {
  // Rows 1, 0, -1 and columns -2, 0, 2, 4 of [[0, 1, 2], [3, 4, 5]].
  return {"slice_" + name,
          [=](Network& n) {
            out(n, n.add_slice(in(n, "x", {2, "W"}), {1, -2}, {3, 4}, {-1, 2},
                               {.mode = mode,
                                .fill_value = mode == SliceMode::fill ? n.add_constant(floats({}, {9}))
                                                                      : TensorRef()}));
          },
          {{"x", floats({2, 3}, {0, 1, 2, 3, 4, 5})}},
          {{"y", floats({3, 4}, want)}}};
}

}  // namespace

std::vector<NetworkCase> movement_cases() {
  std::vector<NetworkCase> list;
  auto add = [&](NetworkCase c) { list.push_back(std::move(c)); };
  add({"gather", [](Network& n) {
         out(n, n.add_gather(in(n, "x", {"N", 4}), n.add_constant(longs({2, 2}, {3, 0, 1, 1})), {.axis = 1}));
       }});
  add({"gather_batched",
       [](Network& n) {
         out(n, n.add_gather(in(n, "x", {2, 2, 3}), n.add_input("i", DataType::int32, {2, 2}),
                             {.axis = 2, .batch_axes = 1}));
       },
       {{"x", floats({2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})},
        {"i", tensor<int32_t>({2, 2}, {2, 0, 1, 1})}},
       {{"y", floats({2, 2, 2}, {2, 0, 5, 3, 7, 7, 10, 10})}}});
  add({"gather_elements",
       [](Network& n) {
         out(n, n.add_gather(in(n, "x", {2, 2}), n.add_constant(longs({2, 2}, {1, 0, 0, 0})),
                             {.mode = GatherMode::elements, .axis = 1}));
       },
       {{"x", floats({2, 2}, {1, 2, 3, 4})}},
       {{"y", floats({2, 2}, {2, 1, 3, 3})}}});
  add({"gather_nd", [](Network& n) {
         out(n, n.add_gather(in(n, "x", {"N", 3, 4}), n.add_constant(longs({2, 1, 2}, {2, 3, 0, 1})),
                             {.mode = GatherMode::nd, .batch_axes = 1}));
       }});
  add({"scatter_elements", [](Network& n) {
         out(n, n.add_scatter(in(n, "x", {2, 3}), n.add_constant(longs({2, 1}, {2, 0})), in(n, "u", {2, 1}),
                              {.axis = 1, .reduction = ScatterReduction::add}));
       }});
  for (const auto& [name, how, want] :
       {std::tuple{"mul", ScatterReduction::mul, std::vector<float>{1, 2, 90}},
        std::tuple{"max", ScatterReduction::max, std::vector<float>{1, 2, 6}},
        std::tuple{"min", ScatterReduction::min, std::vector<float>{1, 2, 3}}})
    add({std::string("scatter_") + name,
         [how](Network& n) {
           out(n, n.add_scatter(in(n, "x", {3}), n.add_constant(longs({2}, {2, 2})),
                                n.add_constant(floats({2}, {5, 6})), {.reduction = how}));
         },
         {{"x", floats({3}, {1, 2, 3})}},
         {{"y", floats({3}, want)}}});
  add({"scatter_nd", [](Network& n) {
         out(n, n.add_scatter(in(n, "x", {4, "S"}), n.add_constant(longs({2, 1}, {3, 1})),
                              in(n, "u", {2, "S"}), {.mode = ScatterMode::nd}));
       }});
  add({"one_hot", [](Network& n) {
         out(n, n.add_one_hot(n.add_input("i", DataType::int64, {"N"}), n.add_constant(floats({2}, {-1, 1})),
                              n.add_constant(longs({}, {3}))));
       }});
  add({"non_zero",
       [](Network& n) {
         out(n, n.add_non_zero(in(n, "x", {2, 2})));
       },
       {{"x", floats({2, 2}, {0, 1, 2, 0})}},
       {{"y", longs({2, 2}, {0, 1, 1, 0})}}});
  add({"nms",
       [](Network& n) {
         out(n, n.add_nms(in(n, "boxes", {1, "B", 4}), in(n, "scores", {1, 1, "B"}),
                          n.add_constant(longs({1}, {3})), {.iou_threshold = 0.5f, .score_threshold = 0.1f}));
       },
       {{"boxes", floats({1, 3, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 5, 1, 6})},
        {"scores", floats({1, 1, 3}, {0.9f, 0.8f, 0.7f})}},
       {{"y0", longs({2, 3}, {0, 0, 0, 0, 0, 2})}, {"y1", longs({}, {2})}}});
  add({"nms_center",
       [](Network& n) {
         out(n, n.add_nms(in(n, "boxes", {1, "B", 4}), in(n, "scores", {1, 1, "B"}),
                          n.add_constant(longs({1}, {3})),
                          {.iou_threshold = 0.5f, .boxes = BoxFormat::center_size}));
       },
       {{"boxes", floats({1, 3, 4}, {0.5f, 0.5f, 1, 1, 0.5f, 0.6f, 1, 1, 5.5f, 0.5f, 1, 1})},
        {"scores", floats({1, 1, 3}, {0.9f, 0.8f, 0.7f})}},
       {{"y0", longs({2, 3}, {0, 0, 0, 0, 0, 2})}, {"y1", longs({}, {2})}}});
  add({"shuffle_zero",  // a size of 0, not a copied one
       [](Network& n) {
         out(n, n.add_shuffle(in(n, "x", {0, 4}), {.reshape = Sizes{2, 0}, .zero_is_placeholder = false}));
       },
       {{"x", floats({0, 4}, {})}},
       {{"y", floats({2, 0}, {})}}});
  add({"shuffle", [](Network& n) {
         out(n, n.add_shuffle(in(n, "x", {"N", 3, 4}), {.first_transpose = {0, 2, 1},
                                                        .reshape = Sizes{0, inferred_size, 2},
                                                        .second_transpose = {2, 0, 1}}));
       }});
  add({"shuffle_tensor",
       [](Network& n) {
         out(n, n.add_shuffle(in(n, "x", {"N", 6}),
                              {.reshape_tensor = n.add_input("to", DataType::int64, {2})}));
       },
       {{"to", longs({2}, {3, -1})}}});
  add({"reshape_symbols", [](Network& n) {
         out(n, n.add_reshape(in(n, "x", {"N", "S", 4}), {"2*N", "S", 2}));
       }});
  add({"reshape_one_symbol", [](Network& n) {
         out(n, n.add_reshape(in(n, "x", {"N", "S", 4}), {"N*S", 4}));
       }});
  add({"transpose", [](Network& n) { out(n, n.add_transpose(in(n, "x", {"N", 3, 4}), {1, 2, 0})); }});
  add({"expand", [](Network& n) { out(n, n.add_expand(in(n, "x", {"N", 1}), {2, "N", "floor(N/2) + 2"})); }});
  add({"shape_of",
       [](Network& n) {
         in(n, "x", {"N", "S"});
         out(n, n.add_shape_of({"N", "N*S + 1", "floor(S/2)", "max(N, S)", "min(N, S)", 7}));
       },
       {},
       {{"y", longs({6}, {2, 7, 1, 3, 2, 7})}}});
  add({"slice_strict", [](Network& n) {
         out(n, n.add_slice(in(n, "x", {"N", 5, 6}), {4, 1}, {3, 2}, {-2, 3}, {.axes = {1, 2}}));
       }});
  add(slice("wrap", SliceMode::wrap, {4, 3, 5, 4, 1, 0, 2, 1, 4, 3, 5, 4}));
  add(slice("clamp", SliceMode::clamp, {3, 3, 5, 5, 0, 0, 2, 2, 0, 0, 2, 2}));
  add(slice("fill", SliceMode::fill, {9, 3, 5, 9, 9, 0, 2, 9, 9, 9, 9, 9}));
  add(slice("reflect", SliceMode::reflect, {5, 3, 5, 3, 2, 0, 2, 0, 5, 3, 5, 3}));
  add({"slice_tensors",
       [](Network& n) {
         const auto start = n.add_input("start", DataType::int64, {2}),
                    size = n.add_input("size", DataType::int64, {2}),
                    stride = n.add_input("stride", DataType::int64, {2});
         const auto x = in(n, "x", {2, 3});
         out(n, n.add_slice(x, start, size, stride));
         out(n, n.add_slice(x, start, size, stride, {.mode = SliceMode::wrap}), "wrapped");
       },
       {{"x", floats({2, 3}, {0, 1, 2, 3, 4, 5})},
        {"start", longs({2}, {1, 0})},
        {"size", longs({2}, {2, 2})},
        {"stride", longs({2}, {-1, 2})}},
       {{"y", floats({2, 2}, {3, 5, 0, 2})}, {"wrapped", floats({2, 2}, {3, 5, 0, 2})}}});
  add({"padding",
       [](Network& n) {
         out(n, n.add_padding(in(n, "x", {1, 2, 2}), {1, -1}, {0, 1}));
       },
       {{"x", floats({1, 2, 2}, {1, 2, 3, 4})}},
       {{"y", floats({1, 3, 2}, {0, 0, 2, 0, 4, 0})}}});
  add({"padding_reflect", [](Network& n) {
         out(n, n.add_padding(in(n, "x", {"N", 4}), {2}, {1}, {.fill = PaddingFill::reflect, .axes = {1}}));
       }});
  for (const auto& [name, fill, want] :
       {std::tuple{"edge", PaddingFill::edge, std::vector<float>{1, 1, 1, 2, 3, 3}},
        std::tuple{"wrap", PaddingFill::wrap, std::vector<float>{2, 3, 1, 2, 3, 1}}})
    add({std::string("padding_") + name,
         [fill](Network& n) { out(n, n.add_padding(in(n, "x", {3}), {2}, {1}, {.fill = fill})); },
         {{"x", floats({3}, {1, 2, 3})}},
         {{"y", floats({6}, want)}}});
  add({"padding_value",
       [](Network& n) {
         out(n, n.add_padding(in(n, "x", {2}), {1}, {1}, {.value = n.add_constant(floats({}, {9}))}));
       },
       {{"x", floats({2}, {1, 2})}},
       {{"y", floats({4}, {9, 1, 2, 9})}}});
  add({"concatenation", [](Network& n) {
         out(n, n.add_concatenation({in(n, "a", {"N", 2}), in(n, "b", {"N", 3})}, 1));
       }});
  add({"squeeze", [](Network& n) { out(n, n.add_squeeze(in(n, "x", {"N", 1, 2, 1}), {1, -1})); }});
  add({"unsqueeze", [](Network& n) { out(n, n.add_unsqueeze(in(n, "x", {"N", 2}), {0, 3})); }});
  add({"shape", [](Network& n) { out(n, n.add_shape(in(n, "x", {"N", 2, "S"}))); }});
  add({"resize_scales", [](Network& n) {
         out(n, n.add_resize(in(n, "x", {"N", 2, 3, 3}),
                             {.scales = {1, 1, 2, 1.5f}, .mode = InterpolationMode::linear}));
       }});
  add({"resize_sizes", [](Network& n) {
         n.add_input("other", DataType::float32, {"S"});
         out(n, n.add_resize(in(n, "x", {"N", 1, 4, 4}),
                             {.sizes = {"N", 1, 6, "2*S"},
                              .mode = InterpolationMode::cubic,
                              .coordinates = CoordinateTransformation::align_corners}));
       }});
  add({"resize_nearest", [](Network& n) {
         out(n,
             n.add_resize(in(n, "x", {1, 1, 3, 3}), {.sizes_tensor = n.add_constant(longs({4}, {1, 1, 5, 7})),
                                                     .coordinates = CoordinateTransformation::asymmetric,
                                                     .rounding = NearestRounding::floor}));
       }});
  for (const auto& [name, coordinates, rounding] :
       {std::tuple{"pytorch", CoordinateTransformation::pytorch_half_pixel,
                   NearestRounding::round_prefer_ceil},
        std::tuple{"symmetric", CoordinateTransformation::half_pixel_symmetric, NearestRounding::ceil}})
    add({std::string("resize_") + name, [coordinates, rounding](Network& n) {
           const auto x = in(n, "x", {"N", 1, 4, 5});
           out(n, n.add_resize(
                      x, {.scales = {1, 1, 1.5f, 0.7f}, .coordinates = coordinates, .rounding = rounding}));
           out(n,
               n.add_resize(
                   x,
                   {.sizes = {"N", 1, 1, 7}, .mode = InterpolationMode::linear, .coordinates = coordinates}),
               "z");
         }});
  add({"resize_antialias", [](Network& n) {
         const auto x = in(n, "x", {"N", 1, 6, 7});
         out(n, n.add_resize(
                    x, {.sizes = {"N", 1, 3, 4}, .mode = InterpolationMode::linear, .antialias = true}));
         out(n,
             n.add_resize(x, {.sizes = {"N", 1, 9, 9},
                              .mode = InterpolationMode::cubic,
                              .cubic_coefficient = -0.5f,
                              .exclude_outside = true}),
             "z");
       }});
  for (const auto& [name, mode] :
       {std::pair{"nearest", InterpolationMode::nearest}, std::pair{"cubic", InterpolationMode::cubic}})
    add({std::string("grid_sample_") + name, [mode](Network& n) {
           out(n, n.add_grid_sample(in(n, "x", {"N", 2, 4, 4}), in(n, "grid", {"N", 3, 3, 2}),
                                    {.mode = mode, .padding = GridPadding::reflection}));
         }});
  add({"grid_sample", [](Network& n) {
         out(n, n.add_grid_sample(in(n, "x", {"N", 2, 4, 4}), in(n, "grid", {"N", 3, 3, 2}),
                                  {.padding = GridPadding::border, .align_corners = true}));
       }});
  add({"reverse_sequence",
       [](Network& n) {
         out(n, n.add_reverse_sequence(in(n, "x", {2, 3}), n.add_input("lengths", DataType::int64, {2}),
                                       {.batch_axis = 0, .sequence_axis = 1}));
       },
       {{"x", floats({2, 3}, {1, 2, 3, 4, 5, 6})}, {"lengths", longs({2}, {2, 3})}},
       {{"y", floats({2, 3}, {2, 1, 3, 6, 5, 4})}}});
  add({"fill_linspace",
       [](Network& n) {
         n.add_input("x", DataType::float32, {"N"});
         out(n, n.add_fill({"N", 3}, FillOperation::linspace, {.alpha = 1, .beta = {10, 0.5}}));
       },
       {},
       {{"y", floats({2, 3}, {1, 1.5f, 2, 11, 11.5f, 12})}}});
  add({"fill_linspace_tensor",
       [](Network& n) {
         out(n, n.add_fill(n.add_input("shape", DataType::int64, {1}), FillOperation::linspace,
                           {.alpha = 5, .beta = {-2}, .type = DataType::int64}));
       },
       {{"shape", longs({1}, {4})}},
       {{"y", longs({4}, {5, 3, 1, -1})}}});
  add({"fill_random", [](Network& n) {
         n.add_input("x", DataType::float32, {"N"});
         out(n, n.add_fill({2, 3}, FillOperation::random_uniform, {.alpha = -1, .beta = {2}, .seed = 3}),
             "u");
         out(n, n.add_fill({"N", 3}, FillOperation::random_normal, {.alpha = 1, .beta = {0.5}, .seed = 4}),
             "g");
       }});
  return list;
}

}  // namespace lathe::network_cases
