"""The network between hosts made of namespaces: dead and slow links, lost hosts, devices that mislead."""
import contextlib
import os
import subprocess
import time
import unittest

from hosts import Hosts
from needs import main

# Sends back what it is sent, to any number of clients.
ECHO = """
import socket, threading
def serve(client):
    while data := client.recv(65536):
        client.sendall(data)
server = socket.create_server(("", 7777))
print(flush=True)
while True:
    threading.Thread(target=serve, args=[server.accept()[0]]).start()
"""
# For each line, a number of seconds: sends a byte and says what comes back within that time.
CLIENT = """
import socket, sys
connection = socket.create_connection((sys.argv[1], 7777), 10)
for line in sys.stdin:
    connection.settimeout(float(line))
    try:
        connection.sendall(b"x")
        print("echo" if connection.recv(65536) else "end", flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
"""
PUMP = """
import socket, sys
connection = socket.create_connection((sys.argv[1], 7777), 10)
size = int(sys.argv[2])
connection.sendall(bytes(size))
while size > 0:
    size -= len(connection.recv(65536))
"""
SILENCE = "TimeoutError"


class Connection:
    def __init__(self, hosts, here, there, stack):
        self._process = stack.enter_context(hosts[here].popen(["python3", "-c", CLIENT, hosts.address(there)],
                                                              stdin=subprocess.PIPE))
        stack.callback(self._process.kill)

    def ask(self, seconds=10):
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


class LinksTest(unittest.TestCase):
    def setUp(self):
        self.hosts = self.enterContext(Hosts(count=3))
        self.stack = self.enterContext(contextlib.ExitStack())
        for host in self.hosts:
            server = self.stack.enter_context(host.popen(["python3", "-c", ECHO]))
            self.stack.callback(server.kill)
            server.stdout.readline()

    def connect(self, here, there):
        connection = Connection(self.hosts, here, there, self.stack)
        self.assertEqual(connection.ask(), "echo")
        return connection

    def test_a_cut_link_is_silent_and_a_mended_one_goes_on(self):
        there, back, beside = self.connect("h0", "h1"), self.connect("h1", "h0"), self.connect("h0", "h2")
        self.hosts.cut("h1")
        self.assertEqual(there.ask(0.5), SILENCE)
        self.assertEqual(back.ask(0.5), SILENCE)
        self.assertEqual(beside.ask(), "echo")
        self.hosts.mend("h1")
        self.assertEqual(there.ask(), "echo")
        self.assertEqual(back.ask(), "echo")

    def test_two_hosts_that_are_cut_from_each_other_still_hear_the_third(self):
        there, beside, behind = self.connect("h0", "h1"), self.connect("h0", "h2"), self.connect("h1", "h2")
        self.hosts.cut_between("h0", "h1")
        self.assertEqual(there.ask(0.5), SILENCE)
        self.assertEqual(beside.ask(), "echo")
        self.assertEqual(behind.ask(), "echo")
        self.hosts.mend_between("h0", "h1")
        self.assertEqual(there.ask(), "echo")

    def test_a_killed_host_is_silent_and_comes_back_empty(self):
        there = self.connect("h0", "h1")
        lost = [found.pid for found in self.hosts["h1"].processes()]
        self.hosts["h1"].check(["touch", "file"])
        self.hosts.kill_host("h1")
        self.assertEqual(there.ask(0.5), SILENCE)
        self.assertEqual([pid for pid in lost if os.path.exists(f"/proc/{pid}/exe")], [])
        self.assertNotIn("h1", self.hosts.processes())
        self.hosts.revive("h1")
        self.assertEqual(self.hosts["h0"].check(["ssh", "h1", f"hostname; ls {self.hosts.work}"]), "h1\n")

    def test_a_limited_link_is_that_slow(self):
        size, mbit = 1_000_000, 20
        self.hosts.limit("h1", mbit)
        began = time.monotonic()
        self.hosts["h0"].check(["python3", "-c", PUMP, self.hosts.address("h1"), size])
        # Less what its bucket holds, 128 kB.
        self.assertGreater(time.monotonic() - began, (size - 128e3) * 8 / (mbit * 1e6))


class DevicesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hosts = cls.enterClassContext(Hosts(
            names=["node-a", "node-b"], nics={"node-a": "eno1", "node-b": "enp3s0"}, docker0=True, down_nic=True,
            link_local_nic=True, data_network=True, own_name_is_loopback=True))

    def addresses(self, host):
        lines = [line.split() for line in self.hosts[host].check(["ip", "-brief", "address"]).splitlines()]
        return {device.partition("@")[0]: (state, addresses) for device, state, *addresses in lines}

    def test_devices_have_their_names_and_mislead(self):
        for name, nic in (("node-a", "eno1"), ("node-b", "enp3s0")):
            found = self.addresses(name)
            self.assertEqual(found["down0"], ("DOWN", []))
            self.assertEqual([address.partition(":")[0] for address in found["local0"][1]], ["fe80"])
            self.assertIn("172.17.0.1/16", found["docker0"][1])
            self.assertEqual(found[nic][1][0], f"{self.hosts.address(name)}/24")
            self.assertEqual(set(found), {"lo", "docker0", "down0", "local0", "data0", nic})
            self.assertEqual(set(os.listdir(self.hosts[name].path("/sys/class/net"))), set(found))

    def test_both_networks_lead_to_the_other_host(self):
        for address in (self.hosts.address("node-b"), "10.88.0.2"):
            found = self.hosts["node-a"].check(["ssh", "-o", "StrictHostKeyChecking=accept-new", address, "hostname"])
            self.assertEqual(found, "node-b\n")

    def test_a_host_takes_its_own_name_for_loopback_and_that_of_others_not(self):
        own = self.hosts["node-a"].check(["getent", "ahostsv4", "node-a"]).split()[0]
        other = self.hosts["node-a"].check(["getent", "ahostsv4", "node-b"]).split()[0]
        self.assertEqual((own, other), ("127.0.1.1", self.hosts.address("node-b")))


class NamesTest(unittest.TestCase):
    def test_unknown_names_fail_at_once_and_never_where_the_name_server_is_a_black_hole(self):
        with Hosts(count=2) as hosts:
            unknown = ["getent", "hosts", "nowhere.example"]
            self.assertEqual(hosts["h0"].run(unknown).returncode, 2)
            hosts.black_hole_dns()
            with self.assertRaises(subprocess.TimeoutExpired):
                hosts["h0"].run(unknown, timeout=1)
            self.assertIn(hosts.address6("h1"), hosts["h0"].check(["getent", "hosts", "h1-v6"], timeout=1))


main()
