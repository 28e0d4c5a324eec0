"""The colours of a page, as its own style sheet says them."""
import re

SCHEMES = {"light": (), "dark": ("(prefers-color-scheme:dark)",), "print": ("print",)}


class Scheme:
    """What holds in one colour scheme. rules: (selector, {property: value}), variables: {name: value}"""

    def __init__(self, name, rules):
        self.name, self.rules = name, rules
        self.variables = {key: value for selector, values in rules if selector == ":root"
                          for key, value in values.items() if key.startswith("--")}

    def colour(self, value):
        """(red, green, blue) from 0 to 1 of "var(--ink)", "#fff" or "#1c2127"."""
        while value.startswith("var("):
            value = self.variables[value[4:-1]]
        digits = value[1:] if len(value) == 7 else "".join(2 * digit for digit in value[1:])
        if not re.fullmatch("#[0-9a-f]{6}", "#" + digits):
            raise ValueError(f"{value} is no colour that this test can read")
        return [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]

    def pairs(self):
        """(colour, background) of what a rule sets together; and of what is set alone each with each, as anything may be in
        anything."""
        texts, grounds = set(), set()
        for _, values in self.rules:
            text, ground = values.get("color"), values.get("background")
            if text and ground:
                yield text, ground
            elif text:
                texts.add(text)
            elif ground:
                grounds.add(ground)
        yield from ((text, ground) for text in sorted(texts) for ground in sorted(grounds))


def blocks(style):
    """(head, body) of each block at the outermost level."""
    start, depth, head = 0, 0, ""
    for found in re.finditer("[{}]", style):
        depth += 1 if found.group() == "{" else -1
        if depth == (found.group() == "{"):
            if depth:
                head = style[start:found.start()].strip()
            else:
                yield head, style[start:found.start()]
            start = found.end()


def rules_of(style):
    for selector, body in blocks(style):
        values = dict(part.split(":", 1) for part in body.split(";") if ":" in part)
        yield selector, {name.strip(): value.strip() for name, value in values.items()}


def schemes(page):
    """The schemes of a page. What holds by width or by feature holds in all of them."""
    style = "".join(text for one in page.find("style") for text in one.content)
    found = {name: [] for name in SCHEMES}
    for head, body in blocks(style):
        media = head.removeprefix("@media").strip() if head.startswith("@media") else None
        for name, own in SCHEMES.items():
            if media is None:
                found[name] += rules_of(f"{head}{{{body}}}")
            elif media in own or "width" in media:
                found[name] += rules_of(body)
    return [Scheme(name, rules) for name, rules in found.items()]


def luminance(colour):
    """As of WCAG 2."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """Of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
