// Tests states in blocks of memory, and keys and values that are kept in narrow types.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "plan/plan_file.h"
#include "plan/verify.h"
#include "runtime/program.h"
#include "runtime/stateful_engines.h"
#include "support/error_code.h"
#include "support/temp_directory.h"
#include "tensor/element.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using std::string;
using std::vector;

/// Keys that other operators read too, before and after.
constexpr std::string_view read_besides =
    R"((float[batch,seq,32] x, float[batch,4,past,8] past_k, float[batch,4,past,8] past_v)
  => (float[batch,seq,32] y, float[batch,4,past,8] u, float[batch,4,total,8] w, float[batch,4,total,8] present_k, float[batch,4,total,8] present_v)
  <float[32,32] a = {}, float[32,32] b = {}, float[32,32] c = {}, int64 axis = {2}> {
    q = MatMul(x, a)
    k = MatMul(x, b)
    v = MatMul(x, c)
    u = CumSum(past_k, axis)
    y, present_k, present_v = Attention<q_num_heads = 4, kv_num_heads = 4, is_causal = 1>(q, k, v, , past_k, past_v)
    w = CumSum(present_v, axis)
  })";

vector<StatePair> in_blocks(int64_t block, DataType type = DataType::undefined) {
  return {{"past_*", "present_*", type, block}};
}

/// The first 4 columns for 4 heads of 8.
NamedValues step_inputs(int64_t batch, int64_t n, uint64_t seed) {
  return {{"x", drawn({batch, n, 32}, seed)}};
}

TEST(StateBlocks, GiveTheBitsOfOnePiece) {
  for (const std::string_view text : {cached_attention, joined_attention, read_besides})
    for (const char* isa : {"generic", "avx2", "avx512"})
      for (int64_t block : {1, 5, 64})
        for (Numerics numerics : {Numerics::normal, Numerics::strict}) {
          BuildOptions options{.threads = 2, .isa = isa};
          options.numerics = numerics;
          const Both e{text, in_blocks(block), options};
          EXPECT_EQ(State::create(e.stateful, "past_k", {{"batch", 1}}).block(), block);
          expect_same(e, keys_and_values, {3, 1, 1, 60, 7, 70, 1}, 2,
                      string(isa) + " in blocks of " + std::to_string(block));
        }
}

TEST(StateBlocks, OfTheReferenceBackend) {
  const Both e{read_besides, in_blocks(5), {.threads = 1, .backend = "reference"}};
  expect_same(e, keys_and_values, {3, 1, 9, 2}, 2, "reference");
}

TEST(StateBlocks, OnlyWhereAttentionAppends) {
  const Both e{
      "(float[n,3] past, float[m,3] x) => (float[k,3] present) { present = Concat<axis = 0>(past, x) }",
      {{"past", "present", DataType::undefined, 64}}};
  EXPECT_EQ(State::create(e.stateful, "past").block(), 0);
}

TEST(StateBlocks, AreSharedUntilTheyAreWritten) {
  const Engine engine = Both::build(cached_attention, in_blocks(16), {.threads = 1}, 24);
  const uint64_t block = 2u * 4 * 16 * 8 * 4;  // batch, heads, indices, elements, bytes
  Context c = engine.create_context();
  NamedStates states = State::create_all(engine, {{"batch", 2}});
  EXPECT_EQ(states.at("past_k").bytes(), 0u);
  const auto step = [&](NamedStates& of, int64_t n, uint64_t seed) {
    c.bind_states(of);
    return c.run(step_inputs(2, n, seed));
  };
  step(states, 40, 1);
  EXPECT_EQ(states.at("past_k").bytes(), 3 * block);
  NamedStates fork, whole;
  for (const auto& [name, s] : states) fork[name] = s.clone();
  for (const auto& [name, s] : states) whole[name] = State::from(engine, name, s.tensor());
  const Tensor before = states.at("past_v").tensor();
  const NamedValues other = step(fork, 30, 2);
  EXPECT_TRUE(same(states.at("past_v").tensor(), before));
  const NamedValues want = step(whole, 3, 3), got = step(states, 3, 3);
  EXPECT_TRUE(same(got.at("y").tensor(), want.at("y").tensor()));
  EXPECT_TRUE(same(states.at("past_k").tensor(), whole.at("past_k").tensor()));
  // What is taken back is written elsewhere, since the other has it.
  NamedStates back;
  for (const auto& [name, s] : fork) back[name] = s.clone();
  for (auto& [name, s] : back) s.rewind(20);
  EXPECT_EQ(back.at("past_k").bytes(), 2 * block);
  const Tensor kept = fork.at("past_k").tensor();
  step(back, 50, 4);
  EXPECT_TRUE(same(fork.at("past_k").tensor(), kept));
  back.at("past_k").clear();
  EXPECT_EQ(back.at("past_k").bytes(), 0u);
  EXPECT_EQ(back.at("past_k").length(), 0);
}

