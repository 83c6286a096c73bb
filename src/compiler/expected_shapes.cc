#include "compiler/expected_shapes.h"

#include <algorithm>

#include "base/declared_sums.h"
#include "tensor/shape_rule.h"

namespace lathe {
namespace {

/// The sizes that symbols are assumed to have where neither options nor profiles specify them: the first axis
/// of an input is its batch, the last two of an input with four axes are the height and width of a
/// photograph.
constexpr int64_t usual_batch = 1, usual_size = 64, usual_image = 224;

int64_t usual(const SymShape& shape, size_t axis) {
  return axis == 0 ? usual_batch : shape.size() == 4 && axis >= 2 ? usual_image : usual_size;
}

[[noreturn]] void refuse(const ShapeProfile& p, const std::string& input, std::string expected,
                         std::string got) {
  throw Error(Code::build_bad_option, "build", std::move(expected),
              "profile '" + p.name + "', input '" + input + "': " + std::move(got),
              "`lathe inspect` lists inputs and symbols");
}

/// One profile on its way into the plan: the range that it gives each symbol.
class ProfileReader {
 public:
  ProfileReader(const Graph& g, const ShapeProfile& p) : graph_(g), profile_(p) {}

  PlanProfile read() {
    PlanProfile made{profile_.name, {}};
    for (const auto& [name, range] : profile_.inputs) {
      const auto at =
          std::ranges::find(graph_.inputs(), name, [&](ValueId v) { return graph_.value(v).name; });
      if (at == graph_.inputs().end()) refuse(profile_, name, "an input of the model", "no such input");
      check_order(name, range);
      const ValueType& type = graph_.value(*at).type;
      if (type.kind != ValueType::Kind::tensor) refuse(profile_, name, "a tensor", "another kind of value");
      for (size_t which = 0; type.shape && which < 3; ++which)
        match(name, *type.shape, *all(range)[which], which);
      made.inputs.push_back(
          {static_cast<uint32_t>(at - graph_.inputs().begin()), range.min, range.opt, range.max});
    }
    return made;
  }
  const LikelySizes& opt() const { return sizes_[1]; }

 private:
  static std::array<const Shape*, 3> all(const ShapeRange& r) { return {&r.min, &r.opt, &r.max}; }

  void check_order(const std::string& name, const ShapeRange& r) const {
    bool ordered = r.min.size() == r.opt.size() && r.opt.size() == r.max.size();
    for (size_t i = 0; ordered && i < r.min.size(); ++i)
      ordered = 0 <= r.min[i] && r.min[i] <= r.opt[i] && r.opt[i] <= r.max[i];
    if (!ordered)
      refuse(profile_, name, "0 <= min <= opt <= max on every axis",
             describe(r.min) + ", " + describe(r.opt) + ", " + describe(r.max));
  }

  void match(const std::string& name, const SymShape& declared, const Shape& given, size_t which) {
    if (declared.size() != given.size())
      refuse(profile_, name, "a shape of " + describe(declared), describe(given));
    for (size_t axis = 0; axis < given.size(); ++axis) {
      const Dim& d = declared[axis];
      const auto symbol = d.symbol_name();
      const bool agrees = symbol
                              ? sizes_[which].try_emplace(*symbol, given[axis]).first->second == given[axis]
                              : !d.is_constant() || d.constant() == given[axis];
      if (!agrees)
        refuse(profile_, name,
               "a shape of " + describe(declared) +
                   (symbol ? " where " + *symbol + " is " + std::to_string(sizes_[which].at(*symbol)) : ""),
               describe(given));
    }
  }

  const Graph& graph_;
  const ShapeProfile& profile_;
  LikelySizes sizes_[3];  // of symbols, by min, opt and max
};

}  // namespace

LikelySizes likely_sizes(const Graph& g, const BuildOptions& o) {
  LikelySizes sizes;
  std::vector<std::string> names;
  for (ValueId v : g.inputs()) {
    const auto& shape = g.value(v).type.shape;
    for (size_t axis = 0; shape && axis < shape->size(); ++axis)
      for (const std::string& symbol : (*shape)[axis].symbols())
        if (sizes.try_emplace(symbol, usual(*shape, axis)).second) names.push_back(symbol);
  }
  // Sums are what they are declared as, once their terms are known, unless the profile specifies them.
  DeclaredSums sums = declared_sums(names);
  for (const auto& [name, sum] : sums) sizes.erase(name);
  if (!o.profiles.empty()) {
    ProfileReader first(g, o.profiles[0]);
    first.read();
    for (const auto& [symbol, size] : first.opt()) {
      sizes[symbol] = size;
      sums.erase(symbol);
    }
  }
  for (const auto& [symbol, size] : o.tune_sizes) {
    const auto at = sizes.find(symbol);
    if (at == sizes.end() || size < 0)
      throw Error(Code::build_bad_option, "build", "tune_sizes, not negative, of symbols that inputs have",
                  symbol + "=" + std::to_string(size), "`lathe inspect` lists the symbols");
    at->second = size;
  }
  for (const auto& [name, sum] : sums)
    if (const auto size = sum.evaluate(sizes); size && *size >= 0) sizes[name] = *size;
  return sizes;
}

std::vector<PlanProfile> plan_profiles(const Graph& g, const BuildOptions& o) {
  if (o.profiles.size() > max_profiles)
    throw Error(Code::build_bad_option, "build", "at most " + std::to_string(max_profiles) + " profiles",
                std::to_string(o.profiles.size()));
  std::vector<PlanProfile> made;
  for (const ShapeProfile& p : o.profiles) {
    const auto same = [&](const PlanProfile& other) { return other.name == p.name; };
    if (p.name.empty() || std::ranges::any_of(made, same))
      throw Error(Code::build_bad_option, "build", "profiles with names of their own", "'" + p.name + "'");
    made.push_back(ProfileReader(g, p).read());
  }
  return made;
}

}  // namespace lathe
