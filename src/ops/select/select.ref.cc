#include "ops/select/select.h"

#include <numeric>

#include "ops/select/slices.h"

namespace lathe {
namespace {

constexpr Types<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                uint32_t, uint64_t, bool, std::complex<float>, std::complex<double>, std::string>
    selectable_types;

template <class T>
bool is_zero_element(const T& v) {
  if constexpr (std::is_same_v<T, std::string>)
    return v.empty();
  else
    return Element<T>::load(v) == Compute<T>(0);
}

void nonzero(const NonZero&, KernelContext& c) {
  const Tensor& in = c.in(0);
  std::pmr::vector<int64_t> found(c.scratch());
  Poller poll(c);
  for_type(in.type(), selectable_types, [&]<class T> {
    for (int64_t i = 0; i < in.size(); ++i) {
      poll.did(1);
      if (!is_zero_element(in.as<T>()[static_cast<size_t>(i)])) found.push_back(i);
    }
  });
  const auto n = static_cast<int64_t>(found.size());
  Tensor& out = c.out(0, DataType::int64, {static_cast<int64_t>(in.rank()), n});
  const Shape strides = row_major(in.shape());
  for (size_t a = 0; a < in.rank(); ++a) {
    int64_t* row = out.as<int64_t>().data() + static_cast<int64_t>(a) * n;
    for (int64_t i = 0; i < n; ++i) {
      poll.did(1);
      row[i] = found[static_cast<size_t>(i)] / strides[a] % in.dim(a);
    }
  }
}

/// Output 0: the slices of these indices.
void take_slices(const Tensor& in, const std::optional<int64_t>& axis, const std::pmr::vector<int64_t>& which,
                 KernelContext& c) {
  const PickedSlices s(in, axis);
  Tensor& out = c.out(0, in.type(), PickedSlices::shape(in, axis, static_cast<int64_t>(which.size())));
  if (out.size() == 0) return;
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    Poller poll(c);
    T* at = to.data();
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t i : which) {
        poll.copy(from.data() + (o * s.count + i) * s.inner, s.inner, at);
        at += s.inner;
      }
  });
}

void compress(const Compress& op, KernelContext& c) {
  const PickedSlices s(c.in(0), op.axis);
  const Tensor& condition = c.in(1);
  std::pmr::vector<int64_t> which(c.scratch());
  Poller poll(c);
  for (int64_t i = 0; i < condition.size(); ++i) {
    poll.did(1);
    if (condition.as<bool>()[static_cast<size_t>(i)]) {
      if (i >= s.count)
        c.fail(Code::run_bad_index, "a condition that is true within " + std::to_string(s.count) + " slices",
               std::to_string(i));
      which.push_back(i);
    }
  }
  take_slices(c.in(0), op.axis, which, c);
}

template <class T>
int compare_elements(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, std::string>) {
    return a.compare(b);
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    const int real = compare_elements(a.real(), b.real());
    return real ? real : compare_elements(a.imag(), b.imag());
  } else {
    const auto x = Element<T>::load(a), y = Element<T>::load(b);
    if (x != x || y != y) return (x != x) - (y != y);  // NaN after all numbers, equal to itself
    return x < y ? -1 : x > y;
  }
}

template <class T>
int compare_slices(const T* data, const PickedSlices& s, int64_t a, int64_t b, Poller& poll) {
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t i = 0; i < s.inner; ++i) {
      poll.did(1);
      const int order =
          compare_elements(data[(o * s.count + a) * s.inner + i], data[(o * s.count + b) * s.inner + i]);
      if (order) return order;
    }
  return 0;
}

void write_list(KernelContext& c, size_t output, const std::pmr::vector<int64_t>& list) {
  if (!c.wants(output)) return;
  Tensor& out = c.out(output, DataType::int64, {static_cast<int64_t>(list.size())});
  Poller(c).copy(list.data(), out.size(), out.as<int64_t>().data());
}

void unique(const Unique& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  const PickedSlices s(in, op.axis);
  const auto n = static_cast<size_t>(s.count);
  std::pmr::vector<int64_t> order(n, c.scratch());
  std::iota(order.begin(), order.end(), int64_t{0});
  // Groups in ascending order, each by first occurrence.
  std::pmr::vector<int64_t> first(c.scratch()), counts(c.scratch()), group(n, c.scratch());
  Poller poll(c);
  for_type(in.type(), selectable_types, [&]<class T> {
    const T* data = in.as<T>().data();
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const int sign = compare_slices(data, s, a, b, poll);
      return sign != 0 ? sign < 0 : a < b;
    });
    for (size_t k = 0; k < n; ++k) {
      if (k == 0 || compare_slices(data, s, order[k - 1], order[k], poll) != 0) {
        first.push_back(order[k]);
        counts.push_back(0);
      }
      ++counts.back();
      group[static_cast<size_t>(order[k])] = static_cast<int64_t>(first.size()) - 1;
    }
  });
  if (!op.sorted) {
    std::pmr::vector<int64_t> by_first(first.size(), c.scratch()), place(first.size(), c.scratch());
    std::iota(by_first.begin(), by_first.end(), int64_t{0});
    std::sort(by_first.begin(), by_first.end(), [&](int64_t a, int64_t b) {
      poll.did(1);
      return first[static_cast<size_t>(a)] < first[static_cast<size_t>(b)];
    });
    std::pmr::vector<int64_t> new_first(c.scratch()), new_counts(c.scratch());
    for (size_t k = 0; k < by_first.size(); ++k) {
      poll.did(1);
      const auto g = static_cast<size_t>(by_first[k]);
      place[g] = static_cast<int64_t>(k);
      new_first.push_back(first[g]);
      new_counts.push_back(counts[g]);
    }
    for (int64_t& g : group) g = place[static_cast<size_t>(g)];
    first = std::move(new_first);
    counts = std::move(new_counts);
  }
  if (c.wants(0)) take_slices(in, op.axis, first, c);
  write_list(c, 1, first);
  write_list(c, 2, group);
  write_list(c, 3, counts);
}

}  // namespace

void reference_select(KernelCatalog& k) {
  k.reference<NonZero>("NonZero", nonzero);
  k.reference<Compress>("Compress", compress);
  k.reference<Unique>("Unique", unique);
}

}  // namespace lathe
