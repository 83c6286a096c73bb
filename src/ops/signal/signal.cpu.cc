// DFT and STFT of float32: some lines at a time side by side, real ones of even length as half as many
// complex numbers.
#include "ops/signal/signal.h"

#include <algorithm>
#include <complex>
#include <optional>

#include "cpu/spectral.h"
#include "cpu/support.h"
#include "cpu/tasks.h"
#include "ops/compute.h"
#include "ops/signal/transforms.h"

namespace lathe {
namespace {

using Complex = std::complex<double>;

/// Lines that are transformed side by side: those of a vector, but of long lines fewer.
constexpr int64_t lines_at_once = 8, numbers_at_once = 65536;

Support supports_transform(const KernelQuery& r) {
  for (size_t i : {0, 2})
    if (i < r.inputs.size() && r.inputs[i].present && is_float(r.inputs[i].type) &&
        r.inputs[i].type != DataType::float32)
      return Support::no("only float32");
  return r.inputs[0].type == DataType::float32 ? Support::yes() : Support::no("only float32");
}
Support supports_dft(const Dft&, const KernelQuery& r) { return supports_transform(r); }
Support supports_stft(const ShortTimeDft&, const KernelQuery& r) { return supports_transform(r); }

/// Numbers of a line, `step` floats apart.
struct LineReader {
  int64_t step, parts, size;       // beyond the size all is 0
  const float* weights = nullptr;  // of a window
  int64_t mirrored = 0;            // a length: in its other half is the first one's conjugate

  Complex operator()(const float* line, int64_t k) const {
    return mirrored > 0 && k > mirrored / 2 ? std::conj(stored(line, mirrored - k)) : stored(line, k);
  }

 private:
  Complex stored(const float* line, int64_t k) const {
    if (k >= size) return 0;
    const double w = weights ? static_cast<double>(weights[k]) : 1;
    const float* const at = line + k * step;
    return {w * static_cast<double>(at[0]), parts == 2 ? w * static_cast<double>(at[1]) : 0};
  }
};
struct LineWriter {
  int64_t step, parts;
  void operator()(float* line, int64_t k, const Complex& v) const {
    line[k * step] = static_cast<float>(v.real());
    if (parts == 2) line[k * step + 1] = static_cast<float>(v.imag());
  }
};

/// A transform of `lines` lines of n numbers, of whose results the first `bins` are written.
struct Transform {
  int64_t n, lines, bins;
  bool backwards;  // and divided by n
  LineReader read;
  LineWriter write;
};

/// Computes the spectra of real lines from those of half as many complex numbers.
class RealHalves {
 public:
  RealHalves(int64_t n, KernelContext& c) : half_(n / 2), re_(c.scratch()), im_(c.scratch()) {
    re_.resize(static_cast<size_t>(half_ + 1));
    im_.resize(re_.size());
    cpu::FourierPlan::roots(n, half_ + 1, re_.data(), im_.data(), c);
  }
  /// Number k ≤ n of the spectrum of one line.
  Complex at(const cpu::FourierLines& z, int64_t lanes, int64_t lane, int64_t k) const {
    if (k > half_) return std::conj(at(z, lanes, lane, 2 * half_ - k));
    const int64_t here = (k == half_ ? 0 : k) * lanes + lane, there = (k == 0 ? 0 : half_ - k) * lanes + lane;
    const Complex even(0.5 * (z.re[here] + z.re[there]), 0.5 * (z.im[here] - z.im[there]));
    const double odd_re = 0.5 * (z.im[here] + z.im[there]), odd_im = 0.5 * (z.re[there] - z.re[here]);
    const double w_re = re_[static_cast<size_t>(k)], w_im = im_[static_cast<size_t>(k)];
    return {even.real() + w_re * odd_re - w_im * odd_im, even.imag() + w_re * odd_im + w_im * odd_re};
  }

