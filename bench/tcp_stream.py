#!/usr/bin/env python3
"""Bytes per second that arrive at OWN ADDRESS while it sends to the NEXT one: tcp_stream.py OWN NEXT SECONDS.

Every host of a ring runs one at the same time. The first quarter of the time is not counted.
"""
import socket
import sys
import threading
import time

PORT = 29600
CHUNK = 1 << 18


def send(address, until):
    while True:
        try:
            connection = socket.create_connection((address, PORT), timeout=1)
            break
        except OSError:
            time.sleep(0.02)
    chunk = bytes(CHUNK)
    connection.settimeout(None)
    while time.monotonic() < until:
        connection.sendall(chunk)
    connection.close()


def main():
    own, following, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    listener = socket.create_server((own, PORT))
    until = time.monotonic() + seconds
    sender = threading.Thread(target=send, args=(following, until))
    sender.start()
    connection, _ = listener.accept()
    buffer = memoryview(bytearray(CHUNK))
    begin = end = time.monotonic() + (until - time.monotonic()) / 4
    received = 0
    while count := connection.recv_into(buffer):  # reads to the last byte, so that the sender's connection is not reset
        now = time.monotonic()
        if begin < now < until - seconds / 8:
            received, end = received + count, now
    print(received / max(end - begin, 1e-9))


if __name__ == "__main__":
    main()
