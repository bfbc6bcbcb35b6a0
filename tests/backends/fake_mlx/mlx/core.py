"""What twlocal uses of mlx.core. The cache of freed buffers grows as a model reads, until the process is killed."""

import os

float32, bfloat16, float16 = "float32", "bfloat16", "float16"
MB = 1 << 20
device = {"device_name": "a fake"}  # with max_recommended_working_set_size it has Metal
cached = 0
cache_limit = 10**12
killed_at = 10**12  # bytes of cache at which the system kills the process
clears = 0


class metal:
    @staticmethod
    def is_available():
        return "max_recommended_working_set_size" in device


def device_info():
    return dict(device)


def default_device():
    return "Device(gpu, 0)" if metal.is_available() else "Device(cpu, 0)"


def set_cache_limit(limit):
    global cache_limit
    cache_limit, before = limit, cache_limit
    return before


def clear_cache():
    global cached, clears
    cached, clears = 0, clears + 1


def grow(amount):
    """Buffers of `amount` bytes were freed, and are kept for reuse as far as the limit allows."""
    global cached
    cached = min(cached + amount, cache_limit)
    if cached > killed_at:
        die()


def die():
    os.write(2, b"libc++abi: terminating due to uncaught exception of type std::runtime_error: [METAL]\n")
    os.abort()


def array(values):
    return values


def argmax(rows, axis):
    assert axis == -1
    return [max(range(len(row)), key=row.__getitem__) for row in rows]


def eval(*values):
    return None
