"""The size and shape of the source code, counted from its syntax trees.

    python -m benchmarks.structure                       # this working tree
    python -m benchmarks.structure --before ea3c505      # an older commit beside it
    python -m benchmarks.structure --at ea3c505 --json
    python -m benchmarks.structure --single-use          # private functions called once, with file and line

Nothing is imported from the code that is counted, so any commit can be read. "Called once" means: the name of a private
function (`_name`, no dunder) stands in exactly one place of its module beside its definition.
"""

import argparse
import ast
import json
import statistics
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parent.parent
SMALL_FILE = 40  # lines
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return self.text.count("\n")


@dataclass(frozen=True)
class SingleUse:
    path: str
    line: int
    name: str
    lines: int
    is_passed: bool  # as a value: a callback, or an entry of a table, which cannot be inlined


@dataclass(frozen=True)
class Structure:
    revision: str
    files: int
    small_files: int
    lines: int
    functions: int
    function_lines_median: float
    function_lines_p90: float
    private_functions: int
    private_called_once: int
    private_passed_once: int
    duplicate_class_names: int
    import_cycles: int
    config_fields: int
    tests: int
    words_per_test_name: float
    test_names_over_8_words: int


LABELS = {
    "files": "Python files",
    "small_files": f"files under {SMALL_FILE} lines",
    "lines": "lines",
    "functions": "functions",
    "function_lines_median": "function length, median",
    "function_lines_p90": "function length, p90",
    "private_functions": "private functions",
    "private_called_once": "private functions called once",
    "private_passed_once": "of these: passed as a value",
    "duplicate_class_names": "class names used more than once",
    "import_cycles": "import cycles",
    "config_fields": "config fields",
    "tests": "test functions",
    "words_per_test_name": "words per test name, mean",
    "test_names_over_8_words": "test names over 8 words",
}


def main() -> None:
    arguments = parse_arguments()
    revisions = [arguments.before, arguments.at] if arguments.before else [arguments.at]
    if arguments.single_use:
        with tree_at(arguments.at) as root:
            print_single_use(read_modules(root))
        return
    structures = [measure(revision) for revision in revisions]
    if arguments.json:
        print(json.dumps([asdict(structure) for structure in structures], indent=2))
    else:
        print_table(structures)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--at", metavar="REV", help="count a git revision instead of the working tree")
    parser.add_argument("--before", metavar="REV", help="count this git revision too, and print both")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--single-use", action="store_true", help="list the private functions called once")
    return parser.parse_args()


@contextmanager
def tree_at(revision: str | None) -> Iterator[Path]:
    """The root of the working tree, or of a git revision that is unpacked for as long as it is needed."""
    if revision is None:
        yield ROOT
        return
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder)


def measure(revision: str | None) -> Structure:
    with tree_at(revision) as root:
        modules = read_modules(root)
        lengths = [length_of(function) for module in modules for function in functions_in(module.tree)]
        words = words_per_test(root / "tests")
        single = [use for module in modules for use in single_uses(module)]
        return Structure(
            revision=revision or "working tree",
            files=len(modules),
            small_files=sum(module.lines < SMALL_FILE for module in modules),
            lines=sum(module.lines for module in modules),
            functions=len(lengths),
            function_lines_median=statistics.median(lengths),
            function_lines_p90=statistics.quantiles(lengths, n=10)[-1],
            private_functions=sum(len(private_functions(module)) for module in modules),
            private_called_once=len(single),
            private_passed_once=sum(use.is_passed for use in single),
            duplicate_class_names=len(duplicate_classes(modules)),
            import_cycles=len(import_cycles(modules)),
            config_fields=config_fields(modules),
            tests=len(words),
            words_per_test_name=round(statistics.mean(words), 1) if words else 0.0,
            test_names_over_8_words=sum(count > 8 for count in words),
        )


def read_modules(root: Path) -> list[Module]:
    source = root / "src"
    return [read_module(path, source) for path in sorted(source.rglob("*.py"))]


def read_module(path: Path, source: Path) -> Module:
    parts = path.relative_to(source).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    text = path.read_text(encoding="utf-8")
    return Module(name, path.relative_to(source), text, ast.parse(text))


# ---- functions ----


