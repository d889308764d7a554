"""Commands in messages are as the user would type them."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from temper.cli import app
from temper.invocation import as_typed
from temper.paths import REPOSITORY

NAMES = "|".join(get_command(app).commands)  # type: ignore[attr-defined]
COMMAND = re.compile(rf"\btemper ({NAMES})\b")


@pytest.fixture(autouse=True)
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have a PATH with one program on it: temper."""
    program = tmp_path / "temper"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TEMPER_COMMAND", raising=False)
    return program


@pytest.mark.parametrize(
    ("called", "typed"),
    [
        ("./temper", "./temper runs"),
        ("../lab/temper", "../lab/temper runs"),
        ("/opt/my lab/temper", "'/opt/my lab/temper' runs"),
        ("/root/bin/tmpr", "/root/bin/tmpr runs"),
    ],
)
def test_the_launcher_tells_its_name(
    called: str, typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPER_COMMAND", called)
    assert as_typed("temper runs") == typed


def test_what_is_on_the_path_needs_no_folder(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(host)])
    assert as_typed("temper runs") == "temper runs"
    monkeypatch.setenv("TEMPER_COMMAND", str(host))
    assert as_typed("temper runs") == "temper runs"
    monkeypatch.setenv("PATH", "/nowhere")
    assert as_typed("temper runs") == f"{host} runs"


@pytest.mark.parametrize(
    ("started", "typed"),
    [
        ("venv/bin/temper", "venv/bin/temper runs"),
        # A test, or `python -c`.
        ("/usr/bin/pytest", "temper runs"),
        ("-c", "temper runs"),
    ],
)
def test_without_a_launcher_it_is_what_was_started(
    started: str, typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [started])
    assert as_typed("temper runs") == typed


def test_an_old_runs_command_is_one_that_works() -> None:
    assert as_typed("uv run temper price kstack") == "temper price kstack"


def test_all_messages_name_commands_as_typed() -> None:
    found = [
        f"{path.name}:{line}: {text}"
        for path in sorted((REPOSITORY / "src" / "temper").rglob("*.py"))
        for line, text in commands_not_as_typed(ast.parse(path.read_text()))
    ]
    assert found == []


def test_a_command_that_is_not_as_typed_is_found() -> None:
    code = """raise E(f"see {as_typed('temper runs')}", f"temper report {x}")"""
    found = commands_not_as_typed(ast.parse(code))
    assert [text for _, text in found] == ["temper report "]


def commands_not_as_typed(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of strings that name a command of Temper.

    Docstrings and the command line's own help may.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "as_typed":
            continue
        if isinstance(node, ast.keyword) and node.arg == "help":
            continue
        if isinstance(node, ast.Constant) and COMMAND.search(str(node.value)):
            yield node.lineno, str(node.value)
        yield from commands_not_as_typed(node)
