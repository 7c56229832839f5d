"""ES modules in folders as one module: each becomes a function that is called once, so that names never collide.

A module may `import { a, b as c } from "./x.js"`, `import * as x from "./x.js"` and `import x from "./x.json" with
{ type: "json" }`, and `export` functions, constants, classes and `{ lists }`, also `from` another module. Import
cycles, default exports, top-level await and templates of several lines are not supported. What an entry imports by
`import("./x.js")` becomes a second module, which a browser loads when it is needed.

Comments, needless spaces and messages that no module names are left out, and the keys of messages are shortened: a
single file contains the whole bundle.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from regard.errors import RegardError
from regard.struct_decoding import decode_json

_STATEMENT = re.compile(
    r"""^import\s*(?:(?P<names>\{[^}]*\})|\*\s*as\s+(?P<space>\w+)|(?P<default>\w+))\s*from\s*"(?P<from>[^"]+)"
        (?:\s*with\s*\{[^}]*\})?;[ \t]*\n?
      |^export\s*\{(?P<list>[^}]*)\}(?:\s*from\s*"(?P<again>[^"]+)")?;?
      |^export\s+(?=(?:async\s+)?(?:function|class|const)\b)(?P<declared>)""",
    re.MULTILINE | re.VERBOSE,
)
_LATER = re.compile(r"""\bimport\("([^"]+)"\)""")
_DECLARED = re.compile(r"^export\s+(?:async\s+)?(?:function\*?|class|const)\s+(\w+)", re.MULTILINE)
_JSON_BODY = "const value = {};\n"
_STRAY = re.compile(r"^(?:import\b(?!\()|export\b).*", re.MULTILINE)
_VARIABLE = re.compile(r"\$module\d+")
# Comments, JSDoc casts, indentation. Strings are matched first: what is within them stays.
_COMMENT = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)
      |^[ \t]*/\*(?:[^*]|\*(?!/))*\*/[ \t]*\n|^[ \t]*//.*\n|[ ]//[ ].*$
      |/\*\*[ ]@(?:type|satisfies)[ ](?:[^*]|\*(?!/))*\*/[ ]?
      |^[ \t]+|^\n""",
    re.MULTILINE | re.VERBOSE,
)
# Spaces beside signs. Lines with a template or a slash stay as they are, since these may contain anything.
_SPACE = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?<=[,;:{(=>?|&])[ ]|[ ](?=[}){=?:|&])""")
_KEY = re.compile(r'"(\w+\.[\w.]+)"')  # of a message, in the code
_KEPT_MESSAGES = ("problem.",)  # named by codes of the server
# Between these, the end of a line ends nothing: a list, a call or a block goes on.
_NEEDLESS_END = re.compile(r"(?<=[,({\[])\n|,?\n(?=[)\]}])")


@dataclass
class _Module:
    """A module's function: the variable that holds its exports, its text, and the names that it exports."""

    variable: str
    text: str
    names: list[str]


@dataclass
class _Bundle:
    """Modules by path, each after those that it imports; and those that are imported later."""

    modules: dict[Path, _Module] = field(default_factory=dict)
    later: list[Path] = field(default_factory=list)

    def add(self, path: Path, above: tuple[Path, ...]) -> _Module:
        """The module at a path, added with all that it imports unless it is there already."""
        if path in self.modules:
            return self.modules[path]
        if path in above:
            cycle = " -> ".join(each.name for each in (*above[above.index(path) :], path))
            raise RegardError(
                f"Modules of the page import each other: {cycle}. Move what they share to a third module."
            )
        if not path.is_file():
            raise RegardError(f"{above[-1].name if above else 'The page'} imports {path.name}, which does not exist.")
        text = path.read_text(encoding="utf-8")
        body, exports = (_JSON_BODY, {"default": "value"})
        if path.suffix != ".json":
            body, exports = self._translate(path, text, (*above, path))
        variable = f"$module{len(self.modules)}"
        returned = ", ".join(f"{name}: {value}" if name != value else name for name, value in exports.items())
        whole = f"// {path.name}\nconst {variable} = (() => {{\n{body}return {{ {returned} }};\n}})();\n"
        self.modules[path] = _Module(variable, whole, list(exports))
        return self.modules[path]

    def _translate(self, path: Path, text: str, above: tuple[Path, ...]) -> tuple[str, dict[str, str]]:
        """The body of a module's function, and its exports: the names, and the expressions that they stand for."""
        exports = {name: name for name in _DECLARED.findall(text)}

        def replace(found: re.Match[str]) -> str:
            if found["declared"] is not None:
                return ""
            if found["list"] is not None:
                module = self._imported(path, found["again"], above) if found["again"] else None
                for name, alias in _pairs(found["list"]):
                    exports[alias] = f"{module.variable}.{name}" if module else name
                    _check_exported(path, module, name)
                return ""
            module = self._imported(path, found["from"], above)
            if found["space"]:
                return f"const {found['space']} = {module.variable};\n"
            if found["default"]:
                _check_exported(path, module, "default")
                return f"const {found['default']} = {module.variable}.default;\n"
            for name, _ in _pairs(found["names"].strip("{}")):
                _check_exported(path, module, name)
            return f"const {found['names'].replace(' as ', ': ')} = {module.variable};\n"

        def name_later(found: re.Match[str]) -> str:
            self.later.append((path.parent / found[1]).resolve())
            return f'import("./{self.later[-1].name}")'

        body = _STATEMENT.sub(replace, _COMMENT.sub(lambda found: found["string"] or "", text))
        if found := _STRAY.search(body):
            raise RegardError(
                f"{path.name} has {found[0]!r}. A module of the page imports names, and exports functions, constants "
                "and classes by name."
            )
        body = _LATER.sub(name_later, body)
        return _squeezed(path, body if body.endswith("\n") else body + "\n"), exports

    def _imported(self, path: Path, source: str, above: tuple[Path, ...]) -> _Module:
        if not source.startswith("."):
            raise RegardError(f"{path.name} imports {source!r}. A module of the page imports files of the page alone.")
        return self.add((path.parent / source).resolve(), above)


