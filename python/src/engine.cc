// Engines and their controls. The interpreter lock is free while models are built and run.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <optional>

#include "interruptible.h"
#include "module.h"
#include "pooled_engine.h"

namespace lathe::python {

nb::dict to_python(const IoInfo& io) {
  nb::dict d;
  d["name"] = io.name;
  d["type"] = io.type;
  d["dtype"] = io.element_type == DataType::undefined
                   ? nb::object(nb::none())
                   : nb::object(nb::cast(std::string(name_of(io.element_type))));
  d["shape"] = shape_to_python(io.shape);
  d["optional"] = io.optional;
  d["state"] = io.state.empty() ? nb::object(nb::none()) : nb::object(nb::cast(io.state));
  return d;
}

nb::list to_python(const std::vector<IoInfo>& list) {
  nb::list l;
  for (const IoInfo& io : list) l.append(to_python(io));
  return l;
}

namespace {

nb::list step_list(const Engine& e) {
  nb::list l;
  for (const StepInfo& s : e.steps()) {
    nb::dict d;
    d["node"] = s.node;
    d["op"] = s.op;
    d["kernel"] = s.kernel;
    d["backend"] = s.backend;
    d["origin"] = s.origin;
    d["refusals"] = s.refusals;
    d["fused"] = s.fused;
    d["unfused"] = s.unfused;
    d["tunables"] = s.tunables;
    nb::list timings;
    for (const StepInfo::Timing& t : s.timings) timings.append(nb::make_tuple(t.tactic, t.microseconds));
    d["timings"] = timings;
    d["strict"] = s.strict;
    d["memory"] = s.memory;
    l.append(d);
  }
  return l;
}

nb::dict target_of(const Engine& e) {
  const TargetInfo info = e.target();
  nb::dict d;
  d["isa"] = info.isa;
  d["built_for"] = info.built_for;
  d["section"] = info.section;
  d["device"] = info.device;
  return d;
}

nb::dict to_python(const MemoryInfo& info) {
  nb::dict d;
  d["weights"] = info.weights;
  d["activations"] = info.activations;
  d["workspace"] = info.workspace;
  d["outputs"] = info.outputs;
  d["data_dependent"] = info.data_dependent;
  d["uncounted"] = info.uncounted;
  d["records"] = info.records;
  d["states"] = info.states;
  d["total"] = info.total();
  return d;
}

nb::dict output_shapes_of(const Engine& e, const nb::dict& shapes) {
  nb::dict d;
  for (const auto& [name, shape] : e.output_shapes(named_shapes_from_python(shapes)))
    d[name.c_str()] = shape_to_python(shape);
  return d;
}

nb::dict tuning_of(const Engine& e) {
  const TuningReport& r = e.tuning();
  nb::dict d;
  d["problems"] = r.problems;
  d["timed"] = r.timed;
  d["cached"] = r.cached;
  d["untimed"] = r.untimed;
  d["seconds"] = r.seconds;
  return d;
}

/// A Python function that gets the progress of a build; an exception of it ends the build.
class ProgressListener {
 public:
  explicit ProgressListener(nb::object f) : f_(std::move(f)) {}
  bool operator()(std::string_view stage, double fraction) {
    nb::gil_scoped_acquire gil;
    try {
      f_(nb::str(stage.data(), stage.size()), fraction);
      return true;
    } catch (const nb::python_error& e) {
      raised_.emplace(e);
      return false;
    }
  }
  void raise() const {
    if (raised_) throw *raised_;
  }

 private:
  nb::object f_;
  std::optional<nb::python_error> raised_;
};

/// `make(options)` without the interpreter lock, told to `progress`.
template <class F>
std::shared_ptr<PooledEngine> build_with(BuildOptions options, nb::object progress, F&& make) {
  ProgressListener listener(progress);
  if (!progress.is_none())
    options.progress = [&](std::string_view stage, double fraction) { return listener(stage, fraction); };
  std::shared_ptr<PooledEngine> engine;
  try {
    Interruptible().call(options.control, [&](RunControl* control) {
      options.control = control;
      engine = std::make_shared<PooledEngine>(make(options));
    });
  } catch (const Error&) {
    listener.raise();
    throw;
  }
  return engine;
}

std::shared_ptr<PooledEngine> build(nb::handle source, const BuildOptions& options, nb::object progress) {
  const onnx::Model model = model_from_python(source, options.load);
  return build_with(options, std::move(progress),
                    [&](const BuildOptions& o) { return Engine::build(model, o); });
}

std::shared_ptr<PooledEngine> build_network(const Network& n, const BuildOptions& options,
                                            nb::object progress) {
  return build_with(options, std::move(progress),
                    [&](const BuildOptions& o) { return Builder().build_engine(n, o); });
}

nb::bytes serialize(const PooledEngine& e) {
  std::vector<std::byte> plan;
  {
    nb::gil_scoped_release free;
    plan = e.engine().serialize();
  }
  return nb::bytes(plan.data(), plan.size());
}

std::shared_ptr<PooledEngine> deserialize(const nb::bytes& plan, const BuildOptions& o) {
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(plan.data()), plan.size());
  nb::gil_scoped_release free;
  return std::make_shared<PooledEngine>(Engine::deserialize(bytes, o));
}

void set_timeout(RunControl& c, double seconds) {
  c.set_deadline(std::chrono::steady_clock::now() +
                 std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                     std::chrono::duration<double>(seconds)));
}

