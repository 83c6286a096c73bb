"""Tables, as Markdown that reads well in a terminal too, and the JSON."""

from __future__ import annotations

import math
import statistics

LATHE, ORT, VINO = "lathe", "onnxruntime", "openvino"
TITLES = {LATHE: "Lathe", ORT: "ONNX Runtime", VINO: "OpenVINO", "plan": "Lathe's plan"}
# Required ratios of the geometric mean. They could not hold for every model: a first run computes the network once, and
# that time has a requirement of its own (ResNet-50 1.25).
COST_MUSTS = {"load_ratio": 4, "plan_ratio": 20, "first_ratio": 2, "memory_ratio": 1.5}
KINDS = {
    "fp32": "Networks in float32",
    "tiny": "Tiny models",
    "int8": "Quantized",
    "bf16": "In bfloat16 (opt-in), which ONNX Runtime does not have: it calculates in float32",
    "shared": "Models by other people",
}


def geometric_mean(values: list[float]) -> float | None:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def ratio_of(row: dict, peer: str, threads: int) -> dict | None:
    return row["ratios"].get(peer, {}).get(str(threads))


def means(rows: list[dict], peers: list[str], threads: list[int], kind: str = "fp32") -> dict:
    """Returns means over the models of a kind: {"onnxruntime": {"1": 1.42}}. Of shared models only those where
    the call does not matter: the table has tiny ones of its own."""
    chosen = [row for row in rows if row["kind"] == kind and not (kind == "shared" and row["call_matters"])]

    def mean(peer: str, t: int) -> float | None:
        return geometric_mean([r["ratio"] for row in chosen if (r := ratio_of(row, peer, t))])

    return {peer: {str(t): mean(peer, t) for t in threads} for peer in peers}


def mean_costs(rows: list[dict]) -> dict:
    """Returns the means of loading, first runs and memory over the networks in float32; of first runs over the convolutional ones."""
    chosen = [row for row in rows if row["kind"] == "fp32"]
    values = {key: [row[key] for row in chosen if row.get(key) and (row["cnn"] or key != "first_ratio")] for key in COST_MUSTS}
    return {key: geometric_mean(each) for key, each in values.items()}


def document(facts: dict, run: dict, rows: list[dict], peers: list[str], threads: list[int]) -> dict:
    """Returns the JSON document that bench/results/README.md describes."""
    geomean = means(rows, peers, threads)
    return {"machine": facts, "run": run, "geomean": geomean, "costs": mean_costs(rows), "models": rows}


def brief(row: dict, peers: list[str], threads: list[int]) -> str:
    """A line while it runs."""
    if "reason" in row:
        return row["reason"]
    each = [f"{TITLES[p]} {t}T {times(r['ratio'])}" for p in peers for t in threads if (r := ratio_of(row, p, t))]
    return ", ".join(each) or ("does not run" if row["why"] else "no sample counts")


# -------------------------------------------------------------------------------------------------------------- pieces


def digits(value: float | None, unit: float = 1) -> str:
    """Three digits that count."""
    if value is None or value * unit < 1e-3:
        return "–"
    value *= unit
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}"


def times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f}"


