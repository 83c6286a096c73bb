#!/usr/bin/env bash
# In Jinja2 a `set` at the end of a template hides a variable of the caller from a loop that comes before it: the loop prints nothing.
# Jinja2 3.1.6, Python 3.11. Seen on 2026-11-30, by this script, with name = "caller":
#
#   loop alone: [caller]
#   loop, then set: []
#   the same without a loop: [caller]
#   loop, then set within {% if true %}: [caller]
#   loop, then {{ name }}, then set: [caller]caller
#
# The compiler decides for a whole block whose variable a name is. If the block itself sets the name, without a condition and
# before it has read it, an inner block such as a loop refers to the block's variable, which has no value yet, and not to the
# caller's. A reading in the block itself, even behind the loop, makes the caller's variable its first value. Who moves a default to the end of a
# chat template, or drops an unrelated print, changes what loops above it see.
#
# Exits with 1 where any of it is otherwise now.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install -q --disable-pip-version-check jinja2==3.1.6
"$place/venv/bin/python" - <<'PROGRAM'
import jinja2

LOOP, SET = "{% for x in [1] %}[{{ name }}]{% endfor %}", "{% set name = 'later' %}"
CASES = {
    "loop alone": (LOOP, "[caller]"),
    "loop, then set": (LOOP + SET, "[]"),
    "the same without a loop": ("[{{ name }}]" + SET, "[caller]"),
    "loop, then set within {% if true %}": (LOOP + "{% if true %}" + SET + "{% endif %}", "[caller]"),
    "loop, then {{ name }}, then set": (LOOP + "{{ name }}" + SET, "[caller]caller"),
}
wrong = False
for case, (source, expected) in CASES.items():
    printed = jinja2.Environment().from_string(source).render(name="caller")
    print(f"{case}: {printed}")
    wrong |= printed != expected
raise SystemExit(wrong)
PROGRAM
