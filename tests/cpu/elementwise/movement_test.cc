// Fast kernels that pick, drop and turn elements, over element types and shapes chosen for the paths inside
// them: what moves is the reference's, bit by bit.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "kernel/facts.h"
#include "lathe/lathe.h"
#include "ops/cases.h"
#include "support/error_code.h"
#include "support/kernel_check.h"
#include "tensor/element.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

constexpr DataType by_size[] = {DataType::int8, DataType::float16, DataType::int32, DataType::int64,
                                DataType::complex128};
using Ints = std::vector<int64_t>;
constexpr DataType index_kinds[] = {DataType::int32, DataType::int64};

/// Elements of any type: bytes that are all different for a while. No float is a NaN.
Value bytes_of(DataType type, Shape shape) {
  Tensor t(type, std::move(shape));
  auto* const to = static_cast<uint8_t*>(t.data());
  for (size_t i = 0; i < t.bytes(); ++i) to[i] = static_cast<uint8_t>(i * 2654435761u >> 8 & 0x3f);
  return Value(std::move(t));
}

void taken(const OpCase& k) {
  EXPECT_FALSE(check(k).empty()) << k.op << " '" << k.name << "' has no fast kernel";
}

OpCase& add(CaseTable& t, std::string op, const Shape& shape, DataType type) {
  return t.add(std::move(op), describe(shape) + " of " + std::string(name_of(type)));
}

struct Picked {
  Shape data, indices;
  int64_t axis;
};
const Picked picked[] = {{{3, 700}, {3, 1300}, -1},
                         {{5, 8, 3}, {2, 11, 2}, 1},
                         {{40, 9}, {70, 9}, 0},
                         {{1, 6, 1, 4}, {1, 3, 1, 4}, 1},
                         {{2, 3, 4, 5}, {2, 2, 4, 5}, 1},
                         {{1}, {1}, 0},
                         {{4}, {1}, 0},
                         {{3, 4}, {0, 4}, 0},
                         {{0, 4}, {0, 3}, 1},
                         {{3, 50, 1}, {3, 9001, 1}, 1},
                         {{20000, 2}, {20000, 1}, 1},
                         {{2, 1, 3, 1, 2, 1, 2}, {2, 1, 2, 1, 2, 1, 2}, 2}};

OpCase& random_indices(OpCase& k, const Picked& p, DataType index) {
  const size_t axis = static_cast<size_t>(p.axis < 0 ? p.axis + static_cast<int64_t>(p.data.size()) : p.axis);
  const auto size = static_cast<double>(p.data[axis]);
  return k.random(index, p.indices, -size, size).attribute("axis", p.axis);
}

TEST(CpuMovement, GatherElements) {
  CaseTable t;
  for (const Picked& p : picked)
    for (DataType type : by_size)
      for (DataType index : index_kinds)
        random_indices(add(t, "GatherElements", p.data, type).input(bytes_of(type, p.data)), p, index);
  for (const OpCase& k : t.all()) taken(k);
}

TEST(CpuMovement, ScatterElements) {
  CaseTable t;
  for (const Picked& p : picked)
    for (DataType type : by_size)
      for (DataType index : index_kinds)
        random_indices(add(t, "ScatterElements", p.data, type).input(bytes_of(type, p.data)), p, index)
            .input(bytes_of(type, p.indices));
  for (const OpCase& k : t.all()) taken(k);
}

// Whole numbers: sums of floats in another order would show.
TEST(CpuMovement, ScatterElementsThatCombine) {
  CaseTable t;
  for (const Picked& p : picked)
    for (DataType type : {DataType::float32, DataType::float64, DataType::float16, DataType::bfloat16,
                          DataType::int8, DataType::uint16, DataType::int32, DataType::uint64})
      for (const char* reduction : {"add", "mul", "min", "max"})
        random_indices(add(t, "ScatterElements", p.data, type).random(type, p.data, 0, 9), p, DataType::int64)
            .random(type, p.indices, 0, 9)
            .attribute("reduction", std::string(reduction));
  for (const OpCase& k : t.all()) taken(k);
}

struct Tuples {
  Shape data, indices;
  int64_t batch_dims = 0;
};

