// Tests which quantized operators the builder computes with bytes, and that the answers stay the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/cpu.h"
#include "lathe/lathe.h"
#include "runtime/engine_impl.h"
#include "support/temp_directory.h"

namespace lathe {
namespace LATHE_TEST_FILE {

/// Initializers without data are made up: bytes of all values, scales that differ.
void make_up(onnx::TensorProto& t, uint64_t seed) {
  const Shape shape(t.dims.begin(), t.dims.end());
  const auto type = static_cast<DataType>(*t.data_type);
  if (type == DataType::float32 && t.float_data.empty()) {
    const Tensor made = random_tensor(type, shape, seed);
    for (float x : made.as<float>()) t.float_data.push_back(0.005f + 0.01f * std::abs(x));
  } else if ((type == DataType::int8 || type == DataType::uint8 || type == DataType::int32) &&
             t.int32_data.empty()) {
    const Tensor made = random_tensor(DataType::float32, shape, seed);
    const float middle = type == DataType::uint8 ? 128 : 0, reach = type == DataType::int32 ? 900 : 127;
    for (float x : made.as<float>())
      t.int32_data.push_back(static_cast<int32_t>(std::clamp(x, -1.0f, 1.0f) * reach + middle));
  }
}

onnx::Model model_of(std::string_view text) {
  onnx::Model m;
  m.proto =
      onnx::from_text<onnx::ModelProto>("<ir_version: 10, opset_import: [\"\": 21]> g " + std::string(text));
  uint64_t seed = 1;
  for (onnx::TensorProto& t : m.proto.graph->initializer) make_up(t, ++seed);
  return m;
}

std::vector<Value> inputs_of(const Engine& e) {
  std::vector<Value> list;
  for (const IoInfo& io : e.inputs()) {
    Shape shape;
    for (const Dim& d : *io.shape) shape.push_back(d.value().value_or(9));
    list.push_back(random_tensor(io.element_type, shape, 70 + list.size()));
  }
  return list;
}

/// Bytes may be neighbors, and numbers made of them a step apart; few are.
void hold(const Value& got, const Value& want, double step, std::string_view text) {
  ASSERT_EQ(got.tensor().shape(), want.tensor().shape()) << text;
  ASSERT_EQ(got.tensor().type(), want.tensor().type()) << text;
  int64_t off = 0;
  for (int64_t i = 0; i < want.tensor().size(); ++i) {
    const auto number = [&](const Tensor& t) -> double {
      if (t.type() == DataType::float32) return t.as<float>()[static_cast<size_t>(i)];
      if (t.type() == DataType::uint8) return t.as<uint8_t>()[static_cast<size_t>(i)];
      return t.as<int8_t>()[static_cast<size_t>(i)];
    };
    const double apart = std::abs(number(got.tensor()) - number(want.tensor()));
    ASSERT_LE(apart, step * 1.001) << text << " at " << i;
    off += apart > step * 0.01;
  }
  EXPECT_LE(off * 100, want.tensor().size() + 100) << text;
}

/// The steps, "BlockedInt8Conv", after checking the answers against those without any optimization: with
/// every instruction set, on two threads, and from a saved plan.
std::string steps_of(std::string_view text, double step = 1) {
  const onnx::Model m = model_of(text);
  const Engine plain = Engine::build(m, {.level = OptimizationLevel::none});
  const std::vector<Value> inputs = inputs_of(plain), want = plain.create_context().run(inputs);
  std::string steps;
  for (const char* isa : {"avx2", "avx512"})
    for (int threads : {1, 2}) {
      const Engine e = Engine::build(m, {.threads = threads, .isa = isa});
      const std::vector<Value> got = e.create_context().run(inputs);
      for (size_t i = 0; i < want.size(); ++i) hold(got[i], want[i], step, text);
      const testing::TempDirectory dir;
      e.save(dir / "plan.lathe");
      const std::vector<Value> again = Engine::load(dir / "plan.lathe").create_context().run(inputs);
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_EQ(std::memcmp(got[i].tensor().data(), again[i].tensor().data(), got[i].tensor().bytes()), 0);
      steps.clear();
      for (const StepInfo& s : e.steps()) {
        steps += (steps.empty() ? "" : " ") + s.op;
        for (const std::string& op : s.fused) steps += "+" + op;
      }
    }
  return steps;
}

class QuantizedLayout : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu_features().avx2) GTEST_SKIP() << "only where there is AVX2";
  }
};

// No scale is a simple fraction of another: otherwise results in the middle between two bytes would be
// common, which the operators of a model and sums of integers may round differently.
const std::string scales =
    "float xs = {0.0213731}, uint8 xz = {120}, float ys = {0.0513719}, uint8 yz = {30}, float zs = "
    "{0.0391733}, uint8 zz = "
    "{0}";

