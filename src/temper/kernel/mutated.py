"""A kernel's tree in which its mutants are built, one after the other.

To build each from scratch takes minutes; here, make only does what a line changes.
"""

import os
import posixpath
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

from temper.arch import Arch
from temper.digest import digest, key_of
from temper.errors import BuildError
from temper.kernel.builder import Build, KernelSpec
from temper.kernel.cache import Cache, EntryFacts
from temper.kernel.compiler import cross_prefix
from temper.kernel.inlined import function_of, inlined, marked
from temper.kernel.macros import CONFIGURED, Sources, macro_of
from temper.kernel.mutants import Mutant, code_of
from temper.process import Finished, call
from temper.progress import Progress
from temper.scratch import scratch_folder

RECIPE = 1
"""Raise it if another set of objects is found to have a function."""

MANY = 50
"""Objects from which on it is worth while to find out which of them a mutant changes.

It takes as long as a kernel, once."""

_SUFFIXES = (".c", ".h", ".S")
_TIMEOUT = 60.0
_LOG_TAIL = 15


@dataclass(frozen=True)
class Compiled:
    """An object that depends on a file."""

    digest: str
    """Of its bytes without debug information, which names the folder it is made in.

    Line numbers count, such as WARN() has, but no mutant moves a line."""
    symbols: frozenset[str]
    """What it defines for others, and needs of them."""


