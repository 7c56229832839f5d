"""The bundler: modules in folders keep their own scopes, and what cannot be bundled is named."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.web.bundle import bundle, split_bundle
from regard.web.pages import FOLDER, STYLES, render_html_file, served_page, style_sheet, widget_module
from tests.web.api_types import FILE, api_types

ENTRIES = {"more_views": (), "file": (), "widget": ("render",)}


def write(folder: Path, **modules: str) -> Path:
    """Modules by name; `a__b` is b.js in the folder a."""
    for name, text in modules.items():
        path = folder / (name.replace("__", "/") + ".js")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "entry.js"


def run(text: str, folder: Path) -> str:
    """What a module prints in Node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed here; the browser's tests run the same bundle")
    path = folder / "bundle.mjs"
    path.write_text(text, encoding="utf-8")
    return subprocess.run([node, path], capture_output=True, text=True, check=True, timeout=300).stdout


def test_modules_may_share_names(tmp_path: Path) -> None:
    entry = write(
        tmp_path,
        entry='import { value } from "./left/a.js";\nimport { value as other, twice } from "./right/a.js";\n'
        "console.log(value, other, twice(2));\n",
        left__a="const own = 1;\nexport const value = own;\n",
        right__a='import * as left from "../left/a.js";\nconst own = 10;\nexport { own as value };\n'
        "export function twice(x) {\n  return 2 * x + left.value;\n}\n",
    )
    assert run(bundle(entry), tmp_path) == "1 10 5\n"


def test_a_module_runs_once_before_its_importers(tmp_path: Path) -> None:
    entry = write(
        tmp_path,
        entry='import { b } from "./b.js";\nimport { a } from "./a.js";\nconsole.log("entry", a, b);\n',
        a='console.log("a");\nexport const a = 1;\n',
        b='export { a as b } from "./a.js";\nconsole.log("b");\n',
    )
    assert run(bundle(entry), tmp_path) == "a\nb\nentry 1 1\n"


def test_json_is_a_module(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text(json.dumps({"a": "</script>"}))
    entry = write(
        tmp_path, entry='import data from "./data.json" with { type: "json" };\nconsole.log(data.a.length);\n'
    )
    assert run(bundle(entry), tmp_path) == "9\n"


def test_comments_go_and_strings_stay(tmp_path: Path) -> None:
    entry = write(
        tmp_path,
        entry='/** Above. */\n// line\nconst url = "http://x"; // behind\nconst n = /** @type {number} */ (3);\n'
        "/**\n * Long.\n */\nconsole.log(url, n, `a // kept`);\n",
    )
    text = bundle(entry)
    assert "Above" not in text
    assert "Long" not in text
    assert "@type" not in text
    assert "behind" not in text
    assert run(text, tmp_path) == "http://x 3 a // kept\n"


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ("export default 3;\n", "export default"),
        ("export let other = 1;\n", "export let"),
        ('export * from "./deep.js";\n', "export \\*"),
        ("const hidden = 1;\n", "imports 'other'"),
        ('import { entry } from "./entry.js";\nexport const other = entry;\n', "entry.js -> other.js -> entry.js"),
        ('import { h } from "preact";\nexport const other = h;\n', "'preact'"),
        ('import { h } from "./nowhere.js";\nexport const other = h;\n', "nowhere.js"),
    ],
)
def test_unbundlable_import_is_named(tmp_path: Path, other: str, problem: str) -> None:
    entry = write(tmp_path, entry='import { other } from "./other.js";\nexport const entry = other;\n', other=other)
    with pytest.raises(RegardError, match=problem):
        bundle(entry)


