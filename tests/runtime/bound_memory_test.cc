// Tests outputs that are bound to the memory of an input: they are made there where nothing reads the input
// afterwards, and otherwise elsewhere, and copied.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "lathe/lathe.h"
#include "support/text_model.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using std::string;
using std::vector;

constexpr std::string_view scattered =
    R"((float[batch,2,seq,1024] x, float[batch,2,16,1024] past, int64[batch] at)
  => (float[batch,2,16,1024] present, float[batch,2,16,1024] y) {
    present = TensorScatter(past, x, at)
    y = Neg(present)
  })";
constexpr std::string_view padded =
    R"((float[batch,2,seq,1024] x, float[batch,2,past_length,1024] past, int64[batch] at, int64[1] more)
  => (float[batch,2,total,1024] present, float[batch,2,total,1024] y)
  <int64[6] none = {0, 0, 0, 0, 0, 0}, int64[1] nothing = {0}> {
    pads = Concat<axis = 0>(none, more, nothing)
    longer = Pad(past, pads)
    present = TensorScatter<axis = 2>(longer, x, at)
    y = Neg(present)
  })";

/// Memory of whole pages, of which some can be made unwritable.
class Pages {
 public:
  explicit Pages(size_t bytes)
      : bytes_(bytes),
        data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Pages() { ::munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  Tensor tensor(const Shape& shape) { return Tensor::view(DataType::float32, shape, data_); }
  /// Returns whether it could be done.
  bool allow_writing(size_t first, size_t bytes, bool allowed) {
    return ::mprotect(static_cast<char*>(data_) + first, bytes,
                      allowed ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
  }

 private:
  size_t bytes_;
  void* data_;
};

Tensor drawn(const Shape& shape, uint64_t seed) { return random_tensor(DataType::float32, shape, seed); }

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

/// Runs with `output` bound to the memory of `input`, and without, and compares all outputs.
void expect_same(std::string_view text, const NamedValues& inputs, const string& input, const string& output,
                 const BuildOptions& options = {.threads = 1}) {
  const Engine e = Engine::build(model_of(text, 24), options);
  const NamedValues want = e.create_context().run(inputs);
  Context c = e.create_context();
  Tensor shared = inputs.at(input).tensor().clone();
  for (const auto& [name, v] : inputs) c.bind_input(name, name == input ? Value(shared) : v);
  c.bind_output(output, shared);
  c.run();
  size_t i = 0;
  for (const IoInfo& o : e.outputs())
    EXPECT_TRUE(same(c.output(i++).tensor(), want.at(o.name).tensor())) << text << " " << o.name;
  EXPECT_TRUE(same(shared, want.at(output).tensor())) << text;
}

TEST(BoundMemory, RowsAreWrittenIntoTheCacheAndNothingIsCopied) {
  // Rows of a page: all others of the cache cannot be written to.
  for (const bool grows : {false, true}) {
    const Engine e = Engine::build(model_of(grows ? padded : scattered, 24), {.threads = 1});
    Pages pages(2 * 16 * 4096);
    Tensor cache = pages.tensor({1, 2, 16, 1024});
    const Tensor first = drawn({1, 2, 16, 1024}, 1);
    std::memcpy(cache.data(), first.data(), first.bytes());
    Context c = e.create_context();
    c.bind_input("past", cache);
    c.bind_output("present", cache);
    const Tensor nothing = Tensor::from<int64_t>({1}, vector<int64_t>{0});
    if (grows) c.bind_input("more", nothing);
    for (int64_t at : {0, 7, 15}) {
      const Tensor x = drawn({1, 2, 1, 1024}, 2 + static_cast<uint64_t>(at));
      NamedValues in{
          {"x", x}, {"past", cache.clone()}, {"at", Tensor::from<int64_t>({1}, vector<int64_t>{at})}};
      if (grows) in["more"] = nothing;
      const NamedValues want = e.create_context().run(in);
      c.bind_input("x", x);
      c.bind_input("at", in.at("at"));
      ASSERT_TRUE(pages.allow_writing(0, 2 * 16 * 4096, false));
      for (size_t head : {0, 1})
        ASSERT_TRUE(pages.allow_writing((head * 16 + static_cast<size_t>(at)) * 4096, 4096, true));
      c.run();
      ASSERT_TRUE(pages.allow_writing(0, 2 * 16 * 4096, true));
      EXPECT_TRUE(same(cache, want.at("present").tensor())) << grows << at;
      EXPECT_TRUE(same(c.output(1).tensor(), want.at("y").tensor())) << grows << at;
    }
  }
}

TEST(BoundMemory, IsWrittenInTheEndWhereTheInputIsReadLater) {
  const NamedValues in{{"past", drawn({2, 2, 8, 16}, 1)},
                       {"x", drawn({2, 2, 3, 16}, 2)},
                       {"at", Tensor::from<int64_t>({2}, vector<int64_t>{4, 0})}};
  const string head =
      "(float[batch,2,seq,16] x, float[batch,2,8,16] past, int64[batch] at) => (float[batch,2,8,16] present, "
      "float[batch,2,8,16] y";
  for (const char* body : {
           ") { present = TensorScatter(past, x, at) y = Sub(present, past) }",
           ") { present = TensorScatter(past, x, at) y = Identity(past) }",
           ") { y = Relu(past) present = TensorScatter(past, x, at) }",
           ") { r = Reshape(past, shape) present = TensorScatter(past, x, at) y = Sub(present, r) }",
       }) {
    string text = head + body;
    if (text.find("shape") != string::npos)
      text.replace(text.find(") { r"), 3, ") <int64[4] shape = {-1, 2, 8, 16}> {");
    for (int threads : {1, 2}) expect_same(text, in, "past", "present", {.threads = threads});
  }
}

/// The parts of an input may be views of its memory.
TEST(BoundMemory, IsWrittenInTheEndWhereAPartOfTheInputIsReadLater) {
  for (const char* body : {
           "{ p, q = Split<axis = 0, num_outputs = 2>(x) y = Neg(x) z = Sub(p, q) }",
           "{ p, q = Split<axis = 0, num_outputs = 2>(x) y = Neg(x) s = ReduceSum(y) r = Sub(p, q) z = "
           "Mul(r, s) }",
           "{ r = Reshape(x, shape) p, q = Split<axis = 0, num_outputs = 2>(r) y = Neg(x) s = ReduceSum(y) d "
           "= Sub(p, q) "
           "e = Mul(d, s) z = Reshape(e, half) }",
       }) {
    string head = "(float[4,16] x) => (float[4,16] y, float[2,16] z) ";
    if (string(body).find("half") != string::npos)
      head += "<int64[2] shape = {8, 8}, int64[2] half = {2, 16}> ";
    for (int threads : {1, 2})
      expect_same(head + body, {{"x", drawn({4, 16}, 1)}}, "x", "y", {.threads = threads});
  }
}

TEST(BoundMemory, OfElementwiseStepsIsOverwritten) {
  const NamedValues in{{"x", drawn({3, 40}, 1)}, {"z", drawn({3, 40}, 2)}};
  const string head = "(float[a,b] x, float[a,b] z) => (float[a,b] y) ";
  for (const char* body :
       {"{ y = Relu(x) }", "{ y = Sub(x, z) }", "{ y = Sub(z, x) }", "{ y = Mul(x, x) }",
        "{ s = Softmax(x) y = Add(s, x) }", "{ m = ReduceMax(x) y = Sub(x, m) }",
        "{ t = Transpose<perm = [1, 0]>(x) m = MatMul(x, t) n = MatMul(m, x) y = Add(n, z) }"})
    for (const char* level : {"none", "all"}) {
      BuildOptions o{.threads = 1};
      o.level = string(level) == "none" ? OptimizationLevel::none : OptimizationLevel::all;
      expect_same(head + body, in, "x", "y", o);
    }
}

TEST(BoundMemory, ThatIsPartOfAnInputIsWrittenInTheEnd) {
  const Engine e = Engine::build(model_of("(float[n] x) => (float[n] y) { y = Neg(x) }", 24), {.threads = 1});
  vector<float> memory{1, 2, 3, 4, 5};
  Context c = e.create_context();
  c.bind_input("x", Tensor::view(DataType::float32, {4}, memory.data()));
  c.bind_output("y", Tensor::view(DataType::float32, {4}, memory.data() + 1));
  c.run();
  EXPECT_EQ(memory, (vector<float>{1, -1, -2, -3, -4}));
}

TEST(BoundMemory, OfAShapeThatOnlyTheRunKnows) {
  // Where the cache gets longer, what is bound is other memory, and made there at once.
  const Engine e = Engine::build(model_of(padded, 24), {.threads = 1});
  const NamedValues in{{"past", drawn({2, 2, 3, 1024}, 1)},
                       {"x", drawn({2, 2, 1, 1024}, 2)},
                       {"at", Tensor::from<int64_t>({2}, vector<int64_t>{3, 1})},
                       {"more", Tensor::from<int64_t>({1}, vector<int64_t>{2})}};
  const NamedValues want = e.create_context().run(in);
  EXPECT_EQ(want.at("present").tensor().shape(), Shape({2, 2, 5, 1024}));
  Context c = e.create_context();
  for (const auto& [name, v] : in) c.bind_input(name, v);
  Tensor present(DataType::float32, {2, 2, 5, 1024});
  c.bind_output("present", present);
  c.run();
  EXPECT_TRUE(same(present, want.at("present").tensor()));
  EXPECT_EQ(c.output(0).tensor().data(), present.data());
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
