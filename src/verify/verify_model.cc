#include "verify/verify_model.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "compiler/states.h"
#include "verify/bearing.h"
#include "verify/fault_localizer.h"
#include "verify/stateful_run.h"
#include "verify/sums.h"
#include "verify/synthetic_inputs.h"

namespace lathe {
namespace {

using Clock = std::chrono::steady_clock;

/// The inputs of one comparison.
struct Exercise {
  const ShapeSet* shapes = nullptr;
  ValueClass kind = ValueClass::ordinary;
  const std::vector<Value>* recorded = nullptr;  // not made up
  Gentleness gentleness = Gentleness::none;
  std::string values() const { return recorded ? "recorded" : std::string(name_of(kind)); }
  std::string label() const { return recorded ? shapes->label : shapes->label + ", " + values(); }
};

class Verification {
 public:
  Verification(const onnx::Model& model, const VerifyOptions& options, const Toolchain& toolchain)
      : options_(options),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(std::min(options.seconds, 1e9)))),
        variants_(options.build,
                  toolchain.extensions ? toolchain.extensions : Extensions::load(options.build.plugins),
                  toolchain.passes, toolchain.lowering),
        file_(model),
        model_(variants_.import(model, options.build.shapes)),
        reference_(variants_.reference_engine(*model_)),
        names_(output_names(*model_)) {
    state_positions(*model_, options.build);  // says what is wrong with them
    if (!options.build.control) {
      limit_.set_deadline(end_);
      variants_.set_control(&limit_);
    }
  }

  VerifyReport run() {
    plan();
    size_t done = 0;
    try {
      for (; done < exercises_.size() && !report_.fault; ++done) {
        if (Clock::now() >= end_) break;
        fraction_ = static_cast<double>(done) / static_cast<double>(exercises_.size());
        report_progress(exercises_[done].label());
        exercise(exercises_[done]);
      }
    } catch (const Error& e) {
      if (e.code() != Code::deadline || Clock::now() < end_) throw;
    }
    if (!report_.fault) leave_out(done);
    if (report_.trials.empty() && !report_.fault) nothing_compared();
    return std::move(report_);
  }

 private:
  void plan();
  void exercise(const Exercise& x);
  /// Returns a message if results differ because the model's formulas cannot compute with the synthetic
  /// inputs.
  std::string compare(OptimizationLevel level, const Exercise& x, const std::vector<Value>& inputs,
                      const std::vector<Value>& want);
  std::optional<std::vector<Value>> reference(const Exercise& x, std::vector<Value>& inputs);
  std::vector<Value> run(const Engine& engine, const std::vector<Value>& inputs) const {
    Context context = engine.create_context();
    return run_statefully(engine, context, inputs, variants_.options().control);
  }
  const Engine& engine(OptimizationLevel level);
  bool keeps_bounds(OptimizationLevel level, const Exercise& x, const std::vector<Value>& inputs, Held held);
  void report_progress(const std::string& text) const {
    const auto& progress = options_.build.progress;
    if (progress && !progress(text, fraction_))
      throw Error(Code::cancelled, "verify", "to go on", "cancelled by the caller");
  }
  void leave_out(size_t from);
  [[noreturn]] void nothing_compared() const;

  const VerifyOptions& options_;
  Clock::time_point end_;
  RunControl limit_;
  BuildVariants variants_;
  const onnx::Model& file_;
  std::unique_ptr<Graph> model_;
  Engine reference_;
  std::vector<std::string> names_;
  std::map<OptimizationLevel, Engine> engines_;
  std::set<OptimizationLevel> finite_only_;  // whose passes promise nothing of infinities and NaN
  std::vector<std::vector<Value>> recorded_;
  std::vector<ShapeSet> shapes_;
  std::vector<Exercise> exercises_;
  std::set<const ShapeSet*> refused_;  // shapes that the reference does not run on
  VerifyReport report_;
  double fraction_ = 0;
};

std::vector<Value> by_position(const std::vector<IoInfo>& inputs, const NamedValues& named) {
  std::vector<Value> list(inputs.size());
  for (const auto& [name, value] : named) {
    const auto at = std::ranges::find(inputs, name, &IoInfo::name);
    if (at == inputs.end())
      throw Error(Code::run_bad_input, "verify", "values for the model's inputs", "'" + name + "'");
    list[static_cast<size_t>(at - inputs.begin())] = value;
  }
  return list;
}

/// Recorded inputs come first, then one kind after the other, so that a short time still covers every shape.
void Verification::plan() {
  const std::vector<IoInfo>& inputs = reference_.inputs();
  for (const NamedValues& r : options_.recorded) recorded_.push_back(by_position(inputs, r));
  for (size_t i = 0; i < recorded_.size(); ++i)
    shapes_.push_back(shapes_of(inputs, recorded_[i],
                                recorded_.size() > 1 ? "recorded " + std::to_string(i + 1) : "recorded"));
  for (ShapeSet& made : shape_sets(inputs, options_.sizes, options_.shapes, recorded_))
    if (std::ranges::none_of(shapes_, [&](const ShapeSet& s) { return s.shapes == made.shapes; }))
      shapes_.push_back(std::move(made));
  for (size_t i = 0; i < recorded_.size(); ++i)
    exercises_.push_back({&shapes_[i], ValueClass::ordinary, &recorded_[i]});
  for (ValueClass kind : value_classes)
    for (const ShapeSet& s : shapes_) exercises_.push_back({&s, kind});
}

