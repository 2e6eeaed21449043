"""The links of all pages, and what the site makes of those under docs/: without MkDocs, which `cargo xtask site` installs."""

import functools
import importlib.util
import posixpath
import re

import maskwright
import pytest
from pages import ROOT, pages

HOOKS = importlib.util.spec_from_file_location("hooks", ROOT / "docs/.site/hooks.py")
hooks = importlib.util.module_from_spec(HOOKS)
HOOKS.loader.exec_module(hooks)

DOCS = [page for page in pages() if page.startswith("docs/") or page in hooks.AT_ROOT]
LINK = re.compile(r"\]\(<?([^)<>\s]+)>?(?: \"[^\"]*\")?\)|(?:src|srcset|href)=\"([^\"]+)\"")


def links(text):
    """Where the links and pictures of a page lead, without those in code."""
    found = []

    def look(line):
        found.extend(match[1] or match[2] for match in LINK.finditer(re.sub(r"(`+).+?\1", "`", line)))
        return line

    hooks.outside_of_code(look, text)
    return found


def anchors(text):
    """The anchors of a page, as GitHub and the site make them."""
    slugs = []

    def look(line):
        if heading := re.match(r"#{1,6} +(.+?) *#*$", line):
            slugs.append(hooks.slug(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("*", "")))
        slugs.extend(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line))
        return line

    hooks.outside_of_code(look, hooks.with_reference(text))
    return {f"{slug}-{slugs[:i].count(slug)}" if slug in slugs[:i] else slug for i, slug in enumerate(slugs)}


@functools.cache
def anchors_of(page):
    return anchors((ROOT / page).read_text(encoding="utf-8"))


def led(page, link):
    """The path and the anchor that a link leads to; None for other sites."""
    if re.match(r"[a-z]+:", link):
        return None
    path, _, anchor = link.partition("#")
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page, anchor


def dead(page, text):
    """The links of a page that lead nowhere."""
    for link in links(text):
        path, anchor = led(page, link) or (".", "")
        if not (ROOT / path).exists():
            yield f"{link}: there is no {path}"
        elif anchor and path.endswith(".md") and anchor not in anchors_of(path):
            yield f"{link}: {path} has no such heading"


@pytest.mark.parametrize("page", pages())
def test_no_link_is_dead(page):
    assert list(dead(page, (ROOT / page).read_text(encoding="utf-8"))) == []


def test_dead_links_are_found():
    page = "docs/guides/made-up.md"
    good = "[a](limits.md#where-to-set-it) [b](../../README.md) [c](https://a.b/#c) [d](../reference/python.md#matcherfork)\n"
    assert list(dead(page, good + "```text\n[e](e.md)\n```\n`[f](f.md)`\n")) == []
    bad = '[g](limits.md#nowhere)\n[h](g.md)\n<img src="../no.svg">\n'
    assert [line.split(":")[0] for line in dead(page, bad)] == ["limits.md#nowhere", "g.md", "../no.svg"]


def test_anchors_are_those_of_github():
    headings = "# `mask_id`, and *the* ids\n\n## [A link](b.md): Zoë's\n\n## Twice\n\n## Twice\n```sh\n# none\n```\n"
    assert anchors(headings) == {"mask_id-and-the-ids", "a-link-zoës", "twice", "twice-1"}


def navigation():
    """The pages in the navigation, by their section."""
    found, section = {}, ""
    for line in (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2].splitlines():
        section = line if line.startswith("  - ") else section
        if entry := re.search(r"(?:- |: )([\w/.-]+\.(?:md|html))$", line):
            found[entry[1] if entry[1] in hooks.AT_ROOT else f"docs/{entry[1]}"] = section
    return found


def test_each_page_is_in_the_navigation():
    listed = [page for page in navigation() if page.endswith(".md")]
    assert sorted(listed) == sorted(DOCS)


