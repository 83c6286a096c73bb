// Tests optional components: images and regular expressions, damaged and hostile files, and the errors if a
// component is missing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <thread>

#include "base/component.h"
#include "io/file.h"
#include "lathe/lathe.h"
#include "support/error_code.h"
#include "support/shared_data.h"
#include "support/temp_directory.h"
#include "support/text_model.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using Bytes = std::vector<uint8_t>;
namespace fs = std::filesystem;

/// Tests of what a component does are about builds that have it.
#define LATHE_NEEDS_COMPONENT(name) \
  if (!component(name).table) GTEST_SKIP() << "built without: " << component(name).missing

onnx::Model decoder(const std::string& format) {
  return model_of("(uint8[n] file) => (uint8[h,w,c] picture) { picture = ImageDecoder <pixel_format = \"" +
                  format + "\"> (file) }");
}
Value as_value(const Bytes& b) { return Tensor::from<uint8_t>({static_cast<int64_t>(b.size())}, b); }

/// One engine for many pictures.
class Decoder {
 public:
  explicit Decoder(const std::string& format = "RGB")
      : engine_(Engine::build(decoder(format), {.threads = 1})), context_(engine_.create_context()) {}
  Tensor operator()(const Bytes& file) {
    return context_.run(std::vector<Value>{as_value(file)})[0].tensor().clone();
  }

 private:
  Engine engine_;
  Context context_;
};

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Bytes text(std::string_view s) { return Bytes(s.begin(), s.end()); }
Bytes u16(uint32_t v) { return {static_cast<uint8_t>(v), static_cast<uint8_t>(v >> 8)}; }
Bytes u32(uint32_t v) { return u16(v & 0xffff) + u16(v >> 16); }
/// A header of 40 bytes, then what comes before the pixels, then these.
Bytes bmp(int32_t width, int32_t height, uint32_t bits, uint32_t compression, const Bytes& between,
          const Bytes& pixels) {
  const auto at = static_cast<uint32_t>(54 + between.size());
  return text("BM") + u32(static_cast<uint32_t>(at + pixels.size())) + u32(0) + u32(at) + u32(40) +
         u32(static_cast<uint32_t>(width)) + u32(static_cast<uint32_t>(height)) + u16(1) + u16(bits) +
         u32(compression) + u32(0) + u32(0) + u32(0) + u32(0) + u32(0) + between + pixels;
}
void expect_pixels(const Tensor& got, const Shape& shape, const Bytes& pixels) {
  ASSERT_EQ(got.shape(), shape) << describe(got);
  EXPECT_EQ(Bytes(got.as<uint8_t>().begin(), got.as<uint8_t>().end()), pixels);
}

TEST(ImageDecoder, ReadsPortableMaps) {
  LATHE_NEEDS_COMPONENT("images");
  Decoder decode;
  const Bytes two{1, 2, 3, 4, 5, 6};
  expect_pixels(decode(text("P6\n# a remark\n2 1\n255\n") + two), {1, 2, 3}, two);
  expect_pixels(decode(text("P3 2 1 255\n1 2 3\n4 5 6")), {1, 2, 3}, two);
  expect_pixels(decode(text("P2 1 2 15\n0 15\n")), {2, 1, 3}, {0, 0, 0, 255, 255, 255});
  expect_pixels(decode(text("P5 1 1 65535\n") + Bytes{0x80, 0}), {1, 1, 3}, {128, 128, 128});
  expect_pixels(decode(text("P1 3 1\n1 0#x\n1\n")), {1, 3, 3}, {0, 0, 0, 255, 255, 255, 0, 0, 0});
  expect_pixels(decode(text("P4 9 1\n") + Bytes{0xff, 0x00}), {1, 9, 3}, Bytes(24, 0) + Bytes(3, 255));
  expect_pixels(decode(text("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n") +
                       Bytes{7, 8, 9, 0}),
                {1, 1, 3}, {7, 8, 9});
}