TEST(StateBlocks, HaveNoAddressOfTheirElements) {
  const Engine engine = Both::build(cached_attention, in_blocks(16), {.threads = 1}, 24);
  NamedStates states = State::create_all(engine, {{"batch", 1}});
  EXPECT_EQ(code_of([&] { states.at("past_k").data(); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { states.at("past_k").strides(); }), Code::bad_argument);
  // Memory of another form is refused.
  const Engine whole = Both::build(cached_attention, in_blocks(0), {.threads = 1}, 24);
  Context c = whole.create_context();
  EXPECT_EQ(code_of([&] { c.bind_states(states); }), Code::run_bad_input);
  Context d = engine.create_context();
  EXPECT_EQ(code_of([&] { d.bind_states(State::create_all(whole, {{"batch", 1}})); }), Code::run_bad_input);
}

TEST(StateBlocks, AreInFilesAndPlans) {
  const TempDirectory folder;
  Both e{cached_attention, in_blocks(16), {.threads = 1}};
  NamedStates states = State::create_all(e.stateful, {{"batch", 2}});
  Context c = e.stateful.create_context();
  c.bind_states(states);
  c.run(step_inputs(2, 37, 1));
  states.at("past_k").save(folder / "k.state");
  const State read = State::load(folder / "k.state");
  EXPECT_TRUE(same(read.tensor(), states.at("past_k").tensor()));
  EXPECT_EQ(read.block(), 16);
  c.bind_state("past_k", read);
  c.run(step_inputs(2, 1, 2));
  e.stateful.save(folder / "m.lathe");
  e.stateful = Engine::load(folder / "m.lathe", {.threads = 1});
  expect_same(e, keys_and_values, {3, 20, 1}, 2, "loaded");
  Plan plan = load_plan(folder / "m.lathe");
  plan.states[0].block = -1;
  EXPECT_EQ(code_of([&] { verify(plan); }), Code::plan_malformed);
  plan.states[0].block = 16;
  plan.states[0].update = PlanState::Update::write;
  EXPECT_EQ(code_of([&] { verify(plan); }), Code::plan_malformed);
}

TEST(StateBlocks, MemoryIsThatOfWholeBlocks) {
  const Engine engine = Both::build(cached_attention, in_blocks(16), {.threads = 1}, 24);
  const MemoryInfo m =
      engine.memory({{"x", {2, 1, 32}}, {"past_k", {2, 4, 99, 8}}, {"past_v", {2, 4, 99, 8}}});
  NamedStates states = State::create_all(engine, {{"batch", 2}});
  Context c = engine.create_context();
  c.bind_states(states);
  c.run(step_inputs(2, 100, 1));
  EXPECT_EQ(m.states, states.at("past_k").bytes() + states.at("past_v").bytes());
}

// Narrow types.

/// The elements of a cache, with scales applied.
vector<float> floats_of(const Tensor& t) {
  vector<float> all;
  if (t.type() != DataType::int8) {
    for (int64_t i = 0; i < t.size(); ++i) all.push_back(static_cast<float>(load_double(t, i)));
    return all;
  }
  const int64_t row = t.shape().back();
  const int8_t* const p = t.as<int8_t>().data();
  for (int64_t r = 0; r < t.size() / row; ++r) {
    float scale;
    std::memcpy(&scale, p + r * row + row - 4, sizeof scale);
    for (int64_t i = 0; i < row - 4; ++i) all.push_back(static_cast<float>(p[r * row + i]) * scale);
  }
  return all;
}
double greatest_difference(const vector<float>& a, const vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return most;
}

/// Elements are of [-1, 1) or sums of 32 products of them.
struct NarrowCase {
  DataType type;
  double relative;  // the greatest error of an element, over the greatest one of its row
};
const NarrowCase narrow_cases[] = {
    {DataType::float16, 0x1p-11}, {DataType::bfloat16, 0x1p-8}, {DataType::int8, 0.5 / 127 + 1e-6}};

TEST(NarrowStates, RoundKeysAndValuesAndNothingElse) {
  for (const auto& [type, relative] : narrow_cases)
    for (const char* isa : {"generic", "avx2", "avx512"})
      for (int64_t block : {0, 16})
        for (Numerics numerics : {Numerics::normal, Numerics::strict}) {
          BuildOptions options{.threads = 2, .isa = isa};
          options.numerics = numerics;
          const Engine wide = Both::build(cached_attention, in_blocks(0), options, 24),
                       narrow = Both::build(cached_attention, in_blocks(block, type), options, 24);
          NamedStates a = State::create_all(wide, {{"batch", 2}}),
                      b = State::create_all(narrow, {{"batch", 2}});
          EXPECT_EQ(b.at("past_k").type(), type);
          Context with = narrow.create_context(), without = wide.create_context();
          with.bind_states(b);
          without.bind_states(a);
          uint64_t seed = 1;
          for (int64_t n : {20, 1, 1, 9, 70, 1}) {
            const NamedValues x = step_inputs(2, n, ++seed);
            const NamedValues got = with.run(x);
            // The other attends to the same keys and values: those that the cache has.
            const NamedValues want = without.run(x);
            for (const char* name : {"past_k", "past_v"}) {
              const vector<float> exact = floats_of(a.at(name).tensor()),
                                  kept = floats_of(b.at(name).tensor());
              ASSERT_EQ(exact.size(), kept.size());
              for (size_t row = 0; row < exact.size(); row += 8) {
                float most = 0;
                for (size_t i = row; i < row + 8; ++i) most = std::max(most, std::abs(exact[i]));
                for (size_t i = row; i < row + 8; ++i)
                  ASSERT_LE(std::abs(static_cast<double>(exact[i] - kept[i])),
                            relative * static_cast<double>(most))
                      << name_of(type) << " " << isa;
              }
            }
            EXPECT_LE(greatest_difference(floats_of(got.at("y").tensor()), floats_of(want.at("y").tensor())),
                      40 * relative)
                << name_of(type) << " " << isa << " block " << block;
          }
        }
}

TEST(NarrowStates, AttendToWhatTheCacheHas) {
  // The same cache, in float32 but with the rounded elements: a query that appends one key gives nearly the
  // same, so that scales and rows are those that were written.
  for (const auto& [type, relative] : narrow_cases)
    for (const char* isa : {"generic", "avx2", "avx512"}) {
      BuildOptions options{.threads = 1, .isa = isa};
      options.numerics = Numerics::strict;
      const Engine wide = Both::build(cached_attention, in_blocks(0), options, 24),
                   narrow = Both::build(cached_attention, in_blocks(16, type), options, 24);
      NamedStates b = State::create_all(narrow, {{"batch", 2}});
      Context with = narrow.create_context();
      with.bind_states(b);
      with.run(step_inputs(2, 90, 1));
      NamedStates a;
      for (const auto& [name, s] : b) {
        const vector<float> kept = floats_of(s.tensor());
        Tensor t(DataType::float32, {2, 4, 90, 8});
        std::ranges::copy(kept, t.as<float>().begin());
        a.emplace(name, State::from(wide, name, t));
      }
      Context without = wide.create_context();
      without.bind_states(a);
      const NamedValues x = step_inputs(2, 1, 2);
      const NamedValues got = with.run(x), want = without.run(x);
      // One key of 91 is not rounded there.
      EXPECT_LE(greatest_difference(floats_of(got.at("y").tensor()), floats_of(want.at("y").tensor())),
                2 * relative)
          << name_of(type) << " " << isa;
    }
}

TEST(NarrowStates, StrictRunsGiveTheSameBitsInAnyPieces) {
  for (const auto& [type, relative] : narrow_cases)
    for (const char* isa : {"generic", "avx2", "avx512"}) {
      BuildOptions options{.threads = 2, .isa = isa};
      options.numerics = Numerics::strict;
      const Engine e = Both::build(cached_attention, in_blocks(16, type), options, 24);
      const Tensor x = drawn({1, 40, 32}, 5);
      const auto last_rows = [&](const vector<int64_t>& pieces) {
        NamedStates states = State::create_all(e, {{"batch", 1}});
        Context c = e.create_context();
        c.bind_states(states);
        Tensor y;
        int64_t at = 0;
        for (int64_t n : pieces) {
          Tensor part(DataType::float32, {1, n, 32});
          std::memcpy(part.data(), x.as<float>().data() + at * 32, part.bytes());
          y = c.run({{"x", part}}).at("y").tensor();
          at += n;
        }
        EXPECT_EQ(at, 40);
        Tensor row(DataType::float32, {32});
        std::memcpy(row.data(), y.as<float>().data() + (y.dim(1) - 1) * 32, row.bytes());
        return row;
      };
      const Tensor want = last_rows({40});
      EXPECT_TRUE(same(last_rows({1, 1, 20, 17, 1}), want)) << name_of(type) << " " << isa;
      EXPECT_TRUE(same(last_rows(vector<int64_t>(40, 1)), want)) << name_of(type) << " " << isa;
    }
}

TEST(NarrowStates, RowsThatAreNotFiniteStayNotFinite) {
  const Engine e = Both::build(cached_attention, in_blocks(16, DataType::int8), {.threads = 1}, 24);
  NamedStates states = State::create_all(e, {{"batch", 1}});
  Context c = e.create_context();
  c.bind_states(states);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (auto& [name, s] : states) s.clear();
    Tensor x = drawn({1, 3, 32}, 1);
    x.as<float>()[40] = bad;
    c.run({{"x", x}});
    const vector<float> k = floats_of(states.at("past_k").tensor());
    EXPECT_TRUE(std::isnan(k[8]));  // the second row of the first head
    EXPECT_FALSE(std::isnan(k[0]));
    EXPECT_FALSE(std::isnan(k[16]));
  }
}