TEST_F(QuantizedLayout, FromTheImageToTheClassifier) {
  EXPECT_EQ(
      steps_of(
          "(float[1,3,17,13] x) => (float[1,10] y) <" + scales +
              ", int8[16,3,3,3] a = {}, float[16] as = {}, int8[16] az = {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, "
              "int8[20,16,3,3] b = {}, float bs = {0.01}, int8 bz = {0}, int32[20] c = {}, float cs = "
              "{0.0005}, "
              "int8[10,20] d = {}, float[10] ds = {}, int8[10] dz = {0,0,0,0,0,0,0,0,0,0}, float[10] e = {}>"
              "{ q = QuantizeLinear(x, xs, xz) p = DequantizeLinear(q, xs, xz)"
              "  w = DequantizeLinear<axis=0>(a, as, az) f = Conv<pads=[1,1,1,1], strides=[2,2]>(p, w)"
              "  g = QuantizeLinear(f, ys, yz) h = DequantizeLinear(g, ys, yz)"
              "  i = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(h)"
              "  j = QuantizeLinear(i, ys, yz) k = DequantizeLinear(j, ys, yz)"
              "  v = DequantizeLinear(b, bs, bz) u = DequantizeLinear(c, cs)"
              "  l = Conv<pads=[1,1,1,1]>(k, v, u) m = Relu(l)"
              "  n = QuantizeLinear(m, zs, zz) o = DequantizeLinear(n, zs, zz)"
              "  aa = GlobalAveragePool(o) bb = QuantizeLinear(aa, ys, yz) cc = DequantizeLinear(bb, ys, yz)"
              "  dd = Flatten(cc) ee = DequantizeLinear<axis=0>(d, ds, dz) y = Gemm<transB=1>(dd, ee, e) }",
          0.1),
      "QuantizeLinear Block BlockedInt8Conv BlockedMaxPool BlockedInt8Conv BlockedInt8GlobalAveragePool "
      "Unblock "
      "Flatten ScaledMatMulInteger+Add");
}

TEST_F(QuantizedLayout, ResidualsAreAddedByTheConvolution) {
  const std::string weights =
      ", int8[24,24,1,1] a = {}, float bs = {0.01}, int8 bz = {0}, int8[24,1,3,3] b = {}";
  EXPECT_EQ(steps_of("(uint8[2,24,9,7] x) => (uint8[2,24,9,7] y) <" + scales + weights +
                     ">{ p = DequantizeLinear(x, xs, xz) w = DequantizeLinear(a, bs, bz) f = Conv(p, w)"
                     "  g = QuantizeLinear(f, ys, yz) h = DequantizeLinear(g, ys, yz)"
                     "  i = Add(p, h) j = Relu(i) y = QuantizeLinear(j, zs, zz) }"),
            "Block BlockedInt8Conv Unblock");
  // Depthwise too.
  EXPECT_EQ(steps_of("(uint8[2,24,9,7] x) => (uint8[2,24,9,7] y) <" + scales + weights +
                     ">{ p = DequantizeLinear(x, xs, xz) w = DequantizeLinear(b, bs, bz)"
                     "  f = Conv<group=24, pads=[1,1,1,1]>(p, w)"
                     "  g = QuantizeLinear(f, ys, yz) h = DequantizeLinear(g, ys, yz)"
                     "  i = Add(h, p) y = QuantizeLinear(i, zs, xz) }"),
            "Block BlockedInt8Conv Unblock");
  // A value that others read is computed, and added in a step of its own.
  EXPECT_EQ(steps_of("(uint8[2,24,9,7] x) => (uint8[2,24,9,7] y, uint8[2,24,9,7] g) <" + scales + weights +
                     ">{ p = DequantizeLinear(x, xs, xz) w = DequantizeLinear(a, bs, bz) f = Conv(p, w)"
                     "  g = QuantizeLinear(f, ys, yz) h = DequantizeLinear(g, ys, yz)"
                     "  i = Add(p, h) j = Clip(i) y = QuantizeLinear(j, zs, xz) }"),
            "Block BlockedInt8Conv Unblock BlockedInt8Add Unblock");
}

TEST_F(QuantizedLayout, BytesWithSign) {
  const std::string image =
      "(int8[1,20,9,7] x) => (int8[1,40,5,4] y) <float s = {0.0213731}, int8 z = {-11}, float t = "
      "{0.0971393}, "
      "int8 tz = {-100}, float low = {-1}, float high = {6}, float[40] b = {}, uint8[40,20,3,3] a = {}, "
      "float[40] as = {}, uint8[40] az = {";
  const std::string nodes =
      "}>{ p = DequantizeLinear(x, s, z) w = DequantizeLinear<axis=0>(a, as, az)"
      "  f = Conv<pads=[1,1,1,1], strides=[2,2]>(p, w, b) g = Clip(f, low, high) y = QuantizeLinear(g, t, "
      "tz) }";
  std::string middles = "128", others = "128";
  for (int i = 1; i < 40; ++i) middles += ",128", others += i == 20 ? ",127" : ",128";
  EXPECT_EQ(steps_of(image + middles + nodes), "Block BlockedInt8Conv Unblock");
  EXPECT_EQ(steps_of(image + others + nodes).find("BlockedInt8Conv"), std::string::npos);
}

// Winograd is used if pairs of 16 bits are multiplied, not quads of bytes, and an image has some tiles.
TEST_F(QuantizedLayout, WindowsOfThreeByThreeGoByWinograd) {
  const auto kernels = [](int channels, int side) {
    const std::string c = std::to_string(channels), image = "[1," + c + "," + std::to_string(side) + ",6]";
    const std::string text = "(uint8" + image + " x) => (uint8[1,20," + std::to_string(side) + ",6] y) <" +
                             scales + ", int8[20," + c + ",3,3] a = {}, float bs = {0.01}, int8 bz = {0}>" +
                             "{ y = QLinearConv<pads=[1,1,1,1]>(x, xs, xz, a, bs, bz, ys, yz) }";
    EXPECT_EQ(steps_of(text), "Block BlockedInt8Conv Unblock");
    const testing::TempDirectory dir;
    const Engine built = Engine::build(model_of(text), {.isa = "avx2"});
    built.save(dir / "plan.lathe");
    const Engine lesser = Engine::load(dir / "plan.lathe", {.isa = "generic"});
    const std::vector<Value> inputs = inputs_of(built);
    hold(lesser.create_context().run(inputs)[0], built.create_context().run(inputs)[0], 1, text);
    return built.steps()[1].kernel + " " + lesser.steps()[1].kernel;
  };
  EXPECT_EQ(kernels(24, 5), "blocked_int8_conv.winograd2.avx2 blocked_int8_conv.winograd2.generic");
  EXPECT_EQ(kernels(24, 2), "blocked_int8_conv.avx2 blocked_int8_conv.generic");
  EXPECT_EQ(kernels(8, 5), "blocked_int8_conv.avx2 blocked_int8_conv.generic");
}