TEST(CpuMovement, GatherND) {
  const Tuples all[] = {{{7, 5}, {900, 2}},         {{7, 5}, {4, 3, 1}},
                        {{4, 6, 3}, {4, 11, 1}, 1}, {{2, 3, 4, 5}, {2, 3, 1}, 2},
                        {{2, 3, 4}, {2, 3, 1}, 2},  {{9}, {1}},
                        {{3, 0}, {5, 1}},           {{3, 4}, {0, 2}},
                        {{50, 40, 70}, {300, 2}},   {{3, 40000}, {4, 1}}};
  CaseTable t;
  for (const Tuples& p : all)
    for (DataType type : by_size) {
      int64_t least = INT64_MAX;
      for (int64_t k = 0; k < p.indices.back(); ++k)
        least = std::min(least, p.data[static_cast<size_t>(p.batch_dims + k)]);
      add(t, "GatherND", p.data, type)
          .input(bytes_of(type, p.data))
          .random(DataType::int64, p.indices, -static_cast<double>(least), static_cast<double>(least))
          .attribute("batch_dims", p.batch_dims);
    }
  for (const OpCase& k : t.all()) taken(k);
}

TEST(CpuMovement, ScatterND) {
  const Tuples all[] = {{{7, 5}, {900, 2}}, {{7, 5}, {4, 3, 1}}, {{4, 6, 3}, {11, 1}},
                        {{9}, {1}},         {{3, 4}, {0, 2}},    {{3, 4}, {2, 0}}};
  CaseTable t;
  for (const Tuples& p : all)
    for (const char* reduction : {"none", "add", "mul", "min", "max"})
      for (DataType type : {DataType::float32, DataType::float16, DataType::int8, DataType::int64}) {
        int64_t least = 6;
        Shape updates(p.indices.begin(), p.indices.end() - 1);
        for (size_t a = 0; a < p.data.size(); ++a)
          if (static_cast<int64_t>(a) < p.indices.back())
            least = std::min(least, p.data[a]);
          else
            updates.push_back(p.data[a]);
        add(t, "ScatterND", p.data, type)
            .random(type, p.data, 0, 9)
            .random(DataType::int64, p.indices, -static_cast<double>(least), static_cast<double>(least))
            .random(type, updates, 0, 9)
            .attribute("reduction", std::string(reduction));
      }
  for (const OpCase& k : t.all()) taken(k);
}

// Every kernel gives the error codes of the reference.
TEST(CpuMovement, IndicesOutsideAreCoded) {
  for (const auto& kernel : KernelCatalog::standard().all()) {
    if (kernel->backend != "cpu" || !usable(*kernel)) continue;
    for (DataType index : index_kinds)
      for (int64_t bad : {5, -6}) {
        CaseTable t;
        const auto indices = [&](OpCase& k, DataType type, Shape shape) {
          Tensor some(type, std::move(shape));
          std::memset(some.data(), 0, some.bytes());
          store_int(some, some.size() - 1, bad);
          k.input(Value(some));
        };
        OpCase* k = nullptr;
        if (kernel->op == "GatherElements" || kernel->op == "ScatterElements") {
          k = &t.add(kernel->op, "outside").random(DataType::float32, {5, 3});
          indices(*k, index, {2, 3});
          if (kernel->op == "ScatterElements") k->random(DataType::float32, {2, 3});
        } else if (kernel->op == "GatherND" || kernel->op == "ScatterND") {
          k = &t.add(kernel->op, "outside").random(DataType::float32, {5, 3});
          indices(*k, DataType::int64, {2, 1});
          if (kernel->op == "ScatterND") k->random(DataType::float32, {2, 3});
        } else {
          continue;
        }
        const std::vector<Value> want{Value(
            Tensor(DataType::float32,
                   kernel->op == "GatherElements" || kernel->op == "GatherND" ? Shape{2, 3} : Shape{5, 3}))};
        std::vector<Value> got;
        for (int threads : {1, 3})
          EXPECT_EQ(testing::code_of([&] { run_kernel(*kernel, *k, want, threads, &got); }),
                    Code::run_bad_index)
              << kernel->name;
      }
  }
}

const Shape masks[] = {{}, {1}, {0}, {3, 0, 2}, {7}, {5, 3}, {2, 3, 4, 5}, {40000}, {9, 5001}, {20000, 3}};

