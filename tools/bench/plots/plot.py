# SPDX-License-Identifier: Apache-2.0
"""plot.py - draws results of mam's benchmarks as SVG; `mam bench plot` runs it.

    plot.py [--name NAME] [--check | --out FOLDER | --page FILE.svg] FILE...

1. Read every file into one table of rows, as `mam bench host --csv` writes them; a row of a later
   file replaces the same row of an earlier one.
2. Draw each figure of figures.py that has rows: each into a file in FOLDER, which is written
   completely or not at all, or all of them into FILE.svg, one below another.

NAME begins each message. The exit status is 0, or 1 without matplotlib, or 2 for invalid input.
"""
import argparse
import gzip
import io
import itertools
import logging
import os
import re
import signal
import stat
import sys
import xml.etree.ElementTree as xml
import zlib

import figures

name = "plot.py"


class Refused(Exception):
    """Ends the program with a message and an exit status."""

    def __init__(self, text, status=2):
        super().__init__(text)
        self.status = status


def load_matplotlib():
    """Python may have several versions here, and matplotlib is often the system's."""
    global matplotlib, Figure, ticker, Line2D
    logging.getLogger("matplotlib").setLevel(logging.CRITICAL)  # about its caches and fonts
    try:
        import matplotlib
        import matplotlib.style
        from matplotlib import ticker
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D
    except Exception as error:  # an old matplotlib with a new numpy raises anything
        system = "/usr/bin/python3"
        if not os.environ.get("PYTHON") and os.access(system, os.X_OK):
            os.environ["PYTHON"] = system
            os.execv(system, [system, "-B"] + sys.argv)
        raise Refused(f"{sys.executable} cannot import matplotlib ({plain(str(error))}); install "
                      "python3-matplotlib, or set PYTHON to an interpreter that has it", 1)
    here = os.path.dirname(os.path.abspath(__file__))
    matplotlib.style.use(["default", os.path.join(here, "mam.mplstyle")])


# ---- rows

FIELD = r'(?:"([^"]*)"|([^",][^,]*|))'
ROW = re.compile(",".join([FIELD] * 5))
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
FACT = re.compile(r"# (gpu|driver|cpu|date|commit): (.*)")
VALUE_MAX = 1e100


def plain(text):
    """A control character or a half of a surrogate pair would make an SVG invalid."""
    return re.sub("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", " ", text)


def parse(line):
    """The four names and the value of a row; None if it is not one."""
    match = ROW.fullmatch(line)
    if not match:
        return None
    groups = match.groups()
    fields = [quoted if quoted is not None else bare
              for quoted, bare in zip(groups[::2], groups[1::2])]
    if not NUMBER.fullmatch(fields[4]) or abs(float(fields[4])) >= VALUE_MAX:
        return None
    return tuple(map(plain, fields[:4])), float(fields[4])


def read(path, rows, facts, may_skip):
    try:
        with open(path, "rb") as file:
            content = file.read()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise Refused(f"cannot read '{plain(path)}': its gzip data is damaged")
    except OSError as error:
        raise Refused(f"cannot read '{plain(path)}': {error.strerror}")
    lines = content.decode("utf-8-sig", "replace").split("\n")
    new_rows, new_facts = {}, {}
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r")
        if line.startswith("#") or not line:
            fact = FACT.fullmatch(line)
            if fact:
                new_facts[fact[1]] = plain(fact[2])
            continue
        row = parse(line)
        if row:
            new_rows[row[0]] = row[1]
        elif may_skip and not new_rows:
            say("note", f"{path} is skipped: line {number} is not a row of results "
                        "(WORKLOAD,ALLOCATOR,PARAMETER,METRIC,VALUE)")
            return
        else:
            raise Refused(f"{path}, line {number}: not a row of results, as mam bench host --csv "
                          "writes them (WORKLOAD,ALLOCATOR,PARAMETER,METRIC,VALUE)")
    rows.update(new_rows)
    facts.update(new_facts)


