"""What every page owes its readers, whatever they read it with: rules as of WCAG 2.2 AA, each a function that yields what breaks
it, and that a page needs nothing else and fits a mail."""
import re

from html_page import Page
from style_sheet import contrast, schemes

LEAST_CONTRAST = 4.5  # WCAG 2.2 AA, for text
MOST_BYTES = 2_000_000
LANDMARKS = {"header", "nav", "main", "footer"}
SECTIONING = {"article", "aside", "main", "nav", "section"}
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


def name_of(page, element):
    """What a screen reader calls an element by its attributes; empty where they name nothing."""
    ids = {one.get("id"): one for one in page.root}
    words = [ids[place].text() for place in element.get("aria-labelledby", "").split() if place in ids]
    return " ".join(words) or element.get("aria-label", "").strip()


def is_hidden(element):
    return any(one.get("aria-hidden") == "true" for one in [element, *element.ancestors()])


def closed_in_order(page):
    yield from page.problems


def needs_nothing_else(page):
    yield from (word for word in ("http:", "https:", "<script", "@import", "url(") if word in page.source)
    for one in page.root:
        yield from (f"{one}: {name}" for name in one.attributes
                    if name in ("src", "srcset", "xlink:href", "style") or name.startswith("on"))
        link = one.get("href", "#")
        if not link.startswith("#") and link != "data:,":
            yield f"{one}: leads out of the page"


def fits_a_mail(page):
    size = len(page.source.encode())
    if size > MOST_BYTES:
        yield f"{size} bytes"


def language_is_named(page):
    if [one.get("lang") for one in page.find("html")] != ["en"]:
        yield "no <html lang>"


def has_one_title(page):
    titles = [one.text() for one in page.find("title") if one.parent.tag == "head"]
    if len(titles) != 1 or not titles[0]:
        yield f"titles {titles}"


def can_be_enlarged(page):
    views = [one.get("content", "") for one in page.find("meta") if one.get("name") == "viewport"]
    if len(views) != 1 or re.search("user-scalable|maximum-scale", views[0]):
        yield f"viewport {views}"


def has_one_of_each_landmark(page):
    for tag in LANDMARKS:
        count = sum(one.tag == tag and not SECTIONING & {above.tag for above in one.ancestors()} for one in page.root)
        if count > 1 or tag == "main" and count != 1:
            yield f"{count} times <{tag}>"
    if not all(one.text() for one in page.find("main")):
        yield "nothing in <main>"


def is_within_landmarks(page):
    for one in page.find("body")[0]:
        above = {one.tag, *(above.tag for above in one.ancestors())}
        if one.text() and not above & LANDMARKS and one.get("class") != "skip":
            yield f"{one} is in no landmark"


def landmarks_have_names_of_their_own(page):
    regions = [one for one in page.root if one.tag == "section" or one.get("role") == "region"]
    names = [name_of(page, one) for one in regions]
    yield from (f"{one} has no name" for one, name in zip(regions, names) if not name)
    yield from (f"{names.count(name)} landmarks have the name {name!r}" for name in set(names) if names.count(name) > 1)


def headings_are_in_order(page):
    found = page.find(*HEADINGS)
    levels = [int(one.tag[1]) for one in found]
    if levels.count(1) != 1 or levels[0] != 1:
        yield f"headings {levels}"
    yield from (f"{found[i]} comes after {found[i - 1]}" for i in range(1, len(levels)) if levels[i] > levels[i - 1] + 1)
    yield from (f"{one} is empty" for one in found if not one.text())


def ids_are_unique(page):
    yield from (f"id {one!r} comes {page.ids.count(one)} times" for one in set(page.ids) if page.ids.count(one) > 1)


def what_is_referred_to_is_there(page):
    for one in page.root:
        places = [place for name in ("aria-labelledby", "aria-describedby") for place in one.get(name, "").split()]
        if one.get("href", "").startswith("#"):
            places.append(one.get("href")[1:])
        yield from (f"{one}: there is no {place!r}" for place in places if place not in page.ids)


def links_have_texts(page):
    yield from (f"{one} has no text" for one in page.find("a") if not one.text() and not name_of(page, one))


def pictures_are_named_or_hidden(page):
    for one in page.find("svg", "img"):
        titles = [part.text() for part in one.children() if part.tag == "title"]
        is_named = one.get("alt") or name_of(page, one) or any(titles)
        if one.get("role") == "img" and not is_named or not is_hidden(one) and not (one.get("role") == "img" or one.get("alt")):
            yield f"{one} has no name"


def what_is_hidden_takes_no_focus(page):
    yield from (f"{one} takes the focus" for one in page.root
                if is_hidden(one) and (one.tag in ("a", "summary", "button") or "tabindex" in one.attributes))


def tables_say_what_their_cells_are(page):
    for table in page.find("table"):
        first = table.children()[:1]
        if not first or first[0].tag != "caption" or not first[0].text():
            yield f"{table} has no caption"
        heads = [one for one in table if one.tag == "th"]
        if not any(one.get("scope") == "col" for one in heads):
            yield f"{table} has no heads of columns"
        for one in heads:
            if one.get("scope") not in ("row", "col", "rowgroup", "colgroup"):
                yield f"{one} has no scope"
            if not one.text():
                yield f"{one} of {table.text()[:40]!r} is empty"


def lists_hold_items(page):
    inner = {"ul": {"li"}, "ol": {"li"}, "dl": {"dt", "dd"}}
    for one in page.find("ul", "ol", "dl"):
        yield from (f"{part} is no item of {one}" for part in one.children() if part.tag not in inner[one.tag])
    yield from (f"{one} is in no list" for one in page.find("li") if one.parent.tag not in ("ul", "ol"))
    for one in page.find("details"):
        if [part.tag for part in one.children()].index("summary") != 0 or not one.children()[0].text():
            yield f"{one} does not say what it folds"


def focus_follows_the_page(page):
    yield from (f"{one}: tabindex {one.get('tabindex')}" for one in page.root if one.get("tabindex", "0") not in ("0", "-1"))


def what_scrolls_takes_the_focus(page):
    scrolling = {name for scheme in schemes(page) for selector, values in scheme.rules
                 if {values.get("overflow"), values.get("overflow-x"), values.get("overflow-y")} & {"auto", "scroll"}
                 for name in re.findall(r"\.([\w-]+)", selector)}
    for one in page.root:
        if scrolling & set(one.get("class", "").split()) and (one.get("tabindex") != "0" or not one.get("role")
                                                              or not name_of(page, one)):
            yield f"{one} scrolls"


def texts_stand_out(page):
    for scheme in schemes(page):
        for text, ground in scheme.pairs():
            if contrast(scheme.colour(text), scheme.colour(ground)) < LEAST_CONTRAST:
                yield f"{scheme.name}: {text} on {ground}"


RULES = (closed_in_order, needs_nothing_else, fits_a_mail, language_is_named, has_one_title, can_be_enlarged,
         has_one_of_each_landmark, is_within_landmarks, landmarks_have_names_of_their_own, headings_are_in_order, ids_are_unique,
         what_is_referred_to_is_there, links_have_texts, pictures_are_named_or_hidden, what_is_hidden_takes_no_focus,
         tables_say_what_their_cells_are, lists_hold_items, focus_follows_the_page, what_scrolls_takes_the_focus,
         texts_stand_out)


def broken_rules(source):
    """[(name of a rule, what breaks it)] of a page; empty where it keeps all."""
    page = Page(source)
    return [(rule.__name__, problem) for rule in RULES for problem in rule(page)]
