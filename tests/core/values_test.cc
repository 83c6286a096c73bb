// Values that are no tensors: optionals, sequences, maps and sparse tensors, in, through and out; single
// numbers of those that are.
#include <array>
#include <cstring>

#include "support/every_way.h"
#include "tensor/element.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

Value sequence(std::vector<Value> items) {
  Sequence s;
  *s.items = std::move(items);
  s.elem = DataType::float32;
  return s;
}

TEST(Values, OptionalsPassThrough) {
  expect_every_way(
      "(optional(float[N]) x) => (optional(float[N]) y, bool h) { y = Identity(x) h = OptionalHasElement(x) "
      "}",
      {{{floats({1, 2})}, "[2] 1 2 | [] 1"}, {{Value()}, "none | [] 0"}, {{floats({3})}, "[1] 3 | [] 1"}});
  expect_every_way("(optional(seq(float[N])) x) => (optional(seq(float[N])) y) { y = Identity(x) }",
                   {{{sequence({floats({1}), floats({2, 3})})}, "{[1] 1; [2] 2 3}"}, {{Value()}, "none"}});
  expect_every_way(
      "(float[N] x) => (optional(float[N]) y, float[N] z) { o = Optional(x) y = Identity(o) z = "
      "OptionalGetElement(y) }",
      {{{floats({4, 5})}, "[2] 4 5 | [2] 4 5"}, {{floats({})}, "[0] | [0]"}});
  expect_every_way(
      "(float[N] x) => (optional(float[N]) y, bool h) { y = Optional<type = float[N]>() h = "
      "OptionalHasElement(y) }",
      {{{floats({4, 5})}, "none | [] 0"}});
  expect_every_way("(optional(float[N]) x) => (float[N] y) { y = OptionalGetElement(x) }",
                   {{{floats({4})}, "[1] 4"}, {{Value()}, "E4102"}, {{floats({5})}, "[1] 5"}});
}

TEST(Values, OptionalsInBodies) {
  expect_every_way(R"((optional(float[N]) x, bool c) => (optional(float[N]) y) {
    y = If (c) <then_branch = a () => (optional(float[N]) r) { r = Identity(x) },
                else_branch = b () => (optional(float[N]) e) { e = Optional<type = float[N]>() }> })",
                   {{{floats({1}), boolean(true)}, "[1] 1"},
                    {{floats({1}), boolean(false)}, "none"},
                    {{Value(), boolean(true)}, "none"}});
  constexpr auto hands_on = R"((optional(float[N]) x, int64 n, bool c) => (optional(float[N]) y) {
    y = Loop (n, c, x) <body = b (int64 i, bool d, optional(float[N]) s) => (bool d2, optional(float[N]) s2)
      { d2 = Identity(d) s2 = Identity(s) }> })";
  expect_every_way(hands_on, {{{floats({1, 2}), whole(3), boolean(true)}, "[2] 1 2"},
                              {{Value(), whole(3), boolean(true)}, "none"},
                              {{floats({7}), whole(0), boolean(true)}, "[1] 7"}});
  constexpr auto fills = R"((float[N] x, int64 n, bool c) => (optional(float[N]) y) {
    none = Optional<type = float[N]>()
    y = Loop (n, c, none) <body = b (int64 i, bool d, optional(float[M]) s) => (bool d2, optional(float[M]) s2)
      { d2 = Identity(d) s2 = Optional(x) }> })";
  expect_every_way(fills, {{{floats({1, 2}), whole(2), boolean(true)}, "[2] 1 2"},
                           {{floats({1, 2}), whole(0), boolean(true)}, "none"}});
}

