// lathe::Error becomes lathe.Error, with the fields of its Diagnostic.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.h"

namespace lathe::python {

nb::dict to_python(const Diagnostic& d) {
  nb::dict fields;
  fields["code"] = code_name(d.code);
  fields["severity"] = d.severity == Diagnostic::Severity::warning ? "warning" : "error";
  fields["stage"] = d.stage;
  fields["node"] = d.node;
  fields["op"] = d.op;
  fields["node_index"] = d.node_index;
  fields["inputs"] = d.inputs;
  fields["expected"] = d.expected;
  fields["got"] = d.got;
  fields["remedy"] = d.remedy;
  fields["text"] = d.sentence();
  return fields;
}

namespace {

void translate(const std::exception_ptr& p, void*) {
  try {
    std::rethrow_exception(p);
  } catch (const Error& e) {
    const nb::object type = nb::module_::import_("lathe._errors").attr("Error");
    const nb::object error = type(to_python(e.diagnostic()));
    PyErr_SetObject(type.ptr(), error.ptr());
  }
}

}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace lathe::python