TEST(NarrowStates, AreRefusedWhereSomethingElseReadsThem) {
  const auto refused = [](std::string_view text, vector<StatePair> states) {
    return code_of([&] { Both::build(text, states, {.threads = 1}, 24); });
  };
  EXPECT_EQ(refused(read_besides, in_blocks(0, DataType::float16)), Code::build_bad_state);
  EXPECT_EQ(refused(cached_attention, in_blocks(0, DataType::int64)), Code::build_bad_state);
  EXPECT_EQ(refused(cached_attention,
                    {{"past_k", "present_k", DataType::float16}, {"past_v", "present_v", DataType::int8}}),
            Code::build_bad_state);
  EXPECT_EQ(refused(cached_attention, {{"past_k", "present_k", DataType::float16}, {"past_v", "present_v"}}),
            Code::build_bad_state);
  EXPECT_EQ(
      refused(
          "(float[n,3] past, float[m,3] x) => (float[k,3] present) { present = Concat<axis = 0>(past, x) }",
          {{"past", "present", DataType::float16}}),
      Code::build_bad_state);
  EXPECT_EQ(refused(cached_attention, in_blocks(-1)), Code::build_bad_option);
  EXPECT_EQ(refused(cached_attention, in_blocks(0, DataType::float32)), Code::none);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
