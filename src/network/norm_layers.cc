// Norms and softmax.
#include "network/maker.h"

namespace lathe {

Layer Network::add_normalization(const TensorRef& x, const TensorRef& scale, const TensorRef& bias,
                                 NormalizationType type, const NormalizationOptions& o) {
  LayerMaker m(*this, "normalization", o.name);
  m.made_by("add_normalization", x, scale, bias, type, o);
  const ValueId v = m.use(x), s = m.use(scale), b = m.use_if(bias);
  Attrs a;
  a.with("epsilon", o.epsilon);
  switch (type) {
    case NormalizationType::layer:
      return m.finish(m.op("LayerNormalization", {v, s, b}, a.number("axis", o.axis)));
    case NormalizationType::rms:
      if (b != no_id)
        m.fail(Code::node_bad_arity, "no bias of an RMS norm", "one", "add it with add_elementwise");
      return m.finish(m.op("RMSNormalization", {v, s}, a.number("axis", o.axis)));
    case NormalizationType::instance:
      return m.finish(m.op("InstanceNormalization", {v, s, b}, a));
    case NormalizationType::group:
      return m.finish(m.op("GroupNormalization", {v, s, b}, a.number("num_groups", o.groups)));
  }
  m.fail(Code::bad_argument, "a NormalizationType", std::to_string(static_cast<int>(type)));
}

Layer Network::add_softmax(const TensorRef& x, const SoftmaxOptions& o) {
  LayerMaker m(*this, "softmax", o.name);
  m.made_by("add_softmax", x, o);
  return m.finish(m.op("Softmax", {m.use(x)}, Attrs().number("axis", o.axis)));
}

Layer Network::add_ragged_softmax(const TensorRef& x, const TensorRef& lengths, const std::string& name) {
  LayerMaker m(*this, "ragged_softmax", name);
  m.made_by("add_ragged_softmax", x, lengths, m.name());
  const ValueId v = m.use(x);
  const size_t rank = m.rank(v);
  if (rank == 0) m.fail(Code::node_bad_shape, "rows", "a scalar");
  ValueId n = m.op("Cast", {m.use(lengths)}, Attrs().type("to", DataType::int64));
  if (m.rank(n) + 1 == rank) n = m.op("Unsqueeze", {n, m.ints({-1})});
  if (m.rank(n) != rank || !(m.shape(n).back() == Dim(1)))
    m.fail(Code::node_bad_shape, "one length for every row of " + lathe::describe(m.shape(v)),
           "lengths of shape " + lathe::describe(m.shape(n)));
  const ValueId width = m.op("Squeeze", {m.size_of_axis(v, rank - 1), m.ints({0})});
  const ValueId position = m.op("Range", {m.integer(0), width, m.integer(1)});
  const ValueId inside = m.op("Less", {position, n});
  const ValueId nothing = m.scalar(m.type(v), -std::numeric_limits<double>::infinity());
  const ValueId soft = m.op("Softmax", {m.op("Where", {inside, v, nothing})}, Attrs().number("axis", -1));
  // A row of length 0 is 0 / 0 there.
  return m.finish(m.op("Where", {inside, soft, m.scalar(m.type(v), 0)}));
}

}  // namespace lathe