def table(header: list[str], body: list[list[str]]) -> str:
    """Columns in line: the first to the left, the others to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(header, *body)]

    def line(cells: list[str]) -> str:
        return "| " + " | ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths))) + " |"

    rule = "|" + "|".join(("-" * (w + 1) + ":") if i else "-" * (w + 2) for i, w in enumerate(widths)) + "|"
    return "\n".join([line(header), rule, *map(line, body)])


def with_spread(ratio: dict | None) -> str:
    return "–" if ratio is None else f"{ratio['ratio']:.2f} ({ratio['low']:.2f}–{ratio['high']:.2f})"


def agreement(row: dict) -> str:
    """Says which engines disagree with ONNX Runtime and by how much; for bfloat16, how far it is off."""
    if row["kind"] == "bf16" and (lost := row["agree"].get(LATHE, {}).get("difference")):
        return f"off by {100 * lost:.2f} %"
    bad = [
        f"{TITLES[name]} {'see below' if 'why' in a else 'differs' if a['difference'] is None else format(a['difference'], '.0e')}"
        for name, a in row["agree"].items()
        if not a["ok"]
    ]
    return ", ".join(bad) or ("yes" if row["agree"] else "–")


def met(value: float | None, must: float | None) -> str:
    if must is None:
        return ""
    return f"{must:g} –" if value is None else f"{must:g} {'met' if value >= must else 'MISSED'}"


# -------------------------------------------------------------------------------------------------------------- tables


def speeds(rows: list[dict], engines: list[str], threads: int) -> str:
    peers = [e for e in engines if e != LATHE]
    header = ["model", "GFLOP"]
    for e in engines:
        header += [f"{TITLES[e]} ms", "% of peak"]
    header += [f"{TITLES[p]} / Lathe" for p in peers] + ["must", "outputs agree"]
    body = []
    for row in rows:
        cells = [row["name"], digits(row["gflop"])]
        for e in engines:
            t = row["engines"][e]["times"].get(str(threads), {})
            cells += [digits(t.get("time"), 1e3), share(t.get("peak_share"))]
        cells += [with_spread(ratio_of(row, p, threads)) for p in peers]
        one = ratio_of(row, ORT, threads)
        body.append([*cells, met(one and one["ratio"], row["must"]), agreement(row)])
    return table(header, body)


def calls(rows: list[dict], engines: list[str], threads: int) -> str:
    """The time as called from Python beside the time without the call."""
    header = ["model"] + [h for e in engines for h in (f"{TITLES[e]} µs", "bare µs")]
    header += ["ONNX Runtime / Lathe", "bare"]
    body = []
    for row in rows:
        cells, bare = [row["name"]], {}
        for e in engines:
            t = row["engines"][e]["times"].get(str(threads), {})
            bare[e] = t.get("bare")
            cells += [digits(t.get("time"), 1e6), digits(bare[e], 1e6)]
        one, both = ratio_of(row, ORT, threads), bare.get(LATHE) and bare.get(ORT)
        body.append([*cells, times(one and one["ratio"]), times(both and bare[ORT] / bare[LATHE])])
    return table(header, body)


def scaling(rows: list[dict], engines: list[str], threads: list[int]) -> str:
    """Says how many times faster than one thread engines are. Models that wait for memory (a small share of the peak)
    cannot be; and if a cache line that another core wrote takes long to arrive, layers wait for each other."""
    more = [t for t in threads if t > 1]
    header = ["model", "% of peak on one"]
    for t in more:
        header += [f"{TITLES[e]} {t}T" for e in engines] + [f"ns a line, {t}T"]

    def gain(row: dict, engine: str, t: int) -> float | None:
        one, many = (row["engines"][engine]["times"].get(str(n), {}).get("time") for n in (1, t))
        return one / many if one and many else None

    body = []
    for row in rows:
        one = row["engines"].get(LATHE, {}).get("times", {}).get("1", {})
        cells = [row["name"], share(one.get("peak_share"))]
        for t in more:
            lines = row.get("line_ns", {}).get(str(t), [])
            between = f"{statistics.median(lines):.1f} ({lines[0]:.1f}–{lines[-1]:.1f})" if lines else "–"
            cells += [times(gain(row, e, t)) for e in engines] + [between]
        body.append(cells)
    return table(header, body)


def costs(rows: list[dict], engines: list[str]) -> str:
    """Loading, the first run, and the most resident memory, with one thread; ratios are ONNX Runtime's over Lathe's."""
    header = ["model", "file MB"]
    for what in "load ms", "first ms", "memory MB":
        header += [f"{what}: {TITLES[e]}" for e in engines]
        header += ["ratio"]
        if what in ("load ms", "first ms"):
            header += [f"{what}: a plan", "ratio"]
    body = []
    for row in rows:
        cells = [row["name"], digits(row["file_bytes"], 1e-6)]
        for what, unit in ("load", 1e3), ("first", 1e3), ("memory", 1e-6):
            cells += [digits(row["engines"][e].get(what), unit) for e in engines]
            cells += [times(row[f"{what}_ratio"])]
            if what != "memory":
                ratio = row["plan_ratio" if what == "load" else "plan_first_ratio"]
                cells += [digits(row["engines"].get(LATHE, {}).get(f"plan_{what}"), 1e3), times(ratio)]
        body.append(cells)
    return table(header, body)


def cost_summary(rows: list[dict]) -> str:
    names = {
        "load_ratio": "load of the .onnx file",
        "plan_ratio": "load of Lathe's plan beside their .onnx file",
        "first_ratio": "first run (convolutional networks)",
        "memory_ratio": "peak resident memory",
    }
    body = []
    for key, must in COST_MUSTS.items():
        values = {r["name"]: r[key] for r in rows if r[key] and (r["cnn"] or key != "first_ratio")}
        if values:
            mean = geometric_mean(list(values.values()))
            below = sorted((value, name) for name, value in values.items() if value < must)
            body.append([names[key], times(mean), met(mean, must), ", ".join(f"{name} {value:.2f}" for value, name in below)])
    return table(["ONNX Runtime / Lathe", "mean", "must, of the mean", "models below it"], body) if body else ""


def failures(rows: list[dict]) -> str:
    lines = []
    for row in rows:
        if "reason" in row:
            lines.append(f"- {row['name']}: {row['reason']}")
        lines += [f"- {row['name']}, {TITLES[e]}: {why}" for e, why in row.get("why", {}).items()]
        for e, facts in row.get("engines", {}).items():
            if "unbound" in facts:
                lines.append(f"- {row['name']}, {TITLES[e]}, runs only without binding: {facts['unbound']}")
        for e, a in row.get("agree", {}).items():
            if "why" in a:
                lines.append(f"- {row['name']}, outputs of {TITLES[e]}: {a['why']}")
    return "\n".join(lines)


def busy(rows: list[dict], threads: list[int]) -> str:
    """Says whether the numbers are reliable."""
    shares = [
        t["busy"]
        for row in rows
        for e in row.get("engines", {}).values()
        if (t := e["times"].get("1"))  # on more threads some rest
    ]
    dropped = sum(t["dropped"] for r in rows for e in r.get("engines", {}).values() for t in e["times"].values())
    lines = [f"{dropped} samples were dropped." if dropped else ""]
    if shares and min(shares) < 0.95:
        lines.append(f"The machine was busy: an engine had as little as {100 * min(shares):.0f} % of its processor.")
    return " ".join(line for line in lines if line)


def text(facts: dict, rows: list[dict], engines: list[str], threads: list[int]) -> str:
    parts = [", ".join(f"{k}: {v}" for k, v in facts.items() if v is not None)]
    ran = [row for row in rows if "engines" in row and len(row.get("why", {})) < len(engines)]
    for t in threads:
        parts.append(f"## {t} thread{'s' if t > 1 else ''}")
        for kind, title in KINDS.items():
            if chosen := [row for row in ran if row["kind"] == kind]:
                parts += [f"### {title}", speeds(chosen, engines, t)]
        if tiny := [row for row in ran if row["call_matters"]]:
            parts += ["### Where the call itself costs more than 2 %", calls(tiny, engines, t)]
    if 1 in threads and len(threads) > 1 and (networks := [row for row in ran if row["kind"] == "fp32"]):
        parts += ["## Several threads against one", scaling(networks, engines, threads)]
    if measured := [row for row in ran if row["kind"] in ("fp32", "int8", "bf16")]:
        parts += ["## Loading, first run, memory", costs(measured, engines)]
        parts += [cost_summary([row for row in measured if row["kind"] == "fp32"])]
    if failed := failures(rows):
        parts += ["## What did not run, or not so", failed]
    peers = [e for e in engines if e != LATHE]
    lines = []
    for kind in KINDS:
        for peer, by_threads in means(ran, peers, threads, kind).items():
            for t, mean in by_threads.items():
                if mean:
                    lines.append(f"{KINDS[kind]}, {t}T: {TITLES[peer]} / Lathe {mean:.2f}")
    if lines:
        parts += ["## Geometric means (above 1: Lathe is faster)", "\n".join(f"- {line}" for line in lines)]
    parts.append(busy(rows, threads))
    return "\n\n".join(part for part in parts if part)
