// Chat templates. The expectations were computed by Jinja2 3.1.6.
#include "lathe/chat_template.h"

#include <gtest/gtest.h>

#include <thread>

#include "lathe/error.h"
#include "support/error_code.h"
#include "support/gguf_file.h"
#include "support/temp_directory.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using lathe::testing::code_of;
using lathe::testing::sentence_of;
using lathe::testing::TempDirectory;

std::string rendered(const std::string& source, ChatRequest request = {}) {
  return ChatTemplate::parse(source).render(request);
}

Code code_for(const std::string& source) {
  return code_of([&] { rendered(source); });
}

TEST(ChatTemplate, TrimsAndStripsBlocks) {
  EXPECT_EQ(rendered("  {% if true %}\n  a\n  {%- endif +%}\n {{- 'x' -}} \n b\n"), "  axb");
  EXPECT_EQ(rendered("a\r\n{# c #}\nb {#- d -#} e\n\n"), "a\nbe\n");
  EXPECT_EQ(rendered("{% raw %} {{ x }} {% endraw %}|{%- raw -%} {% if %} {%- endraw %}\n."),
            " {{ x }} |{% if %}.");
  EXPECT_EQ(rendered("x\n   {%+ set a = 1 %}\n{{ a }}"), "x\n   1");
}

TEST(ChatTemplate, HasPythonsNumbersAndTexts) {
  EXPECT_EQ(rendered("{{ 7 // -2 }} {{ -7 % 3 }} {{ 1 / 3 }} {{ 2 ** 10 }} {{ 1e16 }} {{ 1e-5 }} {{ 2.0 }}"),
            "-4 2 0.3333333333333333 1024 1e+16 1e-05 2.0");
  EXPECT_EQ(rendered("{{ [1, 'a', \"b'\", none, true, 1.5, (1,), {'k': '\\n'}] }}"),
            "[1, 'a', \"b'\", None, True, 1.5, (1,), {'k': '\\n'}]");
  EXPECT_EQ(
      rendered(
          "{{ 'ß'.upper() }} {{ 'ΑΣ'.lower() }} {{ 'aé日🎉'[1:3] }} {{ 'é日'|length }} {{ 'abc'[::-1] }}"),
      "SS ας é日 2 cba");
  EXPECT_EQ(rendered("{{ '%05.1f|%-4s|%x' % (1.25, 'a', 255) }} {{ '{0:>4}|{a!r}'.format(1, a='x') }}"),
            "001.2|a   |ff    1|'x'");
  EXPECT_EQ(rendered("{{ 1 < 2 < 3 }} {{ 'a' in 'abc' }} {{ 1 == 1.0 == true }} {{ [1] < [1, 0] }}"),
            "True True True True");
  EXPECT_EQ(rendered("{{ missing }}|{{ missing ~ 'x' }}|{{ missing is defined }}|{{ missing|default('d') }}"),
            "|x|False|d");
}

TEST(ChatTemplate, HasLoopsMacrosAndNamespaces) {
  EXPECT_EQ(rendered("{% for a in [1, 2, 3, 4] if a != 2 %}{{ loop.index }}/{{ loop.length }}:{{ a }}"
                     "{% if not loop.last %}, {% endif %}{% endfor %}"),
            "1/3:1, 2/3:3, 3/3:4");
  EXPECT_EQ(rendered("{% for x in range(9) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break "
                     "%}{% endif %}"
                     "{{ x }}{% else %}none{% endfor %}{% for x in [] %}{% else %}e{% endfor %}"),
            "0134e");
  EXPECT_EQ(
      rendered("{% macro m(a, b=2) %}[{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{{ caller('c') }}]{% endmacro %}"
               "{% call(x) m(1, 3, 4, z=5) %}<{{ x }}>{% endcall %}"),
      "[13(4,){'z': 5}<c>]");
  EXPECT_EQ(rendered("{% set ns = namespace(n=0) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}{% set q = "
                     "i %}{% endfor %}"
                     "{{ ns.n }}{{ q }}{% set y %}b{% endset %}{% filter upper %}{{ y }}{% endfilter %}"),
            "3B");
}

TEST(ChatTemplate, WritesJsonAsTransformersDoes) {
  ChatRequest request;
  request.tools = R"([{"z": "<é>", "a": [1, 2.50, null, true], "n": {}}])";
  EXPECT_EQ(rendered("{{ tools[0]|tojson }}", request),
            R"({"z": "<é>", "a": [1, 2.5, null, true], "n": {}})");
  EXPECT_EQ(rendered("{{ tools[0].z|tojson(true) }}{{ tools[0].a|tojson(separators=(',', ':')) }}", request),
            R"("<\u00e9>"[1,2.5,null,true])");
  EXPECT_EQ(rendered("{{ {'a': [1, {}]}|tojson(indent=2) }}"), "{\n  \"a\": [\n    1,\n    {}\n  ]\n}");
}