TEST(ImageDecoder, ReadsBitmaps) {
  LATHE_NEEDS_COMPONENT("images");
  Decoder decode;
  // Blue comes first, rows are padded to four bytes, and the last row comes first.
  const Bytes rows{1, 2, 3, 0, 4, 5, 6, 0};
  expect_pixels(decode(bmp(1, 2, 24, 0, {}, rows)), {2, 1, 3}, {6, 5, 4, 3, 2, 1});
  expect_pixels(decode(bmp(1, -2, 24, 0, {}, rows)), {2, 1, 3}, {3, 2, 1, 6, 5, 4});
  const Bytes black_and_red = u32(0) + Bytes{0, 0, 255, 0};
  expect_pixels(decode(bmp(3, 1, 1, 0, black_and_red, {0xa0, 0, 0, 0})), {1, 3, 3},
                {255, 0, 0, 0, 0, 0, 255, 0, 0});
  expect_pixels(decode(bmp(1, 1, 16, 0, {}, {0xff, 0x7f, 0, 0})), {1, 1, 3}, {255, 255, 255});
  expect_pixels(decode(bmp(1, 1, 16, 3, u32(0xf800) + u32(0x07e0) + u32(0x001f), {0x00, 0xf8, 0, 0})),
                {1, 1, 3}, {255, 0, 0});
  expect_pixels(decode(bmp(1, 1, 32, 0, {}, {1, 2, 3, 200})), {1, 1, 3}, {3, 2, 1});
  // Two of color 1, one by one 1 0 1, an end of row; then nothing until the end.
  const Bytes coded{2, 1, 0, 3, 1, 0, 1, 0, 0, 0, 0, 1};
  const Bytes palette = black_and_red + Bytes(254 * 4, 0);
  expect_pixels(decode(bmp(5, 1, 8, 1, palette, coded)), {1, 5, 3},
                {255, 0, 0, 255, 0, 0, 255, 0, 0, 0, 0, 0, 255, 0, 0});
  // OS/2: three bytes a color, sizes of sixteen bits.
  expect_pixels(decode(text("BM") + u32(0) + u32(0) + u32(32) + u32(12) + u16(1) + u16(1) + u16(1) + u16(1) +
                       Bytes{0, 0, 0, 9, 8, 7} + Bytes{0x80, 0, 0, 0}),
                {1, 1, 3}, {7, 8, 9});
}

TEST(ImageDecoder, GivesTheFormatAskedFor) {
  LATHE_NEEDS_COMPONENT("images");
  const Bytes file = text("P6 2 1 255\n") + Bytes{10, 20, 200, 255, 255, 255};
  expect_pixels(Decoder("BGR")(file), {1, 2, 3}, {200, 20, 10, 255, 255, 255});
  // 0.299 * 10 + 0.587 * 20 + 0.114 * 200 = 37.53
  expect_pixels(Decoder("Grayscale")(file), {1, 2, 1}, {38, 255});
  EXPECT_EQ(code_of([] { Engine::build(decoder("YUV")); }), Code::node_bad_attribute);
}

TEST(ImageDecoder, SizesAreKnownAfterwardsInTheSameGraph) {
  LATHE_NEEDS_COMPONENT("images");
  Engine e = Engine::build(model_of(R"((uint8[n] file) => (float[h,w,c] y, int64[3] shape) {
    picture = ImageDecoder (file)
    shape = Shape (picture)
    real = Cast <to = 1> (picture)
    two = Constant <value_float = 2.0> ()
    y = Mul (real, two)
  })"));
  Context context = e.create_context();
  for (uint8_t n : {1, 2, 1}) {
    const Bytes file = text("P5 1 " + std::to_string(n) + " 255\n") + Bytes(n, 9);
    const auto out = context.run(std::vector<Value>{as_value(file)});
    EXPECT_EQ(out[0].tensor().shape(), (Shape{n, 1, 3}));
    EXPECT_EQ(out[0].tensor().as<float>()[2], 18);
    EXPECT_EQ(out[1].tensor().as<int64_t>()[0], n);
  }
}

