#include "ops/cases.h"

namespace lathe {

void cases_lstm(CaseTable& t);

void cases_rnn(CaseTable& t) {
  cases_lstm(t);
  const std::vector<float> x{0.75f, -0.375f, -0.875f, 0, 0, 0.125f, -0.125f, 0.625f, 0, -0.5f, 0.5f, -0.25f};
  const std::vector<float> h0{0.125f, -0.5f, 0.875f, -1};
  const std::vector<float> rnn_w{-0.375f, 0.375f, 0.5f, 0};
  const std::vector<float> rnn_r{0, 0.875f, 0.625f, 0};
  const std::vector<float> rnn_b{-0.875f, 0, -0.875f, -1};
  const std::vector<float> rnn_w_two_ways{-0.375f, 0.375f, 0.5f, 0, 0.125f, 0.375f, -0.375f, 0.875f};
  const std::vector<float> rnn_r_two_ways{0, 0.875f, 0.625f, 0, 0.375f, 0.375f, 0, -0.125f};
  const std::vector<float> rnn_b_two_ways{-0.875f, 0, -0.875f, -1, 0.75f, 0.25f, 0.25f, 0.5f};
  const std::vector<float> gru_w{-0.375f, 0.375f, 0.5f, 0, 0.125f,  0.375f,
                                 -0.375f, 0.875f, -1,   1, -0.875f, 0.5f};
  const std::vector<float> gru_r{0, 0.875f,  0.625f, 0,      0.375f, 0.375f,
                                 0, -0.125f, -0.75f, 0.375f, 0.875f, -0.375f};
  const std::vector<float> gru_b{-0.875f, 0,    -0.875f, -1,      0.75f,  0.25f,
                                 0.25f,   0.5f, -0.875f, -0.625f, 0.375f, -0.375f};
  const std::vector<float> gru_w_two_ways{-0.375f, 0.375f, 0.5f,    0,     0.125f,  0.375f, -0.375f, 0.875f,
                                          -1,      1,      -0.875f, 0.5f,  -0.125f, 0.625f, -0.25f,  -0.375f,
                                          0.375f,  0.25f,  0.75f,   -0.5f, 0.125f,  -1,     0.625f,  0.125f};
  const std::vector<float> gru_r_two_ways{
      0,       0.875f,  0.625f, 0,     0.375f, 0.375f, 0,       -0.125f, -0.75f, 0.375f,  0.875f,  -0.375f,
      -0.125f, -0.625f, -0.25f, -0.5f, 0.25f,  0.375f, -0.125f, -0.25f,  0.25f,  -0.875f, -0.625f, -0.375f};
  const std::vector<float> gru_b_two_ways{-0.875f, 0,       -0.875f, -1,      0.75f,  0.25f,  0.25f,   0.5f,
                                          -0.875f, -0.625f, 0.375f,  -0.375f, -0.25f, 0.125f, 1,       0,
                                          0.625f,  -0.875f, 0.625f,  0.5f,    0,      -0.5f,  -0.625f, -1};
  t.add("RNN", "forward")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 2, 2}, rnn_w)
      .input<float>({1, 2, 2}, rnn_r)
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {-0.39850885f, 0.35835743f, 0.31683505f, -0.41157007f, 0.34559965f, -0.24404234f,
                      -0.078710675f, 0.13469827f, -0.38083595f, 0.21270204f, -0.16195047f, 0.19814968f})
      .expect<float>({1, 2, 2}, {-0.38083595f, 0.21270204f, -0.16195047f, 0.19814968f});
  t.add("RNN", "bias and initial state")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 2, 2}, rnn_w)
      .input<float>({1, 2, 2}, rnn_r)
      .input<float>({1, 4}, rnn_b)
      .absent()
      .input<float>({1, 2, 2}, h0)
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {-0.9892301f, -0.49817443f, -0.97997284f, -0.71170229f, -0.97264028f, -0.92437267f,
                      -0.96995234f, -0.93220747f, -0.99179995f, -0.92284912f, -0.99328947f, -0.87551349f})
      .expect<float>({1, 2, 2}, {-0.99179995f, -0.92284912f, -0.99328947f, -0.87551349f});
  t.add("RNN", "reverse")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 2, 2}, rnn_w)
      .input<float>({1, 2, 2}, rnn_r)
      .input<float>({1, 4}, rnn_b)
      .attribute("direction", std::string("reverse"))
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {-0.99483579f, -0.84521616f, -0.97743422f, -0.9668175f, -0.98265761f, -0.921606f,
                      -0.96571863f, -0.9310683f, -0.95933527f, -0.76159418f, -0.96617019f, -0.635149f})
      .expect<float>({1, 2, 2}, {-0.99483579f, -0.84521616f, -0.97743422f, -0.9668175f});
  t.add("RNN", "bidirectional")
      .input<float>({3, 2, 2}, x)
      .input<float>({2, 2, 2}, rnn_w_two_ways)
      .input<float>({2, 2, 2}, rnn_r_two_ways)
      .input<float>({2, 4}, rnn_b_two_ways)
      .absent()
      .input<float>({2, 2, 2}, {0.125f, -0.5f, 0.875f, -1, 1, 0, 0.125f, -1})
      .attribute("direction", std::string("bidirectional"))
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 2, 2, 2},
                     {-0.9892301f,  -0.49817443f, -0.97997284f, -0.71170229f, 0.91279733f,  0.056077957f,
                      0.91510129f,  0.74903977f,  -0.97264028f, -0.92437267f, -0.96995234f, -0.93220747f,
                      0.899876f,    0.67590523f,  0.92086577f,  0.85889101f,  -0.99179995f, -0.92284912f,
                      -0.99328947f, -0.87551349f, 0.82980192f,  0.30270982f,  0.56532502f,  0.43718874f})
      .expect<float>({2, 2, 2}, {-0.99179995f, -0.92284912f, -0.99328947f, -0.87551349f, 0.91279733f,
                                 0.056077957f, 0.91510129f, 0.74903977f});
  t.add("RNN", "sequences of different lengths")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 2, 2}, rnn_w)
      .input<float>({1, 2, 2}, rnn_r)
      .input<float>({1, 4}, rnn_b)
      .input<int32_t>({2}, {3, 1})
      .input<float>({1, 2, 2}, h0)
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2}, {-0.9892301f, -0.49817443f, -0.97997284f, -0.71170229f, -0.97264028f,
                                    -0.92437267f, 0, 0, -0.99179995f, -0.92284912f, 0, 0})
      .expect<float>({1, 2, 2}, {-0.99179995f, -0.92284912f, -0.97997284f, -0.71170229f});
  t.add("RNN", "sequences of different lengths, both directions")
      .input<float>({3, 2, 2}, x)
      .input<float>({2, 2, 2}, rnn_w_two_ways)
      .input<float>({2, 2, 2}, rnn_r_two_ways)
      .input<float>({2, 4}, rnn_b_two_ways)
      .input<int32_t>({2}, {3, 1})
      .attribute("direction", std::string("bidirectional"))
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 2, 2, 2}, {-0.97435755f,
                                    -0.5545997f,
                                    -0.88998944f,
                                    -0.89319336f,
                                    0.91204631f,
                                    0.056077957f,
                                    0.71170235f,
                                    0.79250276f,
                                    -0.97518086f,
                                    -0.9230082f,
                                    0,
                                    0,
                                    0.88791895f,
                                    0.67590523f,
                                    0,
                                    0,
                                    -0.9917804f,
                                    -0.92308432f,
                                    0,
                                    0,
                                    0.6709671f,
                                    0.30270982f,
                                    0,
                                    0})
      .expect<float>({2, 2, 2}, {-0.9917804f, -0.92308432f, -0.88998944f, -0.89319336f, 0.91204631f,
                                 0.056077957f, 0.71170235f, 0.79250276f});
  t.add("RNN", "clipped")
      .input<float>({3, 2, 2}, {3, -1.5f, -3.5f, 0, 0, 0.5f, -0.5f, 2.5f, 0, -2, 2, -1})
      .input<float>({1, 2, 2}, rnn_w)
      .input<float>({1, 2, 2}, rnn_r)
      .input<float>({1, 4}, rnn_b)
      .attribute("clip", 0.5f)
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {-0.46211714f, 0.4621172f, -0.41157007f, -0.46211714f, -0.46211714f, -0.46211714f,
                      -0.46211714f, -0.46211714f, -0.46211714f, -0.46211714f, -0.46211714f, -0.28105134f})
      .expect<float>({1, 2, 2}, {-0.46211714f, -0.46211714f, -0.46211714f, -0.28105134f});
  t.add("RNN", "other activations")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 2, 2}, rnn_w)
      .input<float>({1, 2, 2}, rnn_r)
      .input<float>({1, 4}, rnn_b)
      .attribute("activations", std::vector<std::string>{"LeakyRelu"})
      .attribute("activation_alpha", std::vector<float>{0.25f})
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {-0.54296875f, -0.15625f, -0.35546875f, -0.359375f, -0.45996094f, -0.33483887f,
                      -0.44580078f, -0.32116699f, -0.557621f, -0.3218689f, -0.57806778f, -0.25715637f})
      .expect<float>({1, 2, 2}, {-0.557621f, -0.3218689f, -0.57806778f, -0.25715637f});
  t.add("RNN", "more activations")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 2, 2}, rnn_w)
      .input<float>({1, 2, 2}, rnn_r)
      .input<float>({1, 4}, rnn_b)
      .attribute("activations", std::vector<std::string>{"Affine"})
      .attribute("activation_alpha", std::vector<float>{0.5f})
      .attribute("activation_beta", std::vector<float>{0.25f})
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {-0.8359375f, -0.0625f, -0.4609375f, -0.46875f, -0.62890625f, -0.51123047f, -0.68945312f,
                      -0.42529297f, -0.94241333f, -0.4465332f, -0.95169067f, -0.3404541f})
      .expect<float>({1, 2, 2}, {-0.94241333f, -0.4465332f, -0.95169067f, -0.3404541f});
  t.add("RNN", "opset 1")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 2, 2}, rnn_w)
      .input<float>({1, 2, 2}, rnn_r)
      .input<float>({1, 4}, rnn_b)
      .attribute("output_sequence", int64_t{1})
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {-0.97435755f, -0.5545997f, -0.88998944f, -0.89319336f, -0.97518086f, -0.9230082f,
                      -0.97803891f, -0.9244417f, -0.9917804f, -0.92308432f, -0.99319798f, -0.8766883f})
      .expect<float>({1, 2, 2}, {-0.9917804f, -0.92308432f, -0.99319798f, -0.8766883f})
      .at_opset(1);
  t.add("RNN", "batch first")
      .input<float>({2, 3, 2},
                    {0.75f, -0.375f, 0, 0.125f, 0, -0.5f, -0.875f, 0, -0.125f, 0.625f, 0.5f, -0.25f})
      .input<float>({1, 2, 2}, rnn_w)
      .input<float>({1, 2, 2}, rnn_r)
      .input<float>({1, 4}, rnn_b)
      .absent()
      .input<float>({2, 1, 2}, h0)
      .attribute("layout", int64_t{1})
      .attribute("hidden_size", int64_t{2})
      .expect<float>({2, 3, 1, 2},
                     {-0.9892301f, -0.49817443f, -0.97264028f, -0.92437267f, -0.99179995f, -0.92284912f,
                      -0.97997284f, -0.71170229f, -0.96995234f, -0.93220747f, -0.99328947f, -0.87551349f})
      .expect<float>({2, 1, 2}, {-0.99179995f, -0.92284912f, -0.99328947f, -0.87551349f});
  t.add("RNN", "float16")
      .random(DataType::float16, {4, 1, 3})
      .random(DataType::float16, {1, 5, 3})
      .random(DataType::float16, {1, 5, 5})
      .outputs_wanted(2);
  t.add("RNN", "speech")
      .random(DataType::float32, {20, 1, 64})
      .random(DataType::float32, {1, 96, 64}, -0.2, 0.2)
      .as_constant()
      .random(DataType::float32, {1, 96, 96}, -0.2, 0.2)
      .as_constant()
      .random(DataType::float32, {1, 192})
      .as_constant()
      .attribute("hidden_size", int64_t{96})
      .outputs_wanted(2);
  t.add("RNN", "relu, both directions, lengths, a clip")
      .random(DataType::float32, {5, 3, 7})
      .random(DataType::float32, {2, 19, 7})
      .as_constant()
      .random(DataType::float32, {2, 19, 19}, -0.3, 0.3)
      .as_constant()
      .absent()
      .input<int32_t>({3}, {5, 2, 4})
      .random(DataType::float32, {2, 3, 19})
      .attribute("activations", std::vector<std::string>{"Relu", "Relu"})
      .attribute("clip", 2.0f)
      .attribute("direction", std::string("bidirectional"))
      .attribute("hidden_size", int64_t{19})
      .outputs_wanted(2);
  for (const auto& [one, other] :
       std::vector<std::pair<std::string, std::string>>{{"Relu", "ThresholdedRelu"},
                                                        {"Tanh", "ScaledTanh"},
                                                        {"Sigmoid", "HardSigmoid"},
                                                        {"Affine", "LeakyRelu"},
                                                        {"Elu", "Softsign"},
                                                        {"softplus", "TANH"}})
    t.add("RNN", one + " and back " + other)
        .random(DataType::float32, {5, 3, 7}, -2, 2)
        .random(DataType::float32, {2, 19, 7})
        .as_constant()
        .random(DataType::float32, {2, 19, 19}, -0.3, 0.3)
        .as_constant()
        .random(DataType::float32, {2, 38})
        .attribute("activations", std::vector<std::string>{one, other})
        .attribute("activation_alpha", std::vector<float>{0.75f, 0.25f})
        .attribute("activation_beta", std::vector<float>{0.5f})
        .attribute("direction", std::string("bidirectional"))
        .attribute("hidden_size", int64_t{19})
        .outputs_wanted(2);
  for (const int64_t linear : {0, 1})
    t.add("GRU", linear ? "other activations, linear before reset" : "other activations, batch first")
        .random(DataType::float32, {3, 5, 7})
        .random(DataType::float32, {2, 3 * 19, 7})
        .as_constant()
        .random(DataType::float32, {2, 3 * 19, 19}, -0.3, 0.3)
        .as_constant()
        .random(DataType::float32, {2, 6 * 19})
        .input<int32_t>({linear ? 5 : 3},
                        linear ? std::vector<int32_t>{3, 1, 2, 0, 3} : std::vector<int32_t>{5, 0, 2})
        .attribute("activations",
                   std::vector<std::string>{"HardSigmoid", "Softsign", "Sigmoid", "ScaledTanh"})
        .attribute("activation_alpha", std::vector<float>{0.25f, 0.75f})
        .attribute("clip", 0.75f)
        .attribute("direction", std::string("bidirectional"))
        .attribute("hidden_size", int64_t{19})
        .attribute("layout", 1 - linear)
        .attribute("linear_before_reset", linear)
        .outputs_wanted(2);
  t.add("GRU", "wide, reset first")  // threads share both phases of a step
      .random(DataType::float32, {5, 1, 24})
      .random(DataType::float32, {1, 3 * 216, 24}, -0.2, 0.2)
      .as_constant()
      .random(DataType::float32, {1, 3 * 216, 216}, -0.1, 0.1)
      .as_constant()
      .random(DataType::float32, {1, 6 * 216})
      .as_constant()
      .attribute("hidden_size", int64_t{216})
      .outputs_wanted(2);
  t.add("GRU", "forward")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 6, 2}, gru_w)
      .input<float>({1, 6, 2}, gru_r)
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {-0.48876262f, -0.28015992f, 0.29472315f, 0.39156491f, -0.096080445f, -0.15870146f,
                      0.40421286f, 0.42024335f, -0.30534023f, -0.20913401f, -0.12261364f, 0.11151206f})
      .expect<float>({1, 2, 2}, {-0.30534023f, -0.20913401f, -0.12261364f, 0.11151206f});
  t.add("GRU", "bias and initial state")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 6, 2}, gru_w)
      .input<float>({1, 6, 2}, gru_r)
      .input<float>({1, 12}, gru_b)
      .absent()
      .input<float>({1, 2, 2}, h0)
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {-0.0021578912f, -0.56491292f, 0.93185759f, -0.40843767f, 0.62277824f, -0.35989201f,
                      0.93318343f, -0.17592847f, 0.52763993f, -0.33574176f, 0.4144578f, -0.24055327f})
      .expect<float>({1, 2, 2}, {0.52763993f, -0.33574176f, 0.4144578f, -0.24055327f});
  t.add("GRU", "reverse")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 6, 2}, gru_w)
      .input<float>({1, 6, 2}, gru_r)
      .input<float>({1, 12}, gru_b)
      .attribute("direction", std::string("reverse"))
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {0.098519228f, -0.22054845f, 0.84299815f, 0.23779821f, 0.68266308f, -0.090702318f,
                      0.68885958f, -0.0019176602f, 0.38413903f, -0.13529451f, 0.25523368f, -0.19132935f})
      .expect<float>({1, 2, 2}, {0.098519228f, -0.22054845f, 0.84299815f, 0.23779821f});
  t.add("GRU", "bidirectional")
      .input<float>({3, 2, 2}, x)
      .input<float>({2, 6, 2}, gru_w_two_ways)
      .input<float>({2, 6, 2}, gru_r_two_ways)
      .input<float>({2, 12}, gru_b_two_ways)
      .absent()
      .input<float>({2, 2, 2}, {0.125f, -0.5f, 0.875f, -1, 1, 0, 0.125f, -1})
      .attribute("direction", std::string("bidirectional"))
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 2, 2, 2},
                     {-0.0021578912f, -0.56491292f, 0.93185759f, -0.40843767f, 0.61624157f, -0.69178891f,
                      0.17124411f,    -0.97068417f, 0.62277824f, -0.35989201f, 0.93318343f, -0.17592847f,
                      0.55607754f,    -0.58191895f, 0.17726681f, -0.9672215f,  0.52763993f, -0.33574176f,
                      0.4144578f,     -0.24055327f, 0.79229009f, -0.35715228f, 0.300033f,   -0.97259289f})
      .expect<float>({2, 2, 2}, {0.52763993f, -0.33574176f, 0.4144578f, -0.24055327f, 0.61624157f,
                                 -0.69178891f, 0.17124411f, -0.97068417f});
  t.add("GRU", "sequences of different lengths")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 6, 2}, gru_w)
      .input<float>({1, 6, 2}, gru_r)
      .input<float>({1, 12}, gru_b)
      .input<int32_t>({2}, {3, 1})
      .input<float>({1, 2, 2}, h0)
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2}, {-0.0021578912f, -0.56491292f, 0.93185759f, -0.40843767f, 0.62277824f,
                                    -0.35989201f, 0, 0, 0.52763993f, -0.33574176f, 0, 0})
      .expect<float>({1, 2, 2}, {0.52763993f, -0.33574176f, 0.93185759f, -0.40843767f});
  t.add("GRU", "sequences of different lengths, both directions")
      .input<float>({3, 2, 2}, x)
      .input<float>({2, 6, 2}, gru_w_two_ways)
      .input<float>({2, 6, 2}, gru_r_two_ways)
      .input<float>({2, 12}, gru_b_two_ways)
      .input<int32_t>({2}, {3, 1})
      .attribute("direction", std::string("bidirectional"))
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 2, 2, 2}, {0,
                                    -0.22011825f,
                                    0.55304176f,
                                    0.27383214f,
                                    0.35320917f,
                                    -0.6332562f,
                                    -0.041530412f,
                                    -0.29604444f,
                                    0.57700038f,
                                    -0.1548571f,
                                    0,
                                    0,
                                    0.14924768f,
                                    -0.51935399f,
                                    0,
                                    0,
                                    0.52502888f,
                                    -0.1941686f,
                                    0,
                                    0,
                                    0.22384034f,
                                    -0.29485941f,
                                    0,
                                    0})
      .expect<float>({2, 2, 2}, {0.52502888f, -0.1941686f, 0.55304176f, 0.27383214f, 0.35320917f, -0.6332562f,
                                 -0.041530412f, -0.29604444f});
  t.add("GRU", "clipped")
      .input<float>({3, 2, 2}, {3, -1.5f, -3.5f, 0, 0, 0.5f, -0.5f, 2.5f, 0, -2, 2, -1})
      .input<float>({1, 6, 2}, gru_w)
      .input<float>({1, 6, 2}, gru_r)
      .input<float>({1, 12}, gru_b)
      .attribute("clip", 0.5f)
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {-0.28764912f, -0.17446804f, 0.17446804f, 0.28764912f, 0.17904988f, -0.078107655f,
                      0.28306729f, 0.35938889f, -0.22005051f, -0.22308688f, -0.1807797f, 0.049236909f})
      .expect<float>({1, 2, 2}, {-0.22005051f, -0.22308688f, -0.1807797f, 0.049236909f});
  t.add("GRU", "other activations")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 6, 2}, gru_w)
      .input<float>({1, 6, 2}, gru_r)
      .input<float>({1, 12}, gru_b)
      .attribute("activations", std::vector<std::string>{"HardSigmoid", "Softsign"})
      .attribute("activation_alpha", std::vector<float>{0.25f})
      .attribute("hidden_size", int64_t{2})
      .attribute("activation_beta", std::vector<float>{0.5f})
      .expect<float>({3, 1, 2, 2},
                     {0, -0.13839285f, 0.3828125f, 0.18913691f, 0.37402141f, -0.10637891f, 0.52734596f,
                      0.21001266f, 0.37855268f, -0.15678504f, 0.33576667f, 0.072721191f})
      .expect<float>({1, 2, 2}, {0.37855268f, -0.15678504f, 0.33576667f, 0.072721191f});
  t.add("GRU", "more activations")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 6, 2}, gru_w)
      .input<float>({1, 6, 2}, gru_r)
      .input<float>({1, 12}, gru_b)
      .attribute("activations", std::vector<std::string>{"Sigmoid", "ThresholdedRelu"})
      .attribute("activation_alpha", std::vector<float>{0.25f})
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2}, {0, 0, 1.1473567f, 0.31030598f, 0.80079484f, 0, 1.4184644f, 0.36540049f,
                                    0.61128825f, 0, 0.50700551f, 0.30586347f})
      .expect<float>({1, 2, 2}, {0.61128825f, 0, 0.50700551f, 0.30586347f});
  t.add("GRU", "opset 1")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 6, 2}, gru_w)
      .input<float>({1, 6, 2}, gru_r)
      .input<float>({1, 12}, gru_b)
      .attribute("output_sequence", int64_t{1})
      .attribute("hidden_size", int64_t{2})
      .expect<float>({3, 1, 2, 2},
                     {0, -0.22011825f, 0.55304176f, 0.27383214f, 0.57700038f, -0.1548571f, 0.76053798f,
                      0.30191442f, 0.52502888f, -0.1941686f, 0.43695951f, 0.11693979f})
      .expect<float>({1, 2, 2}, {0.52502888f, -0.1941686f, 0.43695951f, 0.11693979f})
      .at_opset(3);
  t.add("GRU", "batch first")
      .input<float>({2, 3, 2},
                    {0.75f, -0.375f, 0, 0.125f, 0, -0.5f, -0.875f, 0, -0.125f, 0.625f, 0.5f, -0.25f})
      .input<float>({1, 6, 2}, gru_w)
      .input<float>({1, 6, 2}, gru_r)
      .input<float>({1, 12}, gru_b)
      .absent()
      .input<float>({2, 1, 2}, h0)
      .attribute("layout", int64_t{1})
      .attribute("hidden_size", int64_t{2})
      .expect<float>({2, 3, 1, 2},
                     {-0.0021578912f, -0.56491292f, 0.62277824f, -0.35989201f, 0.52763993f, -0.33574176f,
                      0.93185759f, -0.40843767f, 0.93318343f, -0.17592847f, 0.4144578f, -0.24055327f})
      .expect<float>({2, 1, 2}, {0.52763993f, -0.33574176f, 0.4144578f, -0.24055327f});
  t.add("GRU", "float16")
      .random(DataType::float16, {4, 1, 3})
      .random(DataType::float16, {1, 15, 3})
      .random(DataType::float16, {1, 15, 5})
      .outputs_wanted(2);
  t.add("GRU", "speech")
      .random(DataType::float32, {20, 1, 64})
      .random(DataType::float32, {1, 288, 64}, -0.2, 0.2)
      .as_constant()
      .random(DataType::float32, {1, 288, 96}, -0.2, 0.2)
      .as_constant()
      .random(DataType::float32, {1, 576})
      .as_constant()
      .attribute("hidden_size", int64_t{96})
      .outputs_wanted(2);
  t.add("GRU", "long, reverse")  // the inputs go through more than one product
      .random(DataType::float32, {103, 1, 8})
      .random(DataType::float32, {1, 3 * 216, 8}, -0.2, 0.2)
      .as_constant()
      .random(DataType::float32, {1, 3 * 216, 216}, -0.1, 0.1)
      .as_constant()
      .attribute("direction", std::string("reverse"))
      .attribute("hidden_size", int64_t{216})
      .outputs_wanted(2);
  t.add("GRU", "linear before reset")
      .input<float>({3, 2, 2}, x)
      .input<float>({1, 6, 2}, gru_w)
      .input<float>({1, 6, 2}, gru_r)
      .input<float>({1, 12}, gru_b)
      .attribute("hidden_size", int64_t{2})
      .attribute("linear_before_reset", int64_t{1})
      .expect<float>({3, 1, 2, 2},
                     {-0.23020151f, -0.16419028f, 0.53482908f, 0.35503617f, 0.41983491f, -0.0080839321f,
                      0.72528112f, 0.42597806f, 0.30376819f, -0.0056779007f, 0.26693717f, 0.26005718f})
      .expect<float>({1, 2, 2}, {0.30376819f, -0.0056779007f, 0.26693717f, 0.26005718f});
  t.add("GRU", "no steps")
      .input<float>({0, 2, 2}, {})
      .input<float>({1, 6, 2}, gru_w)
      .input<float>({1, 6, 2}, gru_r)
      .absent()
      .absent()
      .input<float>({1, 2, 2}, {0.25f, -0.625f, 0, -1})
      .attribute("hidden_size", int64_t{2})
      .expect<float>({0, 1, 2, 2}, {})
      .expect<float>({1, 2, 2}, {0.25f, -0.625f, 0, -1});
}

}  // namespace lathe
