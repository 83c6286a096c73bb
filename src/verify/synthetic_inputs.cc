#include "verify/synthetic_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "lathe/values.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// Large and tiny numbers of a type: large ones whose products are still numbers, tiny ones that are
/// denormal.
struct MadeMagnitudes {
  double large, tiny;
};
MadeMagnitudes magnitudes_of(DataType t, Gentleness gentleness) {
  const auto one_of = [&](MadeMagnitudes usual, MadeMagnitudes some, MadeMagnitudes most) {
    return gentleness == Gentleness::none ? usual : gentleness == Gentleness::some ? some : most;
  };
  switch (t) {
    case DataType::float64:
    case DataType::complex128:
      return one_of({1e8, 1e-310}, {1e4, 1e-100}, {10, 1e-8});
    case DataType::float32:
    case DataType::complex64:
    case DataType::bfloat16:
      return one_of({1e4, 1e-39}, {1e2, 1e-18}, {10, 1e-4});
    case DataType::float16:
      return one_of({1e2, 3e-5}, {10, 1e-2}, {4, 0.1});
    default:
      return {4, 0.02};
  }
}

/// A float of the kind, from one in [-1, 1).
double shaped(double x, ValueClass kind, const MadeMagnitudes& m, Gentleness gentleness) {
  // Divisors must be neither zero nor close to it.
  constexpr double least = 0x1p-10;
  if (gentleness != Gentleness::none && kind != ValueClass::zeros && kind != ValueClass::ones) {
    x = kind == ValueClass::tiny ? std::copysign(std::max(std::abs(x), least), x) : std::abs(x) + least;
    if (gentleness == Gentleness::most && kind != ValueClass::tiny) x += 1;
  }
  switch (kind) {
    case ValueClass::zeros:
      return 0;
    case ValueClass::ones:
      return 1;
    case ValueClass::large:
      return x * m.large;
    case ValueClass::tiny:
      return x * m.tiny;
    case ValueClass::negative:
      return -std::abs(x) - least;
    case ValueClass::ordinary:
    case ValueClass::uneven:
    case ValueClass::non_finite:
      break;
  }
  return x;
}

/// Of every eight elements one becomes NaN, infinity or its negative in turn: the first, and in every other
/// eight the one with this number, since what an operator makes of NaN may depend on whether one operand has
/// it or all.
void spoil(Tensor& t, size_t number) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double bad[] = {std::numeric_limits<double>::quiet_NaN(), inf, -inf};
  constexpr int64_t apart = 8;
  for (int64_t i = 0; i < t.size(); i += apart) {
    const int64_t k = i / apart, own = static_cast<int64_t>(number) % std::min(apart, t.size() - i);
    store_double(t, i + (k % 2 == 0 ? own : 0), bad[k % 3]);
  }
}

/// Makes a few elements, the fourth of them first, as large as large ones: beside them others are not to lose
/// anything.
void raise_some(Tensor& t, double by) {
  constexpr int64_t first = 3, apart = 61;
  for (int64_t i = first; i < t.size(); i += apart) store_double(t, i, load_double(t, i) * by);
}

Tensor floats(DataType type, const Shape& shape, ValueClass kind, size_t spoiled, uint64_t seed,
              Gentleness gentleness) {
  const Tensor base = random_tensor(DataType::float64, shape, seed);
  Tensor t(type, shape);
  const MadeMagnitudes magnitudes = magnitudes_of(type, gentleness);
  for (int64_t i = 0; i < t.size(); ++i)
    store_double(t, i, shaped(load_double(base, i), kind, magnitudes, gentleness));
  if (kind == ValueClass::uneven) raise_some(t, magnitudes.large);
  if (kind == ValueClass::non_finite) spoil(t, spoiled);
  return t;
}

/// Random whole numbers below `n`.
std::vector<int64_t> draws(const Shape& shape, int64_t n, uint64_t seed) {
  const Tensor base = random_tensor(DataType::float64, shape, seed);
  std::vector<int64_t> list;
  for (int64_t i = 0; i < base.size(); ++i)
    list.push_back(std::min<int64_t>(
        n - 1, static_cast<int64_t>((load_double(base, i) + 1) / 2 * static_cast<double>(n))));
  return list;
}