TEST(ImageDecoder, GivesAnEmptyPictureForWhatItCannotDecode) {
  LATHE_NEEDS_COMPONENT("images");
  Decoder decode;
  std::vector<Bytes> files{{}, text("no picture")};
  for (const char* file :
       {"P6 2 1 255\n12345", "P6 2 1 255\n1", "P6 0 1 255\n", "P6 1 1 0\n1", "P6 99999999999 1 255\n",
        "P6 1 1 255", "P3 1 1 9\n1 2 10", "P3 1 1 9\n1 x 1", "P7\nWIDTH 1\nWHAT 2\n", "P6 1"})
    files.push_back(text(file));
  files.push_back(bmp(2, 1, 24, 0, {}, {1, 2, 3}));
  files.push_back(bmp(-1, 1, 24, 0, {}, {1, 2, 3, 4}));
  files.push_back(bmp(1, INT32_MIN, 24, 0, {}, {1, 2, 3, 4}));
  files.push_back(bmp(1, 1, 8, 1, Bytes(1024, 0), {9, 1, 0, 1}));  // a run beyond the edge
  files.push_back(bmp(1, 1, 8, 1, Bytes(1024, 0), {1, 1}));        // no end
  files.push_back(bmp(1, 1, 24, 4, {}, {1, 2, 3, 4}));             // a JPEG inside
  for (const Bytes& file : files) {
    expect_pixels(decode(file), {0, 0, 3}, {});
    expect_pixels(decode(text("P5 1 1 255\n") + Bytes{5}), {1, 1, 3}, {5, 5, 5});  // nothing is poisoned
  }
  expect_pixels(Decoder("Grayscale")(text("no picture")), {0, 0, 1}, {});
}

TEST(ImageDecoder, RefusesSizesThatNoMemoryCouldHold) {
  LATHE_NEEDS_COMPONENT("images");
  Decoder decode;
  try {
    decode(bmp(INT32_MAX, INT32_MAX, 8, 1, Bytes(1024, 0), {0, 1}));  // known from the header
    FAIL() << "was decoded";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::run_too_large);
    EXPECT_EQ(e.diagnostic().op, "ImageDecoder");
    EXPECT_NE(std::string(e.what()).find("MiB"), std::string::npos) << e.what();
  }
}

/// Was the component built with the decoder of this form?
bool decodes(const std::string& form) {
  return (" " + std::string(component("images").table->has) + " ").find(" " + form + " ") !=
         std::string::npos;
}

/// The files of the standard's cases, one of each form that is decoded.
std::map<std::string, Bytes> pictures(const fs::path& shared) {
  std::map<std::string, Bytes> files;
  const std::string before = "test_image_decoder_decode_", after = "_rgb";
  for (const ConformanceCase& c : backend_cases(shared, "node")) {
    if (!c.name.starts_with(before) || !c.name.ends_with(after)) continue;
    std::string form = c.name.substr(before.size(), c.name.size() - before.size() - after.size());
    if (form == "jpeg2k") form = "jpeg2000";
    if (!decodes(form)) continue;
    const Value v = load_case_value(c.sets[0].input_list[0], "tensor(uint8)");
    const auto bytes = v.tensor().as<uint8_t>();
    files[form] = Bytes(bytes.begin(), bytes.end());
  }
  return files;
}

/// Decodes, finds no image or tells why not, for any bytes.
struct Outcomes {
  size_t decoded = 0, refused = 0;
  void add(Decoder& decode, const Bytes& file, const std::string& what) {
    try {
      decode(file).size() ? ++decoded : ++refused;
    } catch (const Error& e) {
      ++refused;
      const Code c = e.code();
      EXPECT_TRUE(c == Code::run_too_large || c == Code::component_absent) << what << ": " << e.what();
    } catch (...) {
      ADD_FAILURE() << what << ": something else was thrown";
    }
  }
};

