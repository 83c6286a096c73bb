// The derivative of Dropout.
#include <string>

#include "gradient/terms.h"

namespace lathe {
namespace {

/// y = x * mask / (1 - ratio) in training; else itself.
void dropout(Backward& b) {
  const Tensor* training = b.constant(b.x(2));
  if (training && training->size() != 1) b.refuse("one training_mode", std::to_string(training->size()));
  if (!b.has(2) || (training && !training->as<bool>()[0])) return b.give(0, b.gradient());
  if (b.node().outputs.size() < 2 || b.y(1) == no_id || !training)
    b.refuse("Dropout with a constant training_mode, and its mask among its outputs", "one without");
  const Term g{&b, b.gradient()};
  const Term kept = b.has(1) ? 1 - Term{&b, b.add("CastLike", {b.x(1), g.id})} : as_term(g, 0.5);
  b.give(0, (g * as_number({&b, b.y(1)}, g) / kept).id);
}

}  // namespace

void gradient_dropout(GradientTable& t) { t["Dropout"] = dropout; }

}  // namespace lathe
