#include "ops/integer_matmul/integer_matmul.h"

#include <vector>

#include "ops/conv/conv_loops.h"
#include "ops/matmul/matmul_loops.h"

namespace lathe {
namespace {

inline constexpr Types<int8_t, uint8_t, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ>
    quantized_types;

/// A scale or zero point that broadcasts to data of some shape: at(i) is the one for element i.
class Quantization {
 public:
  Quantization(const Tensor* p, const Shape& data, QuantizedAlong along, double fallback, KernelContext& c)
      : data_(data), strides_(data.size(), 0), values_(c.scratch()) {
    if (!p || count_of(data) == 0) {  // no elements need one
      values_.push_back(fallback);
      return;
    }
    values_.resize(static_cast<size_t>(p->size()));
    Poller poll(c);
    for (int64_t i = 0; i < p->size(); ++i) {
      poll.did(4);
      values_[static_cast<size_t>(i)] = load_double(*p, i);
    }
    if (values_.size() == 1) return;
    Shape shape = p->shape();
    if (shape.size() == 1 && along == QuantizedAlong::rows && data.size() > 1) shape.push_back(1);
    int64_t stride = 1;
    for (size_t k = 0; k < shape.size(); ++k) {
      const int64_t size = shape[shape.size() - 1 - k];
      strides_[data.size() - 1 - k] = size == 1 ? 0 : stride;
      stride *= size;
    }
  }
  bool single() const { return values_.size() == 1; }
  double at(int64_t i) const {
    if (single()) return values_[0];
    int64_t offset = 0;
    for (size_t k = data_.size(); k-- > 0; i /= data_[k]) offset += i % data_[k] * strides_[k];
    return values_[static_cast<size_t>(offset)];
  }

 private:
  Shape data_, strides_;
  std::pmr::vector<double> values_;
};

const Tensor* optional_input(KernelContext& c, size_t i) { return c.has(i) ? &c.in(i) : nullptr; }

/// Elements less their zero points: exact in float.
Tensor centered(const Tensor& q, const Quantization& zero_point, KernelContext& c) {
  Tensor x = temporary(c, DataType::float32, q.shape());
  for_type(q.type(), quantized_types, [&]<class T> {
    const T* from = q.as<T>().data();
    float* to = x.as<float>().data();
    Poller(c).pieces(q.size(), 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i] = static_cast<float>(Element<T>::load(from[i])) - static_cast<float>(zero_point.at(i));
    });
  });
  return x;
}
/// The same with one zero point for each index of the first axis.
Tensor centered_filters(const Tensor& w, const Tensor* zero_point, KernelContext& c) {
  Tensor x = temporary(c, DataType::float32, w.shape());
  const int64_t filter = w.dim(0) ? w.size() / w.dim(0) : 0;
  for_type(w.type(), quantized_types, [&]<class T> {
    const T* from = w.as<T>().data();
    float* to = x.as<float>().data();
    Poller(c).pieces(w.size(), 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double zero =
            !zero_point ? 0 : load_double(*zero_point, zero_point->size() == 1 ? 0 : i / filter);
        to[i] = static_cast<float>(Element<T>::load(from[i])) - static_cast<float>(zero);
      }
    });
  });
  return x;
}

/// The sum of integers that `sum` is exactly, modulo 2^32.
int32_t wrapped(double sum) { return static_cast<int32_t>(static_cast<int64_t>(sum)); }

void check_scale(KernelContext& c, size_t input, bool divides) {
  Poller poll(c);
  for (int64_t i = 0; i < c.in(input).size(); ++i) {
    poll.did(4);
    const double s = load_double(c.in(input), i);
    if (!std::isfinite(s) || (divides && s == 0))
      c.fail(Code::run_bad_value, divides ? "a finite scale other than 0" : "a finite scale",
             std::to_string(s) + " at input " + std::to_string(input));
  }
}

/// Stores round(x) + zero in an integer type, x + zero in a narrow float, clamped to the type's range.
template <class T>
T quantized(float x, double zero) {
  if constexpr (std::is_integral_v<T>)
    return saturated<T>(static_cast<double>(std::nearbyint(x)) + zero);
  else
    return Element<T>::store(x + static_cast<float>(zero));
}

void matmul_integer(const MatMulInteger&, KernelContext& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  const Tensor x = centered(a, Quantization(optional_input(c, 2), a.shape(), QuantizedAlong::rows, 0, c), c);
  const Tensor y =
      centered(b, Quantization(optional_input(c, 3), b.shape(), QuantizedAlong::columns, 0, c), c);
  int32_t* to = c.out(0).as<int32_t>().data();
  const MatMulSizes s(a.shape(), b.shape());
  s.for_each_matrix([&](int64_t at_a, int64_t at_b, int64_t at_y) {
    multiply<double>(s.m, s.n, s.inner, MatrixView<float>{x.as<float>().data() + at_a, s.inner, 1},
                     MatrixView<float>{y.as<float>().data() + at_b, s.n, 1}, c,
                     [&](int64_t i, int64_t j, const double* sums, int64_t count) {
                       for (int64_t k = 0; k < count; ++k) to[at_y + i * s.n + j + k] = wrapped(sums[k]);
                     });
  });
}