/// {name: {input: (min, opt, max)}}
void set_profiles(BuildOptions& o, const nb::dict& profiles) {
  o.profiles.clear();
  for (const auto& [name, inputs] : profiles) {
    ShapeProfile& p = o.profiles.emplace_back();
    p.name = nb::cast<std::string>(name);
    for (const auto& [input, range] : nb::cast<nb::dict>(inputs))
      p.inputs[nb::cast<std::string>(input)] = {shape_from_python(range[0]), shape_from_python(range[1]),
                                                shape_from_python(range[2])};
  }
}

/// [(input, output, element type or "", indices of a block)], the first two glob patterns.
void set_states(BuildOptions& o,
                const std::vector<std::tuple<std::string, std::string, std::string, int64_t>>& states) {
  o.states.clear();
  for (const auto& [input, output, name, block] : states) {
    const auto type = name.empty() ? std::optional(DataType::undefined) : data_type_from(name);
    if (!type)
      throw Error(Code::build_bad_option, "build", "a state of float32, float16, bfloat16 or int8",
                  "'" + name + "'");
    o.states.push_back({input, output, *type, block});
  }
}

nb::dict create_states(const PooledEngine& e, const std::map<std::string, int64_t>& sizes, int64_t capacity) {
  nb::dict all;
  for (auto& [name, state] : State::create_all(e.engine(), sizes, capacity))
    all[name.c_str()] = nb::cast(state);
  return all;
}

nb::dict profiles_of(const Engine& e) {
  nb::dict all;
  for (const ShapeProfile& p : e.profiles()) {
    nb::dict inputs;
    for (const auto& [input, r] : p.inputs)
      inputs[input.c_str()] =
          nb::make_tuple(shape_to_python(r.min), shape_to_python(r.opt), shape_to_python(r.max));
    all[p.name.c_str()] = inputs;
  }
  return all;
}

