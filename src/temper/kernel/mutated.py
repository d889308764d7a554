"""A kernel's tree in which its mutants are built, one after the other.

To build each from scratch takes minutes; here, make only does what a line changes.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from temper.arch import Arch
from temper.digest import file_digest, key_of
from temper.errors import BuildError
from temper.kernel.builder import Build, KernelSpec
from temper.kernel.cache import Cache
from temper.kernel.compiler import cross_prefix
from temper.kernel.mutants import Mutant
from temper.process import call
from temper.progress import Progress

_TIMEOUT = 60.0
_LOG_TAIL = 15


@dataclass(frozen=True)
class Compiled:
    """The objects that depend on a file, as a mutant of it makes them."""

    digest: str
    """Of all their bytes. Line numbers count, such as WARN() has, but no mutant moves a
    line; and kernels of ours have no debug information."""
    symbols: frozenset[str]
    """What they define for others, and need of them."""


@dataclass
class MutantTree:
    """A built tree of a series, in which one mutant at a time is made."""

    build: Build
    texts: Mapping[str, str]
    """File -> its text with the series and nothing else."""
    _objects: dict[str, list[str]] = field(default_factory=dict)
    """File -> the objects compiled from it."""
    _changed: str = ""
    """The file that may not be as the series has it; empty: none."""

    def compiled(self, file: str, mutant: Mutant | None = None) -> Compiled | None:
        """Compile what depends on ``file``; None: it does not compile."""
        whole = self.texts[file]
        self._set(file, mutant.applied(whole) if mutant else whole)
        objects = self.objects(file)
        # The smallest alone: most of what does not compile is found out by it.
        for names in filter(None, (objects[:1], objects[1:])):
            if self.build.remake(*self._targets(names)).status:
                return None
        contents = {name: file_digest(self.build.out / name) for name in objects}
        symbols = (self._symbols(name) for name in objects)
        return Compiled(key_of(contents), frozenset().union(*symbols))

    def reaches(self, mutant: Mutant) -> bool:
        """Return whether this configuration compiles a mutant's line at all."""
        lines = self.texts[mutant.file].split("\n")
        goes_on = lines[mutant.line - 1].endswith("\\")
        lines[mutant.line - 1] = "#error" + " \\" * goes_on
        self._set(mutant.file, "\n".join(lines))
        objects = self.objects(mutant.file)
        return bool(self.build.remake(*self._targets(objects)).status)

    def image(self, mutant: Mutant) -> Path:
        """Make a mutant's kernel; raise BuildError if that fails.

        The image is there until the next mutant is made.
        """
        arch = self.build.spec.arch
        self._set(mutant.file, mutant.applied(self.texts[mutant.file]))
        done = self.build.remake(arch.image_target)
        if done.status:
            raise BuildError(
                f"mutant {mutant.id} compiles, but makes no kernel:\n"
                f"{done.tail(_LOG_TAIL)}"
            )
        return self.build.out / arch.image

    def objects(self, file: str) -> list[str]:
        """Return the objects that are compiled from a file, by what make knows.

        The smallest comes first.
        """
        if not self._objects:
            self._objects = {name: [] for name in self.texts}
            for command in sorted(self.build.out.rglob(".*.o.cmd")):
                words = set(command.read_text("utf-8", "replace").split())
                if "-DMODULE" in words:
                    # Nobody boots the modules of a kernel of ours.
                    continue
                target = command.with_name(command.name[1:].removesuffix(".cmd"))
                for name in self.texts:
                    if {name, f"../{name}"} & words and target.is_file():
                        object_ = str(target.relative_to(self.build.out))
                        self._objects[name].append(object_)
            for found in self._objects.values():
                found.sort(key=lambda name: (self.build.out / name).stat().st_size)
        return self._objects[file]

    def _targets(self, objects: Sequence[str]) -> Sequence[str]:
        """Return what make has to be asked for so that it brings ``objects``.

        It makes those that unpack a kernel with the image alone, and would make targets
        of both kinds one by one.
        """
        arch = self.build.spec.arch
        boot = f"{Path(arch.image).parent}/"
        unpacks = any(name.startswith(boot) for name in objects)
        return [arch.image_target] if unpacks else objects

    def _set(self, file: str, text: str) -> None:
        """Have only ``file`` changed, to ``text``."""
        if self._changed:
            self._write(self._changed, self.texts[self._changed])
        self._changed = file
        self._write(file, text)

    def _write(self, file: str, text: str) -> None:
        # The cache has no link to it: ``patch`` has replaced what the series changes.
        (self.build.tree / file).write_text(text, encoding="utf-8")

    def _symbols(self, name: str) -> set[str]:
        tool = f"{cross_prefix(self.build.spec.arch)}nm"
        command = [tool, "--extern-only", "--format=posix", name]
        done = call(command, self.build.out, _TIMEOUT)
        if done.status:
            raise BuildError(f"{tool} failed: {done.tail(1)}")
        return {" ".join(line.split()[:2]) for line in done.lines}


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
