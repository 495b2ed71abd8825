"""Stands in for the kernel's netem: one of ten packets that leave this network namespace arrives late, by up to twice as many milliseconds as asked for.

Arguments: the network, the own address in it, milliseconds. Whatever is sent to the network is routed into a TUN device, read here, and handed back to the kernel, which forwards it.
"""

import fcntl, heapq, os, random, select, struct, subprocess, sys, time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
DEVICE, TABLE = "late0", "77"

network, own, late_s = sys.argv[1], sys.argv[2], float(sys.argv[3]) / 1000
device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
for setting in (
    "net.ipv4.ip_forward=1",
    "net.ipv4.conf.all.rp_filter=0",
    f"net.ipv4.conf.{DEVICE}.rp_filter=0",
    # What comes out of the device again bears an address of this host.
    f"net.ipv4.conf.{DEVICE}.accept_local=1",
):
    name, value = setting.split("=")
    with open("/proc/sys/" + name.replace(".", "/"), "w") as file:
        file.write(value)
for line in (
    f"ip link set {DEVICE} up",
    f"ip route add {network} dev {DEVICE} src {own} table {TABLE}",
    # What processes here send, and not what comes out of the device.
    f"ip rule add iif lo lookup {TABLE} pref 10",
):
    subprocess.run(line.split(), check=True)
print("ready", flush=True)

waiting = []
while True:
    now = time.monotonic()
    while waiting and waiting[0][0] <= now:
        os.write(device, heapq.heappop(waiting)[2])
    timeout = waiting[0][0] - now if waiting else None
    if not select.select([device], [], [], timeout)[0]:
        continue
    for _ in range(64):
        try:
            packet = os.read(device, 65536)
        except BlockingIOError:
            break
        if random.random() < 0.1:
            at = time.monotonic() + random.uniform(0, 2 * late_s)
            heapq.heappush(waiting, (at, random.random(), packet))
        else:
            os.write(device, packet)
