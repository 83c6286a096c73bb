#include "module.h"

NB_MODULE(_lathe, m) {
  m.doc() = "The native half of the package lathe. Programs use lathe itself.";
  m.attr("__version__") = std::string(lathe::version()).c_str();
  lathe::python::bind_errors(m);
  lathe::python::bind_values(m);
  lathe::python::bind_model(m);
  lathe::python::bind_engine(m);
  lathe::python::bind_tools(m);
}