 private:
  int64_t half_;
  std::pmr::vector<double> re_, im_;
};

/// `from(line)` and `to(line)` give the start of a line.
template <class From, class To>
void transform_lines(Isa isa, const Transform& t, KernelContext& c, From from, To to) {
  const bool packs_real = t.read.parts == 1 && !t.backwards && t.n % 2 == 0;
  const int64_t length = packs_real ? t.n / 2 : t.n;
  const cpu::FourierPlan plan(length, isa, c);
  std::optional<RealHalves> spectra;
  if (packs_real) spectra.emplace(t.n, c);
  const int64_t lanes = std::clamp<int64_t>(numbers_at_once / plan.scratch_size(), 1, lines_at_once);
  const int64_t tasks = ceil_div(t.lines, lanes), part = plan.scratch_size() * lanes;
  std::pmr::vector<double> scratch(static_cast<size_t>(cpu::task_slots(tasks, c.threads()) * 4 * part),
                                   c.scratch());
  const double share = t.backwards ? 1 / static_cast<double>(t.n) : 1;
  cpu::for_each_task(c, tasks, [&](int64_t task, int64_t slot) {
    double* const mine = scratch.data() + slot * 4 * part;
    const int64_t first = task * lanes, count = std::min(lanes, t.lines - first);
    cpu::FourierLines z{mine, mine + part, mine + 2 * part, mine + 3 * part};
    Poller poll(c);
    for (int64_t l = 0; l < count; ++l) {
      const float* const line = from(first + l);
      poll.pieces(length, 2, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const Complex x = packs_real ? Complex(t.read(line, 2 * k).real(), t.read(line, 2 * k + 1).real())
                                       : t.read(line, k);
          // The inverse transform is the forward one with real and imaginary parts swapped.
          z.re[k * count + l] = t.backwards ? x.imag() : x.real();
          z.im[k * count + l] = t.backwards ? x.real() : x.imag();
        }
      });
    }
    plan.run(z, count, [&] { c.poll(); });
    for (int64_t l = 0; l < count; ++l) {
      float* const line = to(first + l);
      poll.pieces(t.bins, 2, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const int64_t at = k * count + l;
          if (packs_real)
            t.write(line, k, spectra->at(z, count, l, k));
          else if (t.backwards)
            t.write(line, k, {z.im[at] * share, z.re[at] * share});
          else
            t.write(line, k, {z.re[at], z.im[at]});
        }
      });
    }
  });
}

template <Isa isa>
void run_dft(const Dft& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const DftSizes t(op, c);
  const int64_t size = t.size, parts = t.parts, bins = t.bins, out_parts = t.out_parts, inner = t.inner;
  Tensor& out = c.out(0, x.type(), t.shape);
  if (out.size() == 0) return;
  const LineReader read{.step = inner * parts, .parts = parts, .size = size, .mirrored = t.to_real ? t.n : 0};
  const LineWriter write{inner * out_parts, out_parts};
  const float* const from = cpu::floats(x);
  float* const to = cpu::floats(out);
  transform_lines(
      isa, {t.n, t.outer * inner, bins, op.inverse, read, write}, c,
      [&](int64_t line) { return from + (line / inner * size * inner + line % inner) * parts; },
      [&](int64_t line) { return to + (line / inner * bins * inner + line % inner) * out_parts; });
}

template <Isa isa>
void run_stft(const ShortTimeDft& op, KernelContext& c) {
  const Tensor& signal = c.in(0);
  const FrameSizes t(op, c);
  const int64_t size = t.size, parts = t.parts, step = t.step, frames = t.frames, bins = t.bins;
  const Tensor* const window = c.has(2) ? &c.in(2) : nullptr;
  Tensor& out = c.out(0, signal.type(), {signal.dim(0), frames, bins, 2});
  if (out.size() == 0) return;
  const float *const from = cpu::floats(signal), *const weights = window ? cpu::floats(*window) : nullptr;
  float* const to = cpu::floats(out);
  const LineReader read{.step = parts, .parts = parts, .size = t.n, .weights = weights};
  transform_lines(
      isa, {t.n, signal.dim(0) * frames, bins, false, read, {2, 2}}, c,
      [&](int64_t frame) { return from + (frame / frames * size + frame % frames * step) * parts; },
      [&](int64_t frame) { return to + frame * bins * 2; });
}

}  // namespace

void cpu_signal(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<Dft>({.op = "DFT", .name = cpu::kernel_name("dft", isa), .isa = isa, .temporaries = true},
               {.run = run_dft<isa>, .supports = supports_dft});
    k.add<ShortTimeDft>(
        {.op = "STFT", .name = cpu::kernel_name("stft", isa), .isa = isa, .temporaries = true},
        {.run = run_stft<isa>, .supports = supports_stft});
  });
}

}  // namespace lathe
