#include "ops/norm/norm.h"

#include <vector>

#include "ops/compute.h"
#include "ops/movement.h"

namespace lathe {
namespace {

inline constexpr Types<float, double> normalized_floats;

struct Statistics {
  double mean = 0, variance = 0;
};

/// Mean and (population) variance, in two passes.
template <class T>
Statistics statistics_of(const T* x, int64_t count, Poller& poll) {
  Statistics s;
  poll.pieces(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) s.mean += static_cast<double>(x[i]);
  });
  s.mean /= static_cast<double>(count);
  poll.pieces(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double d = static_cast<double>(x[i]) - s.mean;
      s.variance += d * d;
    }
  });
  s.variance /= static_cast<double>(count);
  return s;
}

/// Calls f(from, to, group) with each run of `length` elements of the first input and output.
template <class F>
void for_each_run(KernelContext& c, int64_t length, F&& f) {
  const Tensor x = in_compute_type(c.in(0), c);
  ComputeOutput y(c.out(0), c);
  if (length == 0) return;
  for_type(x.type(), normalized_floats, [&]<class T> {
    const T* from = x.as<T>().data();
    T* to = y.tensor().as<T>().data();
    c.parallel(x.size() / length, 1, [&](int64_t begin, int64_t end) {
      Poller poll(c);
      for (int64_t run = begin; run < end; ++run) f(from + run * length, to + run * length, run, poll);
    });
  });
  y.finish();
}

/// A parameter that broadcasts to X, repeated until element i of X has its parameter at i modulo the size.
/// `axis`: the first axis along which it may differ.
std::pmr::vector<double> repeated(const Tensor& parameter, const Shape& x, size_t axis, KernelContext& c) {
  const Tensor p = in_double(parameter, c);
  const size_t missing = x.size() - p.rank();
  const auto size_at = [&](size_t i) { return i < missing ? 1 : p.dim(i - missing); };
  bool inner_only = true;
  for (size_t i = 0; i < axis; ++i) inner_only = inner_only && size_at(i) == 1;
  Shape shape = x, strides(x.size(), 0);
  if (inner_only) std::fill(shape.begin(), shape.begin() + axis, 1);
  int64_t stride = 1;
  for (size_t i = x.size(); i-- > 0; stride *= size_at(i)) strides[i] = size_at(i) == 1 ? 0 : stride;
  std::pmr::vector<double> all(static_cast<size_t>(count_of(shape)), c.scratch());
  Poller poll(c);
  for (size_t i = 0; i < all.size(); ++i) {
    poll.did(4);
    int64_t at = 0, rest = static_cast<int64_t>(i);
    for (size_t k = shape.size(); k-- > 0; rest /= shape[k]) at += rest % shape[k] * strides[k];
    all[i] = p.as<double>()[static_cast<size_t>(at)];
  }
  return all;
}

void batch_normalization(const BatchNormalization& op, KernelContext& c) {
  const Shape& shape = c.in(0).shape();
  const int64_t batch = shape[0], channels = shape.size() > 1 ? shape[1] : 1;
  const int64_t plane = shape.size() > 2 ? count_between(shape, 2, shape.size()) : 1;
  const Tensor scale = in_double(c.in(1), c), bias = in_double(c.in(2), c);
  Tensor mean = in_double(c.in(3), c), variance = in_double(c.in(4), c);
  if (op.training_mode) {
    const Tensor x = in_compute_type(c.in(0), c);
    const Tensor before[] = {mean, variance};
    mean = temporary(c, DataType::float64, {channels});
    variance = temporary(c, DataType::float64, {channels});
    for_type(x.type(), normalized_floats, [&]<class T> {
      Poller poll(c);
      std::pmr::vector<T> all(static_cast<size_t>(batch * plane), c.scratch());
      for (int64_t channel = 0; channel < channels; ++channel) {
        for (int64_t n = 0; n < batch && plane > 0; ++n)
          poll.copy(x.as<T>().data() + (n * channels + channel) * plane, plane, all.data() + n * plane);
        const Statistics s = statistics_of(all.data(), batch * plane, poll);
        mean.as<double>()[static_cast<size_t>(channel)] = s.mean;
        variance.as<double>()[static_cast<size_t>(channel)] = s.variance;
      }
    });
    const Tensor* now[] = {&mean, &variance};
    const double momentum = static_cast<double>(op.momentum);
    Poller poll(c);
    for (size_t i = 0; i < 2; ++i) {
      if (!c.wants(i + 1)) continue;
      for (int64_t k = 0; k < channels; ++k) {
        poll.did(4);
        store_double(c.out(i + 1), k,
                     load_double(before[i], k) * momentum + load_double(*now[i], k) * (1 - momentum));
      }
    }
  }
  for_each_run(c, plane, [&]<class T>(const T* from, T* to, int64_t run, Poller& poll) {
    const auto channel = static_cast<size_t>(run % channels);
    const double center = mean.as<double>()[channel], offset = bias.as<double>()[channel];
    const double factor = scale.as<double>()[channel] /
                          std::sqrt(variance.as<double>()[channel] + static_cast<double>(op.epsilon));
    poll.pieces(plane, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i] = static_cast<T>((static_cast<double>(from[i]) - center) * factor + offset);
    });
  });
}