void bind_options(nb::module_& m) {
  nb::class_<RunControl>(m, "RunControl",
                         "Stops a build or a run, from any thread, or by a deadline. Thread-safe.")
      .def(nb::init<>())
      .def(
          "cancel", &RunControl::cancel,
          "Makes the builds and runs that use this control raise lathe.Error E4201 (cancelled) within 50 ms.")
      .def("reset", &RunControl::reset, "Undoes cancel(), for the next build or run.")
      .def_prop_ro("cancelled", &RunControl::cancelled, "True after cancel() and before reset().")
      .def("set_timeout", &set_timeout, nb::arg("seconds"),
           "Makes builds and runs raise lathe.Error E4202 (deadline) after this many seconds from now.")
      .def("clear_timeout", &RunControl::clear_deadline, "Removes the deadline.")
      .def("check", &RunControl::check,
           "Raises lathe.Error E4201 (cancelled) or E4202 (deadline) where it is cancelled or late, for "
           "loops of your own.");
  nb::enum_<OptimizationLevel> levels(
      m, "OptimizationLevel",
      "Selects how much of the optimizer runs. Each level contains those before it: none only folds "
      "constants; basic removes identities and repeated work and folds into weights; extended also composes "
      "patterns into operators such as Gelu; all is everything.");
  for (OptimizationLevel l : optimization_levels) levels.value(name_of(l).data(), l);
  nb::enum_<Precision> named(m, "Precision",
                             "The type that products with constant weights are calculated in; bfloat16 keeps "
                             "8 bits of each factor and sums in float32.");
  for (Precision p : precisions) named.value(name_of(p).data(), p);
  nb::enum_<Numerics> strictness(
      m, "Numerics",
      "Selects what the bits of a result may depend on: normal, on all shapes; strict, not on the size of "
      "the batch. They never depend on the number of threads.");
  for (Numerics n : all_numerics) strictness.value(name_of(n).data(), n);
  nb::enum_<TuningEffort> efforts(
      m, "TuningEffort",
      "Selects how much a build measures: none, nothing; normal, kernels of the best instruction set and the "
      "layout of images; high, those of lesser instruction sets too, with more repetitions.");
  for (TuningEffort e : tuning_efforts) efforts.value(name_of(e).data(), e);
  nb::class_<BuildOptions>(m, "BuildOptions",
                           "The options of a build; lathe.build describes them by these names.")
      .def(nb::init<>())
      .def_rw("threads", &BuildOptions::threads,
              "The number of threads of a run; 0 takes what cgroup quota and cpuset allow.")
      .def_rw("backend", &BuildOptions::backend, "The backend, or an order of preference: \"npu:cpu\".")
      .def_rw("isa", &BuildOptions::isa, "The best instruction set that may be used; \"\" is any.")
      .def_rw("level", &BuildOptions::level, "The OptimizationLevel.")
      .def_rw("passes", &BuildOptions::passes,
              "The passes that are switched on and off: \"+name\", \"-name\".")
      .def_rw("allow_reference", &BuildOptions::allow_reference,
              "False makes an operator without a fast kernel an error, E3002.")
      .def_rw("precision", &BuildOptions::precision, "The Precision of products with constant weights.")
      .def_rw("numerics", &BuildOptions::numerics, "The Numerics of the engine.")
      .def("set_profiles", &set_profiles, nb::arg("profiles"),
           "Sets the optimization profiles: {name: {input: (min, opt, max)}}.")
      .def("set_states", &set_states, nb::arg("states"),
           "Sets the pairs of inputs and outputs that are states.")
      .def_rw("state_capacity", &BuildOptions::state_capacity, "The greatest length of states that grow.")
      .def_rw("refit", &BuildOptions::refit, "True lets weights be exchanged later.")
      .def_rw("portable", &BuildOptions::portable, "True makes a saved plan open on lesser processors too.")
      .def_rw("verify_weights", &BuildOptions::verify_weights,
              "True compares every stored array of a plan with its checksum, E5005.")
      .def_rw("flush_denormals", &BuildOptions::flush_denormals,
              "True treats denormal numbers as zero while running.")
      .def_rw("taps", &BuildOptions::taps, "Shell patterns of the inner values that a run may report.")
      .def_rw("memory_limit", &BuildOptions::memory_limit,
              "The bytes that one context may hold; 0 is what the control group allows.")
      .def_rw("fold_limit", &BuildOptions::fold_limit, "The bytes that constant folding may add.")
      .def_rw("shapes", &BuildOptions::shapes, "Sizes of symbols that are fixed at build.")
      .def_rw("fix_defaults", &BuildOptions::fix_defaults, "True makes inputs that have a default constants.")
      .def_rw("effort", &BuildOptions::effort, "The TuningEffort.")
      .def_rw("tune_seconds", &BuildOptions::tune_seconds,
              "The seconds after which nothing more is measured.")
      .def_rw("tune_sizes", &BuildOptions::tune_sizes, "The sizes of free symbols that are measured with.")
      .def_rw("timing_cache", &BuildOptions::timing_cache, "The JSON file of measured times.")
      .def_rw("timings", &BuildOptions::timings, "The TimingCache in memory.")
      .def_rw("timing_cache_pinned", &BuildOptions::timing_cache_pinned,
              "True decides by the timing cache alone, E3006 where it lacks a problem.")
      .def_rw("plugins", &BuildOptions::plugins, "Shared libraries that bring backends or operators.")
      .def_rw("load", &BuildOptions::load, "The LoadOptions of models.")
      .def_prop_rw(
          "control", [](const BuildOptions& o) { return o.control; },
          [](BuildOptions& o, RunControl* c) { o.control = c; }, nb::for_setter(nb::keep_alive<1, 2>()),
          nb::for_setter(nb::arg().none()), nb::rv_policy::reference,
          "The RunControl that stops the build, or None.");
}

}  // namespace

