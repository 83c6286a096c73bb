#include "ops/pad/pad.h"

#include "ops/movement.h"

namespace lathe {
namespace {

/// Where an axis's output positions read from: an index of the input, or -1 for the constant.
std::vector<int64_t> pad_sources(const std::string& mode, int64_t size, int64_t begin, int64_t end,
                                 KernelContext& c) {
  std::vector<int64_t> from(static_cast<size_t>(plus(plus(size, begin), end)));
  if (mode == "constant") {
    for (size_t i = 0; i < from.size(); ++i) {
      const int64_t at = minus(static_cast<int64_t>(i), begin);
      from[i] = at >= 0 && at < size ? at : -1;
    }
    return from;
  }
  // What negative pads leave is what the others repeat.
  const int64_t first = begin < 0 ? minus(0, begin) : 0;
  const int64_t left = minus(size, plus(first, end < 0 ? minus(0, end) : 0));
  if (left <= 0 && !from.empty())
    c.fail(Code::run_bad_value, "elements to repeat in mode " + mode,
           "an axis of size " + std::to_string(size));
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t at = minus(static_cast<int64_t>(i), std::max<int64_t>(begin, 0));
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
  const size_t rank = in.rank();
  std::vector<int64_t> begin(rank, 0), end(rank, 0);
  const int64_t n = c.has(3) ? c.in(3).size() : static_cast<int64_t>(rank);
  if (c.in(1).size() != 2 * n)
    c.fail(Code::run_bad_shape, std::to_string(2 * n) + " pads", std::to_string(c.in(1).size()));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t named = c.has(3) ? load_int(c.in(3), i) : i;
    const auto axis = static_cast<size_t>(checked_index(c, named, static_cast<int64_t>(rank)));
    begin[axis] = load_int(c.in(1), i);
    end[axis] = load_int(c.in(1), n + i);
  }
  Shape shape(rank);
  for (size_t a = 0; a < rank; ++a) shape[a] = plus(plus(in.dim(a), begin[a]), end[a]);
  Tensor& out = c.out(0, in.type(), shape);
  if (out.size() == 0) return;
  const Shape strides = row_major(in.shape());
  std::vector<std::vector<int64_t>> sources;
  for (size_t a = 0; a < rank; ++a) {
    sources.push_back(pad_sources(op.mode, in.dim(a), begin[a], end[a], c));
    for (int64_t& at : sources[a])
      if (at > 0) at *= strides[a];
  }
  Tensor fill(in.type(), {});
  if (c.has(2) && c.in(2).size() > 0)
    fill = unpacked(c.in(2));
  else if (in.type() != DataType::string)
    std::memset(fill.data(), 0, fill.bytes());
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    copy_by_tables(from.data(), to.data(), shape, sources, fill.as<T>()[0], c);
  });
}

}  // namespace

void reference_pad(KernelCatalog& k) { k.reference<Pad>("Pad", pad); }

}  // namespace lathe
