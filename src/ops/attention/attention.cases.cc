#include <cmath>
#include <string>
#include <vector>

#include "ops/cases.h"

namespace lathe {

void cases_attention(CaseTable& t) {
  t.add("Attention", "4-d")
      .input<float>({1, 2, 3, 4}, {-0.375f, 0.375f, 0.5f,    0,     0.125f,  0.375f, -0.375f, 0.875f,
                                   -1,      1,      -0.875f, 0.5f,  -0.125f, 0.625f, -0.25f,  -0.375f,
                                   0.375f,  0.25f,  0.75f,   -0.5f, 0.125f,  -1,     0.625f,  0.125f})
      .input<float>({1, 2, 3, 4}, {0,      0.875f, 0.625f,  0,       0.375f,  0.375f,  0,       -0.125f,
                                   -0.75f, 0.375f, 0.875f,  -0.375f, -0.125f, -0.625f, -0.25f,  -0.5f,
                                   0.25f,  0.375f, -0.125f, -0.25f,  0.25f,   -0.875f, -0.625f, -0.375f})
      .input<float>({1, 2, 3, 2},
                    {0.25f, -0.625f, 0, -1, 0.25f, 0.375f, 0.125f, 0.25f, -0.25f, -1, 0.5f, -0.125f})
      .expect<float>({1, 2, 3, 2},
                     {0.18613219f, -0.32819939f, 0.15798503f, -0.50202894f, 0.17515019f, -0.40065116f,
                      0.086141214f, -0.35226217f, 0.085795328f, -0.34379378f, 0.17842208f, -0.19876289f});
  // A query that sees only scores of minus infinity has weights of 0/0; one that sees no key gets 0.
  t.add("Attention", "every score is minus infinity")
      .input<float>({1, 1, 2, 1}, {-INFINITY, 1})
      .input<float>({1, 1, 3, 1}, {1, 2, 3})
      .input<float>({1, 1, 3, 1}, {1, 2, 4})
      .expect<float>({1, 1, 2, 1}, {NAN, 3.24045134f});
  t.add("Attention", "every score that is seen is minus infinity")
      .input<float>({1, 1, 2, 1}, {-INFINITY, 1})
      .input<float>({1, 1, 3, 1}, {1, 2, 3})
      .input<float>({1, 1, 3, 1}, {1, 2, 4})
      .input<float>({1, 3}, {-INFINITY, 0, 0})
      .expect<float>({1, 1, 2, 1}, {NAN, 3.46211716f});
  t.add("Attention", "scores of minus infinity that none sees")
      .input<float>({1, 1, 2, 1}, {-INFINITY, 1})
      .input<float>({1, 1, 3, 1}, {1, 2, 3})
      .input<float>({1, 1, 3, 1}, {1, 2, 4})
      .input<bool>({2, 3}, {false, false, false, true, true, true})
      .expect<float>({1, 1, 2, 1}, {0, 3.24045134f});
  t.add("Attention", "causal")
      .input<float>({1, 2, 3, 4}, {-0.375f, 0.375f, 0.5f,    0,     0.125f,  0.375f, -0.375f, 0.875f,
                                   -1,      1,      -0.875f, 0.5f,  -0.125f, 0.625f, -0.25f,  -0.375f,
                                   0.375f,  0.25f,  0.75f,   -0.5f, 0.125f,  -1,     0.625f,  0.125f})
      .input<float>({1, 2, 3, 4}, {0,      0.875f, 0.625f,  0,       0.375f,  0.375f,  0,       -0.125f,
                                   -0.75f, 0.375f, 0.875f,  -0.375f, -0.125f, -0.625f, -0.25f,  -0.5f,
                                   0.25f,  0.375f, -0.125f, -0.25f,  0.25f,   -0.875f, -0.625f, -0.375f})
      .input<float>({1, 2, 3, 2},
                    {0.25f, -0.625f, 0, -1, 0.25f, 0.375f, 0.125f, 0.25f, -0.25f, -1, 0.5f, -0.125f})
      .attribute("is_causal", int64_t{1})
      .expect<float>({1, 2, 3, 2}, {0.25f, -0.625f, 0.12548827f, -0.81176758f, 0.17515019f, -0.40065116f,
                                    0.125f, 0.25f, -0.079300523f, -0.43100175f, 0.17842208f, -0.19876289f});
  t.add("Attention", "scale and softcap")
      .input<float>({1, 2, 3, 4}, {-0.375f, 0.375f, 0.5f,    0,     0.125f,  0.375f, -0.375f, 0.875f,
                                   -1,      1,      -0.875f, 0.5f,  -0.125f, 0.625f, -0.25f,  -0.375f,
                                   0.375f,  0.25f,  0.75f,   -0.5f, 0.125f,  -1,     0.625f,  0.125f})
      .input<float>({1, 2, 3, 4}, {0,      0.875f, 0.625f,  0,       0.375f,  0.375f,  0,       -0.125f,
                                   -0.75f, 0.375f, 0.875f,  -0.375f, -0.125f, -0.625f, -0.25f,  -0.5f,
                                   0.25f,  0.375f, -0.125f, -0.25f,  0.25f,   -0.875f, -0.625f, -0.375f})
      .input<float>({1, 2, 3, 2},
                    {0.25f, -0.625f, 0, -1, 0.25f, 0.375f, 0.125f, 0.25f, -0.25f, -1, 0.5f, -0.125f})
      .attribute("scale", 0.75f)
      .attribute("softcap", 0.5f)
      .expect<float>({1, 2, 3, 2},
                     {0.18730462f, -0.33374292f, 0.1563224f, -0.51928091f, 0.17867039f, -0.39283568f,
                      0.070171326f, -0.37851965f, 0.070807688f, -0.36741138f, 0.19229829f, -0.17294334f});
  t.add("Attention", "mask of bools")
      .input<float>({1, 2, 3, 4}, {-0.375f, 0.375f, 0.5f,    0,     0.125f,  0.375f, -0.375f, 0.875f,
                                   -1,      1,      -0.875f, 0.5f,  -0.125f, 0.625f, -0.25f,  -0.375f,
                                   0.375f,  0.25f,  0.75f,   -0.5f, 0.125f,  -1,     0.625f,  0.125f})
      .input<float>({1, 2, 3, 4}, {0,      0.875f, 0.625f,  0,       0.375f,  0.375f,  0,       -0.125f,
                                   -0.75f, 0.375f, 0.875f,  -0.375f, -0.125f, -0.625f, -0.25f,  -0.5f,
                                   0.25f,  0.375f, -0.125f, -0.25f,  0.25f,   -0.875f, -0.625f, -0.375f})
      .input<float>({1, 2, 3, 2},
                    {0.25f, -0.625f, 0, -1, 0.25f, 0.375f, 0.125f, 0.25f, -0.25f, -1, 0.5f, -0.125f})
      .input<bool>({3, 3}, {true, false, true, false, true, true, true, true, true})
      .expect<float>({1, 2, 3, 2},
                     {0.25f, -0.097683482f, 0.1037247f, -0.42951408f, 0.17515019f, -0.40065116f, 0.30517954f,
                      0.069820501f, 0.066878453f, -0.63030845f, 0.17842208f, -0.19876289f});
  t.add("Attention", "fully masked row is zero")
      .input<float>({1, 2, 3, 4}, {-0.375f, 0.375f, 0.5f,    0,     0.125f,  0.375f, -0.375f, 0.875f,
                                   -1,      1,      -0.875f, 0.5f,  -0.125f, 0.625f, -0.25f,  -0.375f,
                                   0.375f,  0.25f,  0.75f,   -0.5f, 0.125f,  -1,     0.625f,  0.125f})
      .input<float>({1, 2, 3, 4}, {0,      0.875f, 0.625f,  0,       0.375f,  0.375f,  0,       -0.125f,
                                   -0.75f, 0.375f, 0.875f,  -0.375f, -0.125f, -0.625f, -0.25f,  -0.5f,
                                   0.25f,  0.375f, -0.125f, -0.25f,  0.25f,   -0.875f, -0.625f, -0.375f})
      .input<float>({1, 2, 3, 2},
                    {0.25f, -0.625f, 0, -1, 0.25f, 0.375f, 0.125f, 0.25f, -0.25f, -1, 0.5f, -0.125f})
      .input<bool>({3, 3}, {true, false, true, false, false, false, true, true, true})
      .attribute("qk_matmul_output_mode", int64_t{3})
      .expect<float>({1, 2, 3, 2}, {0.25f, -0.097683482f, 0, 0, 0.17515019f, -0.40065116f, 0.30517954f,
                                    0.069820501f, 0, 0, 0.17842208f, -0.19876289f})
      .expect<float>({1, 2, 3, 4}, {0,      0.875f, 0.625f,  0,       0.375f,  0.375f,  0,       -0.125f,
                                    -0.75f, 0.375f, 0.875f,  -0.375f, -0.125f, -0.625f, -0.25f,  -0.5f,
                                    0.25f,  0.375f, -0.125f, -0.25f,  0.25f,   -0.875f, -0.625f, -0.375f})
      .expect<float>({1, 2, 3, 2},
                     {0.25f, -0.625f, 0, -1, 0.25f, 0.375f, 0.125f, 0.25f, -0.25f, -1, 0.5f, -0.125f})
      .expect<float>({1, 2, 3, 3},
                     {0.47268349f, 0, 0.52731651f, 0, 0, 0, 0.36397704f, 0.29939935f, 0.3366237f, 0.51952136f,
                      0, 0.4804787f, 0, 0, 0, 0.37096784f, 0.24328665f, 0.38574553f});
  t.add("Attention", "mask that is added")
      .input<float>({1, 2, 3, 4}, {-0.375f, 0.375f, 0.5f,    0,     0.125f,  0.375f, -0.375f, 0.875f,
                                   -1,      1,      -0.875f, 0.5f,  -0.125f, 0.625f, -0.25f,  -0.375f,
                                   0.375f,  0.25f,  0.75f,   -0.5f, 0.125f,  -1,     0.625f,  0.125f})
      .input<float>({1, 2, 3, 4}, {0,      0.875f, 0.625f,  0,       0.375f,  0.375f,  0,       -0.125f,
                                   -0.75f, 0.375f, 0.875f,  -0.375f, -0.125f, -0.625f, -0.25f,  -0.5f,
                                   0.25f,  0.375f, -0.125f, -0.25f,  0.25f,   -0.875f, -0.625f, -0.375f})
      .input<float>({1, 2, 3, 2},
                    {0.25f, -0.625f, 0, -1, 0.25f, 0.375f, 0.125f, 0.25f, -0.25f, -1, 0.5f, -0.125f})
      .input<float>({1, 1, 3, 3}, {0.875f, -0.5f, -0.625f, -0.125f, 0.75f, 0, 0.75f, 0.25f, 0})
      .expect<float>({1, 2, 3, 2},
                     {0.21796739f, -0.49927831f, 0.10755713f, -0.64781475f, 0.18556643f, -0.49597073f,
                      0.097734489f, -0.060996048f, -0.019875512f, -0.56445366f, 0.14354417f, -0.11073336f});
  t.add("Attention", "mask shorter than the keys")
      .input<float>({1, 2, 3, 4}, {-0.375f, 0.375f, 0.5f,    0,     0.125f,  0.375f, -0.375f, 0.875f,
                                   -1,      1,      -0.875f, 0.5f,  -0.125f, 0.625f, -0.25f,  -0.375f,
                                   0.375f,  0.25f,  0.75f,   -0.5f, 0.125f,  -1,     0.625f,  0.125f})
      .input<float>({1, 2, 3, 4}, {0,      0.875f, 0.625f,  0,       0.375f,  0.375f,  0,       -0.125f,
                                   -0.75f, 0.375f, 0.875f,  -0.375f, -0.125f, -0.625f, -0.25f,  -0.5f,
                                   0.25f,  0.375f, -0.125f, -0.25f,  0.25f,   -0.875f, -0.625f, -0.375f})
      .input<float>({1, 2, 3, 2},
                    {0.25f, -0.625f, 0, -1, 0.25f, 0.375f, 0.125f, 0.25f, -0.25f, -1, 0.5f, -0.125f})
      .input<bool>({3, 2}, {true, true, false, true, true, false})
      .expect<float>({1, 2, 3, 2}, {0.14485011f, -0.78272486f, 0, -1, 0.25f, -0.625f, -0.083649844f,
                                    -0.44549948f, -0.25f, -1, 0.125f, 0.25f});
  t.add("Attention", "keys without elements may be any number")
      .input<float>({1, 1, 1, 0}, {})
      .input<float>({1, 1, int64_t{1} << 40, 0}, {})
      .input<float>({1, 1, int64_t{1} << 40, 0}, {})
      .expect<float>({1, 1, 1, 0}, {});
  t.add("Attention", "past and present")
      .input<float>({1, 2, 1, 4}, {-0.375f, 0.375f, 0.5f, 0, 0.125f, 0.375f, -0.375f, 0.875f})
      .input<float>({1, 2, 1, 4}, {0, 0.875f, 0.625f, 0, 0.375f, 0.375f, 0, -0.125f})
      .input<float>({1, 2, 1, 2}, {0.25f, -0.625f, 0, -1})
      .absent()
      .input<float>({1, 2, 2, 4}, {0.75f, -0.375f, -0.875f, 0, 0, 0.125f, -0.125f, 0.625f, 0, -0.5f, 0.5f,
                                   -0.25f, 0.25f, -0.625f, -1, 0.125f})
      .input<float>({1, 2, 2, 2}, {-0.625f, 0.75f, 0.875f, -0.25f, 1, 0.125f, 0, -0.5f})
      .attribute("is_causal", int64_t{1})
      .expect<float>({1, 2, 1, 2}, {0.26680619f, -0.20559393f, 0.25328755f, -0.51890177f})
      .expect<float>({1, 2, 3, 4}, {0.75f, -0.375f, -0.875f, 0,      0,      0.125f, -0.125f, 0.625f,
                                    0,     0.875f,  0.625f,  0,      0,      -0.5f,  0.5f,    -0.25f,
                                    0.25f, -0.625f, -1,      0.125f, 0.375f, 0.375f, 0,       -0.125f})
      .expect<float>({1, 2, 3, 2},
                     {-0.625f, 0.75f, 0.875f, -0.25f, 0.25f, -0.625f, 1, 0.125f, 0, -0.5f, 0, -1});
  t.add("Attention", "heads last, shared by groups")
      .input<float>({1, 2, 8}, {-0.375f, 0.375f, 0.5f, 0, 0.125f, 0.375f, -0.375f, 0.875f, -1, 1, -0.875f,
                                0.5f, -0.125f, 0.625f, -0.25f, -0.375f})
      .input<float>({1, 2, 4}, {0, 0.875f, 0.625f, 0, 0.375f, 0.375f, 0, -0.125f})
      .input<float>({1, 2, 2}, {0.25f, -0.625f, 0, -1})
      .attribute("q_num_heads", int64_t{4})
      .attribute("kv_num_heads", int64_t{2})
      .expect<float>({1, 2, 4}, {0.13943651f, 0.11672571f, -0.80421901f, -0.82078105f, 0.16248176f,
                                 0.1501998f, -0.8125f, -0.82594228f});
  t.add("Attention", "4-d, one key head")
      .input<float>({1, 4, 2, 2}, {-0.375f, 0.375f, 0.5f, 0, 0.125f, 0.375f, -0.375f, 0.875f, -1, 1, -0.875f,
                                   0.5f, -0.125f, 0.625f, -0.25f, -0.375f})
      .input<float>({1, 1, 3, 2}, {0, 0.875f, 0.625f, 0, 0.375f, 0.375f})
      .input<float>({1, 1, 3, 2}, {0.25f, -0.625f, 0, -1, 0.25f, 0.375f})
      .expect<float>({1, 4, 2, 2},
                     {0.18185636f, -0.40550876f, 0.15799168f, -0.42611286f, 0.17363551f, -0.40952718f,
                      0.19286622f, -0.40273124f, 0.2040779f, -0.40811452f, 0.19237778f, -0.40424389f,
                      0.18355212f, -0.40396172f, 0.16171744f, -0.42327243f});
  t.add("Attention", "lengths of sequences")
      .input<float>({2, 1, 2, 2}, {-0.375f, 0.375f, 0.5f, 0, 0.125f, 0.375f, -0.375f, 0.875f})
      .input<float>({2, 1, 4, 2}, {0, 0.875f, 0.625f, 0, 0.375f, 0.375f, 0, -0.125f, -0.75f, 0.375f, 0.875f,
                                   -0.375f, -0.125f, -0.625f, -0.25f, -0.5f})
      .input<float>({2, 1, 4, 2}, {0.25f, -0.625f, 0, -1, 0.25f, 0.375f, 0.125f, 0.25f, -0.25f, -1, 0.5f,
                                   -0.125f, 0.75f, -0.75f, -0.75f, -0.875f})
      .absent()
      .absent()
      .absent()
      .input<int64_t>({2}, {2, 4})
      .attribute("is_causal", int64_t{1})
      .expect<float>({2, 1, 2, 2}, {0.25f, -0.625f, 0.11124524f, -0.83313221f, 0.30146626f, -0.62616187f,
                                    -0.03607516f, -0.77455628f});
  const std::vector<float> products{0.3203125f,  1.0926193e-09f, 0.4296875f,    0.046875004f, 0.039062493f,
                                    -0.3046875f, 0.1640625f,     -0.031249996f, 0.085937433f, -0.062500007f,
                                    0.16406249f, -0.140625f,     -0.070312507f, 0.10937499f,  -0.203125f,
                                    0.1953125f,  -0.22656249f,   0.234375f};
  const std::vector<float> products_and_mask{1.1953125f,  -0.5f,        -0.1953125f, -0.078125f,   0.7890625f,
                                             -0.3046875f, 0.9140625f,   0.21875f,    0.085937433f, 0.8125f,
                                             -0.3359375f, -0.765625f,   -0.1953125f, 0.859375f,    -0.203125f,
                                             0.9453125f,  0.023437515f, 0.234375f};
  for (const int64_t mode : {0, 1, 2})
    t.add("Attention", "products of mode " + std::to_string(mode))
        .input<float>({1, 2, 3, 4}, {-0.375f, 0.375f, 0.5f,    0,     0.125f,  0.375f, -0.375f, 0.875f,
                                     -1,      1,      -0.875f, 0.5f,  -0.125f, 0.625f, -0.25f,  -0.375f,
                                     0.375f,  0.25f,  0.75f,   -0.5f, 0.125f,  -1,     0.625f,  0.125f})
        .input<float>({1, 2, 3, 4}, {0,      0.875f, 0.625f,  0,       0.375f,  0.375f,  0,       -0.125f,
                                     -0.75f, 0.375f, 0.875f,  -0.375f, -0.125f, -0.625f, -0.25f,  -0.5f,
                                     0.25f,  0.375f, -0.125f, -0.25f,  0.25f,   -0.875f, -0.625f, -0.375f})
        .input<float>({1, 2, 3, 2},
                      {0.25f, -0.625f, 0, -1, 0.25f, 0.375f, 0.125f, 0.25f, -0.25f, -1, 0.5f, -0.125f})
        .input<float>({3, 3}, {0.875f, -0.5f, -0.625f, -0.125f, 0.75f, 0, 0.75f, 0.25f, 0})
        .attribute("qk_matmul_output_mode", mode)
        .expect<float>({1, 2, 3, 2},
                       {0.21796739f, -0.49927831f, 0.10755713f, -0.64781475f, 0.18556643f, -0.49597073f,
                        0.097734489f, -0.060996048f, -0.019875512f, -0.56445366f, 0.14354417f, -0.11073336f})
        .expect<float>({1, 2, 3, 4}, {0,      0.875f, 0.625f,  0,       0.375f,  0.375f,  0,       -0.125f,
                                      -0.75f, 0.375f, 0.875f,  -0.375f, -0.125f, -0.625f, -0.25f,  -0.5f,
                                      0.25f,  0.375f, -0.125f, -0.25f,  0.25f,   -0.875f, -0.625f, -0.375f})
        .expect<float>({1, 2, 3, 2},
                       {0.25f, -0.625f, 0, -1, 0.25f, 0.375f, 0.125f, 0.25f, -0.25f, -1, 0.5f, -0.125f})
        .expect<float>({1, 2, 3, 3}, mode < 2 ? products : products_and_mask);
  for (const int64_t mode : {0, 1, 2, 3})
    for (const int64_t queries : {2, 70}) {
      const std::string name =
          "scores of mode " + std::to_string(mode) + ", " + std::to_string(queries) + " tokens";
      const auto shown = [&](const std::string& what) -> OpCase& {
        return t.add("Attention", name + what)
            .attribute("qk_matmul_output_mode", mode)
            .attribute("softcap", 1.5f)
            .outputs_wanted(4);
      };
      // Keys in two blocks, the last of which a mask does not reach; heads that share keys.
      shown(" after a past, a mask")
          .random(DataType::float32, {2, queries, 4 * 20})
          .random(DataType::float32, {2, queries, 2 * 20})
          .random(DataType::float32, {2, queries, 2 * 9})
          .random(DataType::float32, {queries, 520 + queries})
          .random(DataType::float32, {2, 2, 530, 20})
          .random(DataType::float32, {2, 2, 530, 9})
          .attribute("q_num_heads", int64_t{4})
          .attribute("kv_num_heads", int64_t{2})
          .attribute("is_causal", int64_t{1});
      shown(", lengths and a window")
          .random(DataType::float32, {3, 1, queries, 16})
          .random(DataType::float32, {3, 1, 1100, 16})
          .random(DataType::float32, {3, 1, 1100, 8})
          .absent()
          .absent()
          .absent()
          .input<int64_t>({3}, {1090, 0, 700})
          .attribute("left_window_size", int64_t{40})
          .attribute("right_window_size", int64_t{3});
      shown(", values without elements")
          .random(DataType::float32, {1, 2, queries, 5})
          .random(DataType::float32, {1, 2, 33, 5})
          .random(DataType::float32, {1, 2, 33, 0})
          .input<bool>({1, 33}, std::vector<bool>(33, queries == 2));
    }
  t.add("Attention", "window to both sides")
      .input<float>({1, 1, 4, 2}, {-0.375f, 0.375f, 0.5f, 0, 0.125f, 0.375f, -0.375f, 0.875f})
      .input<float>({1, 1, 4, 2}, {0, 0.875f, 0.625f, 0, 0.375f, 0.375f, 0, -0.125f})
      .input<float>({1, 1, 4, 2}, {0.25f, -0.625f, 0, -1, 0.25f, 0.375f, 0.125f, 0.25f})
      .attribute("left_window_size", int64_t{1})
      .attribute("right_window_size", int64_t{1})
      .expect<float>({1, 1, 4, 2}, {0.14953659f, -0.77569509f, 0.15799168f, -0.42611286f, 0.12835506f,
                                    -0.12216885f, 0.1940361f, 0.3190361f});
  for (int64_t side : {int64_t{0}, INT64_MAX - 1, INT64_MAX})
    t.add("Attention", "a window as long as numbers go: " + std::to_string(side))
        .random(DataType::float32, {1, 2, 9, 8})
        .random(DataType::float32, {1, 2, 11, 8})
        .random(DataType::float32, {1, 2, 11, 8})
        .attribute("left_window_size", side == 0 ? INT64_MAX : side)
        .attribute("right_window_size", side);
  t.add("Attention", "float16")
      .random(DataType::float16, {1, 2, 4, 8})
      .random(DataType::float16, {1, 2, 4, 8})
      .random(DataType::float16, {1, 2, 4, 8});
  t.add("Attention", "bert")
      .random(DataType::float32, {1, 12, 64, 32})
      .random(DataType::float32, {1, 12, 64, 32})
      .random(DataType::float32, {1, 12, 64, 32});
  t.add("Attention", "one token")
      .random(DataType::float32, {1, 1, 256})
      .random(DataType::float32, {1, 1, 64})
      .random(DataType::float32, {1, 1, 64})
      .absent()
      .random(DataType::float32, {1, 2, 77, 32})
      .random(DataType::float32, {1, 2, 77, 32})
      .attribute("q_num_heads", int64_t{8})
      .attribute("kv_num_heads", int64_t{2})
      .attribute("is_causal", int64_t{1})
      .outputs_wanted(3);
  // Keys in two blocks, where the past ends in the second; heads that are apart, shared by queries.
  t.add("Attention", "few tokens after a past")
      .random(DataType::float32, {2, 3, 8 * 20})
      .random(DataType::float32, {2, 3, 2 * 20})
      .random(DataType::float32, {2, 3, 2 * 12})
      .absent()
      .random(DataType::float32, {2, 2, 600, 20})
      .random(DataType::float32, {2, 2, 600, 12})
      .attribute("q_num_heads", int64_t{8})
      .attribute("kv_num_heads", int64_t{2})
      .attribute("is_causal", int64_t{1})
      .outputs_wanted(3);
  t.add("Attention", "one token after a past that no cache holds")
      .random(DataType::float32, {1, 2, 1, 64})
      .random(DataType::float32, {1, 2, 1, 64})
      .random(DataType::float32, {1, 2, 1, 64})
      .random(DataType::float32, {1, 1202})
      .random(DataType::float32, {1, 2, 1201, 64})
      .random(DataType::float32, {1, 2, 1201, 64})
      .outputs_wanted(3);
  t.add("Attention", "what a window or a mask does not reach is kept")
      .random(DataType::float32, {1, 2, 2, 8})
      .random(DataType::float32, {1, 2, 2, 8})
      .random(DataType::float32, {1, 2, 2, 8})
      .random(DataType::float32, {2, 1190})
      .random(DataType::float32, {1, 2, 1200, 8})
      .random(DataType::float32, {1, 2, 1200, 8})
      .attribute("left_window_size", int64_t{60})
      .outputs_wanted(3);
  t.add("Attention", "no token after a past")
      .random(DataType::float32, {1, 2, 0, 8})
      .random(DataType::float32, {1, 2, 0, 8})
      .random(DataType::float32, {1, 2, 0, 8})
      .absent()
      .random(DataType::float32, {1, 2, 5, 8})
      .random(DataType::float32, {1, 2, 5, 8})
      .outputs_wanted(3);
  for (const int outputs : {1, 3})
    t.add("Attention", outputs == 1 ? "many tokens after a past" : "many tokens after a past that is kept")
        .random(DataType::float32, {1, 20, 4 * 8})
        .random(DataType::float32, {1, 20, 2 * 8})
        .random(DataType::float32, {1, 20, 2 * 24})
        .absent()
        .random(DataType::float32, {1, 2, 37, 8})
        .random(DataType::float32, {1, 2, 37, 24})
        .attribute("q_num_heads", int64_t{4})
        .attribute("kv_num_heads", int64_t{2})
        .attribute("is_causal", int64_t{1})
        .outputs_wanted(outputs);
  // Lengths beyond the keys and of 0, with windows and masks.
  for (const int64_t queries : {1, 3, 20})
    for (const DataType type : {DataType::float32, DataType::float16})
      t.add("Attention", "a cache with lengths, " + std::to_string(queries) + " new" +
                             (type == DataType::float16 ? ", float16" : ""))
          .random(type, {5, queries, 4 * 24})
          .random(type, {5, 600, 2 * 24})
          .random(type, {5, 600, 2 * 8})
          .random(type, {queries, 590})
          .absent()
          .absent()
          .input<int64_t>({5}, {30, 580, -7, 0, 9999})
          .attribute("q_num_heads", int64_t{4})
          .attribute("kv_num_heads", int64_t{2})
          .attribute("is_causal", int64_t{queries != 3})
          .attribute("left_window_size", int64_t{queries == 3 ? 40 : -1});
  t.add("RotaryEmbedding", "halves")
      .input<float>({1, 2, 3, 4}, {-0.375f, 0.375f, 0.5f,    0,     0.125f,  0.375f, -0.375f, 0.875f,
                                   -1,      1,      -0.875f, 0.5f,  -0.125f, 0.625f, -0.25f,  -0.375f,
                                   0.375f,  0.25f,  0.75f,   -0.5f, 0.125f,  -1,     0.625f,  0.125f})
      .input<float>({5, 2}, {-0.625f, 0.75f, 0.875f, -0.25f, 1, 0.125f, 0, -0.5f, -0.125f, 1})
      .input<float>({5, 2}, {0.25f, 0.125f, -0.625f, 0.25f, 0.625f, 0.875f, 0.25f, 1, -0.875f, 0.375f})
      .input<int64_t>({1, 3}, {0, 2, 4})
      .expect<float>({1, 2, 3, 4}, {0.109375f,  0.28125f,  -0.40625f,  0.046875f,  0.359375f, -0.71875f,
                                    -0.296875f, 0.4375f,   -0.640625f, 0.8125f,    0.984375f, 0.875f,
                                    0.140625f,  0.515625f, 0.125f,     -0.203125f, -0.09375f, 0.46875f,
                                    0.984375f,  0.15625f,  0.53125f,   -1.046875f, -0.1875f,  -0.25f});
  t.add("RotaryEmbedding", "interleaved")
      .input<float>({1, 2, 3, 4}, {-0.375f, 0.375f, 0.5f,    0,     0.125f,  0.375f, -0.375f, 0.875f,
                                   -1,      1,      -0.875f, 0.5f,  -0.125f, 0.625f, -0.25f,  -0.375f,
                                   0.375f,  0.25f,  0.75f,   -0.5f, 0.125f,  -1,     0.625f,  0.125f})
      .input<float>({5, 2}, {-0.625f, 0.75f, 0.875f, -0.25f, 1, 0.125f, 0, -0.5f, -0.125f, 1})
      .input<float>({5, 2}, {0.25f, 0.125f, -0.625f, 0.25f, 0.625f, 0.875f, 0.25f, 1, -0.875f, 0.375f})
      .input<int64_t>({1, 3}, {0, 2, 4})
      .attribute("interleaved", int64_t{1})
      .expect<float>({1, 2, 3, 4}, {0.140625f,  -0.328125f, 0.375f,     0.0625f,   -0.109375f, 0.453125f,
                                    -0.8125f,   -0.21875f,  1,          0.75f,     -1.0625f,   0.171875f,
                                    -0.078125f, -0.421875f, -0.140625f, -0.3125f,  0.21875f,   0.484375f,
                                    0.53125f,   0.59375f,   -0.890625f, 0.015625f, 0.578125f,  0.359375f});
  t.add("RotaryEmbedding", "part of the head")
      .input<float>({1, 2, 3, 6},
                    {-0.375f, 0.375f,  0.5f,   0,       0.125f, 0.375f, -0.375f, 0.875f,  -1,
                     1,       -0.875f, 0.5f,   -0.125f, 0.625f, -0.25f, -0.375f, 0.375f,  0.25f,
                     0.75f,   -0.5f,   0.125f, -1,      0.625f, 0.125f, 0.125f,  -0.125f, -0.875f,
                     -1,      0,       0.625f, 0.875f,  0.25f,  0,      -0.125f, -0.625f, -0.25f})
      .input<float>({5, 2}, {-0.625f, 0.75f, 0.875f, -0.25f, 1, 0.125f, 0, -0.5f, -0.125f, 1})
      .input<float>({5, 2}, {0.25f, 0.125f, -0.625f, 0.25f, 0.625f, 0.875f, 0.25f, 1, -0.875f, 0.375f})
      .input<int64_t>({1, 3}, {0, 2, 4})
      .attribute("rotary_embedding_dim", int64_t{4})
      .expect<float>({1, 2, 3, 6}, {0.109375f,  0.28125f,   -0.40625f,  0.046875f,  0.125f,  0.375f,
                                    0.25f,      -0.765625f, -1.234375f, 0.890625f,  -0.875f, 0.5f,
                                    -0.203125f, 0.765625f,  0.140625f,  -0.140625f, 0.375f,  0.25f,
                                    -0.5f,      -0.25f,     0.109375f,  -0.8125f,   0.625f,  0.125f,
                                    0.671875f,  0.859375f,  -0.796875f, -0.234375f, 0,       0.625f,
                                    -0.109375f, 0.296875f,  -0.765625f, -0.03125f,  -0.625f, -0.25f});
  t.add("RotaryEmbedding", "heads last, without positions")
      .input<float>({1, 3, 8}, {-0.375f, 0.375f, 0.5f,    0,     0.125f,  0.375f, -0.375f, 0.875f,
                                -1,      1,      -0.875f, 0.5f,  -0.125f, 0.625f, -0.25f,  -0.375f,
                                0.375f,  0.25f,  0.75f,   -0.5f, 0.125f,  -1,     0.625f,  0.125f})
      .input<float>({1, 3, 2}, {-0.625f, 0.75f, 0.875f, -0.25f, 1, 0.125f})
      .input<float>({1, 3, 2}, {0.25f, 0.125f, -0.625f, 0.25f, 0.625f, 0.875f})
      .attribute("num_heads", int64_t{2})
      .expect<float>({1, 3, 8}, {0.109375f,  0.28125f,  -0.40625f,  0.046875f,  0.015625f,  0.171875f,
                                 0.265625f,  0.703125f, -1.421875f, -0.375f,    -0.140625f, 0.125f,
                                 -0.265625f, -0.0625f,  -0.140625f, 0.25f,      -0.09375f,  0.46875f,
                                 0.984375f,  0.15625f,  -0.265625f, -0.234375f, 0.703125f,  -0.859375f});
  t.add("RotaryEmbedding", "float16")
      .random(DataType::float16, {1, 2, 3, 8})
      .random(DataType::float16, {1, 3, 4})
      .random(DataType::float16, {1, 3, 4});
  t.add("RotaryEmbedding", "llama")
      .random(DataType::float32, {1, 32, 512})
      .random(DataType::float32, {1, 32, 32})
      .random(DataType::float32, {1, 32, 32})
      .attribute("num_heads", int64_t{8});
}

}  // namespace lathe
