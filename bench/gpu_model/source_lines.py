"""Which lines of source the machine instructions of a run come from.

Needs objects with line numbers (CMake: FAIRLANE_GPUSIM_LINES); without them every line is "unknown".
"""
import collections
import re

from sass import class_of, executed

FILE = re.compile(r'\s*\.file\s+(\d+)\s+"(?:.*/)?([^"/]+)"', re.ASCII)
PLACE = re.compile(r"\s*\.loc\s+(\d+) (\d+)", re.ASCII)
CALLER = re.compile(r"inlined_at (\d+) (\d+)", re.ASCII)
UNKNOWN = "unknown"


def places_of(ptx):
    """[place of each line of the PTX]: 'file:line < file:line', the innermost first."""
    lines = ptx.splitlines()
    files = dict(found.groups() for found in map(FILE.match, lines) if found)
    places, here = [], UNKNOWN
    for line in lines:
        found = PLACE.match(line)
        if found:
            here = " < ".join(f"{files[file]}:{number}"
                              for file, number in [found.groups(), *CALLER.findall(line)])
        elif line.lstrip().startswith((".visible", ".entry", ".func", ".weak")):
            here = UNKNOWN
        places.append(here)
    return places


def by_line(kernel, code, places):
    """{place: {class: executed instructions}} of a kernel in a run."""
    found = collections.defaultdict(collections.Counter)
    for made, times in executed(kernel, code):
        if times > 0:
            found[places[made.line - 1]][class_of(made.op)] += times
    return found


def profile_text(name, found, steps, shown):
    """A kernel's lines of source for people, the most executed first. steps: of the run"""
    total = sum(sum(classes.values()) for classes in found.values())
    lines = [f"  {name}: {total / steps:.4g} instructions a step by line of source"]
    for place, classes in sorted(found.items(), key=lambda item: -sum(item[1].values()))[:shown]:
        here = sum(classes.values())
        mix = ", ".join(f"{c} {n / steps:.3g}" for c, n in classes.most_common(4))
        lines.append(f"    {100 * here / total:5.1f} %  {place}  ({mix})")
    return "\n".join(lines)
