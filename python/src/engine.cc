// Engines and their controls. The interpreter lock is free while models are built and run.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
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

/// A Python function that is told how far a build is; what it raises ends the build.
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
  nb::class_<RunControl>(m, "RunControl", "Stops a build or a run, from any thread.")
      .def(nb::init<>())
      .def("cancel", &RunControl::cancel)
      .def("reset", &RunControl::reset)
      .def_prop_ro("cancelled", &RunControl::cancelled)
      .def("set_timeout", &set_timeout, nb::arg("seconds"), "A deadline this many seconds from now.")
      .def("clear_timeout", &RunControl::clear_deadline)
      .def("check", &RunControl::check,
           "Raises lathe.Error where it is cancelled or late: for loops of one's own.");
  nb::enum_<OptimizationLevel> levels(m, "OptimizationLevel");
  for (OptimizationLevel l : optimization_levels) levels.value(name_of(l).data(), l);
  nb::enum_<Precision> named(m, "Precision");
  for (Precision p : precisions) named.value(name_of(p).data(), p);
  nb::enum_<Numerics> strictness(m, "Numerics");
  for (Numerics n : all_numerics) strictness.value(name_of(n).data(), n);
  nb::enum_<TuningEffort> efforts(m, "TuningEffort");
  for (TuningEffort e : tuning_efforts) efforts.value(name_of(e).data(), e);
  nb::class_<BuildOptions>(m, "BuildOptions")
      .def(nb::init<>())
      .def_rw("threads", &BuildOptions::threads)
      .def_rw("backend", &BuildOptions::backend)
      .def_rw("isa", &BuildOptions::isa)
      .def_rw("level", &BuildOptions::level)
      .def_rw("passes", &BuildOptions::passes)
      .def_rw("allow_reference", &BuildOptions::allow_reference)
      .def_rw("precision", &BuildOptions::precision)
      .def_rw("numerics", &BuildOptions::numerics)
      .def("set_profiles", &set_profiles, nb::arg("profiles"))
      .def_rw("refit", &BuildOptions::refit)
      .def_rw("portable", &BuildOptions::portable)
      .def_rw("verify_weights", &BuildOptions::verify_weights)
      .def_rw("flush_denormals", &BuildOptions::flush_denormals)
      .def_rw("taps", &BuildOptions::taps)
      .def_rw("memory_limit", &BuildOptions::memory_limit)
      .def_rw("fold_limit", &BuildOptions::fold_limit)
      .def_rw("shapes", &BuildOptions::shapes)
      .def_rw("fix_defaults", &BuildOptions::fix_defaults)
      .def_rw("effort", &BuildOptions::effort)
      .def_rw("tune_seconds", &BuildOptions::tune_seconds)
      .def_rw("tune_sizes", &BuildOptions::tune_sizes)
      .def_rw("timing_cache", &BuildOptions::timing_cache)
      .def_rw("timings", &BuildOptions::timings)
      .def_rw("timing_cache_pinned", &BuildOptions::timing_cache_pinned)
      .def_rw("plugins", &BuildOptions::plugins)
      .def_rw("load", &BuildOptions::load)
      .def_prop_rw(
          "control", [](const BuildOptions& o) { return o.control; },
          [](BuildOptions& o, RunControl* c) { o.control = c; }, nb::for_setter(nb::keep_alive<1, 2>()),
          nb::for_setter(nb::arg().none()), nb::rv_policy::reference);
}

}  // namespace

void bind_engine(nb::module_& m) {
  bind_options(m);
  nb::class_<PooledEngine>(m, "Engine")
      .def(
          "run",
          [](PooledEngine& e, const nb::dict& inputs, RunControl* control) {
            const NamedValues values = values_from_python(inputs);
            NamedValues outputs;
            e.runs().call(control, [&](RunControl* c) { outputs = e.run(values, c); });
            return values_to_python(outputs);
          },
          nb::arg("inputs"), nb::arg("control").none() = nullptr)
      .def(
          "create_context", [](const PooledEngine& e) { return to_python(e.engine().create_context()); },
          nb::sig("def create_context(self) -> Context"))
      .def(
          "save", [](const PooledEngine& e, const std::filesystem::path& p) { e.engine().save(p); },
          nb::arg("path"), nb::call_guard<nb::gil_scoped_release>())
      .def("inputs", [](const PooledEngine& e) { return to_python(e.engine().inputs()); })
      .def("outputs", [](const PooledEngine& e) { return to_python(e.engine().outputs()); })
      .def("symbols", [](const PooledEngine& e) { return e.engine().symbols(); })
      .def("metadata", [](const PooledEngine& e) { return e.engine().metadata(); })
      .def("steps", [](const PooledEngine& e) { return step_list(e.engine()); })
      .def("tuning", [](const PooledEngine& e) { return tuning_of(e.engine()); })
      .def("threads", [](const PooledEngine& e) { return e.engine().threads(); })
      .def("target", [](const PooledEngine& e) { return target_of(e.engine()); })
      .def("is_refittable", [](const PooledEngine& e) { return e.engine().is_refittable(); })
      .def("refits", [](const PooledEngine& e) { return e.engine().refits(); })
      .def("serialize", &serialize)
      .def("trim", &PooledEngine::trim, nb::call_guard<nb::gil_scoped_release>())
      .def("memory",
           [](const PooledEngine& e, const nb::dict& shapes) {
             return to_python(e.engine().memory(named_shapes_from_python(shapes)));
           })
      .def("profile_memory",
           [](const PooledEngine& e, const std::string& profile) {
             return to_python(e.engine().profile_memory(profile));
           })
      .def("profiles", [](const PooledEngine& e) { return profiles_of(e.engine()); })
      .def("numerics", [](const PooledEngine& e) { return std::string(name_of(e.engine().numerics())); })
      .def("output_shapes", [](const PooledEngine& e, const nb::dict& shapes) {
        return output_shapes_of(e.engine(), shapes);
      });
  m.def("deserialize", &deserialize, nb::arg("plan"), nb::arg("options"));
  m.def("build", &build, nb::arg("source").none(), nb::arg("options"), nb::arg("progress").none());
  m.def("build_network", &build_network, nb::arg("network"), nb::arg("options"), nb::arg("progress").none());
  m.def(
      "load_plan",
      [](const std::filesystem::path& p, const BuildOptions& o) {
        return std::make_shared<PooledEngine>(Engine::load(p, o));
      },
      nb::arg("path"), nb::arg("options"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace lathe::python
