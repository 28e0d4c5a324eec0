"""An HTML page as the tests of reports read it."""
import html.parser
import re

VOID = {"meta", "link", "br", "hr", "img", "input", "col"}


class Element:
    """An element with what is in it: elements and texts, in their order."""

    def __init__(self, tag, attributes=(), parent=None):
        self.tag, self.attributes, self.parent, self.content = tag, dict(attributes), parent, []

    def __iter__(self):
        """The elements within it, in the page's order."""
        for item in self.content:
            if isinstance(item, Element):
                yield item
                yield from item

    def __str__(self):
        return f"<{' '.join([self.tag, *(f'{name}={value!r}' for name, value in self.attributes.items())])}>"

    def get(self, name, default=None):
        return self.attributes.get(name, default)

    def children(self):
        return [item for item in self.content if isinstance(item, Element)]

    def ancestors(self):
        return [] if self.parent is None else [self.parent, *self.parent.ancestors()]

    def texts(self):
        for item in self.content:
            yield from [item] if isinstance(item, str) else item.texts()

    def text(self):
        return " ".join(" ".join(self.texts()).split())


class Page(html.parser.HTMLParser):
    """Refuses what is not closed in its order; collects what the tests look at."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.source, self.problems, self.text = source, [], []
        self.root = self.open = Element("page")
        self.feed(source)
        self.close()
        self.problems += [f"{tag} is never closed" for tag in [self.open, *self.open.ancestors()][:-1]]
        self.ids = [one.get("id") for one in self.root if "id" in one.attributes]

    def find(self, *tags):
        """The elements of these kinds, in the page's order."""
        return [one for one in self.root if one.tag in tags]

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open = self.open.content[-1]

    def handle_startendtag(self, tag, attrs):
        self.open.content.append(Element(tag, attrs, self.open))

    def handle_endtag(self, tag):
        if self.open.tag != tag:
            self.problems.append(f"line {self.getpos()[0]}: </{tag}> closes something else")
        if self.open.parent is not None:
            self.open = self.open.parent

    def handle_data(self, data):
        self.open.content.append(data)
        if self.open.tag != "style":
            self.text.append(data)
