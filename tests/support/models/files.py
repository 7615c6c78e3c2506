"""Which test files hold such tests: every file that imports hypothesis, so none can be left out."""

import ast
import random
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FEW = 6
"""So many files are drawn where nobody chooses."""


def model_files() -> list[str]:
    """From the root of the tree, in order."""
    found = (path for path in sorted((ROOT / "tests").rglob("test_*.py")) if _draws(path))
    return [path.relative_to(ROOT).as_posix() for path in found]


def chosen_files(seed: int, only: str = "") -> list[str]:
    """Those whose path holds this text; a few that the seed draws, without."""
    files = model_files()
    if only:
        return [file for file in files if only in file]
    return sorted(random.Random(seed).sample(files, min(FEW, len(files))))


def _draws(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return "hypothesis" in text and any(map(_imports, ast.walk(ast.parse(text))))


def _imports(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any(name.name.partition(".")[0] == "hypothesis" for name in names)
        case ast.ImportFrom(module=str(module)):
            return module.partition(".")[0] == "hypothesis"
        case _:
            return False
