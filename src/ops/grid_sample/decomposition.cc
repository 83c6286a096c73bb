#include "ops/grid_sample/decomposition.h"

#include "ops/grid_sample/grid_sample.h"
#include "schema/node_builder.h"

namespace lathe::decomposition {
using namespace node_builder;
namespace {

/// Every sample's pixel along one axis: [batch, samples].
struct Tap {
  ValueId index;   // within the axis, int64
  ValueId weight;  // no_id: 1
  ValueId inside;  // no_id: always
};

class GridWords {
 public:
  explicit GridWords(DecomposeContext& c)
      : c_(c),
        op_(decode<GridSample>(c.node().attributes)),
        image_type_(elem_of(c, input(c, 0))),
        type_(computed_in(elem_of(c, input(c, 1)))),
        axes_(rank_of(c, input(c, 0)) - 2) {}

  std::vector<ValueId> outputs() {
    const bool nearest = op_.mode == "nearest";
    if (!nearest && !is_float(image_type_))
      unsupported("images of floats", std::string(name_of(image_type_)));
    const ValueId flat = reshaped(c_, nearest ? input(c_, 0) : widened(c_, input(c_, 0)), {0, 0, -1});
    image_ = transposed(c_, flat, {0, 2, 1});  // [batch, pixels, channels]
    std::vector<Tap> taps{{no_id, no_id, no_id}};
    for (int64_t axis = 0; axis < axes_; ++axis) {
      std::vector<Tap> joined;
      const ValueId size = length(c_, input(c_, 0), 2 + axis);
      const std::vector<Tap> along = taps_of(axis, size);
      for (const Tap& outer : taps)
        for (const Tap& inner : along) joined.push_back(join(outer, inner, size));
      taps = std::move(joined);
    }
    ValueId sum = no_id;
    for (const Tap& t : taps) {
      const ValueId v = sampled(t);
      sum = sum == no_id ? v : one(c_, "Add", {sum, v});
    }
    const ValueId grid = one(c_, "Shape", {input(c_, 1)}), of_image = one(c_, "Shape", {input(c_, 0)});
    const ValueId places = sliced(c_, grid, ints(c_, {1}), ints(c_, {-1}), 0);
    const ValueId shape = concat(c_, {sliced(c_, of_image, ints(c_, {0}), ints(c_, {2}), 0), places}, 0);
    return {cast(c_, reshaped_to(c_, transposed(c_, sum, {0, 2, 1}), shape), image_type_)};
  }

 private:
  ValueId op(const char* name, ValueId a, ValueId b) const { return one(c_, name, {a, b}); }
  ValueId value(double v) const { return number(c_, v, type_); }

  /// Mirrors x at both borders until it is between them.
  ValueId reflected(ValueId x, ValueId low, ValueId high) const {
    const ValueId range = op("Sub", high, low), zero = value(0);
    const ValueId below = op("Less", x, low);
    const ValueId beyond = op("Max", op("Max", op("Sub", low, x), op("Sub", x, high)), zero);
    const ValueId turns = one(c_, "Floor", {op("Div", beyond, range)});
    const ValueId rest = op("Sub", beyond, op("Mul", turns, range));
    const ValueId odd = op("Sub", turns, times(c_, one(c_, "Floor", {times(c_, turns, 0.5)}), 2));
    // Counts from the lower border if x is below it and was mirrored an even number of times, or neither.
    const ValueId from_low = op("Xor", below, op("Greater", odd, zero));
    const ValueId mirrored = one(c_, "Where", {from_low, op("Add", low, rest), op("Sub", high, rest)});
    const ValueId within = one(c_, "Where", {op("Greater", beyond, zero), mirrored, x});
    return one(c_, "Where", {op("Greater", range, zero), within, low});
  }
  ValueId clamped(ValueId x, ValueId low, ValueId high) const { return op("Min", op("Max", x, low), high); }

  struct Axis {
    ValueId low, high, last;  // of coordinates in pixels; the last pixel
  };