def test_a_later_module_shares_what_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "locales").mkdir()
    (tmp_path / "locales" / "en.json").write_text('{"a.first": "one", "a.later": "two", "a.both": "three"}')
    entry = write(
        tmp_path,
        entry='import { count, t } from "./shared.js";\nconsole.log(t("a.first"), t("a.both"), count());\n'
        'console.log(t(["a", "later"].join(".")));\n'
        'import("./later.js").then(({ shown }) => console.log(shown(), count()));\n',
        shared='import en from "./locales/en.json" with { type: "json" };\nlet calls = 0;\n'
        "export const count = () => {\n  calls += 1;\n  return calls;\n};\nexport const t = (key) => en[key];\n",
        own='import { count } from "./shared.js";\nexport const twice = () => [count(), count()];\n',
        later='import { twice } from "./own.js";\nimport { t } from "./shared.js";\n'
        'export const shown = () => [t("a.later"), t("a.both"), ...twice()].join();\n',
    )
    first, later = split_bundle(entry, name="bundle.mjs")
    (tmp_path / "later.js").write_text(later)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    assert run(first, tmp_path) == "one three 1\nundefined\ntwo,three,2,3 4\n"
    with pytest.raises(RegardError, match="later"):
        bundle(entry)


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_bundle_of_an_entry_parses(entry: str, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed here; the browser's tests run the same bundle")
    path = tmp_path / "bundle.mjs"
    path.write_text(bundle(FOLDER / "entries" / f"{entry}.js", exports=ENTRIES[entry]), encoding="utf-8")
    checked = subprocess.run([node, "--check", path], capture_output=True, text=True, check=False, timeout=300)
    assert checked.returncode == 0, checked.stderr


def test_the_widget_exports_render() -> None:
    assert widget_module().rstrip().endswith("export default { render };")


def test_served_files_are_named_by_their_content() -> None:
    page = served_page()
    named = {name.partition(".")[0] for name in page.files if f'"page/{name}"'.encode() in page.html}
    assert named == {"app", "style", "icon"}
    assert b"{script}" not in page.html
    app, later = (next(name for name in page.files if name.startswith(stem)) for stem in ("app", "more_views"))
    assert f'import("./{later}")'.encode() in page.files[app].content
    assert f'from "./{app}"'.encode() in page.files[later].content
    assert len(page.html) + sum(len(file.compressed) for name, file in page.files.items() if name != later) < 160_000


def test_every_style_sheet_is_used() -> None:
    sheets = sorted((FOLDER / "styles").glob("*.css"))
    assert {sheet.name for sheet in sheets} == set(STYLES)
    assert "  " not in style_sheet()
    assert "/*" not in style_sheet()


def test_the_file_allows_its_own_script_alone() -> None:
    text = render_html_file({"models": [], "source": "</script><script>alert(1)</script>"}, title="<b>")
    assert text.count("<script") == 2
    assert "default-src 'none'; script-src 'sha256-" in text
    assert "<title>&lt;b&gt;</title>" in text


def test_types_of_the_api_are_current() -> None:
    assert FILE.read_text(encoding="utf-8") == api_types(), "run: python -m tests.web.api_types"


def test_messages_that_no_module_names_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "locales").mkdir()
    messages = '{"a.used": "one, two : three", "a.unused": "four", "problem.code": "five"}'
    (tmp_path / "locales" / "en.json").write_text(messages)
    import_line = 'import en from "./locales/en.json" with { type: "json" };\n'
    (tmp_path / "main.js").write_text(import_line + 'console.log(JSON.stringify([en["a.used"], Object.keys(en)]));\n')
    assert json.loads(run(bundle(tmp_path / "main.js"), tmp_path)) == ["one, two : three", ["m1", "problem.code"]]


def test_spaces_within_texts_stay(tmp_path: Path) -> None:
    lines = [
        'const a = "x , y : { z }"; // a comment',
        "const b = `p , q : ${ a ? `r , s` : '' }`;",
        "const c = / , /;",
    ]
    (tmp_path / "main.js").write_text("\n".join([*lines, "console.log(JSON.stringify([a, b, c.source]));\n"]))
    text = bundle(tmp_path / "main.js")
    assert json.loads(run(text, tmp_path)) == ["x , y : { z }", "p , q : r , s", " , "]
    assert "comment" not in text


def test_templates_of_several_lines_are_refused(tmp_path: Path) -> None:
    (tmp_path / "main.js").write_text("const a = `one\ntwo`;\n")
    with pytest.raises(RegardError, match="template of several lines"):
        bundle(tmp_path / "main.js")
