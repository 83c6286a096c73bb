#include "ops/cases.h"

namespace lathe {

void cases_linear_attention(CaseTable& t) {
  t.add("LinearAttention", "is causal attention without a softmax")
      .input<float>({1, 3, 4}, {0.14f, -0.42f, 1.16f, 1.49f, -1.28f, -1.45f, -1.55f, 1.92f, 1.77f, -1.08f,
                                1.88f, -1.17f})
      .input<float>({1, 3, 4},
                    {0.03f, -0.01f, 1.66f, -1.84f, -0.74f, 0.4f, -1.73f, -1.05f, -0.14f, 1.52f, 1.04f, 1.32f})
      .input<float>({1, 3, 6}, {1.04f, 0.83f, 1.4f, 0.73f, 0.94f, -0.79f, -1.33f, 1.03f, -1.34f, 1.68f, 0.39f,
                                -0.68f, 1.75f, -1.38f, 0.06f, -1.63f, 1.86f, 0.3f})
      .attribute("q_num_heads", int64_t{2})
      .attribute("kv_num_heads", int64_t{2})
      .attribute("update_rule", std::string("linear"))
      .attribute("scale", 0.5f)
      .expect<float>({1, 3, 6},
                     {0.0043679997f, 0.0034859998f, 0.0058799996f, -0.29784006f, -0.38352007f, 0.32232007f,
                      -0.256616f, 0.17918947f, -0.262754f, -1.6695969f, -2.7399535f, 2.185521f, -0.4617f,
                      0.43317753f, 1.1550541f, -0.11001398f, 2.4659753f, -1.333326f})
      .expect<float>({1, 2, 2, 3}, {0.77040005f, -0.5441f, 1.0252f, 2.1176f, -1.6939f, -0.45880002f,
                                    -3.3897998f, 2.8200998f, 0.17700002f, -5.2588f, 0.31610012f, 2.5636f});
  t.add("LinearAttention", "decaying")
      .input<float>({1, 3, 4}, {0.14f, -0.42f, 1.16f, 1.49f, -1.28f, -1.45f, -1.55f, 1.92f, 1.77f, -1.08f,
                                1.88f, -1.17f})
      .input<float>({1, 3, 4},
                    {0.03f, -0.01f, 1.66f, -1.84f, -0.74f, 0.4f, -1.73f, -1.05f, -0.14f, 1.52f, 1.04f, 1.32f})
      .input<float>({1, 3, 6}, {1.04f, 0.83f, 1.4f, 0.73f, 0.94f, -0.79f, -1.33f, 1.03f, -1.34f, 1.68f, 0.39f,
                                -0.68f, 1.75f, -1.38f, 0.06f, -1.63f, 1.86f, 0.3f})
      .absent()
      .input<float>({1, 3, 2}, {-1.21f, -0.87f, -1.21f, -0.81f, -0.57f, -1.8f})
      .attribute("q_num_heads", int64_t{2})
      .attribute("kv_num_heads", int64_t{2})
      .attribute("update_rule", std::string("gated"))
      .attribute("scale", 1.0f)
      .expect<float>({1, 3, 6},
                     {0.008735999f, 0.0069719995f, 0.011759999f, -0.5956801f, -0.76704013f, 0.64464015f,
                      -0.49578795f, 0.37230062f, -0.50202566f, -0.8647964f, -2.2936964f, 1.6932693f,
                      -1.9851501f, 1.601733f, 1.2216656f, -0.94855726f, 0.99813825f, 0.04437742f})
      .expect<float>({1, 2, 2, 3},
                     {0.31685168f, -0.2336444f, 0.55945784f, 2.3573866f, -1.8660032f, -0.21428259f,
                      -2.0865154f, 1.9376161f, 0.41002443f, -2.5419588f, 2.260325f, 0.62091327f});
  t.add("LinearAttention", "a delta rule that replaces")
      .input<float>({1, 3, 2}, {1, 1, 1, 1, 1, 1})
      .input<float>({1, 3, 2}, {1, 0, 0, 1, 1, 0})
      .input<float>({1, 3, 2}, {-0.27f, -0.34f, 0.77f, 1.34f, -0.66f, 0.68f})
      .absent()
      .absent()
      .input<float>({1, 3, 1}, {1, 1, 1})
      .attribute("q_num_heads", int64_t{1})
      .attribute("kv_num_heads", int64_t{1})
      .attribute("update_rule", std::string("delta"))
      .attribute("scale", 1.0f)
      .expect<float>({1, 3, 2}, {-0.27f, -0.34f, 0.49999997f, 1, 0.109999955f, 2.02f})
      .expect<float>({1, 1, 2, 2}, {-0.66f, 0.68f, 0.77f, 1.34f});
  t.add("CausalConvWithState", "with a past and a bias")
      .input<float>({1, 2, 4}, {-1.16f, 0.21f, 1.08f, -1.74f, 0.91f, -1.94f, 1.83f, -0.13f})
      .input<float>({2, 1, 3}, {-0.36f, 0.88f, 0.09f, 0.92f, -1.66f, 0.25f})
      .input<float>({2}, {0.23f, 1.73f})
      .input<float>({1, 2, 2}, {-1.84f, -0.19f, 0.52f, 0.2f})
      .expect<float>({1, 2, 4},
                     {0.6208f, -0.7035f, 0.9296f, 0.94820005f, 2.1039f, -0.0816f, 6.2451f, -3.1251001f})
      .expect<float>({1, 2, 2}, {1.08f, -1.74f, 1.83f, -0.13f});
  t.add("CausalConvWithState", "silu")
      .input<float>({1, 2, 4}, {-1.16f, 0.21f, 1.08f, -1.74f, 0.91f, -1.94f, 1.83f, -0.13f})
      .input<float>({2, 1, 3}, {-0.36f, 0.88f, 0.09f, 0.92f, -1.66f, 0.25f})
      .input<float>({2}, {0.23f, 1.73f})
      .input<float>({1, 2, 2}, {-1.84f, -0.19f, 0.52f, 0.2f})
      .attribute("activation", std::string("silu"))
      .expect<float>({1, 2, 4}, {0.40376866f, -0.2328843f, 0.66651773f, 0.68341804f, 1.8751675f,
                                 -0.039136283f, 6.2330084f, -0.13151576f})
      .expect<float>({1, 2, 2}, {1.08f, -1.74f, 1.83f, -0.13f});
  t.add("CausalConvWithState", "shorter than the filter, no past")
      .input<float>({1, 2, 1}, {-1.16f, 0.91f})
      .input<float>({2, 1, 3}, {-0.36f, 0.88f, 0.09f, 0.92f, -1.66f, 0.25f})
      .expect<float>({1, 2, 1}, {-0.1044f, 0.2275f})
      .expect<float>({1, 2, 2}, {0, -1.16f, 0, 0.91f});
  for (const std::string rule : {"linear", "gated", "delta", "gated_delta"})
    for (const bool each : {false, true}) {
      const bool decays = rule.starts_with("gated"), corrects = rule.ends_with("delta");
      OpCase& c = t.add("LinearAttention", rule + (each ? ", for each row" : ", for each head"))
                      .random(DataType::float32, {2, 9, 6 * 21}, -0.3, 0.3)
                      .random(DataType::float32, {2, 9, 3 * 21}, -0.3, 0.3)
                      .random(DataType::float32, {2, 9, 3 * 83})
                      .random(DataType::float32, {2, 3, 21, 83})
                      .attribute("q_num_heads", int64_t{6})
                      .attribute("kv_num_heads", int64_t{3})
                      .attribute("update_rule", rule)
                      .outputs_wanted(2);
      if (decays) c.random(DataType::float32, {2, 9, each ? 3 * 21 : 3}, -1, 0);
      if (!decays && corrects) c.absent();
      if (corrects) c.random(DataType::float32, {2, 9, each ? 3 : 1}, 0, 1);
    }
  for (const std::string activation : {"none", "swish"})
    for (const int64_t length : {3, 1100})
      t.add("CausalConvWithState", activation + " of " + std::to_string(length) + " steps")
          .random(DataType::float32, {2, 35, length})
          .random(DataType::float32, {35, 1, 5})
          .random(DataType::float32, {35})
          .random(DataType::float32, {2, 35, 4})
          .attribute("activation", activation)
          .outputs_wanted(2);
}

}  // namespace lathe
