#include "lathe/chat_template.h"

#include <optional>
#include <string>

#include "fuzz/targets.h"

namespace lathe::fuzz {

namespace {

constexpr const char* conversation = R"([
  {"role": "system", "content": "Be brief. "},
  {"role": "user", "content": [{"type": "text", "text": "Wie spät ist es, <b>jetzt</b>?"}, {"type": "image"}]},
  {"role": "assistant", "content": null, "reasoning_content": "a clock", "tool_calls": [
    {"id": "c1", "type": "function", "function": {"name": "now", "arguments": {"zone": "CET", "n": [1, 2.5, true]}}}]},
  {"role": "tool", "content": "12:30", "tool_call_id": "c1"},
  {"role": "assistant", "content": "Half past twelve"}])";
constexpr const char* functions =
    R"([{"type": "function", "function": {"name": "now", "description": "The time",
  "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}}}])";

}  // namespace

void chat_template(Bytes data) {
  std::optional<ChatTemplate> t;
  code_of([&] { t = ChatTemplate::parse(chars(data)); });
  if (!t) return;
  ChatRequest request;
  request.messages = conversation;
  request.tools = functions;
  request.now = 1'700'000'000;
  request.variables = {{"bos_token", "\"<s>\""}, {"eos_token", "\"</s>\""}};
  std::string first, second;
  const Code code = code_of([&] { first = t->render(request); });
  // What is at a limit takes long enough once.
  if (code != Code::template_too_large)
    require(code_of([&] { second = t->render(request); }) == code && first == second,
            "it renders the same again");
  if (code == Code::template_too_large) return;
  request.add_generation_prompt = true;
  code_of([&] { t->render(request); });
  request.add_generation_prompt = false;
  request.continue_final_message = true;
  request.tools.clear();
  code_of([&] { t->render(request); });
}

}  // namespace lathe::fuzz