def bundle(entry: Path, *, exports: tuple[str, ...] = ()) -> str:
    """The entry and all that it imports as the text of one module, which exports these names of the entry."""
    made = _Bundle()
    last = made.add(entry.resolve(), ())
    if made.later:
        raise RegardError(f"{entry.name} imports {made.later[0].name} later, which one module cannot contain.")
    for name in exports:
        _check_exported(entry, last, name)
    ending = f"export const {{ {', '.join(exports)} }} = {last.variable};\n" if exports else ""
    return _with_short_keys(_joined(made.modules), made.modules) + ending


def split_bundle(entry: Path, *, name: str) -> tuple[str, str]:
    """The entry as the text of one module, and what it imports later as another; the first has the name.

    The second imports from the first what both need, and adds the messages that it alone names.
    """
    made = _Bundle()
    made.add(entry.resolve(), ())
    first = dict(made.modules)
    if len(set(made.later)) != 1:
        raise RegardError(f"{entry.name} has to import one module later, and imports {len(set(made.later))}.")
    last = made.add(made.later[0], ())
    second = {path: module for path, module in made.modules.items() if path not in first}
    messages = "".join(
        f"Object.assign({module.variable}.default, {_json(path, _code(second), without=_code(first))});\n"
        for path, module in first.items()
        if path.parent.name == "locales"
    )
    text = messages + _joined(second)
    own = {module.variable for module in second.values()}
    shared = ", ".join(sorted(set(_VARIABLE.findall(text)) - own))
    exported = ", ".join(last.names)
    return (
        _with_short_keys(_joined(first), made.modules) + f"export {{ {shared} }};\n",
        f'import {{ {shared} }} from "./{name}";\n{_with_short_keys(text, made.modules)}'
        f"export const {{ {exported} }} = {last.variable};\n",
    )


def _code(modules: Mapping[Path, _Module]) -> str:
    return "".join(module.text for module in modules.values())


def _joined(modules: Mapping[Path, _Module]) -> str:
    """The modules one after the other, with the messages that they name."""
    code = _code(modules)
    return "".join(
        module.text.replace(_JSON_BODY, f"const value = {_json(path, code)};\n")
        if path.suffix == ".json"
        else module.text
        for path, module in modules.items()
    )


def _json(path: Path, code: str, *, without: str = "") -> str:
    """The values of a JSON file; of messages those whose keys occur in the code, and not in what comes before it."""
    values = _read_json(path)
    if path.parent.name == "locales":
        named, before = set(_KEY.findall(code)), set(_KEY.findall(without))
        values = {
            key: text
            for key, text in values.items()
            if key not in before and (key in named or (not before and key.startswith(_KEPT_MESSAGES)))
        }
    return msgspec.json.encode(values).decode()


def _with_short_keys(text: str, modules: Iterable[Path]) -> str:
    """The text with a number instead of each key of a message, such as "m1a" for "inside.heading"."""
    keys = {key for path in modules if path.parent.name == "locales" for key in _read_json(path)}
    named = sorted(key for key in keys if not key.startswith(_KEPT_MESSAGES))
    short = {key: f'"m{number:x}"' for number, key in enumerate(named)}
    return _KEY.sub(lambda found: short.get(found[1], found[0]), text)


def _read_json(path: Path) -> dict[str, Any]:
    return decode_json(path.read_bytes(), dict[str, Any])


def _squeezed(path: Path, text: str) -> str:
    lines = text.split("\n")
    if found := next((line for line in lines if line.count("`") % 2), None):
        raise RegardError(f"{path.name} has a template of several lines, {found!r}. Write it as lines joined by \\n.")
    squeezed = "\n".join(
        line if "`" in line or "/" in line else _SPACE.sub(lambda found: found[1] or "", line) for line in lines
    )
    return _NEEDLESS_END.sub("", squeezed)


def _pairs(names: str) -> list[tuple[str, str]]:
    """`a, b as c` as ("a", "a"), ("b", "c")."""
    parts = [part.strip().split(" as ") for part in names.split(",") if part.strip()]
    return [(part[0].strip(), part[-1].strip()) for part in parts]


def _check_exported(path: Path, module: _Module | None, name: str) -> None:
    if module is not None and name not in module.names:
        raise RegardError(f"{path.name} imports {name!r} from a module that does not export that name.")
