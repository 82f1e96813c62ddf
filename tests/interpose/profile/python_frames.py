# SPDX-License-Identifier: Apache-2.0
"""python_frames.py LIBRARY [daemons] - compares the frames that mam reads with those that Python reports.

Prints a line "ok - NAME" or "not ok - NAME: WHY" for each case. LIBRARY is python_calls.c.
"""

import atexit
import ctypes
import functools
import gc
import os
import signal
import sys
import threading
import time
import weakref

DEPTH = 128


class Frame(ctypes.Structure):
    _fields_ = [("function", ctypes.c_char_p), ("file", ctypes.c_char_p), ("line", ctypes.c_uint32)]


path = sys.argv[1]
released = ctypes.CDLL(path)
held = ctypes.PyDLL(path)
for library in released, held:
    library.calls_frames.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.calls_frames.restype = ctypes.c_size_t
released.calls_unsupported.restype = ctypes.c_char_p


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def decode(count, pointers):
    frames = []
    for i in range(min(count, DEPTH)):
        frame = ctypes.cast(pointers[i], ctypes.POINTER(Frame)).contents
        frames.append((frame.function.decode(), os.fsdecode(frame.file), frame.line))
    return frames


def both(library=released):
    """Returns mam's frames and Python's of the caller."""
    pointers = (ctypes.c_void_p * DEPTH)()
    count = library.calls_frames(pointers, DEPTH)
    native = decode(count, pointers)
    python = []
    frame = sys._getframe()
    while frame is not None and len(python) < DEPTH:
        python.append((name_of(frame.f_code), frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return native[1:], python[1:]


def report(name, why):
    print("ok - " + name if why is None else "not ok - %s: %s" % (name, why), flush=True)


def difference(native, python, innermost=None):
    if not native:
        return "no frames"
    if native != python:
        for i in range(max(len(native), len(python))):
            if native[i : i + 1] != python[i : i + 1]:
                return "frame %d is %s, must be %s" % (i, native[i : i + 1], python[i : i + 1])
    if innermost is not None and native[1][0].split(".")[-1] != innermost:
        return "the caller is %s" % (native[1],)
    return None


def check(name, innermost=None):
    """Compares the caller's frames, with the lock released and held."""
    why = difference(*both(), innermost) or difference(*both(held), innermost)
    # Both comparisons start here; the lines above this frame are the same.
    report(name, why)


def main():
    check("a plain function", "main")

    def outer():
        inner()

    def inner():
        check(
            "nested functions, and a call of several lines",
            "inner",
        )

    outer()

    (lambda: check("a lambda", "<lambda>"))()
    [check("a comprehension") for _ in range(1)]
    {check("a set comprehension") for _ in range(1)}
    list(check("a generator expression") for _ in range(1))
    list(map(lambda _: check("a lambda that C calls", "<lambda>"), [0]))
    sorted([1], key=lambda _: check("the key of a sort", "<lambda>") or 0)


def generators():
    def leaf():
        check("a generator", "leaf")
        yield 1
        check("a generator that goes on", "leaf")
        yield 2

    def branch():
        yield from leaf()

    for _ in branch():
        pass


def coroutines():
    class Ready:
        def __await__(self):
            check("an awaitable", "__await__")
            yield

    async def leaf():
        check("a coroutine", "leaf")
        await Ready()
        check("a coroutine that goes on", "leaf")

    async def numbers():
        check("an asynchronous generator", "numbers")
        yield 1

    async def root():
        await leaf()
        async for _ in numbers():
            pass

    task = root()
    try:
        while True:
            task.send(None)
    except StopIteration:
        pass
    try:
        import asyncio
    except ImportError:
        return

    async def sleeper():
        await asyncio.sleep(0)
        check("a task of asyncio", "sleeper")

    asyncio.run(sleeper())


class Shape:
    def __init__(self, name=None):
        if name is not None:
            check(name, "__init__")

    def method(self):
        check("a method", "method")

    @classmethod
    def of_class(cls):
        check("a class method", "of_class")

    @staticmethod
    def static():
        check("a static method", "static")

    @property
    def area(self):
        check("a property", "area")

    def __enter__(self):
        check("the start of a with", "__enter__")
        return self

    def __exit__(self, *_):
        check("the end of a with", "__exit__")

    def __add__(self, other):
        check("an operator", "__add__")


def classes():
    shape = Shape("a constructor")
    for i in range(3000):  # often enough that the interpreter specializes the call
        Shape("a constructor in a hot loop" if i == 2999 else None)
    shape.method()
    Shape.of_class()
    Shape.static()
    shape.area
    shape + shape
    with shape:
        pass

    class Body:
        check("the body of a class", "Body")


def decorators():
    def around(function):
        @functools.wraps(function)
        def call(*arguments):
            return function(*arguments)

        return call

    @around
    @functools.lru_cache(None)
    def decorated():
        check("a decorated function", "decorated")

    decorated()

    def failing():
        raise ValueError

    try:
        failing()
    except ValueError:
        check("an exception handler", "decorators")
    finally:
        check("a finally", "decorators")


def executed():
    exec("check('executed code', '<module>')", globals())
    namespace = dict(globals())
    exec(compile("def größe():\n\n  check('a Latin-1 name', 'größe')\ngröße()", "/tmp/maß.py", "exec"), namespace)
    exec(compile("def 日本():\n\n  check('a wide name', '日本')\n日本()", "/tmp/日本.py", "exec"), namespace)
    exec(compile("check('a file name beyond the 16-bit characters')", "/tmp/\U0001f600.py", "exec"), namespace)
    exec(compile("check('a file name that is not UTF-8')", "/tmp/a\udcffb.py", "exec"), namespace)
    source = "\n" * 70000 + "check('line 70001', '<module>')"
    exec(compile(source, "long.py", "exec"), namespace)
    for folder in "one", "two":
        exec(compile("check('equal code in two files')", "/%s/a_file_name.py" % folder, "exec"), namespace)
    # Code that is freed, followed by other code at the same addresses and with tables of equal size.
    worst = None
    addresses = set()
    for i in range(400):
        gap = i % 4
        source = "a = 1\n" + "\n" * gap + "b = both()\n" + "\n" * (3 - gap) + "c = 1\n"
        code = compile(source, "reused.py", "exec")
        addresses.add(id(code))
        space = {"both": both}
        exec(code, space)
        native, python = space["b"]
        worst = worst or difference(native, python)
        if native[0][2] != 2 + gap:
            worst = worst or "line %d, must be %d" % (native[0][2], 2 + gap)
        del code, space
    report("code at a reused address", worst or ("no address was reused" if len(addresses) > 300 else None))


def deep():
    def down(left):
        if left == 0:
            check("%d frames of a deeper stack" % DEPTH, "down")
        else:
            down(left - 1)

    down(500)


def finalizers():
    class Last:
        def __init__(self, name):
            self.name = name

        def __del__(self):
            check(self.name, "__del__")

    last = Last("a finalizer")
    del last
    cycle = Last("a finalizer in a garbage collection")
    cycle.itself = cycle
    del cycle
    gc.collect()
    watched = Shape()
    reference = weakref.ref(watched, lambda _: check("the callback of a weak reference", "<lambda>"))
    del watched
    del reference
    local = threading.local()

    def ending():
        local.last = Last("a finalizer of a thread's variable")

    thread = threading.Thread(target=ending)
    thread.start()
    thread.join()


def signals():
    def handler(*_):
        check("a signal handler", "handler")

    before = signal.signal(signal.SIGUSR1, handler)
    os.kill(os.getpid(), signal.SIGUSR1)
    for _ in range(100):
        pass
    signal.signal(signal.SIGUSR1, before)


def traced():
    def trace(frame, event, _):
        return trace

    def target():
        check("a function that is traced", "target")

    sys.settrace(trace)
    target()
    sys.settrace(None)
    sys.setprofile(lambda *_: None)
    target()
    sys.setprofile(None)


def threads():
    def body():
        check("a thread", "body")

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    report("a thread without Python", None if released.calls_in_thread() == 0 else "it has frames")

    @ctypes.CFUNCTYPE(None)
    def foreign():
        check("a thread that Python did not create", "foreign")

    released.calls_thread(foreign)
    wrong = []

    def storm(number):
        for i in range(200):
            space = {"both": both}
            source = "\n" * (i % 7) + "def f_%d():\n  return both()\nb = f_%d()" % (i % 11, i % 11)
            exec(compile(source, "storm%d.py" % (number % 2), "exec"), space)
            why = difference(*space["b"])
            if why is not None:
                wrong.append(why)

    storms = [threading.Thread(target=storm, args=(i,)) for i in range(4)]
    for thread in storms:
        thread.start()
    for thread in storms:
        thread.join()
    report("threads at once", wrong[0] if wrong else None)


def interned():
    pointers = [(ctypes.c_void_p * DEPTH)() for _ in range(2)]
    for i in range(2):
        released.calls_frames(pointers[i], DEPTH)
    report("equal frames have one address", None if list(pointers[0]) == list(pointers[1]) else "they differ")
    few = (ctypes.c_void_p * DEPTH)()
    count = released.calls_frames(few, 1)
    report("a limit of one frame", None if count == 1 and few[1] is None else "%d frames" % count)


def owner():
    inside = ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p)
    outside = ctypes.cast(released.calls_frames, ctypes.c_void_p)
    report("code of the interpreter", None if released.calls_owns(inside) else "it is not known")
    report("code of another file", None if not released.calls_owns(outside) else "it counts as the interpreter")


def references():
    def count():
        both()

    count()
    before = [sys.getrefcount(count.__code__), sys.getrefcount(count.__code__.co_filename), sys.getrefcount(count.__code__.co_name)]
    for _ in range(100):
        count()
    after = [sys.getrefcount(count.__code__), sys.getrefcount(count.__code__.co_filename), sys.getrefcount(count.__code__.co_name)]
    report("no reference is taken", None if before == after else "%s, then %s" % (before, after))


def interpreters():
    source = """
import ctypes, os, sys
path = %r
def inside():
    library = ctypes.CDLL(path)
    library.calls_frames.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.calls_frames.restype = ctypes.c_size_t
    held = ctypes.PyDLL(path)
    held.calls_frames.argtypes = library.calls_frames.argtypes
    held.calls_frames.restype = ctypes.c_size_t
    pointers = (ctypes.c_void_p * 128)()
    count = held.calls_frames(pointers, 128)
    name = ctypes.cast(pointers[0], ctypes.POINTER(ctypes.c_char_p))[0] if count else b'none'
    line = b'ok - a sub-interpreter' if name == b'inside' else b'not ok - a sub-interpreter: ' + name
    os.write(1, line + bytes([10]))
    count = library.calls_frames(pointers, 128)
    line = b'ok - a sub-interpreter that released its lock' if count else b'not ok - a sub-interpreter that released its lock: none'
    os.write(1, line + bytes([10]))
inside()
""" % path
    try:
        import _interpreters as module

        created = module.create("legacy")
    except ImportError:
        import _xxsubinterpreters as module

        created = module.create(isolated=False)
    module.run_string(created, source)
    module.destroy(created)
    check("the main interpreter, after the other one")


def forked():
    child = os.fork()
    if child == 0:
        check("a child of a fork", "forked")
        os._exit(0)
    os.waitpid(child, 0)

    def in_thread():
        child = os.fork()
        if child == 0:
            check("a child that a thread forked", "in_thread")
            os._exit(0)
        os.waitpid(child, 0)

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()


class AtEnd:
    """Its finalizer runs while the interpreter ends, when this module has no variables any more."""

    def __init__(self):
        self.frames = held.calls_frames
        self.pointers = (ctypes.c_void_p * DEPTH)()
        self.address = ctypes.c_char_p.from_address
        self.write = os.write

    def __del__(self):
        count = self.frames(self.pointers, len(self.pointers))
        good = count > 0 and self.address(self.pointers[0]).value.split(b".")[-1] == b"__del__"
        self.write(1, b"%s - a finalizer at the end of the interpreter\n" % (b"ok" if good else b"not ok"))


def at_exit():
    check("an exit handler", "at_exit")


if released.calls_unsupported() is not None:
    pointers = (ctypes.c_void_p * DEPTH)()
    count = released.calls_frames(pointers, DEPTH)
    report("Python %s is not read" % released.calls_unsupported().decode(), None if count == 0 else "%d frames" % count)
    sys.exit()


class SlowEnd:
    """Makes the end of the interpreter take a while."""

    def __init__(self):
        self.sleep = time.sleep

    def __del__(self):
        self.sleep(0.05)


def daemon(left):
    if left != 0:
        daemon(left - 1)
    else:
        name = "Py_IsFinalizing" if sys.version_info >= (3, 13) else "_Py_IsFinalizing"
        released.calls_forever(ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p))


if sys.argv[2:] == ["daemons"]:
    # The main thread ends the interpreter, and frees the states of these threads, while they read their frames.
    for _ in range(3):
        threading.Thread(target=daemon, args=(50,), daemon=True).start()
    slow_end = SlowEnd()
    sys.exit()
check("a module", "<module>")
for part in (main, generators, coroutines, classes, decorators, executed, deep, finalizers, signals, traced, threads):
    part()
for part in (interned, owner, references, interpreters, forked):
    part()
atexit.register(at_exit)
at_end = AtEnd()
