#include "ops/cases.h"

namespace lathe {

void cases_lstm(CaseTable& t) {
  const std::vector<float> x{0.75f, -0.375f, -0.875f, 0, 0, 0.125f, -0.125f, 0.625f, 0, -0.5f, 0.5f, -0.25f};
  const std::vector<float> h0{0.125f, -0.5f, 0.875f, -1};
  const std::vector<float> c0{1, 0.625f, 0.5f, -0.875f};
  const std::vector<float> lstm_w{-0.375f, 0.375f, 0.5f,    0,    0.125f,  0.375f, -0.375f, 0.875f,
                                  -1,      1,      -0.875f, 0.5f, -0.125f, 0.625f, -0.25f,  -0.375f};
  const std::vector<float> lstm_r{0,      0.875f, 0.625f, 0,       0.375f,  0.375f,  0,      -0.125f,
                                  -0.75f, 0.375f, 0.875f, -0.375f, -0.125f, -0.625f, -0.25f, -0.5f};
  const std::vector<float> lstm_b{-0.875f, 0,       -0.875f, -1,      0.75f,  0.25f,  0.25f, 0.5f,
                                  -0.875f, -0.625f, 0.375f,  -0.375f, -0.25f, 0.125f, 1,     0};
  const std::vector<float> lstm_w_two_ways{
      -0.375f, 0.375f,  0.5f,   0,       0.125f,  0.375f, -0.375f, 0.875f, -1,     1,      -0.875f,
      0.5f,    -0.125f, 0.625f, -0.25f,  -0.375f, 0.375f, 0.25f,   0.75f,  -0.5f,  0.125f, -1,
      0.625f,  0.125f,  0.125f, -0.125f, -0.875f, -1,     0,       0.625f, 0.875f, 0.25f};
  const std::vector<float> lstm_r_two_ways{
      0,       0.875f,  0.625f,  0,      0.375f, 0.375f, 0,      -0.125f, -0.75f, 0.375f, 0.875f,
      -0.375f, -0.125f, -0.625f, -0.25f, -0.5f,  0.25f,  0.375f, -0.125f, -0.25f, 0.25f,  -0.875f,
      -0.625f, -0.375f, -0.5f,   0.75f,  -0.25f, -0.75f, 1,      0.75f,   0.5f,   -0.5f};
  const std::vector<float> lstm_b_two_ways{-0.875f, 0,       -0.875f, -1,      0.75f,   0.25f,  0.25f,   0.5f,
                                           -0.875f, -0.625f, 0.375f,  -0.375f, -0.25f,  0.125f, 1,       0,
                                           0.625f,  -0.875f, 0.625f,  0.5f,    0,       -0.5f,  -0.625f, -1,
                                           0.25f,   1,       -0.5f,   0.875f,  -0.375f, 0,      -0.5f,   0};
  t.add("LSTM", "forward")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 8, 2}, lstm_w)
      .input<float>({1, 8, 2}, lstm_r)
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {-0.060954206f, -0.0097749317f, 0.029894f, 0.048992239f, -0.010755315f, -0.014287721f,
                      0.13724175f, -0.039626162f, -0.062770084f, 0.033400562f, -0.0070161754f, -0.020442186f})
      .expect<float>({1, 2, 2}, {-0.062770084f, 0.033400562f, -0.0070161754f, -0.020442186f})
      .expect<float>({1, 2, 2}, {-0.14010935f, 0.085245959f, -0.013995789f, -0.05102215f});
  t.add("LSTM", "bias and initial state")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 8, 2}, lstm_w)
      .input<float>({1, 8, 2}, lstm_r)
      .input<float>({1, 16}, lstm_b)
      .absent()
      .input<float>({1, 2, 2}, h0)
      .input<float>({1, 2, 2}, c0)
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {0.11114798f, 0.06424503f, 0.12381538f, -0.13354804f, 0.13898583f, 0.097989149f,
                      0.17930728f, -0.07920821f, 0.092667602f, 0.060332179f, 0.09731885f, 0.0088391993f})
      .expect<float>({1, 2, 2}, {0.092667602f, 0.060332179f, 0.09731885f, 0.0088391993f})
      .expect<float>({1, 2, 2}, {0.26749092f, 0.46538919f, 0.26264188f, 0.060877994f});
  t.add("LSTM", "reverse")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 8, 2}, lstm_w)
      .input<float>({1, 8, 2}, lstm_r)
      .input<float>({1, 16}, lstm_b)
      .attribute("direction", std::string("reverse"))
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {0.053411648f, 0.03275023f, 0.12992527f, 0.080192387f, 0.076166421f, 0.057948187f,
                      0.10510606f, 0.066286996f, 0.030840421f, 0.028765751f, 0.033157535f, 0.025402287f})
      .expect<float>({1, 2, 2}, {0.053411648f, 0.03275023f, 0.12992527f, 0.080192387f})
      .expect<float>({1, 2, 2}, {0.14212132f, 0.27980405f, 0.37003055f, 0.32114297f});
  t.add("LSTM", "bidirectional")
      .input<float>({3, 2, 2}, x)
      .input<float>({2, 8, 2}, lstm_w_two_ways)
      .input<float>({2, 8, 2}, lstm_r_two_ways)
      .input<float>({2, 16}, lstm_b_two_ways)
      .absent()
      .input<float>({2, 2, 2}, {0.125f, -0.5f, 0.875f, -1, 1, 0, 0.125f, -1})
      .input<float>({2, 2, 2}, {1, 0.625f, 0.5f, -0.875f, -0.125f, 0.625f, 1, -1})
      .attribute("direction", std::string("bidirectional"))
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 2, 2, 2},
                     {0.11114798f,  0.06424503f,   0.12381538f,  -0.13354804f,  -0.52235276f, -0.3840133f,
                      -0.37901405f, -0.4683795f,   0.13898583f,  0.097989149f,  0.17930728f,  -0.07920821f,
                      -0.31075653f, -0.33281043f,  -0.27810049f, -0.40658268f,  0.092667602f, 0.060332179f,
                      0.09731885f,  0.0088391993f, -0.23068847f, -0.025368595f, -0.28700459f, -0.43943965f})
      .expect<float>({2, 2, 2}, {0.092667602f, 0.060332179f, 0.09731885f, 0.0088391993f, -0.52235276f,
                                 -0.3840133f, -0.37901405f, -0.4683795f})
      .expect<float>({2, 2, 2}, {0.26749092f, 0.46538919f, 0.26264188f, 0.060877994f, -0.98532271f,
                                 -0.46026033f, -0.79152644f, -0.71858752f});
  t.add("LSTM", "sequences of different lengths")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 8, 2}, lstm_w)
      .input<float>({1, 8, 2}, lstm_r)
      .input<float>({1, 16}, lstm_b)
      .input<int32_t>({2}, {3, 1})
      .input<float>({1, 2, 2}, h0)
      .input<float>({1, 2, 2}, c0)
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2}, {0.11114798f, 0.06424503f, 0.12381538f, -0.13354804f, 0.13898583f,
                                    0.097989149f, 0, 0, 0.092667602f, 0.060332179f, 0, 0})
      .expect<float>({1, 2, 2}, {0.092667602f, 0.060332179f, 0.12381538f, -0.13354804f})
      .expect<float>({1, 2, 2}, {0.26749092f, 0.46538919f, 0.3797332f, -0.50915658f});
  t.add("LSTM", "sequences of different lengths, both directions")
      .input<float>({3, 2, 2}, x)
      .input<float>({2, 8, 2}, lstm_w_two_ways)
      .input<float>({2, 8, 2}, lstm_r_two_ways)
      .input<float>({2, 16}, lstm_b_two_ways)
      .input<int32_t>({2}, {3, 1})
      .attribute("direction", std::string("bidirectional"))
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 2, 2, 2}, {0.027207045f,
                                    0.02220438f,
                                    0.05941169f,
                                    0.040775817f,
                                    -0.54567391f,
                                    -0.44128415f,
                                    -0.23783553f,
                                    -0.2335909f,
                                    0.071364298f,
                                    0.055421181f,
                                    0,
                                    0,
                                    -0.38361734f,
                                    -0.46772256f,
                                    0,
                                    0,
                                    0.062821463f,
                                    0.046047982f,
                                    0,
                                    0,
                                    -0.35287547f,
                                    -0.35138559f,
                                    0,
                                    0})
      .expect<float>({2, 2, 2}, {0.062821463f, 0.046047982f, 0.05941169f, 0.040775817f, -0.54567391f,
                                 -0.44128415f, -0.23783553f, -0.2335909f})
      .expect<float>({2, 2, 2}, {0.18400481f, 0.34292603f, 0.17031443f, 0.15824305f, -1.0104742f,
                                 -0.53552759f, -0.51261955f, -0.34916994f});
  t.add("LSTM", "clipped")
      .input<float>({3, 2, 2}, {3, -1.5f, -3.5f, 0, 0, 0.5f, -0.5f, 2.5f, 0, -2, 2, -1})
      .input<float>({1, 8, 2}, lstm_w)
      .input<float>({1, 8, 2}, lstm_r)
      .input<float>({1, 16}, lstm_b)
      .attribute("clip", 0.5f)
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {-0.008895332f, 0.070307806f, 0.067709945f, 0.083661698f, 0.067839012f, 0.081805207f,
                      0.1695621f, -0.015845861f, 0.014284192f, 0.095155641f, 0.088923573f, 0.071993761f})
      .expect<float>({1, 2, 2}, {0.014284192f, 0.095155641f, 0.088923573f, 0.071993761f})
      .expect<float>({1, 2, 2}, {0.037852913f, 0.25759083f, 0.24004024f, 0.19305456f});
  t.add("LSTM", "other activations")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 8, 2}, lstm_w)
      .input<float>({1, 8, 2}, lstm_r)
      .input<float>({1, 16}, lstm_b)
      .attribute("activations", std::vector<std::string>{"HardSigmoid", "ScaledTanh", "Elu"})
      .attribute("activation_alpha", std::vector<float>{0.25f, 1.5f, 0.5f})
      .attribute("hidden_size", int64_t{2})
      .attribute("activation_beta", std::vector<float>{0.5f, 0.75f})
      .expect<float>({3, 1, 2, 2},
                     {0, 0.00083912292f, 0.058011051f, 0.041238498f, 0.032798238f, 0.054983057f, 0.13735217f,
                      0.06692221f, 0.022432648f, 0.017924961f, 0.052992351f, 0.015384736f})
      .expect<float>({1, 2, 2}, {0.022432648f, 0.017924961f, 0.052992351f, 0.015384736f})
      .expect<float>({1, 2, 2}, {0.06669347f, 0.39694953f, 0.1371657f, 0.29250669f});
  t.add("LSTM", "more activations")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 8, 2}, lstm_w)
      .input<float>({1, 8, 2}, lstm_r)
      .input<float>({1, 16}, lstm_b)
      .attribute("activations", std::vector<std::string>{"Sigmoid", "Softplus", "Relu"})
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {0.047133137f, 0.050010573f, 0.10870653f, 0.074455947f, 0.13049713f, 0.12733589f,
                      0.26297581f, 0.15201327f, 0.11640089f, 0.096571438f, 0.16266641f, 0.089510337f})
      .expect<float>({1, 2, 2}, {0.11640089f, 0.096571438f, 0.16266641f, 0.089510337f})
      .expect<float>({1, 2, 2}, {0.32655746f, 0.69763446f, 0.39949358f, 0.63115263f});
  t.add("LSTM", "opset 1")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 8, 2}, lstm_w)
      .input<float>({1, 8, 2}, lstm_r)
      .input<float>({1, 16}, lstm_b)
      .attribute("output_sequence", int64_t{1})
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {0.027207045f, 0.02220438f, 0.05941169f, 0.040775817f, 0.071364298f, 0.055421181f,
                      0.13189012f, 0.061178446f, 0.062821463f, 0.046047982f, 0.084290564f, 0.036228295f})
      .expect<float>({1, 2, 2}, {0.062821463f, 0.046047982f, 0.084290564f, 0.036228295f})
      .expect<float>({1, 2, 2}, {0.18400481f, 0.34292603f, 0.22119787f, 0.25859061f})
      .at_opset(1);
  t.add("LSTM", "batch first")
      .input<float>({2, 3, 2},
                    {0.75f, -0.375f, 0, 0.125f, 0, -0.5f, -0.875f, 0, -0.125f, 0.625f, 0.5f, -0.25f})
      .input<float>({1, 8, 2}, lstm_w)
      .input<float>({1, 8, 2}, lstm_r)
      .input<float>({1, 16}, lstm_b)
      .absent()
      .input<float>({2, 1, 2}, h0)
      .input<float>({2, 1, 2}, c0)
      .attribute("layout", int64_t{1})
      .attribute("hidden_size", int64_t{2})
      .expect<float>({2, 3, 1, 2},
                     {0.11114798f, 0.06424503f, 0.13898583f, 0.097989149f, 0.092667602f, 0.060332179f,
                      0.12381538f, -0.13354804f, 0.17930728f, -0.07920821f, 0.09731885f, 0.0088391993f})
      .expect<float>({2, 1, 2}, {0.092667602f, 0.060332179f, 0.09731885f, 0.0088391993f})
      .expect<float>({2, 1, 2}, {0.26749092f, 0.46538919f, 0.26264188f, 0.060877994f});
  t.add("LSTM", "float16")
      .random(DataType::float16, {4, 1, 3})
      .random(DataType::float16, {1, 20, 3})
      .random(DataType::float16, {1, 20, 5})
      .outputs_wanted(3);
  t.add("LSTM", "speech")
      .random(DataType::float32, {20, 1, 64})
      .random(DataType::float32, {1, 384, 64}, -0.2, 0.2)
      .as_constant()
      .random(DataType::float32, {1, 384, 96}, -0.2, 0.2)
      .as_constant()
      .random(DataType::float32, {1, 768})
      .as_constant()
      .attribute("hidden_size", int64_t{96})
      .outputs_wanted(3);
  t.add("LSTM", "wide, lengths")  // threads share a step
      .random(DataType::float32, {7, 2, 24})
      .random(DataType::float32, {1, 4 * 192, 24}, -0.2, 0.2)
      .as_constant()
      .random(DataType::float32, {1, 4 * 192, 192}, -0.1, 0.1)
      .as_constant()
      .absent()
      .input<int32_t>({2}, {7, 3})
      .attribute("hidden_size", int64_t{192})
      .outputs_wanted(3);
  t.add("LSTM", "long, both directions")  // the inputs go through more than one product
      .random(DataType::float32, {70, 2, 8})
      .random(DataType::float32, {2, 4 * 192, 8}, -0.2, 0.2)
      .as_constant()
      .random(DataType::float32, {2, 4 * 192, 192}, -0.1, 0.1)
      .as_constant()
      .random(DataType::float32, {2, 8 * 192})
      .as_constant()
      .attribute("direction", std::string("bidirectional"))
      .attribute("hidden_size", int64_t{192})
      .outputs_wanted(3);
  t.add("LSTM", "peepholes")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 8, 2}, lstm_w)
      .input<float>({1, 8, 2}, lstm_r)
      .input<float>({1, 16}, lstm_b)
      .absent()
      .absent()
      .absent()
      .input<float>({1, 6}, {0.375f, -0.25f, -0.75f, -0.625f, -0.625f, 0.5f})
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {0.026253378f, 0.020035002f, 0.054593071f, 0.037862416f, 0.0661612f, 0.048781954f,
                      0.11654099f, 0.056338411f, 0.057492662f, 0.038257431f, 0.074980825f, 0.031653613f})
      .expect<float>({1, 2, 2}, {0.057492662f, 0.038257431f, 0.074980825f, 0.031653613f})
      .expect<float>({1, 2, 2}, {0.18544558f, 0.34337696f, 0.21934833f, 0.26002243f});
  for (const int64_t coupled : {0, 1})
    t.add("LSTM", coupled ? "wide, coupled, other activations" : "wide, peepholes, other activations")
        .random(DataType::float32, {5, 2, 24})
        .random(DataType::float32, {2, 4 * 195, 24}, -0.2, 0.2)
        .as_constant()
        .random(DataType::float32, {2, 4 * 195, 195}, -0.1, 0.1)
        .as_constant()
        .random(DataType::float32, {2, 8 * 195})
        .absent()
        .absent()
        .random(DataType::float32, {2, 2, 195})
        .random(DataType::float32, {2, 3 * 195})
        .attribute("activations",
                   std::vector<std::string>{"Sigmoid", "Softsign", "Elu", "HardSigmoid", "Tanh", "Affine"})
        .attribute("activation_alpha", std::vector<float>{0.5f, 0.25f, 0.75f})
        .attribute("activation_beta", std::vector<float>{0.5f, -0.25f})
        .attribute("direction", std::string("bidirectional"))
        .attribute("hidden_size", int64_t{195})
        .attribute("input_forget", coupled)
        .outputs_wanted(3);
  t.add("LSTM", "nothing gets through a clip of 0")
      .random(DataType::float32, {3, 2, 4})
      .random(DataType::float32, {1, 20, 4})
      .as_constant()
      .random(DataType::float32, {1, 20, 5})
      .as_constant()
      .attribute("clip", 0.0f)
      .attribute("hidden_size", int64_t{5})
      .outputs_wanted(3);
  t.add("LSTM", "coupled input and forget gates")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 8, 2}, lstm_w)
      .input<float>({1, 8, 2}, lstm_r)
      .input<float>({1, 16}, lstm_b)
      .attribute("hidden_size", int64_t{2})
      .attribute("input_forget", int64_t{1})
      .expect<float>({3, 1, 2, 2},
                     {0.027207045f, 0.02220438f, 0.05941169f, 0.040775817f, 0.076854058f, 0.056799125f,
                      0.13428168f, 0.059270147f, 0.089801162f, 0.049699981f, 0.13664617f, 0.038326573f})
      .expect<float>({1, 2, 2}, {0.089801162f, 0.049699981f, 0.13664617f, 0.038326573f})
      .expect<float>({1, 2, 2}, {0.26574567f, 0.37266281f, 0.36865616f, 0.27424902f});
}

}  // namespace lathe
