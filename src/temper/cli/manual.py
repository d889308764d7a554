"""The command that prints the manual page, which is made from all commands: man."""

import re
import textwrap
from collections.abc import Iterator

import typer
from typer.core import TyperGroup

from temper import __version__
from temper.cli.output import write
from temper.errors import BuildError, InfraError, InputError

app = typer.Typer()

_STATUS = {
    0: "As hoped: proven and as expected; priced, and exact; clean; no difference.",
    1: "The result is another one. The report says which.",
    InputError.exit_code: "The request is wrong: an option, a name, a file.",
    InfraError.exit_code: "The host failed. Finished boots are kept; the message names "
    "the command that resumes the run.",
    BuildError.exit_code: "A kernel, a module or a program does not build.",
    130: "Ctrl-C; as for 3. After other signals: 128 and their number.",
}
_ENVIRONMENT = {
    "CCACHE_REMOTE_STORAGE": "Where hosts share compiled objects; see ccache(1).",
    "TEMPER_DATA": "The folder of runs. Default: $XDG_DATA_HOME/temper, or "
    "~/.local/share/temper.",
    "TEMPER_SHARED_CACHE": "Where hosts share kernels: a bucket, such as "
    "s3://bucket/temper, or a folder. Default: nowhere.",
    "TEMPER_STORE": "The address of a PostgreSQL database for runs.",
    "XDG_CACHE_HOME": "Kernels, sources and programs are in temper below it. Default: "
    "~/.cache.",
}


@app.command()
def man(context: typer.Context) -> None:
    """Print the manual page of all commands.

    This shows it: [bold]temper man | man -l -[/]
    """
    program = context.find_root().command
    write("-", manual_page(typer.Context(program, info_name="temper")))


def manual_page(root: typer.Context) -> str:
    """Return the manual page of a program, in the language of man(7)."""
    summary = (root.command.help or "").rstrip(".")
    lines = [
        f'.TH TEMPER 1 "" "Temper {__version__}"',
        ".SH NAME",
        f"temper \\- {_roff(summary)}",
        ".SH SYNOPSIS",
        ".B temper",
        ".I COMMAND",
        r"[\fIOPTIONS\fR] [\fIARGUMENTS\fR]",
        ".SH OPTIONS",
        *_parameters(root),
        ".SH COMMANDS",
        *(line for command in _commands(root) for line in _command(command)),
        ".SH EXIT STATUS",
        *_listed({str(status): meaning for status, meaning in _STATUS.items()}),
        ".SH ENVIRONMENT",
        *_listed(_ENVIRONMENT),
    ]
    return "\n".join(lines) + "\n"


def _commands(context: typer.Context) -> Iterator[typer.Context]:
    """Yield all commands, those of groups as well."""
    group = context.command
    if not isinstance(group, TyperGroup):
        yield context
        return
    for name, command in group.commands.items():
        yield from _commands(typer.Context(command, info_name=name, parent=context))


def _command(context: typer.Context) -> Iterator[str]:
    _, *words = context.command_path.split()
    usage = context.command.collect_usage_pieces(context)
    yield f".SS {_roff(' '.join((*words, *usage)))}"
    paragraphs = (context.command.help or "").split("\n\n")
    yield "\n.PP\n".join(_roff(paragraph) for paragraph in paragraphs)
    yield from _parameters(context)


def _parameters(context: typer.Context) -> Iterator[str]:
    records = (each.get_help_record(context) for each in context.command.params)
    yield from _listed(dict(record for record in records if record))


def _listed(meanings: dict[str, str]) -> Iterator[str]:
    for term, meaning in meanings.items():
        yield from (".TP", f".B {_roff(term)}", _roff(meaning))


def _roff(text: str) -> str:
    """Return a paragraph that man(7) shows as it is, but for Rich's bold."""
    text = textwrap.fill(" ".join(text.split()), 72, break_on_hyphens=False)
    text = text.replace("\\", "\\e").replace("-", "\\-")
    # At the start of a line, a dot and an apostrophe begin a request.
    text = re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)
    return re.sub(r"\[bold\](.*?)\[/\]", r"\\fB\1\\fR", text, flags=re.DOTALL)
