// Tests states: runs that change them in place give the bits of runs that hand every value on, at every
// length.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>

#include "lathe/refit.h"
#include "lathe/state.h"
#include "plan/plan_file.h"
#include "plan/verify.h"
#include "runtime/program.h"
#include "runtime/stateful_engines.h"
#include "support/allocations.h"
#include "support/error_code.h"
#include "support/temp_directory.h"
#include "support/text_model.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using std::string;
using std::vector;

/// The past is read by an operator that takes dense tensors only, and by a body; the new value by another.
constexpr std::string_view read_by_all =
    R"((float[batch,2,seq,3] x, float[batch,2,past,3] past, bool flag) => (float[batch,2,rest,3] y, float[batch,2,total,3] present, float[batch,2,past,3] z)
  <int64 axis = {2}> {
    present = Concat<axis = 2>(past, x, x)
    r = CumSum(present, axis)
    y = Neg(r)
    z = If(flag) <then_branch = g () => (float[batch,2,past,3] a) { a = Abs(past) }, else_branch = h () => (float[batch,2,past,3] b) { b = Identity(past) }>
  })";

TEST(States, GiveTheBitsOfValuesThatAreHandedOn) {
  for (const char* isa : {"generic", "avx2", "avx512"})
    for (int threads : {1, 2})
      for (int64_t batch : {1, 3}) {
        BuildOptions o{.threads = threads, .isa = isa};
        const string what = string(isa) + " " + std::to_string(threads);
        expect_same({joined_attention, keys_and_values_too, o}, keys_and_values,
                    {5, 1, 1, 9, 1, 300, 1, 1, 0, 20, 1}, batch, what);
      }
}

TEST(States, OfAttentionAreItsCache) {
  for (const char* isa : {"generic", "avx2", "avx512"})
    for (int64_t batch : {1, 2}) {
      const Both e{cached_attention, {{"auto", ""}}, {.threads = 2, .isa = isa}};
      expect_same(e, keys_and_values, {7, 1, 1, 1, 30, 1, 200, 1, 1}, batch, isa);
      for (const StepInfo& s : e.stateful.steps()) EXPECT_NE(s.op, "Contiguous");
    }
}

TEST(States, AreOfEveryTypeOfFloats) {
  for (const char* type : {"float16", "bfloat16", "double"})
    for (std::string_view model : {cached_attention, joined_attention}) {
      string text(model);
      // Without constants, whose text depends on the type.
      for (const auto& [from, to] : {std::pair<string, string>{"  <float scale = {0.35}> {", "  {"},
                                     {"    scaled = Mul(s, scale)\n", ""},
                                     {"Softmax(scaled)", "Softmax(s)"}})
        if (const size_t at = text.find(from); at != string::npos) text.replace(at, from.size(), to);
      for (size_t at = 0; (at = text.find("float[", at)) != string::npos; at += 8) text.replace(at, 5, type);
      if (text.find("= {}") != string::npos && type == string("double"))
        continue;  // made up weights are floats
      expect_same({text, keys_and_values_too, {.threads = 1}}, keys_and_values, {5, 1, 1, 9}, 2,
                  type + text.substr(0, 40));
    }
}

TEST(States, AreCopiedForKernelsThatTakeDenseTensors) {
  const vector<std::pair<string, string>> names = {{"past", "present"}};
  for (const char* backend : {"cpu", "reference"}) {
    const Both e{read_by_all, {{"past", "present"}}, {.threads = 1, .backend = backend}};
    expect_same(e, names, {2, 3, 1, 2}, 2, backend);
  }
  expect_same({joined_attention, keys_and_values_too, {.threads = 1, .backend = "reference"}},
              keys_and_values, {3, 1, 2}, 2, "reference");
  expect_same({cached_attention, keys_and_values_too, {.threads = 1, .backend = "reference"}},
              keys_and_values, {3, 1, 2}, 2, "reference");
}

/// A recurrent layer: its hidden state is replaced.
constexpr std::string_view recurrent =
    R"((float[seq,batch,6] x, float[1,batch,5] h) => (float[seq,1,batch,5] y, float[1,batch,5] hn)
  <float[1,15,6] w = {}, float[1,15,5] r = {}> { y, hn = GRU<hidden_size = 5>(x, w, r, , , h) })";

