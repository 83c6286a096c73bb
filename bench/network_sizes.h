// Problems of the sizes that networks have, for the kernels whose operators' cases are too small to tell how
// fast they are: those are made to be checked, not to take long.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ops/cases.h"

namespace lathe {

/// `count` places below `limit`, all over it and in no order.
inline std::vector<int64_t> scattered(int64_t count, int64_t limit) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; ++i) places.push_back(i * 7919 % limit);
  return places;
}

inline void add_network_sizes(CaseTable& t) {
  constexpr auto f32 = DataType::float32;
  using Ints = std::vector<int64_t>;
  const auto image = [&](const char* op, const char* name, int64_t channels, int64_t size) -> OpCase& {
    return t.add(op, name).random(f32, {1, channels, size, size});
  };

  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp"}) {
    t.add(op, "rows of 1024").random(f32, {512, 1024}).input<int64_t>({1}, {1}).as_constant();
    t.add(op, "columns of 512").random(f32, {512, 1024}).input<int64_t>({1}, {0}).as_constant();
  }
  t.add("ArgMax", "a detector's classes").random(f32, {25200, 80}).attribute("axis", int64_t{1});
  image("GlobalAveragePool", "last stage", 2048, 7);
  t.add("TopK", "a hundred of a detector's").random(f32, {1, 25200}).input<int64_t>({1}, {100}).as_constant();
  t.add("TopK", "five classes of each").random(f32, {64, 1000}).input<int64_t>({1}, {5}).as_constant();
  t.add("CumSum", "rows").random(f32, {512, 1024}).input<int64_t>({}, {1}).as_constant();

  t.add("Gather", "embeddings")
      .random(f32, {8192, 768})
      .as_constant()
      .input<int64_t>({512}, scattered(512, 8192));
  t.add("GatherElements", "columns")
      .random(f32, {512, 512})
      .input<int64_t>({512, 512}, scattered(512 * 512, 512))
      .attribute("axis", int64_t{1});
  t.add("GatherND", "rows").random(f32, {1024, 256}).input<int64_t>({512, 1}, scattered(512, 1024));
  t.add("ScatterND", "rows")
      .random(f32, {1024, 256})
      .input<int64_t>({512, 1}, scattered(512, 1024))
      .random(f32, {512, 256});
  t.add("ScatterElements", "columns")
      .random(f32, {512, 512})
      .input<int64_t>({512, 512}, scattered(512 * 512, 512))
      .random(f32, {512, 512})
      .attribute("axis", int64_t{1});
  t.add("OneHot", "tokens")
      .input<int64_t>({256}, scattered(256, 1000))
      .input<int64_t>({}, {1000})
      .as_constant()
      .input<float>({2}, {0, 1})
      .as_constant();

  t.add("Split", "heads")
      .random(f32, {128, 2304})
      .attribute("axis", int64_t{1})
      .attribute("num_outputs", int64_t{3})
      .outputs_wanted(3);
  t.add("Slice", "every other column")
      .random(f32, {512, 1024})
      .input<int64_t>({1}, {0})
      .as_constant()
      .input<int64_t>({1}, {1024})
      .as_constant()
      .input<int64_t>({1}, {1})
      .as_constant()
      .input<int64_t>({1}, {2})
      .as_constant();
  t.add("Expand", "rows").random(f32, {512, 1}).input<int64_t>({2}, {512, 1024}).as_constant();
  t.add("Tile", "four times").random(f32, {128, 512}).input<int64_t>({2}, {2, 2}).as_constant();
  t.add("Trilu", "a mask").random(f32, {1024, 1024});
  image("DepthToSpace", "upscaling", 64, 64).attribute("blocksize", int64_t{2});
  image("SpaceToDepth", "patches", 16, 128).attribute("blocksize", int64_t{2});
  t.add("Cast", "to float16").random(f32, {512, 1024}).attribute("to", int64_t{10});
  t.add("ReverseSequence", "batch of 16").random(f32, {64, 16, 256}).input<int64_t>({16}, scattered(16, 64));

  for (const auto& [channels, size] : std::vector<std::pair<int64_t, int64_t>>{{64, 56}, {256, 14}})
    image("Conv", size == 56 ? "3x3 of 64 channels" : "3x3 of 256 channels", channels, size)
        .random(f32, {channels, channels, 3, 3})
        .as_constant()
        .attribute("pads", Ints{1, 1, 1, 1});
  t.add("Conv", "of one axis").random(f32, {1, 128, 1000}).random(f32, {128, 128, 5}).as_constant();
  t.add("Conv", "of three axes")
      .random(f32, {1, 16, 16, 32, 32})
      .random(f32, {32, 16, 3, 3, 3})
      .as_constant();
  image("Conv", "in groups", 256, 28)
      .random(f32, {256, 8, 3, 3})
      .as_constant()
      .attribute("group", int64_t{32})
      .attribute("pads", Ints{1, 1, 1, 1});
  image("ConvTranspose", "decoder", 128, 32)
      .random(f32, {128, 64, 4, 4})
      .as_constant()
      .attribute("strides", Ints{2, 2})
      .attribute("pads", Ints{1, 1, 1, 1});
  image("MaxPool", "3x3 of 64 channels", 64, 112)
      .attribute("kernel_shape", Ints{3, 3})
      .attribute("strides", Ints{2, 2})
      .attribute("pads", Ints{1, 1, 1, 1});
  image("AveragePool", "2x2 of 64 channels", 64, 112)
      .attribute("kernel_shape", Ints{2, 2})
      .attribute("strides", Ints{2, 2});

  t.add("MatMul", "scores").random(f32, {12, 128, 64}).random(f32, {12, 64, 128});
  t.add("MatMul", "both computed").random(f32, {128, 768}).random(f32, {768, 768});
  t.add("MatMul", "of doubles").random(DataType::float64, {128, 256}).random(DataType::float64, {256, 256});
  t.add("MatMul", "one row").random(f32, {1, 2048}).random(f32, {2048, 1000}).as_constant();
  t.add("Gemm", "batch")
      .random(f32, {64, 512})
      .random(f32, {512, 512})
      .as_constant()
      .random(f32, {512})
      .as_constant();
  t.add("Einsum", "products of heads")
      .random(f32, {8, 128, 64})
      .random(f32, {8, 128, 64})
      .attribute("equation", std::string("hqd,hkd->hqk"));

  t.add("LayerNormalization", "bert").random(f32, {128, 768}).random(f32, {768}).random(f32, {768});
  t.add("RMSNormalization", "llama").random(f32, {128, 2048}).random(f32, {2048});
  image("GroupNormalization", "diffusion", 128, 32)
      .random(f32, {128})
      .random(f32, {128})
      .attribute("num_groups", int64_t{32});
  image("InstanceNormalization", "style", 64, 64).random(f32, {64}).random(f32, {64});

  for (const char* op : {"Abs", "Sqrt", "Reciprocal", "Log", "Ceil", "Round"})
    t.add(op, "activations").random(f32, {64, 1024}, 0.5, 2);
  for (const char* op : {"Add", "Mul", "Div", "Max"})
    t.add(op, "rows and a row").random(f32, {256, 1024}).random(f32, {1024}, 0.5, 2);
  t.add("Pow", "cubes").random(f32, {64, 1024}).input<float>({}, {3}).as_constant();
  t.add("QuantizeLinear", "an image")
      .random(f32, {1, 64, 56, 56})
      .input<float>({}, {0.01f})
      .as_constant()
      .input<uint8_t>({}, {128})
      .as_constant();
  t.add("DequantizeLinear", "an image")
      .random(DataType::uint8, {1, 64, 56, 56}, 0, 255)
      .input<float>({}, {0.01f})
      .as_constant()
      .input<uint8_t>({}, {128})
      .as_constant();
  t.add("DynamicQuantizeLinear", "rows").random(f32, {128, 768}).outputs_wanted(3);
  t.add("MatMulInteger", "projection")
      .random(DataType::uint8, {128, 768}, 0, 255)
      .random(DataType::int8, {768, 768}, -127, 127)
      .as_constant();
  t.add("GridSample", "warp").random(f32, {1, 16, 64, 64}).random(f32, {1, 64, 64, 2});
  t.add("Resize", "twice as large, linear")
      .random(f32, {1, 32, 64, 64})
      .absent()
      .input<float>({4}, {1, 1, 2, 2})
      .as_constant()
      .attribute("mode", std::string("linear"));
}

}  // namespace lathe
