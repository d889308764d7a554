"""The commands that the documents tell a reader to type, as a shell understands them.

A shell reads each block, with every program replaced by one that notes how it was
called. So variables, braces, continued lines and comments mean what they mean there.
"""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from markdown_it import MarkdownIt
from markdown_it.token import Token

from temper.paths import REPOSITORY

DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "emulator/*.md",
    "features/**/*.md",
    "kernel/*.md",
    "libvgetrandom/*.md",
)

# What a reader fills in -> something that exists.
_FILLED_IN = {
    "NAME": "kpkeys",
    "RUN": "1",
    "PROGRAM/WORD": "syscall/getpid",
    "<arch>": "arm64",
    "FILE": "target/init.c",
}
_PLACEHOLDER = re.compile("|".join(rf"(?<!\w){name}(?!\w)" for name in _FILLED_IN))

# Blocks of these languages are commands, or may be.
_SHELLS = ("", "console", "sh")

# Inline code that begins like this is typed as it stands.
_TYPED = re.compile(r"(\w+=\S+ )?(\./temper|\.venv/bin/|make|scripts/)")
_END = "\1"
_NOTE = """\
note() { printf '%s\\0' "$@" $'\\1' >&3; }
command_not_found_handle() { note "$@"; }
cd() { note cd "$@"; }
"""


@dataclass(frozen=True)
class Command:
    """A program that a document calls, with its arguments."""

    document: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        """Return it as a table of tests names it."""
        return " ".join(self.words)


@dataclass(frozen=True)
class Block:
    """A block of a document that a reader may type."""

    document: str
    text: str

    @property
    def title(self) -> str:
        """Its first line."""
        return self.text.splitlines()[0]


@cache
def blocks() -> list[Block]:
    """Return the blocks that are in no other language than a shell's."""
    return [
        Block(document, _typed(token))
        for document, token in _tokens()
        if token.type in ("code_block", "fence") and token.info.strip() in _SHELLS
    ]


@cache
def inline() -> list[Block]:
    """Return the commands in running text that one types as they stand."""
    return [each for each in _inline() if _TYPED.match(each.text)]


@cache
def names() -> list[Command]:
    """Return what running text calls a command of Temper: ``temper price``."""
    return [
        Command(each.document, tuple(each.text.split()))
        for each in _inline()
        if each.text.startswith("temper ")
    ]


def demo() -> str:
    """Return what `make demo` does, line by line."""
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    found = re.search(r"^demo:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert found
    return found[1].replace("\t", "")


def commands(block: Block) -> list[Command]:
    """Return what a shell calls when it is given a block; raise AssertionError.

    Nothing is really called, and what a command prints is empty.
    """
    text = _PLACEHOLDER.sub(lambda found: _FILLED_IN[found[0]], block.text)
    # A function may have a folder in its name, and goes before a file.
    in_folders = set(re.findall(r"(?<!\S)[.\w-]*/[\w./-]+", text))
    functions = [f'function {name} {{ note {name} "$@"; }}' for name in in_folders]
    with TemporaryDirectory() as folder:
        notes = Path(folder, "notes")
        script = "\n".join((f"exec 3>>{notes}", _NOTE, *functions, text))
        done = subprocess.run(
            ["/bin/bash", "--norc", "-c", script],
            cwd=folder,
            env={"PATH": "/nowhere", "PWD": folder, "HOME": "/root"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.stdout, done.stderr) == ("", ""), f"{block.title}: {done.stderr}"
        found = notes.read_text(encoding="utf-8").split(_END + "\0")[:-1]
    return [Command(block.document, tuple(each.split("\0")[:-1])) for each in found]


def _typed(token: Token) -> str:
    """Return what one types of a block: all of it, or what is after the prompts."""
    lines = token.content.splitlines()
    if token.info.strip() == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return "\n".join(lines)


def _inline() -> Iterator[Block]:
    for document, token in _tokens():
        for child in token.children or ():
            if child.type == "code_inline":
                yield Block(document, child.content)


def _tokens() -> Iterator[tuple[str, Token]]:
    for pattern in DOCUMENTS:
        for path in sorted(REPOSITORY.glob(pattern)):
            name = str(path.relative_to(REPOSITORY))
            for token in (
                MarkdownIt("commonmark")
                .enable("table")
                .parse(path.read_text(encoding="utf-8"))
            ):
                yield name, token