TEST_F(QuantizedLayout, QLinearConv) {
  EXPECT_EQ(steps_of("(uint8[1,20,9,7] x) => (uint8[1,40,9,7] y) <" + scales +
                         ", int8[40,20,3,3] a = {}, float[40] as = {}, int8 az = {0}, int32[40] b = {}>"
                         "{ y = QLinearConv<pads=[1,1,1,1]>(x, xs, xz, a, as, az, ys, yz, b) }",
                     0),
            "Block BlockedInt8Conv Unblock");
}

TEST_F(QuantizedLayout, ConstantImagesAreInBlocksAlready) {
  for (const std::string type : {"uint8", "int8"})
    EXPECT_EQ(
        steps_of("(uint8 z) => (uint8[1,40,9,7] y) <" + scales + ", " + type + "[1,20,9,7] x = {}, " + type +
                     " o = {3}, int8[40,20,3,3] a = {}, float[40] as = {}, int8 az = {0}>"
                     "{ y = QLinearConv<pads=[1,1,1,1]>(x, xs, o, a, as, az, ys, z) }",
                 0),
        "BlockedInt8Conv Unblock")
        << type;
}

TEST_F(QuantizedLayout, ProductsThatAreScaled) {
  // Numbers that are quantized as they come.
  EXPECT_EQ(
      steps_of(
          "(float[n,3,40] x) => (float[n,3,50] y) <uint8[40,50] w = {}, float[50] ws = {}, uint8 wz = {77}, "
          "float[50] b = {}>"
          "{ q, s, z = DynamicQuantizeLinear(x) t = Mul(s, ws) p = MatMulInteger(q, w, z, wz)"
          "  f = Cast<to=1>(p) g = Mul(f, t) h = Add(b, g) y = Relu(h) }",
          1e-3),
      "DynamicQuantizeLinear ScaledMatMulInteger+Add+Relu");
  EXPECT_EQ(
      steps_of("(uint8[3,40] x) => (float[3,48] y) <" + scales +
                   ", int8[40,48] w = {}, float[48] ws = {}>"
                   "{ a = DequantizeLinear(x, xs, xz) b = DequantizeLinear<axis=1>(w, ws) c = MatMul(a, b)"
                   "  y = Tanh(c) }",
               1e-3),
      "ScaledMatMulInteger+Tanh");
  // A scale of each row of A is another matter.
  EXPECT_EQ(steps_of("(uint8[3,40] x, float[3,1] t) => (float[3,48] y) <int8[40,48] w = {}>"
                     "{ p = MatMulInteger(x, w) f = Cast<to=1>(p) y = Mul(f, t) }",
                     1e-3),
            "MatMulInteger Pointwise+Cast+Mul");
}

/// A convolution 20 -> 32 in front of `nodes`, which read its bytes g, quantized with (ys, yz).
std::string behind_conv(const std::string& declared, const std::string& nodes, const std::string& y) {
  return "(uint8[1,20,9,8] x) => (" + y + " y) <" + scales + declared +
         ", int8[32,20,1,1] a = {}, float as = {0.01}>"
         "{ p = DequantizeLinear(x, xs, xz) w = DequantizeLinear(a, as) f = Conv(p, w)"
         "  g = QuantizeLinear(f, ys, yz) h = DequantizeLinear(g, ys, yz) " +
         nodes + " }";
}

TEST_F(QuantizedLayout, NumbersThatAreOnlyClampedOrGetOtherQuantParams) {
  EXPECT_EQ(steps_of(behind_conv(", float low = {-0.7}, float high = {3.3}",
                                 "i = Clip(h, low, high) y = QuantizeLinear(i, zs, xz)", "uint8[1,32,9,8]")),
            "Block BlockedInt8Conv LookupTable Unblock");
  EXPECT_EQ(steps_of(behind_conv("", "i = Relu(h) y = QuantizeLinear(i, xs, xz) z = Exp(h)",
                                 "float[1,32,9,8] z, uint8[1,32,9,8]"),
                     2),
            "Block BlockedInt8Conv Unblock DequantizeLinear Exp LookupTable Unblock");
}

