#include "ops/elementwise/lanes.h"

#include <memory_resource>

namespace lathe {
namespace {

template <class... T>
bool with_type(DataType type, auto&& f) {
  return ((type == type_of<T> ? (f.template operator()<T>(), true) : false) || ...);
}
/// Calls f.operator()<T>() for every storage type of whole bytes.
bool with_number(DataType type, auto&& f) {
  return with_type<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                   uint32_t, uint64_t, bool, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ,
                   Float8E8M0, Float6E2M3, Float6E3M2>(type, f);
}

template <class To>
To convert_lane(double x) {
  if constexpr (std::is_same_v<To, double> || std::is_same_v<To, float>)
    return static_cast<To>(x);
  else if constexpr (std::is_same_v<To, Float16>)
    return to_float16(x);
  else if constexpr (!std::is_integral_v<To>)
    return Element<To>::store(static_cast<float>(x));
  else
    return to_integer_as<To>(x);
}

template <class To, class L>
requires std::is_integral_v<L> To convert_lane(L x) {
  if constexpr (std::is_arithmetic_v<To>)
    return static_cast<To>(x);
  else
    return Element<To>::store(static_cast<float>(x));
}

[[noreturn]] void not_a_number(DataType t) {
  throw Error(Code::node_bad_type, "run", "numbers", std::string(name_of(t)));
}

}  // namespace

template <class L>
void load_lanes(const Tensor& t, int64_t first, int64_t n, L* to) {
  if (is_packed(t.type())) {
    for (int64_t i = 0; i < n; ++i)
      to[i] = is_float(t.type()) ? convert_lane<L>(load_double(t, first + i))
                                 : convert_lane<L>(load_int(t, first + i));
    return;
  }
  const bool ok = with_number(t.type(), [&]<class T> {
    const T* from = t.as<T>().data() + first;
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_integral_v<T> && (std::is_unsigned_v<T> || std::is_same_v<T, bool>))
        to[i] = convert_lane<L>(static_cast<uint64_t>(from[i]));
      else if constexpr (std::is_integral_v<T>)
        to[i] = convert_lane<L>(static_cast<int64_t>(from[i]));
      else
        to[i] = convert_lane<L>(static_cast<double>(Element<T>::load(from[i])));
    }
  });
  if (!ok) not_a_number(t.type());
}

template <class L>
void store_lanes(Tensor& t, int64_t first, int64_t n, const L* from) {
  if (is_packed(t.type())) {
    for (int64_t i = 0; i < n; ++i) {
      if (is_float(t.type()))
        store_double(t, first + i, static_cast<double>(from[i]));
      else
        store_int(t, first + i, convert_lane<int64_t>(from[i]));
    }
    return;
  }
  const bool ok = with_number(t.type(), [&]<class T> {
    T* to = t.as<T>().data() + first;
    for (int64_t i = 0; i < n; ++i) to[i] = convert_lane<T>(from[i]);
  });
  if (!ok) not_a_number(t.type());
}

template void load_lanes(const Tensor&, int64_t, int64_t, double*);
template void load_lanes(const Tensor&, int64_t, int64_t, int64_t*);
template void load_lanes(const Tensor&, int64_t, int64_t, uint64_t*);
template void store_lanes(Tensor&, int64_t, int64_t, const double*);
template void store_lanes(Tensor&, int64_t, int64_t, const int64_t*);
template void store_lanes(Tensor&, int64_t, int64_t, const uint64_t*);

