#include "lathe/error.h"

#include <cstdio>

#include "base/error_about.h"

namespace lathe {

std::string code_name(Code c) {
  char text[8];
  std::snprintf(text, sizeof text, "E%04u", static_cast<unsigned>(c));
  return text;
}

std::string Diagnostic::message() const {
  std::string s = severity == Severity::error ? "lathe: error " : "lathe: warning ";
  s += code_name(code) + ":";
  if (!stage.empty()) s += " " + stage;
  if (!node.empty() || !op.empty()) {
    s += stage.empty() ? " " : ", ";
    if (op.empty())
      s += "\"" + node + "\"";
    else if (node.empty())
      s += "node (" + op + ")";
    else
      s += "node \"" + node + "\" (" + op + ")";
  }
  s += ":";
  if (!expected.empty()) s += " expected " + expected;
  if (!got.empty()) s += std::string(expected.empty() ? " " : ", ") + "got " + got;
  if (!inputs.empty()) {
    s += " [inputs: ";
    for (size_t i = 0; i < inputs.size(); ++i) s += (i ? "; " : "") + inputs[i];
    s += "]";
  }
  if (!remedy.empty()) s += "; " + remedy;
  return s;
}

Error::Error(Diagnostic d) : diagnostic_(std::move(d)), text_(diagnostic_.message()) {}

Error error_about(Code code, std::string stage, std::string about, std::string expected, std::string got,
                  std::string remedy) {
  Diagnostic d;
  d.code = code;
  d.stage = std::move(stage);
  d.node = std::move(about);
  d.expected = std::move(expected);
  d.got = std::move(got);
  d.remedy = std::move(remedy);
  return Error(std::move(d));
}

Error::Error(Code code, std::string stage, std::string expected, std::string got, std::string remedy)
    : Error(error_about(code, std::move(stage), {}, std::move(expected), std::move(got), std::move(remedy))) {
}

Error::~Error() = default;

Error Error::at(std::string_view stage, std::string_view node, std::string_view op) const {
  Diagnostic d = diagnostic_;
  if (!stage.empty()) d.stage = stage;
  if (d.node.empty()) d.node = node;
  if (d.op.empty()) d.op = op;
  return Error(std::move(d));
}

}  // namespace lathe
