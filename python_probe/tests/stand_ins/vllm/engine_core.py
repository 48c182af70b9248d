"""The engine's process: takes memory, and sleeps when it is told to. A stand-in, see README."""

import device_memory

MIB = 1 << 20
WEIGHTS, CACHE = 64 * MIB, 192 * MIB


def run_engine_core(pipe):
    blocks = [device_memory.take(size) for size in (WEIGHTS, CACHE)]
    pipe.send("ready")
    while True:
        try:
            order = pipe.recv()
        except EOFError:
            return
        if order == "sleep":
            while blocks:
                device_memory.give(blocks.pop())
        elif order == "wake_up" and not blocks:
            blocks = [device_memory.take(size) for size in (WEIGHTS, CACHE)]
        pipe.send(len(blocks))
