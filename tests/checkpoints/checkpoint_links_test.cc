// Files of a checkpoint: names in files must stay in their folder, and links in that folder are followed, in
// every format and for every file that is read beside the weights.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>

#include "lathe/exporters.h"
#include "lathe/io.h"
#include "lathe/safetensors.h"
#include "support/checkpoint_files.h"
#include "support/error_code.h"
#include "support/temp_directory.h"

namespace lathe {
namespace LATHE_TEST_FILE {

namespace fs = std::filesystem;
using namespace testing;

std::string one(float v) { return {reinterpret_cast<const char*>(&v), sizeof v}; }
std::string safe(const char* name, float v) {
  return safetensors("{" + entry(name, "F32", "1", 0, 4) + "}", one(v));
}
std::string torch(const char* name, float v) {
  return pytorch(dictionary({{name, tensor(storage("FloatStorage", "0", 1), 0, {1}, {1})}}), {one(v)});
}
std::string npy(float v) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  header.resize(117, ' ');
  return "\x93NUMPY\x01" + std::string(1, '\0') + little(118, 2) + header + "\n" + one(v);
}

/// A folder like the cache of Hugging Face's hub: files are links out of the snapshot, into a folder of
/// blobs.
class Cache {
 public:
  Cache() { fs::create_directories(snapshot()), fs::create_directories(folder_ / "blobs"); }
  fs::path snapshot() const { return folder_ / "snapshots/1"; }
  void add(const std::string& name, const std::string& bytes) {
    const std::string blob = "blob" + std::to_string(blobs_++);
    folder_.write("blobs/" + blob, bytes);
    fs::create_directories((snapshot() / name).parent_path());
    std::string up = "../../";
    for (char c : name)
      if (c == '/') up += "../";
    fs::create_symlink(up + "blobs/" + blob, snapshot() / name);
  }

