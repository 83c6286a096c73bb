// The activation functions of RNN, GRU and LSTM.
#pragma once

#include <cstdint>

namespace lathe {

enum class RecurrentFunction : uint8_t {
  relu,
  tanh,
  sigmoid,
  affine,
  leaky_relu,
  thresholded_relu,
  scaled_tanh,
  hard_sigmoid,
  elu,
  softsign,
  softplus
};
struct RecurrentActivation {
  RecurrentFunction function = RecurrentFunction::tanh;
  float alpha = 0, beta = 0;
  bool operator==(const RecurrentActivation&) const = default;
};

}  // namespace lathe
