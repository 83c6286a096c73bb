// Weights outside of the model's file: opened, moved in and out, and mapped rather than copied.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "lathe/onnx.h"
#include "onnx/external.h"
#include "support/error_code.h"
#include "support/external_models.h"
#include "support/resident.h"
#include "support/temp_directory.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

namespace fs = std::filesystem;
using namespace onnx;

std::string floats(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(float)};
}

Tensor first_weight(const Model& m) { return to_tensor(m.proto.graph->initializer.at(0), &m); }

TEST(OnnxExternal, ReadFromThere) {
  const TempDirectory dir;
  dir.write("sub/w.bin", floats({0, 0, 1, 2, 3}));
  const auto path =
      dir.write("m.onnx", serialize(model_of(external_tensor(
                              3, {{"location", "./sub//w.bin"}, {"offset", "8"}, {"length", "12"}}))));
  for (bool untrusted : {false, true}) {
    LoadOptions options;
    options.untrusted = untrusted;
    const Tensor w = first_weight(Model::load(path, options));  // outlives the model
    EXPECT_EQ(describe(w), "float32[3]");
    EXPECT_EQ(w.as<float>()[2], 3);
  }
}

TEST(OnnxExternal, LeftAloneWhenNotWanted) {
  const TempDirectory dir;
  const auto path =
      dir.write("m.onnx", serialize(model_of(external_tensor(3, {{"location", "missing.bin"}}))));
  EXPECT_EQ(code_of([&] { Model::load(path); }), Code::external_missing);
  LoadOptions options;
  options.external_data = false;
  const Model m = Model::load(path, options);
  EXPECT_EQ(code_of([&] { first_weight(m); }), Code::external_missing);
  save(m, dir / "copy.onnx");
  EXPECT_EQ(serialize(Model::load(dir / "copy.onnx", options).proto), serialize(m.proto));
}

TEST(OnnxExternal, TiedWeightsShareTheirBytes) {
  const TempDirectory dir;
  dir.write("w.bin", floats({1, 2, 3, 4}));
  ModelProto m = model_of(external_tensor(2, {{"location", "w.bin"}, {"offset", "8"}}, "a"));
  m.graph->initializer.push_back(external_tensor(2, {{"location", "w.bin"}, {"offset", "8"}}, "b"));
  m.graph->initializer.push_back(external_tensor(2, {{"location", "w.bin"}}, "c"));
  const Model loaded = Model::load(dir.write("m.onnx", serialize(m)));
  const Tensor a = to_tensor(loaded.proto.graph->initializer[0], &loaded),
               b = to_tensor(loaded.proto.graph->initializer[1], &loaded);
  EXPECT_EQ(a.data(), b.data());
}

TEST(OnnxExternal, LinksUnderARootThatIsTrusted) {
  // A folder like Hugging Face's cache: snapshots of links into blobs.
  const TempDirectory dir;
  const std::string model = serialize(model_of(external_tensor(1, {{"location", "m.onnx.data"}})));
  dir.write("blobs/aa", model);
  dir.write("blobs/bb", floats({42}));
  fs::create_directories(dir / "snapshots/1");
  fs::create_symlink("../../blobs/aa", dir / "snapshots/1/m.onnx");
  fs::create_symlink("../../blobs/bb", dir / "snapshots/1/m.onnx.data");
  const auto path = dir / "snapshots/1/m.onnx";
  EXPECT_EQ(code_of([&] { Model::load(path); }), Code::external_link);
  LoadOptions options;
  options.link_roots = {dir / "elsewhere", dir / "blobs"};
  EXPECT_EQ(first_weight(Model::load(path, options)).as<float>()[0], 42);
  options.link_roots = {dir / "snapshots"};
  EXPECT_EQ(code_of([&] { Model::load(path, options); }), Code::external_link);
  fs::create_hard_link(dir / "blobs/bb", dir / "blobs/cc");
  options.link_roots = {dir / "blobs"};
  EXPECT_EQ(first_weight(Model::load(path, options)).as<float>()[0], 42);
}