TEST(States, ThatKeepTheirShapeAreReplaced) {
  expect_same({recurrent, {{"h", "hn"}}, {.threads = 1}}, {{"h", "hn"}}, {3, 1, 4}, 2, "GRU");
  expect_same({recurrent, {{"auto", ""}}, {.threads = 1}}, {{"h", "hn"}}, {3, 1, 4}, 2, "GRU");
  // The old value is read when the new one is there already.
  constexpr std::string_view late =
      R"((float[batch,6] x, float[batch,6] h) => (float[batch,6] y, float[batch,6] hn) {
    hn = Softmax(x)
    d = Sub(h, hn)
    y = Exp(d)
  })";
  expect_same({late, {{"h", "hn"}}, {.threads = 1}}, {{"h", "hn"}}, {1, 1, 1}, 4, "late");
}

/// The halves of a state would be views of it, and the parts of a new one be made within it: where the old
/// value is still needed, both are copies.
TEST(States, AreNoMemoryOfTheirParts) {
  constexpr std::string_view views =
      R"((float[4,16] x, float[4,16] h) => (float[2,16] y, float[4,16] hn) {
    p, q = Split<axis = 0, num_outputs = 2>(h)
    hn = Softmax(x)
    y = Sub(p, q)
  })";
  expect_same({views, {{"h", "hn"}}, {.threads = 1}}, {{"h", "hn"}}, {1, 1, 1}, 1, "views");
  constexpr std::string_view parts =
      R"((float[2,16] x, float[4,16] h) => (float[2,16] y, float[4,16] hn) {
    a = Softmax(x)
    p, q = Split<axis = 0, num_outputs = 2>(h)
    y = Mul(p, q)
    b = Neg(p)
    hn = Concat<axis = 0>(a, b)
  })";
  expect_same({parts, {{"h", "hn"}}, {.threads = 1}}, {{"h", "hn"}}, {1, 1, 1}, 1, "parts");
}

/// Keys that something else reads too are appended by a step of their own, and attention reads them where
/// they are.
TEST(States, AreReadByAttentionWhereTheyAre) {
  string text(joined_attention);
  text.replace(text.find("=> (float[batch,4,seq,8] y"), 26,
               "=> (float[batch,4,last,8] z, float[batch,4,seq,8] y");
  text.replace(text.rfind("  }"), 3, "    z = Abs(present_k)\n  }");
  for (const char* isa : {"generic", "avx2", "avx512"}) {
    const Both e{text, keys_and_values_too, {.threads = 2, .isa = isa}};
    expect_same(e, keys_and_values, {6, 1, 1, 20, 1, 270, 1}, 2, isa);
    const auto appends = [](const StepInfo& s) { return s.op == "Append"; };
    EXPECT_GE(std::ranges::count_if(e.stateful.steps(), appends), 1);
  }
}

/// Rows are written into a cache of fixed size.
constexpr std::string_view scattered =
    R"((float[batch,2,seq,3] x, float[batch,2,16,3] past, int64[batch] at) => (float[batch,2,16,3] y, float[batch,2,16,3] present) {
    present = TensorScatter(past, x, at)
    y = Neg(present)
  })";