BroadcastRows::BroadcastRows(const KernelContext& c, const Shape& out, std::span<const Shape* const> inputs)
    : inputs_(inputs.size()) {
  InlineVector<int64_t, 8> dense(inputs_, 1);  // the stride of an axis that is not broadcast
  // Merges axes that are contiguous in every input.
  for (size_t a = out.size(); a-- > 0;) {
    bool merges = !sizes_.empty();
    const size_t last = sizes_.size();
    for (size_t k = 0; k < inputs_; ++k) {
      const Shape& in = *inputs[k];
      const size_t missing = out.size() - in.size();
      const int64_t size = a < missing ? 1 : in[a - missing];
      if (in.size() > out.size() || (size != 1 && size != out[a]))
        c.fail(Code::run_bad_shape, "shapes that broadcast to " + describe(out), describe(in));
      strides_.push_back(size == 1 ? 0 : dense[k]);
      dense[k] *= size;
      merges = merges && stride(last, k) == stride(last - 1, k) * sizes_.back();
    }
    if (out[a] != 1 && !merges) {
      sizes_.push_back(out[a]);
      continue;
    }
    if (out[a] != 1) sizes_.back() *= out[a];
    strides_.resize(last * inputs_);
  }
  if (!sizes_.empty()) return;
  sizes_.push_back(1);
  strides_.assign(inputs_, 0);
}

void BroadcastRows::each(int64_t begin, int64_t end,
                         FunctionRef<void(int64_t, const int64_t*, int64_t)> f) const {
  if (begin >= end) return;
  Shape index(sizes_.size(), 0);
  int64_t rest = begin;
  for (size_t a = 0; a < sizes_.size(); ++a) {
    index[a] = rest % sizes_[a];
    rest /= sizes_[a];
  }
  InlineVector<int64_t, 8> offsets(inputs_);
  while (begin < end) {
    for (size_t k = 0; k < inputs_; ++k) {
      offsets[k] = 0;
      for (size_t a = 0; a < sizes_.size(); ++a) offsets[k] += index[a] * stride(a, k);
    }
    const int64_t n = std::min(sizes_[0] - index[0], end - begin);
    f(begin, offsets.data(), n);
    begin += n;
    index[0] += n;
    for (size_t a = 0; a + 1 < sizes_.size() && index[a] == sizes_[a]; ++a) {
      index[a] = 0;
      ++index[a + 1];
    }
  }
}

template <class L>
void map_lanes(KernelContext& c, size_t count, LaneFunction<L> f) {
  Tensor& out = c.out(0);
  InlineVector<const Shape*, 8> shapes;
  for (size_t k = 0; k < count; ++k) shapes.push_back(&c.in(k).shape());
  const BroadcastRows rows(c, out.shape(), shapes);
  c.parallel(out.size(), lane_block * 16, [&](int64_t begin, int64_t end) {
    Poller poll(c);
    // Whole blocks of three inputs and the result; of more inputs, shorter ones.
    L near[4 * lane_block];
    const auto block = std::clamp<int64_t>(std::ssize(near) / static_cast<int64_t>(count + 1), 1, lane_block);
    const size_t needed = static_cast<size_t>(block) * (count + 1);
    std::pmr::vector<L> far(needed > std::size(near) ? needed : 0, c.scratch());
    L* const memory = far.empty() ? near : far.data();
    InlineVector<const L*, 8> in(count);
    L* const result = memory + static_cast<size_t>(block) * count;
    rows.each(begin, end, [&](int64_t to, const int64_t* from, int64_t length) {
      for (int64_t done = 0; done < length; done += block) {
        const int64_t n = std::min(block, length - done);
        poll.did(n);
        for (size_t k = 0; k < count; ++k) {
          L* const lanes = memory + static_cast<size_t>(block) * k;
          in[k] = lanes;
          if (rows.step(k) == 1) {
            load_lanes(c.in(k), from[k] + done, n, lanes);
          } else if (done == 0) {  // one that stands still along a row is spread once
            load_lanes(c.in(k), from[k], 1, lanes);
            std::fill_n(lanes + 1, n - 1, lanes[0]);
          }
        }
        f(in.data(), result, n);
        store_lanes(out, to + done, n, result);
      }
    });
  });
}

template void map_lanes(KernelContext&, size_t, LaneFunction<double>);
template void map_lanes(KernelContext&, size_t, LaneFunction<int64_t>);
template void map_lanes(KernelContext&, size_t, LaneFunction<uint64_t>);

}  // namespace lathe
