// Bindings of refits, inspectors and timing caches.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "interruptible.h"
#include "lathe/checkpoint.h"
#include "module.h"
#include "pooled_engine.h"

namespace lathe::python {
namespace {

nb::dict to_python(const RefitReport& r) {
  nb::dict d;
  d["weights"] = r.weights;
  d["folded"] = r.folded;
  d["packed"] = r.packed;
  d["bytes"] = r.bytes;
  d["seconds"] = r.seconds;
  return d;
}

/// `copy`: makes a copy, so that the caller may write to the array afterwards.
Tensor weights_from_python(const Tensor& t, bool copy) { return copy ? t.clone() : t; }

NamedWeights weights_from_python(const nb::dict& given, bool copy) {
  NamedWeights weights;
  for (const auto& [name, t] : given)
    weights.insert_or_assign(nb::cast<std::string>(name), weights_from_python(nb::cast<Tensor&>(t), copy));
  return weights;
}

std::vector<std::string> set_from_checkpoint(Refitter& r, const Checkpoint& c, nb::object name_of) {
  std::function<std::string(const std::string&)> names;
  if (!name_of.is_none())
    names = [&](const std::string& name) {
      const nb::object said = name_of(name);
      return said.is_none() ? std::string() : nb::cast<std::string>(said);
    };
  return r.set_named_weights(c, names);
}

/// [(weight, a, b, scale, transposed)]
void add_lora(Refitter& r, const std::string& adapter, const nb::list& deltas, bool copy) {
  std::vector<LoraDelta> list;
  for (nb::handle d : deltas)
    list.push_back({nb::cast<std::string>(d[0]), weights_from_python(nb::cast<Tensor&>(d[1]), copy),
                    weights_from_python(nb::cast<Tensor&>(d[2]), copy), nb::cast<float>(d[3]),
                    nb::cast<bool>(d[4])});
  r.add_lora(adapter, list);
}

nb::dict refit(Refitter& r, RunControl* control) {
  RefitReport report;
  Interruptible().call(control, [&](RunControl* either) { report = r.refit(either); });
  return to_python(report);
}

nb::tuple prototype(const Refitter& r, const std::string& name) {
  const WeightInfo w = r.prototype(name);
  return nb::make_tuple(std::string(name_of(w.type)), shape_to_python(w.shape), w.bytes);
}

void bind_refitter(nb::module_& m) {
  nb::class_<Refitter>(m, "Refitter", "The native half of lathe.Refitter, which describes its methods.")
      .def("__init__", [](Refitter* r, const PooledEngine& e) { new (r) Refitter(e.engine()); })
      .def("all", &Refitter::all, "Returns the names of the weights that can be exchanged.")
      .def("missing", &Refitter::missing, "Returns the names that were not set since the last refit().")
      .def(
          "knows", [](const Refitter& r, const std::string& name) { return r.knows(name); },
          "Returns whether the engine has a weight of that name.")
      .def("prototype", &prototype, "Returns element type, shape and bytes of a weight.")
      .def(
          "get_named_weights",
          [](const Refitter& r, const std::string& name) { return r.get_named_weights(name).clone(); },
          "Returns a copy of what is set, or of what the engine holds.")
      .def(
          "set_weights",
          [](Refitter& r, const std::string& name, const Tensor& t, bool copy) {
            r.set_weights(name, weights_from_python(t, copy));
          },
          "Sets one weight, copied where the last argument is True.")
      .def(
          "set_named_weights",
          [](Refitter& r, const nb::dict& weights, bool copy) {
            r.set_named_weights(weights_from_python(weights, copy));
          },
          "Sets weights by name, or none where one does not fit.")
      .def("set_from_checkpoint", &set_from_checkpoint, nb::arg("checkpoint"), nb::arg("name_of").none(),
           "Sets weights from a checkpoint and returns the names that the engine lacks.")
      .def(
          "set_from_model", [](Refitter& r, const onnx::Model& model) { return r.set_named_weights(model); },
          "Sets weights from a model and returns the names that the engine lacks.")
      .def(
          "unset_weights",
          [](Refitter& r, std::optional<std::string> name) {
            name ? r.unset_weights(*name) : r.unset_weights();
          },
          nb::arg("name").none(), "Discards what was set for one weight, or for all with None.")
      .def("add_lora", &add_lora, "Adds an adapter of (weight, a, b, scale, transposed).")
      .def(
          "remove_lora", [](Refitter& r, const std::string& adapter) { r.remove_lora(adapter); },
          "Removes an adapter.")
      .def("loras", &Refitter::loras, "Returns the names of the adapters.")
      .def("refit", &refit, nb::arg("control").none(),
           "Makes what is set the weights of the engine and returns a report.");
}

LayerInformationFormat format_named(const std::string& form) {
  if (form == "oneline") return LayerInformationFormat::oneline;
  if (form == "json") return LayerInformationFormat::json;
  throw Error(Code::bad_argument, "python", "form = 'oneline' or 'json'", "'" + form + "'");
}

void bind_inspector(nb::module_& m) {
  nb::class_<EngineInspector>(m, "EngineInspector",
                              "The native half of lathe.EngineInspector, which describes its methods.")
      .def("__init__",
           [](EngineInspector* i, const PooledEngine& e, const nb::dict& shapes) {
             new (i) EngineInspector(e.engine(), named_shapes_from_python(shapes));
           })
      .def("num_layers", &EngineInspector::num_layers, "Returns the number of steps.")
      .def(
          "input_shapes",
          [](const EngineInspector& i) {
            nb::dict d;
            for (const auto& [name, shape] : i.input_shapes()) d[name.c_str()] = shape_to_python(shape);
            return d;
          },
          "Returns the input shapes that bytes and operations are for.")
      .def(
          "get_layer_information",
          [](const EngineInspector& i, size_t layer, const std::string& form) {
            return i.get_layer_information(layer, format_named(form));
          },
          "Returns one step as \"oneline\" or \"json\".")
      .def(
          "get_engine_information",
          [](const EngineInspector& i, const std::string& form) {
            return i.get_engine_information(format_named(form));
          },
          "Returns all steps as \"oneline\" or \"json\".");
}

void bind_timing_cache(nb::module_& m) {
  using Timings = TimingCache::Timings;
  nb::class_<TimingCache>(m, "TimingCache",
                          "The native half of lathe.TimingCache, which describes its methods.")
      .def(nb::init<>())
      .def_static(
          "deserialize", [](const std::string& json) { return TimingCache::deserialize(json); },
          "Makes a cache from JSON text.")
      .def("serialize", &TimingCache::serialize, "Returns the cache as JSON text.")
      .def_static("load", &TimingCache::load, "Reads a cache from a file.")
      .def("save", &TimingCache::save, "Writes the cache to a file.")
      .def("combine", &TimingCache::combine, "Merges another cache into this one.")
      .def(
          "machines",
          [](const TimingCache& c) {
            nb::list all;
            for (const auto& [machine, problems] : c.machines())
              all.append(nb::make_tuple(machine.cpu, machine.features, machine.version, problems.size()));
            return all;
          },
          "Returns (cpu, features, version, number of problems) for each machine.")
      .def_static(
          "here",
          [] {
            const TimingCache::Machine& m = TimingCache::Machine::here();
            return nb::make_tuple(m.cpu, m.features, m.version);
          },
          "Returns (cpu, features, version) of this machine and library.")
      .def(
          "query_keys", [](const TimingCache& c) { return c.query_keys(); },
          "Returns the problems of this machine.")
      .def(
          "query",
          [](const TimingCache& c, const std::string& problem) -> nb::object {
            const Timings* t = c.query(problem);
            return t ? nb::make_tuple(t->chosen, t->microseconds) : nb::object(nb::none());
          },
          "Returns (tactic, {tactic: microseconds}) of a problem, or None.")
      .def(
          "update",
          [](TimingCache& c, const std::string& problem, const std::string& chosen,
             const std::map<std::string, double>& microseconds) {
            c.update(problem, {chosen, microseconds});
          },
          "Sets the tactic and the times of a problem.")
      .def(
          "pin",
          [](TimingCache& c, const std::string& problem, const std::string& tactic) {
            c.pin(problem, tactic);
          },
          "Makes builds take a tactic for a problem.");
}

}  // namespace

void bind_refit(nb::module_& m) {
  bind_refitter(m);
  bind_inspector(m);
  bind_timing_cache(m);
}

}  // namespace lathe::python
