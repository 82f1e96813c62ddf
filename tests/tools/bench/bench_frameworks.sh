#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_frameworks.sh - the runners of tools/bench/frameworks, with a stub for PyTorch: torch_plug.py prints one line per
# promise, also of a process that crashes or hangs, and compares results with and without mam; torch_modes.py reports
# what each program printed, counted and used, with a stub for NVML.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

python=${PYTHON:-$(command -v python3)}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' > /dev/null 2>&1 ||
	skip_all "runners of frameworks" "Python 3.9 or later is not installed"
frameworks=$MAM_SRCDIR/tools/bench/frameworks
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

cat > "$scratch/promises.py" << 'END'
import os, sys, time, types

torch = sys.modules["torch"] = types.ModuleType("torch")
torch.cuda = types.SimpleNamespace(get_allocator_backend=lambda: "mam")
sys.path.insert(0, sys.argv.pop(1))
import torch_plug

torch_plug.LIMIT = float(sys.argv.pop(1))
is_mam = False


def use(options):
    global is_mam
    is_mam = options.extension


def good(_):
    return True, "unused"


def bad(library):
    return False, f"sums of {library}\nare wrong"


def raises(_):
    raise ValueError("first\nsecond")


def crashes(_):
    os.abort()


def hangs(_):
    time.sleep(600)


def same(_):
    return "losses 1"


def differs(_):
    return "losses 1" if is_mam else "losses 2"


def absent(_):
    raise RuntimeError("no compiler")


torch_plug.plug.use = use
torch_plug.PLUGGED, torch_plug.EXTENSION, torch_plug.COMPARED = {
    "broken": ([good, bad, raises, crashes], [], [same, differs, absent]),
    "kept": ([good], [], [same]),
    "late": ([hangs], [], []),
}[sys.argv.pop(1)]
sys.exit(torch_plug.main())
END
promises() # SECONDS WHICH OPTION...
{
	"$python" "$scratch/promises.py" "$frameworks" "$@" > "$scratch/lines" 2> "$scratch/err"
}

promises 300 broken LIB --extension
same "promises: exit status" 1 $?
for line in "built yes" "good yes" "bad no: sums of LIB are wrong" "raises no: ValueError: first" \
	"crashes no: ended with status -6" "same yes" "differs no: losses 1 instead of losses 2" \
	"absent skipped: without mam: False RuntimeError: no compiler"; do
	same "promise: ${line%% *}" "$line" "$(grep "^${line%% *} " "$scratch/lines")"
done
promises 300 kept LIB --extension
same "promises: all are kept" "0 3" "$? $(wc -l < "$scratch/lines" | tr -d ' ')"
promises 1 late LIB
same "promises: one that hangs" "1 hangs no: no end in time" "$? $(cat "$scratch/lines")"

mkdir -p "$scratch/frameworks" "$scratch/lib" "$scratch/out"
cp "$frameworks/torch_modes.py" "$frameworks/plug.py" "$scratch/frameworks"
cat > "$scratch/frameworks/torch.py" << 'END'
import types

_C = types.SimpleNamespace(_cuda_clearCublasWorkspaces=lambda: None)
numbers = {"requested_bytes.all.peak": 10, "requested_bytes.all.allocated": 30, "allocation.all.allocated": 3,
           "requested_bytes.all.current": 0, "reserved_bytes.all.current": 64}
cuda = types.SimpleNamespace(synchronize=lambda: None, memory_stats=lambda: numbers)
END
cat > "$scratch/frameworks/torch_good.py" << 'END'
import os, sys, time

for used in 5000, 3000:  # until NVML was read
    with open(os.environ["NVML_USED"], "w") as file:
        file.write(f"{used}\n")
    while open(os.environ["NVML_USED"] + ".seen").read() != f"{used}\n":
        time.sleep(0.01)
print("options", *sys.argv[1:])
print("ms_per_round 1.5", file=sys.stderr)
END
echo 'raise RuntimeError("out of luck")' > "$scratch/frameworks/torch_fails.py"
printf 'import time\ntime.sleep(600)\n' > "$scratch/frameworks/torch_hangs.py"
cat > "$scratch/nvml.c" << 'END'
#include <stdio.h>
#include <stdlib.h>

int nvmlInit_v2(void)
{
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	*device = NULL;
	return (int)index;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *numbers)
{
	const char *path = getenv("NVML_USED");
	char seen[200];
	FILE *file = fopen(path, "r");

	(void)device;
	if (!file)
		return 1;
	if (fscanf(file, "%llu", &numbers[2]) != 1)
		numbers[2] = 1000; /* it is being written */
	fclose(file);
	snprintf(seen, sizeof(seen), "%s.seen", path);
	file = fopen(seen, "w");
	if (file) {
		fprintf(file, "%llu\n", numbers[2]);
		fclose(file);
	}
	return 0;
}
END
# shellcheck disable=SC2086 # words on purpose
$CC -shared -fPIC "$scratch/nvml.c" -o "$scratch/lib/libnvidia-ml.so.1" || not_ok "stub of NVML" "it could not be built"

modes() # MODE OPTION... -- PROGRAM STEPS...
{
	echo 1000 > "$scratch/used"
	for program in good fails hangs; do : > "$scratch/out/$1.$program.go"; done
	env LD_LIBRARY_PATH="$scratch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" NVML_USED="$scratch/used" CUDA_VISIBLE_DEVICES=0 \
		"$python" "$scratch/frameworks/torch_modes.py" "$scratch/out" "$@" > "$scratch/said" 2>&1
}

reported() # FILE - the keys and numbers, in one line
{
	grep -E '^[a-z_]+ [0-9]+$|^status ' "$scratch/out/$1.err" | grep -v '^pid' | tr '\n' ' '
}

modes own 60 --some -- good 7 fails 1
same "modes: a program fails: exit status" 1 $?
same "modes: output" "options --steps 7 --some" "$(cat "$scratch/out/own.good.out")"
same "modes: a program's numbers" "requested_peak_bytes 10 requested_bytes 30 requests 3 live_bytes 0 reserved_bytes 64 \
device_peak_bytes 4000 device_end_bytes 2000 status 0 " "$(reported own.good)"
same "modes: time" "ms_per_round 1.5" "$(grep ms_per "$scratch/out/own.good.err")"
same "modes: a program that fails" "RuntimeError: out of luck status 1" \
	"$(grep -E '^RuntimeError|^status' "$scratch/out/own.fails.err" | tr '\n' ' ' | sed 's/ $//')"
modes own 1 -- hangs 1
same "modes: a program that hangs" "status no end after 1 s " "$(reported own.hangs | grep -o 'status.*')"
PYTORCH_NO_CUDA_MEMORY_CACHING=1
export PYTORCH_NO_CUDA_MEMORY_CACHING
modes run 60 -- good 2
same "modes: without a cache PyTorch counts nothing" "0 device_peak_bytes 4000 device_end_bytes 2000 status 0 " \
	"$? $(reported run.good)"
finish
