// Profiles: plain data, handed over as lists and dicts.
#include "lathe/profile.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "lathe/system_info.h"
#include "module.h"

namespace lathe::python {
namespace {

/// Names in a model may be any bytes; Python's strings are Unicode.
nb::object text(const std::string& s) {
  return nb::steal(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace"));
}

nb::list texts(const std::vector<std::string>& all) {
  nb::list l;
  for (const std::string& s : all) l.append(text(s));
  return l;
}

const std::string& shapes_of(const Profile& p, uint32_t index) {
  static const std::string none;
  return index < p.shapes.size() ? p.shapes[index] : none;
}

nb::list steps_of(const Profile& p) {
  nb::list l;
  for (const StepProfile& s : p.steps) {
    nb::dict d;
    d["node"] = text(s.node);
    d["op"] = text(s.op);
    d["kernel"] = text(s.kernel);
    d["origin"] = texts(s.origin);
    d["fused"] = texts(s.fused);
    d["graph"] = s.graph;
    d["count"] = s.count;
    d["seconds"] = s.seconds;
    d["least"] = s.least;
    d["flops"] = s.flops;
    d["bytes"] = s.bytes;
    d["shapes"] = text(shapes_of(p, s.shapes));
    l.append(d);
  }
  return l;
}

nb::list events_of(const Profile& p) {
  nb::list l;
  for (const StepEvent& e : p.events) {
    nb::dict d;
    d["step"] = e.step;
    d["depth"] = e.depth;
    d["start"] = e.start;
    d["seconds"] = e.seconds;
    d["self_seconds"] = e.self;
    d["flops"] = e.flops;
    d["bytes"] = e.bytes;
    d["shapes"] = text(shapes_of(p, e.shapes));
    l.append(d);
  }
  return l;
}

nb::list runs_of(const Profile& p) {
  nb::list l;
  for (const RunEvent& r : p.run_events) l.append(nb::make_tuple(r.start, r.seconds));
  return l;
}

/// {"flops": …, "levels": [{"name", "holds", "bandwidth"}]}
nb::dict roofline_to_python(const Roofline& r) {
  nb::list levels;
  for (const Roofline::Level& l : r.levels) {
    nb::dict d;
    d["name"] = l.name;
    d["holds"] = l.holds;
    d["bandwidth"] = l.bandwidth;
    levels.append(d);
  }
  nb::dict d;
  d["flops"] = r.flops;
  d["levels"] = levels;
  return d;
}

Roofline roofline_from_python(const nb::dict& d) {
  Roofline r;
  r.flops = nb::cast<double>(d["flops"]);
  for (nb::handle h : nb::cast<nb::list>(d["levels"])) {
    const auto level = nb::cast<nb::dict>(h);
    r.levels.push_back({nb::cast<std::string>(level["name"]), nb::cast<uint64_t>(level["holds"]),
                        nb::cast<double>(level["bandwidth"])});
  }
  return r;
}

}  // namespace

void bind_profile(nb::module_& m) {
  nb::class_<Profile>(m, "Profile", "The native half of lathe.Profile, which describes its methods.")
      .def("steps", &steps_of, "Returns the steps as dicts with the fields of StepProfile.")
      .def("events", &events_of, "Returns the latest executions as dicts with the fields of StepEvent.")
      .def("run_events", &runs_of, "Returns the latest runs as (start, seconds).")
      .def_ro("runs", &Profile::runs, "The number of recorded runs.")
      .def_ro("runs_passed_over", &Profile::runs_passed_over, "The number of runs that were not recorded.")
      .def_ro("run_seconds", &Profile::run_seconds, "The seconds of all recorded runs.")
      .def_ro("events_lost", &Profile::events_lost,
              "The number of steps and runs that there was no space for.")
      .def_ro("threads", &Profile::threads, "The number of threads of the engine.")
      .def_ro("isa", &Profile::isa, "The best instruction set that the engine's kernels may use.")
      .def(
          "save_trace", [](const Profile& p, const std::filesystem::path& f) { write_chrome_trace(p, f); },
          nb::arg("path"), nb::call_guard<nb::gil_scoped_release>(),
          "Writes the events in Chrome's trace format.")
      .def(
          "save_page",
          [](const Profile& p, const std::filesystem::path& path, const nb::dict& roofline,
             const std::string& model, const std::string& date) {
            const Roofline r = roofline_from_python(roofline);
            nb::gil_scoped_release free;
            write_profile_page(p, r, {model, system_info().cpu, date}, path);
          },
          nb::arg("path"), nb::arg("roofline"), nb::arg("model"), nb::arg("date"),
          "Writes one HTML page with timeline, roofline and table.");
  m.def(
      "measure_roofline",
      [](int threads) {
        Roofline r;
        {
          nb::gil_scoped_release free;
          r = measure_roofline(threads);
        }
        return roofline_to_python(r);
      },
      nb::arg("threads"),
      "Measures this machine: {\"flops\", \"levels\": [{\"name\", \"holds\", \"bandwidth\"}]}.");
}

}  // namespace lathe::python
