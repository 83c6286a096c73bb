"""Lathe, ONNX Runtime and OpenVINO side by side.

    python bench/peers                              the whole table, on one thread and on two
    python bench/peers --table                      the same without the shared collection
    python bench/peers --models resnet bert_s128    those whose names contain a word
    python bench/peers --models model.onnx          any file
    python bench/peers --threads 1 --json peers.json
    python bench/peers --table --save               writes bench/results/<date>-<machine>.json when all is done
    python bench/peers --quick                      a few small models, one round: does it all work?

Each engine runs in a process of its own, through its own Python API, with bound inputs and outputs and the settings that
are best for latency in float32 (the models named "_bf16" are run in bfloat16 by those that can, and what Lathe loses by it is
shown). They take turns: a round is one sample of each. A ratio is the peer's time over Lathe's of
the same round (above 1: Lathe is faster); of the rounds the median counts, and the least and the greatest are shown.

Runs during which the host took time away (the steal counter of /proc/stat) are dropped. Samples on several threads count
only when arithmetic in registers, just before and just after, shows as many real cores.

Models are made on the spot with random weights and kept in build/bench-models (5 GB for all); those of the shared
collection (LATHE_SHARED, else ../shared) are taken along, with their weights as constants. Install lathe, onnx, onnxruntime and openvino first; an engine
that is not installed is left out. What an engine cannot run is listed with its reason.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

from compare import Comparison, Settings
from engines import ENGINES, version
from files import Made, own_model, shared_model
from models import ENTRIES, make
from probe import ROOT, Probe, machine
from report import brief, document, text
from results import RESULTS, check, file_name, text_of

QUICK = ["squeezenet", "lstm_2x256", "mnist", "adds20"]
CACHE = ROOT / "build" / "bench-models"


def chosen(words: list[str], quick: bool, table: bool) -> dict[str, Callable[[], Made]]:
    """Returns functions that make the models, by name, so that none is made before its turn."""
    shared = Path(os.environ.get("LATHE_SHARED", ROOT.parent / "shared")) / "models"
    files = {Path(w).stem: Path(w) for w in words if Path(w).is_file()}
    names = [w for w in words if not Path(w).is_file()]
    makers: dict[str, Callable[[], Made]] = {name: (lambda e=entry: make(e, CACHE)) for name, entry in ENTRIES.items()}
    if quick and not words:
        return {name: makers[name] for name in QUICK}
    for meta in [] if table else sorted(shared.glob("*/meta.json")):
        makers.setdefault(meta.parent.name, lambda folder=meta.parent: shared_model(folder, CACHE))
    if words:
        makers = {name: maker for name, maker in makers.items() if any(w in name for w in names)}
    return makers | {name: (lambda path=path: own_model(path)) for name, path in files.items()}


def count(word: str) -> int:
    if int(word) < 1:
        raise ValueError("a count of threads begins with one")
    return int(word)


def command(words: list[str]) -> str:
    """Returns the command to record, without the options that say where results go."""
    kept = [w for at, w in enumerate(words) if w not in ("--save", "--json") and (at == 0 or words[at - 1] != "--json")]
    return " ".join(["python bench/peers", *kept])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench/peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", default=[], metavar="WORD|FILE")
    parser.add_argument("--table", action="store_true", help="without the shared collection")
    parser.add_argument("--threads", type=count, nargs="+", default=[1, 2], metavar="COUNT")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    parser.add_argument("--rounds", type=int, help="that count, of each model (7)")
    parser.add_argument("--seconds", type=float, help="of a sample (0.4)")
    parser.add_argument("--loads", type=int, help="fresh processes to load in (3)")
    parser.add_argument("--noisy", action="store_true", help="count every sample: for trying out on a busy machine")
    parser.add_argument("--quick", action="store_true", help="one short, noisy round of a few small models")
    parser.add_argument("--json", type=Path, help="write everything there")
    parser.add_argument("--save", action="store_true", help="write everything to bench/results, under today's date")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # the quantizer recommends steps that these models do not need
    makers = chosen(arguments.models, arguments.quick, arguments.table)
    if not makers:
        parser.error("no model has such a name")

    def setting(name: str, usual: float, quick: float):
        given = getattr(arguments, name)
        return given if given is not None else quick if arguments.quick else usual

    facts = machine()
    saved = RESULTS / file_name({"machine": facts})
    if arguments.save and saved.exists():
        parser.error(f"--save: {saved.relative_to(ROOT)} exists; rename or remove it first")
    versions = {name: version(name) for name in arguments.engines}
    if arguments.json:
        try:
            arguments.json.open("a").close()  # said before hours of measuring
        except OSError as e:
            parser.error(f"--json {arguments.json} cannot be written: {e.strerror}")
    if not versions.get("lathe", "left out on purpose"):
        parser.error("lathe is not installed in this Python: pip install .")
    settings = Settings(
        engines=[name for name, v in versions.items() if v],
        threads=sorted(set(arguments.threads)),
        rounds=setting("rounds", 7, 1),
        seconds=setting("seconds", 0.4, 0.02),
        loads=setting("loads", 3, 1),
        noisy=arguments.noisy or arguments.quick,
    )
    facts |= {name: v or "not installed" for name, v in versions.items()}
    facts["noisy"] = settings.noisy or None
    run = {
        "command": command(sys.argv[1:]),
        "threads": settings.threads,
        "rounds": settings.rounds,
        "seconds": settings.seconds,
        "loads": settings.loads,
    }
    probe = Probe()
    rows: list[dict] = []
    peers = [name for name in settings.engines if name != "lathe"]
    try:
        for at, (name, maker) in enumerate(makers.items(), 1):
            print(f"[{at}/{len(makers)}] {name}", end="", file=sys.stderr, flush=True)
            rows.append(compared(name, maker, settings, probe))
            print(f": {brief(rows[-1], peers, settings.threads)}", file=sys.stderr, flush=True)
            facts["peak_gflops"] = {t: round(rate, 1) for t, rate in sorted(probe.peak.items())} or None
            if arguments.json:
                report = document(facts, run, rows, peers, settings.threads)
                arguments.json.write_text(json.dumps(report, indent=1, default=float))
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
    probe.close()
    if arguments.save and len(rows) == len(makers):
        report = json.loads(json.dumps(document(facts, run, rows, peers, settings.threads), default=float))
        saved.write_text(text_of(report))
        for fault in check(report, saved.name):
            print(fault, file=sys.stderr)
        print(f"written: {saved.relative_to(ROOT)}", file=sys.stderr)
    print(text(facts, rows, settings.engines, settings.threads))
    bad = [row["name"] for row in rows if row.get("kind") in ("fp32", "tiny", "int8", "bf16") and not sound(row)]
    if bad:
        print(f"Lathe does not run, or does not agree: {', '.join(bad)}", file=sys.stderr)
    return 1 if bad else 0


def compared(name: str, maker: Callable[[], Made], settings: Settings, probe: Probe) -> dict:
    try:
        return Comparison(maker(), settings, probe).run()
    except Exception as e:  # a model that cannot even be made or read is listed, too
        return {"name": name, "kind": "none", "ratio": None, "ratios": {}, "reason": f"{type(e).__name__}: {e}"}


def sound(row: dict) -> bool:
    """Returns whether Lathe ran a model of the table and agreed, by plan too."""
    agree = (row["agree"].get(name, {"ok": True})["ok"] for name in ("lathe", "plan"))
    return "lathe" not in row.get("why", {}) and all(agree)


if __name__ == "__main__":
    sys.exit(main())