TEST(ChatTemplate, ReadsAConversation) {
  ChatRequest request;
  request.messages = R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes "}])";
  request.variables = {{"bos_token", "\"<s>\""}};
  request.add_generation_prompt = true;
  const std::string source =
      "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m['content'] }}</>{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}{{ tools is none }}";
  EXPECT_EQ(rendered(source, request), "<s><user>Hi</><assistant>Yes </><assistant>True");
  request.add_generation_prompt = false;
  request.continue_final_message = true;
  EXPECT_EQ(rendered(source, request), "<s><user>Hi</><assistant>Yes ");
  request.messages = "[]";
  EXPECT_EQ(code_of([&] { rendered(source, request); }), Code::bad_argument);
  request = {};
  request.now = 0;
  EXPECT_EQ(rendered("{{ strftime_now('%Y')|length }}", request), "4");
  for (const char* bad : {"", "{}", "[1]", "[", "[1e999999]", "\xff"}) {
    request.messages = bad;
    EXPECT_NE(code_of([&] { rendered("", request); }), Code::none) << bad;
  }
}

TEST(ChatTemplate, ErrorsSayWhere) {
  EXPECT_NE(sentence_of([] { rendered("a\n  {% if x"); }).find("line 2, column"), std::string::npos);
  EXPECT_NE(sentence_of([] { rendered("é\né{{ x.y }}"); }).find("line 2, column 6"), std::string::npos);
  EXPECT_NE(sentence_of([] { rendered("{{ raise_exception('no such role') }}"); }).find("no such role"),
            std::string::npos);
  for (const char* s : {"{{ 1 2 }}", "{% endif %}", "{{ (1] }}", "{{ 'a", "{# a",
                        "{% for in x %}{% endfor %}", "{% break %}"})
    EXPECT_EQ(code_for(s), Code::template_malformed) << s;
  for (const char* s :
       {"{% include 'x' %}", "{% extends 'x' %}", "{% block x %}{% endblock %}", "{{ x|pprint }}",
        "{{ 1 is odder }}", "{{ 99999999999999999999 }}", "{% for x in y recursive %}{% endfor %}"})
    EXPECT_EQ(code_for(s), Code::template_unsupported) << s;
  for (const char* s : {"{{ x.y }}", "{{ 1 + 'a' }}", "{{ [1].append(1) }}", "{{ 1 // 0 }}", "{{ 'a'() }}",
                        "{{ [1]|first|first }}", "{% set x.y = 1 %}", "{{ namespace(_a=1) }}"})
    EXPECT_EQ(code_for(s), Code::template_failed) << s;
  EXPECT_EQ(code_for("\xff"), Code::wire_bad_utf8);
}

TEST(ChatTemplate, StaysWithinItsLimits) {
  for (const char* s :
       {"{{ 'x' * 10**9 }}", "{{ [0] * 10**12 }}", "{{ range(10**9)|list }}", "{{ '%999999999d' % 1 }}",
        "{{ 'a'|center(10**9) }}", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% set n = namespace(v='ab') %}{% for i in range(99) %}{% set n.v = n.v ~ n.v %}{% endfor %}",
        "{% set n = namespace(v=[]) %}{% for i in range(999) %}{% set n.v = [n.v] %}{% endfor %}",
        "{% set n = namespace(v=1) %}{% for i in range(99) %}{% set n.v = (n.v, n.v) %}{% endfor %}{{ n.v "
        "}}"})
    EXPECT_EQ(code_for(s), Code::template_too_large) << s;
  EXPECT_EQ(code_for(std::string(ChatTemplateLimits::source + 1, 'x')), Code::template_too_large);
  EXPECT_EQ(code_for("{{ " + std::string(200, '(') + "1" + std::string(200, ')') + " }}"),
            Code::template_too_large);
  std::string nested, deep = "{{ 1";
  for (int i = 0; i < 200; ++i) nested += "{% if 1 %}", deep += " + 1";
  EXPECT_EQ(code_for(nested), Code::template_too_large);
  EXPECT_EQ(code_for(deep + " }}"), Code::template_too_large);
  // A namespace may hold itself; its text would not end.
  EXPECT_EQ(rendered("{% set n = namespace() %}{% set n.n = [n] %}{{ n.n|length }}"), "1");
  EXPECT_EQ(code_for("{% set n = namespace() %}{% set n.n = [n] %}{{ n }}"), Code::template_too_large);
}

