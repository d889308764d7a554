"""The program that keeps a guest busy while it is attacked from outside."""

from temper.errors import BootError
from temper.run.attacking import Target


def end_program(target: Target) -> None:
    """Have it end, by another answer to getppid(), which it asks again and again.

    Raises BootError if it asks no more, and what ``Gdb`` does.
    """
    gdb = target.gdb
    with gdb.breakpoint(target.kernel.symbols.address("__arm64_sys_getppid")):
        stop = gdb.run()
    if not stop.reached:
        raise BootError("the program that is attacked has stopped")
    gdb.set_register(stop.cpu, "x0", 0)
    gdb.set_register(stop.cpu, "pc", gdb.register(stop.cpu, "x30"))
