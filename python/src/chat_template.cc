// Bindings of chat templates. Conversations come as JSON.
#include "lathe/chat_template.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.h"

namespace lathe::python {
namespace {

std::string render(const ChatTemplate& t, std::string messages, std::string tools, std::string documents,
                   bool add_generation_prompt, bool continue_final_message,
                   std::map<std::string, std::string> variables, std::string name,
                   std::optional<int64_t> now) {
  ChatRequest request;
  request.messages = std::move(messages);
  request.tools = std::move(tools);
  request.documents = std::move(documents);
  request.add_generation_prompt = add_generation_prompt;
  request.continue_final_message = continue_final_message;
  request.variables = std::move(variables);
  request.name = std::move(name);
  request.now = now;
  nb::gil_scoped_release free;
  return t.render(request);
}

}  // namespace

void bind_chat_template(nb::module_& m) {
  nb::class_<ChatTemplate>(
      m, "ChatTemplate",
      "The native half of lathe.ChatTemplate, which describes its methods. Immutable and thread-safe.")
      .def_static("open", &ChatTemplate::open, nb::arg("path"),
                  "Opens a file, or the directory of a model, that has templates.")
      .def_static(
          "parse",
          [](const std::string& source, std::string origin) {
            return ChatTemplate::parse(source, std::move(origin));
          },
          nb::arg("source"), nb::arg("origin"), "Parses the source of a template.")
      .def_static(
          "parse_config",
          [](const std::string& json, std::string origin) {
            return ChatTemplate::parse_config(json, std::move(origin));
          },
          nb::arg("json"), nb::arg("origin"), "Parses the text of a tokenizer_config.json.")
      .def("render", &render, nb::arg("messages"), nb::arg("tools"), nb::arg("documents"),
           nb::arg("add_generation_prompt"), nb::arg("continue_final_message"), nb::arg("variables"),
           nb::arg("name"), nb::arg("now").none(),
           "Returns the text of a conversation, which is given as JSON.")
      .def("names", &ChatTemplate::names, "Returns the names of the templates.")
      .def(
          "source", [](const ChatTemplate& t, const std::string& name) { return t.source(name); },
          nb::arg("name"), "Returns the source of a template.")
      .def(
          "special_tokens", [](const ChatTemplate& t) { return t.special_tokens(); },
          "Returns the special tokens by name.")
      .def("with_special_tokens", &ChatTemplate::with_special_tokens, nb::arg("tokens"),
           "Returns templates that see other special tokens.");
}

}  // namespace lathe::python
