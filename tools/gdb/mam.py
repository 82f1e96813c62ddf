# SPDX-License-Identifier: Apache-2.0
"""mam.py - gdb commands that print mam's pools and heaps, of a stopped program or a core file.

    (gdb) source mam.py
    (gdb) help mam

The commands only read memory: they call no function of the program. They start at the global
variable mam_slots and need libmam's debug symbols, but no local variable of libmam, so libmam may
be optimized. gdb 9 or later.
"""
import struct

import gdb

SLOT_BYTES = 1024    # src/api/slots.h: MAM_SLOT_BYTES
HANDLE_SHIFT = 48    # src/pool/handle.h: MAM_HANDLE_SHIFT
RECORD_UNIT = 8      # src/base/rbtree.h: MAM_RB_UNIT, the unit of a record's handle
BLOCK_SHIFT = 16     # src/heap/slab/classes.h: MAM_BLOCK_SHIFT
ADDRESS = (1 << 64) - 1

NEEDED = ("struct mam_slot", "struct mam_segment", "struct mam_chunk")
NEEDED_BY_HEAP = ("struct mam_heap", "struct mam_kheap", "struct mam_pages")
STATES = {"MAM_SEGMENT_UNMAPPED": "unmapped", "MAM_SEGMENT_LOST": "unmapped, failed",
          "MAM_SEGMENT_LEAVING": "leaving"}


def say(name, text):
    print("  %-11s %s" % (name, text))


def counted(number, noun):
    return "%d %s%s" % (number, noun, "" if number == 1 else "s")


def blocks(number, size):
    return "%s, %s" % (counted(number, "block"), counted(size, "byte"))


def read(address, size):
    """Memory of the program; raises gdb.MemoryError."""
    return bytes(gdb.selected_inferior().read_memory(address, size)) if size else b""


def offsets(kind):
    """The offset of each field of a struct, those of anonymous members included."""
    found = {}
    for field in kind.fields():
        if field.name:
            found[field.name] = field.bitpos // 8
        else:
            for name, offset in offsets(field.type).items():
                found[name] = field.bitpos // 8 + offset
    return found


class Library:
    """One libmam of the program: a program and libmam-preload.so may both contain it."""

    def __init__(self, objfile, symbol):
        self.path = objfile.filename
        self.block = symbol.symtab.global_block()
        slots = symbol.value()
        self.address = int(slots.address)
        self.base = int(slots["base"])
        self.bytes = int(slots["bytes"])
        missing = [name for name in NEEDED if self.type(name) is None]
        if missing:
            raise gdb.GdbError(no_types(self.path, missing))

    def type(self, name):
        try:
            kind = gdb.lookup_type(name, self.block).strip_typedefs()
        except gdb.error:
            return None
        return kind if kind.fields() else None

    def at(self, address, name):
        return gdb.Value(address).cast(self.type(name).pointer()).dereference()

    def enumerator(self, enum, value):
        kind = self.type(enum)
        for field in kind.fields() if kind else ():
            if field.enumval == value:
                return field.name
        return str(value)

    def contains(self, address):
        return 0 <= address - self.base < self.bytes and (address - self.base) % SLOT_BYTES == 0

    def pools(self):
        for address in range(self.base, self.base + self.bytes, SLOT_BYTES):
            pool = Pool(self, address)
            if pool.state == "MAM_POOL_READY":
                yield pool


def no_types(path, missing):
    return ("mam: error: '%s' lacks debug symbols: %s\n"
            "mam: note: build mam with -g in CFLAGS, or install and load its debug symbols"
            % (path, ", ".join(missing)))


def libraries():
    if not gdb.selected_inferior().threads():
        raise gdb.GdbError("mam: error: no program is running; start one or load a core file")
    found = {}
    for objfile in gdb.objfiles():
        if objfile.owner is not None:
            continue
        symbol = (objfile.lookup_global_symbol("mam_slots") or
                  objfile.lookup_static_symbol("mam_slots"))
        if symbol is not None:
            library = Library(objfile, symbol)
            found[library.address] = library
    if found:
        return list(found.values())
    for name in "mam_slots", "mam_version":  # the first is local in a shared library
        try:
            address = int(gdb.parse_and_eval("(unsigned long)&" + name))
        except gdb.error:
            continue
        path = gdb.solib_name(address) or gdb.current_progspace().filename
        raise gdb.GdbError(no_types(path, ("mam_slots",) + NEEDED))
    raise gdb.GdbError("mam: error: no libmam was found in this program\n"
                       "mam: note: a stripped program that contains libmam.a also looks like this")


