// Engines with states, and the same models without, for tests of both.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "lathe/state.h"
#include "support/text_model.h"

namespace lathe::testing {

/// Attention whose cache is its own.
inline constexpr std::string_view cached_attention =
    R"((float[batch,seq,32] x, float[batch,4,past,8] past_k, float[batch,4,past,8] past_v)
  => (float[batch,seq,32] y, float[batch,4,total,8] present_k, float[batch,4,total,8] present_v)
  <float[32,32] a = {}, float[32,32] b = {}, float[32,32] c = {}> {
    q = MatMul(x, a)
    k = MatMul(x, b)
    v = MatMul(x, c)
    y, present_k, present_v = Attention<q_num_heads = 4, kv_num_heads = 4, is_causal = 1>(q, k, v, , past_k, past_v)
  })";

/// Attention in pieces, as exporters write it: keys and values are joined before it.
inline constexpr std::string_view joined_attention =
    R"((float[batch,4,seq,8] q, float[batch,4,seq,8] k, float[batch,4,seq,8] v, float[batch,4,past,8] past_k,
       float[batch,4,past,8] past_v)
  => (float[batch,4,seq,8] y, float[batch,4,total,8] present_k, float[batch,4,total,8] present_v)
  <float scale = {0.35}> {
    present_k = Concat<axis = 2>(past_k, k)
    present_v = Concat<axis = -2>(past_v, v)
    t = Transpose<perm = [0, 1, 3, 2]>(present_k)
    s = MatMul(q, t)
    scaled = Mul(s, scale)
    p = Softmax(scaled)
    y = MatMul(p, present_v)
  })";

struct Both {
  Both(std::string_view text, const std::vector<StatePair>& states, BuildOptions options = {}, int opset = 24)
      : dense(Engine::build(model_of(text, opset), options)), stateful(build(text, states, options, opset)) {}
  static Engine build(std::string_view text, const std::vector<StatePair>& states, BuildOptions options,
                      int opset) {
    options.states = states;
    if (options.state_capacity == 2048) options.state_capacity = 600;
    return Engine::build(model_of(text, opset), options);
  }
  Engine dense, stateful;
};

inline Tensor drawn(const Shape& shape, uint64_t seed) {
  return random_tensor(DataType::float32, shape, seed);
}

inline bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.type() == b.type() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

/// Runs both step by step, and compares outputs and states after each.
inline void expect_same(const Both& e, std::vector<std::pair<std::string, std::string>> names,
                        const std::vector<int64_t>& lengths, int64_t batch, const std::string& what) {
  NamedStates states = State::create_all(e.stateful, {{"batch", batch}});
  Context with = e.stateful.create_context(), without = e.dense.create_context();
  with.bind_states(states);
  NamedValues past;
  for (const auto& [in, out] : names) past[in] = states.at(in).tensor();
  uint64_t seed = 1;
  for (int64_t length : lengths) {
    NamedValues inputs;
    for (const IoInfo& io : e.stateful.inputs()) {
      if (!io.state.empty()) continue;
      if (io.element_type == DataType::boolean) {
        inputs[io.name] = Tensor::scalar(length % 2 == 0);
        continue;
      }
      Shape shape;
      for (const Dim& d : *io.shape) shape.push_back(d.value().value_or(d.str() == "batch" ? batch : length));
      inputs[io.name] = random_tensor(io.element_type, shape, ++seed);
    }
    NamedValues all = inputs;
    all.insert(past.begin(), past.end());
    const NamedValues want = without.run(all), got = with.run(inputs);
    ASSERT_EQ(got.size() + names.size(), want.size()) << what;
    for (const auto& [name, v] : got)
      EXPECT_TRUE(same(v.tensor(), want.at(name).tensor())) << what << " " << name;
    for (const auto& [in, out] : names) {
      past[in] = want.at(out);
      EXPECT_TRUE(same(states.at(in).tensor(), want.at(out).tensor()))
          << what << " " << in << " after " << length;
    }
  }
}

inline const std::vector<std::pair<std::string, std::string>> keys_and_values = {{"past_k", "present_k"},
                                                                                 {"past_v", "present_v"}};
inline const std::vector<StatePair> keys_and_values_too = {{"past_*", "present_*"}};

}  // namespace lathe::testing
