"""Writes docs/performance.md and docs/performance.svg from bench/results, and the table of measurements in README.md.

    python bench/peers/page.py            writes them
    python bench/peers/page.py --check    says which are out of date, and ends with 1 if any is

bench/results/page.md has the text that people write; "{{name}}" in a line of its own is replaced by a table. In README.md the
lines between "<!-- measurements -->" and "<!-- /measurements -->" are replaced, if it has these.
"""

from __future__ import annotations

import sys
import textwrap
from html import escape

from report import COST_MUSTS, LATHE, ORT, VINO, digits, geometric_mean
from results import BRANDS, RESULTS, ROOT, file_name, machine_name, read_all

TEMPLATE = RESULTS / "page.md"
PAGE = ROOT / "docs" / "performance.md"
PLOT = ROOT / "docs" / "performance.svg"
README = ROOT / "README.md"
MARKERS = "<!-- measurements -->\n", "<!-- /measurements -->"

WIDEST = ("AMX", "AVX-512", "AVX2", "SVE", "NEON")
NAMES = {"epyc": "EPYC", "amd": "AMD"}
KINDS = {
    "fp32": "networks in float32",
    "tiny": "tiny models",
    "int8": "quantized networks",
    "bf16": "in bfloat16 (ONNX Runtime: float32)",
    "shared": "models by other people",
}
WHOLE = 20  # a run of fewer networks in float32 only corrects single models


class Machine:
    """The measurements of one machine. Of several files the newest that has a value counts."""

    def __init__(self, documents: list[dict]):
        self.documents = documents  # the newest first
        self.run = next(d for d in documents if is_whole(d))
        self.facts = self.run["machine"]

    @property
    def title(self) -> str:
        """"EPYC 26-2": the brand, its family and model."""
        *words, family, model = machine_name(self.facts).split("-")
        brand = next((w for w in words if w in BRANDS), words[0])
        return f"{NAMES.get(brand, brand.title())} {family}-{model}"

    @property
    def widest(self) -> str:
        return next((s for s in WIDEST if s in self.facts.get("instruction_sets", [])), "")

    def models(self) -> list[dict]:
        return self.run["models"]

    def versions(self, name: str) -> list[dict]:
        """Returns the rows of a model, the newest first."""
        return [m for d in self.documents for m in d["models"] if m["name"] == name]

    def ratio(self, name: str, peer: str, threads: str) -> dict | None:
        each = (m["ratios"].get(peer, {}).get(threads) for m in self.versions(name))
        return next(filter(None, each), None)

    def time(self, name: str, threads: str) -> float | None:
        each = (m.get("engines", {}).get(LATHE, {"times": {}})["times"].get(threads) for m in self.versions(name))
        return next((t["time"] for t in each if t and t.get("time")), None)

    def mean(self, kind: str, peer: str, threads: str) -> float | None:
        recorded = self.run["geomean"].get(peer, {}).get(threads)
        if kind == "fp32" and recorded:
            return recorded
        names = {m["name"] for d in self.documents for m in d["models"] if m["kind"] == kind and not m.get("call_matters")}
        if kind == "tiny":
            names = {m["name"] for m in self.models() if m["kind"] == kind}
        ratios = [r["ratio"] for n in sorted(names) if (r := self.ratio(n, peer, threads))]
        return None if kind == "fp32" and len(ratios) < WHOLE else geometric_mean(ratios)


def is_whole(document: dict) -> bool:
    return sum(m["kind"] == "fp32" for m in document.get("models", [])) >= WHOLE


def machines(results: dict[str, dict]) -> list[Machine]:
    """Returns those with a whole run. The first one, which the page shows in full, is the newest that was quiet."""
    by_name: dict[str, list[dict]] = {}
    for document in reversed(list(results.values())):
        if "models" in document:
            by_name.setdefault(machine_name(document["machine"]), []).append(document)
    found = [Machine(each) for each in by_name.values() if any(map(is_whole, each))]
    found.sort(key=lambda m: m.facts["date"], reverse=True)
    return sorted(found, key=lambda m: bool(m.facts.get("noisy") or "2" not in m.run["geomean"].get(ORT, {})))


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def spread(ratio: dict | None) -> str:
    if ratio is None:
        return "–"
    return number(ratio["ratio"]) + (f" ({ratio['low']:.2f}–{ratio['high']:.2f})" if "low" in ratio else "")


def milliseconds(seconds: float | None) -> str:
    return f"{seconds * 1e3:.5f}" if seconds and seconds < 1e-5 else digits(seconds, 1e3)


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


# ------------------------------------------------------------------------------------------------------------- tables


