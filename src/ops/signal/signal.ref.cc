#include "ops/signal/signal.h"

#include <cmath>

#include "ops/compute.h"
#include "ops/signal/fourier.h"
#include "ops/signal/transforms.h"

namespace lathe {
namespace {

using Number = Fourier::Number;

void dft(const Dft& op, KernelContext& c) {
  const Tensor x = in_double(c.in(0), c);
  const auto [size, parts, n, bins, out_parts, to_real, shape, outer, inner] = DftSizes(op, c);
  Tensor& out = c.out(0, c.in(0).type(), shape);
  Fourier fourier(n, op.inverse, c);
  std::pmr::vector<Number> line(static_cast<size_t>(n), c.scratch()), spectrum(line.size(), c.scratch());
  const double* from = x.as<double>().data();
  Poller poll(c);
  for (int64_t i = 0; i < outer * inner; ++i) {
    poll.did(4 * n);
    const int64_t first = i / inner * size * inner + i % inner;
    std::fill(line.begin(), line.end(), Number());
    for (int64_t k = 0; k < std::min(n, size); ++k) {
      const double* number = from + (first + k * inner) * parts;
      line[static_cast<size_t>(k)] = {number[0], parts == 2 ? number[1] : 0};
    }
    // The other half of a real signal's spectrum is the first one's conjugate.
    if (to_real)
      for (int64_t k = n / 2 + 1; k < n; ++k)
        line[static_cast<size_t>(k)] = std::conj(line[static_cast<size_t>(n - k)]);
    fourier.transform(line.data(), spectrum.data());
    const int64_t to = i / inner * bins * inner + i % inner;
    for (int64_t k = 0; k < bins; ++k) {
      Number v = spectrum[static_cast<size_t>(k)];
      if (op.inverse) v /= static_cast<double>(n);
      store_double(out, (to + k * inner) * out_parts, v.real());
      if (out_parts == 2) store_double(out, (to + k * inner) * 2 + 1, v.imag());
    }
  }
}

void short_time_dft(const ShortTimeDft& op, KernelContext& c) {
  const Tensor signal = in_double(c.in(0), c);
  const auto [size, parts, step, n, frames, bins] = FrameSizes(op, c);
  std::optional<Tensor> window;
  if (c.has(2)) window = in_double(c.in(2), c);
  Tensor& out = c.out(0, c.in(0).type(), {signal.dim(0), frames, bins, 2});
  Fourier fourier(n, false, c);
  std::pmr::vector<Number> line(static_cast<size_t>(n), c.scratch()), spectrum(line.size(), c.scratch());
  Poller poll(c);
  for (int64_t i = 0; i < signal.dim(0) * frames; ++i) {
    poll.did(4 * n);
    const double* from = signal.as<double>().data() + (i / frames * size + i % frames * step) * parts;
    for (int64_t k = 0; k < n; ++k) {
      const double w = window ? window->as<double>()[static_cast<size_t>(k)] : 1;
      line[static_cast<size_t>(k)] = {w * from[k * parts], parts == 2 ? w * from[k * parts + 1] : 0};
    }
    fourier.transform(line.data(), spectrum.data());
    for (int64_t k = 0; k < bins; ++k) {
      store_double(out, (i * bins + k) * 2, spectrum[static_cast<size_t>(k)].real());
      store_double(out, (i * bins + k) * 2 + 1, spectrum[static_cast<size_t>(k)].imag());
    }
  }
}

/// Stores a number in the type of the output: integers are truncated, as by Cast.
void store_cut(Tensor& out, int64_t i, double v) {
  if (is_float(out.type()))
    store_double(out, i, v);
  else
    store_int(out, i, static_cast<int64_t>(v));
}

/// a - b cos(2πx) + d cos(4πx).
template <auto coefficients>
void window(const Window& op, KernelContext& c) {
  const int64_t size = one_number(c.in(0), c);
  if (size < 0) c.fail(Code::run_bad_value, "a size from 0", std::to_string(size));
  const auto type = static_cast<DataType>(op.output_datatype);
  Tensor& out = c.out(0, type, {size});
  const auto [a, b, d] = coefficients();
  Poller poll(c);
  for (int64_t i = 0; i < size; ++i) {
    poll.did(32);
    const double angle =
        2 * 3.141592653589793 * static_cast<double>(i) / static_cast<double>(op.periodic ? size : size - 1);
    store_cut(out, i, a - b * std::cos(angle) + d * std::cos(2 * angle));
  }
}

struct Cosines {
  double a, b, d;
};
constexpr auto hann = [] { return Cosines{0.5, 0.5, 0}; };
constexpr auto hamming = [] { return Cosines{25.0 / 46, 21.0 / 46, 0}; };
constexpr auto blackman = [] { return Cosines{0.42, 0.5, 0.08}; };

void mel_weights(const MelWeightMatrix& op, KernelContext& c) {
  const int64_t bins = one_number(c.in(0), c), length = one_number(c.in(1), c), rate = one_number(c.in(2), c);
  if (bins < 0 || length < 0 || rate < 1)
    c.fail(Code::run_bad_value, "num_mel_bins and dft_length from 0, a sample_rate from 1",
           std::to_string(bins) + ", " + std::to_string(length) + ", " + std::to_string(rate));
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  for (size_t i : {3, 4})
    if (c.in(i).size() != 1) c.fail(Code::run_bad_shape, "one number", describe(c.in(i).shape()));
  const double lowest = mel(load_double(c.in(3), 0)), highest = mel(load_double(c.in(4), 0));
  const int64_t rows = length / 2 + 1;
  Tensor& out = c.out(0, static_cast<DataType>(op.output_datatype), {rows, bins});
  Poller poll(c);
  for (int64_t i = 0; i < rows * bins; ++i, poll.did(1)) store_cut(out, i, 0);
  /// The row of edge i of the triangles.
  const auto edge = [&](int64_t i) {
    const double at = lowest + (highest - lowest) * static_cast<double>(i) / static_cast<double>(bins + 2);
    const double row = std::floor(static_cast<double>(length + 1) * (700 * (std::pow(10, at / 2595) - 1)) /
                                  static_cast<double>(rate));
    if (!(row >= 0 && row < static_cast<double>(rows)))
      c.fail(Code::run_bad_value, "edges within half the sample_rate",
             std::to_string(row) + " of " + std::to_string(rows));
    return static_cast<int64_t>(row);
  };
  for (int64_t i = 0; i < bins; ++i) {
    const int64_t left = edge(i), top = edge(i + 1), right = edge(i + 2);
    if (left == top) store_cut(out, top * bins + i, 1);
    for (int64_t row = left; row <= top && left < top; ++row, poll.did(4))
      store_cut(out, row * bins + i, static_cast<double>(row - left) / static_cast<double>(top - left));
    for (int64_t row = top; row < right; ++row, poll.did(4))
      store_cut(out, row * bins + i, static_cast<double>(right - row) / static_cast<double>(right - top));
  }
}

}  // namespace

void reference_signal(KernelCatalog& k) {
  k.reference<Dft>("DFT", dft);
  k.reference<ShortTimeDft>("STFT", short_time_dft);
  k.reference<Window>("HannWindow", window<hann>);
  k.reference<Window>("HammingWindow", window<hamming>);
  k.reference<Window>("BlackmanWindow", window<blackman>);
  k.reference<MelWeightMatrix>("MelWeightMatrix", mel_weights);
}

}  // namespace lathe