TEST(ChatTemplate, OpensFoldersAndFiles) {
  const TempDirectory folder;
  const auto config = folder.write(
      "tokenizer_config.json",
      R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>", "add_bos_token": true, "chat_template":
          [{"name": "default", "template": "d{{ bos_token }}"}, {"name": "tool_use", "template": "t{{ eos_token }}"}]})");
  auto chat = ChatTemplate::open(folder.path());
  EXPECT_EQ(chat.names(), (std::vector<std::string>{"default", "tool_use"}));
  EXPECT_EQ(chat.special_tokens().at("eos_token"), "</s>");
  EXPECT_EQ(chat.render({}), "d<s>");
  EXPECT_EQ(chat.render({.tools = "[]"}), "t</s>");
  EXPECT_EQ(chat.render({.tools = "[]", .name = "default"}), "d<s>");
  EXPECT_EQ(chat.with_special_tokens({{"bos_token", "B"}}).render({}), "dB");
  EXPECT_EQ(code_of([&] { chat.render({.name = "rag"}); }), Code::bad_argument);
  folder.write("chat_template.jinja", "j{{ bos_token }}\n");
  chat = ChatTemplate::open(folder.path());
  EXPECT_EQ(chat.render({.tools = "[]"}), "j<s>");
  EXPECT_EQ(chat.source(), "j{{ bos_token }}\n");
  EXPECT_EQ(ChatTemplate::open(config).names().size(), 2u);
  EXPECT_EQ(code_of([&] { ChatTemplate::open(folder.path() / "none.jinja"); }), Code::file_not_found);
  EXPECT_EQ(code_of([&] { ChatTemplate::open(folder.write("a.json", "{}")); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { ChatTemplate::open(folder.write("b.json", R"({"chat_template": 1})")); }),
            Code::json_malformed);
}

TEST(ChatTemplate, ThreadsShareOne) {
  const auto chat =
      ChatTemplate::parse("{% for m in messages %}{{ m.content|upper }}{{ [1, 2]|join }}{% endfor %}");
  std::vector<std::thread> threads;
  std::vector<std::string> got(4);
  for (std::string& g : got)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) g = chat.render({.messages = R"([{"content": "a"}])"});
    });
  for (std::thread& t : threads) t.join();
  for (const std::string& g : got) EXPECT_EQ(g, "A12");
}

TEST(ChatTemplate, GgufHasTemplatesAndSpecialTokens) {
  using namespace lathe::testing;
  const TempDirectory folder;
  GgufFile f;
  f.with("tokenizer.chat_template", gguf_text("{{ bos_token }}{{ messages[0].content }}{{ eos_token }}"));
  const auto alone = ChatTemplate::open(folder.write("alone.gguf", f.bytes()));
  EXPECT_EQ(alone.render({.messages = R"([{"content": "a"}])"}), "a");
  f.with("tokenizer.ggml.model", gguf_text("gpt2"));
  f.with("tokenizer.ggml.tokens",
         gguf_array(GgufValueType::string, 2, gguf_string("<s>") + gguf_string("</s>")));
  f.with("tokenizer.ggml.merges", gguf_array(GgufValueType::string, 0, ""));
  f.with("tokenizer.ggml.bos_token_id", gguf_u32(0));
  f.with("tokenizer.ggml.eos_token_id", gguf_u32(1));
  f.with("tokenizer.ggml.padding_token_id", gguf_u32(1));
  f.with("tokenizer.chat_template.tool_use", gguf_text("{{ tools | length }}{{ pad_token }}"));
  // The name does not count: the contents say what a file is.
  const auto chat = ChatTemplate::open(folder.write("x.bin", f.bytes()));
  EXPECT_EQ(chat.names(), (std::vector<std::string>{"default", "tool_use"}));
  EXPECT_EQ(chat.render({.messages = R"([{"content": "a"}])"}), "<s>a</s>");
  EXPECT_EQ(chat.render({.tools = "[{}]"}), "1</s>");
  EXPECT_EQ(code_of([&] { ChatTemplate::open(folder.write("n.gguf", GgufFile().bytes())); }),
            Code::bad_argument);
  EXPECT_EQ(code_of([&] {
              ChatTemplate::open(folder.write(
                  "b.gguf", GgufFile().with("tokenizer.chat_template", gguf_text("{% if %}")).bytes()));
            }),
            Code::template_malformed);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