TEST_F(QuantizedLayout, FunctionsOfOneByte) {
  // x · sigmoid(x), quantized on the way: of one byte still.
  EXPECT_EQ(
      steps_of(behind_conv(", float us = {0.004}, uint8 uz = {0}",
                           "i = Sigmoid(h) j = QuantizeLinear(i, us, uz) k = DequantizeLinear(j, us, uz)"
                           " l = Mul(h, k) y = QuantizeLinear(l, zs, xz)",
                           "uint8[1,32,9,8]")),
      "Block BlockedInt8Conv LookupTable Unblock");
  // Signs, and numbers of any rank.
  EXPECT_EQ(steps_of(behind_conv(", int8 tz = {-20}, float[1,1,1] half = {0.5}, float two = {2}",
                                 "i = Tanh(h) j = Add(half, i) k = Pow(j, two) l = Max(k, half) m = "
                                 "QuantizeLinear(l, ys, tz) n = DequantizeLinear(m, ys, tz) o = Sqrt(n) y = "
                                 "QuantizeLinear(o, zs, tz)",
                                 "int8[1,32,9,8]")),
            "Block BlockedInt8Conv LookupTable Unblock");
  // These bytes are not in nChw16c.
  for (const std::string type : {"uint8", "int8"})
    EXPECT_EQ(steps_of("(" + type + "[3,n] x) => (int8[3,n] y) <" + scales + ", " + type +
                       " z = {100}, int8 t = {-3}> { a = DequantizeLinear(x, xs, z) b = Gelu(a) y = "
                       "QuantizeLinear(b, ys, t) }"),
              "LookupTable");
  // Functions of two bytes, and those with a number for each column, are no lookup tables.
  EXPECT_EQ(steps_of("(uint8[3,n] x, uint8[3,n] z) => (uint8[3,n] y) <" + scales +
                     "> { a = DequantizeLinear(x, xs, xz) b = DequantizeLinear(z, ys, xz) c = Tanh(a) d = "
                     "Mul(c, b) y = QuantizeLinear(d, ys, xz) }")
                .find("LookupTable"),
            std::string::npos);
  EXPECT_EQ(
      steps_of("(uint8[3,4] x) => (uint8[3,4] y) <" + scales +
               ", float[4] each = {1.1,2.2,3.3,4.4}> { a = DequantizeLinear(x, xs, xz) b = Mul(a, each) "
               "y = QuantizeLinear(b, ys, xz) }")
          .find("LookupTable"),
      std::string::npos);
}

TEST_F(QuantizedLayout, WindowsThatLieSideBySide) {
  const auto grown = [](const std::string& w, const std::string& dequantize, const std::string& attributes,
                        const std::string& shape) {
    return steps_of("(uint8[2,20,5,3] x) => (uint8[" + shape + "] y) <" + scales + w +
                    ", float[32] b = {}> { p = DequantizeLinear(x, xs, xz) w = DequantizeLinear" +
                    dequantize + " f = ConvTranspose<" + attributes +
                    ">(p, w, b) r = Relu(f) y = QuantizeLinear(r, ys, yz) }");
  };
  const std::string made = "Block BlockedInt8Conv BlockedDepthToSpace Unblock";
  EXPECT_EQ(grown(", int8[20,32,2,2] a = {}, float as = {0.01}", "(a, as)", "strides=[2,2]", "2,32,10,6"),
            made);
  std::string zeros = "128";
  for (int i = 1; i < 32; ++i) zeros += ",128";
  EXPECT_EQ(grown(", uint8[20,32,3,3] a = {}, float[32] as = {}, uint8[32] az = {" + zeros + "}",
                  "<axis=1>(a, as, az)", "strides=[3,3]", "2,32,15,9"),
            made);
  // A bias that is left out by name.
  EXPECT_EQ(steps_of("(uint8[1,20,5,3] x) => (uint8[1,32,10,6] y) <" + scales +
                     ", int8[20,32,2,2] a = {}, float as = {0.01}> { p = DequantizeLinear(x, xs, xz) w = "
                     "DequantizeLinear(a, as) f = ConvTranspose<strides=[2,2]>(p, w, ) y = "
                     "QuantizeLinear(f, ys, yz) }"),
            made);
  // Windows that meet.
  EXPECT_EQ(grown(", int8[20,32,3,3] a = {}, float as = {0.01}", "(a, as)", "strides=[2,2]", "2,32,11,7")
                .find("BlockedInt8Conv"),
            std::string::npos);
}

TEST_F(QuantizedLayout, ChannelsThatAreScaled) {
  const std::string numbers = ", float[32,1,1] by = {}, float[1,32,1,1] more = {}, float two = {2}";
  EXPECT_EQ(steps_of(behind_conv(numbers,
                                 "i = Mul(h, by) j = Add(more, i) k = Mul(j, two) l = Relu(k) y = "
                                 "QuantizeLinear(l, zs, zz)",
                                 "uint8[1,32,9,8]")),
            "Block BlockedInt8Conv BlockedInt8Scale Unblock");
  EXPECT_EQ(steps_of(behind_conv(numbers + ", int8 tz = {-20}",
                                 "i = Add(h, more) y = QuantizeLinear(i, zs, tz)", "int8[1,32,9,8]")),
            "Block BlockedInt8Conv BlockedInt8Scale Unblock");
  // A number for each row is something else.
  EXPECT_EQ(steps_of(behind_conv(", float[9,1] rows = {}", "i = Mul(h, rows) y = QuantizeLinear(i, zs, zz)",
                                 "uint8[1,32,9,8]"))
                .find("BlockedInt8Scale"),
            std::string::npos);
  // The factors come from the image's own channels; there are two images, and channels that fill no block.
  EXPECT_EQ(
      steps_of(
          "(uint8[2,20,9,8] x) => (uint8[2,20,9,8] y) <" + scales +
          ", int8[20,20,1,1] a = {}, float as = {0.01}, float us = {0.004}, uint8 uz = {0}, int8 tz = {3}>"
          "{ p = DequantizeLinear(x, xs, xz) w = DequantizeLinear(a, as) f = Conv(p, w)"
          "  g = QuantizeLinear(f, ys, yz) h = DequantizeLinear(g, ys, yz) i = GlobalAveragePool(h)"
          "  j = QuantizeLinear(i, ys, yz) k = DequantizeLinear(j, ys, yz) l = Sigmoid(k)"
          "  m = QuantizeLinear(l, us, uz) n = DequantizeLinear(m, us, uz) o = Mul(n, h)"
          "  y = QuantizeLinear(o, zs, xz) }"),
      "Block BlockedInt8Conv BlockedInt8GlobalAveragePool LookupTable BlockedInt8Scale Unblock");
}