TEST(States, RowsAreWrittenWhereTheyAre) {
  const Both e{scattered, {{"past", "present"}}, {.threads = 1}};
  NamedStates states = State::create_all(e.stateful, {{"batch", 2}});
  State& s = states.at("past");
  EXPECT_EQ(s.shape(), Shape({2, 2, 16, 3}));
  EXPECT_EQ(s.axis(), -1);
  s.assign(drawn({2, 2, 16, 3}, 9));
  Context with = e.stateful.create_context(), without = e.dense.create_context();
  with.bind_states(states);
  Tensor past = s.tensor();
  for (int64_t i = 0; i < 4; ++i) {
    const NamedValues in{{"x", drawn({2, 2, 2, 3}, 20 + static_cast<uint64_t>(i))},
                         {"at", Tensor::from<int64_t>({2}, vector<int64_t>{i, 3 * i})}};
    NamedValues all = in;
    all["past"] = past;
    const NamedValues want = without.run(all), got = with.run(in);
    EXPECT_TRUE(same(got.at("y").tensor(), want.at("y").tensor()));
    past = want.at("present").tensor();
    EXPECT_TRUE(same(s.tensor(), past));
  }
  // A run that fails may have written: what is there is nobody's.
  EXPECT_EQ(
      code_of([&] {
        with.run({{"x", drawn({2, 2, 2, 3}, 1)}, {"at", Tensor::from<int64_t>({2}, vector<int64_t>{0, 99})}});
      }),
      Code::run_bad_index);
  const NamedValues good{{"x", drawn({2, 2, 2, 3}, 1)},
                         {"at", Tensor::from<int64_t>({2}, vector<int64_t>{0, 9})}};
  EXPECT_EQ(code_of([&] { with.run(good); }), Code::bad_argument);
  s.assign(past);
  with.run(good);
}

/// A KV cache that gets longer by a number that the run is given, with rows written anywhere in it: what
/// GroupQueryAttention does.
constexpr std::string_view padded =
    R"((float[batch,2,seq,3] x, float[batch,2,past_length,3] past, int64[batch] at, int64[1] more)
  => (float[batch,2,total,3] y, float[batch,2,total,3] present)
  <int64[6] none = {0, 0, 0, 0, 0, 0}, int64[1] nothing = {0}> {
    pads = Concat<axis = 0>(none, more, nothing)
    longer = Pad(past, pads)
    present = TensorScatter<axis = 2>(longer, x, at)
    y = Neg(present)
  })";

TEST(States, GrowWhileRowsAreWritten) {
  struct Step {
    int64_t rows;
    vector<int64_t> at;
    int64_t more, rewound = -1;
  };
  for (const char* backend : {"cpu", "reference"})
    for (int threads : {1, 2}) {
      const Both e{
          padded, {{"past", "present"}}, {.threads = threads, .backend = backend, .state_capacity = 40}};
      for (const Engine* engine : {&e.dense, &e.stateful}) {
        const auto ops = engine->steps();
        if (engine == &e.stateful || string(backend) == "cpu") {
          EXPECT_EQ(std::ranges::count(ops, "UpdateCache", &StepInfo::op), 1);
          EXPECT_EQ(std::ranges::count(ops, "Pad", &StepInfo::op), 0);
          EXPECT_EQ(std::ranges::count(ops, "Concat", &StepInfo::op), 0);
        }
      }
      NamedStates states = State::create_all(e.stateful, {{"batch", 2}});
      State& s = states.at("past");
      EXPECT_EQ(s.axis(), 2);
      EXPECT_EQ(s.capacity(), 40);
      Context with = e.stateful.create_context(), without = e.dense.create_context();
      with.bind_states(states);
      uint64_t seed = 5;
      // Prompts, tokens of samples of several lengths, rows within and far behind what is there, and again
      // after a rewind: indices that nobody writes are zeros, not what was there before.
      for (const Step& step : vector<Step>{{5, {0, 0}, 5},
                                           {1, {5, 3}, 1},
                                           {1, {6, 4}, 1},
                                           {2, {0, 5}, 0},
                                           {1, {9, 0}, 3},
                                           {1, {6, 4}, 5, 4},
                                           {0, {0, 0}, 2},
                                           {3, {0, 0}, 3, 0},
                                           {30, {1, 3}, 30}}) {
        if (step.rewound >= 0) s.rewind(step.rewound);
        const NamedValues in{{"x", drawn({2, 2, step.rows, 3}, ++seed)},
                             {"at", Tensor::from<int64_t>({2}, step.at)},
                             {"more", Tensor::from<int64_t>({1}, vector<int64_t>{step.more})}};
        NamedValues all = in;
        all["past"] = s.tensor();
        const NamedValues want = without.run(all), got = with.run(in);
        const string what = string(backend) + " " + describe(want.at("y").tensor()) + " and " +
                            describe(got.at("y").tensor()) + ", " + describe(s.shape());
        EXPECT_TRUE(same(got.at("y").tensor(), want.at("y").tensor())) << what;
        EXPECT_TRUE(same(s.tensor(), want.at("present").tensor())) << what;
      }
      NamedValues in{{"x", drawn({2, 2, 1, 3}, 1)},
                     {"at", Tensor::from<int64_t>({2}, vector<int64_t>{0, 0})},
                     {"more", Tensor::from<int64_t>({1}, vector<int64_t>{8})}};
      EXPECT_EQ(code_of([&] { with.run(in); }), Code::run_state_full);
    }
  // The old value is read when rows of it are written over.
  string late(padded);
  late.replace(late.find("y = Neg(present)"), 16, "s = ReduceSum(present) y = Mul(past, s)");
  late.replace(late.find("total,3] y"), 10, "past_length,3] y");
  EXPECT_EQ(code_of([&] { Both(late, {{"past", "present"}}, {.threads = 1}); }), Code::build_bad_state);
}