Model model_with_weights() {
  Model m;
  m.proto = empty_model();
  auto& list = m.proto.graph->initializer;
  list.push_back(from_tensor(Tensor::from<float>({2000}, std::vector<float>(2000, 1.5f)), "large"));
  list.push_back(from_tensor(Tensor::from<float>({300}, std::vector<float>(300, 2.5f)), "medium"));
  list.push_back(from_tensor(Tensor::scalar<float>(3), "small"));
  TensorProto typed;
  typed.name = "typed";
  typed.data_type = static_cast<int32_t>(DataType::int16);
  typed.dims = {1000};
  typed.int32_data.assign(1000, -7);
  list.push_back(typed);
  list.push_back(
      from_tensor(Tensor::from<std::string>({500}, std::vector<std::string>(500, "text")), "strings"));
  AttributeProto body;
  body.name = "then_branch";
  body.type = AttributeProto::GRAPH;
  body.g.emplace().initializer.push_back(
      from_tensor(Tensor::from<double>({500}, std::vector<double>(500, 0.5)), "inner"));
  m.proto.graph->node.emplace_back().attribute.push_back(body);
  return m;
}

TEST(OnnxExternal, OutAndBackIn) {
  const TempDirectory dir;
  const Model m = model_with_weights();
  const std::string before = serialize(m.proto);
  SaveOptions out;
  out.data = SaveOptions::Data::external;
  save(m, dir / "out.onnx", out);
  EXPECT_EQ(serialize(m.proto), before) << "saving changes nothing";

  const Model outside = Model::load(dir / "out.onnx");
  const auto& list = outside.proto.graph->initializer;
  EXPECT_TRUE(list[0].is_external());
  EXPECT_TRUE(list[1].is_external());
  EXPECT_FALSE(list[2].is_external());
  EXPECT_TRUE(list[3].is_external());
  EXPECT_FALSE(list[4].is_external());
  const TensorProto& inner = outside.proto.graph->node[0].attribute[0].g->initializer[0];
  EXPECT_TRUE(inner.is_external());
  for (const TensorProto* t : {&list[0], &list[1], &list[3], &inner}) {
    const ExternalReference r = parse_reference(*t);
    EXPECT_EQ(r.location(), "out.onnx.data");
    EXPECT_EQ(r.offset % (*r.length >= 4096 ? 4096 : 64), 0u);
  }
  EXPECT_EQ(to_tensor(list[3], &outside).as<int16_t>()[999], -7);
  EXPECT_EQ(to_tensor(inner, &outside).as<double>()[499], 0.5);

  SaveOptions in;
  in.data = SaveOptions::Data::single_file;
  save(outside, dir / "in.onnx", in);
  const Model inside = Model::load(dir / "in.onnx");
  EXPECT_EQ(first_weight(inside).as<float>()[1999], 1.5f);
  EXPECT_FALSE(fs::exists(dir / "in.onnx.data"));

  // If the model is saved to another folder, tensors stay outside and their data is copied.
  fs::create_directory(dir / "other");
  save(outside, dir / "other/m.onnx");
  EXPECT_EQ(first_weight(Model::load(dir / "other/m.onnx")).as<float>()[0], 1.5f);
  // Over itself, while it is mapped.
  save(outside, dir / "out.onnx", out);
  EXPECT_EQ(first_weight(Model::load(dir / "out.onnx")).as<float>()[0], 1.5f);
  EXPECT_EQ(first_weight(outside).as<float>()[0], 1.5f);
}

TEST(OnnxExternal, AsText) {
  const TempDirectory dir;
  SaveOptions text;
  text.text = true;
  save(model_with_weights(), dir / "m.onnxtxt", text);
  const Model m = Model::load(dir / "m.onnxtxt");
  EXPECT_EQ(first_weight(m).as<float>()[7], 1.5f);
  EXPECT_EQ(m.proto.graph->initializer[4].string_data[499].view(), "text");
}