TEST(Values, SequencesGrowInLoops) {
  expect_every_way(R"((float[N] x, int64 n, bool c) => (seq(float[M]) y, int64 k) {
    none = SequenceEmpty()
    y = Loop (n, c, none) <body = b (int64 i, bool d, seq(float[M]) s) => (bool d2, seq(float[M2]) s2)
      { d2 = Identity(d) zero = Constant<value_ints = [0]>() one = Constant<value_ints = [1]>()
        end = Add(i, one) part = Slice(x, zero, end) s2 = SequenceInsert(s, part) }>
    k = SequenceLength(y) })",
                   {{{floats({1, 2, 3}), whole(2), boolean(true)}, "{[1] 1; [2] 1 2} | [] 2"},
                    {{floats({1, 2, 3}), whole(0), boolean(true)}, "{} | [] 0"}});
}

Value map_of(std::vector<std::string> keys, std::vector<float> values) {
  Map m;
  m.keys = Tensor::from<std::string>({static_cast<int64_t>(keys.size())}, keys);
  for (float v : values) m.values.items->push_back(Tensor::scalar(v));
  m.values.elem = DataType::float32;
  return m;
}

TEST(Values, MapsPassThrough) {
  expect_every_way(
      "(map(string,float) x) => (map(string,float) x) {}",
      {{{map_of({"a", "b"}, {1, 2.5f})}, "<[2] a b: {[] 1; [] 2.5}>"}, {{floats({1})}, "E4001"}});
}

Value sparse(Shape shape, std::vector<int64_t> indices, std::vector<float> values) {
  const auto stored = static_cast<int64_t>(values.size());
  const auto rank = static_cast<int64_t>(indices.size()) / std::max<int64_t>(stored, 1);
  const Shape form = rank == 1 ? Shape{stored} : Shape{stored, rank};
  return SparseTensor{Tensor::from<float>({stored}, values), Tensor::from<int64_t>(form, indices),
                      std::move(shape)};
}

TEST(Values, SparseTensorsPassThroughAndAreChecked) {
  expect_every_way("(sparse_tensor(float[3,4]) x) => (sparse_tensor(float[3,4]) x) {}",
                   {{{sparse({3, 4}, {0, 1, 2, 3}, {1, 2})}, "sparse([3, 4], [2,2] 0 1 2 3: [2] 1 2)"},
                    {{sparse({3, 4}, {5, 7}, {1, 2})}, "sparse([3, 4], [2] 5 7: [2] 1 2)"},
                    {{sparse({3, 4}, {0, 1, 2, 4}, {1, 2})}, "E4001"},  // beyond the last column
                    {{sparse({3, 4}, {2, 3, 0, 1}, {1, 2})}, "E4001"},  // not sorted
                    {{sparse({3, 4}, {7, 5}, {1, 2})}, "E4001"},
                    {{sparse({3, 4}, {5, 12}, {1, 2})}, "E4001"},
                    {{sparse({3, 4}, {-1, 5}, {1, 2})}, "E4001"},
                    {{sparse({3, 5}, {5, 7}, {1, 2})}, "E4002"},
                    {{floats({1})}, "E4001"},
                    {{sparse({3, 4}, {11}, {7})}, "sparse([3, 4], [1] 11: [1] 7)"}});
}

// Weights in a mapped file may be at any address, which UndefinedBehaviorSanitizer would report.
TEST(Values, NumbersOfTensorsAreReadWhereverTheyLie) {
  std::array<std::byte, 32> file{};
  const auto at_odd_address = [&]<class T>(DataType type, T second) {
    void* const odd = file.data() + 1;
    std::memcpy(static_cast<std::byte*>(odd) + sizeof(T), &second, sizeof(T));
    return Tensor::view(type, {2}, odd);
  };
  EXPECT_EQ(load_double(at_odd_address(DataType::float32, 1.5f), 1), 1.5);
  EXPECT_EQ(load_double(at_odd_address(DataType::float64, -2.5), 1), -2.5);
  EXPECT_EQ(load_double(at_odd_address(DataType::float16, uint16_t{0x3e00}), 1), 1.5);
  EXPECT_EQ(load_int(at_odd_address(DataType::int64, int64_t{1} << 40), 1), int64_t{1} << 40);
  EXPECT_EQ(load_int(at_odd_address(DataType::uint16, uint16_t{65535}), 1), 65535);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