def evaluate(text):
    """The address that an expression stands for."""
    try:
        value = gdb.parse_and_eval(text)
        if value.is_optimized_out:
            raise gdb.GdbError(
                "mam: error: '%s' is optimized out in this frame\n"
                "mam: note: try another frame ('up'), or 'mam pool' for all pools" % text)
        kind = value.type.strip_typedefs()
        if kind.code == gdb.TYPE_CODE_STRUCT:
            value = value.address
        return int(value) & ADDRESS
    except gdb.error as error:
        raise gdb.GdbError("mam: error: cannot evaluate '%s': %s" % (text, error))


def pool_of(text):
    value = evaluate(text)
    if value == 0:
        raise gdb.GdbError("mam: error: '%s' is NULL, the default pool\n"
                           "mam: note: 'mam pool' prints all pools" % text)
    address = value & ((1 << HANDLE_SHIFT) - 1)
    generation = value >> HANDLE_SHIFT
    for library in libraries():
        if not library.contains(address):
            continue
        pool = Pool(library, address)
        if generation == pool.generation and pool.state == "MAM_POOL_READY":
            return pool
        if generation == 0 and pool.state == "MAM_POOL_READY":
            print("warning: '%s' is a pointer of libmam, or a handle of a pool that ended" % text)
            return pool
        raise gdb.GdbError("mam: error: the pool of '%s' (0x%x) has ended" % (text, value))
    raise gdb.GdbError("mam: error: '%s' (0x%x) is not a pool" % (text, value))


class Records:
    """A copy of a struct mam_records, whose records have type `kind`."""

    def __init__(self, records, kind):
        self.most = int(records["touched"])
        self.content = read(int(records["base"]), self.most * kind.sizeof)
        self.size = kind.sizeof
        self.offset = offsets(kind)

    def get(self, handle, name, form="Q"):
        return struct.unpack_from("=" + form, self.content,
                                  handle * RECORD_UNIT + self.offset[name])[0]

    def chain(self, handle, link):
        """Handles of a list, from `handle` to its end; a damaged list ends early."""
        found = []
        while handle != 0:
            if len(found) > self.most or handle * RECORD_UNIT + self.size > len(self.content):
                print("warning: the metadata is inconsistent; a list is cut off")
                break
            found.append(handle)
            handle = self.get(handle, link, "I")
        return found