TEST_F(QuantizedLayout, Concatenations) {
  const std::string branch =
      "u = DequantizeLinear(b, as) k = Conv(h, u) l = QuantizeLinear(k, zs, xz) m = DequantizeLinear(l, zs, "
      "xz) ";
  const std::string more = ", int8[17,32,1,1] b = {}";
  // There are three sets of quantization parameters, and blocks that are not full at the end.
  EXPECT_EQ(steps_of(behind_conv(more, branch + "n = Concat<axis=1>(h, m) y = QuantizeLinear(n, xs, zz)",
                                 "uint8[1,49,9,8]")),
            "Block BlockedInt8Conv BlockedInt8Conv LookupTable LookupTable Concat Unblock");
  // With the same parameters, bytes are joined as they are.
  const std::string same =
      "u = DequantizeLinear(b, as) k = Conv(h, u) l = QuantizeLinear(k, ys, yz)"
      " m = DequantizeLinear(l, ys, yz) n = Concat<axis=-3>(h, m) y = QuantizeLinear(n, ys, yz)";
  EXPECT_EQ(steps_of(behind_conv(more, same, "uint8[1,49,9,8]")),
            "Block BlockedInt8Conv BlockedInt8Conv Concat Unblock");
  // Blocks that are not full in between: as plain numbers.
  const std::string turned = "n = Concat<axis=1>(m, h) y = QuantizeLinear(n, xs, zz)";
  EXPECT_NE(steps_of(behind_conv(more, branch + turned, "uint8[1,49,9,8]")).find("DequantizeLinear Concat"),
            std::string::npos);
}

TEST_F(QuantizedLayout, MeansOverWindows) {
  const auto pooled = [](const std::string& attributes, const std::string& shape) {
    return steps_of(behind_conv("", "i = AveragePool<" + attributes + ">(h) y = QuantizeLinear(i, zs, xz)",
                                "uint8[1,32," + shape + "]"));
  };
  EXPECT_EQ(pooled("kernel_shape=[3,2], strides=[2,2]", "4,4"),
            "Block BlockedInt8Conv BlockedInt8Conv Unblock");
  EXPECT_EQ(pooled("kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=1", "9,8"),
            "Block BlockedInt8Conv BlockedInt8Conv Unblock");
  // Windows at the border have fewer pixels.
  const std::string means = "Block BlockedInt8Conv BlockedInt8AveragePool Unblock";
  EXPECT_EQ(pooled("kernel_shape=[3,3], pads=[1,1,1,1]", "9,8"), means);
  EXPECT_EQ(pooled("kernel_shape=[3,2], pads=[1,0,0,1], strides=[2,3], dilations=[1,2]", "4,3"), means);
  EXPECT_EQ(pooled("kernel_shape=[4,4], pads=[1,1,1,1], strides=[3,3], ceil_mode=1", "4,3"), means);
  EXPECT_EQ(
      pooled("kernel_shape=[4,4], pads=[1,1,1,1], strides=[3,3], ceil_mode=1, count_include_pad=1", "4,3"),
      means);
}

TEST_F(QuantizedLayout, MeansRoundToEvenAndSaturate) {
  const onnx::Model m = model_of(
      "(uint8[1,16,1,6] x) => (uint8[1,16,1,3] y, int8[1,16,1,3] z) <float one = {1}, uint8 zero = {0}, "
      "float "
      "by = {0.5}, int8 low = {-100}, int8[16,1,1,1] a = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}>"
      "{ p = DequantizeLinear(x, one, zero) w = DequantizeLinear(a, one) f = Conv<group=16>(p, w)"
      "  g = QuantizeLinear(f, one, zero) h = DequantizeLinear(g, one, zero)"
      "  i = AveragePool<kernel_shape=[1,3], strides=[1,2], pads=[0,0,0,1]>(h) y = QuantizeLinear(i, one, "
      "zero)"
      "  z = QuantizeLinear(i, by, low) }");
  Tensor x(DataType::uint8, {1, 16, 1, 6});
  const uint8_t row[] = {3, 4, 1, 250, 0, 5};  // means 8/3, 251/3, 5/2
  for (size_t i = 0; i < 96; ++i) x.as<uint8_t>()[i] = row[i % 6];
  for (const char* isa : {"generic", "avx2", "avx512"}) {
    const std::vector<Value> got = Engine::build(m, {.isa = isa}).create_context().run(std::vector<Value>{x});
    for (size_t i = 0; i < 48; ++i) {
      EXPECT_EQ(got[0].tensor().as<uint8_t>()[i], (std::array{3, 84, 2})[i % 3]) << isa;
      EXPECT_EQ(got[1].tensor().as<int8_t>()[i], (std::array{-95, 67, -95})[i % 3]) << isa;
    }
  }
}

