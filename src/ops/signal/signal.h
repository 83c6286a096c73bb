// Fourier transforms, windows and mel filters.
#pragma once

#include <string>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// The discrete Fourier transform along one axis of [d0, …, 1] (real) or [d0, …, 2] (real and imaginary
/// part). Onesided: the first half of a spectrum, which determines the rest if signals are real; its inverse
/// is real. The second input cuts the signal to a length, or fills it with zeros; the third is the axis.
struct Dft {
  bool inverse = false, onesided = false;
  void fields(auto&& f) {
    f("inverse", inverse);
    f("onesided", onesided);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto& in = c.shape(0);
    c.require(in.size() >= 2, "a signal of rank 2 or more, the last axis for real and imaginary part",
              c.text(in));
    const auto parts = known(in.back());
    c.require(!parts || *parts == 1 || *parts == 2, "a last axis of 1 or 2", c.text(in));
    if (onesided && parts)
      c.require(*parts == (inverse ? 2 : 1), inverse ? "a complex spectrum" : "a real signal", c.text(in));
    for (size_t i : {1, 2})
      if (c.has(i)) {
        const auto count = known(c.product(c.shape(i)));
        c.require(c.rank(i) <= 1 && (!count || *count == 1), "one number", c.text(c.shape(i)));
      }
    std::vector<D> out = in;
    out.back() = D(inverse && onesided ? 1 : 2);
    const auto given = c.numbers(2);
    if (c.has(2) && (!given || given->size() != 1)) {
      // Any of the axes may change, unless all keep their sizes.
      const bool kept = !c.has(1) && !onesided;
      for (size_t a = 0; a + 1 < out.size(); ++a) {
        const auto size = c.data_dependent();
        if (!size) return;
        if (!kept) out[a] = *size;
      }
      c.output(0, std::move(out));
      return;
    }
    const auto at = static_cast<size_t>(axis(c, given ? (*given)[0] : -2, c.rank(0)));
    std::optional<D> length;
    if (const auto* v = c.values(1))
      length = (*v)[0];
    else if (c.has(1))
      length = c.data_dependent();
    else
      length = inverse && onesided ? D(2) * (in[at] - D(1)) : in[at];
    if (!length) return;
    const auto n = known(*length);
    c.require(!n || *n >= 1, "a length from 1", to_text(*length));
    out[at] = onesided && !inverse ? floor_div(*length, D(2)) + D(1) : *length;
    c.output(0, std::move(out));
  }
  template <class D>
  static int64_t axis(const ShapeContext<D>& c, int64_t a, int64_t rank) {
    const int64_t at = c.axis(a, rank);
    if (at == rank - 1)
      c.fail(Code::node_bad_attribute, "an axis of the signal", "the last, of real and imaginary parts", {});
    return at;
  }
};

/// Fourier transforms of a window that slides over a signal [batch, length, 1 or 2] → [batch, frames, bins,
/// 2]. A real signal may lack its last axis: exporters write it so, and others take it.
struct ShortTimeDft {
  bool onesided = true;
  void fields(auto&& f) { f("onesided", onesided); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto& in = c.shape(0);
    c.require(in.size() == 3 || in.size() == 2, "a signal of rank 3, or 2 where it is real", c.text(in));
    const auto parts = in.size() == 2 ? std::optional<int64_t>(1) : known(in[2]);
    c.require(!parts || *parts == 1 || *parts == 2, "a last axis of 1 or 2", c.text(in));
    c.require(!onesided || !parts || *parts == 1, "a real signal where onesided is 1", c.text(in));
    for (size_t i : {1, 3})
      if (c.has(i)) {
        const auto count = known(c.product(c.shape(i)));
        c.require(c.rank(i) <= 1 && (!count || *count == 1), "one number", c.text(c.shape(i)));
      }
    if (c.has(2)) c.require(c.rank(2) == 1, "a window of rank 1", c.text(c.shape(2)));
    std::optional<D> length = in[1];
    if (c.has(2)) length = c.shape(2)[0];
    if (const auto* v = c.values(3))
      length = c.has(2) ? c.same((*v)[0], c.shape(2)[0], "frame_length and the window") : (*v)[0];
    else if (c.has(3) && !c.has(2))
      length = c.data_dependent();
    const auto* step = c.values(1);
    if (!length) return;
    for (const D& d : {*length, step ? (*step)[0] : D(1)}) {
      const auto n = known(d);
      c.require(!n || *n >= 1, "a frame_step and a frame_length from 1", to_text(d));
    }
    const auto frames =
        step ? std::optional<D>(floor_div(in[1] - *length, (*step)[0]) + D(1)) : c.data_dependent();
    if (!frames) return;
    const auto n = known(*frames);
    c.require(!n || *n >= 0, "frames no longer than the signal", to_text(*length) + " of " + to_text(in[1]));
    c.output(0, {in[0], *frames, onesided ? floor_div(*length, D(2)) + D(1) : *length, D(2)});
  }
};

/// HannWindow, HammingWindow, BlackmanWindow. Periodic: one number longer, and the last left out.
struct Window {
  bool periodic = true;
  int64_t output_datatype = 1;
  void fields(auto&& f) {
    f("periodic", periodic);
    f("output_datatype", output_datatype);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto count = known(c.product(c.shape(0)));
    c.require(c.rank(0) <= 1 && (!count || *count == 1), "one number", c.text(c.shape(0)));
    const auto* v = c.values(0);
    const auto size = v ? std::optional<D>((*v)[0]) : c.data_dependent();
    if (!size) return;
    const auto n = known(*size);
    c.require(!n || *n >= 0, "a size from 0", to_text(*size));
    c.output(0, {*size});
  }
};

/// Triangles of equal width in mel: [dft_length / 2 + 1, num_mel_bins].
struct MelWeightMatrix {
  int64_t output_datatype = 1;
  void fields(auto&& f) { f("output_datatype", output_datatype); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    for (size_t i = 0; i < 5; ++i) {
      const auto count = known(c.product(c.shape(i)));
      c.require(c.rank(i) <= 1 && (!count || *count == 1), "one number", c.text(c.shape(i)));
    }
    const auto *bins = c.values(0), *length = c.values(1);
    const auto columns = bins ? std::optional<D>((*bins)[0]) : c.data_dependent();
    const auto rows = length ? std::optional<D>(floor_div((*length)[0], D(2)) + D(1)) : c.data_dependent();
    if (!columns || !rows) return;
    for (const D& d : {*rows, *columns}) {
      const auto n = known(d);
      c.require(!n || *n >= 0, "sizes from 0", to_text(d));
    }
    c.output(0, {*rows, *columns});
  }
};

}  // namespace lathe