/// Statistics per instance and group of channels, then scale and bias per channel.
void normalize_groups(KernelContext& c, int64_t groups, float epsilon) {
  const Shape& shape = c.in(0).shape();
  if (c.in(0).size() == 0) return;
  const int64_t plane = count_between(shape, 2, shape.size()), per_group = shape[1] / groups;
  const Tensor scale = in_double(c.in(1), c), bias = in_double(c.in(2), c);
  for_each_run(c, per_group * plane, [&]<class T>(const T* from, T* to, int64_t run, Poller& poll) {
    const Statistics s = statistics_of(from, per_group * plane, poll);
    const double deviation = std::sqrt(s.variance + static_cast<double>(epsilon));
    for (int64_t k = 0; k < per_group; ++k) {
      const auto channel = static_cast<size_t>(run % groups * per_group + k);
      for (int64_t i = k * plane; i < (k + 1) * plane; ++i) {
        poll.did(1);
        to[i] =
            static_cast<T>((static_cast<double>(from[i]) - s.mean) / deviation * scale.as<double>()[channel] +
                           bias.as<double>()[channel]);
      }
    }
  });
}

void instance_normalization(const InstanceNormalization& op, KernelContext& c) {
  normalize_groups(c, c.in(0).dim(1), op.epsilon);
}
void group_normalization(const GroupNormalization& op, KernelContext& c) {
  normalize_groups(c, op.num_groups, op.epsilon);
}

size_t first_axis(int64_t axis, const Shape& x) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
}

/// An output of one number for each run, if it is used: NaN for empty runs.
Tensor* statistics_output(KernelContext& c, size_t i, int64_t length) {
  if (!c.wants(i)) return nullptr;
  Tensor& out = c.out(i);
  Poller poll(c);
  for (int64_t k = 0; length == 0 && k < out.size(); ++k) {
    poll.did(4);
    store_double(out, k, std::numeric_limits<double>::quiet_NaN());
  }
  return &out;
}

void layer_normalization(const LayerNormalization& op, KernelContext& c) {
  const Shape& shape = c.in(0).shape();
  const size_t axis = first_axis(op.axis, shape);
  const int64_t length = count_between(shape, axis, shape.size());
  const std::pmr::vector<double> scale = repeated(c.in(1), shape, axis, c);
  const std::pmr::vector<double> bias =
      c.has(2) ? repeated(c.in(2), shape, axis, c) : std::pmr::vector<double>(scale.size(), 0, c.scratch());
  Tensor* mean = statistics_output(c, 1, length);
  Tensor* inverse_deviation = statistics_output(c, 2, length);
  for_each_run(c, length, [&]<class T>(const T* from, T* to, int64_t run, Poller& poll) {
    const Statistics s = statistics_of(from, length, poll);
    const double inverse = 1 / std::sqrt(s.variance + static_cast<double>(op.epsilon));
    for (int64_t i = 0; i < length; ++i) {
      poll.did(1);
      const auto at = static_cast<size_t>(run * length + i);
      to[i] = static_cast<T>((static_cast<double>(from[i]) - s.mean) * inverse * scale[at % scale.size()] +
                             bias[at % bias.size()]);
    }
    if (mean) store_double(*mean, run, s.mean);
    if (inverse_deviation) store_double(*inverse_deviation, run, inverse);
  });
}

void rms_normalization(const RmsNormalization& op, KernelContext& c) {
  const Shape& shape = c.in(0).shape();
  const size_t axis = first_axis(op.axis, shape);
  const int64_t length = count_between(shape, axis, shape.size());
  const Tensor x = in_double(c.in(0), c);
  const std::pmr::vector<double> scale = repeated(c.in(1), shape, axis, c);
  Tensor& y = c.out(0);
  if (length == 0) return;
  c.parallel(x.size() / length, 1, [&](int64_t begin, int64_t end) {
    Poller poll(c);
    for (int64_t run = begin; run < end; ++run) {
      const double* from = x.as<double>().data() + run * length;
      double sum = 0;
      for (int64_t i = 0; i < length; ++i) {
        poll.did(1);
        sum += from[i] * from[i];
      }
      const double inverse =
          1 / std::sqrt(sum / static_cast<double>(length) + static_cast<double>(op.epsilon));
      for_type(y.type(), float_types, [&]<class T> {
        T* to = y.as<T>().data() + run * length;
        for (int64_t i = 0; i < length; ++i) {
          poll.did(1);
          to[i] = Element<T>::store(static_cast<Compute<T>>(
              from[i] * inverse * scale[static_cast<size_t>(run * length + i) % scale.size()]));
        }
      });
    }
  });
}

