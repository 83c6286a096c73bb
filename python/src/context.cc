// Bindings of contexts: one run at a time, with bound memory if the caller wishes, and listeners that may
// raise.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <optional>

#include "interruptible.h"
#include "module.h"

namespace lathe::python {
namespace {

/// A context for Python: simultaneous calls by several threads are refused, and exceptions of listeners are
/// raised by the run.
class GuardedContext {
 public:
  explicit GuardedContext(Context c) : context_(std::move(c)) {}

  template <class F>
  auto alone(F&& f) {
    if (busy_.test_and_set())
      throw Error(Code::bad_argument, "run", "one call of a context at a time",
                  "a call while another thread, or the caller of this listener, is in it",
                  "make a context for each thread");
    struct Free {
      std::atomic_flag& busy;
      ~Free() { busy.clear(); }
    } free{busy_};
    return f(context_);
  }

  /// Calls f(context, control) without the interpreter lock.
  template <class F>
  void run(RunControl* control, F&& f) {
    alone([&](Context& c) {
      raised_.reset();
      try {
        runs_.call(control, [&](RunControl* either) { f(c, either); });
      } catch (const Error&) {
        if (!raised_) throw;
      }
      if (raised_) throw nb::python_error(*raised_);
    });
  }

  void on_tap(nb::object listener) {
    alone([&](Context& c) {
      tap_ = std::move(listener);
      if (tap_.is_none()) return c.on_tap({});
      c.on_tap([this](std::string_view name, const Value& v) {
        call_listener(tap_, [&] { tap_(text(name), to_python(owned(v))); });
      });
    });
  }
  void on_step(nb::object listener) {
    alone([&](Context& c) {
      step_ = std::move(listener);
      if (step_.is_none()) return c.on_step({});
      c.on_step([this](const StepRun& s) {
        call_listener(step_, [&] { step_(text(s.node), text(s.op), text(s.kernel), s.seconds); });
      });
    });
  }
  nb::handle tap_listener() const { return tap_; }
  nb::handle step_listener() const { return step_; }
  void forget_listeners() {
    tap_.reset();
    step_.reset();
  }

 private:
  static nb::str text(std::string_view s) { return nb::str(s.data(), s.size()); }

  template <class F>
  void call_listener(const nb::object& listener, F&& call) {
    nb::gil_scoped_acquire gil;
    try {
      if (listener.is_valid()) call();
    } catch (const nb::python_error& e) {
      raised_.emplace(e);
      throw Error(Code::cancelled, "run", "a listener that returns", "one that raised");
    }
  }

  Context context_;
  Interruptible runs_;
  nb::object tap_, step_;
  std::optional<nb::python_error> raised_;
  std::atomic_flag busy_;
};

// A listener usually knows its context: the collector must see through C++ to find such a ring.
int visit_listener(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) {
    Py_VISIT(nb::inst_ptr<GuardedContext>(self)->tap_listener().ptr());
    Py_VISIT(nb::inst_ptr<GuardedContext>(self)->step_listener().ptr());
  }
  return 0;
}
int clear_listener(PyObject* self) {
  nb::inst_ptr<GuardedContext>(self)->forget_listeners();
  return 0;
}
PyType_Slot collected[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_listener)},
                           {Py_tp_clear, reinterpret_cast<void*>(clear_listener)},
                           {0, nullptr}};

nb::dict run_on(GuardedContext& g, const nb::dict& inputs, RunControl* control) {
  const NamedValues values = values_from_python(inputs);
  NamedValues outputs;
  g.run(control, [&](Context& c, RunControl* either) { outputs = c.run(values, either); });
  return values_to_python(outputs);
}

void run_bound(GuardedContext& g, RunControl* control) {
  g.run(control, [](Context& c, RunControl* either) { c.run(either); });
}

void bind_input(GuardedContext& g, const std::string& name, nb::handle v) {
  g.alone([&](Context& c) { c.bind_input(name, from_python(v)); });
}

void bind_output(GuardedContext& g, const std::string& name, std::optional<Tensor> t) {
  g.alone([&](Context& c) { c.bind_output(name, t.value_or(Tensor())); });
}

void bind_state_to(GuardedContext& g, const std::string& input, const State& s) {
  g.alone([&](Context& c) { c.bind_state(input, s); });
}

nb::object output_of(GuardedContext& g, const std::string& name) {
  return g.alone([&](Context& c) { return to_python(owned(c.output(name))); });
}

}  // namespace

void bind_context(nb::module_& m) {
  nb::class_<GuardedContext>(m, "Context", nb::type_slots(collected),
                             "The native half of lathe.Context, which describes its methods.")
      .def("run", &run_on, nb::arg("inputs"), nb::arg("control").none() = nullptr,
           "Runs on inputs by name and returns all outputs by name.")
      .def("run_bound", &run_bound, nb::arg("control").none() = nullptr, "Runs on what is bound.")
      .def("bind_input", &bind_input, nb::arg("name"), nb::arg("value").none(), "Makes runs read this value.")
      .def("bind_output", &bind_output, nb::arg("name"), nb::arg("tensor").none(),
           "Makes runs write into this tensor; None ends that.")
      .def("bind_state", &bind_state_to, nb::arg("input"), nb::arg("state"),
           "Makes runs read and change this state.")
      .def("output", &output_of, nb::arg("name"), "Returns an output after run_bound().")
      .def("on_tap", &GuardedContext::on_tap, nb::arg("listener").none(),
           "Calls listener(name, value) with the tapped values of the next runs; None ends that.")
      .def("on_step", &GuardedContext::on_step, nb::arg("listener").none(),
           "Calls listener(node, op, kernel, seconds) after every step of the next runs; None ends that.")
      .def(
          "start_profile",
          [](GuardedContext& g, size_t events) { g.alone([&](Context& c) { c.start_profile(events); }); },
          nb::arg("events"), "Starts recording, keeping this many of the latest executions.")
      .def(
          "stop_profile", [](GuardedContext& g) { g.alone([](Context& c) { c.stop_profile(); }); },
          "Stops recording.")
      .def(
          "profile", [](GuardedContext& g) { return g.alone([](Context& c) { return c.profile(); }); },
          "Returns what was recorded as a Profile.")
      .def_prop_ro(
          "memory_in_use",
          [](GuardedContext& g) { return g.alone([](Context& c) { return c.memory_in_use(); }); },
          "The bytes that the context's allocators hold now.")
      .def_prop_ro(
          "memory_peak",
          [](GuardedContext& g) { return g.alone([](Context& c) { return c.memory_peak(); }); },
          "The most bytes that the context's allocators have held.")
      .def(
          "reserve",
          [](GuardedContext& g, const std::string& profile) {
            g.alone([&](Context& c) { c.reserve(profile); });
          },
          "Allocates the memory that runs within a profile need.")
      .def(
          "trim", [](GuardedContext& g) { g.alone([](Context& c) { c.trim(); }); },
          "Frees the memory that is kept between runs.");
}

nb::object to_python(Context c) { return nb::cast(std::make_shared<GuardedContext>(std::move(c))); }

}  // namespace lathe::python
