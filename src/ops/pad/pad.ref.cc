#include "ops/pad/pad_bounds.h"

namespace lathe {
namespace {

/// The indices of the input that an axis's output positions read, or -1 for the constant.
std::pmr::vector<int64_t> pad_sources(const std::string& mode, int64_t size, int64_t begin, int64_t end,
                                      KernelContext& c) {
  std::pmr::vector<int64_t> from(static_cast<size_t>(plus(plus(size, begin), end)), c.scratch());
  Poller poll(c);
  if (mode == "constant") {
    for (size_t i = 0; i < from.size(); ++i) {
      poll.did(1);
      const int64_t at = begin < -size ? size : static_cast<int64_t>(i) - begin;
      from[i] = at >= 0 && at < size ? at : -1;
    }
    return from;
  }
  // The other modes repeat what negative pads leave.
  const auto cut = [&](int64_t pad) { return pad < -size ? size : std::max<int64_t>(0, -pad); };
  const int64_t first = cut(begin), left = size - first - cut(end);
  if (left <= 0 && !from.empty())
    c.fail(Code::run_bad_value, "elements to repeat in mode " + mode,
           "an axis of size " + std::to_string(size));
  for (size_t i = 0; i < from.size(); ++i) {
    poll.did(1);
    int64_t at = static_cast<int64_t>(i) - std::max<int64_t>(begin, 0);
    if (mode == "edge") {
      at = std::clamp<int64_t>(at, 0, left - 1);
    } else if (mode == "wrap") {
      at = mod(at, left);
    } else if (left == 1) {
      at = 0;
    } else {
      at = mod(at, 2 * (left - 1));
      at = std::min(at, 2 * (left - 1) - at);
    }
    from[i] = first + at;
  }
  return from;
}

void pad(const Pad& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  const auto [begin, end] = pad_bounds(c);
  Tensor& out = padded_output({begin, end}, c);
  if (out.size() == 0) return;
  const Shape strides = row_major(in.shape());
  IndexTables sources(c.scratch());
  Poller poll(c);
  for (size_t a = 0; a < in.rank(); ++a) {
    sources.push_back(pad_sources(op.mode, in.dim(a), begin[a], end[a], c));
    for (int64_t& at : sources[a]) {
      poll.did(1);
      if (at > 0) at *= strides[a];
    }
  }
  Tensor fill = in.type() == DataType::string ? Tensor(in.type(), {}) : temporary(c, in.type(), {});
  if (c.has(2) && c.in(2).size() > 0)
    fill = unpacked(c.in(2));
  else if (in.type() != DataType::string)
    std::memset(fill.data(), 0, fill.bytes());
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    copy_by_tables(from.data(), to.data(), out.shape(), sources, fill.as<T>()[0], c);
  });
}

}  // namespace

void reference_pad(KernelCatalog& k) { k.reference<Pad>("Pad", pad); }

}  // namespace lathe