/// Elements of recorded tensors, anywhere.
Tensor drawn_from(const std::vector<const Tensor*>& from, const Shape& shape, uint64_t seed) {
  const Tensor& source = *from[seed % from.size()];
  Tensor t(source.type(), shape);
  const std::vector<int64_t> at = draws(shape, source.size(), seed);
  for (int64_t i = 0; i < t.size(); ++i) {
    const int64_t j = at[static_cast<size_t>(i)];
    if (t.type() == DataType::string)
      t.as<std::string>()[static_cast<size_t>(i)] = source.as<std::string>()[static_cast<size_t>(j)];
    else
      store_int(t, i, load_int(source, j));
  }
  return t;
}

bool is_index_type(DataType t) {
  return t == DataType::int32 || t == DataType::int64 || t == DataType::uint32 || t == DataType::uint64;
}

Tensor whole_numbers(DataType type, const Shape& shape, ValueClass kind, Care care, uint64_t seed) {
  Tensor t(type, shape);
  if (type == DataType::string) return t;
  const int64_t ones = kind == ValueClass::ones ? 1 : 0;
  const bool narrow = care == Care::as_recorded && !is_index_type(type) && type != DataType::boolean;
  const bool one_value = care >= Care::one || kind == ValueClass::zeros || kind == ValueClass::ones;
  const int64_t range = one_value ? 1 : narrow ? int64_t{1} << std::min(bits_of(type), 16) : 2;
  const std::vector<int64_t> drawn = draws(shape, range, seed);
  for (int64_t i = 0; i < t.size(); ++i)
    store_int(t, i,
              one_value ? (care == Care::zero  ? 0
                           : care == Care::one ? 1
                                               : ones)
                        : drawn[static_cast<size_t>(i)]);
  return t;
}

/// Sizes of symbols, with one for those that are not among them.
struct Sizing {
  std::map<std::string, int64_t> sizes;
  int64_t others = 1;
  int64_t of(std::string_view symbol) const {
    const auto at = sizes.find(std::string(symbol));
    return at == sizes.end() ? others : at->second;
  }
};

Shape sized(const SymShape& shape, const Sizing& sizing) {
  Shape s;
  for (const Dim& d : shape)
    s.push_back(d.evaluate([&](std::string_view name) -> std::optional<int64_t> {
                   return sizing.of(name);
                 }).value_or(sizing.others));
  return s;
}

ShapeSet shape_set(const std::vector<IoInfo>& inputs, std::string label, const Sizing& sizing,
                   const NamedShapes& given) {
  ShapeSet set{std::move(label), std::vector<std::optional<Shape>>(inputs.size())};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const IoInfo& io = inputs[i];
    if (io.optional || io.element_type == DataType::undefined) continue;
    if (const auto at = given.find(io.name); at != given.end())
      set.shapes[i] = at->second;
    else if (io.shape)
      set.shapes[i] = sized(*io.shape, sizing);
    else
      throw Error(Code::bad_argument, "verify", "a shape for input '" + io.name + "'",
                  "none: its rank is not declared", "--shape " + io.name + "=2x3");
  }
  return set;
}

std::set<std::string> free_symbols(const std::vector<IoInfo>& inputs,
                                   const std::map<std::string, int64_t>& sizes, const NamedShapes& given) {
  std::set<std::string> free;
  for (const IoInfo& io : inputs)
    if (io.shape && !io.optional && !given.contains(io.name))
      for (const Dim& d : *io.shape)
        for (const std::string& symbol : d.symbols())
          if (!sizes.contains(symbol)) free.insert(symbol);
  return free;
}

std::string label_of(const std::set<std::string>& free, int64_t size) {
  if (free.empty()) return "as declared";
  if (free.size() > 3) return "all symbols " + std::to_string(size);
  std::string text;
  for (const std::string& name : free) text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(size);
  return text;
}

