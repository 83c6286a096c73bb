#include "ops/strings/strings.h"

#include <set>

#include "ops/elementwise/lanes.h"
#include "ops/poller.h"
#include "ops/strings/letter_case.h"

namespace lathe {
namespace {

/// Removes stop words first; if nothing is left, the result is one empty string.
void normalize_strings(const StringNormalizer& op, KernelContext& c) {
  const auto in = c.in(0).as<std::string>();
  std::set<std::string, std::less<>> stop;
  Poller poll(c);
  const CaseRules rules = case_rules(op.locale).value_or(CaseRules::root);
  for (const std::string& w : op.stopwords)
    stop.insert(op.is_case_sensitive ? w : lower_case(w, rules, poll));
  std::vector<std::string> kept;
  for (size_t i = 0; i < in.size(); ++i) {
    poll.did(256 + static_cast<int64_t>(in[i].size()));
    if (!stop.empty() && stop.count(op.is_case_sensitive ? in[i] : lower_case(in[i], rules, poll))) continue;
    kept.push_back(op.case_change_action == "LOWER"   ? lower_case(in[i], rules, poll)
                   : op.case_change_action == "UPPER" ? upper_case(in[i], rules, poll)
                                                      : in[i]);
  }
  if (kept.empty()) kept.emplace_back();
  Shape shape{static_cast<int64_t>(kept.size())};
  if (c.in(0).rank() == 2) shape = Shape{1, static_cast<int64_t>(kept.size())};
  std::move(kept.begin(), kept.end(), c.out(0, DataType::string, shape).as<std::string>().begin());
}

void concat_strings(const StringConcat&, KernelContext& c) {
  Tensor& out = c.out(0);
  const Shape* shapes[] = {&c.in(0).shape(), &c.in(1).shape()};
  const BroadcastRows rows(c, out.shape(), shapes);
  const std::string* a = c.in(0).as<std::string>().data();
  const std::string* b = c.in(1).as<std::string>().data();
  std::string* to = out.as<std::string>().data();
  c.parallel(out.size(), 1024, [&](int64_t begin, int64_t end) {
    Poller poll(c);
    rows.each(begin, end, [&](int64_t at, const int64_t* from, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        to[at + i] = a[from[0] + i * rows.step(0)] + b[from[1] + i * rows.step(1)];
        poll.did(64 + static_cast<int64_t>(to[at + i].size()));
      }
    });
  });
}

constexpr std::string_view white_space = " \t\n\v\f\r";

/// Pieces between runs of white space; the last one is all the rest once there were `max_splits` splits.
std::vector<std::string> split_at_space(std::string_view s, size_t max_splits, Poller& poll) {
  std::vector<std::string> pieces;
  for (;;) {
    s.remove_prefix(std::min(s.find_first_not_of(white_space), s.size()));
    if (s.empty()) return pieces;
    size_t end = std::min(s.find_first_of(white_space), s.size());
    if (pieces.size() == max_splits) end = s.find_last_not_of(white_space) + 1;
    poll.did(64 + static_cast<int64_t>(end));
    pieces.emplace_back(s.substr(0, end));
    s.remove_prefix(pieces.size() > max_splits ? s.size() : end);
  }
}

std::vector<std::string> split_at(std::string_view s, std::string_view delimiter, size_t max_splits,
                                  Poller& poll) {
  std::vector<std::string> pieces;
  for (size_t end; pieces.size() < max_splits && (end = s.find(delimiter)) != s.npos;) {
    poll.did(64 + static_cast<int64_t>(end));
    pieces.emplace_back(s.substr(0, end));
    s.remove_prefix(end + delimiter.size());
  }
  pieces.emplace_back(s);
  return pieces;
}

void split_strings(const StringSplit& op, KernelContext& c) {
  const auto in = c.in(0).as<std::string>();
  const size_t max_splits = op.maxsplit && *op.maxsplit >= 0 ? static_cast<size_t>(*op.maxsplit) : SIZE_MAX;
  std::vector<std::vector<std::string>> all;
  size_t longest = 0;
  Poller poll(c);
  for (size_t i = 0; i < in.size(); ++i) {
    poll.did(256);
    all.push_back(op.delimiter.empty() ? split_at_space(in[i], max_splits, poll)
                                       : split_at(in[i], op.delimiter, max_splits, poll));
    longest = std::max(longest, all.back().size());
  }
  if (c.wants(0)) {
    Shape shape = c.in(0).shape();
    shape.push_back(static_cast<int64_t>(longest));
    const auto pieces = c.out(0, DataType::string, shape).as<std::string>();
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t k = 0; k < longest; ++k) {
        poll.did(64);
        pieces[i * longest + k] = k < all[i].size() ? std::move(all[i][k]) : std::string();
      }
  }
  if (c.wants(1))
    for (size_t i = 0; i < all.size(); ++i) c.out(1).as<int64_t>()[i] = static_cast<int64_t>(all[i].size());
}

}  // namespace

void reference_strings(KernelCatalog& k) {
  k.reference<StringNormalizer>("StringNormalizer", normalize_strings);
  k.reference<StringConcat>("StringConcat", concat_strings);
  k.reference<StringSplit>("StringSplit", split_strings);
}

}  // namespace lathe