void bind_engine(nb::module_& m) {
  bind_options(m);
  nb::class_<PooledEngine>(m, "Engine",
                           "The native half of lathe.Engine, which describes its methods: an engine and a "
                           "pool of contexts. Thread-safe.")
      .def(
          "run",
          [](PooledEngine& e, const nb::dict& inputs, RunControl* control) {
            const NamedValues values = values_from_python(inputs);
            NamedValues outputs;
            e.runs().call(control, [&](RunControl* c) { outputs = e.run(values, c); });
            return values_to_python(outputs);
          },
          nb::arg("inputs"), nb::arg("control").none() = nullptr,
          "Runs on inputs by name and returns all outputs by name.")
      .def(
          "create_context", [](const PooledEngine& e) { return to_python(e.engine().create_context()); },
          nb::sig("def create_context(self) -> Context"), "Returns a new context.")
      .def(
          "save", [](const PooledEngine& e, const std::filesystem::path& p) { e.engine().save(p); },
          nb::arg("path"), nb::call_guard<nb::gil_scoped_release>(), "Writes a plan.")
      .def(
          "inputs", [](const PooledEngine& e) { return to_python(e.engine().inputs()); },
          "Returns the inputs as dicts with the fields of IoInfo.")
      .def(
          "outputs", [](const PooledEngine& e) { return to_python(e.engine().outputs()); },
          "Returns the outputs as dicts with the fields of IoInfo.")
      .def(
          "symbols", [](const PooledEngine& e) { return e.engine().symbols(); },
          "Returns the names of the symbols in the input shapes.")
      .def(
          "metadata", [](const PooledEngine& e) { return e.engine().metadata(); },
          "Returns the model's metadata_props as pairs.")
      .def(
          "steps", [](const PooledEngine& e) { return step_list(e.engine()); },
          "Returns the steps as dicts with the fields of Step.")
      .def(
          "tuning", [](const PooledEngine& e) { return tuning_of(e.engine()); },
          "Returns the counts of what the build measured.")
      .def(
          "threads", [](const PooledEngine& e) { return e.engine().threads(); },
          "Returns the number of threads of a run.")
      .def(
          "target", [](const PooledEngine& e) { return target_of(e.engine()); },
          "Returns \"isa\", \"built_for\", \"section\" and \"device\".")
      .def(
          "is_refittable", [](const PooledEngine& e) { return e.engine().is_refittable(); },
          "Returns whether weights can be exchanged.")
      .def(
          "refits", [](const PooledEngine& e) { return e.engine().refits(); },
          "Returns how many times weights were exchanged.")
      .def("serialize", &serialize, "Returns the bytes of a plan.")
      .def("trim", &PooledEngine::trim, nb::call_guard<nb::gil_scoped_release>(),
           "Releases the pages of mapped files and the contexts that wait.")
      .def(
          "memory",
          [](const PooledEngine& e, const nb::dict& shapes) {
            return to_python(e.engine().memory(named_shapes_from_python(shapes)));
          },
          "Returns the peak bytes of a run at these input shapes.")
      .def(
          "profile_memory",
          [](const PooledEngine& e, const std::string& profile) {
            return to_python(e.engine().profile_memory(profile));
          },
          "Returns the bytes of a context that is reserved for a profile.")
      .def(
          "profiles", [](const PooledEngine& e) { return profiles_of(e.engine()); },
          "Returns the optimization profiles: {name: {input: (min, opt, max)}}.")
      .def("create_states", &create_states, nb::arg("sizes"), nb::arg("capacity"),
           "Returns the states of all inputs that are.")
      .def(
          "numerics", [](const PooledEngine& e) { return std::string(name_of(e.engine().numerics())); },
          "Returns \"normal\" or \"strict\".")
      .def(
          "output_shapes",
          [](const PooledEngine& e, const nb::dict& shapes) { return output_shapes_of(e.engine(), shapes); },
          "Returns the output shapes for these input shapes.");
  m.def("deserialize", &deserialize, nb::arg("plan"), nb::arg("options"), "Opens the bytes of a plan.");
  m.def("build", &build, nb::arg("source").none(), nb::arg("options"), nb::arg("progress").none(),
        "Builds an engine of a model; progress(stage, fraction) is called meanwhile.");
  m.def("build_network", &build_network, nb::arg("network"), nb::arg("options"), nb::arg("progress").none(),
        "Builds an engine of a network; progress(stage, fraction) is called meanwhile.");
  m.def(
      "load_plan",
      [](const std::filesystem::path& p, const BuildOptions& o) {
        return std::make_shared<PooledEngine>(Engine::load(p, o));
      },
      nb::arg("path"), nb::arg("options"), nb::call_guard<nb::gil_scoped_release>(), "Opens a .lathe plan.");
}

}  // namespace lathe::python