def footnote(facts):
    parts = []
    if facts.get("gpu", "none") not in ("", "none"):
        # After a semicolon the driver has OpenCL's device.
        parts.append(facts["gpu"] + ", driver " + facts.get("driver", "unknown").split(";")[0])
    parts.append(facts.get("cpu", ""))
    if facts.get("commit", "unknown") not in ("", "unknown"):
        parts.append("mam " + facts["commit"][:9])
    parts.append(facts.get("date", "")[:10])
    return "; ".join(part for part in parts if part)


class Table:
    """Rows by workload, allocator, parameter and metric."""

    def __init__(self, rows):
        self.rows = {key: value for key, value in rows.items() if value > 0}
        self.known = {key[:2] for key in rows} | {key[:3] for key in rows}

    def first(self, entry, workload, *parameter):
        """The first name of an allocator that has a row; None: it has none, or is omitted."""
        names, unless = entry[3], entry[4]
        if unless and (workload, unless, *parameter) in self.known:
            return None
        return next((one for one in names if (workload, one, *parameter) in self.known), None)


# ---- numbers and names


def show(value):
    """Three digits at most, and a unit prefix if that is shorter."""
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * factor:
            return f"{value / factor:.3g}{letter}"
    return f"{value:.3g}"


WIDTH = 820       # of a figure; all lengths are in px, and px are SVG's units
MARGIN = 20
LETTER = 7      # the width of one, about
LEFT = 78         # of the axes
RIGHT = 584
NAME_STEP = 17.5  # from one name of a line to the next
TOP = 86          # of the axes, below the title, the subtitle and the names of groups
HEIGHT = 300      # of the axes
BELOW = 62
FOOT = 26
SOFT = "#5c6779"  # of less important text, as tick labels in mam.mplstyle


class Page:
    """A matplotlib figure with lengths in px from the top left, and tooltips."""

    def __init__(self, height):
        self.height = height
        self.figure = Figure(figsize=(WIDTH / 72, height / 72))
        self.tips = {}  # id in the SVG: the tooltips of its parts

    def axes(self, left, top, width, height, **more):
        return self.figure.add_axes([left / WIDTH, 1 - (top + height) / self.height,
                                     width / WIDTH, height / self.height], **more)

    def text(self, x, y, text, **more):
        self.figure.text(x / WIDTH, 1 - y / self.height, text.replace("$", r"\$"), **more)

    def line(self, xs, ys, **more):
        self.figure.add_artist(Line2D([x / WIDTH for x in xs], [1 - y / self.height for y in ys],
                                      **more))

    def tip(self, texts):
        self.tips[f"values-{len(self.tips) + 1}"] = texts
        return f"values-{len(self.tips)}"

    def heading(self, top, title, subtitle):
        self.text(MARGIN, top + 30, title, fontsize=16, fontweight="bold")
        self.text(MARGIN, top + 50, subtitle, color=SOFT)

    def svg(self, title):
        """The SVG with a tooltip for each value, without the date and the version of matplotlib."""
        out = io.BytesIO()
        self.figure.savefig(out, format="svg", metadata=dict.fromkeys(
            ("Date", "Creator", "Format", "Type")))
        space = "http://www.w3.org/2000/svg"
        xml.register_namespace("", space)
        xml.register_namespace("xlink", "http://www.w3.org/1999/xlink")
        root = xml.fromstring(out.getvalue())
        root.set("width", str(WIDTH))
        root.set("height", f"{self.height:g}")
        root.set("role", "img")
        root.insert(0, xml.Comment(" SPDX-License-Identifier: Apache-2.0 "))
        root.insert(1, xml.Element(f"{{{space}}}title"))
        root[1].text = title
        for group in root.iter(f"{{{space}}}g"):
            parts = [part for kind in ("use", "path") for part in group.iter(f"{{{space}}}{kind}")]
            for part, text in zip(parts, self.tips.get(group.get("id"), ())):
                xml.SubElement(part, f"{{{space}}}title").text = text
        # DejaVu Sans is wider than these, so text fits in every viewer.
        root.set("font-family", "system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif")
        for text in root.iter(f"{{{space}}}text"):
            text.set("style", re.sub(r"font: (?:([0-9]+) )?([0-9.]+px) [^;]*", lambda font: (
                f"font-weight: {font[1]}; " if font[1] else "") + "font-size: " + font[2],
                text.get("style")))
            if text.get("transform", "").startswith("rotate(-0 "):
                del text.attrib["transform"]
        return re.sub(rb">\s+<", b">\n<", xml.tostring(root, encoding="utf-8")) + b"\n"


