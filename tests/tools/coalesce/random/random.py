# SPDX-License-Identifier: Apache-2.0
"""random.py - write random CUDA programs, for random.sh.

    random.py SEED KERNELS > FILE.cu

The programs are valid: no variable is read before it is set, loops end, and barriers, votes and
matches are only where all threads of the block are. They have the constructs that `mam coalesce`
follows: pointers and references to locals, lambdas, conditions with declarations, early returns,
loops, switches, shared variables, helpers. The same seed always gives the same text.
"""
import random
import sys


class Writer:
    def __init__(self, rng):
        self.rng = rng
        self.lines = []
        self.indent = 1
        self.count = 0

    def name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def put(self, text):
        self.lines.append("\t" * self.indent + text)


class Body(Writer):
    """A function's body. values: names that may be read; places: names that may be set."""

    def __init__(self, rng, kernel, helpers):
        super().__init__(rng)
        self.kernel, self.helpers = kernel, helpers
        self.values = ["n", "m"]
        self.places = []
        self.lambdas = []
        self.pure = ["n", "m", "blockIdx.x"]
        self.together = kernel  # all threads of the block are here
        self.depth = 0
        self.loops = 0

    def atom(self):
        r = self.rng.random()
        if r < 0.14 and self.kernel:
            return "(int)threadIdx.x"
        if r < 0.24:
            return str(self.rng.randrange(8))
        if r < 0.32 and self.kernel:
            return f"in[{self.rng.choice(['n', 'm', self.expression(1)])} & 63]"
        return self.rng.choice(self.values)

    def expression(self, depth=2):
        r = self.rng.random()
        if depth == 0 or r < 0.35:
            return self.atom()
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        if r < 0.75:
            return f"({a} {self.rng.choice('+-&^|')} {b})"
        if r < 0.80:
            return f"({a} > {b} ? {b} : {a})"
        if r < 0.86 and self.lambdas:
            return f"{self.rng.choice(self.lambdas)}({a})"
        if r < 0.93 and self.helpers:
            return f"value{self.rng.choice(self.helpers)}({a}, {b})"
        return f"({a} * {self.rng.randrange(4)})"

    def uniform(self):
        a, b = self.rng.choice(self.pure), self.rng.randrange(6)
        return f"{a} {self.rng.choice(['<', '>', '&', '!='])} {b}"

    def condition(self):
        if self.rng.random() < 0.4:
            return self.uniform(), True
        e = self.expression()
        return self.rng.choice([f"{e} > {self.rng.randrange(6)}", f"{e} & 1", f"!({e} & 3)"]), False

    def block(self, budget, together):
        saved = self.values[:], self.places[:], self.lambdas[:], self.together
        self.together = self.together and together
        self.indent += 1
        self.depth += 1
        self.statements(budget)
        self.depth -= 1
        self.indent -= 1
        kept = self.together
        self.values, self.places, self.lambdas, self.together = saved
        # A thread may have left for good in there.
        self.together = self.together and (kept or not together) and not self.left

    left = False

    def statements(self, count):
        for _ in range(count):
            self.statement()

    def malloc(self):
        p = self.name("p")
        self.put(f"int *{p} = (int *)malloc((({self.expression()}) & 15) * 4 + 4);")
        if self.rng.random() < 0.04 and self.kernel:
            self.put(f"if (!{p})")
            self.put("\treturn;")
            self.left, self.together = True, False
        else:
            self.put(f"if ({p})")
            self.put(f"\t{p}[0] = 1;")
        if self.kernel:
            self.put(f"out[threadIdx.x] += {p} ? {p}[0] : 0;")
        self.put(f"free({p});")

    def declare(self):
        v = self.name("v")
        self.put(f"int {v} = {self.expression()};")
        self.values.append(v)
        self.places.append(v)

    def statement(self):
        rng = self.rng
        r = rng.random()
        deep = self.depth >= 3
        if r < 0.17:
            self.malloc()
        elif r < 0.30 or not self.places:
            self.declare()
        elif r < 0.38:
            self.put(f"{rng.choice(self.places)} {rng.choice(['=', '=', '+=', '^='])} {self.expression()};")
        elif r < 0.43:
            v, base = self.name("r"), rng.choice(self.places)
            const = rng.random() < 0.3
            self.put(f"{'const ' if const else ''}int &{v} = {base};")
            self.values.append(v)
            if not const:
                self.places.append(v)
        elif r < 0.49:
            v, base = self.name("q"), rng.choice(self.places)
            if base.startswith("*"):
                base = base[1:]
            else:
                base = "&" + base
            self.put(f"int *{v} = {base};")
            self.values.append("*" + v)
            self.places.append("*" + v)
        elif r < 0.53:
            v = self.name("a")
            self.put(f"int {v}[3] = {{ {self.expression(1)}, {self.expression(1)}, {self.expression(1)} }};")
            self.values += [f"{v}[0]", f"{v}[2]", f"{v}[{self.atom()} & 1]"]
            self.places += [f"{v}[1]", f"{v}[0]"]
        elif r < 0.56:
            v = self.name("s")
            self.put(f"pair {v} = {{ {self.expression(1)}, {self.expression(1)} }};")
            self.values += [v + ".a", v + ".b", v + ".sum()"]
            self.places += [v + ".a", v + ".b"]
        elif r < 0.64 and self.helpers:
            h = rng.choice(self.helpers)
            kind = rng.randrange(4)
            place = rng.choice(self.places)
            address = place[1:] if place.startswith("*") else "&" + place
            other = place if rng.random() < 0.3 else rng.choice(self.places)
            if kind == 0:
                self.put(f"by_pointer{h}({address}, {self.expression(1)});")
            elif kind == 1:
                self.put(f"by_reference{h}({place}, {self.expression(1)});")
            elif kind == 2:
                self.put(f"two{h}({place}, {other}, {self.expression(1)});")
            else:
                self.put(f"{rng.choice(self.places)} = read{h}({place}, {address});")
        elif r < 0.70:
            f = self.name("f")
            capture = rng.choice(["[=]", "[&]", "[=]", "[&]"])
            saved = self.values[:], self.places[:], self.kernel, self.lambdas[:]
            self.values.append("x")
            self.lambdas = []
            if rng.random() < 0.35:
                inner, self.lines = self.lines, []
                self.indent += 1
                self.places = ["x"] + ([p for p in self.places if capture == "[&]"])
                kernel, self.kernel = self.kernel, False
                together, self.together = self.together, False
                old_loops, self.loops = self.loops, 0
                self.depth += 2
                if rng.random() < 0.5:
                    self.malloc()
                self.statements(2)
                self.depth -= 2
                self.loops = old_loops
                self.together, self.kernel = together, kernel
                text = self.expression(1)
                self.indent -= 1
                body, self.lines = self.lines, inner
                self.put(f"auto {f} = {capture}(int x) {{")
                self.lines += body
                self.put(f"\treturn {text};")
                self.put("};")
            else:
                self.kernel = False
                self.put(f"auto {f} = {capture}(int x) {{ return {self.expression(2)}; }};")
            self.values, self.places, self.kernel, self.lambdas = saved
            self.lambdas.append(f)
            if rng.random() < 0.5:
                v = self.name("v")
                self.put(f"int {v} = {f}({self.expression(1)});")
                self.values.append(v)
                self.places.append(v)
            if rng.random() < 0.3 and self.helpers:
                self.put(f"{rng.choice(self.places)} = apply({f}, {self.expression(1)});")
        elif r < 0.76 and not deep:
            c, together = self.condition()
            if rng.random() < 0.3:
                v = self.name("c")
                e = self.expression()
                self.put(f"if (int {v} = {e} & 3) {{")
                self.values.append(v)
                together = False
            else:
                self.put(f"if ({c}) {{")
            self.block(rng.randrange(1, 4), together)
            if rng.random() < 0.4:
                self.put("} else {")
                self.block(rng.randrange(1, 3), together)
            self.put("}")
            self.values = [x for x in self.values if not x.startswith("c")]
        elif r < 0.82 and not deep:
            self.loop()
        elif r < 0.85 and not deep:
            self.put(f"switch ({self.expression()} & 3) {{")
            for case in rng.sample(range(4), 2):
                self.put(f"case {case}: {{")
                loops, self.loops = self.loops, 0
                self.block(rng.randrange(1, 3), False)
                self.loops = loops
                self.put("}" if rng.random() < 0.3 else "} break;")
            self.put("default: break;")
            self.put("}")
        elif r < 0.89 and self.loops:
            self.put(f"if ({self.condition()[0]})")
            self.put(f"\t{rng.choice(['break', 'continue'])};")
            self.together = False
        elif r < 0.91 and self.kernel:
            c, together = self.condition() if rng.random() < 0.2 else (self.uniform(), True)
            self.put(f"if ({c})")
            self.put("\treturn;")
            if not together or not self.together:
                self.left, self.together = True, False
        elif self.kernel and self.together and not self.left:
            self.meet()
        else:
            self.declare()

    def loop(self):
        rng = self.rng
        self.loops += 1
        kind = rng.randrange(3)
        if kind == 0:
            i = self.name("i")
            self.put(f"for (int {i} = 0; {i} < (({self.expression()}) & 3); {i}++) {{")
            self.values.append(i)
        elif kind == 1:
            k, v = self.name("k"), self.name("w")
            self.put(f"int {k} = ({self.expression()}) & 3;")
            self.put(f"while (int {v} = {k}--) {{")
            self.put(f"\tif ({v} < 0)")
            self.put("\t\tbreak;")
            self.values.append(v)
        else:
            i = self.name("i")
            self.put(f"for (int {i} = n & 3; {i} > 0; --{i}) {{")
            self.values.append(i)
        self.block(rng.randrange(1, 4), False)
        self.put("}")
        if self.values and self.values[-1][0] in "iw":
            self.values.pop()
        self.loops -= 1

    def meet(self):
        rng = self.rng
        kind, v = rng.randrange(4), self.name("v")
        if kind == 0:
            self.put(f"int {v} = __any_sync(0xffffffff, {self.expression()} > 3);")
        elif kind == 1:
            self.put(f"int {v};")
            self.put(f"__match_all_sync(0xffffffff, {self.expression()}, &{v});")
        elif kind == 2:
            self.put(f"int {v} = __shfl_sync(0xffffffff, {self.expression()}, {rng.randrange(4)});")
        else:
            self.put("__syncthreads();")
            self.put("if (threadIdx.x == 0)")
            self.put(f"\tshared = {self.expression()};")
            self.put("__syncthreads();")
            self.put(f"int {v} = shared;")
        self.values.append(v)
        self.places.append(v)


