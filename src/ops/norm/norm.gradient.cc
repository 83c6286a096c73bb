// Derivatives of normalizations.
#include <cstdint>
#include <string>
#include <vector>

#include "gradient/terms.h"

namespace lathe {
namespace {

/// LayerNormalization and RMSNormalization: the normalized input is computed again; its derivative is the
/// scaled gradient, less its components along the mean (`centered`) and along the result itself.
void normalization(Backward& b, bool centered) {
  for (size_t i = 1; i < b.node().outputs.size(); ++i)
    if (b.gradient(i) != no_id) b.refuse("the first output only", "output " + std::to_string(i));
  const auto rank = static_cast<int64_t>(b.rank(b.x()));
  const int64_t a = b.attributes().get<int64_t>("axis", -1);
  if (a < -rank || a >= rank) b.refuse("an axis of the input", std::to_string(a));
  std::vector<int64_t> axes;
  for (int64_t k = a < 0 ? a + rank : a; k < rank; ++k) axes.push_back(k);
  const auto mean = [&](Term v) {
    return Term{&b, b.add("ReduceMean", {v.id, b.ints(axes)}, with("keepdims", int64_t{1}))};
  };
  const Term x{&b, b.x(0)}, g{&b, b.gradient()}, scale{&b, b.x(1)};
  const Term from = centered ? x - mean(x) : x;
  const Term deviation = call("Sqrt", double{b.attributes().get("epsilon", 1e-5f)} + mean(from * from));
  const Term normal = from / deviation;
  if (b.wants(0)) {
    const Term scaled = g * scale;
    const Term across = scaled - normal * mean(scaled * normal);
    b.give(0, ((centered ? across - mean(scaled) : across) / deviation).id);
  }
  if (b.wants(1)) b.give_broadcast(1, (g * normal).id);
  if (b.wants(2)) b.give_broadcast(2, g.id);
}
void layer_normalization(Backward& b) { normalization(b, true); }
void rms_normalization(Backward& b) { normalization(b, false); }

/// BatchNormalization with given statistics.
void batch_normalization(Backward& b) {
  if (b.attributes().get<int64_t>("training_mode", 0) != 0)
    b.refuse("statistics that are given", "training_mode");
  if (b.wants(3) || b.wants(4)) b.refuse("statistics that do not depend on xs", "some that do");
  if (b.rank(b.x()) < 2) b.refuse("channels in axis 1", "an input of rank " + std::to_string(b.rank(b.x())));
  std::vector<int64_t> column(b.rank(b.x()) - 1, 1), others{0};
  column[0] = -1;
  for (int64_t k : spatial_axes(b)) others.push_back(k);
  const auto per_channel = [&](ValueId v) { return Term{&b, b.add("Reshape", {v, b.ints(column)})}; };
  const auto over_others = [&](Term v) {
    return b.add("ReduceSum", {v.id, b.ints(others)}, with("keepdims", int64_t{0}));
  };
  const Term g{&b, b.gradient()};
  const Term deviation = call("Sqrt", double{b.attributes().get("epsilon", 1e-5f)} + per_channel(b.x(4)));
  if (b.wants(0)) b.give(0, (g * (per_channel(b.x(1)) / deviation)).id);
  if (b.wants(1)) b.give(1, over_others(g * ((Term{&b, b.x(0)} - per_channel(b.x(3))) / deviation)));
  if (b.wants(2)) b.give(2, over_others(g));
}

}  // namespace

void gradient_norm(GradientTable& t) {
  t["LayerNormalization"] = layer_normalization;
  t["RMSNormalization"] = rms_normalization;
  t["BatchNormalization"] = batch_normalization;
}

}  // namespace lathe
