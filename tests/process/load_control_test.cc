// Loading a model checks in time whether to stop: while it is read, parsed, and while its tensors are
// converted.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "lathe/lathe.h"
#include "onnx/load.h"
#include "onnx/tensor_data.h"
#include "support/error_code.h"
#include "support/model_builder.h"
#include "support/temp_directory.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using namespace test;

constexpr int64_t many = 300'000;

/// Returns one tensor of `many` elements for each of the fields that can have them.
std::vector<onnx::TensorProto> large_tensors() {
  std::vector<onnx::TensorProto> all(8);
  const auto n = static_cast<size_t>(many);
  const auto type = [&](size_t i, DataType t) -> onnx::TensorProto& {
    all[i].name = "t" + std::to_string(i);
    all[i].dims = {many};
    all[i].data_type = static_cast<int32_t>(t);
    return all[i];
  };
  type(0, DataType::float32).float_data.resize(n);
  type(1, DataType::float64).double_data.resize(n);
  type(2, DataType::int64).int64_data.resize(n);
  type(3, DataType::uint64).uint64_data.resize(n);
  type(4, DataType::uint8).int32_data.resize(n);
  type(5, DataType::string).string_data.resize(n);
  type(6, DataType::float6e2m3).raw_data = onnx::Bytes(std::string(n * 6 / 8, '\0'));
  type(7, DataType::boolean).raw_data = onnx::Bytes(std::string(n, '\2'));
  return all;
}

TEST(LoadControl, ConversionsOfTensorsStop) {
  RunControl control;
  for (const onnx::TensorProto& t : large_tensors()) {
    control.reset();
    EXPECT_EQ(onnx::to_tensor(t, nullptr, &control).size(), many) << *t.name;
    control.cancel();
    EXPECT_EQ(code_of([&] { onnx::to_tensor(t, nullptr, &control); }), Code::cancelled) << *t.name;
  }
}

TEST(LoadControl, ReadingAndParsingStop) {
  const TempDirectory directory;
  for (const onnx::TensorProto& t : large_tensors()) {
    if (t.raw_data) continue;  // bytes are not looked at
    ModelBuilder b(21);
    b.initializer(t);
    const auto path = directory.path() / (*t.name + ".onnx");
    onnx::save(b.model, path);
    RunControl control;
    EXPECT_EQ(onnx::load_model(path, {}, &control).proto.graph->initializer.size(), 1u);
    control.cancel();
    for (const bool untrusted : {false, true}) {
      onnx::LoadOptions options;
      options.untrusted = untrusted;
      EXPECT_EQ(code_of([&] { onnx::load_model(path, options, &control); }), Code::cancelled) << *t.name;
    }
  }
}

TEST(LoadControl, ReadingTextStops) {
  const TempDirectory directory;
  std::string numbers = "1";
  for (int i = 1; i < 100000; ++i) numbers += ",1";
  const std::vector<std::string> texts = {
      "g () => (int64[100000] w) <int64[100000] w = {" + numbers + "}> {}",
      "g () => (float[1] y) { y = Op <s = \"" + std::string(100000, 'x') + "\"> () }"};
  for (const std::string& text : texts) {
    const auto path = directory.path() / "model.onnxtxt";
    std::ofstream(path) << "<ir_version: 10, opset_import: [\"\": 21]> " << text;
    RunControl control;
    EXPECT_EQ(onnx::load_model(path, {}, &control).proto.graph->output.size(), 1u);
    control.cancel();
    EXPECT_EQ(code_of([&] { onnx::load_model(path, {}, &control); }), Code::cancelled);
  }
}

TEST(LoadControl, ImportPassesOnThatItStops) {
  // Cancellation is not reported as a fault of the initializer.
  for (const onnx::TensorProto& t : large_tensors()) {
    ModelBuilder b(21);
    b.input("x", "float[1]").output("y").initializer(t).node("Neg", {"x"}, {"y"});
    RunControl control;
    int asked = 0;
    BuildOptions options{.control = &control};
    options.progress = [&](std::string_view stage, double) {
      if (stage == "import") control.cancel();
      ++asked;
      return true;
    };
    EXPECT_EQ(code_of([&] { Engine::build(b.model, options); }), Code::cancelled) << *t.name;
    EXPECT_GT(asked, 0);
  }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
