"""Tells the types of a few contents with magika."""

import json

import onnxruntime
from magika import Magika

CONTENTS = [
    b"#!/usr/bin/env python3\nimport sys\n\n\ndef main():\n    print('hello', sys.argv)\n\n\nmain()\n" * 3,
    b"#include <stdio.h>\nint main(void) {\n  printf(\"hello\\n\");\n  return 0;\n}\n" * 3,
    b'{"name": "lathe", "numbers": [1, 2, 3], "nested": {"a": null, "b": true}}\n' * 4,
    b"<!DOCTYPE html>\n<html><head><title>t</title></head><body><p>hello</p></body></html>\n" * 3,
    b"# A title\n\nSome *text* with `code`, and a list:\n\n- one\n- two\n\n```sh\nls -l\n```\n" * 3,
    b"name,age,city\nann,31,Rome\nbob,27,Oslo\ncyd,45,Bonn\n" * 10,
    b"SELECT name, count(*) FROM people WHERE age > 30 GROUP BY name ORDER BY 2 DESC;\n" * 4,
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x10\x00\x00\x00\x10\x08\x02\x00\x00\x00" + bytes(range(256)) * 4,
    b"PK\x03\x04\x14\x00\x00\x00\x08\x00" + bytes(range(256)) * 8,
    b"package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"hello\")\n}\n" * 3,
]

magika = Magika()
results = [magika.identify_bytes(content) for content in CONTENTS]
runtime = getattr(onnxruntime, "get_build_info")()
print(json.dumps({"runtime": runtime, "types": [[str(r.output.label), float(r.score)] for r in results]}))