  /// The coordinate of each sample along an axis, in pixels.
  ValueId place(int64_t axis, ValueId size, const Axis& a) const {
    const ValueId which = int_scalar(c_, axes_ - 1 - axis);
    const ValueId component = one(c_, "Gather", {input(c_, 1), which}, with("axis", int64_t{-1}));
    const ValueId from_zero = plus(c_, cast(c_, reshaped(c_, component, {0, -1}), type_), 1);
    ValueId x = op_.align_corners ? op("Mul", times(c_, from_zero, 0.5), a.last)
                                  : times(c_, plus(c_, op("Mul", from_zero, size), -1), 0.5);
    x = one(c_, "Where", {one(c_, "IsNaN", {x}), value(-1e9), x});
    x = clamped(x, value(-1e9), value(1e9));
    if (op_.mode == "nearest") x = one(c_, "Round", {x});
    if (op_.padding_mode == "zeros" || (op_.padding_mode == "border" && op_.mode == "cubic")) return x;
    if (op_.padding_mode == "reflection") return reflected(x, a.low, a.high);
    const ValueId outside = op("Or", op("Less", x, a.low), op("Greater", x, a.high));
    return one(c_, "Where", {outside, clamped(x, value(0), a.last), x});
  }
  Tap tap(ValueId pixel, ValueId weight, const Axis& a) const {
    Tap t{no_id, weight, no_id};
    if (op_.padding_mode == "zeros") {
      const ValueId out = op("Or", op("Less", pixel, value(0)), op("Greater", pixel, a.last));
      t.inside = one(c_, "Not", {out});
    }
    if (op_.padding_mode == "reflection") pixel = reflected(pixel, a.low, a.high);
    t.index = cast(c_, clamped(pixel, value(0), a.last), DataType::int64);
    return t;
  }
  /// ((p3 d + p2) d + p1) d + p0
  ValueId polynomial(ValueId d, double p3, double p2, double p1, double p0) const {
    const ValueId cubic = op("Mul", plus(c_, times(c_, d, p3), p2), d);
    return plus(c_, op("Mul", plus(c_, cubic, p1), d), p0);
  }
  std::vector<Tap> taps_of(int64_t axis, ValueId length_of) const {
    const ValueId size = cast(c_, scalar_of(c_, length_of), type_), last = plus(c_, size, -1);
    const Axis a{value(op_.align_corners ? 0 : -0.5), op_.align_corners ? last : plus(c_, size, -0.5), last};
    const ValueId x = place(axis, size, a);
    if (op_.mode == "nearest") return {tap(x, no_id, a)};
    const ValueId base = one(c_, "Floor", {x}), r = op("Sub", x, base), rest = op("Sub", value(1), r);
    if (op_.mode == "linear") return {tap(base, rest, a), tap(plus(c_, base, 1), r, a)};
    constexpr double k = -0.75;
    const auto near = [&](ValueId d) { return polynomial(d, k + 2, -(k + 3), 0, 1); };
    const auto far = [&](ValueId d) { return polynomial(plus(c_, d, 1), k, -5 * k, 8 * k, -4 * k); };
    return {tap(plus(c_, base, -1), far(r), a), tap(base, near(r), a), tap(plus(c_, base, 1), near(rest), a),
            tap(plus(c_, base, 2), far(rest), a)};
  }
  Tap join(const Tap& outer, const Tap& inner, ValueId size) const {
    if (outer.index == no_id) return inner;
    const auto both = [&](const char* name, ValueId a, ValueId b) { return b == no_id ? a : op(name, a, b); };
    return {op("Add", op("Mul", outer.index, size), inner.index), both("Mul", outer.weight, inner.weight),
            both("And", outer.inside, inner.inside)};
  }
  /// [batch, samples, channels]
  ValueId sampled(const Tap& t) const {
    const ValueId index = unsqueezed(c_, t.index, {2});
    ValueId v = one(c_, "GatherND", {image_, index}, with("batch_dims", int64_t{1}));
    if (t.inside != no_id) {
      const ValueId nothing = c_.add_constant(zeros(c_.type(image_).elem, {}), "nothing");
      v = one(c_, "Where", {unsqueezed(c_, t.inside, {2}), v, nothing});
    }
    if (t.weight != no_id) v = op("Mul", v, cast(c_, unsqueezed(c_, t.weight, {2}), c_.type(v).elem));
    return v;
  }

  DecomposeContext& c_;
  const GridSample op_;
  const DataType image_type_, type_;  // of coordinates
  const int64_t axes_;
  ValueId image_ = no_id;
};

}  // namespace

std::vector<ValueId> grid_sample(DecomposeContext& c) { return GridWords(c).outputs(); }

}  // namespace lathe::decomposition