def machine_table(found: list[Machine]) -> str:
    header = ["machine", "instructions", "date", "commit", "ORT, 1T", "OpenVINO, 1T", "ORT, 2T", "OpenVINO, 2T"]
    header += ["loading", "plan", "first run", "memory"]
    rows = []
    for m in found:
        means = [number(m.mean("fp32", peer, t)) for t in "12" for peer in (ORT, VINO)]
        costs = m.run.get("costs", {})
        cells = [f"{costs[key]:.{0 if key == 'plan_ratio' else 2}f}" if costs.get(key) else "–" for key in COST_MUSTS]
        rows.append([m.title, m.widest, m.facts["date"], m.facts["commit"], *means, *cells])
    rows.append(["target", "", "", "", "1.35", "", "1.35", "", *(f"{must:g}" for must in COST_MUSTS.values())])
    notes = []
    for m in found:
        parts = [m.facts["note"]] if m.facts.get("note") else []
        for later in m.documents[: m.documents.index(m.run)]:
            names = ", ".join(model["name"] for model in later["models"])
            parts.append(f"Ratios of {names}: {later['machine']['date']}, commit {later['machine']['commit']}.")
        if parts:
            notes.append(textwrap.fill(f"- {m.title}: {' '.join(parts)}", 140, subsequent_indent="  ", break_on_hyphens=False))
    return "\n".join([table(header, rows), "", *notes])


def kind_table(m: Machine) -> str:
    rows = []
    for kind, title in KINDS.items():
        cells = [m.mean(kind, peer, t) for t in "12" for peer in (ORT, VINO)]
        if any(cells):
            rows.append([title, *map(number, cells)])
    return table([f"{m.title}, geometric means", "ORT, 1T", "OpenVINO, 1T", "ORT, 2T", "OpenVINO, 2T"], rows)


def model_table(found: list[Machine]) -> str:
    main, *others = found
    header = ["model", "ms, 1T", "ORT", "OpenVINO", "ms, 2T", "ORT", "OpenVINO", "1T / 2T", "target"]
    header += [f"{m.title}: ORT, OpenVINO" for m in others]
    rows = []
    for model in main.models():
        name, cells = model["name"], [model["name"]]
        for t in "12":
            cells += [milliseconds(main.time(name, t)), spread(main.ratio(name, ORT, t)), spread(main.ratio(name, VINO, t))]
        cells.append(number(model.get("scaling", {}).get(LATHE, {}).get("2")))
        cells.append(f"{model['must']:g}" if model.get("must") else "")
        for m in others:
            both = [m.ratio(name, peer, "1") for peer in (ORT, VINO)]
            cells.append(", ".join(number(r and r["ratio"]) for r in both) if any(both) else "–")
        rows.append(cells)
    return table(header, rows)


def missed_table(found: list[Machine]) -> str:
    """Lists what misses its target, and where OpenVINO is faster. Of loading, first runs and memory the means have targets."""
    rows = []
    titles = {"load_ratio": "loading", "plan_ratio": "loading of plans", "first_ratio": "first runs", "memory_ratio": "memory"}
    for m in found:
        for t in "12":
            below, ahead = [], []
            if (mean := m.mean("fp32", ORT, t)) and mean < 1.35:
                below.append(f"the mean {mean:.2f} of 1.35")
            for model in m.models():
                ort, vino = (m.ratio(model["name"], peer, t) for peer in (ORT, VINO))
                if ort and model.get("must") and ort["ratio"] < model["must"]:
                    below.append(f"{model['name']} {ort['ratio']:.2f} of {model['must']:g}")
                if vino and vino["ratio"] < 1:
                    ahead.append(f"{model['name']} {vino['ratio']:.2f}")
            if t == "1":
                costs = m.run.get("costs", {})
                missed = {key: must for key, must in COST_MUSTS.items() if costs.get(key) and costs[key] < must}
                below += [f"{titles[key]} {costs[key]:.2f} of {must:g}" for key, must in missed.items()]
            if any(m.ratio(model["name"], ORT, t) for model in m.models()):
                rows.append([m.title, t, ", ".join(below) or "none", ", ".join(ahead) or "none"])
    return table(["machine", "threads", "below the target", "OpenVINO is faster"], rows)


def subject_table(results: dict[str, dict]) -> str:
    newest = {d["subject"]: d for d in results.values() if "subject" in d}
    rows = []
    for subject, d in sorted(newest.items()):
        rows.append([f"[{subject}](../bench/results/{file_name(d)})", d["machine"]["date"], d["summary"]])
    return table(["file", "date", "result"], rows)


def readme_table(found: list[Machine]) -> str:
    header = ["geometric mean over 20 networks", "ONNX Runtime, 1 thread", "2 threads", "OpenVINO, 1 thread", "2 threads"]
    header.append("loading a plan")
    rows = []
    for m in found:
        means = [m.mean("fp32", peer, t) for peer in (ORT, VINO) for t in "12"]
        plan = m.run.get("costs", {}).get("plan_ratio")
        cells = ["–" if mean is None else f"{mean:.2f}×" for mean in means]
        rows.append([f"{full_title(m)}, {m.widest}", *cells, f"{plan:.0f}×" if plan else "–"])
    return table(header, rows)


