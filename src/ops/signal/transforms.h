// The sizes of a DFT and an STFT in a run, for their kernels.
#pragma once

#include <string>

#include "ops/compute.h"
#include "ops/signal/signal.h"

namespace lathe {

inline int64_t one_number(const Tensor& t, KernelContext& c) {
  if (t.size() != 1) c.fail(Code::run_bad_shape, "one number", describe(t.shape()));
  return load_int(t, 0);
}

struct DftSizes {
  DftSizes(const Dft& op, KernelContext& c) {
    const Tensor& x = c.in(0);
    const auto rank = static_cast<int64_t>(x.rank());
    int64_t axis = c.has(2) ? one_number(c.in(2), c) : -2;
    if (axis < -rank || axis >= rank || axis == -1 || axis == rank - 1)
      c.fail(Code::run_bad_value, "an axis of the signal, not the last", std::to_string(axis));
    if (axis < 0) axis += rank;
    const auto at = static_cast<size_t>(axis);
    size = x.dim(at);
    parts = x.dim(x.rank() - 1);
    to_real = op.inverse && op.onesided;
    n = c.has(1) ? one_number(c.in(1), c) : to_real ? 2 * (size - 1) : size;
    if (n < 1) c.fail(Code::run_bad_value, "a length from 1", std::to_string(n));
    bins = op.onesided && !op.inverse ? n / 2 + 1 : n;
    out_parts = to_real ? 1 : 2;
    shape = x.shape();
    shape[at] = bins;
    shape.back() = out_parts;
    inner = count_between(shape, at + 1, shape.size() - 1);
    outer = count_between(shape, 0, at);
  }
  int64_t size, parts;      // of the signal: numbers of a line, and parts of a number
  int64_t n;                // numbers that are transformed
  int64_t bins, out_parts;  // numbers of a line that are wanted, and parts of each
  bool to_real;             // from half a spectrum
  Shape shape;              // of the output
  int64_t outer, inner;     // lines: outer * inner
};

struct FrameSizes {
  FrameSizes(const ShortTimeDft& op, KernelContext& c) {
    const Tensor& signal = c.in(0);
    step = one_number(c.in(1), c);
    size = signal.dim(1);
    parts = signal.rank() == 2 ? 1 : signal.dim(2);
    const int64_t window = c.has(2) ? c.in(2).size() : -1;
    n = c.has(3) ? one_number(c.in(3), c) : window >= 0 ? window : size;
    if (step < 1 || n < 1 || n > size || (window >= 0 && window != n))
      c.fail(Code::run_bad_value,
             "a frame_step from 1, and frames as long as the window, no longer than the signal",
             "frame_step " + std::to_string(step) + ", frames of " + std::to_string(n));
    frames = (size - n) / step + 1;
    bins = op.onesided ? n / 2 + 1 : n;
  }
  int64_t size, parts;  // of the signal
  int64_t step, n;      // from frame to frame, and numbers of each
  int64_t frames, bins;
};

}  // namespace lathe
