#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>

#include "base/nearest.h"
#include "lathe/refit.h"
#include "plan/checksum.h"
#include "runtime/engine_impl.h"
#include "runtime/lora.h"
#include "runtime/weight_program.h"

namespace lathe {
namespace {

bool same_elements(const Tensor& a, const Tensor& b) {
  if (a.data() == b.data()) return true;
  if (a.type() == DataType::string) return std::ranges::equal(a.as<std::string>(), b.as<std::string>());
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

bool is_as_built(const BuiltInWeight& w, const Tensor& t) {
  return t.type() == w.type && t.shape() == w.shape && t.type() != DataType::string &&
         checksum_of(t.data(), t.bytes()) == w.checksum;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string s;
  for (const std::string& n : names) s += (s.empty() ? "" : ", ") + ("'" + n + "'");
  return s;
}

}  // namespace

struct Refitter::State {
  explicit State(std::shared_ptr<Engine::State> e) : engine(std::move(e)) {
    const auto now = engine->current();
    const Plan& plan = now->program.plan();
    for (const BuiltInWeight& w : plan.built_in) built_in[w.name].push_back(w);
    for (uint32_t i = 0; i < plan.weights.size(); ++i) {
      const WeightRecipe& r = plan.weights[i].recipe;
      if (r.kind != WeightRecipe::Kind::source || r.source.empty() || built_in.contains(r.source)) continue;
      const Tensor& t = plan.weights[i].value.tensor();
      weights[r.source].push_back({i, Tensor::view(t.type(), t.shape(), nullptr)});
    }
  }

  /// An array of the weights of an engine: its number there, and its type and shape, without elements.
  struct Place {
    uint32_t weight;
    Tensor form;
  };
  const Tensor& form(std::string_view name) const { return find(name)[0].form; }
  /// Returns the weight's tensor in the engine `by`.
  const Tensor& held(const Engine::Impl& by, std::string_view name) const {
    return by.program.plan().weights[find(name)[0].weight].value.tensor();
  }
  /// Several where bodies have initializers of the same name.
  const std::vector<Place>& find(std::string_view name) const {
    const auto at = weights.find(name);
    if (at != weights.end()) return at->second;
    if (built_in.contains(name))
      throw refused(name, "a weight that can be exchanged", "one that is built in");
    std::vector<std::string> known;
    for (const auto& [n, list] : weights) known.push_back(n);
    const std::vector<std::string> near = nearest_names(name, known);
    throw Error(Code::bad_argument, "refit", "the name of a weight", "'" + std::string(name) + "'",
                near.empty() ? "Refitter::all() lists them" : "near: " + list_of(near));
  }
  static Error refused(std::string_view name, std::string expected, std::string got) {
    return Error(Code::refit_built_in, "refit", std::move(expected), std::move(got),
                 "shapes or rewrites depend on what it holds: build the engine again")
        .at("refit", name, "");
  }
  /// Checks a new weight. Returns nothing if the engine was built with just this weight and needs no change.
  std::optional<Tensor> checked(std::string_view name, const Tensor& t) const {
    if (!t.defined()) throw Error(Code::refit_bad_weight, "refit", "a tensor", "none").at("refit", name, "");
    if (const auto at = built_in.find(name); at != built_in.end()) {
      if (std::ranges::any_of(at->second, [&](const BuiltInWeight& w) { return is_as_built(w, t); }))
        return std::nullopt;
      throw refused(name, "what it held when the engine was built", "another " + describe(t));
    }
    for (const auto& [place, now] : find(name)) {
      if (t.type() == now.type() && t.shape() == now.shape()) continue;
      std::string remedy;
      if (t.type() != now.type())
        remedy = "convert it first: nothing is converted";
      else if (t.rank() == 2 && now.rank() == 2 && t.dim(0) == now.dim(1) && t.dim(1) == now.dim(0))
        remedy = "transpose it first";
      throw Error(Code::refit_bad_weight, "refit", describe(now), describe(t), std::move(remedy))
          .at("refit", name, "");
    }
    return t.owned();
  }