TEST(ImageDecoder, SurvivesFilesCutAnywhere) {
  LATHE_NEEDS_SHARED(shared);
  LATHE_NEEDS_COMPONENT("images");
  Decoder decode("Grayscale");
  const auto files = pictures(shared);
  EXPECT_GE(files.size(), 2u);
  for (const auto& [name, file] : files) {
    Outcomes seen;
    const size_t step = std::max<size_t>(1, file.size() / 300);
    for (size_t n = 0; n < file.size(); n += step)
      seen.add(decode, Bytes(file.begin(), file.begin() + static_cast<ptrdiff_t>(n)), name);
    seen.add(decode, file, name);
    EXPECT_GE(seen.decoded, 1u) << name;
    EXPECT_GT(seen.refused, seen.decoded) << name;  // at most what lies behind the pixels may be missing
  }
}

TEST(ImageDecoder, SurvivesDamagedFiles) {
  LATHE_NEEDS_SHARED(shared);
  LATHE_NEEDS_COMPONENT("images");
  Decoder decode;
  std::mt19937 random(1);
  for (const auto& [name, file] : pictures(shared)) {
    Outcomes seen;
    for (int round = 0; round < 1500; ++round) {
      Bytes damaged = file;
      // Most of the important fields are at the beginning.
      const size_t reach = round % 2 ? damaged.size() : std::min<size_t>(damaged.size(), 160);
      for (unsigned k = 0; k <= random() % 4; ++k) {
        uint8_t& b = damaged[random() % reach];
        b = random() % 2 ? static_cast<uint8_t>(random()) : static_cast<uint8_t>(b ^ 1u << random() % 8);
      }
      if (round % 7 == 0) damaged.resize(random() % damaged.size());
      seen.add(decode, damaged, name);
    }
    EXPECT_EQ(seen.decoded + seen.refused, 1500u);
    EXPECT_GT(seen.refused, 0u) << name;
  }
}

TEST(ImageDecoder, OneEngineDecodesOnManyThreads) {
  LATHE_NEEDS_SHARED(shared);
  LATHE_NEEDS_COMPONENT("images");
  const auto files = pictures(shared);
  Engine engine = Engine::build(decoder("RGB"), {.threads = 1});
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Context context = engine.create_context();
      for (int round = 0; round < 20; ++round)
        for (const auto& [name, file] : files) try {
            context.run(std::vector<Value>{as_value(file)});
            Bytes half(file.begin(), file.begin() + static_cast<ptrdiff_t>(file.size() / 3));
            wrong += context.run(std::vector<Value>{as_value(half)})[0].tensor().size() != 0;
          } catch (const Error& e) {
            wrong += e.code() != Code::component_absent;
          }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ImageDecoder, AJpegOfThousandsOfScansIsRefused) {
  LATHE_NEEDS_COMPONENT("images");
  if (!decodes("jpeg")) GTEST_SKIP() << "built without libjpeg";
  // A progressive file whose one scan of 64 x 64 black pixels is followed by empty ones.
  Bytes file{0xff, 0xd8, 0xff, 0xdb, 0, 67, 0};
  file.insert(file.end(), 64, 1);
  file = file + Bytes{0xff, 0xc2, 0, 11, 8, 0, 64, 0, 64, 1, 1, 0x11, 0};
  Bytes table{0xff, 0xc4, 0, 20, 0};
  table.push_back(1);
  table.insert(table.end(), 15, 0);
  table.push_back(0);
  Bytes ac = table;
  ac[4] = 0x10;
  file = file + table + ac;
  const Bytes first = Bytes{0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0x10} + Bytes(8, 0);
  const Bytes refine = Bytes{0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0} + Bytes(8, 0);
  file = file + first;
  for (int k = 0; k < 1000; ++k) file = file + refine;
  file = file + Bytes{0xff, 0xd9};
  expect_pixels(Decoder()(file), {0, 0, 3}, {});
}

// ── RegexFullMatch

