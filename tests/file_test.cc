// Mapped files: read beside their mapping, and let go of.
#include "base/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <vector>

namespace lathe {
namespace {

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
    // Out of order, overlapping, of other memory, and more than are let go of at once.
    for (size_t offset : {size_t{6} << 20, size_t{0}, size_t{100}, size_t{3} << 20})
      pages.drop_soon(at(offset), size_t{1} << 20);
    pages.drop_soon(own.data(), own.size());
    pages.drop_soon(at(size_t{8} << 20), 5);
  }
  EXPECT_EQ(std::string_view(bytes_.data(), bytes_.size()), file_->view());
  EXPECT_EQ(std::string(own.size(), 'x'), std::string(own.begin(), own.end()));
}

}  // namespace
}  // namespace lathe