def full_title(m: Machine) -> str:
    vendor = next((NAMES.get(w, w.title()) for w in machine_name(m.facts).split("-") if w in ("amd", "intel")), "")
    return f"{vendor} {m.title}".strip()


# --------------------------------------------------------------------------------------------------------------- plot

ROW, BAR, LABEL, PANEL, GAP = 22, 8, 150, 330, 30
COLORS = {ORT: "#2f6fb0", VINO: "#e08a2c"}


def plot(m: Machine) -> str:
    """Draws the ratios of each model but the tiny ones as bars, on one thread and on two."""
    names = [model["name"] for model in m.models() if model["kind"] != "tiny"]
    ratios = [r["ratio"] for n in names for peer in COLORS for t in "12" if (r := m.ratio(n, peer, t))]
    most = max(2, int(max(ratios, default=1)) + 1)
    width, top = LABEL + 2 * PANEL + 2 * GAP, 70
    height = top + ROW * len(names) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f"<title>How many times as fast as its peers Lathe is, {escape(full_title(m))}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="10" y="20" font-size="14">How many times as fast as its peers Lathe is: {escape(full_title(m))}, '
        f"{m.widest}, {m.facts['date']}</text>",
    ]
    for i, (peer, color) in enumerate(COLORS.items()):
        title = {ORT: "ONNX Runtime", VINO: "OpenVINO"}[peer]
        parts.append(f'<rect x="{LABEL + 130 * i}" y="30" width="12" height="12" fill="{color}"/>')
        parts.append(f'<text x="{LABEL + 130 * i + 18}" y="41">{title}</text>')
    for t, left in ("1", LABEL), ("2", LABEL + PANEL + GAP):
        parts.append(f'<text x="{left + PANEL}" y="41" text-anchor="end">{t} thread{"s" if t > "1" else ""}</text>')
        for value in range(most + 1):
            x = left + PANEL * value / most
            parts.append(f'<line x1="{x:.1f}" y1="{top - 12}" x2="{x:.1f}" y2="{height - 25}" stroke="#d0d0d0"/>')
            parts.append(f'<text x="{x:.1f}" y="{height - 10}" text-anchor="middle">{value}</text>')
        for at, name in enumerate(names):
            for i, (peer, color) in enumerate(COLORS.items()):
                if ratio := m.ratio(name, peer, t):
                    y, long = top + ROW * at + BAR * i, PANEL * ratio["ratio"] / most
                    tip = f"<title>{escape(name)}: {ratio['ratio']:.2f}</title>"
                    parts.append(f'<rect x="{left}" y="{y}" width="{long:.1f}" height="{BAR}" fill="{color}">{tip}</rect>')
        one = left + PANEL / most  # in front of the bars: equally fast
        parts.append(f'<line x1="{one:.1f}" y1="{top - 12}" x2="{one:.1f}" y2="{height - 25}" stroke="#202020"/>')
    for at, name in enumerate(names):
        parts.append(f'<text x="{LABEL - 8}" y="{top + ROW * at + 12}" text-anchor="end">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


# --------------------------------------------------------------------------------------------------------------- files


def page(results: dict[str, dict], template: str) -> str:
    found = machines(results)
    tables = {
        "machines": machine_table(found),
        "kinds": kind_table(found[0]),
        "models": model_table(found),
        "missed": missed_table(found),
        "subjects": subject_table(results),
    }
    for name, text in tables.items():
        if template.count(f"{{{{{name}}}}}\n") != 1:
            raise ValueError(f"{TEMPLATE.name}: {{{{{name}}}}} is to stand there once, in a line of its own")
        template = template.replace(f"{{{{{name}}}}}\n", text + "\n")
    return template


def readme(text: str, results: dict[str, dict]) -> str:
    """Returns README.md with its table, or unchanged where it has no markers."""
    begin, end = MARKERS
    if begin not in text:
        return text
    head, rest = text.split(begin, 1)
    if end not in rest:
        raise ValueError(f"README.md has {begin.strip()} but no {end}")
    return head + begin + "\n" + readme_table(machines(results)) + "\n\n" + end + rest.split(end, 1)[1]


def outputs() -> dict:
    """Returns the text that each file is to contain."""
    results = read_all()
    return {
        PAGE: page(results, TEMPLATE.read_text()),
        PLOT: plot(machines(results)[0]),
        README: readme(README.read_text(), results),
    }


def main() -> int:
    stale = [(path, text) for path, text in outputs().items() if not path.exists() or path.read_text() != text]
    for path, text in stale:
        if "--check" in sys.argv:
            print(f"{path.relative_to(ROOT)} is not what bench/results gives: run python bench/peers/page.py")
        else:
            path.write_text(text)
            print(f"written: {path.relative_to(ROOT)}")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