class Pool:
    def __init__(self, library, address):
        self.library = library
        self.address = address
        self.slot = library.at(address, "struct mam_slot")
        self.pool = self.slot["pool"]
        self.generation = int(self.pool["generation"])
        self.state = library.enumerator("enum mam_pool_state", int(self.pool["state"]))

    def title(self):
        name = self.pool["config"]["name"].string()
        return "0x%x%s" % (self.address | self.generation << HANDLE_SHIFT,
                           " '%s'" % name if name else "")

    def load(self):
        """Chunks in address order, each with its segments."""
        self.segments = Records(self.pool["segments"], self.library.type("struct mam_segment"))
        self.chunks = Records(self.pool["chunks"], self.library.type("struct mam_chunk"))
        found = []
        for chunk in self.chunks.chain(int(self.pool["newest_chunk"]), "older"):
            segments = self.segments.chain(self.chunks.get(chunk, "last", "I"), "prev")
            found.append((self.chunks.get(chunk, "base"), chunk, segments[::-1]))
        return sorted(found)

    def state_of(self, segment):
        state = self.segments.get(segment, "state", "I")
        if state >= 256:
            return "stream-free"
        name = self.library.enumerator("enum mam_segment_state", state)
        return STATES.get(name, name.replace("MAM_SEGMENT_", "").lower())

    def warn(self):
        if int(self.pool["lock"]["word"]) != 0:
            print("warning: a thread holds the pool's lock; its metadata may be inconsistent")
        if int(self.pool["grow_lock"]["word"]) != 0:
            print("note: a thread is growing or trimming the pool")
        if int(self.pool["cache"]) != 0:
            print("note: segments in thread caches are printed as live; the counts lack the latest "
                  "calls of each thread")

    def show(self):
        config, counts = self.pool["config"], self.pool["counts"]
        count = {field.name: int(counts[field.name]) for field in counts.type.fields()}
        limit = int(config["limit_bytes"])
        device = int(self.slot["device"])
        print("pool %s" % self.title())
        self.warn()
        say("source", "%s, %s" % (self.slot["source"].string(),
                                  "device %d" % device if device >= 0 else "no device"))
        say("frees", "wait for the device" if self.pool["strict"] else "do not wait")
        say("granule", counted(int(config["granule"]), "byte"))
        say("limit", counted(limit, "byte") if 0 < limit < 1 << 63 else "none")
        say("live", blocks(count["live_blocks"], count["live_rounded_bytes"]) +
            ", %d requested" % count["live_bytes"])
        say("peak live", blocks(count["peak_live_blocks"], count["peak_live_rounded_bytes"]) +
            ", %d requested" % count["peak_live_bytes"])
        say("cached", blocks(count["cached_blocks"], count["cached_bytes"]))
        say("retired", blocks(count["retired_blocks"], count["retired_bytes"]))
        say("reserved", "%s, %s, peak %d" % (counted(count["chunks"], "chunk"),
                                             counted(count["reserved_bytes"], "byte"),
                                             count["peak_reserved_bytes"]))
        if int(self.pool["range"]) != 0:
            say("mapped", "%s, peak %d" % (counted(count["physical_bytes"], "byte"),
                                           count["peak_physical_bytes"]))
        say("calls", "%d allocs, %d frees, %d failures" % (count["allocs"], count["frees"],
                                                           count["failures"]))
        totals = {}
        for _, _, segments in self.load():
            for segment in segments:
                state = self.state_of(segment)
                number, size = totals.get(state, (0, 0))
                totals[state] = number + 1, size + self.segments.get(segment, "bytes")
        for state in sorted(totals):
            say("segments", "%d %s, %s" % (totals[state][0], state,
                                           counted(totals[state][1], "byte")))

    def show_segments(self):
        print("pool %s" % self.title())
        self.warn()
        for base, chunk, segments in self.load():
            print("chunk 0x%x: %s, %s, highest block end at %d" % (
                base, counted(self.chunks.get(chunk, "bytes"), "byte"),
                counted(len(segments), "segment"), self.chunks.get(chunk, "high")))
            print("  %-18s %14s %14s  %s" % ("address", "bytes", "requested", "state"))
            for segment in segments:
                state = self.state_of(segment)
                requested = self.segments.get(segment, "requested") if state == "live" else "-"
                print("  0x%-16x %14d %14s  %s" % (
                    self.segments.get(segment, "base"), self.segments.get(segment, "bytes"),
                    requested, state))


class Heap:
    def __init__(self, text):
        address = evaluate(text)
        for library in libraries():
            missing = [name for name in NEEDED_BY_HEAP if library.type(name) is None]
            if missing:
                raise gdb.GdbError(no_types(library.path, missing))
            self.library = library
            self.heap = library.at(address, "struct mam_heap")
            try:
                pool = int(self.heap["pool"])
            except gdb.MemoryError:
                continue
            if library.contains(pool):
                self.address = address
                self.pool = Pool(library, pool)
                return
        raise gdb.GdbError("mam: error: '%s' (0x%x) is not a heap" % (text, address))

    def tallies(self, enum, values):
        prefix = {"enum mam_pages_tally": "MAM_TALLY_", "enum mam_object_tally": "MAM_OBJECT_"}[enum]
        found = []
        for number, value in enumerate(values):
            if value:
                name = self.library.enumerator(enum, number).replace(prefix, "")
                found.append("%s %d" % (name.lower().replace("_", " "), value))
        say("errors", ", ".join(found) or "none")

    def show_metadata(self, number):
        heap = self.heap
        at = int(heap["space"])
        at += (int(heap["pages"]) << int(heap["shift"])) + (int(heap["blocks"]) << BLOCK_SHIFT)
        head = self.library.at(at, "struct mam_kheap")
        try:
            # gdb reads zeros where the driver only reserved the addresses in the process.
            if int(head["space"]) == 0:
                raise gdb.MemoryError()
            if int(head["space"]) != int(heap["space"]):
                say("metadata", "overwritten: the head at 0x%x does not name the heap's memory" % at)
                return
            pages_at = int(head["units"]) if int(heap["blocks"]) else at + head.type.sizeof
            pages = self.library.at(pages_at, "struct mam_pages")
            words = (number + 63) // 64
            bits = read(pages_at + pages.type.sizeof, 8 * words)
            free = 64 * words - bin(int.from_bytes(bits, "little")).count("1")
            say("taken", "%d, free %d" % (number - free, free))
            if int(heap["blocks"]):
                of = head["tallies"].dereference()["of"]
                last = of.type.range()[1]
                self.tallies("enum mam_object_tally", [int(of[i]["value"]) for i in range(last + 1)])
            else:
                last = pages["tally"].type.range()[1]
                self.tallies("enum mam_pages_tally", [int(pages["tally"][i]) for i in range(last + 1)])
        except gdb.MemoryError:
            say("taken", "unknown: gdb cannot read the device memory at 0x%x" % at)
            print("note: mam_heap_stats() reads it in the program")

    def show(self):
        heap = self.heap
        objects = int(heap["blocks"]) != 0
        number = int(heap["blocks"]) * 64 if objects else int(heap["pages"])
        print("heap 0x%x" % self.address)
        if self.pool.state != "MAM_POOL_READY":
            print("warning: the heap's pool has ended")
        say("pool", self.pool.title())
        say("kind", "objects" if objects else "pages")
        say("memory", "0x%x, %s" % (int(heap["space"]), counted(int(heap["space_bytes"]), "byte")))
        say("units" if objects else "pages", "%d of %s" % (
            number, counted(1 << int(heap["shift"]), "byte")))
        say("debug", "on" if heap["debug"] else "off")
        self.show_metadata(number)
        if int(heap["post"]) == 0:
            say("growth", "off")
        elif self.library.type("struct mam_post") is None:
            say("growth", "unknown: no debug symbols for struct mam_post")
        else:
            count = self.library.at(int(heap["post"]), "struct mam_post")["box"]["counts"]
            say("growth", "%s, %s" % (counted(int(count["posted"]), "grant"),
                                      counted(int(count["posted_bytes"]), "byte")))
            say("large", "%s, %s" % (counted(int(count["large"]), "object"),
                                     counted(int(count["large_bytes"]), "byte")))
            say("requests", "%d, %d refused, %d invalid" % (
                int(count["asks"]), int(count["refusals"]), int(count["bad"])))


