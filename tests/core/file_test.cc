// Mapped files: read beside their mapping, and let go of.
#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <vector>

namespace lathe {
namespace LATHE_TEST_FILE {

class MappedFiles : public ::testing::Test {
 protected:
  MappedFiles() : path_(std::filesystem::temp_directory_path() / ("lathe-file-" + std::to_string(getpid()))) {
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<char>(i * 31 + i / 4096);
    std::ofstream(path_, std::ios::binary).write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
    file_ = map_file(open_regular(path_), path_);
  }
  ~MappedFiles() override { std::filesystem::remove(path_); }
  const char* at(size_t offset) const { return file_->view().data() + offset; }

  std::filesystem::path path_;
  std::vector<char> bytes_ = std::vector<char>((size_t{9} << 20) + 5);
  std::shared_ptr<const FileBytes> file_;
};

TEST_F(MappedFiles, AreReadInParts) {
  std::vector<char> part(100000);
  for (size_t offset : {size_t{0}, size_t{4097}, bytes_.size() - part.size()}) {
    ASSERT_TRUE(read_mapped(at(offset), part.size(), part.data()));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), bytes_.begin() + static_cast<ptrdiff_t>(offset)));
  }
  EXPECT_FALSE(read_mapped(bytes_.data(), 10, part.data())) << "memory of our own";
  EXPECT_FALSE(read_mapped(at(bytes_.size() - 5), 6, part.data())) << "beyond the end";
}

TEST_F(MappedFiles, ThatBecameShorterAreNotRead) {
  std::filesystem::resize_file(path_, 4096);
  std::vector<char> part(8192);
  EXPECT_TRUE(read_mapped(at(0), 4096, part.data()));
  EXPECT_FALSE(read_mapped(at(0), 8192, part.data()));
}

TEST_F(MappedFiles, KeepWhatTheyHoldWhenPagesAreLetGo) {
  std::vector<char> own(size_t{5} << 20, 'x');
  {
    MappedPages pages;
    // The ranges are out of order, overlapping, of other memory, and more than are dropped at once.
    for (size_t offset : {size_t{6} << 20, size_t{0}, size_t{100}, size_t{3} << 20})
      pages.drop_soon(at(offset), size_t{1} << 20);
    pages.drop_soon(own.data(), own.size());
    pages.drop_soon(at(size_t{8} << 20), 5);
  }
  EXPECT_EQ(std::string_view(bytes_.data(), bytes_.size()), file_->view());
  EXPECT_EQ(std::string(own.size(), 'x'), std::string(own.begin(), own.end()));
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class AtomicFiles : public ::testing::Test {
 protected:
  AtomicFiles()
      : folder_(std::filesystem::temp_directory_path() / ("lathe-atomic-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  ~AtomicFiles() override { std::filesystem::remove_all(folder_); }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  std::filesystem::path folder_;
};

TEST_F(AtomicFiles, TakeTheirPlaceWhenTheyAreWhole) {
  std::ofstream(folder_ / "old") << "old";
  {
    AtomicFile given_up(folder_ / "old");
    given_up.write("new");
    EXPECT_EQ(files(), 2u);
  }
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(contents(folder_ / "old"), "old");
  AtomicFile whole(folder_ / "old");
  whole.write("ne");
  whole.write("w");
  whole.finish();
  EXPECT_EQ(contents(folder_ / "old"), "old");
  whole.place();
  EXPECT_EQ(contents(folder_ / "old"), "new");
  EXPECT_EQ(files(), 1u);
  AtomicFile other(folder_ / "old");
  other.write("newer");
  other.finish();
  EXPECT_TRUE(other.place_as(folder_ / "second"));
  EXPECT_EQ(contents(folder_ / "old"), "new");
  EXPECT_EQ(contents(folder_ / "second"), "newer");
  EXPECT_EQ(files(), 2u);
}

TEST_F(AtomicFiles, FollowLinksAndKeepModes) {
  std::ofstream(folder_ / "old") << "old";
  std::filesystem::permissions(folder_ / "old", std::filesystem::perms(0604));
  std::filesystem::create_symlink("old", folder_ / "link");
  std::filesystem::create_symlink("new", folder_ / "dangling");
  std::filesystem::create_symlink("circle", folder_ / "circle");
  for (const char* name : {"link", "dangling"}) {
    AtomicFile file(folder_ / name);
    file.write("contents");
    file.commit();
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / name));
  }
  EXPECT_EQ(contents(folder_ / "old"), "contents");
  EXPECT_EQ(contents(folder_ / "new"), "contents");
  EXPECT_EQ(std::filesystem::status(folder_ / "old").permissions(), std::filesystem::perms(0604));
  EXPECT_THROW(AtomicFile(folder_ / "circle"), Error);
  EXPECT_THROW(AtomicFile{folder_}, Error);
  EXPECT_EQ(files(), 5u);
}

TEST_F(AtomicFiles, WriteZerosToStreams) {
  // A seek would leave them out.
  const auto path = folder_ / "old";
  std::ofstream(path) << std::string(3 << 20, 'x');
  const File opened(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  AtomicFile file("/dev/fd/" + std::to_string(opened.get()));
  EXPECT_TRUE(AtomicFile::is_stream("/dev/fd/" + std::to_string(opened.get())));
  file.write(std::string(2 << 20, '\0'));
  file.commit();
  EXPECT_EQ(contents(path), std::string(2 << 20, '\0') + std::string(1 << 20, 'x'));
  AtomicFile::require_writable("/dev/null");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFiles, HaveNamesOfAnyLength) {
  AtomicFile file(folder_ / std::string(255, 'n'));
  file.write("contents");
  file.commit();
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFiles, AreRemovedWhenTheProcessIsToEnd) {
  EXPECT_EXIT(
      {
        AtomicFile half(folder_ / "half");
        half.write("contents");
        const Unfinished folder(folder_ / "stage");
        std::filesystem::create_directories(folder_ / "stage" / "inner");
        remove_all_unfinished();
        _exit(static_cast<int>(files()));
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
