#include "ops/scatter/scatter_slices.h"

namespace lathe {
namespace {

constexpr Types<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                uint32_t, uint64_t, bool, std::complex<float>, std::complex<double>>
    reducible_types;

template <class T>
T combine(ScatterRule how, T old, T update) {
  if constexpr (std::is_same_v<T, bool>) {
    return how == ScatterRule::add || how == ScatterRule::max ? old || update : old && update;
  } else if constexpr (std::is_integral_v<T>) {  // wraps around
    switch (how) {
      case ScatterRule::add:
        return static_cast<T>(static_cast<uint64_t>(old) + static_cast<uint64_t>(update));
      case ScatterRule::mul:
        return static_cast<T>(static_cast<uint64_t>(old) * static_cast<uint64_t>(update));
      case ScatterRule::min:
        return std::min(old, update);
      default:
        return std::max(old, update);
    }
  } else {
    const auto a = Element<T>::load(old), b = Element<T>::load(update);
    if (how == ScatterRule::add) return Element<T>::store(a + b);
    if (how == ScatterRule::mul) return Element<T>::store(a * b);
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
      throw Error(Code::node_bad_type, "run", "an element type that has an order",
                  std::string(name_of(type_of<T>)));
    else if (std::isnan(a) || std::isnan(b))
      return Element<T>::store(a + b);
    else
      return how == ScatterRule::min ? (b < a ? update : old) : (b > a ? update : old);
  }
}

/// Calls f<T>(data, put), put(to, update) being the reduction on elements of T.
template <class F>
void scatter_into(ScatterRule how, Tensor& out, F&& f) {
  if (how == ScatterRule::none)
    for_size(out.type(), [&]<class T> {
      f.template operator()<T>(out.as<T>(), [](T& to, const T& update) { to = update; });
    });
  else
    for_type(out.type(), reducible_types, [&]<class T> {
      f.template operator()<T>(out.as<T>(), [how](T& to, const T& update) { to = combine(how, to, update); });
    });
}

void scatter_elements(const ScatterElements& op, KernelContext& c) {
  const Tensor data = unpacked(c.in(0)), updates = unpacked(c.in(2));
  const Tensor& indices = c.in(1);
  const size_t axis = axis_of(op.axis, data.rank());
  if (!(indices.shape() == updates.shape()))
    c.fail(Code::run_bad_shape, "updates of the indices' shape " + describe(indices.shape()),
           describe(updates.shape()));
  for (size_t a = 0; a < data.rank(); ++a)
    if (a != axis && indices.dim(a) > data.dim(a))
      c.fail(Code::run_bad_shape, "indices within " + describe(data.shape()) + " but along the axis",
             describe(indices.shape()));
  ByteOutput out(c.out(0));
  copy_elements(data, out.tensor(), c);
  Shape strides = row_major(data.shape());
  const int64_t step = std::exchange(strides[axis], 0);
  scatter_into(scatter_rule(op.reduction), out.tensor(), [&]<class T>(std::span<T> to, auto put) {
    Poller poll(c);
    Odometer at(indices.shape(), strides);
    for (int64_t i = 0; i < indices.size(); ++i, at.next()) {
      poll.did(1);
      const int64_t index = checked_index(c, index_at(indices, i), data.dim(axis));
      put(to[static_cast<size_t>(at.offset() + index * step)], updates.as<T>()[static_cast<size_t>(i)]);
    }
  });
  out.finish();
}

void scatter_nd(const ScatterND& op, KernelContext& c) {
  const Tensor data = unpacked(c.in(0)), updates = unpacked(c.in(2));
  const Tensor& indices = c.in(1);
  const ScatterSlices s(c, data.shape(), indices.shape(), updates.shape());
  ByteOutput out(c.out(0));
  copy_elements(data, out.tensor(), c);
  const Shape strides = row_major(data.shape());
  scatter_into(scatter_rule(op.reduction), out.tensor(), [&]<class T>(std::span<T> to, auto put) {
    Poller poll(c);
    for (int64_t i = 0; i < s.tuples; ++i) {
      poll.did(1);  // tuples of nothing may be many, for slices of nothing
      int64_t offset = 0;
      for (int64_t k = 0; k < s.tuple; ++k) {
        const auto axis = static_cast<size_t>(k);
        offset += strides[axis] * checked_index(c, index_at(indices, i * s.tuple + k), data.dim(axis));
      }
      for (int64_t j = 0; j < s.slice; ++j) {
        poll.did(1);
        put(to[static_cast<size_t>(offset + j)], updates.as<T>()[static_cast<size_t>(i * s.slice + j)]);
      }
    }
  });
  out.finish();
}

void tensor_scatter(const TensorScatter& op, KernelContext& c) {
  const Tensor cache = unpacked(c.in(0)), update = unpacked(c.in(1));
  const CacheRows rows(op, c, cache.shape(), update.shape());
  ByteOutput out(c.out(0));
  copy_elements(cache, out.tensor(), c);
  if (update.size() == 0) return out.finish();
  for_size(cache.type(), [&]<class T> {
    Poller poll(c);
    const T* from = update.as<T>().data();
    for (int64_t o = 0; o < rows.outer; ++o)
      for (int64_t s = 0; s < rows.length; ++s, from += rows.inner) {
        const int64_t at = (rows.first(o) + s) % rows.room;
        poll.copy(from, rows.inner, out.tensor().as<T>().data() + (o * rows.room + at) * rows.inner);
      }
  });
  out.finish();
}

}  // namespace

void reference_scatter(KernelCatalog& k) {
  k.reference<ScatterElements>("ScatterElements", scatter_elements);
  k.reference<ScatterND>("ScatterND", scatter_nd);
  k.reference<TensorScatter>("TensorScatter", tensor_scatter);
}

}  // namespace lathe
