// Tests functions for tools: values are compared and summarized, models inspected, limits of the machine
// read.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "base/cpu.h"
#include "base/glob.h"
#include "lathe/lathe.h"

namespace lathe {
namespace LATHE_TEST_FILE {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

Tensor floats(std::vector<float> v) { return Tensor::from<float>(Shape{static_cast<int64_t>(v.size())}, v); }

TEST(Glob, MatchesAsShellsDo) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("Reduce*", "ReduceSum"));
  EXPECT_TRUE(glob_match("*/y?_*", "a/b/y1_z"));
  EXPECT_TRUE(glob_match("a*b", "a*b*b"));
  EXPECT_FALSE(glob_match("Reduce", "ReduceSum"));
  EXPECT_FALSE(glob_match("?", ""));
  EXPECT_FALSE(glob_match(std::string(30, '*') + "x", std::string(10000, 'a')));
}

TEST(Compare, FloatsWithinTolerance) {
  const Comparison c = compare(floats({1.0f, nan, infinity}), floats({1.0005f, nan, infinity}), 0, 1e-3);
  EXPECT_TRUE(c.equal) << c.reason;
  EXPECT_NEAR(c.max_absolute, 0.0005, 1e-6);
  EXPECT_TRUE(compare(floats({0}), floats({1e-6f}), 1e-5, 0).equal);
}

TEST(Compare, SaysWhatDiffers) {
  const Comparison c = compare(floats({1, 2, 3}), floats({1, 2.5f, 4}), 0.1, 0);
  EXPECT_FALSE(c.equal);
  EXPECT_EQ(c.differing, 2);
  EXPECT_EQ(c.reason, "element [1]: 2, expected 2.5");
  EXPECT_FALSE(compare(floats({nan}), floats({1}), 1e9, 1).equal);
  EXPECT_FALSE(compare(floats({infinity}), floats({-infinity}), 1e9, 1).equal);
  EXPECT_FALSE(compare(floats({1}), Tensor::from<double>({1}, std::vector<double>{1}), 1, 1).equal);
  EXPECT_FALSE(compare(floats({1}), floats({1, 1}), 1, 1).equal);
}

TEST(Compare, OtherKindsExactly) {
  const auto ints = [](int64_t x) { return Tensor::scalar<int64_t>(x); };
  EXPECT_FALSE(compare(ints(1), ints(2), 10, 10).equal);
  EXPECT_EQ(compare(ints(-1), ints(6), 0, 0).max_absolute, 7);
  EXPECT_EQ(compare(ints(INT64_MAX), ints(INT64_MAX - 1), 0, 0).max_absolute, 1);
  const auto unsigneds = [](uint64_t x) { return Tensor::scalar<uint64_t>(x); };
  EXPECT_EQ(compare(unsigneds(uint64_t{1} << 63), unsigneds(0), 0, 0).max_absolute, 0x1p63);
  EXPECT_TRUE(compare(Tensor::scalar<std::string>("a"), Tensor::scalar<std::string>("a"), 0, 0).equal);
  Sequence one, two;
  one.items->push_back(ints(1));
  two.items->push_back(ints(1));
  EXPECT_TRUE(compare(one, two, 0, 0).equal);
  two.items->push_back(ints(2));
  EXPECT_FALSE(compare(one, two, 0, 0).equal);
  EXPECT_FALSE(compare(Value(), ints(1), 0, 0).equal);
  EXPECT_TRUE(compare(Value(), Value(), 0, 0).equal);
}

TEST(Statistics, LeaveOutWhatIsNoNumber) {
  const auto s = statistics(floats({1, nan, -3, infinity, 5}));
  ASSERT_TRUE(s);
  EXPECT_EQ(s->min, -3);
  EXPECT_EQ(s->max, 5);
  EXPECT_EQ(s->mean, 1);
  EXPECT_EQ(s->nans, 1);
  EXPECT_EQ(s->infinities, 1);
  EXPECT_FALSE(statistics(Tensor::scalar<std::string>("a")));
  EXPECT_FALSE(statistics(floats({})));
}

TEST(RandomTensor, FollowsTheSeedAndTheType) {
  const Tensor a = random_tensor(DataType::float32, {1000}, 1),
               b = random_tensor(DataType::float32, {1000}, 1);
  EXPECT_TRUE(compare(a, b, 0, 0).equal);
  EXPECT_FALSE(compare(a, random_tensor(DataType::float32, {1000}, 2), 0, 0).equal);
  const auto s = statistics(a);
  EXPECT_GE(s->min, -1);
  EXPECT_LT(s->max, 1);
  EXPECT_NEAR(s->mean, 0, 0.1);
  for (DataType t : {DataType::int4, DataType::uint8, DataType::int64, DataType::boolean}) {
    const auto i = statistics(random_tensor(t, {100}, 3));
    EXPECT_EQ(i->min, 0) << name_of(t);
    EXPECT_EQ(i->max, 1) << name_of(t);
  }
}