void qlinear_matmul(const QLinearMatMul&, KernelContext& c) {
  check_scale(c, 1, false);
  check_scale(c, 4, false);
  check_scale(c, 6, true);
  const Tensor &a = c.in(0), &b = c.in(3);
  Tensor& out = c.out(0);
  const auto rows = QuantizedAlong::rows, columns = QuantizedAlong::columns;
  const Tensor x = centered(a, Quantization(&c.in(2), a.shape(), rows, 0, c), c);
  const Tensor y = centered(b, Quantization(&c.in(5), b.shape(), columns, 0, c), c);
  const Quantization a_scale(&c.in(1), a.shape(), rows, 1, c), b_scale(&c.in(4), b.shape(), columns, 1, c);
  const Quantization y_scale(&c.in(6), out.shape(), rows, 1, c), y_zero(&c.in(7), out.shape(), rows, 0, c);
  const MatMulSizes s(a.shape(), b.shape());
  for_type(out.type(), quantized_types, [&]<class T> {
    T* to = out.as<T>().data();
    s.for_each_matrix([&](int64_t at_a, int64_t at_b, int64_t at_y) {
      multiply<double>(s.m, s.n, s.inner, MatrixView<float>{x.as<float>().data() + at_a, s.inner, 1},
                       MatrixView<float>{y.as<float>().data() + at_b, s.n, 1}, c,
                       [&](int64_t i, int64_t j, const double* sums, int64_t count) {
                         for (int64_t k = 0; k < count; ++k) {
                           const int64_t at = at_y + i * s.n + j + k;
                           // Scales are floats and are multiplied as such: ties fall the same way everywhere.
                           const float scale = static_cast<float>(a_scale.at(at_a + i * s.inner)) *
                                               static_cast<float>(b_scale.at(at_b + j + k)) /
                                               static_cast<float>(y_scale.at(at));
                           to[at] = quantized<T>(static_cast<float>(sums[k]) * scale, y_zero.at(at));
                         }
                       });
    });
  });
}

void conv_integer(const ConvInteger& op, KernelContext& c) {
  const Tensor x = centered(c.in(0), Quantization(optional_input(c, 2), {}, QuantizedAlong::rows, 0, c), c);
  const Tensor w = centered_filters(c.in(1), optional_input(c, 3), c);
  Tensor& y = c.out(0);
  const ConvSizes s(x.shape(), w.shape(), op.group, op.axes(x.shape(), w.shape(), y.shape()));
  convolve<double>(s, x.as<float>().data(), w.as<float>().data(), c,
                   [&](int64_t image, int64_t filter, int64_t at, const double* sums, int64_t count) {
                     int32_t* to = y.as<int32_t>().data() + (image * s.filters + filter) * s.out_plane + at;
                     for (int64_t i = 0; i < count; ++i) to[i] = wrapped(sums[i]);
                   });
}

void qlinear_conv(const QLinearConv& op, KernelContext& c) {
  check_scale(c, 1, false);
  check_scale(c, 4, false);
  check_scale(c, 6, true);
  const Tensor x = centered(c.in(0), Quantization(&c.in(2), {}, QuantizedAlong::rows, 0, c), c);
  const Tensor w = centered_filters(c.in(3), &c.in(5), c);
  Tensor& y = c.out(0);
  const ConvSizes s(x.shape(), w.shape(), op.group, op.axes(x.shape(), w.shape(), y.shape()));
  const auto x_scale = static_cast<float>(load_double(c.in(1), 0));
  const auto y_scale = static_cast<float>(load_double(c.in(6), 0));
  const double y_zero = load_double(c.in(7), 0);
  for_type(y.type(), quantized_types, [&]<class T> {
    convolve<double>(
        s, x.as<float>().data(), w.as<float>().data(), c,
        [&](int64_t image, int64_t filter, int64_t at, const double* sums, int64_t count) {
          T* to = y.as<T>().data() + (image * s.filters + filter) * s.out_plane + at;
          const auto w_scale = static_cast<float>(load_double(c.in(4), c.in(4).size() == 1 ? 0 : filter));
          const double bias = c.has(8) ? load_double(c.in(8), filter) : 0;
          for (int64_t i = 0; i < count; ++i)
            to[i] = quantized<T>(static_cast<float>(sums[i] + bias) * (x_scale * w_scale / y_scale), y_zero);
        });
  });
}

}  // namespace

void reference_integer_matmul(KernelCatalog& k) {
  k.reference<MatMulInteger>("MatMulInteger", matmul_integer);
  k.reference<ConvInteger>("ConvInteger", conv_integer);
  k.reference<QLinearMatMul>("QLinearMatMul", qlinear_matmul);
  k.reference<QLinearConv>("QLinearConv", qlinear_conv);
}

}  // namespace lathe