onnx::Model matcher(const std::string& pattern) {
  onnx::Model m = model_of("(string[n] x) => (bool[n] y) { y = RegexFullMatch <pattern = \"?\"> (x) }");
  m.proto.graph->node[0].attribute[0].s = onnx::Bytes(pattern);
  return m;
}
std::vector<bool> matched(const std::string& pattern, const std::vector<std::string>& texts) {
  Engine e = Engine::build(matcher(pattern));
  const Value x = Tensor::from<std::string>({static_cast<int64_t>(texts.size())}, texts);
  const auto out = e.create_context().run(std::vector<Value>{x});
  return {out[0].tensor().as<bool>().begin(), out[0].tensor().as<bool>().end()};
}

TEST(RegexFullMatch, MatchesCharactersNotBytes) {
  LATHE_NEEDS_COMPONENT("regex");
  using V = std::vector<bool>;
  EXPECT_EQ(matched("a.c", {"a\u00e4c", "a\u4e2dc", "a\U0001f600c", "ac", "abc ", "xabc"}),
            (V{true, true, true, false, false, false}));
  EXPECT_EQ(matched("\\pL+", {"stra\u00dfe", "\u043f\u0440\u0438\u0432\u0435\u0442", "a1", ""}),
            (V{true, true, false, false}));
  EXPECT_EQ(matched("(?i)\u00c4\u0416", {"\u00e4\u0436", "\u00c4\u0416", "a\u0436"}), (V{true, true, false}));
  EXPECT_EQ(matched("[\u03b1-\u03c9]{2}", {"\u03b1\u03b2", "\u03b1", "ab"}), (V{true, false, false}));
  EXPECT_EQ(matched("", {"", "a"}), (V{true, false}));
  EXPECT_EQ(matched(".", {"\xff", std::string("\0", 1)}),
            (V{false, true}));                  // no UTF-8; a NUL is a character
  EXPECT_EQ(matched("a|ab", {"ab"}), V{true});  // all of it, whatever matches first
}

TEST(RegexFullMatch, RefusesAPatternWhenTheModelIsRead) {
  LATHE_NEEDS_COMPONENT("regex");
  for (const char* bad : {"(", "a**", "[b-a]", "\\q", "(?<name", "\xff", "a{1001}"}) {
    const onnx::Model m = matcher(bad);
    const auto found = check(m);
    ASSERT_EQ(found.size(), 1u) << bad;
    EXPECT_EQ(found[0].code, Code::node_bad_attribute) << bad;
    EXPECT_EQ(found[0].op, "RegexFullMatch");
    EXPECT_EQ(code_of([&] { Engine::build(m); }), Code::node_bad_attribute) << bad;
  }
}

