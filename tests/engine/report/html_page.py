"""An HTML page as the tests of reports read it."""
import html.parser
import re

VOID = {"meta", "link", "br", "hr", "img", "input", "col"}


class Page(html.parser.HTMLParser):
    """Refuses what is not closed in its order; collects what the tests look at."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.headings, self.ids, self.text, self.problems = [], [], [], [], [], []
        self.feed(text)
        self.close()
        self.problems += [f"{tag} is never closed" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs), list(self.open)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs), list(self.open)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"line {self.getpos()[0]}: </{tag}> closes something else")

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)
