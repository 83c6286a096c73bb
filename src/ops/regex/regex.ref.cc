#include "ops/regex/regex.h"

#include "ops/poller.h"

namespace lathe {
namespace {

void match(const RegexFullMatch& op, KernelContext& c) {
  const Pattern& pattern = op.compiled->get({&op.pattern, 1})[0];
  const std::string* from = c.in(0).as<std::string>().data();
  bool* to = c.out(0).as<bool>().data();
  c.parallel(c.in(0).size(), 256, [&](int64_t begin, int64_t end) {
    Poller poll(c);
    for (int64_t i = begin; i < end; ++i) {
      to[i] = pattern.matches(from[i]);
      poll.did(256 + 16 * static_cast<int64_t>(from[i].size()));
    }
  });
}

}  // namespace

void reference_regex(KernelCatalog& k) {
  k.reference<RegexFullMatch>("RegexFullMatch", match);
  k.needs("RegexFullMatch", "regex");
}

}  // namespace lathe
