#include "ops/constant/constant.h"

#include "kernel/lean_reference.h"
#include "ops/movement.h"

namespace lathe {
namespace {

void constant(const Constant& op, KernelContext& c) {
  const Tensor t = op.tensor();
  copy_elements(t, c.out(0, t.type(), t.shape()), c);
}

void constant_of_shape(const ConstantOfShape& op, KernelContext& c) {
  Tensor& out = c.out(0);
  static const Tensor zero = Tensor::scalar(0.0f);
  const Tensor value = unpacked(op.value ? *op.value : zero);
  ByteOutput to(out);
  for_size(value.type(), [&]<class T> {
    const std::span<T> all = to.tensor().as<T>();
    c.parallel(out.size(), 65536, [&](int64_t begin, int64_t end) {
      std::fill(all.begin() + begin, all.begin() + end, value.as<T>()[0]);
    });
  });
  to.finish();
}

constexpr Types<float, double, Float16, BFloat16, int16_t, int32_t, int64_t> range_types;

void range(const Range&, KernelContext& c) {
  const DataType type = c.in(0).type();
  for (size_t i = 0; i < 3; ++i)
    if (c.in(i).size() != 1)
      c.fail(Code::run_bad_shape, "start, limit and delta that are scalars", describe(c.in(i)));
  for_type(type, range_types, [&]<class T> {
    using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
    const auto read = [&](size_t i) { return static_cast<Wide>(Element<T>::load(c.in(i).as<T>()[0])); };
    const Wide start = read(0), delta = read(2);
    Tensor& out = c.out(0, type, {range_count(start, read(1), delta)});
    Poller poll(c);
    for (int64_t i = 0; i < out.size(); ++i) {
      poll.did(1);
      out.as<T>()[static_cast<size_t>(i)] =
          Element<T>::store(static_cast<Compute<T>>(range_element(start, delta, i)));
    }
  });
}

void eye_like(const EyeLike& op, KernelContext& c) {
  Tensor& out = c.out(0);
  const int64_t rows = out.dim(0), columns = out.dim(1);
  if (out.size() == 0) return;
  for_type(out.type(), number_and_bool_types, [&]<class T> {
    T* const to = out.as<T>().data();
    c.parallel(rows, std::max<int64_t>(1, 65536 / columns), [&](int64_t begin, int64_t end) {
      Poller poll(c);
      poll.pieces((end - begin) * columns, 1, [&](int64_t first, int64_t last) {
        std::fill(to + begin * columns + first, to + begin * columns + last, T{});
      });
      for (int64_t i = begin; i < end; ++i)
        if (op.k >= -i && op.k < columns - i) to[i * columns + i + op.k] = Element<T>::store(Compute<T>(1));
    });
  });
}

/// An index of any numeric type as int64; nothing if it is beyond every depth.
std::optional<int64_t> one_hot_index(const Tensor& t, int64_t i) {
  if (is_float(t.type())) {
    const double v = load_double(t, i);
    return std::abs(v) < 9.2e18 ? std::optional(static_cast<int64_t>(v)) : std::nullopt;
  }
  const int64_t v = load_int(t, i);
  return t.type() == DataType::uint64 && v < 0 ? std::nullopt : std::optional(v);
}

void one_hot(const OneHot& op, KernelContext& c) {
  const Tensor &indices = c.in(0), &values = c.in(2);
  if (values.size() != 2) c.fail(Code::run_bad_shape, "values of two elements, off and on", describe(values));
  Tensor& out = c.out(0);
  const size_t axis = axis_of(op.axis, out.rank());
  const int64_t depth = out.dim(axis);
  int64_t inner = 1;
  for (size_t a = axis + 1; a < out.rank(); ++a) inner *= out.dim(a);
  move_elements(values, out, [&]<class T>(std::span<const T> off_on, std::span<T> to) {
    c.parallel(out.size(), 65536, [&](int64_t begin, int64_t end) {
      std::fill(to.begin() + begin, to.begin() + end, off_on[0]);
    });
    Poller poll(c);
    for (int64_t i = 0; i < indices.size(); ++i) {
      poll.did(1);
      const auto index = one_hot_index(indices, i);
      if (!index || *index < -depth || *index >= depth) continue;
      const int64_t at = *index < 0 ? *index + depth : *index;
      to[static_cast<size_t>((i / inner * depth + at) * inner + i % inner)] = off_on[1];
    }
  });
}

}  // namespace

void reference_constant(KernelCatalog& k) {
  lean_reference<Constant>(k, "Constant", constant);
  lean_reference<ConstantOfShape>(k, "ConstantOfShape", constant_of_shape);
  lean_reference<Range>(k, "Range", range);
  lean_reference<EyeLike>(k, "EyeLike", eye_like);
  lean_reference<OneHot>(k, "OneHot", one_hot);
}

}  // namespace lathe
