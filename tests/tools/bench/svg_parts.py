# SPDX-License-Identifier: Apache-2.0
"""svg_parts.py - prints what a figure of `mam bench plot` shows, for tests: one line per part.

    text X Y SIZE CONTENT                 a text
    value X Y COLOR TOOLTIP               a marker or a bar
    line COLOR solid|dashed X,Y ...       a line through markers

Fields are separated by tabs.
"""
import re
import sys
import xml.etree.ElementTree as xml

SVG = "{http://www.w3.org/2000/svg}"


def style(part, key):
    match = re.search(rf"(?:^|; ){key}: ([^;]*)", part.get("style", ""))
    return match[1] if match else ""


def show(*fields):
    print(*fields, sep="\t")


for part in xml.parse(sys.argv[1]).getroot().iter():
    if part.tag == SVG + "text":
        show("text", part.get("x"), part.get("y"), style(part, "font-size"), part.text)
    if part.tag != SVG + "g" or not part.get("id", "").startswith("values-"):
        continue
    for value in part.iter():
        title = value.find(SVG + "title")
        if title is None:
            continue
        x, y = value.get("x"), value.get("y")
        if value.tag == SVG + "path":  # a bar: its far end
            points = re.findall(r"[ML] (\S+) (\S+)", value.get("d"))
            x, y = max(points, key=lambda point: float(point[0]))
        color = style(value, "fill")
        show("value", x, y, color if color != "#ffffff" else style(value, "stroke"), title.text)
    for path in part.findall(SVG + "path"):
        if style(path, "fill") == "none":
            show("line", style(path, "stroke"), "dashed" if style(path, "stroke-dasharray") else "solid",
                 *[",".join(point) for point in re.findall(r"[ML] (\S+) (\S+)", path.get("d"))])