TEST(CpuMovement, NonZero) {
  CaseTable t;
  for (const Shape& shape : masks)
    for (DataType type :
         {DataType::boolean, DataType::int8, DataType::uint16, DataType::int32, DataType::int64,
          DataType::float16, DataType::bfloat16, DataType::float32, DataType::float64})
      for (double most : {1.0, 2.0, 40.0})  // none, half and nearly all of them
        add(t, "NonZero", shape, type).random(type, shape, 0, most);
  for (OpCase k : t.all()) {
    // Numbers below 1 as integers are 0; of floats some are made 0, and some of those negative.
    Tensor& x = k.inputs[0].tensor();
    if (is_float(x.type()))
      for (int64_t i = 0; i < x.size(); i += 3) store_double(x, i, i % 2 == 0 ? 0.0 : -0.0);
    taken(k);
  }
  OpCase odd;
  odd.op = "NonZero";
  taken(odd.input<float>({5}, {NAN, -0.0f, 1e-45f, -INFINITY, 0}));
}

TEST(CpuMovement, Compress) {
  struct Some {
    Shape data;
    std::optional<int64_t> axis;
    int64_t condition;
  };
  const Some all[] = {{{3, 4}, 0, 3},      {{3, 4}, 1, 2},          {{3, 4}, {}, 12},   {{3, 4}, {}, 7},
                      {{2, 5, 3}, 1, 5},   {{0, 4}, 1, 4},          {{4}, 0, 0},        {{1}, 0, 1},
                      {{40000}, 0, 40000}, {{3, 20000}, -1, 20000}, {{30, 3000}, 0, 30}};
  CaseTable t;
  for (const Some& s : all)
    for (DataType type : by_size) {
      OpCase& k = add(t, "Compress", s.data, type)
                      .input(bytes_of(type, s.data))
                      .random(DataType::boolean, {s.condition}, 0, 2);
      if (s.axis) k.attribute("axis", *s.axis);
    }
  for (const OpCase& k : t.all()) taken(k);
}

TEST(CpuMovement, Triangles) {
  CaseTable t;
  for (const Shape& shape : {Shape{1, 1}, {5, 7}, {7, 5}, {2, 3, 4, 6}, {0, 3}, {3, 0}, {200, 300}})
    for (DataType type : by_size)
      for (int64_t upper : {0, 1})
        for (int64_t k : {int64_t{0}, int64_t{-2}, int64_t{3}, INT64_MAX, INT64_MIN})
          add(t, "Trilu", shape, type)
              .input(bytes_of(type, shape))
              .input<int64_t>({}, {k})
              .attribute("upper", upper);
  for (const OpCase& k : t.all()) taken(k);
}

TEST(CpuMovement, Sequences) {
  CaseTable t;
  for (const Shape& shape : {Shape{1, 1}, {5, 7}, {7, 5, 3}, {2, 3, 4, 6}, {3, 0}, {3, 4, 0}, {60, 4, 300}})
    for (DataType type : by_size)
      for (int64_t time : {0, 1}) {
        const int64_t batch = shape[static_cast<size_t>(1 - time)], steps = shape[static_cast<size_t>(time)];
        add(t, "ReverseSequence", shape, type)
            .input(bytes_of(type, shape))
            .random(DataType::int64, {batch}, 0, static_cast<double>(steps + 1))
            .attribute("time_axis", time)
            .attribute("batch_axis", 1 - time);
      }
  for (const OpCase& k : t.all()) taken(k);
}

TEST(CpuMovement, CroppedAndPadded) {
  CaseTable t;
  for (const auto& [shape, sizes] : {std::pair(Shape{5, 7}, std::vector<int64_t>{8, 4}),
                                     {{5, 7}, {5, 7}},
                                     {{4, 6}, {7, 9}},
                                     {{6, 3, 5}, {3, 3, 8}},
                                     {{1}, {2}},
                                     {{0, 2}, {2, 2}},
                                     {{2, 2}, {0, 3}},
                                     {{300, 200}, {250, 260}}})
    for (DataType type : by_size)
      add(t, "CenterCropPad", shape, type)
          .input(bytes_of(type, shape))
          .input<int64_t>({static_cast<int64_t>(sizes.size())}, sizes);
  for (const OpCase& k : t.all()) taken(k);
}

