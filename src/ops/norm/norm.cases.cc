#include <cmath>
#include <string>

#include "ops/cases.h"

namespace lathe {

void cases_norm(CaseTable& t) {
  t.add("BatchNormalization", "many images without pixels")
      .input<float>({int64_t{1} << 50, 2, 0}, {})
      .input<float>({2}, {1, 2})
      .input<float>({2}, {1, 2})
      .input<float>({2}, {1, 2})
      .input<float>({2}, {1, 2})
      .expect<float>({int64_t{1} << 50, 2, 0}, {});
  t.add("BatchNormalization", "4-d")
      .input<float>({2, 2, 1, 3}, {-2, -3, 1, -3, -3, -3, 0, 1, -1, -2, -1, -3})
      .input<float>({2}, {-3, 2})
      .input<float>({2}, {2, 0})
      .input<float>({2}, {-3, 2})
      .input<float>({2}, {2, 3})
      .expect<float>({2, 2, 1, 3}, {-0.121315f, 2, -6.48526f, -5.7734928f, -5.7734928f, -5.7734928f,
                                    -4.363945f, -6.48526f, -2.24263f, -4.6187944f, -3.4640958f, -5.7734928f});
  t.add("BatchNormalization", "2-d")
      .input<float>({3, 2}, {1, -2, 3, 0, 0, 1})
      .input<float>({2}, {-3, 2})
      .input<float>({2}, {2, 0})
      .input<float>({2}, {-3, 2})
      .input<float>({2}, {2, 3})
      .attribute("epsilon", 0.5f)
      .expect<float>({3, 2}, {-5.5894661f, -4.2761798f, -9.3841991f, -2.1380899f, -3.6920996f, -1.0690449f});
  t.add("BatchNormalization", "training")
      .input<float>({2, 2, 1, 3}, {-2, -3, 1, -3, -3, -3, 0, 1, -1, -2, -1, -3})
      .input<float>({2}, {0, 3})
      .input<float>({2}, {2, 0})
      .input<float>({2}, {-3, 2})
      .input<float>({2}, {2, 3})
      .attribute("training_mode", int64_t{1})
      .attribute("momentum", 0.75f)
      .expect<float>({2, 2, 1, 3}, {2, 2, 2, -1.9639435f, -1.9639435f, -1.9639435f, 2, 2, 2, 1.9639444f,
                                    5.8918328f, -1.9639435f})
      .expect<float>({2}, {-2.4166667f, 0.875f})
      .expect<float>({2}, {2.0555556f, 2.3958333f});
  for (const int opset : {9, 6, 1}) {
    OpCase& c = t.add("BatchNormalization", "opset " + std::to_string(opset) + " for inference")
                    .input<float>({2, 2, 1, 3}, {-2, -3, 1, -3, -3, -3, 0, 1, -1, -2, -1, -3})
                    .input<float>({2}, {-3, 2})
                    .input<float>({2}, {2, 0})
                    .input<float>({2}, {-3, 2})
                    .input<float>({2}, {2, 3})
                    .expect<float>({2, 2, 1, 3},
                                   {-0.121315f, 2, -6.48526f, -5.7734928f, -5.7734928f, -5.7734928f,
                                    -4.363945f, -6.48526f, -2.24263f, -4.6187944f, -3.4640958f, -5.7734928f})
                    .at_opset(opset);
    if (opset < 7) c.attribute("is_test", int64_t{1});
    if (opset < 6) c.attribute("consumed_inputs", std::vector<int64_t>{0, 0, 0, 1, 1});
  }
  t.add("BatchNormalization", "opset 7 for each activation")
      .input<float>({2, 2, 2}, {0, 0, 3, 2, -2, -1, 0, 0})
      .input<float>({2, 2}, {2, 3, 4, 1})
      .input<float>({2, 2}, {2, 0, 1, -3})
      .input<float>({2, 2}, {-3, 2, -3, 3})
      .input<float>({2, 2}, {2, 3, 4, 1})
      .attribute("spatial", int64_t{0})
      .expect<float>({2, 2, 2}, {6.24263f, -3.4640958f, 12.999986f, -3.9999948f, 3.4142101f, -5.1961436f,
                                 6.9999928f, -5.9999847f})
      .at_opset(7);
  t.add("BatchNormalization", "float16")
      .random(DataType::float16, {1, 4, 6, 6})
      .random(DataType::float16, {4})
      .random(DataType::float16, {4})
      .random(DataType::float16, {4})
      .random(DataType::float16, {4}, 0.5, 2);
  t.add("BatchNormalization", "resnet")
      .random(DataType::float32, {1, 64, 28, 28})
      .random(DataType::float32, {64})
      .as_constant()
      .random(DataType::float32, {64})
      .as_constant()
      .random(DataType::float32, {64})
      .as_constant()
      .random(DataType::float32, {64}, 0.5, 2)
      .as_constant();
  t.add("InstanceNormalization", "many images without pixels")
      .input<float>({int64_t{1} << 50, 2, 0}, {})
      .input<float>({2}, {1, 2})
      .input<float>({2}, {1, 2})
      .expect<float>({int64_t{1} << 50, 2, 0}, {});
  t.add("InstanceNormalization", "4-d")
      .input<float>({2, 2, 2, 2}, {0, -1, 1, -1, -2, 1, 0, 3, -1, -3, 3, -3, 2, -1, -1, 0})
      .input<float>({2}, {-3, 2})
      .input<float>({2}, {-1, -3})
      .expect<float>({2, 2, 2, 2}, {-1.9045274f, 1.7135823f, -5.5226374f, 1.7135823f, -5.7734966f,
                                    -2.4453006f, -3.5546994f, -0.22650337f, -1, 1.4494877f, -5.8989754f,
                                    1.4494877f, 0.26597548f, -4.632988f, -4.632988f, -3});
  t.add("InstanceNormalization", "3-d")
      .input<float>({1, 2, 5}, {0, -1, 1, -1, -2, 1, 0, 3, -1, -3})
      .input<float>({2}, {-3, 2})
      .input<float>({2}, {-1, -3})
      .attribute("epsilon", 0.01f)
      .expect<float>({1, 2, 5}, {-2.7566204f, 0.17107987f, -5.6843204f, 0.17107987f, 3.0987802f, -2.0012476f,
                                 -3, -0.0037429333f, -3.9987524f, -5.9962568f});
  t.add("InstanceNormalization", "opset 1")
      .input<float>({1, 2, 5}, {0, -1, 1, -1, -2, 1, 0, 3, -1, -3})
      .input<float>({2}, {-3, 2})
      .input<float>({2}, {-1, -3})
      .expect<float>({1, 2, 5}, {-2.7650368f, 0.17669106f, -5.7067647f, 0.17669106f, 3.1184189f, -2.0000012f,
                                 -3, -3.5762787e-06f, -3.9999988f, -5.9999962f})
      .at_opset(1);
  t.add("InstanceNormalization", "style")
      .random(DataType::float32, {1, 16, 32, 32})
      .random(DataType::float32, {16})
      .random(DataType::float32, {16});
  t.add("LayerNormalization", "rows of nothing")
      .input<float>({2, 0}, {})
      .input<float>({0}, {})
      .expect<float>({2, 0}, {})
      .expect<float>({2, 1}, {NAN, NAN})
      .expect<float>({2, 1}, {NAN, NAN});
  t.add("LayerNormalization", "last axis")
      .input<float>({2, 4}, {-2, 2, 1, -3, -2, 0, 1, -2})
      .input<float>({4}, {-1, 3, 2, -2})
      .input<float>({4}, {0, 1, -2, -2})
      .expect<float>({2, 4}, {0.72760606f, 4.6380301f, -0.54478788f, 0.42535353f, 0.96224755f, 2.7320457f,
                              0.69429326f, -0.075504899f})
      .expect<float>({2, 1}, {-0.49999997f, -0.75f})
      .expect<float>({2, 1}, {0.48507071f, 0.76979804f});
  t.add("LayerNormalization", "two axes, no bias")
      .input<float>({2, 2, 3}, {-3, 2, 1, 2, -3, 1, 0, 0, 2, 3, 2, -2})
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .attribute("axis", int64_t{1})
      .attribute("epsilon", 0.1f)
      .expect<float>({2, 2, 3}, {0, 0.91605723f, -0.91605723f, -1.8321145f, -2.7481716f, -0.45802861f, 0,
                                 -0.48888212f, -1.3688701f, -2.5421872f, 1.3688701f, 1.6621993f})
      .expect<float>({2, 1, 1}, {1.4901161e-08f, 0.83333331f})
      .expect<float>({2, 1, 1}, {0.45802861f, 0.5866586f});
  t.add("LayerNormalization", "scale broadcasts")
      .input<float>({2, 2, 3}, {-3, 2, 1, 2, -3, 1, 0, 0, 2, 3, 2, -2})
      .input<float>({3}, {-1, -3, -2})
      .input<float>({1}, {0})
      .attribute("axis", int64_t{1})
      .expect<float>({2, 2, 3}, {1.3887286f, -2.7774572f, -0.9258191f, -0.9258191f, 4.1661859f, -0.9258191f,
                                 0.49751768f, 1.492553f, -1.3930496f, -1.2935461f, -2.0895743f, 3.3831201f});
  t.add("LayerNormalization", "one element")
      .input<float>({3, 1}, {0, 3, 2})
      .input<float>({1}, {2})
      .input<float>({1}, {5})
      .expect<float>({3, 1}, {5, 5, 5});
  t.add("LayerNormalization", "float16")
      .random(DataType::float16, {3, 33})
      .random(DataType::float16, {33})
      .random(DataType::float16, {33});
  t.add("LayerNormalization", "bert")
      .random(DataType::float32, {1, 128, 384})
      .random(DataType::float32, {384})
      .as_constant()
      .random(DataType::float32, {384})
      .as_constant();
  t.add("GroupNormalization", "two groups")
      .input<float>({1, 4, 2, 2}, {0, 3, -3, -2, 3, -3, 2, 1, 0, -1, -2, 0, 3, 0, 2, 1})
      .input<float>({4}, {-1, 3, 2, -2})
      .input<float>({4}, {-1, -3, -2, 0})
      .attribute("num_groups", int64_t{2})
      .expect<float>({1, 4, 2, 2},
                     {-0.94722205f, -2.2138925f, 0.31944847f, -0.1027751f, 0.64167786f, -6.9583454f,
                      -0.62499285f, -1.8916633f, -2.501744f, -3.8397284f, -5.1777124f, -2.501744f,
                      -3.5122087f, 0.50174409f, -2.1742244f, -0.83624017f});
  t.add("GroupNormalization", "one group")
      .input<float>({2, 3, 2}, {0, -3, 1, 3, -2, 3, -1, 1, -1, -3, 2, -3})
      .input<float>({3}, {-1, -3, -2})
      .input<float>({3}, {-1, -3, -2})
      .attribute("num_groups", int64_t{1})
      .expect<float>({2, 3, 2},
                     {-0.85413516f, 0.45864844f, -3.8751891f, -6.5007567f, 0.042107821f, -4.3338375f,
                      -0.91055739f, -1.9838685f, -2.7316723f, 0.48826146f, -5.041048f, 0.32550764f});
  t.add("GroupNormalization", "opset 18 scales groups")
      .input<float>({1, 4, 3}, {-1, 0, -3, 2, 3, -2, 3, -1, -1, -3, -3, -1})
      .input<float>({2}, {-3, 2})
      .input<float>({2}, {-1, -3})
      .attribute("num_groups", int64_t{2})
      .expect<float>({1, 4, 3}, {0.18216419f, -1.2364328f, 3.0193582f, -4.073627f, -5.4922242f, 1.6007614f,
                                 0.99999523f, -3, -3, -4.9999976f, -4.9999976f, -3})
      .at_opset(18);
  t.add("GroupNormalization", "unet")
      .random(DataType::float32, {1, 32, 16, 16})
      .random(DataType::float32, {32})
      .random(DataType::float32, {32})
      .attribute("num_groups", int64_t{8});
  t.add("RMSNormalization", "last axis")
      .input<float>({2, 4}, {-2, 2, 1, -3, -2, 0, 1, -2})
      .input<float>({4}, {-1, 3, 2, -2})
      .expect<float>({2, 4},
                     {0.94280803f, 2.828424f, 0.94280803f, 2.828424f, 1.3333304f, 0, 1.3333304f, 2.6666608f});
  t.add("RMSNormalization", "two axes")
      .input<float>({2, 2, 3}, {-3, 2, 1, 2, -3, 1, 0, 0, 2, 3, 2, -2})
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .attribute("axis", int64_t{1})
      .attribute("epsilon", 0.1f)
      .expect<float>({2, 2, 3}, {0, 0.91605723f, -0.91605723f, -1.8321145f, -2.7481718f, -0.45802861f, 0, 0,
                                 -2.1081853f, -3.1622779f, 2.1081853f, 1.0540926f});
  t.add("RMSNormalization", "llama")
      .random(DataType::float32, {1, 32, 256})
      .random(DataType::float32, {256})
      .as_constant();
  t.add("SimplifiedLayerNormalization", "both outputs")
      .input<float>({2, 4}, {-2, 2, 1, -3, -2, 0, 1, -2})
      .input<float>({4}, {-1, 3, 2, -2})
      .expect<float>({2, 4},
                     {0.94280797f, 2.828424f, 0.94280797f, 2.828424f, 1.3333304f, 0, 1.3333304f, 2.6666608f})
      .expect<float>({2, 1}, {0.47140399f, 0.6666652f});
  t.add("LRN", "odd size")
      .input<float>({1, 5, 1, 2}, {2, 1, 1, -3, 1, 3, 3, 0, 1, -3})
      .attribute("size", int64_t{3})
      .attribute("alpha", 0.5f)
      .attribute("beta", 0.75f)
      .attribute("bias", 2.0f)
      .expect<float>({1, 5, 1, 2}, {0.91581285f, 0.37739524f, 0.43869135f, -0.87541389f, 0.36502075f,
                                    0.89720929f, 1.0950623f, 0, 0.37739524f, -1.1723849f});
  t.add("LRN", "even size")
      .input<float>({1, 5, 2}, {-2, 3, 3, -2, -3, 2, 3, 1, 1, 1})
      .attribute("size", int64_t{4})
      .attribute("alpha", 0.5f)
      .expect<float>({1, 5, 2}, {-0.7421754f, 1.276391f, 0.91440856f, -0.8262614f, -0.97098356f, 1.0886621f,
                                 1.2048026f, 0.65723616f, 0.54433107f, 0.84589702f});
  t.add("LRN", "size beyond the channels")
      .input<float>({1, 3, 2}, {-1, -3, -1, -3, 3, -1})
      .attribute("size", int64_t{99})
      .expect<float>({1, 3, 2},
                     {-0.99999166f, -2.9999568f, -0.99999166f, -2.9999568f, 2.999975f, -0.99998564f});
  t.add("LRN", "alexnet").random(DataType::float32, {1, 96, 13, 13}, -20, 20).attribute("size", int64_t{5});
  t.add("LpNormalization", "2-norm")
      .input<float>({2, 2}, {3, 4, 0, 0})
      .expect<float>({2, 2}, {0.60000002f, 0.80000001f, 0, 0});
  t.add("LpNormalization", "1-norm of columns")
      .input<float>({2, 2}, {1, -2, 3, 2})
      .attribute("p", int64_t{1})
      .attribute("axis", int64_t{0})
      .expect<float>({2, 2}, {0.25f, -0.5f, 0.75f, 0.5f});
  t.add("MeanVarianceNormalization", "channels")
      .input<float>({2, 2, 2, 2}, {0, -1, 1, -1, -2, 1, 0, 3, -1, -3, 3, -3, 2, -1, -1, 0})
      .expect<float>({2, 2, 2, 2},
                     {0.33482477f, -0.20089486f, 0.87054437f, -0.20089486f, -1.4411534f, 0.48038447f,
                      -0.16012815f, 1.7614096f, -0.20089486f, -1.2723341f, 1.9419836f, -1.2723341f,
                      1.1208971f, -0.80064076f, -0.80064076f, -0.16012815f});
  t.add("MeanVarianceNormalization", "one axis")
      .input<float>({3, 4}, {-2, -3, 0, -2, 2, 1, -2, -1, -3, 2, 1, -3})
      .attribute("axes", std::vector<int64_t>{-1})
      .expect<float>(
          {3, 4}, {-0.22941573f, -1.1470786f, 1.6059102f, -0.22941573f, 1.2649111f, 0.63245553f, -1.2649111f,
                   -0.63245553f, -0.98787832f, 1.2074069f, 0.76834983f, -0.98787832f});
  t.add("LpNormalization", "along the middle")
      .input<float>({2, 3, 2}, {3, 3.75f, 3, 0.25f, -2.25f, -4, -0.5f, -0.75f, 0.25f, -0.25f, 0.5f, 0.25f})
      .attribute("axis", int64_t{1})
      .expect<float>({2, 3, 2},
                     {0.624695063f, 0.683231294f, 0.624695063f, 0.045548752f, -0.468521297f, -0.728780031f,
                      -0.666666687f, -0.904534042f, 0.333333343f, -0.301511347f, 0.666666687f, 0.301511347f});
  t.add("MeanVarianceNormalization", "of a batch")
      .input<float>({2, 2, 2, 2}, {-4, 0, 0, -3, -2.75f, -2.25f, -0.75f, -2, -3.25f, -1.25f, -2.75f, 3, 3.5f,
                                   -3.75f, 1.5f, 0.5f})
      .expect<float>({2, 2, 2, 2},
                     {-1.19217932f, 0.646362305f, 0.646362305f, -0.732543945f, -0.878114104f, -0.658585548f,
                      0, -0.54882127f, -0.84745276f, 0.0718180314f, -0.617635071f, 2.02526855f, 1.86599243f,
                      -1.3171711f, 0.987878323f, 0.54882127f});
}

}  // namespace lathe
