// Bindings of states.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include "module.h"

namespace lathe::python {

void bind_state(nb::module_& m) {
  nb::class_<State>(m, "State", "The native half of lathe.State, which describes its methods.")
      .def_static("load", &State::load, nb::arg("path"), nb::call_guard<nb::gil_scoped_release>(),
                  "Reads a saved state.")
      .def("save", &State::save, nb::arg("path"), nb::call_guard<nb::gil_scoped_release>(),
           "Writes the state.")
      .def("copy", &State::clone, nb::call_guard<nb::gil_scoped_release>(), "Returns a state of its own.")
      .def_prop_ro(
          "dtype", [](const State& s) { return std::string(name_of(s.type())); }, "The element type.")
      .def_prop_ro(
          "shape", [](const State& s) { return shape_to_python(s.shape()); }, "The sizes of the axes now.")
      .def_prop_ro(
          "strides", [](const State& s) { return shape_to_python(s.strides()); },
          "Elements from one index to the next.")
      .def_prop_ro("axis", &State::axis, "The axis that grows, or -1.")
      .def_prop_ro("length", &State::length, "The size along it.")
      .def_prop_ro("capacity", &State::capacity, "The greatest length.")
      .def_prop_ro("block", &State::block, "The indices along it that a block has, or 0.")
      .def_prop_ro("nbytes", &State::bytes, "The bytes of its elements.")
      .def("tensor", &State::tensor, nb::call_guard<nb::gil_scoped_release>(), "Returns a dense copy.")
      .def("assign", &State::assign, nb::arg("tensor"), nb::call_guard<nb::gil_scoped_release>(),
           "Takes the elements of a tensor.")
      .def("rewind", &State::rewind, nb::arg("length"), "Forgets what is beyond this length.")
      .def("clear", &State::clear, "Makes it empty, or zeros.");
}

}  // namespace lathe::python