TEST(CpuMovement, Repeated) {
  CaseTable t;
  for (const auto& [shape, repeats] : {std::pair(Shape{3, 5}, Ints{2, 3}),
                                       {{2, 3, 4, 28}, {1, 1, 2, 2}},
                                       {{4, 130}, {1, 3}},
                                       {{5, 40, 70}, {3, 2, 2}},
                                       {{7, 1, 5}, {1, 700, 1}},
                                       {{1, 9000}, {4, 1}},
                                       {{1}, {40000}},
                                       {{2, 3}, {0, 2}}})
    for (DataType type : by_size)
      add(t, "Tile", shape, type)
          .input(bytes_of(type, shape))
          .input<int64_t>({static_cast<int64_t>(repeats.size())}, repeats);
  for (const auto& [shape, to] : {std::pair(Shape{4, 1}, Ints{3, 4, 5000}),
                                  {{6, 1, 1}, {6, 30, 70}},
                                  {{3, 1, 7}, {3, 9, 7}},
                                  {{}, {20000}},
                                  {{1, 5}, {0, 5}}})
    for (DataType type : by_size)
      add(t, "Expand", shape, type)
          .input(bytes_of(type, shape))
          .input<int64_t>({static_cast<int64_t>(to.size())}, to);
  for (const OpCase& k : t.all()) taken(k);
}

TEST(CpuMovement, BlocksOfPixels) {
  CaseTable t;
  for (int64_t block : {1, 2, 3, 4, 5, 8})
    for (const auto& [channels, high, wide] :
         {std::array<int64_t, 3>{3, 4, 7}, {2, 1, 1}, {5, 40, 90}, {0, 2, 3}})
      for (DataType type : by_size)
        for (const char* mode : {"DCR", "CRD"}) {
          const Shape deep{2, channels * block * block, high, wide},
              flat{2, channels, high * block, wide * block};
          for (const auto& [op, shape] : {std::pair("DepthToSpace", deep), {"SpaceToDepth", flat}})
            add(t, op, shape, type)
                .input(bytes_of(type, shape))
                .attribute("blocksize", block)
                .attribute("mode", std::string(mode));
        }
  for (const OpCase& k : t.all()) taken(k);
}

TEST(CpuMovement, Padded) {
  CaseTable t;
  for (const auto& [shape, pads] : {std::pair(Shape{3, 5, 7}, Ints{0, 2, 3, 0, 1, 2}),
                                    {{4, 6}, {1, 0, 0, 2}},
                                    {{4, 6}, {-1, 3, 2, -2}},
                                    {{2, 3, 60, 70}, {0, 0, 3, 3, 0, 0, 3, 3}},
                                    {{2, 40, 9}, {1, 0, 0, 1, 0, 0}},
                                    {{2, 3}, {7, 9, 8, 11}},
                                    {{1, 1}, {2, 2, 2, 2}},
                                    {{5}, {-6, 4}}})
    for (DataType type : by_size)
      for (const char* mode : {"constant", "edge", "reflect", "wrap"})
        if (shape.size() > 1 || std::string(mode) == "constant")
          add(t, "Pad", shape, type)
              .input(bytes_of(type, shape))
              .input<int64_t>({static_cast<int64_t>(pads.size())}, pads)
              .attribute("mode", std::string(mode));
  for (const OpCase& k : t.all()) taken(k);
}

TEST(CpuMovement, OneHot) {
  CaseTable t;
  for (const Shape& shape : {Shape{}, {1}, {0}, {700}, {3, 4, 5}, {9, 3000}})
    for (int64_t axis : {-1, 0})
      for (int64_t depth : {0, 1, 6, 33})
        for (DataType index : index_kinds)
          for (DataType type : by_size)
            add(t, "OneHot", shape, type)
                .random(index, shape, static_cast<double>(-depth - 2), static_cast<double>(depth + 2))
                .input<int64_t>({}, {depth})
                .input(bytes_of(type, {2}))
                .attribute("axis", axis);
  for (const OpCase& k : t.all()) taken(k);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