TEST(States, GrowToTheirCapacityOnly) {
  const Both e{joined_attention, keys_and_values_too, {.threads = 1, .state_capacity = 10}};
  NamedStates states = State::create_all(e.stateful, {{"batch", 1}}, 6);
  State& k = states.at("past_k");
  EXPECT_EQ(k.capacity(), 6);
  EXPECT_EQ(k.length(), 0);
  Context c = e.stateful.create_context();
  c.bind_states(states);
  const auto step = [&](int64_t n) {
    return c.run(
        {{"q", drawn({1, 4, n, 8}, 1)}, {"k", drawn({1, 4, n, 8}, 2)}, {"v", drawn({1, 4, n, 8}, 3)}});
  };
  step(4);
  EXPECT_EQ(k.length(), 4);
  const Tensor before = k.tensor();
  EXPECT_EQ(code_of([&] { step(3); }), Code::run_state_full);
  // As before, and usable.
  EXPECT_EQ(k.length(), 4);
  EXPECT_TRUE(same(k.tensor(), before));
  step(2);
  EXPECT_EQ(k.length(), 6);
  k.rewind(4);
  EXPECT_TRUE(same(k.tensor(), before));
  EXPECT_EQ(code_of([&] { k.rewind(5); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { k.rewind(-1); }), Code::bad_argument);
  k.clear();
  EXPECT_EQ(k.length(), 0);
  EXPECT_EQ(code_of([&] { State::create(e.stateful, "past_k", {{"batch", 1}}, 11); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { State::create(e.stateful, "past_k"); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { State::create(e.stateful, "q", {{"batch", 1}}); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { State().tensor(); }), Code::bad_argument);
}

TEST(States, AreValues) {
  const Both e{joined_attention, keys_and_values_too, {.threads = 1}};
  NamedStates states = State::create_all(e.stateful, {{"batch", 2}});
  Context c = e.stateful.create_context();
  c.bind_states(states);
  const auto step = [&](int64_t n, uint64_t seed) {
    return c.run({{"q", drawn({2, 4, n, 8}, seed)},
                  {"k", drawn({2, 4, n, 8}, seed + 1)},
                  {"v", drawn({2, 4, n, 8}, seed + 2)}});
  };
  step(5, 1);
  NamedStates fork;
  for (const auto& [name, s] : states) fork[name] = s.clone();
  const NamedValues first = step(3, 10);
  EXPECT_EQ(states.at("past_k").length(), 8);
  EXPECT_EQ(fork.at("past_k").length(), 5);
  c.bind_states(fork);
  EXPECT_TRUE(same(step(3, 10).at("y").tensor(), first.at("y").tensor()));
  EXPECT_TRUE(same(fork.at("past_v").tensor(), states.at("past_v").tensor()));
  // On disk.
  const TempDirectory folder;
  fork.at("past_k").save(folder / "k.state");
  const State read = State::load(folder / "k.state");
  EXPECT_TRUE(same(read.tensor(), fork.at("past_k").tensor()));
  EXPECT_EQ(read.capacity(), fork.at("past_k").capacity());
  EXPECT_EQ(read.axis(), 2);
  fork["past_k"] = read;
  c.bind_states(fork);
  step(1, 30);
  EXPECT_EQ(read.length(), 9);
  std::string bytes;
  {
    std::ifstream in(folder / "k.state", std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (size_t i = 0; i < bytes.size(); i += i < 240 ? 1 : 97) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    std::ofstream(folder / "d.state", std::ios::binary) << damaged;
    EXPECT_EQ(code_of([&] { State::load(folder / "d.state"); }), Code::state_malformed) << i;
  }
  std::ofstream(folder / "d.state", std::ios::binary) << bytes.substr(0, bytes.size() - 1);
  EXPECT_EQ(code_of([&] { State::load(folder / "d.state"); }), Code::state_malformed);
}

/// A decoder's attention with what depends on its length besides: a mask, and the scores.
constexpr std::string_view masked =
    R"((float[batch,4,seq,8] q, float[batch,4,seq,8] k, float[batch,4,seq,8] v, float[batch,4,past,8] past_k,
       float[batch,4,past,8] past_v, float["batch","past + seq"] mask)
  => (float[batch,4,seq,8] y, float[batch,4,total,8] present_k, float[batch,4,total,8] present_v)
  <float scale = {0.35}, int64[2] axes = {1, 2}> {
    present_k = Concat<axis = 2>(past_k, k)
    present_v = Concat<axis = 2>(past_v, v)
    bias = Unsqueeze(mask, axes)
    t = Transpose<perm = [0, 1, 3, 2]>(present_k)
    s = MatMul(q, t)
    scaled = Mul(s, scale)
    added = Add(scaled, bias)
    p = Softmax(added)
    y = MatMul(p, present_v)
  })";

TEST(States, DecodingAllocatesAHandfulOfTimes) {
  BuildOptions o{.threads = 1};
  o.states = keys_and_values_too;
  string text(masked);
  const size_t at = text.find("float[\"batch\",\"past + seq\"]");
  text.replace(at, 28, "float[batch,length]");
  for (const bool sums : {false, true}) {
    onnx::Model m = model_of(text, 24);
    if (sums)
      for (onnx::ValueInfoProto& in : m.proto.graph->input)
        if (in.name == "mask") in.type->tensor_type->shape->dim[1].dim_param = "past + seq";
    const Engine e = Engine::build(m, o);
    for (const StepInfo& s : e.steps()) EXPECT_NE(s.op, "Contiguous");
    NamedStates states = State::create_all(e, {{"batch", 1}});
    Context c = e.create_context();
    c.bind_states(states);
    vector<float> mask(2048, 0.0f);
    Tensor y(DataType::float32, {1, 4, 1, 8});
    for (const char* name : {"q", "k", "v"}) c.bind_input(name, drawn({1, 4, 1, 8}, 3));
    c.bind_output("y", y);
    const void* const memory = states.at("past_k").data();
    int with_allocations = 0;
    for (int64_t length = 0; length < 2000; ++length) {
      c.bind_input("mask", Tensor::view(DataType::float32, {1, length + 1}, mask.data()));
      const long before = test::allocations;
      c.run();
      with_allocations += test::allocations != before ? 1 : 0;
    }
    EXPECT_EQ(states.at("past_k").length(), 2000);
    EXPECT_EQ(states.at("past_k").data(), memory);
    if (sums) {
      EXPECT_LE(with_allocations, 6);
    }
  }
}

TEST(States, OfAProfileNeedNoMoreThanItReserves) {
  BuildOptions o{.threads = 1};
  o.states = keys_and_values_too;
  const Shape least{1, 4, 0, 8}, likely{1, 4, 100, 8}, greatest{1, 4, 900, 8}, row{1, 4, 1, 8},
      prompt{1, 4, 20, 8};
  o.profiles = {{"default",
                 {{"past_k", {least, likely, greatest}},
                  {"past_v", {least, likely, greatest}},
                  {"q", {row, row, prompt}},
                  {"k", {row, row, prompt}},
                  {"v", {row, row, prompt}}}}};
  const Engine e = Engine::build(model_of(joined_attention, 24), o);
  NamedStates states = State::create_all(e, {{"batch", 1}});
  Context c = e.create_context();
  c.bind_states(states);
  c.reserve("default");
  const uint64_t peak = c.memory_peak();
  const MemoryInfo m = e.profile_memory("default");
  EXPECT_EQ(m.states, 2u * 4 * 8 * 4 * (900 + 20));
  for (int64_t length = 0; length <= 900;) {
    const int64_t rows = length % 3 == 0 ? 20 : 1;
    NamedValues in;
    for (const char* name : {"q", "k", "v"}) in[name] = drawn({1, 4, rows, 8}, 3);
    for (const auto& [name, v] : in) c.bind_input(name, v);
    c.run();
    length += rows;
  }
  EXPECT_GT(states.at("past_k").length(), 900);
  EXPECT_EQ(c.memory_peak(), peak);
  EXPECT_EQ(code_of([&] { c.run(); }), Code::run_bad_shape);  // beyond the profile
}

TEST(States, LiveThroughARefit) {
  Both e{cached_attention, keys_and_values_too, {.threads = 1, .refit = true}};
  expect_same(e, keys_and_values, {4, 1, 1}, 2, "before");
  NamedStates states = State::create_all(e.stateful, {{"batch", 1}});
  Context c = e.stateful.create_context(), d = e.dense.create_context();
  c.bind_states(states);
  NamedValues past{{"past_k", states.at("past_k").tensor()}, {"past_v", states.at("past_v").tensor()}};
  for (uint64_t i = 0; i < 4; ++i) {
    const Tensor x = drawn({1, i == 0 ? 5 : 1, 32}, i);
    NamedValues all = past;
    all["x"] = x;
    const NamedValues want = d.run(all), got = c.run({{"x", x}});
    EXPECT_TRUE(same(got.at("y").tensor(), want.at("y").tensor())) << i;
    for (const auto& [in, out] : keys_and_values) past[in] = want.at(out);
    EXPECT_TRUE(same(states.at("past_v").tensor(), past.at("past_v").tensor())) << i;
    // Keys of before stay, those of the next tokens are the new weights'.
    for (const Engine* engine : {&e.stateful, &e.dense}) {
      Refitter r(*engine);
      r.set_weights("b", drawn({32, 32}, 100 + i));
      r.refit();
    }
  }
}

TEST(States, AreInPlans) {
  const TempDirectory folder;
  const Both e{joined_attention, keys_and_values_too, {.threads = 1}};
  e.stateful.save(folder / "m.lathe");
  Both loaded = e;
  loaded.stateful = Engine::load(folder / "m.lathe", {.threads = 1});
  expect_same(loaded, keys_and_values, {3, 1, 1, 8}, 2, "loaded");
  loaded.stateful = Engine::load(folder / "m.lathe", {.threads = 1, .isa = "generic"});
  loaded.dense = Engine::build(model_of(joined_attention, 24), {.threads = 1, .isa = "generic"});
  expect_same(loaded, keys_and_values, {3, 1, 1, 8}, 2, "generic");
}

TEST(States, OfPlansAreVerified) {
  const TempDirectory folder;
  Both(joined_attention, keys_and_values_too, {.threads = 1}).stateful.save(folder / "m.lathe");
  const auto refused = [&](const std::function<void(Plan&)>& change) {
    Plan plan = load_plan(folder / "m.lathe", true);
    change(plan);
    return code_of([&] { verify(plan); });
  };
  const auto value = [](Plan& p, bool output, size_t state) -> PlanValue& {
    PlanGraph& g = p.graphs[0];
    return g.values[output ? g.outputs[p.states[state].output] : g.inputs[p.states[state].input]];
  };
  EXPECT_EQ(refused([](Plan&) {}), Code::none);
  for (const auto& change : vector<std::function<void(Plan&)>>{
           [](Plan& p) { p.states[0].input = 99; },
           [](Plan& p) { p.states[0].output = 99; },
           [](Plan& p) { p.states[0].output = p.states[1].output; },
           [](Plan& p) { p.states[0].axis = -1; },
           [](Plan& p) { p.states[0].axis = 4; },
           [](Plan& p) { p.states[0].capacity = 0; },
           [](Plan& p) { p.states[0].update = PlanState::Update::replace; },
           [](Plan& p) { p.states.pop_back(); },
           [](Plan& p) { p.states.push_back(p.states[0]); },
           [&](Plan& p) { value(p, false, 0).state = 1; },
           [&](Plan& p) { value(p, true, 0).state = -1; },
           [&](Plan& p) { value(p, true, 0).type.shape->pop_back(); },
           [&](Plan& p) { value(p, false, 1).type.elem = DataType::int4; },
           [](Plan& p) { p.graphs[0].values[p.graphs[0].inputs[0]].state = 0; },
           [](Plan& p) { p.graphs[0].outputs.push_back(p.graphs[0].outputs[p.states[0].output]); },
           [](Plan& p) { p.graphs[0].outputs.push_back(p.graphs[0].inputs[p.states[0].input]); },
       })
    EXPECT_EQ(refused(change), Code::plan_malformed);
  // Another state than the one that a step appends to.
  Plan plan = load_plan(folder / "m.lathe", true);
  std::swap(plan.states[0].output, plan.states[1].output);
  std::swap(value(plan, true, 0).state, value(plan, true, 1).state);
  EXPECT_EQ(code_of([&] { Program(std::move(plan), Extensions::none(), {}); }), Code::plan_target);
}

TEST(States, RefuseWhatTheyCannotBe) {
  const auto refused = [](std::string_view text, vector<StatePair> states) {
    BuildOptions o{.threads = 1};
    o.states = std::move(states);
    return code_of([&] { Engine::build(model_of(text, 24), o); });
  };
  EXPECT_EQ(refused(joined_attention, {{"nothing.*", "present.*"}}), Code::build_bad_state);
  EXPECT_EQ(refused(joined_attention, {{"past_*", "nothing_*"}}), Code::build_bad_state);
  EXPECT_EQ(refused(joined_attention, {{"past_k", "present_v"}, {"past_v", "present_v"}}),
            Code::build_bad_state);
  EXPECT_EQ(refused(joined_attention, {{"past_k", "present_v"}}), Code::build_bad_state);
  EXPECT_EQ(refused(joined_attention, {{"q", "y"}, {"past_*", "present_*"}}), Code::none);
  // Elements in front, not behind.
  EXPECT_EQ(
      refused(
          "(float[n,3] past, float[m,3] x) => (float[k,3] present) { present = Concat<axis = 0>(x, past) }",
          {{"past", "present"}}),
      Code::build_bad_state);
  EXPECT_EQ(refused("(float[n,3] past) => (float[n,3] past) { }", {{"past", "past"}}), Code::build_bad_state);
  // The old rows are read when new ones have been written over them.
  EXPECT_EQ(
      refused(
          R"((float[2,2,16,3] past, float[2,2,1,3] x, int64[2] at) => (float[2,2,16,3] y, float[2,2,16,3] present) {
      present = TensorScatter(past, x, at)
      m = Softmax(present)
      y = Sub(past, m)
    })",
          {{"past", "present"}}),
      Code::build_bad_state);
}

TEST(States, MustBeBound) {
  const Both e{joined_attention, keys_and_values_too, {.threads = 1}};
  Context c = e.stateful.create_context();
  const NamedValues in{
      {"q", drawn({1, 4, 1, 8}, 1)}, {"k", drawn({1, 4, 1, 8}, 2)}, {"v", drawn({1, 4, 1, 8}, 3)}};
  EXPECT_EQ(code_of([&] { c.run(in); }), Code::run_missing_input);
  NamedStates states = State::create_all(e.stateful, {{"batch", 1}});
  c.bind_states(states);
  c.run(in);
  NamedValues more = in;
  more["past_k"] = drawn({1, 4, 1, 8}, 1);
  EXPECT_EQ(code_of([&] { c.run(more); }), Code::run_bad_input);
  EXPECT_EQ(code_of([&] { c.output("present_k"); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { c.bind_output("present_k", drawn({1, 4, 3, 8}, 1)); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { c.bind_state("q", states.at("past_k")); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { c.bind_state("past_k", State()); }), Code::run_bad_input);
  // One state is one input's.
  c.bind_state("past_v", states.at("past_k"));
  EXPECT_EQ(code_of([&] { c.run(in); }), Code::bad_argument);
  c.bind_state("past_v", states.at("past_v"));
  c.run(in);
  EXPECT_EQ(states.at("past_v").length(), 2);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