def helper(rng, number, earlier):
    text = []

    def function(head, names, places, result):
        body = Body(rng, False, earlier)
        body.values = ["n"] + names
        body.pure = ["n"]
        body.places = places[:]
        body.depth = 1
        body.statements(rng.randrange(1, 4))
        if rng.random() < 0.5:
            body.malloc()
        text.append(f"static __device__ {head}\n{{")
        text.extend(body.lines)
        if result:
            text.append(f"\treturn {body.expression()};")
        text.append("}")

    function(f"int value{number}(int n, int m)", ["m"], ["m"], True)
    function(f"void by_pointer{number}(int *q, int n)", ["*q"], ["*q"], False)
    function(f"void by_reference{number}(int &r, int n)", ["r"], ["r"], False)
    function(f"void two{number}(int &r, int &s, int n)", ["r", "s"], ["r", "s"], False)
    function(f"int read{number}(const int &r, int *q)", ["r", "*q"], ["*q"], True)
    return "\n".join(text)


def main():
    seed, kernels = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    print("struct pair { int a, b; __device__ int sum() const { return a + b; } };")
    print("template <class F> static __device__ int apply(F f, int n) { return f(n) + f(2); }")
    helpers = []
    for number in range(3):
        print(helper(rng, number, helpers[:]).replace(
            f"int read{number}(const int &r, int *q)\n{{",
            f"int read{number}(const int &r, int *q)\n{{\n\tint n = 3;"))
        helpers.append(number)
    for number in range(kernels):
        body = Body(rng, True, helpers)
        body.statements(rng.randrange(6, 14))
        print(f"__global__ void k{number}(const int *in, int n, int m, int *out)\n{{")
        print("\t__shared__ int shared;")
        print("\n".join(body.lines))
        print(f"\tout[threadIdx.x] += {body.expression()};\n}}")
    print("#ifdef RANDOM_MAIN\nkernel_t kernels[] = {", ", ".join(f"k{i}" for i in range(kernels)), "};")
    print(f"const int kernel_count = {kernels};\n#endif")


main()