TEST_F(QuantizedLayout, ProductsOfTwoActivations) {
  // Stored at once, heads side by side, B repeated, and as floats for what comes next.
  EXPECT_EQ(steps_of("(uint8[2,3,7,20] a, uint8[2,3,20,9] b) => (uint8[2,3,7,9] y) <" + scales +
                     ">{ p = DequantizeLinear(a, xs, xz) q = DequantizeLinear(b, zs, yz) c = MatMul(p, q)"
                     "  y = QuantizeLinear(c, ys, yz) }"),
            "QLinearMatMul");
  EXPECT_EQ(steps_of("(uint8[5,1,33,70] a, int8[4,70,40] b) => (float[5,4,33,40] y) <" + scales +
                         ", int8 bz = {-7}>"
                         "{ p = DequantizeLinear(a, xs, xz) q = DequantizeLinear(b, zs, bz) c = MatMul(p, q)"
                         "  y = Tanh(c) }",
                     1e-3),
            "ScaledMatMulInteger+Tanh");
  EXPECT_EQ(steps_of("(int8[n,64] a, uint8[64,5] b) => (float[n,5] y, uint8[n,5] z) <" + scales +
                         ", int8 az = {-100}>"
                         "{ p = DequantizeLinear(a, xs, az) q = DequantizeLinear(b, zs) y = MatMul(p, q)"
                         "  z = QuantizeLinear(y, ys, yz) }",
                     1),
            "ScaledMatMulInteger QuantizeLinear");
}

TEST_F(QuantizedLayout, ProductsRoundToEvenAndSaturate) {
  const onnx::Model m = model_of(
      "(uint8[1,2] a, uint8[2,6] b) => (uint8[1,6] y) <float one = {1}, float two = {2}, uint8 z = {0}>"
      "{ p = DequantizeLinear(a, one, z) q = DequantizeLinear(b, one, z) c = MatMul(p, q)"
      "  y = QuantizeLinear(c, two, z) }");
  const Tensor a = Tensor::from<uint8_t>({1, 2}, std::vector<uint8_t>{1, 2});
  const Tensor b =
      Tensor::from<uint8_t>({2, 6}, std::vector<uint8_t>{1, 3, 1, 7, 255, 255, 0, 0, 2, 0, 255, 127});
  for (const char* isa : {"generic", "avx2", "avx512"}) {
    const std::vector<Value> got =
        Engine::build(m, {.isa = isa}).create_context().run(std::vector<Value>{a, b});
    const std::vector<uint8_t> want{0, 2, 2, 4, 255, 254};  // halves of 1, 3, 5, 7, 765, 509
    EXPECT_TRUE(std::ranges::equal(got[0].tensor().as<uint8_t>(), want)) << isa;
  }
}

TEST_F(QuantizedLayout, Groups) {
  const auto grouped = [](int channels, int filters, int group, const std::string& attributes,
                          const std::string& out) {
    const std::string c = std::to_string(channels), f = std::to_string(filters);
    return steps_of("(uint8[2," + c + ",9,7] x) => (uint8[2," + f + "," + out + "] y) <" + scales +
                    ", int8[" + f + "," + std::to_string(channels / group) + ",3,3] a = {}, float[" + f +
                    "] as = {}, int32[" + f +
                    "] b = {}, float bs = {0.0005}>"
                    "{ p = DequantizeLinear(x, xs, xz) w = DequantizeLinear<axis=0>(a, as)"
                    "  u = DequantizeLinear(b, bs) f = Conv<group=" +
                    std::to_string(group) + attributes + ">(p, w, u) y = QuantizeLinear(f, ys, yz) }");
  };
  const std::string blocks = "Block BlockedInt8Conv Unblock";
  EXPECT_EQ(grouped(32, 32, 2, "", "7,5"), blocks);
  EXPECT_EQ(grouped(128, 128, 32, ", pads=[1,1,1,1]", "9,7"), blocks);
  EXPECT_EQ(grouped(36, 84, 3, ", pads=[1,1,1,1], strides=[2,2]", "5,4"), blocks);  // blocks of two groups
  EXPECT_EQ(grouped(20, 70, 10, ", pads=[2,2,2,2], dilations=[2,2]", "9,7"), blocks);
  EXPECT_EQ(grouped(24, 48, 24, "", "7,5"), blocks);  // two filters of each channel
  EXPECT_EQ(grouped(200, 8, 4, "", "7,5"), blocks);
}

TEST_F(QuantizedLayout, ThreeSpatialAxes) {
  const auto volume = [](const std::string& nodes, const std::string& more = "") {
    return steps_of("(uint8[1,12,5,9,7] x) => (uint8[1,20,5,5,4] y) <" + scales +
                    ", int8[20,6,3,3,3] a = {}, float[20] as = {}, int32[20] b = {}, float[20] bs = {}" +
                    more +
                    ">{ p = DequantizeLinear(x, xs, xz) w = DequantizeLinear<axis=0>(a, as)"
                    "  f = Conv<group=2, pads=[1,1,1,1,1,1], strides=[1,2,2]>(p, w) " +
                    nodes + " }");
  };
  EXPECT_EQ(volume("y = QuantizeLinear(f, ys, yz)"), "QLinearConv");
  EXPECT_EQ(volume("g = Relu(f) y = QuantizeLinear(g, ys, zz)"), "QLinearConv");
  // The activation clamps more than the quantized range does.
  EXPECT_NE(volume("g = Relu(f) y = QuantizeLinear(g, ys, yz)"), "QLinearConv");
  EXPECT_EQ(steps_of("(uint8[1,3,4,6,5] x) => (uint8[1,4,2,4,3] y) <" + scales +
                     ", int8[4,3,3,3,3] a = {}, float as = {0.01}, int32[4] b = {}, float bs = {0.000213731}>"
                     "{ p = DequantizeLinear(x, xs, xz) w = DequantizeLinear(a, as)"
                     "  u = DequantizeLinear(b, bs) f = Conv(p, w, u) y = QuantizeLinear(f, ys, yz) }"),
            "QLinearConv");
}

