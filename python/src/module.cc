#include "module.h"

#include <nanobind/stl/string.h>

NB_MODULE(_lathe, m) {
  m.doc() = "The native half of the package lathe. Programs use lathe itself.";
  lathe::initialize();
  m.def(
      "version", [] { return std::string(lathe::version()); }, "The version of the library, \"0.1.0\".");
  // Objects that a program still has when the interpreter ends are no leaks.
  nanobind::set_leak_warnings(false);
  lathe::python::bind_errors(m);
  lathe::python::bind_values(m);
  lathe::python::bind_model(m);
  lathe::python::bind_profile(m);
  lathe::python::bind_state(m);
  lathe::python::bind_context(m);
  lathe::python::bind_refit(m);
  lathe::python::bind_engine(m);
  lathe::python::bind_tools(m);
  lathe::python::bind_network(m);
  lathe::python::bind_nn(m);
  lathe::python::bind_gguf(m);
  lathe::python::bind_exporters(m);
  lathe::python::bind_tokenizer(m);
  lathe::python::bind_chat_template(m);
  lathe::python::bind_sampling(m);
  lathe::python::bind_generator(m);
}
