#include "runtime/profile_reserve.h"

#include <algorithm>

#include "runtime/body_memory_plans.h"
#include "runtime/engine_impl.h"
#include "runtime/memory.h"

namespace lathe {
namespace {

/// The most shapes of a profile that are tried; if there are fewer, all are.
constexpr int64_t max_tried = 128;

/// The shapes within a profile, by the size of every symbol and of every free axis without one. Sums have
/// their declared values.
class ProfileShapes {
 public:
  ProfileShapes(const Engine::Impl& engine, const PlanProfile& profile)
      : engine_(engine), profile_(profile), sums_(sums_of(engine.program.plan())) {
    for (const PlanProfile::Input& r : profile.inputs)
      for (size_t axis = 0; axis < r.max.size(); ++axis)
        if (const std::string name = name_of(r, axis); !sums_.contains(name))
          add(name, r.min[axis], r.max[axis]);
  }

  /// How many there are, but at most `max_tried`.
  int64_t count() const {
    int64_t n = 1;
    for (const Free& f : free_) n = std::min(max_tried, n * std::min(max_tried, f.max - f.min + 1));
    return n;
  }
  ShapeKey greatest() const {
    return key([](const Free& f, size_t) { return f.max; });
  }
  /// The i-th of count(): one after the other where that is all, else spread over them.
  ShapeKey at(int64_t i) const {
    int64_t all = 1;
    for (const Free& f : free_)
      all = all > max_tried ? all : all * std::min(max_tried + 1, f.max - f.min + 1);
    if (all > max_tried) return key([&](const Free& f, size_t k) { return spread(f, k, i); });
    return key([&, rest = i](const Free& f, size_t) mutable {
      const int64_t n = f.max - f.min + 1, size = f.min + rest % n;
      rest /= n;
      return size;
    });
  }

 private:
  struct Free {
    std::string name;
    int64_t min, max;
  };

  /// The name that an axis shares with others of the same size: its symbol, or else one of its own.
  std::string name_of(const PlanProfile::Input& r, size_t axis) const {
    const PlanGraph& g = engine_.program.plan().graphs[0];
    const auto& declared = g.values[g.inputs[r.input]].type.shape;
    const auto symbol = declared && axis < declared->size() ? (*declared)[axis].symbol_name() : std::nullopt;
    return symbol ? *symbol : std::to_string(r.input) + "/" + std::to_string(axis);
  }

  /// Notes the range of a size. For a symbol in several places it is the range that all of them allow.
  void add(const std::string& name, int64_t min, int64_t max) {
    const auto at = std::ranges::find(free_, name, &Free::name);
    if (at == free_.end()) return free_.push_back({name, min, max});
    at->min = std::max(at->min, min);
    at->max = std::max(at->min, std::min(at->max, max));
  }

  /// Multiples of irrational numbers, one for each size: no two go together.
  static int64_t spread(const Free& f, size_t which, int64_t i) {
    constexpr double ratio[] = {0.6180339887498949, 0.4142135623730951, 0.7320508075688772,
                                0.2360679774997896};
    const double turns = ratio[which % std::size(ratio)] * static_cast<double>(i + 1);
    const double part = turns - static_cast<double>(static_cast<int64_t>(turns));
    return f.min + static_cast<int64_t>(part * static_cast<double>(f.max - f.min + 1));
  }

  template <class F>
  ShapeKey key(F&& size_of) const {
    SymbolSizes sizes;
    for (size_t k = 0; k < free_.size(); ++k) sizes[free_[k].name] = size_of(free_[k], k);
    NamedShapes shapes;
    for (const PlanProfile::Input& r : profile_.inputs) {
      Shape shape = r.max;
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        const std::string name = name_of(r, axis);
        const auto sum = sums_.find(name);
        shape[axis] = sum == sums_.end() ? sizes.at(name)
                                         : std::clamp(sum->second.evaluate(sizes).value_or(r.max[axis]),
                                                      r.min[axis], r.max[axis]);
      }
      shapes[engine_.inputs[r.input].name] = shape;
    }
    return engine_.key_for(shapes);
  }

  const Engine::Impl& engine_;
  const PlanProfile& profile_;
  DeclaredSums sums_;
  std::vector<Free> free_;
};

void widen(std::vector<size_t>& sizes, const std::vector<size_t>& wanted) {
  sizes.resize(std::max(sizes.size(), wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i) sizes[i] = std::max(sizes[i], wanted[i]);
}

/// The memory plan that a run of these sizes gets.
MemoryPlan plan_for(const Program& program, ShapeKey key, bool without_reuse) {
  const ShapeKey exact = key;
  Growth::Sizes sizes;
  round_key(program, key, sizes);
  return plan_run(program, 0, key, exact, without_reuse);
}

}  // namespace

ProfileReserve reserve_of(const Engine::Impl& engine, const PlanProfile& profile) {
  const ProfileShapes shapes(engine, profile);
  ProfileReserve reserve{plan_for(engine.program, shapes.greatest(), true), shapes.greatest()};
  size_t workspace = reserve.peak.workspace;
  const int64_t count = shapes.count();
  for (int64_t i = -1; i < count; ++i) {
    const ShapeKey key = i < 0 ? shapes.greatest() : shapes.at(i);
    const MemoryPlan lesser = plan_for(engine.program, key, false);
    MemoryPlan without_reuse = plan_for(engine.program, key, true);
    workspace = std::max({workspace, lesser.workspace, without_reuse.workspace});
    reserve.peak.scratch = std::max(reserve.peak.scratch, lesser.scratch);
    widen(reserve.peak.lanes, lesser.lanes);
    widen(reserve.peak.device_workspace, lesser.device_workspace);
    reserve.peak.output_bytes = std::max(reserve.peak.output_bytes, lesser.output_bytes);
    if (!lesser.fits_in(reserve.peak) && !without_reuse.place_as(reserve.peak))
      widen(reserve.peak.arena, lesser.arena);
  }
  // Shapes that were not tried may need a little more.
  const size_t margin = workspace > reserve.peak.workspace ? workspace / 8 : 0;
  reserve.peak.workspace = aligned_size(workspace + margin);
  return reserve;
}

}  // namespace lathe
