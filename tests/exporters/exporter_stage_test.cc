// Exports take their place whole, or not at all.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <map>

#include "exporters/stage.h"
#include "lathe/error.h"
#include "support/error_code.h"
#include "support/temp_directory.h"

namespace lathe::exporters {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;
namespace fs = std::filesystem;
using Contents = std::map<std::string, std::string>;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}
Contents contents_of(const fs::path& directory) {
  Contents all;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string name = entry.path().lexically_relative(directory).string();
    if (entry.is_directory()) {
      all[name] = "(folder)";
      continue;
    }
    std::ifstream in(entry.path());
    std::getline(in, all[name], '\0');
  }
  return all;
}
void fill(const StagedDirectory& stage) {
  write(stage.path() / "model.onnx", "new model");
  write(stage.path() / "model.onnx_data", "new weights");
  write(stage.path() / "pooling/config.json", "new pooling");
}
const Contents filled = {{"model.onnx", "new model"},
                         {"model.onnx_data", "new weights"},
                         {"pooling", "(folder)"},
                         {"pooling/config.json", "new pooling"}};

TEST(Stage, BecomesTheTargetInOneStep) {
  const TempDirectory folder;
  StagedDirectory stage(folder / "deep/er/out");
  fill(stage);
  EXPECT_FALSE(fs::exists(folder / "deep/er/out"));
  struct stat before, after;
  ASSERT_EQ(::stat(stage.path().c_str(), &before), 0);
  stage.commit();
  EXPECT_FALSE(fs::exists(stage.path()));
  ASSERT_EQ(::stat((folder / "deep/er/out").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);  // the folder itself has moved
  EXPECT_EQ(contents_of(folder / "deep/er/out"), filled);
}

TEST(Stage, KeepsWhatElseIsInTheTarget) {
  const TempDirectory folder;
  write(folder / "out/model.onnx", "old model");
  write(folder / "out/notes.txt", "mine");
  {
    StagedDirectory stage(folder / "out");
    fill(stage);
    stage.commit();
  }
  Contents want = filled;
  want["notes.txt"] = "mine";
  EXPECT_EQ(contents_of(folder / "out"), want);
  EXPECT_EQ(contents_of(folder.path()).size(), want.size() + 1);  // nothing is left beside it
}

TEST(Stage, AnEmptyFolderAndALinkToOne) {
  const TempDirectory folder;
  fs::create_directories(folder / "real");
  fs::create_directory_symlink(folder / "real", folder / "link");
  StagedDirectory(folder / "link").commit();
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  StagedDirectory stage(folder / "link");
  fill(stage);
  stage.commit();
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(contents_of(folder / "real"), filled);
}

TEST(Stage, PutsAllBackWhereOneFileHasNoPlace) {
  const TempDirectory folder;
  for (const auto& [obstacle, text] : Contents{{"pooling", "a file where a folder must be"},
                                               {"model.onnx/inside", "a folder where a file must be"}}) {
    const fs::path out = folder / ("out_" + obstacle.substr(0, 3));
    write(out / obstacle, text);
    write(out / "model.onnx_data", "old weights");
    write(out / "z.onnx", "old");
    const Contents before = contents_of(out);
    {
      StagedDirectory stage(out);
      fill(stage);
      write(stage.path() / "deep/er/file", "new");
      write(stage.path() / "z.onnx", "new");
      EXPECT_EQ(code_of([&] { stage.commit(); }), Code::file_write_failed);
    }
    EXPECT_EQ(contents_of(out), before) << obstacle;
  }
}

TEST(Stage, WithoutCommitNothingIsLeft) {
  const TempDirectory folder;
  { fill(StagedDirectory(folder / "out")); }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::exporters