def functions_in(tree: ast.AST) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def length_of(function: Function) -> int:
    """Lines from `def` to the last line; decorators are not counted."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def private_functions(module: Module) -> list[Function]:
    """Functions of the module and methods of its classes; a function inside a function is part of that function."""
    classes = [node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)]
    containers: list[ast.Module | ast.ClassDef] = [module.tree, *classes]
    children = [child for container in containers for child in container.body]
    functions = [child for child in children if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [function for function in functions if is_private(function.name)]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def single_uses(module: Module) -> list[SingleUse]:
    functions = private_functions(module)
    definitions = Counter(function.name for function in functions)
    uses = Counter(name_used(node) for node in ast.walk(module.tree))
    called = {name_used(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call)}
    return [
        SingleUse(str(module.path), function.lineno, function.name, length_of(function), function.name not in called)
        for function in functions
        if definitions[function.name] == 1 and uses[function.name] == 1
    ]


def name_used(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def print_single_use(modules: list[Module]) -> None:
    found = [use for module in modules for use in single_uses(module)]
    for use in sorted(found, key=lambda use: (use.path, use.line)):
        print(f"src/{use.path}:{use.line}: {use.name} ({use.lines} lines{', passed' if use.is_passed else ''})")
    print(f"{len(found)} private functions are called once")


# ---- classes, config, imports, tests ----


def duplicate_classes(modules: list[Module]) -> dict[str, int]:
    names = Counter(node.name for module in modules for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef))
    return {name: count for name, count in names.items() if count > 1}


def config_fields(modules: list[Module]) -> int:
    """Annotated fields of the classes of regard/config.py; a field that a class inherits is counted once."""
    tree = next(module.tree for module in modules if module.name == "regard.config")
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not is_typed_dict(node)]
    return sum(isinstance(child, ast.AnnAssign) and not is_class_variable(child) for c in classes for child in c.body)


def is_typed_dict(node: ast.ClassDef) -> bool:
    """Whether a class describes keyword arguments only, and has no fields of its own."""
    return any(ast.unparse(base) == "TypedDict" for base in node.bases)


def is_class_variable(field: ast.AnnAssign) -> bool:
    return "ClassVar" in ast.unparse(field.annotation)


def import_cycles(modules: list[Module]) -> list[set[str]]:
    """Strongly connected components of at least two modules, over every import but those under TYPE_CHECKING."""
    names = {module.name for module in modules}
    graph = {module.name: imported_modules(module, names) - {module.name} for module in modules}
    return [component for component in strongly_connected(graph) if len(component) > 1]


def imported_modules(module: Module, names: set[str]) -> set[str]:
    imported: set[str] = set()
    for node in nodes_at_run_time(module.tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = absolute_base(module, node)
            submodules = {f"{base}.{alias.name}" for alias in node.names}
            imported |= submodules & names
            if any(f"{base}.{alias.name}" not in names for alias in node.names):
                imported.add(base)
    return imported & names


def absolute_base(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module.name.split(".") if module.path.name == "__init__.py" else module.name.split(".")[:-1]
    parts = package[: len(package) - node.level + 1]
    return ".".join([*parts, *([node.module] if node.module else [])])


def nodes_at_run_time(tree: ast.AST) -> Iterator[ast.AST]:
    yield tree
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield from nodes_at_run_time(child)


def strongly_connected(graph: dict[str, set[str]]) -> list[set[str]]:
    """By mutual reachability: some hundred modules need no cleverer algorithm."""
    reachable = {name: reachable_from(graph, name) for name in graph}
    components: list[set[str]] = []
    done: set[str] = set()
    for name in graph:
        if name not in done:
            component = {name} | {other for other in reachable[name] if name in reachable[other]}
            components.append(component)
            done |= component
    return components


def reachable_from(graph: dict[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        for name in graph[waiting.pop()] - reached:
            reached.add(name)
            waiting.append(name)
    return reached


def words_per_test(tests: Path) -> list[int]:
    names = [
        function.name
        for path in sorted(tests.rglob("test_*.py"))
        for function in functions_in(ast.parse(path.read_text(encoding="utf-8")))
        if function.name.startswith("test_")
    ]
    return [len(name.removeprefix("test_").split("_")) for name in names]


def print_table(structures: list[Structure]) -> None:
    print("| |" + "|".join(f" {structure.revision} " for structure in structures) + "|")
    print("|---|" + "---|" * len(structures))
    for field, label in LABELS.items():
        values = [getattr(structure, field) for structure in structures]
        print(f"| {label} |" + "|".join(f" {value:,g} " for value in values) + "|")


if __name__ == "__main__":
    main()
