"""A worker of the launcher's tests: worker.py MODE ARGS. Files go to the current folder."""
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time

RANK = int(os.environ["RANK"])
WORLD = int(os.environ["WORLD_SIZE"])


def raw(path):
    with open(path, "rb") as file:
        return file.read()


def leave(name, data):
    with open(name + ".part", "wb") as file:
        file.write(data)
    os.rename(name + ".part", name)


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            sys.exit("worker.py waited in vain")
        time.sleep(0.002)


def facts():
    """What this worker was given."""
    secret = int(os.environ["LOCKSTEP_SECRET_FD"])
    leave(f"rank{RANK}.json", json.dumps({
        "environment": {k: v for k, v in os.environ.items()},
        "stdin": os.readlink("/proc/self/fd/0"),
        "open": [fd for fd in range(3, 1024) if os.path.exists(f"/proc/self/fd/{fd}")],
        "secret_bytes": len(os.pread(secret, 1000, 0)),
        "secret_writable": try_write(secret),
        "group_leader": os.getpgrp() == os.getpid(),
        "masked": [int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
    }, default=str).encode())


def try_write(fd):
    try:
        os.write(fd, b"x")
        return True
    except OSError:
        return False


def tree():
    """Starts what is hard to end, then waits for ever."""
    ignore = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); " \
             "print('ready', flush=True); time.sleep(1000)"
    for options in ({}, {"start_new_session": True}):
        child = subprocess.Popen([sys.executable, "-c", ignore], stdout=subprocess.PIPE, **options)
        child.stdout.readline()
    orphan = "import subprocess, sys; subprocess.Popen(['sleep', '1000'], start_new_session=True)"
    subprocess.run([sys.executable, "-c", orphan], check=True)
    leave(f"ready{RANK}", b"")
    time.sleep(1000)


def stubborn():
    """As tree(), and starts one that nothing but its descent or its group tells."""
    orphan = "import os, subprocess; " \
             "p = subprocess.Popen(['sleep', '1000'], start_new_session=True, env={}); " \
             f"open('cleared{RANK}', 'w').write(str(p.pid))"
    subprocess.run([sys.executable, "-c", orphan], check=True)
    tree()


def eater():
    """The last rank takes memory until it is stopped."""
    if RANK != WORLD - 1:
        time.sleep(1000)
    taken = []
    while True:
        taken.append(b"x" * 10_000_000)


def patient():
    """Ends when the file `go` appears."""
    leave(f"ready{RANK}", b"")
    wait_for(lambda: os.path.exists("go"))


def daemon():
    """Ends well, but leaves a process behind."""
    subprocess.Popen(["sleep", "1000"], start_new_session=True)


def fail():
    """The last rank exits with the code given, or dies by the signal."""
    if RANK != WORLD - 1:
        time.sleep(1000)
    print("about to fail", file=sys.stderr)
    what = sys.argv[2]
    if what.startswith("SIG"):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), getattr(signal, what))
    sys.exit(int(what))


def chorus():
    """Rank 1 fails; when it is dead all others fail for that reason."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    leave(f"ready{RANK}", b"")
    if RANK == 1:
        wait_for(lambda: all(os.path.exists(f"ready{rank}") for rank in range(WORLD)))
        leave("culprit", str(os.getpid()).encode())
        print("Traceback: the real cause", file=sys.stderr)
        os._exit(7)
    wait_for(lambda: os.path.exists("culprit"))
    stat = f"/proc/{raw('culprit').decode()}/stat"

    def dead():
        try:
            return raw(stat).rsplit(b")", 1)[1].split()[0] == b"Z"
        except (FileNotFoundError, ProcessLookupError):
            return True
    wait_for(dead)
    print("Traceback: connection reset", file=sys.stderr)
    os._exit(1)


def flood():
    """Rank 0 prints 100 MB, rank 1 a few numbered lines, on both streams."""
    if RANK == 0:
        out = sys.stdout.buffer
        number = 0
        for _ in range(1000):
            out.write(b"".join(b"%08d " % (number + i) + b"x" * 90 + b"\n" for i in range(1000)))
            number += 1000
    else:
        for number in range(2000):
            stream = sys.stderr if number % 2 else sys.stdout
            print(f"line {number}", file=stream, flush=True)


def endless():
    """Rank 0 prints for ever; the last rank fails when the file `go` appears."""
    leave(f"ready{RANK}", b"")
    if RANK == 0:
        while True:
            print("x" * 1000)
    wait_for(lambda: os.path.exists("go"))
    sys.exit(7)


def odd_output():
    """Binary bytes, a line of 300,000 bytes, and a last line without an end."""
    out = sys.stdout.buffer
    out.write(bytes(range(256)) + b"\n" + b"y" * 300_000 + b"\nno end")
    out.flush()


def master():
    """Rank 0 listens on MASTER_PORT, the others connect."""
    address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if RANK == 0:
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("", address[1]))
        server.listen(16)
        for _ in range(WORLD - 1):
            connection, _peer = server.accept()
            assert connection.recv(100) == os.environ["TORCHELASTIC_RUN_ID"].encode()
        return

    def connect():
        try:
            with socket.create_connection(address) as connection:
                connection.sendall(os.environ["TORCHELASTIC_RUN_ID"].encode())
            return True
        except ConnectionRefusedError:
            return False
    wait_for(connect)


def error_file():
    """Fails as a script does that torch's `record` decorates."""
    with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
        json.dump({"message": {"message": "ValueError: from the error file"}}, file)
    sys.exit(1)


globals()[sys.argv[1]]()