 private:
  TempDirectory folder_;
  int blobs_ = 0;
};

float element(const Checkpoint& c, const char* name) { return c.tensor(name).as<float>()[0]; }

TEST(CheckpointLinks, AreFollowedOutOfTheFolderInEveryFormat) {
  for (const bool untrusted : {false, true}) {
    const CheckpointOptions how{.untrusted = untrusted};
    for (const auto& [name, bytes, tensor] : {std::tuple{"model.safetensors", safe("w", 3), "w"},
                                              {"pytorch_model.bin", torch("w", 3), "w"},
                                              {"w.npz", zip({{"w.npy", npy(3)}}), "w"},
                                              {"w.npy", npy(3), "w"}}) {
      Cache cache;
      cache.add(name, bytes);
      const Checkpoint c = Checkpoint::open(cache.snapshot() / name, how);
      EXPECT_EQ(element(c, tensor), 3) << name;
      EXPECT_EQ(c.files().front().filename(), name);  // not the blob's name
    }
    for (const auto& [index, first, second, made] :
         {std::tuple{"model.safetensors.index.json", "a-1.safetensors", "a-2.safetensors", &safe},
          {"pytorch_model.bin.index.json", "a-1.bin", "a-2.bin", &torch}}) {
      Cache cache;
      cache.add(index, std::string(R"({"weight_map": {"a": ")") + first + R"(", "b": ")" + second + "\"}}");
      cache.add(first, made("a", 1));
      cache.add(second, made("b", 2));
      // The shards are beside the link, not beside its target.
      for (const fs::path& path : {cache.snapshot(), cache.snapshot() / index}) {
        const Checkpoint c = Checkpoint::open(path, how);
        EXPECT_EQ(element(c, "a") + 10 * element(c, "b"), 21) << index;
      }
    }
  }
}

TEST(CheckpointLinks, OfFoldersAndOfLinksAreFollowedToo) {
  const TempDirectory folder;
  folder.write("far/model.safetensors", safe("w", 5));
  fs::create_directory_symlink("far", folder / "near");
  fs::create_directory_symlink("near", folder / "nearer");
  EXPECT_EQ(element(Checkpoint::open(folder / "nearer"), "w"), 5);
  fs::create_symlink("nearer/model.safetensors", folder / "one.safetensors");
  fs::create_symlink("one.safetensors", folder / "two.safetensors");
  EXPECT_EQ(from_file(folder / "two.safetensors").as<float>()[0], 5);
}

TEST(CheckpointLinks, LeadToRegularFilesOrAreRefused) {
  const TempDirectory folder;
  const auto code = [&](const char* name) { return code_of([&] { Checkpoint::open(folder / name); }); };
  fs::create_symlink("nowhere", folder / "dangling.safetensors");
  EXPECT_EQ(code("dangling.safetensors"), Code::file_not_found);
  fs::create_symlink("loop.safetensors", folder / "loop.safetensors");
  EXPECT_NE(code("loop.safetensors"), Code::none);
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  fs::create_symlink("fifo", folder / "fifo.safetensors");
  EXPECT_EQ(code("fifo.safetensors"), Code::file_not_regular);
  fs::create_symlink("/dev/zero", folder / "zero.safetensors");
  EXPECT_EQ(code("zero.safetensors"), Code::file_not_regular);

  // Half a download is no reason to take another file.
  fs::create_directories(folder / "half");
  fs::create_symlink("nowhere", folder / "half/model.safetensors");
  folder.write("half/pytorch_model.bin", torch("w", 1));
  EXPECT_EQ(code("half"), Code::file_not_found);

  // The link is a shard, or the configuration.
  folder.write("shards/model.safetensors.index.json", R"({"weight_map": {"a": "a.safetensors"}})");
  fs::create_symlink("../fifo", folder / "shards/a.safetensors");
  EXPECT_EQ(code("shards"), Code::file_not_regular);
  fs::create_symlink("../fifo", folder / "shards/config.json");
  EXPECT_EQ(code_of([&] { ModelConfig::open(folder / "shards"); }), Code::file_not_regular);
}

/// Names in files stay in their folder, though a link there may lead out of it.
TEST(CheckpointLinks, NamesInFilesDoNotLeadOut) {
  const TempDirectory folder;
  folder.write("outside.safetensors", safe("a", 1));
  folder.write("in/sub/a.safetensors", safe("a", 1));
  fs::create_directory_symlink("..", folder / "in/up");
  for (const char* format : {"model.safetensors", "pytorch_model.bin"})
    for (const std::string& name :
         {std::string("../outside.safetensors"), (folder / "outside.safetensors").string(),
          std::string("up/outside.safetensors"), std::string("sub/a.safetensors"),
          std::string("./outside.safetensors"), std::string(".."), std::string(".")}) {
      folder.write(std::string("in/") + format + ".index.json", R"({"weight_map": {"a": ")" + name + "\"}}");
      EXPECT_EQ(code_of([&] { Checkpoint::open(folder / "in" / (std::string(format) + ".index.json")); }),
                Code::external_bad_path)
          << name;
    }
}

/// An export of such a cache: weights, configuration and what is copied.
TEST(CheckpointLinks, AnExportReadsACacheOfLinks) {
  const fs::path from = fs::path(LATHE_SOURCE_DIR) / "tests/data/exporter/sentence_bert";
  Cache cache;
  for (const auto& entry : fs::recursive_directory_iterator(from))
    if (const std::string name = entry.path().lexically_relative(from).string();
        entry.is_regular_file() && name.find(".io-") == std::string::npos && name != "case.json") {
      std::ifstream in(entry.path(), std::ios::binary);
      cache.add(name, std::string(std::istreambuf_iterator<char>(in), {}));
    }
  const TempDirectory folder;
  exporters::ExportOptions o;
  o.build.threads = 1;
  o.validation->build.threads = 1;
  o.validation->seeds = 1;
  exporters::export_checkpoint(cache.snapshot(), folder / "out", o);
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder / "out/modules.json")));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder / "out/model.onnx")));
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