const Engine& Verification::engine(OptimizationLevel level) {
  auto at = engines_.find(level);
  if (at == engines_.end()) {
    const Optimum o = variants_.optimized(*model_, level);
    if (variants_.is_for_finite_only(o)) finite_only_.insert(level);
    at = engines_.emplace(level, variants_.engine(o, level)).first;
  }
  return at->second;
}

/// Returns the reference's outputs and sets `inputs`: integers are made more carefully until it accepts them.
std::optional<std::vector<Value>> Verification::reference(const Exercise& x, std::vector<Value>& inputs) {
  if (x.recorded) {
    inputs = *x.recorded;
    return run(reference_, inputs);
  }
  std::string why = "no values can be made up for an input that is no tensor; --inputs gives some";
  for (Care care : {Care::as_recorded, Care::small, Care::one, Care::zero}) {
    auto made = synthetic_inputs(reference_.inputs(), *x.shapes, x.kind, care, options_.seed, recorded_,
                                 x.gentleness);
    if (!made) break;
    inputs = *std::move(made);
    try {
      return run(reference_, inputs);
    } catch (const Error& e) {
      if (stops_everything(e)) throw;
      why = e.what();
    }
  }
  // If the reference refuses ordinary values, it would refuse others too.
  if (x.kind == ValueClass::ordinary) refused_.insert(x.shapes);
  report_.untried.push_back((x.kind == ValueClass::ordinary ? x.shapes->label : x.label()) + ": " + why);
  return std::nullopt;
}

void Verification::exercise(const Exercise& x) {
  if (refused_.contains(x.shapes)) return;
  const size_t trials = report_.trials.size();
  std::string not_borne;
  for (Gentleness gentleness : all_gentleness) {
    Exercise y = x;
    y.gentleness = gentleness;
    std::vector<Value> inputs;
    const auto want = reference(y, inputs);
    if (!want) return;
    report_.trials.resize(trials);
    not_borne.clear();
    for (OptimizationLevel level : options_.levels)
      if (!report_.fault && not_borne.empty()) not_borne = compare(level, y, inputs, *want);
    if (not_borne.empty()) return;
  }
  report_.trials.resize(trials);
  report_.untried.push_back(x.label() + ": the model does not bear them: " + not_borne);
}

std::string Verification::compare(OptimizationLevel level, const Exercise& x,
                                  const std::vector<Value>& inputs, const std::vector<Value>& want) {
  Held held = Held::all;
  Difference d;
  bool ran = true;
  try {
    const Engine& e = engine(level);
    const bool finite_inputs = x.kind != ValueClass::non_finite, promises_all = !finite_only_.contains(level);
    held = finite_inputs && promises_all   ? Held::all
           : finite_inputs || promises_all ? Held::finite
                                           : Held::none;
    d = tolerance_difference(run(e, inputs), want, names_, held);
  } catch (const Error& e) {
    if (stops_everything(e)) throw;
    d = failed_run(e);
    ran = false;
  }
  if (!d.within && ran && !x.recorded)
    if (std::string why = not_borne(variants_, *model_, inputs); !why.empty()) return why;
  VerifyReport::Trial trial{x.shapes->label, x.values(), level, d.largest, false};
  const bool agrees = d.within;
  if (!agrees || !keeps_bounds(level, x, inputs, held)) {
    limit_.clear_deadline();  // a fault that has been found is localized to the end
    const WrongRun wrong{file_, *model_, level, inputs, want, x.shapes->label, x.values(), held};
    report_.fault = FaultLocalizer(variants_, wrong, [&](const std::string& what) {
                      report_progress("looking for the fault: " + what);
                    }).find();
    trial.amplified = !agrees && !report_.fault;
    limit_.set_deadline(end_);
  }
  report_.trials.push_back(std::move(trial));
  return {};
}

/// Checks the bounds of sums. The tolerance is relative to the largest result, and so does not show what fast
/// algorithms lose of small ones.
bool Verification::keeps_bounds(OptimizationLevel level, const Exercise& x, const std::vector<Value>& inputs,
                                Held held) {
  const bool sums_of_many =
      x.kind == ValueClass::ordinary || x.kind == ValueClass::large || x.kind == ValueClass::uneven;
  if (!sums_of_many || held == Held::none || fast_kernel(engine(level).steps()).empty()) return true;
  const Optimum o = variants_.optimized(*model_, level);
  return !step_by_step(variants_, o, level, inputs, held, Judged::sums).first;
}

void Verification::leave_out(size_t from) {
  if (from == exercises_.size()) return;
  std::string list;
  for (size_t i = from; i < exercises_.size() && i < from + 6; ++i)
    list += (list.empty() ? "" : "; ") + exercises_[i].label();
  if (exercises_.size() > from + 6) list += "; and " + std::to_string(exercises_.size() - from - 6) + " more";
  report_.untried.push_back("no time left for " + list);
}

void Verification::nothing_compared() const {
  const std::string why = report_.untried.empty() ? "no inputs" : report_.untried.front();
  if (Clock::now() >= end_)
    throw Error(Code::deadline, "verify", "time for one comparison", why, "--seconds gives it more");
  throw Error(Code::bad_argument, "verify", "inputs that the reference runs on", why,
              "--inputs gives recorded ones, --shape other sizes");
}

}  // namespace

VerifyReport verify_model(const onnx::Model& model, const VerifyOptions& options,
                          const Toolchain& toolchain) {
  return Verification(model, options, toolchain).run();
}

}  // namespace lathe
