"""The first process of a host: makes its file systems and its name, then reaps orphans until its creator is gone.

Started by hosts.py in new net, uts, ipc, pid and mount namespaces, with the host's plan as JSON in its argument. Writes
its pid as the creator sees it, then `ready`. Its standard input ends when the creator does, however that dies; the
kernel then kills whatever else is in the pid namespace, and what was mounted and plugged in goes with the last process.
"""
import ctypes
import json
import os
import select
import signal
import socket
import sys

MS_RDONLY, MS_REMOUNT, MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 0x1, 0x20, 0x1000, 0x2000, 0x4000, 0x40000
CLONE_NEWCGROUP = 0x02000000
libc = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind=None, flags=0, options=None):
    encoded = [text and text.encode() for text in (source, target, kind, options)]
    if libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]) != 0:
        raise OSError(ctypes.get_errno(), f"mount {source} on {target}: {os.strerror(ctypes.get_errno())}")


def tmpfs(folder, mode):
    mount("tmpfs", folder, "tmpfs", options=f"mode={mode}")


def bind_file(source, target):
    # Where the target is a link into a file system that was just covered, its file is no longer there.
    target = os.path.realpath(target)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not os.path.exists(target):
        open(target, "w").close()
    mount(source, target, flags=MS_BIND)


def enter_control_group(group):
    with open(f"{group}/cgroup.procs", "w") as members:
        members.write("0")
    if libc.unshare(CLONE_NEWCGROUP) != 0:
        raise OSError(ctypes.get_errno(), f"unshare of control groups: {os.strerror(ctypes.get_errno())}")


def mount_all(plan):
    root = plan["root"]
    stashed = []
    for place, tree in enumerate(plan["read_only"]):
        stash = f"{root}/stash/{place}"
        mount(tree, stash, flags=MS_BIND | MS_REC)
        mount(None, stash, flags=MS_REMOUNT | MS_BIND | MS_RDONLY)
        stashed.append((stash, tree))
    if os.path.isdir("/sys/fs/cgroup"):
        mount("/sys/fs/cgroup", f"{root}/stash/cgroup", flags=MS_BIND | MS_REC)
        stashed.append((f"{root}/stash/cgroup", "/sys/fs/cgroup"))
    if plan["private_tmp"]:
        tmpfs("/tmp", "1777")
    tmpfs("/dev/shm", "1777")
    tmpfs("/run", "755")
    # A new sysfs shows this host's network devices; a new proc its processes.
    mount("sysfs", "/sys", "sysfs")
    mount("proc", "/proc", "proc")
    for stash, place in stashed:
        os.makedirs(place, exist_ok=True)
        mount(stash, place, flags=MS_MOVE)
    if plan["group"]:
        # The kernel does not mount the same hierarchy over itself.
        mount(plan["group"], os.path.dirname(plan["group"]), flags=MS_BIND)
    tmpfs(f"{root}/home", "700")
    if not plan["shared_folder"]:
        tmpfs(f"{root}/work", "755")


def furnish(plan):
    site, home = f"{plan['root']}/site", f"{plan['root']}/home"
    os.makedirs("/run/sshd")
    os.makedirs(f"{home}/.ssh", mode=0o700)
    for file in os.listdir(f"{site}/ssh"):
        with open(f"{site}/ssh/{file}") as source:
            content = source.read()
        with open(os.open(f"{home}/.ssh/{file}", os.O_CREAT | os.O_WRONLY, 0o600), "w") as copy:
            copy.write(content)
    bind_file(f"{site}/hosts.{plan['name']}", "/etc/hosts")
    for file in ("passwd", "shadow", "resolv.conf"):
        bind_file(f"{site}/{file}", f"/etc/{file}")
    socket.sethostname(plan["name"])
    # An address can be used at once, rather than a second after the device is up.
    with open("/proc/sys/net/ipv6/conf/default/accept_dad", "w") as setting:
        setting.write("0")


def reap_until_creator_is_gone():
    signal.signal(signal.SIGCHLD, lambda *_: None)
    wake, wakened = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(wakened, False)
    signal.set_wakeup_fd(wakened)
    while True:
        ready, _, _ = select.select([sys.stdin, wake], [], [])
        if sys.stdin in ready:
            return
        os.read(wake, 4096)
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            pass


def main():
    plan = json.loads(sys.argv[1])
    # /proc is still the creator's.
    print(os.readlink("/proc/self"), flush=True)
    mount(None, "/", flags=MS_REC | MS_PRIVATE)
    if plan["group"]:
        enter_control_group(plan["group"])
    mount_all(plan)
    furnish(plan)
    print("ready", flush=True)
    reap_until_creator_is_gone()


main()
