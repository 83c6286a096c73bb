// Steps of Fourier transforms for one instruction set. Included by for_each_isa.h only. Plain loops over
// neighbors, which compilers vectorize.

struct Twiddle {
  double re, im;
};

/// Writes (re, im) times a twiddle factor.
static LATHE_INLINE void put(double* to_re, double* to_im, int64_t at, double re, double im, Twiddle by) {
  to_re[at] = re * by.re - im * by.im;
  to_im[at] = re * by.im + im * by.re;
}

static void step_of_2(const FourierStep& f) {
  const int64_t s = f.s, apart = f.groups * s;
  for (int64_t p = f.first; p < f.end; ++p) {
    const Twiddle w{f.root_re[p * f.root_step], f.root_im[p * f.root_step]};
    const double* __restrict x_re = f.x_re + p * s, * __restrict x_im = f.x_im + p * s;
    double* __restrict y_re = f.y_re + 2 * p * s, * __restrict y_im = f.y_im + 2 * p * s;
    for (int64_t q = 0; q < s; ++q) {
      const double a = x_re[q], b = x_im[q], c = x_re[q + apart], d = x_im[q + apart];
      const double re = a - c, im = b - d;
      y_re[q] = a + c;
      y_im[q] = b + d;
      put(y_re, y_im, q + s, re, im, w);
    }
  }
}

static void step_of_3(const FourierStep& f) {
  constexpr double sine = 0.86602540378443864676;
  const int64_t s = f.s, apart = f.groups * s;
  for (int64_t p = f.first; p < f.end; ++p) {
    const int64_t k = p * f.root_step;
    const Twiddle w1{f.root_re[k], f.root_im[k]}, w2{f.root_re[2 * k], f.root_im[2 * k]};
    const double* __restrict x_re = f.x_re + p * s, * __restrict x_im = f.x_im + p * s;
    double* __restrict y_re = f.y_re + 3 * p * s, * __restrict y_im = f.y_im + 3 * p * s;
    for (int64_t q = 0; q < s; ++q) {
      const double a_re = x_re[q], a_im = x_im[q];
      const double sum_re = x_re[q + apart] + x_re[q + 2 * apart],
                   sum_im = x_im[q + apart] + x_im[q + 2 * apart];
      const double t_re = sine * (x_re[q + apart] - x_re[q + 2 * apart]),
                   t_im = sine * (x_im[q + apart] - x_im[q + 2 * apart]);
      const double m_re = a_re - 0.5 * sum_re, m_im = a_im - 0.5 * sum_im;
      const double b_re = m_re + t_im, b_im = m_im - t_re, c_re = m_re - t_im, c_im = m_im + t_re;
      y_re[q] = a_re + sum_re;
      y_im[q] = a_im + sum_im;
      put(y_re, y_im, q + s, b_re, b_im, w1);
      put(y_re, y_im, q + 2 * s, c_re, c_im, w2);
    }
  }
}

static void step_of_4(const FourierStep& f) {
  const int64_t s = f.s, apart = f.groups * s;
  for (int64_t p = f.first; p < f.end; ++p) {
    const int64_t k = p * f.root_step;
    const Twiddle w1{f.root_re[k], f.root_im[k]}, w2{f.root_re[2 * k], f.root_im[2 * k]},
        w3{f.root_re[3 * k], f.root_im[3 * k]};
    const double* __restrict x_re = f.x_re + p * s, * __restrict x_im = f.x_im + p * s;
    double* __restrict y_re = f.y_re + 4 * p * s, * __restrict y_im = f.y_im + 4 * p * s;
    for (int64_t q = 0; q < s; ++q) {
      const double sum_re = x_re[q] + x_re[q + 2 * apart], sum_im = x_im[q] + x_im[q + 2 * apart];
      const double less_re = x_re[q] - x_re[q + 2 * apart], less_im = x_im[q] - x_im[q + 2 * apart];
      const double odd_re = x_re[q + apart] + x_re[q + 3 * apart],
                   odd_im = x_im[q + apart] + x_im[q + 3 * apart];
      const double t_re = x_im[q + apart] - x_im[q + 3 * apart], t_im = x_re[q + 3 * apart] - x_re[q + apart];
      const double b_re = less_re + t_re, b_im = less_im + t_im;
      const double c_re = sum_re - odd_re, c_im = sum_im - odd_im;
      const double d_re = less_re - t_re, d_im = less_im - t_im;
      y_re[q] = sum_re + odd_re;
      y_im[q] = sum_im + odd_im;
      put(y_re, y_im, q + s, b_re, b_im, w1);
      put(y_re, y_im, q + 2 * s, c_re, c_im, w2);
      put(y_re, y_im, q + 3 * s, d_re, d_im, w3);
    }
  }
}

/// A step of any radix: each number of the spectrum is summed separately.
static void step_of_any(const FourierStep& f) {
  const int64_t s = f.s, apart = f.groups * s, each = f.roots / f.radix;
  for (int64_t p = f.first; p < f.end; ++p)
    for (int64_t k = 0; k < f.radix; ++k) {
      const double* __restrict x_re = f.x_re + p * s, * __restrict x_im = f.x_im + p * s;
      double* __restrict y_re = f.y_re + (f.radix * p + k) * s, * __restrict y_im =
                                                                    f.y_im + (f.radix * p + k) * s;
      for (int64_t q = 0; q < s; ++q) {
        y_re[q] = x_re[q];
        y_im[q] = x_im[q];
      }
      for (int64_t j = 1; j < f.radix; ++j) {
        const int64_t root = j * k % f.radix * each;
        const Twiddle w{f.root_re[root], f.root_im[root]};
        x_re += apart;
        x_im += apart;
        for (int64_t q = 0; q < s; ++q) {
          y_re[q] += x_re[q] * w.re - x_im[q] * w.im;
          y_im[q] += x_re[q] * w.im + x_im[q] * w.re;
        }
      }
      const Twiddle w{f.root_re[k * p * f.root_step], f.root_im[k * p * f.root_step]};
      for (int64_t q = 0; q < s; ++q) {
        const double re = y_re[q], im = y_im[q];
        put(y_re, y_im, q, re, im, w);
      }
    }
}

static void step(const FourierStep& f) {
  f.radix == 4 ? step_of_4(f) : f.radix == 2 ? step_of_2(f) : f.radix == 3 ? step_of_3(f) : step_of_any(f);
}

static void multiply(double* __restrict re, double* __restrict im, double by_re, double by_im, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double a = re[i], b = im[i];
    re[i] = a * by_re - b * by_im;
    im[i] = a * by_im + b * by_re;
  }
}

constexpr FourierKernels table{.step = step, .multiply = multiply};