void lrn(const Lrn& op, KernelContext& c) {
  const Shape& shape = c.in(0).shape();
  const int64_t channels = shape[1], plane = count_between(shape, 2, shape.size());
  const int64_t before = (op.size - 1) / 2, after = op.size - 1 - before;
  for_each_run(c, plane, [&]<class T>(const T* from, T* to, int64_t run, Poller& poll) {
    const int64_t channel = run % channels;
    const int64_t first = std::max(-channel, -before), last = std::min(channels - 1 - channel, after);
    for (int64_t i = 0; i < plane; ++i) {
      double squares = 0;
      poll.pieces(last - first + 1, 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = first + begin; k < first + end; ++k) {
          const double v = static_cast<double>(from[i + k * plane]);
          squares += v * v;
        }
      });
      const double base = static_cast<double>(op.bias) +
                          static_cast<double>(op.alpha) / static_cast<double>(op.size) * squares;
      to[i] = static_cast<T>(static_cast<double>(from[i]) / std::pow(base, static_cast<double>(op.beta)));
    }
  });
}

void lp_normalization(const LpNormalization& op, KernelContext& c) {
  const Shape& shape = c.in(0).shape();
  const size_t axis = first_axis(op.axis, shape);
  const int64_t length = shape[axis], stride = count_between(shape, axis + 1, shape.size());
  for_each_run(c, length * stride, [&]<class T>(const T* from, T* to, int64_t, Poller& poll) {
    for (int64_t i = 0; i < stride; ++i) {
      double norm = 0;
      for (int64_t k = 0; k < length; ++k) {
        poll.did(2);
        const double v = static_cast<double>(from[k * stride + i]);
        norm += op.p == 1 ? std::abs(v) : v * v;
      }
      if (op.p == 2) norm = std::sqrt(norm);
      for (int64_t k = 0; k < length; ++k) {
        poll.did(1);
        to[k * stride + i] = static_cast<T>(norm == 0 ? 0 : static_cast<double>(from[k * stride + i]) / norm);
      }
    }
  });
}

void mean_variance_normalization(const MeanVarianceNormalization& op, KernelContext& c) {
  const Shape& shape = c.in(0).shape();
  const Tensor x = in_double(c.in(0), c);
  Tensor& y = c.out(0);
  // Elements with the same index along the other axes share their statistics.
  Shape strides(shape.size(), 1);
  for (int64_t a : op.axes) strides[first_axis(a, shape)] = 0;
  int64_t groups = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (strides[i] == 0) continue;
    strides[i] = groups;
    groups *= shape[i];
  }
  const auto group_of = [&](int64_t i) {
    int64_t g = 0;
    for (size_t k = shape.size(); k-- > 0; i /= shape[k]) g += i % shape[k] * strides[k];
    return static_cast<size_t>(g);
  };
  if (x.size() == 0) return;
  const double count = static_cast<double>(x.size() / groups);
  const auto from = x.as<double>();
  std::pmr::vector<double> mean(static_cast<size_t>(groups), 0, c.scratch()), variance(mean, c.scratch());
  Poller poll(c);
  for (int64_t i = 0; i < x.size(); ++i) {
    poll.did(1);
    mean[group_of(i)] += from[static_cast<size_t>(i)] / count;
  }
  for (int64_t i = 0; i < x.size(); ++i) {
    poll.did(1);
    const double d = from[static_cast<size_t>(i)] - mean[group_of(i)];
    variance[group_of(i)] += d * d / count;
  }
  for_type(y.type(), float_types, [&]<class T> {
    for (int64_t i = 0; i < x.size(); ++i) {
      poll.did(1);
      const size_t g = group_of(i);
      // The specification's body adds this to the deviation.
      const double deviation = std::sqrt(variance[g]) + 1e-9;
      y.as<T>()[static_cast<size_t>(i)] =
          Element<T>::store(static_cast<Compute<T>>((from[static_cast<size_t>(i)] - mean[g]) / deviation));
    }
  });
}

}  // namespace

void reference_norm(KernelCatalog& k) {
  k.reference<BatchNormalization>("BatchNormalization", batch_normalization);
  k.reference<InstanceNormalization>("InstanceNormalization", instance_normalization);
  k.reference<GroupNormalization>("GroupNormalization", group_normalization);
  k.reference<LayerNormalization>("LayerNormalization", layer_normalization);
  k.reference<RmsNormalization>("RMSNormalization", rms_normalization);
  k.reference<Lrn>("LRN", lrn);
  k.reference<LpNormalization>("LpNormalization", lp_normalization);
  k.reference<MeanVarianceNormalization>("MeanVarianceNormalization", mean_variance_normalization);
}

}  // namespace lathe