TEST_F(QuantizedLayout, OneSpatialAxis) {
  EXPECT_EQ(steps_of("(uint8[2,20,31] x) => (uint8[2,32,14] y) <" + scales +
                     ", int8[32,20,5] a = {}, float as = {0.01}, int8[32,1,3] b = {}>"
                     "{ p = DequantizeLinear(x, xs, xz) w = DequantizeLinear(a, as)"
                     "  f = Conv<strides=[2], pads=[1,1]>(p, w) g = QuantizeLinear(f, ys, yz)"
                     "  h = DequantizeLinear(g, ys, yz) u = DequantizeLinear(b, as)"
                     "  k = Conv<group=32>(h, u) y = QuantizeLinear(k, zs, zz) }"),
            "Block BlockedInt8Conv BlockedInt8Conv Unblock");
}

TEST_F(QuantizedLayout, LargestBytesOfWindows) {
  EXPECT_EQ(
      steps_of("(int8[1,20,9,8] x) => (int8[1,20,4,4] y) <float s = {0.0213731}, int8 z = {-11}, float t = "
               "{0.0971393}, int8 u = {-100}, int8[20,20,1,1] a = {}, float as = {0.01}, int8 az = {0}>"
               "{ c = QLinearConv(x, s, z, a, as, az, t, u)"
               "  y = MaxPool<kernel_shape=[3,2], strides=[2,2]>(c) }"),
      "Block BlockedInt8Conv BlockedMaxPool Unblock");
}

TEST_F(QuantizedLayout, NearestPixelsAreMovedAsBytes) {
  EXPECT_EQ(steps_of(behind_conv(", float[4] by = {1,1,2,2}",
                                 "i = Resize<mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\">"
                                 "(h,,by) y = QuantizeLinear(i, ys, yz)",
                                 "uint8[1,32,18,16]")),
            "Block BlockedInt8Conv Unblock Resize");
  const std::string more = ", int8[32,32,1,1] b = {}";
  EXPECT_EQ(steps_of(behind_conv(
                more + ", float[4] by = {1,1,2,2}",
                "i = Resize<mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\">(h,,by)"
                " j = QuantizeLinear(i, ys, yz) k = DequantizeLinear(j, ys, yz)"
                " u = DequantizeLinear(b, as) l = Conv(k, u) y = QuantizeLinear(l, zs, zz)",
                "uint8[1,32,18,16]")),
            "Block BlockedInt8Conv Resize BlockedInt8Conv Unblock");
  EXPECT_EQ(steps_of(behind_conv(more,
                                 "l, m = Split<axis=1, num_outputs=2>(g) n = Concat<axis=1>(m, l) k = "
                                 "DequantizeLinear(n, ys, yz) u = DequantizeLinear(b, as) o = Conv(k, u) y = "
                                 "QuantizeLinear(o, zs, zz)",
                                 "uint8[1,32,9,8]")),
            "Block BlockedInt8Conv Split Concat BlockedInt8Conv Unblock");
}

TEST_F(QuantizedLayout, StaysAwayFromWhatItCannotSay) {
  const auto has = [](const std::string& steps) { return steps.find("BlockedInt8") != std::string::npos; };
  // Scales of each channel of the image, weights about another number.
  EXPECT_FALSE(has(steps_of("(uint8[1,3,9,7] x) => (uint8[1,16,7,5] y) <" + scales +
                            ", float[3] s = {}, int8[16,3,3,3] a = {}, float as = {0.01}>"
                            "{ p = DequantizeLinear<axis=1>(x, s) w = DequantizeLinear(a, as)"
                            "  f = Conv(p, w) y = QuantizeLinear(f, ys, yz) }")));
  EXPECT_FALSE(has(steps_of("(uint8[1,3,9,7] x) => (uint8[1,16,7,5] y) <" + scales +
                            ", int8[16,3,3,3] a = {}, float as = {0.01}, int8 az = {3}>"
                            "{ p = DequantizeLinear(x, xs, xz) w = DequantizeLinear(a, as, az)"
                            "  f = Conv(p, w) y = QuantizeLinear(f, ys, yz) }")));
}

TEST_F(QuantizedLayout, WeightsThatMayBeExchangedStayAsTheyAre) {
  const onnx::Model m = model_of("(uint8[1,16,9,7] x) => (uint8[1,16,7,5] y) <" + scales +
                                 ", int8[16,16,3,3] a = {}, float as = {0.01}>"
                                 "{ p = DequantizeLinear(x, xs, xz) w = DequantizeLinear(a, as)"
                                 "  f = Conv(p, w) y = QuantizeLinear(f, ys, yz) }");
  for (const StepInfo& s : Engine::build(m, {.refit = true}).steps())
    EXPECT_EQ(s.op.find("BlockedInt8"), std::string::npos) << s.op;
}

/// Arrays that folding made floats of.
int64_t dequantized_arrays(const Engine& e) {
  return std::ranges::count_if(e.impl()->program.plan().weights, [](const Weight& w) {
    return w.recipe.kind == WeightRecipe::Kind::fold && w.recipe.op == "DequantizeLinear";
  });
}