# ---- lines

MARKERS = dict(zip(figures.COLORS, "osD^vXPhpd"))
STYLES = {"": "solid", "dash": (0, (4, 2.5)), "dot": (0, (1, 2))}


class Lines:
    """A figure of lines: groups side by side, each line's name at the right with its last value."""

    height = TOP + HEIGHT + BELOW

    def __init__(self, figure, table):
        (self.file, self.title, self.subtitle, self.up, self.along, workload, entries,
         *groups) = figure
        self.lines = []  # (label, look, values of all groups)
        points = [[(workload, *point) for point in points] for _, points in groups]
        last = None
        for entry in entries:
            one = table.first(entry, workload)
            if one is None or one == last:
                continue  # an allocator is drawn once, by the first of its labels
            values = [[table.rows.get((workload, one, parameter, metric))
                       for _, parameter, metric, _ in group] for group in points]
            if any(value for group in values for value in group):
                last = one
                self.lines.append((entry[0], self.look(entry), values))
        self.groups = []  # (number in the figure, label, (number of a point, name below the axis))
        for i, (label, group) in enumerate(groups):
            kept = [(k, point[2]) for k, point in enumerate(group)
                    if any(values[i][k] for _, _, values in self.lines)]
            if kept:
                self.groups.append((i, label, kept))

    def __bool__(self):
        return bool(self.lines)

    @staticmethod
    def look(entry):
        _, color, style, _, _ = entry
        thick = color == "blue" and not style
        color_of = f"C{figures.COLORS.index(color)}"
        look = dict(color=color_of, marker=MARKERS[color], linestyle=STYLES[style],
                    linewidth=3.5 if thick else 2, markersize=9 if thick else 8,
                    markeredgecolor="white")
        if style:  # hollow markers
            look.update(markeredgecolor=color_of, markerfacecolor="white", markeredgewidth=1.4,
                        markersize=6.5)
        return look

    def draw(self, page, top):
        page.heading(top, self.title, self.subtitle)
        own = isinstance(self.up, tuple)  # each group has a vertical axis of its own
        gap = 62 if own else 20
        count = sum(len(kept) for _, _, kept in self.groups)
        step = (RIGHT - LEFT - gap * (len(self.groups) - 1)) / count
        left, first = LEFT, None
        for i, label, kept in self.groups:
            axes = page.axes(left, top + TOP, step * len(kept), HEIGHT)
            used = self.groups[:1] + [(i, "", [])] if own else self.groups
            self.scale(axes, [i] if own else [group[0] for group in used])
            if own or first is None:
                page.text(left - LEFT + 28, top + TOP + HEIGHT / 2, self.up[i] if own else self.up,
                          rotation=90, rotation_mode="anchor", ha="center", color=SOFT)
            else:
                axes.tick_params(axis="y", labelleft=False)
            if label:
                page.text(left + step * len(kept) / 2, top + TOP - 10, label, ha="center")
            self.name_points(axes, step, kept)
            self.plot(page, axes, i, label, kept)
            first = first or axes
            left += step * len(kept) + gap
        page.text((LEFT + RIGHT) / 2, top + TOP + HEIGHT + 41, self.along, ha="center",
                  color=SOFT)
        self.put_names(page, axes, top, left - gap - step / 2, own)

    def scale(self, axes, used):
        values = [value for _, _, groups in self.lines for i in used for value in groups[i] if value]
        low, high = min(values), max(values)
        axes.set_yscale("log")
        room = max((high / low) ** 0.05, 1.15)
        axes.set_ylim(low / room, high * room)
        few = high / low < 200
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if few else (1,), numticks=12))
        axes.yaxis.set_minor_locator(ticker.NullLocator())
        axes.yaxis.set_major_formatter(lambda value, _: show(value))

    @staticmethod
    def name_points(axes, step, kept):
        """Names that would overlap are omitted, the same number between any two that remain."""
        widest = LETTER * (max(len(text) for _, text in kept) + 1)
        every = -int(-widest // step)
        axes.set_xlim(-0.5, len(kept) - 0.5)
        axes.set_xticks(range(0, len(kept), every), [text for _, text in kept][::every])

    def plot(self, page, axes, i, group, kept):
        for order, (label, look, values) in enumerate(self.lines):
            points = [(x, values[i][k], text) for x, (k, text) in enumerate(kept) if values[i][k]]
            if not points:
                continue
            tips = [", ".join(filter(None, (label, group, text))) + ": " + show(value)
                    for _, value, text in points]
            axes.plot([x for x, _, _ in points], [value for _, value, _ in points],
                      gid=page.tip(tips), zorder=30 - order, clip_on=False, **look)

    def put_names(self, page, axes, top, x_last, own):
        """At the height of the line's last value; names that would overlap are moved apart."""
        last, _, points = self.groups[-1]
        highest, lowest = top + TOP, top + TOP + HEIGHT
        names = []
        for label, look, groups in self.lines:
            i, k, value = [(i, k, values[k]) for i, values in enumerate(groups)
                           for k in range(len(values)) if values[k]][-1]
            label = f"{label}: {show(value)}"
            y = page.height - axes.transData.transform((0, value))[1]
            if own and i != last:  # the axis is another one
                label += " " + dict(group[:2] for group in self.groups)[i]
                y = lowest
            ends = (i, k) == (last, points[-1][0])
            names.append([min(max(y, highest), lowest), y if ends else None, label, look])
        names.sort(key=lambda one: one[0])
        for one, before in zip(names[1:], names):
            one[0] = max(one[0], before[0] + NAME_STEP)
        for one in reversed(names):
            one[0] = min(one[0], lowest)
            lowest = one[0] - NAME_STEP
        for y, end, label, look in names:
            x = RIGHT + 14
            if end is not None:  # the line reaches the right edge
                page.line([x_last + 7, RIGHT + 2, x - 2], [end, end, y], linewidth=0.7,
                          color=look["color"])
            page.line([x, x + 13, x + 26], [y, y, y], markevery=[1], **look)
            page.text(x + 33, y + 4, label)


# ---- bars

BAR_LEFT = 172
BAR_RIGHT = 720
BAR_STEP = 23
GROUP_STEP = 32


class Bars:
    """The figure of held memory: a group of bars per program."""

    file, title, subtitle = figures.FOOTPRINT

    def __init__(self, table):
        workload, parameter, label = figures.FOOTPRINT_TRAINING
        self.groups = [(label, self.collect(table, workload, parameter))]
        traces = dict.fromkeys(key[2] for key in table.rows if key[0] == "replay")
        self.groups += [(trace, self.collect(table, "replay", trace)) for trace in traces]
        self.groups = [group for group in self.groups if group[1]]
        self.height = TOP + 2 + sum(GROUP_STEP + BAR_STEP * len(bars) for _, bars in self.groups)

    def __bool__(self):
        return bool(self.groups)

    @staticmethod
    def collect(table, workload, parameter):
        bars = []
        for entry in figures.HOLDERS:
            one = table.first(entry, workload, parameter)
            ratios = [table.rows.get((workload, one, parameter, metric))
                      for metric in figures.FOOTPRINT_METRICS]
            ratio = ratios[0] or ratios[1]
            if ratio:
                bars.append((entry[0], entry[1], max(100 * (ratio - 1), 0)))
        return bars

    def draw(self, page, top):
        page.heading(top, self.title, self.subtitle)
        longest = max(value for _, bars in self.groups for _, _, value in bars) or 1
        y = top + TOP - 10
        for group, bars in self.groups:
            page.text(MARGIN, y + 16, group, fontweight="bold")
            axes = page.axes(BAR_LEFT, y + GROUP_STEP - 6, BAR_RIGHT - BAR_LEFT, BAR_STEP * len(bars))
            axes.set(xlim=(0, longest), ylim=(len(bars) - 0.5, -0.5), xticks=[], yticks=[])
            axes.spines[["bottom"]].set_visible(False)
            axes.spines[["left"]].set_visible(True)
            for at, (label, color, value) in enumerate(bars):
                shown = f"{show(value)}%"
                axes.barh(at, max(value, longest / 500), height=0.64, gid=page.tip(
                    [f"{label}: {shown}"]), color=f"C{figures.COLORS.index(color)}")
                middle = y + GROUP_STEP - 6 + BAR_STEP * (at + 0.5) + 4
                page.text(BAR_LEFT - 8, middle, label, ha="right")
                page.text(BAR_LEFT + (BAR_RIGHT - BAR_LEFT) * value / longest + 7, middle, shown,
                          color=SOFT)
            y += GROUP_STEP + BAR_STEP * len(bars)


# ---- files


def draw(parts, title, foot):
    page = Page(sum(part.height for part in parts) + FOOT)
    top = 0
    for part in parts:
        part.draw(page, top)
        top += part.height
    page.text(MARGIN, page.height - 11, foot, fontsize=11, color=SOFT)
    return page.svg(title)


def write(path, data):
    """The file has its name once it is complete; a signal leaves no part of it."""
    path, named = os.path.realpath(path), plain(path)
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        raise Refused(f"cannot write '{named}': not a regular file")
    beside = f"{path}.{os.getpid()}"
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with open(file, "wb") as out:
                out.write(data)
            os.replace(beside, path)
        except OSError:
            os.unlink(beside)
            raise
    except OSError as error:
        raise Refused(f"cannot write '{named}': {error.strerror}")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def say(kind, text):
    print(f"{name}: {kind}: {plain(text)}", file=sys.stderr)


def run(options):
    load_matplotlib()  # before a pipe is read, as another interpreter may do that
    if options.check:
        return
    rows, facts = {}, {}
    for path in options.files:
        read(path, rows, facts, len(options.files) > 1)
    table = Table(rows)
    parts = [part for part in itertools.chain(
        (Lines(figure, table) for figure in figures.FIGURES), [Bars(table)]) if part]
    if not parts:
        raise Refused("nothing to draw: no figure shows these workloads")
    foot = footnote(facts)
    if options.page:
        write(options.page, draw(parts, "The cost of allocators", foot))
        return
    for part in parts:
        path = os.path.join(options.out, part.file)
        write(path, draw([part], part.title, foot))
        print(path, flush=True)


def main():
    global name
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    parser = argparse.ArgumentParser(prog=name, description=__doc__.splitlines()[0])
    parser.add_argument("--name", default=name, help="begin messages with NAME")
    parser.add_argument("--out", default=".", metavar="FOLDER", help="write figures to FOLDER")
    parser.add_argument("--page", metavar="FILE", help="write all figures into one file")
    parser.add_argument("--check", action="store_true", help="only check that figures can be drawn")
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args()
    name = options.name
    try:
        run(options)
    except Refused as refused:
        say("error", str(refused))
        return refused.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