TEST(RegexFullMatch, HostilePatternsTakeLinearTime) {
  LATHE_NEEDS_COMPONENT("regex");
  EXPECT_EQ(matched("(a*)*b", {std::string(100'000, 'a')}), std::vector<bool>{false});
}

// ── Components that are not there

/// Runs in a process of its own, which has not searched for any component yet.
#define EXPECT_LEFT_OUT(directory, statement, sentence)                \
  EXPECT_EXIT(                                                         \
      {                                                                \
        setenv("LATHE_COMPONENTS", std::string(directory).c_str(), 1); \
        try {                                                          \
          statement;                                                   \
          std::exit(0);                                                \
        } catch (const Error& e) {                                     \
          std::fputs(e.what(), stderr);                                \
          std::exit(e.code() == Code::component_absent ? 3 : 4);       \
        }                                                              \
      },                                                               \
      ::testing::ExitedWithCode(3), sentence)

class LeftOut : public ::testing::Test {
 protected:
  LeftOut() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  ~LeftOut() override {
    if (directory_) unsetenv(variable);
  }
  /// The other process finds that of the first, which removes it.
  fs::path directory() {
    if (!std::getenv(variable)) setenv(variable, directory_.emplace().path().c_str(), 1);
    return std::getenv(variable);
  }

 private:
  static constexpr const char* variable = "LATHE_TEST_DIRECTORY";
  std::optional<TempDirectory> directory_;
};

TEST_F(LeftOut, BuildingSaysSo) {
  EXPECT_LEFT_OUT("/nowhere", Engine::build(decoder("RGB")),
                  "E3007: build, node \".*\" \\(ImageDecoder\\): .*component "
                  "'images'.*/nowhere/liblathe_images.so: not there.*LATHE_IMAGES");
  EXPECT_LEFT_OUT("/nowhere", Engine::build(matcher("a")), "E3007: build, node .*RegexFullMatch.*libre2-dev");
  EXPECT_LEFT_OUT("", Engine::build(matcher("a")), "E3007");
}

TEST_F(LeftOut, LoadingAPlanSaysSo) {
  // The other process executes this too, and must not search for the component before the folder is set.
  if (!std::getenv("LATHE_TEST_PLAN")) {
    LATHE_NEEDS_COMPONENT("images");
    const fs::path plan = directory() / "decoder.lathe";
    Engine::build(decoder("RGB")).save(plan);
    setenv("LATHE_TEST_PLAN", plan.c_str(), 1);
  }
  EXPECT_LEFT_OUT("/nowhere", Engine::load(std::getenv("LATHE_TEST_PLAN")),
                  "E3007: load, node .*ImageDecoder");
}

TEST_F(LeftOut, TheModelIsReadAllTheSame) {
  EXPECT_EXIT(
      {
        setenv("LATHE_COMPONENTS", "/nowhere", 1);
        std::exit(check(decoder("RGB")).empty() && check(matcher("(")).empty() ? 3 : 4);
      },
      ::testing::ExitedWithCode(3), "");
}

TEST_F(LeftOut, SystemInfoSaysSo) {
  EXPECT_EXIT(
      {
        setenv("LATHE_COMPONENTS", "/nowhere", 1);
        for (const ComponentInfo& c : system_info().components)
          std::fprintf(stderr, "%s %s %zu %s\n", c.name.c_str(), c.operators[0].c_str(),
                       c.path.string().size(), c.missing.c_str());
        std::exit(3);
      },
      ::testing::ExitedWithCode(3), "images ImageDecoder 0 /nowhere/.*\n?regex RegexFullMatch 0 /nowhere/");
}

TEST_F(LeftOut, AFileThatIsNoComponentIsNotTaken) {
  std::ofstream(directory() / "liblathe_images.so") << "nothing";
  EXPECT_LEFT_OUT(directory(), Engine::build(decoder("RGB")), "liblathe_images.so: ");
  LATHE_NEEDS_COMPONENT("regex");
  fs::copy_file(component("regex").path, directory() / "liblathe_images.so",
                fs::copy_options::overwrite_existing);
  EXPECT_LEFT_OUT(directory(), Engine::build(decoder("RGB")), "another version of Lathe");
}

/// The components that the build lists are found in its output, so no test is skipped because of a missing
/// one.
TEST(Components, AreFoundWhereTheyWereBuilt) {
  if (std::getenv("LATHE_COMPONENTS")) GTEST_SKIP() << "looked for elsewhere";
  const std::string built = read_file(fs::path(LATHE_BINARY_DIR) / "generated" / "components.txt");
  for (std::string_view name : component_names())
    EXPECT_EQ(component(name).table != nullptr, built.find(name) != std::string::npos)
        << component(name).missing;
}

TEST(Components, TellWhatTheyHave) {
  for (const ComponentInfo& c : system_info().components) {
    EXPECT_FALSE(c.operators.empty()) << c.name;
    EXPECT_NE(c.path.empty(), c.missing.empty()) << c.name;
    for (const std::string& op : c.operators) {
      const auto known = operators(op);
      ASSERT_EQ(known.size(), 1u);
      EXPECT_EQ(known[0].component, c.name);
    }
  }
  EXPECT_EQ(operators("Softmax")[0].component, "");
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