def test_each_page_is_within_two_clicks_of_home():
    def clicks(names):
        text = {page: (ROOT / page).read_text(encoding="utf-8") for page in names if page in DOCS}
        return set(names) | {led(page, link)[0] for page in text for link in links(text[page]) if led(page, link)}

    assert set(DOCS) - clicks(clicks({"docs/index.md"})) == set()


def test_the_reference_of_python_has_each_name():
    text = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    named = " ".join(re.findall(r"<!-- python: (.*?) -->", text, re.DOTALL)).split()
    assert sorted(name for name in named if "." not in name) == sorted(maskwright.__all__)
    for name in named:
        made = hooks.reference(name)
        assert made.startswith(f"\n### {name}\n") and "```python\n" in made
        for signature in re.findall(r"^```python\n(.*?)^```", made, re.DOTALL | re.MULTILINE):
            assert signature.count("(") == signature.count(")"), signature
    methods = re.findall(r"^#### (.*)$", hooks.reference("Matcher"), re.MULTILINE)
    assert methods == [f"Matcher.{name}" for name in dict.fromkeys(methods_of_stub("Matcher"))]


def methods_of_stub(name):
    stub = (ROOT / "python/python/maskwright/_maskwright.pyi").read_text(encoding="utf-8")
    (body,) = re.findall(rf"^class {name}:\n(.*?)^(?:@|class |def )", stub, re.DOTALL | re.MULTILINE)
    return re.findall(r"^    def ([a-z]\w*)", body, re.MULTILINE)


def test_what_belongs_to_an_item_of_a_list_stays_in_it():
    text = "Text:\n1. a\n   b\n\n   ```sh\n   c\n   ```\n2. d\n* e\n\nText\n   f\n"
    made = "Text:\n\n1. a\n    b\n\n    ```sh\n    c\n    ```\n\n2. d\n* e\n\nText\n   f\n"
    assert hooks.as_python_markdown(text) == made


def test_links_that_leave_the_site_lead_to_the_repository():
    line = "[a](../../examples/README.md#x), [b](../../crates), [c](limits.md#y), [d](https://e.f)"
    made = hooks.to_repository(line, "guides/vllm.md", {"guides/limits.md"})
    where = "https://github.com/maskwright/maskwright"
    assert made == f"[a]({where}/blob/main/examples/README.md#x), [b]({where}/tree/main/crates), [c](limits.md#y), [d](https://e.f)"


def test_links_between_docs_and_the_root_are_those_of_the_site():
    inside = {"SECURITY.md", "how/index.md", "guides/c.md"}
    assert hooks.to_repository("[a](../../SECURITY.md#x)", "guides/c.md", inside) == "[a](../SECURITY.md#x)"
    assert hooks.to_repository("[a](docs/how/index.md), [b](#c)", "SECURITY.md", inside) == "[a](how/index.md), [b](#c)"
    made = hooks.to_repository("[a](docs/how/index.md), [b](GOVERNANCE.md)", "CONTRIBUTING.md", inside)
    assert made == f"[a](how/index.md), [b]({hooks.REPOSITORY}/blob/main/GOVERNANCE.md)"


def test_lists_and_pictures_are_those_of_github():
    assert hooks.as_python_markdown("a:\n* b\n  * c\n\n```\n* d\n```") == "a:\n\n* b\n    * c\n\n```\n* d\n```"
    picture = '<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="b.svg">\n  <img src="a.svg" alt="A">\n</picture>'
    assert hooks.with_pictures(picture) == '<img src="a.svg#only-light" alt="A"><img src="b.svg#only-dark" alt="A">'


def test_what_builds_the_site_is_pinned():
    lines = (ROOT / "docs/.site/requirements.txt").read_text(encoding="utf-8").splitlines()
    pinned = [line for line in lines if line and not line.startswith("#")]
    assert len(pinned) > 20 and all(re.fullmatch(r"[\w-]+==[\w.]+", line) for line in pinned)