TEST_F(QuantizedLayout, WeightsReadAsBytesAreNeverFloats) {
  const auto built = [](const char* conv, std::vector<std::string> passes = {}) {
    return Engine::build(model_of("(uint8[1,32,9,7] x) => (uint8[1,32,9,7] y) <" + scales +
                                  ", int8[32,32,1,1] a = {}, int8[32,16,1,1] h = {}, float as = {0.01}>"
                                  "{ p = DequantizeLinear(x, xs, xz) v = DequantizeLinear(a, as)"
                                  "  w = DequantizeLinear(h, as) " +
                                  std::string(conv) + " y = QuantizeLinear(f, ys, yz) }"),
                         {.threads = 1, .passes = std::move(passes)});
  };
  EXPECT_EQ(dequantized_arrays(built("f = Conv(p, v)")), 0);
  EXPECT_EQ(dequantized_arrays(built("f = Conv<group=2>(p, w)")), 0);
  // If no kernel takes bytes, the weights become floats before the first run.
  const Engine alike = built("f = Conv<auto_pad=\"SAME_UPPER\">(p, v)", {"-explicit-padding"});
  EXPECT_EQ(dequantized_arrays(alike), 1);
  EXPECT_EQ(std::ranges::count(alike.steps(), "DequantizeLinear", &StepInfo::op), 1);  // of x
}

TEST_F(QuantizedLayout, TapsSeeWhatWasFused) {
  const onnx::Model m =
      model_of("(uint8[1,16,9,7] x) => (uint8[1,16,9,7] y) <" + scales +
               ", int8[16,16,1,1] a = {}, float as = {0.01}>"
               "{ p = DequantizeLinear(x, xs, xz) w = DequantizeLinear(a, as) f = Conv(p, w)"
               "  g = QuantizeLinear(f, ys, yz) h = DequantizeLinear(g, ys, yz)"
               "  i = Add(p, h) y = QuantizeLinear(i, zs, xz) }");
  const auto seen = [&](OptimizationLevel level) {
    const Engine e = Engine::build(m, {.level = level, .taps = {"f", "g", "i"}});
    Context c = e.create_context();
    std::map<std::string, Value> values;
    c.on_tap([&](std::string_view name, const Value& v) {
      values[std::string(name)] = Value(v.tensor().clone());
    });
    values["y"] = c.run(inputs_of(e))[0];
    return values;
  };
  const auto want = seen(OptimizationLevel::none), got = seen(OptimizationLevel::all);
  ASSERT_EQ(got.size(), 4u);
  for (const auto& [name, value] : want)
    hold(got.at(name), value, value.tensor().type() == DataType::float32 ? 1e-4 : 1, name);
}

/// Expects the same of every level for a QLinearConv with these scales, constants or given by the run.
void levels_agree(const std::string& x_scale, const std::string& w_scale, const std::string& y_scale,
                  bool given) {
  const std::string text =
      "(uint8[1,16,6,5] x" + std::string(given ? ", float xs, float ws, float ys" : "") +
      ") => (uint8[1,16,6,5] y) <uint8 z = {3}, int8 wz = {0}, int8[16,16,3,3] w = {}" +
      (given ? ""
             : ", float xs = {" + x_scale + "}, float ws = {" + w_scale + "}, float ys = {" + y_scale + "}") +
      "> { y = QLinearConv<pads=[1,1,1,1]>(x, xs, z, w, ws, wz, ys, z) }";
  SCOPED_TRACE(text + " " + x_scale + " " + w_scale + " " + y_scale);
  const onnx::Model m = model_of(text);
  const auto run = [&](OptimizationLevel level) -> std::pair<Code, Value> {
    const Engine e = Engine::build(m, {.level = level});
    std::vector<Value> inputs{random_tensor(DataType::uint8, {1, 16, 6, 5}, 7)};
    if (given)
      for (const std::string& s : {x_scale, w_scale, y_scale})
        inputs.push_back(Tensor::from<float>({}, std::vector{std::strtof(s.c_str(), nullptr)}));
    try {
      return {Code::none, e.create_context().run(inputs)[0]};
    } catch (const Error& e) {
      return {e.code(), {}};
    }
  };
  const auto want = run(OptimizationLevel::none), got = run(OptimizationLevel::all);
  ASSERT_EQ(got.first, want.first);
  if (want.first == Code::none) hold(got.second, want.second, 1, text);
}

TEST_F(QuantizedLayout, ScalesOfQLinearConvThatAreNoScales) {
  for (const char* odd : {"0", "-0.0", "-0.05", "inf", "-inf", "nan", "1e-45", "3e38", "1e-30", "1e13"})
    for (bool given : {false, true}) {
      levels_agree(odd, "0.02", "0.3", given);
      levels_agree("0.05", odd, "0.3", given);
      levels_agree("0.05", "0.02", odd, given);
    }
}

// Integers overflow elsewhere than floats do: x * 3e38 is infinite before the convolution, which adds NaN.
TEST_F(QuantizedLayout, NumbersBeyondFloat) {
  for (const auto& [x_scale, y_scale] : {std::pair("3e38", "0.3"), std::pair("0.05", "1e-45")})
    steps_of(
        "(uint8[1,16,6,5] x) => (uint8[1,16,6,5] y) <uint8 z = {3}, int8[16,16,3,3] a = {}, float as = "
        "{0.01}, "
        "float xs = {" +
        std::string(x_scale) + "}, float ys = {" + y_scale +
        "}>"
        "{ p = DequantizeLinear(x, xs, z) w = DequantizeLinear(a, as) f = Conv<pads=[1,1,1,1]>(p, w)"
        "  y = QuantizeLinear(f, ys, z) }");
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