  const std::shared_ptr<Engine::State> engine;
  std::map<std::string, std::vector<Place>, std::less<>> weights;  // stays, whatever is exchanged
  std::map<std::string, std::vector<BuiltInWeight>, std::less<>> built_in;
  NamedWeights set;
  std::map<std::string, std::optional<std::vector<LoraDelta>>, std::less<>> loras;  // nothing: to be removed
};

Refitter::Refitter(const Engine& engine) : state_(std::make_unique<State>(EngineAccess::state(engine))) {
  if (!engine.is_refittable())
    throw Error(Code::refit_not_allowed, "refit", "an engine that was built with refit", "one without",
                "build it again with BuildOptions::refit, --refit or refit=True");
}
Refitter::~Refitter() = default;
Refitter::Refitter(Refitter&&) noexcept = default;
Refitter& Refitter::operator=(Refitter&&) noexcept = default;

std::vector<std::string> Refitter::all() const {
  std::vector<std::string> names;
  for (const auto& [name, list] : state_->weights) names.push_back(name);
  return names;
}

std::vector<std::string> Refitter::missing() const {
  std::vector<std::string> names;
  for (const auto& [name, list] : state_->weights)
    if (!state_->set.contains(name)) names.push_back(name);
  return names;
}

bool Refitter::knows(std::string_view name) const {
  return state_->weights.contains(name) || state_->built_in.contains(name);
}

std::shared_ptr<const Engine::Impl> Refitter::engine() const { return state_->engine->current(); }

WeightInfo Refitter::prototype(std::string_view name) const {
  const Tensor& t = state_->form(name);
  return {std::string(name), t.type(), t.shape(), t.bytes()};
}

Tensor Refitter::get_named_weights(std::string_view name) const {
  if (const auto at = state_->set.find(name); at != state_->set.end()) return at->second;
  const auto now = state_->engine->current();
  return state_->held(*now, name).owned();
}

void Refitter::set_weights(std::string_view name, const Tensor& weights) {
  if (std::optional<Tensor> t = state_->checked(name, weights))
    state_->set.insert_or_assign(std::string(name), *std::move(t));
}

void Refitter::set_named_weights(const NamedWeights& weights) {
  NamedWeights fit;
  for (const auto& [name, t] : weights)
    if (std::optional<Tensor> kept = state_->checked(name, t)) fit.emplace(name, *std::move(kept));
  for (auto& [name, t] : fit) state_->set.insert_or_assign(name, std::move(t));
}

void Refitter::unset_weights(std::string_view name) {
  state_->find(name);
  if (const auto at = state_->set.find(name); at != state_->set.end()) state_->set.erase(at);
}
void Refitter::unset_weights() { state_->set.clear(); }

void Refitter::add_lora(const std::string& adapter, const std::vector<LoraDelta>& deltas) {
  std::set<std::string_view> seen;
  std::vector<LoraDelta> kept = deltas;
  for (LoraDelta& d : kept) {
    check_fit(d, state_->form(d.weight));
    if (!seen.insert(d.weight).second)
      throw Error(Code::bad_argument, "refit", "one delta for each weight", "two for '" + d.weight + "'",
                  "add them as two adapters");
    d.a = d.a.owned();
    d.b = d.b.owned();
  }
  if (kept.empty())
    throw Error(Code::bad_argument, "refit", "the deltas of adapter '" + adapter + "'", "none");
  state_->loras.insert_or_assign(adapter, std::move(kept));
}

void Refitter::remove_lora(std::string_view adapter) {
  const std::vector<std::string> there = loras();
  if (std::ranges::find(there, adapter) == there.end()) {
    const std::vector<std::string> near = nearest_names(adapter, there);
    throw Error(Code::bad_argument, "refit", "the name of an adapter", "'" + std::string(adapter) + "'",
                near.empty() ? "" : "near: " + list_of(near));
  }
  state_->loras.insert_or_assign(std::string(adapter), std::nullopt);
}

std::vector<std::string> Refitter::loras() const {
  std::set<std::string> names;
  {
    const std::lock_guard one_at_a_time(state_->engine->refitting);
    for (const auto& [weight, adapted] : state_->engine->adapted)
      for (const auto& [name, low] : adapted.adapters) names.insert(name);
  }
  for (const auto& [name, deltas] : state_->loras) {
    if (deltas)
      names.insert(name);
    else
      names.erase(name);
  }
  return {names.begin(), names.end()};
}

RefitReport Refitter::refit(RunControl* control) {
  const auto start = std::chrono::steady_clock::now();
  Engine::State& engine = *state_->engine;
  const std::lock_guard one_at_a_time(engine.refitting);
  const std::shared_ptr<const Engine::Impl> before = engine.current();
  const Program& program = before->program;
  AdaptedWeights adapted = engine.adapted;
  NamedWeights wanted = state_->set;

  // The changes of adapters are added to the weights as they are without any.
  std::set<std::string> merge;
  for (const auto& [adapter, deltas] : state_->loras) {
    for (auto& [weight, of] : adapted)
      if (of.adapters.erase(adapter)) merge.insert(weight);
    if (!deltas) continue;
    for (const LoraDelta& d : *deltas) {
      const auto [at, fresh] = adapted.try_emplace(d.weight);
      if (fresh) at->second.base = state_->held(*before, d.weight).owned();
      at->second.adapters[adapter] =
          std::make_shared<const LowRank>(LowRank{d.a, d.b, d.scale, d.transposed});
      merge.insert(d.weight);
    }
  }
  for (const auto& [name, t] : wanted)
    if (const auto at = adapted.find(name); at != adapted.end()) {
      at->second.base = t;
      merge.insert(name);
    }
  for (const std::string& name : merge) {
    const AdaptedWeight& of = adapted.find(name)->second;
    wanted.insert_or_assign(name, of.adapters.empty() ? of.base : merged(of, control));
    if (of.adapters.empty()) adapted.erase(name);
  }

  RefitReport report;
  ChangedSources changed;
  for (const auto& [name, t] : wanted)
    for (const auto& [w, form] : state_->find(name)) {
      if (control) control->check();
      if (!same_elements(program.plan().weights[w].value.tensor(), t)) changed.emplace(w, t);
    }
  if (!changed.empty()) {
    auto built = engine.built;
    if (!built) built = std::make_shared<const std::vector<PlanGraph>>(program.plan().graphs);
    Plan plan = with_sources(program.plan(), changed,
                             {program.extensions().kernels(), *built, control, program.options().threads,
                              program.options().executor},
                             report);
    auto now = std::make_shared<const Engine::Impl>(*before, std::move(plan));
    engine.replace(std::move(now));
    engine.built = std::move(built);
  }
  engine.adapted = std::move(adapted);
  state_->set.clear();
  state_->loras.clear();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace lathe