class Mam(gdb.Command):
    """Print mam's pools and heaps, of a stopped program or a core file.

mam pool [POOL]      Print the settings and counts of a pool, or of all pools.
mam segments POOL    Print every segment of a pool, chunk by chunk.
mam heap HEAP        Print a heap for kernels.

POOL is an expression: a handle (struct mam_pool *) or its number. HEAP is a
struct mam_heap *. In optimized code a variable may be unavailable in a frame;
'mam pool' without argument needs no variable and prints each handle.

A segment is
  live         a block that a caller holds, or that a thread caches
  free         available
  retired      freed, and waiting for the device
  stream-free  freed, and available to one stream
  unmapped     addresses without memory (source vmm)
  moving       in use by a thread that calls the driver
If a thread holds the pool's lock, the metadata may be inconsistent.

The allocated part of a heap and its errors are in device memory. gdb prints
them if it can read that memory; otherwise call mam_heap_stats() in the program.

The commands read memory only and call no function of the program. They need
the debug symbols of libmam (-g in CFLAGS), at any optimization level."""

    def __init__(self):
        super().__init__("mam", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)

    def invoke(self, argument, from_tty):
        gdb.execute("help mam")


class Command(gdb.Command):
    def __init__(self):
        super().__init__(self.name, gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        argument = argument.strip()
        if not argument and self.needs:
            raise gdb.GdbError("%s: error: missing %s; see 'help mam'" % (self.name, self.needs))
        try:
            self.run(argument)
        except gdb.MemoryError as error:
            raise gdb.GdbError("%s: error: cannot read mam's metadata: %s" % (self.name, error))


class PoolCommand(Command):
    """Print a pool, or all pools: mam pool [POOL]. See 'help mam'."""
    name, needs = "mam pool", None

    def run(self, argument):
        if argument:
            pool_of(argument).show()
            return
        found = [pool for library in libraries() for pool in library.pools()]
        for pool in found:
            pool.show()
        if not found:
            print("no pools")


class SegmentsCommand(Command):
    """Print every segment of a pool: mam segments POOL. See 'help mam'."""
    name, needs = "mam segments", "POOL"

    def run(self, argument):
        pool_of(argument).show_segments()


class HeapCommand(Command):
    """Print a heap for kernels: mam heap HEAP. See 'help mam'."""
    name, needs = "mam heap", "HEAP"

    def run(self, argument):
        Heap(argument).show()


Mam()
PoolCommand()
SegmentsCommand()
HeapCommand()
