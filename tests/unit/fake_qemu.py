#!/usr/bin/env python3
"""In the place of QEMU: a monitor and a port, and a guest that repeats what it hears.

The commands of its monitor: ``fine`` answers, ``wrong`` is refused, ``quit`` ends it
well and ``die`` badly, ``tell`` has an event happen, ``hang`` has no answer.

With ``-init`` the guest answers lines as target/led.c does: ``ok`` and the line again,
or ``failed`` if it begins with ``fail``, or not at all if it begins with ``hang``. What
follows ``say`` is all that it answers.
What follows ``-init`` goes to the console.
"""

import json
import re
import socket
import sys
import threading


def listening(name: str) -> socket.socket:
    server = socket.socket(socket.AF_UNIX)
    server.bind(option(rf"socket,id=\w+,path=([^,]+/{name}),"))
    server.listen()
    return server


def option(pattern: str) -> str:
    found = re.search(pattern, "\n".join(sys.argv))
    assert found
    return found[1]


def repeat(server: socket.socket) -> None:
    talk, _ = server.accept()
    while words := talk.recv(1 << 16):
        talk.sendall(words.upper())


def obey(server: socket.socket) -> None:
    talk, _ = server.accept()
    talk.sendall(b"ready\n")
    for line in talk.makefile():
        match line.split()[0]:
            case "fail":
                talk.sendall(b"failed No such file or directory\n")
            case "hang":
                pass
            case "say":
                talk.sendall(line.partition(" ")[2].encode())
            case _:
                talk.sendall(f"ok {line}".encode())


def monitor(server: socket.socket) -> int:
    talk, _ = server.accept()

    def say(**fields: object) -> None:
        talk.sendall(json.dumps(fields).encode() + b"\r\n")

    say(QMP={"version": {}, "capabilities": []})
    # One comes after the answer to the other, and no line ends between.
    while line := talk.recv(1 << 16):
        order = json.loads(line)
        # The first one, which asks for no capabilities, has none.
        reply = {"id": order["id"]} if "id" in order else {}
        match order["execute"]:
            case "wrong":
                error = {"class": "GenericError", "desc": "no such thing"}
                say(error=error, **reply)
                continue
            case "tell":
                stamp = {"seconds": 0, "microseconds": 0}
                say(event=order["arguments"]["name"], data={}, timestamp=stamp)
            case "hang":
                continue
            case "die":
                print("qemu: it hurts", file=sys.stderr, flush=True)
                return 1
        say(**{"return": {"heard": order["execute"]}, **reply})
        if order["execute"] == "quit":
            return 0
    return 0


if __name__ == "__main__":
    port, qmp = listening("port"), listening("monitor")
    with open(option(r"file:(\S+)"), "w") as console:  # noqa: PTH123 (starts faster)
        console.write("Linux version 6.12\n")
        if "-init" in sys.argv:
            console.write(sys.argv[sys.argv.index("-init") + 1] + "\n")
    guest = obey if "-init" in sys.argv else repeat
    threading.Thread(target=guest, args=[port], daemon=True).start()
    sys.exit(monitor(qmp))