TEST(OnnxExternal, NothingIsLeftOfAFailure) {
  const TempDirectory dir;
  Model m = model_with_weights();
  m.proto.graph->initializer.push_back(external_tensor(3, {{"location", "missing"}}));
  SaveOptions out;
  out.data = SaveOptions::Data::external;
  EXPECT_EQ(code_of([&] { save(m, dir / "m.onnx", out); }), Code::external_missing);
  EXPECT_EQ(code_of([&] { save(m, dir / "m.onnx"); }), Code::external_missing);
  EXPECT_TRUE(fs::is_empty(dir.path()));
  EXPECT_EQ(code_of([&] { save(m, dir / "no such folder/m.onnx"); }), Code::external_missing);
  m.proto.graph->initializer.pop_back();
  EXPECT_EQ(code_of([&] { save(m, dir / "no such folder/m.onnx"); }), Code::file_write_failed);
  for (const char* name : {"../x", "a/b", "..", "m.onnx", "c:d", "a\\b"}) {
    out.external_name = name;
    EXPECT_EQ(code_of([&] { save(m, dir / "m.onnx", out); }), Code::external_bad_path) << name;
  }
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(OnnxExternal, AGigabyteIsMappedNotCopied) {
  const TempDirectory dir;
  constexpr int64_t tensors = 64, elements = int64_t{4} << 20;  // of 16 MiB each
  const size_t total = static_cast<size_t>(tensors * elements) * sizeof(float);
  ModelProto m = empty_model();
  for (int64_t i = 0; i < tensors; ++i)
    m.graph->initializer.push_back(external_tensor(
        elements, {{"location", "w.bin"}, {"offset", std::to_string(i * elements * 4)}}, std::to_string(i)));
  dir.write("w.bin", "");
  fs::resize_file(dir / "w.bin", total);
  const Model outside = Model::load(dir.write("outside.onnx", serialize(m)));
  SaveOptions in;
  in.data = SaveOptions::Data::single_file;
  save(outside, dir / "inside.onnx", in);
  EXPECT_GT(fs::file_size(dir / "inside.onnx"), total);
  for (const char* name : {"outside.onnx", "inside.onnx"}) {
    const size_t before = resident();
    const Model loaded = Model::load(dir / name);
    EXPECT_LT(resident(), before + total / 20) << name;
    // They are there all the same.
    EXPECT_EQ(to_tensor(loaded.proto.graph->initializer[63], &loaded).as<float>()[elements - 1], 0);
  }
}

TEST(OnnxExternal, ModelsOfMoreThanFourGigabytes) {
  const TempDirectory dir;
  constexpr size_t bytes = (size_t{4} << 30) + 4096;
  constexpr int64_t elements = bytes / 4;
  const std::string mark = floats({7});
  const auto file = dir.write("w.bin", "");
  fs::resize_file(file, bytes);
  {
    std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
    f.seekp((elements - 1) * 4);
    f.write(mark.data(), 4);
  }
  ModelProto proto = model_of(external_tensor(elements, {{"location", "w.bin"}}));
  proto.graph->doc_string = "after the weights";
  const Model outside = Model::load(dir.write("m.onnx", serialize(proto)));
  SaveOptions in;
  in.data = SaveOptions::Data::single_file;
  save(outside, dir / "big.onnx", in);
  fs::remove(file);
  const Model big = Model::load(dir / "big.onnx");
  EXPECT_EQ(big.proto.graph->doc_string, "after the weights");
  EXPECT_EQ(big.proto.graph->initializer[0].raw_data->size(), bytes);
  EXPECT_EQ(big.proto.graph->initializer[0].raw_data->view().substr(bytes - 4), mark);
  LoadOptions limited;
  limited.max_bytes = uint64_t{2} << 30;
  EXPECT_EQ(code_of([&] { Model::load(dir / "big.onnx", limited); }), Code::wire_too_large);
}

TEST(OnnxExternal, OneModelManyThreads) {
  const TempDirectory dir;
  dir.write("w.bin", floats({1, 2, 3, 4}));
  ModelProto m = empty_model();
  for (int i = 0; i < 4; ++i)
    m.graph->initializer.push_back(
        external_tensor(1, {{"location", "w.bin"}, {"offset", std::to_string(4 * i)}}, std::to_string(i)));
  const Model loaded = Model::load(dir.write("m.onnx", serialize(m)));
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int k = 0; k < 8; ++k)
    threads.emplace_back([&] {
      for (int i = 0; i < 400; ++i) {
        const auto at = static_cast<size_t>(i % 4);
        if (to_tensor(loaded.proto.graph->initializer[at], &loaded).as<float>()[0] ==
            static_cast<float>(at + 1))
          ++right;
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(right, 8 * 400);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
