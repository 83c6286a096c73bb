// lathe::Error becomes lathe.Error, with the fields of its Diagnostic.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.h"

namespace lathe::python {

namespace {

/// Names come from files, whose bytes need not be UTF-8: those that are not are written as escapes.
nb::object text(const std::string& s) {
  return nb::steal(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "backslashreplace"));
}

}  // namespace

nb::dict to_python(const Diagnostic& d) {
  nb::dict fields;
  fields["code"] = code_name(d.code);
  fields["severity"] = d.severity == Diagnostic::Severity::warning ? "warning" : "error";
  fields["stage"] = text(d.stage);
  fields["node"] = text(d.node);
  fields["op"] = text(d.op);
  fields["node_index"] = d.node_index;
  nb::list inputs;
  for (const std::string& i : d.inputs) inputs.append(text(i));
  fields["inputs"] = inputs;
  fields["expected"] = text(d.expected);
  fields["got"] = text(d.got);
  fields["remedy"] = text(d.remedy);
  fields["text"] = text(d.message());
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
