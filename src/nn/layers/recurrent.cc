#include "lathe/nn/layers.h"
#include "nn/access.h"

namespace lathe::nn {
namespace {

/// PyTorch's gates in ONNX's order.
const std::vector<size_t> lstm_gates{0, 3, 1, 2};  // i f g o → i o f c
const std::vector<size_t> gru_gates{1, 0, 2};      // r z n → z r h

TensorRef reordered(const Ops& o, const TensorRef& w, int64_t hidden, const std::vector<size_t>& order) {
  const std::vector<TensorRef> gates = o.split(w, std::vector<int64_t>(order.size(), hidden), 0);
  std::vector<TensorRef> wanted;
  for (size_t i : order) wanted.push_back(gates[i]);
  return o.concat(wanted, 0);
}

}  // namespace

Recurrent::Recurrent(Kind kind, int64_t in, int64_t hidden, const RecurrentOptions& o)
    : kind_(kind), hidden_(hidden), options_(o) {
  const int64_t gates = kind == Kind::lstm ? 4 : 3, directions = o.bidirectional ? 2 : 1;
  for (int64_t layer = 0; layer < o.layers; ++layer)
    for (int64_t d = 0; d < directions; ++d) {
      Direction w;
      w.weight_ih = Parameter(DataType::float32, {gates * hidden, layer ? directions * hidden : in});
      w.weight_hh = Parameter(DataType::float32, {gates * hidden, hidden});
      if (o.bias) {
        w.bias_ih = Parameter(DataType::float32, {gates * hidden});
        w.bias_hh = Parameter(DataType::float32, {gates * hidden});
      }
      weights.push_back(std::move(w));
    }
}

void Recurrent::fields(Fields& f) {
  const size_t directions = options_.bidirectional ? 2 : 1;
  for (size_t i = 0; i < weights.size(); ++i) {
    const std::string end = "_l" + std::to_string(i / directions) + (i % directions ? "_reverse" : "");
    f("weight_ih" + end, weights[i].weight_ih);
    f("weight_hh" + end, weights[i].weight_hh);
    f("bias_ih" + end, weights[i].bias_ih);
    f("bias_hh" + end, weights[i].bias_hh);
  }
}

RecurrentResult Recurrent::operator()(const TensorRef& given, const TensorRef& hidden,
                                      const TensorRef& cell) const {
  const Ops o(*this, given);
  const bool lstm = kind_ == Kind::lstm;
  if (!lstm && cell) throw detail::fault(Code::bad_argument, "Gru", "no cell state", "one");
  if (lstm && !hidden != !cell)
    throw detail::fault(Code::bad_argument, "Lstm", "a hidden state and a cell state, or neither",
                        "one of them");
  const std::vector<size_t>& order = lstm ? lstm_gates : gru_gates;
  const int64_t directions = options_.bidirectional ? 2 : 1;
  TensorRef x = options_.batch_first ? o.transpose(given, {1, 0, 2}) : given;
  std::vector<TensorRef> last_hidden, last_cell;
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    std::vector<TensorRef> w, r, b;
    for (int64_t d = 0; d < directions; ++d) {
      const Direction& p = weights[static_cast<size_t>(layer * directions + d)];
      auto gates = [&](const Parameter& q) { return reordered(o, o.use(q), hidden_, order); };
      w.push_back(o.unsqueeze(gates(p.weight_ih), {0}));
      r.push_back(o.unsqueeze(gates(p.weight_hh), {0}));
      if (options_.bias) b.push_back(o.unsqueeze(o.concat({gates(p.bias_ih), gates(p.bias_hh)}, 0), {0}));
    }
    auto all = [&](const std::vector<TensorRef>& parts) {
      return parts.empty() ? TensorRef() : parts.size() == 1 ? parts[0] : o.concat(parts, 0);
    };
    auto first = [&](const TensorRef& states) {
      return !states || options_.layers == 1
                 ? states
                 : o.slice(states, 0, layer * directions, (layer + 1) * directions);
    };
    Attributes a{{"hidden_size", hidden_},
                 {"direction", std::string(directions == 2 ? "bidirectional" : "forward")}};
    if (!lstm) a.emplace_back("linear_before_reset", int64_t{1});
    std::vector<TensorRef> inputs{x, all(w), all(r), all(b), TensorRef(), first(hidden)};
    if (lstm) inputs.push_back(first(cell));
    const std::vector<TensorRef> y = o.ops(lstm ? "LSTM" : "GRU", inputs, lstm ? 3 : 2, a);
    x = directions == 1 ? o.squeeze(y[0], {1})
                        : o.reshape(o.transpose(y[0], {0, 2, 1, 3}), {0, 0, 2 * hidden_});
    last_hidden.push_back(y[1]);
    if (lstm) last_cell.push_back(y[2]);
  }
  auto stacked = [&](const std::vector<TensorRef>& states) {
    return states.size() == 1 ? states[0] : o.concat(states, 0);
  };
  return {options_.batch_first ? o.transpose(x, {1, 0, 2}) : x, stacked(last_hidden),
          lstm ? stacked(last_cell) : TensorRef()};
}

}  // namespace lathe::nn