@dataclass
class MutantTree:
    """A built tree of a series, in which one mutant at a time is made."""

    build: Build
    texts: Mapping[str, str]
    """File -> its text with the series and nothing else."""
    _changed: Mutant | None = None
    """Whose file is not as the series has it."""

    @cached_property
    def originals(self) -> Mapping[str, Compiled]:
        """The objects of a tree in which no mutant has been made yet."""
        return self._compiled(sorted({*chain(*self._objects.values())}))

    def compiled(self, mutant: Mutant) -> Mapping[str, Compiled] | None:
        """Compile all that a mutant can change; None: it does not compile."""
        self._set(mutant, mutant.applied(self.texts[mutant.file]))
        objects = self.affected(mutant)
        # The smallest alone: most of what does not compile is found out by it.
        for names in filter(None, (objects[:1], objects[1:])):
            if self._remake(names).status:
                return None
        return self._compiled(objects)

    def reaches(self, mutant: Mutant) -> bool:
        """Return whether this configuration compiles a mutant's line at all."""
        lines = self.texts[mutant.file].split("\n")
        goes_on = lines[mutant.line - 1].endswith("\\")
        lines[mutant.line - 1] = "#error" + " \\" * goes_on
        self._set(mutant, "\n".join(lines))
        return bool(self._remake(self.affected(mutant)).status)

    def image(self, mutant: Mutant) -> Path:
        """Make a mutant's kernel; raise BuildError if that fails.

        The image is there until the next mutant is made.
        """
        arch = self.build.spec.arch
        self._set(mutant, mutant.applied(self.texts[mutant.file]))
        done = self.build.remake(arch.image_target)
        if done.status:
            raise BuildError(
                f"mutant {mutant.id} compiles, but makes no kernel:\n"
                f"{done.tail(_LOG_TAIL)}"
            )
        return self.build.out / arch.image

    def affected(self, mutant: Mutant) -> Sequence[str]:
        """Return the objects that a mutant can change, and first the smallest of all.

        Without that, nobody would know whether it compiles where nothing uses it. May
        compile a kernel to find out, in a tree without mutants.
        """
        objects = self._objects[mutant.file]
        having = self._having(mutant)
        if having is None:
            return objects
        return [*objects[:1], *(name for name in objects[1:] if name in having)]

    def _having(self, mutant: Mutant) -> Collection[str] | None:
        """Return the objects that may have what a mutant changes; None: all may."""
        file, line = mutant.file, mutant.line
        if file not in self._wide or self._inlined is None:
            return None
        text = self.texts[file]
        setting = self._sources.omitted(file).get(line)
        if setting is not None:
            return self._with((file, 0) for file in setting)
        if function := function_of(file, text, line):
            return self._inlined.get(function, ())
        macro = macro_of(text, line)
        if macro and macro == macro_of(mutant.applied(text), line):
            return self._with(self._sources.expanding(macro))
        return None

    def _with(self, lines: Iterable[tuple[str, int]]) -> Collection[str] | None:
        """Return the objects that have one of the lines; see ``Sources.expanding``.

        None: any may.
        """
        found: set[str] = set()
        for file, line in lines:
            if not (line and file.endswith(".h")):
                found.update(self._made_from(file))
            elif file in self._wide and (
                function := function_of(file, self.texts[file], line)
            ):
                found.update((self._inlined or {}).get(function, ()))
            else:
                return None
        # What else make has made of them, other objects may include.
        return found if all(name.endswith(".o") for name in found) else None

    @cached_property
    def _objects(self) -> dict[str, list[str]]:
        """File -> the objects that are compiled from it, by what make knows.

        The smallest comes first.
        """
        return {
            file: sorted(
                (name for name in self._made_from(file) if name.endswith(".o")),
                key=lambda name: (self.build.out / name).stat().st_size,
            )
            for file in self.texts
        }

    def _made_from(self, file: str) -> list[str]:
        return [name for name, files in self._made.items() if file in files]

    @cached_property
    def _made(self) -> dict[str, set[str]]:
        """What make has made -> the files in its command, and that it depends on."""
        made = {}
        out = self.build.out
        for command in sorted(out.rglob(".*.cmd")):
            words = set(command.read_text("utf-8", "replace").split())
            target = command.with_name(command.name[1:].removesuffix(".cmd"))
            # Nobody boots the modules of a kernel of ours.
            if "-DMODULE" not in words and target.is_file():
                made[str(target.relative_to(out))] = {
                    sys.intern(posixpath.normpath(word).removeprefix("../"))
                    for word in words
                    if word.endswith(_SUFFIXES)
                }
        return made

    @cached_property
    def _sources(self) -> Sources:
        tree, out = self.build.tree, self.build.out
        code = {}
        for file in {CONFIGURED, *chain(*self._made.values())}:
            for path in (tree / file, out / file):
                if path.is_file():
                    text = path.read_text("utf-8", "replace")
                    code[file] = code_of(self.texts.get(file, text))
        return Sources(code)

    @cached_property
    def _wide(self) -> list[str]:
        """Headers that many objects include."""
        return [
            file
            for file, objects in self._objects.items()
            if file.endswith(".h") and len(objects) >= MANY
        ]

    @cached_property
    def _inlined(self) -> Mapping[str, Sequence[str]] | None:
        """Function of a wide header -> objects with its code; None: nobody knows."""
        build = self.build
        headers = {file: marked(file, self.texts[file]) for file in self._wide}
        key = key_of({"recipe": RECIPE, "kernel": build.spec.key(), "headers": headers})
        title = f"what headers of Linux {build.spec.source.version} are inlined into"

        def make(*_: object) -> EntryFacts:
            return {"inlined": self._find_inlined(headers)}

        try:
            facts = build.cache.entry("mutants", key, title, make, build.progress).facts
        except BuildError as error:
            build.progress.say(f"each mutant of a header compiles all with it: {error}")
            return None
        found: Mapping[str, Sequence[str]] = facts["inlined"]
        return found

    def _find_inlined(self, headers: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        """Compile headers whose functions leave marks; raise BuildError if it fails."""
        self._restore()
        names = sorted({*chain(*(self._objects[file] for file in headers))})
        title = f"Compiling {len(names)} objects"
        try:
            for file, text in headers.items():
                self._write(file, text)
            with self.build.progress.task(f"{title} with marks"):
                done = self._remake(names)
            if done.status:
                raise BuildError(f"marks do not compile:\n{done.tail(_LOG_TAIL)}")
            found: dict[str, list[str]] = {}
            for name in names:
                for function in inlined((self.build.out / name).read_bytes()):
                    found.setdefault(function, []).append(name)
        finally:
            for file in headers:
                self._write(file, self.texts[file])
        # Else make would do so when it makes a mutant, and with what that changes.
        with self.build.progress.task(f"{title} without marks"):
            self._remake(names)
        return found

    def _remake(self, objects: Sequence[str]) -> Finished:
        """Have make bring ``objects`` up to date.

        It makes those that unpack a kernel with the image alone, and would make targets
        of both kinds one by one.
        """
        arch = self.build.spec.arch
        boot = f"{Path(arch.image).parent}/"
        unpacks = any(name.startswith(boot) for name in objects)
        return self.build.remake(*([arch.image_target] if unpacks else objects))

    def _set(self, mutant: Mutant, text: str) -> None:
        """Have only the file of ``mutant`` changed, to ``text``."""
        affected = self.affected(mutant)
        self._restore()
        self._changed = mutant
        self._write(mutant.file, text, affected)

    def _restore(self) -> None:
        """Have no file changed, and no object."""
        kept = self._kept
        if last := self._changed:
            affected = self.affected(last)
            self._write(last.file, self.texts[last.file], affected)
            # Newer than their sources, and than what was linked from a mutant's.
            for name in affected:
                shutil.copyfile(kept / name, self.build.out / name)
            self._changed = None

    @cached_property
    def _kept(self) -> Path:
        """Where the objects are kept that no mutant has changed.

        To compile a thousand once more takes minutes, though ccache knows them.
        """
        kept = self.build.work / "kept"
        for name in {*chain(*self._objects.values())}:
            (kept / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.build.out / name, kept / name)
        return kept

    def _write(self, file: str, text: str, affected: Sequence[str] = ()) -> None:
        """Write a file that only ``affected`` objects differ by; empty: all."""
        # The cache has no link to it: ``patch`` has replaced what the series changes.
        path = self.build.tree / file
        written = path.stat().st_mtime_ns
        path.write_text(text, encoding="utf-8")
        if affected and len(affected) < len(self._objects[file]):
            # For make, nothing has happened but that some objects are gone.
            os.utime(path, ns=(written, written))
            for name in affected:
                (self.build.out / name).unlink(missing_ok=True)

    def _compiled(self, names: Sequence[str]) -> Mapping[str, Compiled]:
        words = ["--extern-only", "--format=posix", "--print-file-name"]
        symbols: dict[str, set[str]] = {name: set() for name in names}
        for line in self._run("nm", *words, *names):
            name, symbol, kind, *_ = line.split()
            # Of an object that has none, it says so.
            if (found := symbols.get(name.removesuffix(":"))) is not None:
                found.add(f"{symbol} {kind}")
        return {
            name: Compiled(digest(self._code(name)), frozenset(symbols[name]))
            for name in names
        }

    def _code(self, name: str) -> bytes:
        """Return an object; what runs before the kernel has debug information."""
        path = self.build.out / name
        content = path.read_bytes()
        if b".debug_info" not in content:
            return content
        with scratch_folder() as folder:
            self._run("objcopy", "--strip-debug", name, str(folder / "code"))
            return (folder / "code").read_bytes()

    def _run(self, tool: str, *words: str) -> list[str]:
        tool = f"{cross_prefix(self.build.spec.arch)}{tool}"
        done = call([tool, *words], self.build.out, _TIMEOUT)
        if done.status:
            raise BuildError(f"{tool} failed: {done.tail(1)}")
        return done.lines


@dataclass(frozen=True)
class TreeDevel:
    """What modules for the mutant that a tree has now are built against."""

    key: str
    arch: Arch
    release: str
    out: Path

    def ready(self, work: Path) -> tuple[Path, tuple[str, ...]]:
        """Return the tree itself; nothing has to be unpacked into ``work``."""
        return self.out, ()


@contextmanager
def mutant_tree(
    spec: KernelSpec, texts: Mapping[str, str], cache: Cache, progress: Progress
) -> Iterator[MutantTree]:
    """Build the kernel of ``spec`` in a tree of its own, for as long as it is needed.

    ``texts``: see MutantTree. Raises what ``temper.kernel.build`` does.
    """
    title = f"tree of Linux {spec.source.version} for mutants"
    with cache.workspace("trees", title) as work:
        result = work / "result"
        result.mkdir()
        build = Build(spec, cache, progress, result, work)
        build.compile()
        yield MutantTree(build, texts)


def devel_of(tree: MutantTree, key: str) -> TreeDevel:
    """Return what modules for the tree's present mutant, of ``key``, need."""
    out = tree.build.out
    release = (out / "include/config/kernel.release").read_text("utf-8").strip()
    return TreeDevel(key, tree.build.spec.arch, release, out)