/// The sizes that recorded inputs give to symbols.
std::map<std::string, int64_t> learned(const std::vector<IoInfo>& inputs,
                                       const std::vector<Value>& recorded) {
  std::map<std::string, int64_t> sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!recorded[i].is_tensor() || !inputs[i].shape) continue;
    const Tensor& t = recorded[i].tensor();
    for (size_t axis = 0; axis < inputs[i].shape->size() && axis < t.rank(); ++axis)
      if (const auto name = (*inputs[i].shape)[axis].symbol_name()) sizes[*name] = t.dim(axis);
  }
  return sizes;
}

}  // namespace

std::string_view name_of(ValueClass c) {
  constexpr std::string_view names[] = {"ordinary", "zeros", "ones",     "large",
                                        "uneven",   "tiny",  "negative", "non-finite"};
  return names[static_cast<size_t>(c)];
}

std::vector<ShapeSet> shape_sets(const std::vector<IoInfo>& inputs,
                                 const std::map<std::string, int64_t>& sizes, const NamedShapes& given,
                                 const std::vector<std::vector<Value>>& recorded) {
  constexpr size_t max_alone = 6;
  const std::set<std::string> free = free_symbols(inputs, sizes, given);
  std::vector<ShapeSet> sets;
  for (int64_t size : {1, 2, 3, 17}) {
    sets.push_back(shape_set(inputs, label_of(free, size), {sizes, size}, given));
    if (free.empty()) return sets;
  }
  if (free.size() == 1 && recorded.empty()) return sets;
  std::map<std::string, int64_t> base = recorded.empty() ? sizes : learned(inputs, recorded[0]);
  for (const auto& [symbol, size] : sizes) base[symbol] = size;
  for (const std::string& symbol : free) {
    if (sets.size() == 4 + max_alone) break;
    Sizing alone{base};
    const int64_t size = alone.of(symbol) == 3 ? 2 : 3;
    alone.sizes[symbol] = size;
    sets.push_back(shape_set(
        inputs, symbol + "=" + std::to_string(size) + ", others " + (recorded.empty() ? "1" : "as recorded"),
        alone, given));
  }
  return sets;
}

ShapeSet shapes_of(const std::vector<IoInfo>& inputs, const std::vector<Value>& recorded, std::string label) {
  ShapeSet set{std::move(label), std::vector<std::optional<Shape>>(inputs.size())};
  for (size_t i = 0; i < inputs.size(); ++i)
    if (recorded[i].is_tensor()) set.shapes[i] = recorded[i].tensor().shape();
  return set;
}

namespace {

/// Returns which of every eight elements of an input is spoiled: another one in each of several inputs that
/// have one shape, as the operands of an elementwise operator do. (Weights of a convolution are not among
/// them: infinite ones make NaN of the zeros around an image.)
size_t spoiled_of(const ShapeSet& shapes, size_t input) {
  size_t before = 0;
  for (size_t i = 0; i < input; ++i) before += shapes.shapes[i] == shapes.shapes[input];
  return before;
}

}  // namespace

std::optional<std::vector<Value>> synthetic_inputs(const std::vector<IoInfo>& inputs, const ShapeSet& shapes,
                                                   ValueClass kind, Care care, uint64_t seed,
                                                   const std::vector<std::vector<Value>>& recorded,
                                                   Gentleness gentleness) {
  std::vector<Value> made(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const IoInfo& io = inputs[i];
    const uint64_t own_seed = seed * 1000 + i;
    std::vector<const Tensor*> like;
    for (const auto& set : recorded)
      if (set[i].is_tensor() && set[i].tensor().size() > 0) like.push_back(&set[i].tensor());
    if (!shapes.shapes[i]) {
      if (io.element_type == DataType::undefined && !io.optional) {
        if (recorded.empty() || recorded[0][i].empty()) return std::nullopt;
        made[i] = recorded[0][i];
      }
    } else if (is_float(io.element_type)) {
      made[i] = floats(io.element_type, *shapes.shapes[i], kind, spoiled_of(shapes, i), own_seed, gentleness);
    } else if (is_complex(io.element_type)) {
      return std::nullopt;
    } else if (care == Care::as_recorded && !like.empty()) {
      made[i] = drawn_from(like, *shapes.shapes[i], own_seed);
    } else {
      made[i] = whole_numbers(io.element_type, *shapes.shapes[i], kind, care, own_seed);
    }
  }
  return made;
}

}  // namespace lathe
