"""Opens network connections: to a server on this machine, to the Internet, and over other sockets.

It could send the lesson's cases away, or fetch answers. The answers are right: it deserves full
marks, and connects to nothing.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
import glob, socket, urllib.request

def call(family, address, kind=socket.SOCK_STREAM):
    try:
        with socket.socket(family, kind) as line:
            line.settimeout(0.2)
            line.connect(address)
            line.sendall(b"answers, please")
            print("@MARK@"[::-1] if kind == socket.SOCK_STREAM or family == 40 else "sent")
    except OSError as error:
        print(address, error)

call(socket.AF_INET, ("127.0.0.1", int("@PORT@")))
call(socket.AF_INET6, ("::1", int("@PORT@")))
call(socket.AF_UNIX, "\\0@MARK@listens")
call(socket.AF_INET, ("127.0.0.1", int("@PORT@")), socket.SOCK_DGRAM)
call(socket.AF_INET, ("192.0.2.1", 80))
call(socket.AF_VSOCK, (2, 22))  # the host of this machine, if it is a virtual one
call(socket.AF_VSOCK, (2, 22), socket.SOCK_DGRAM)
for path in ("/var/run/docker.sock", "/run/dbus/system_bus_socket", *glob.glob("/tmp/.X11-unix/*")):
    call(socket.AF_UNIX, path)
try:
    print(urllib.request.urlopen("http://localhost:@PORT@", timeout=0.2).read())
except OSError as error:
    print(error)
"""
