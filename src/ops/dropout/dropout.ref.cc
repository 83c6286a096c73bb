#include "ops/dropout/dropout.h"

#include <random>

#include "kernel/lean_reference.h"
#include "ops/movement.h"
#include "ops/random_numbers.h"

namespace lathe {
namespace {

/// The specification's own generator is NumPy's: MT19937, two draws for each double.
class NumpyUniform {
 public:
  explicit NumpyUniform(uint32_t seed) : generator_(seed) {}
  double next() {
    const uint64_t high = generator_() >> 5, low = generator_() >> 6;
    return static_cast<double>(high * 67108864 + low) / 9007199254740992.0;
  }

 private:
  std::mt19937 generator_;
};

void dropout(const Dropout& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  const bool training = c.has(2) && c.in(2).size() > 0 && c.in(2).as<bool>()[0];
  const double ratio = c.has(1) && c.in(1).size() > 0 ? load_double(c.in(1), 0) : 0.5;
  bool* mask = c.wants(1) ? c.out(1).as<bool>().data() : nullptr;
  if (!training || ratio == 0) {
    copy_elements(x, y, c);
    if (mask) Poller(c).fill(mask, x.size(), true);
    return;
  }
  if (!(ratio > 0 && ratio < 1)) c.fail(Code::run_bad_value, "a ratio in [0, 1)", std::to_string(ratio));
  NumpyUniform random(static_cast<uint32_t>(op.seed ? static_cast<uint64_t>(*op.seed) : fresh_seed()));
  Poller poll(c);
  for (int64_t i = 0; i < x.size(); ++i) {
    const bool keep = random.next() >= ratio;
    store_double(y, i, keep ? load_double(x, i) / (1 - ratio) : 0.0);
    if (mask) mask[i] = keep;
    poll.did(16);
  }
}

}  // namespace

void reference_dropout(KernelCatalog& k) { lean_reference<Dropout>(k, "Dropout", dropout); }

}  // namespace lathe