TEST(MemoryLimit, IsTheTightestLevel) {
  const auto root = std::filesystem::temp_directory_path() / ("lathe_cgroup_" + std::to_string(getpid()));
  std::filesystem::create_directories(root / "a" / "b");
  const auto write = [](const std::filesystem::path& p, const char* text) { std::ofstream(p) << text; };
  write(root / "self", "0::/a/b\n");
  EXPECT_EQ(memory_limit(root, root / "self"), 0u);
  write(root / "a" / "memory.max", "2147483648\n");
  write(root / "a" / "b" / "memory.max", "max\n");
  EXPECT_EQ(memory_limit(root, root / "self"), uint64_t{1} << 31);
  write(root / "a" / "b" / "memory.max", "1048576\n");
  EXPECT_EQ(memory_limit(root, root / "self"), uint64_t{1} << 20);
  std::filesystem::remove_all(root);
}

onnx::ValueInfoProto value(const std::string& name, std::vector<std::string> dims) {
  onnx::ValueInfoProto v;
  v.name = name;
  v.type.emplace().tensor_type.emplace().elem_type = 1;
  auto& shape = v.type->tensor_type->shape.emplace();
  for (const std::string& d : dims) {
    auto& dim = shape.dim.emplace_back();
    if (std::isdigit(static_cast<unsigned char>(d[0])))
      dim.dim_value = std::stoll(d);
    else
      dim.dim_param = d;
  }
  return v;
}

onnx::Model one_node(const std::string& op, std::vector<onnx::ValueInfoProto> inputs) {
  onnx::Model m;
  m.proto.ir_version = 8;
  auto& opset = m.proto.opset_import.emplace_back();
  opset.domain = "";
  opset.version = 17;
  auto& g = m.proto.graph.emplace();
  g.name = "g";
  auto& n = g.node.emplace_back();
  n.op_type = op;
  for (const auto& v : inputs) n.input.push_back(*v.name);
  n.output = {"y"};
  onnx::ValueInfoProto y;
  y.name = "y";
  y.type.emplace().tensor_type.emplace().elem_type = 1;
  g.output = {y};
  g.input = std::move(inputs);
  return m;
}

TEST(Inspect, CountsWork) {
  const auto flops = [](const onnx::Model& m) { return inspect(m).flops.str(); };
  EXPECT_EQ(flops(one_node("MatMul", {value("a", {"2", "3"}), value("b", {"3", "5"})})), "60");
  EXPECT_EQ(inspect(one_node("MatMul", {value("a", {"n", "3"}), value("b", {"3", "5"})})).flops,
            Dim(30) * Dim::symbol("n"));
  EXPECT_EQ(flops(one_node("Gemm", {value("a", {"2", "3"}), value("b", {"3", "5"})})), "60");
  EXPECT_EQ(flops(one_node("Conv", {value("x", {"1", "3", "8", "8"}), value("w", {"4", "3", "3", "3"})})),
            std::to_string(2 * 4 * 6 * 6 * 27));
  EXPECT_EQ(
      flops(one_node("ConvTranspose", {value("x", {"1", "3", "4", "4"}), value("w", {"3", "2", "3", "3"})})),
      std::to_string(2 * 3 * 16 * 18));
  EXPECT_EQ(flops(one_node("Exp", {value("x", {"7", "3"})})), "21");
  EXPECT_EQ(flops(one_node("Transpose", {value("x", {"7", "3"})})), "0");
}

TEST(Inspect, FixesSymbols) {
  const ModelSummary s = inspect(one_node("Exp", {value("x", {"batch", "3"})}), {{"batch", 4}});
  EXPECT_EQ(s.flops, Dim(12));
  EXPECT_TRUE(s.symbols.empty());
  EXPECT_EQ(describe(*s.outputs.at(0).shape), "[4, 3]");
  EXPECT_EQ(s.operators.at("Exp"), 1);
}

TEST(Operators, ComeFromTheRegistry) {
  const auto found = operators("Softmax");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].versions.size(), 3u);
  EXPECT_EQ(found[0].kernels.back().backend, "reference");
  EXPECT_TRUE(operators("NoSuch").empty());
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
