#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu_scripts.sh - the scripts that measure on a GPU, tested without one: nvidia-smi and nvcc are
# stubs, and programs built by the nvcc stub are linked to the fake driver and runtime. The stub
# cannot build kernels, so clients with kernels are rows that report this.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

case $MAM_SRCDIR in
/*) top=$MAM_SRCDIR ;;
*) top=$(pwd)/$MAM_SRCDIR ;;
esac
bench=$top/tools/bench
tools=$scratch/cuda/bin
mkdir -p "$tools" "$scratch/cuda/lib64/stubs" "$scratch/out" || exit 99
ln -s "$fakes/libcuda.so.1" "$scratch/cuda/lib64/stubs/libcuda.so"

cat > "$tools/nvidia-smi" << 'end'
#!/bin/sh
case $* in
*name*) echo 'NVIDIA Stand-In 1GB' ;;
*) echo 9.0 ;;
esac
end

cat > "$tools/nvcc" << 'end'
#!/bin/sh
# Calls the C compiler for a program in C, without the options that only nvcc has.
words=
runtime=$FAKES/libcudart.so.13
while [ $# -gt 0 ]; do
	case $1 in
	--version) echo 'release 13.0, V13.0'; exit 0 ;;
	*.cu) echo "nvcc: error: $1 has kernels, and there is no GPU"; exit 1 ;;
	-arch=*) ;;
	-cudart | -Xcompiler) shift ;;
	*) words="$words $1" ;;
	esac
	shift
done
exec $CC -w -D_GNU_SOURCE $words -pthread "$runtime"
end
chmod +x "$tools/nvidia-smi" "$tools/nvcc"
FAKES=$fakes PATH=$tools:$PATH NVCC=$tools/nvcc BENCH_COMMIT=0123abc QUICK=1 REPEATS=1
FAKE_CUDA_MEMORY=1500M # more than the largest pair
export FAKES PATH NVCC BENCH_COMMIT QUICK REPEATS FAKE_CUDA_MEMORY
csv=$scratch/out/clients-stand-in.csv

clients_of() # NAMES - runs them and leaves the table in $scratch/table
{
	CLIENTS=$1 sh "$bench/gpu-clients.sh" "$MAM" "$scratch/out" > "$scratch/table" 2> "$scratch/err"
}

line_of() # CLIENT FIELD - a field of its line in the table
{
	awk -v client="$1" -v field="$2" '/^written/ { exit } table && $1 == client { print $field }
		/^client / { table = 1 }' "$scratch/table"
}

clients_of 'client-shared client-driver ipc-shared ipc-peer two-contexts alloc_loop-driver demo-static no-such'
same 'clients: a client that cannot be built fails the run' 1 $?
same 'clients: eight header lines' 8 "$(grep -c '^# [a-z]*: ' "$csv")"
same 'clients: the columns' client,mode,unit,time,calls_caught,equal,route,reserved_ratio "$(sed -n 9p "$csv")"
same 'clients: the commit is the given one' '# commit: 0123abc' "$(grep '^# commit' "$csv")"
for policy in strict deferred stream; do
	same "clients: the shared runtime under $policy" 'yes runtime' \
		"$(awk -F, -v mode="$policy" '$1 == "client-shared" && $2 == mode { print $6, $7 }' "$csv")"
	same "clients: the driver under $policy" 'yes driver' \
		"$(awk -F, -v mode="$policy" '$1 == "client-driver" && $2 == mode { print $6, $7 }' "$csv")"
	same "clients: a peer without mam under $policy" 'documented' \
		"$(awk -F, -v mode="$policy" '$1 == "ipc-peer-plain" && $2 == mode { print $6 }' "$csv")"
done
same 'clients: a table line is correct' yes "$(line_of two-contexts 3)"
same 'clients: a table line has its calls' yes "$([ "$(line_of two-contexts 4)" -gt 1000 ] && echo yes)"
same 'clients: pairs of six sizes, in four modes each' 24 "$(grep -c '^alloc_loop-driver-' "$csv")"
same 'clients: a client that was not built has a row' 1 \
	"$(grep -c '^demo-static,-,-,-,-,skipped: .*could not be built.* has kernels' "$csv")"
same 'clients: a client that was not built has a table line' skipped "$(line_of demo-static 3)"

# A second run of some clients keeps the rows of the others.
cp "$csv" "$scratch/before.csv"
KEEP=$scratch/before.csv clients_of client-shared-check
same 'clients: old rows are kept, new rows added' '0 4 4' \
	"$? $(grep -c '^client-driver,' "$csv") $(grep -c '^client-shared-check,' "$csv")"
sed 's/^# commit: .*/# commit: another/' "$scratch/before.csv" > "$scratch/other.csv"
KEEP=$scratch/other.csv clients_of client-shared-check
same 'clients: rows of another commit are not kept' '2 gpu-clients:' "$? $(cut -d ' ' -f 1 "$scratch/err" | tail -n 1)"

BUDGET=0 clients_of client-driver
same 'clients: rows without time left are marked' 'skipped: no time was left of 0 s' \
	"$(sed -n 's/^client-driver,.*\(skipped[^,]*\),.*/\1/p' "$csv")"

# A client whose output differs under mam, one that fails only there, and one that always fails.
cat > "$scratch/python" << 'end'
#!/bin/sh
case $LD_PRELOAD in
*mam*) echo more ;;
esac
echo plain
end
chmod +x "$scratch/python"
PYTHON=$scratch/python clients_of client-python
same 'clients: different output is detected' '1 no' "$? $(awk -F, '$2 == "strict" { print $6 }' "$csv")"
sed -i 's/echo more/exit 3/' "$scratch/python"
PYTHON=$scratch/python clients_of client-python
same 'clients: a failure under mam fails the run' '1 failed: status 3:' \
	"$? $(awk -F, '$2 == "strict" { print $6 }' "$csv" | cut -c 1-17)"
cat > "$scratch/python" << 'end'
#!/bin/sh
[ "$1" = -c ] && exit 0
echo no GPU >&2
exit 4
end
PYTHON=$scratch/python clients_of client-python
same 'clients: a client that fails without mam is skipped' \
	'0 client-python,-,-,-,-,skipped: it fails without mam too: status 4: no GPU' \
	"$? $(grep ^client-python "$csv" | sed 's/ *,-,-$//')"

for script in gpu-clients.sh gpu-coalesce.sh gpu-collective.sh gpu-examples.sh gpu-growth.sh gpu-objects.sh gpu-sleep.sh gpu-stress.sh; do
	sh "$bench/$script" "$scratch/none" "$scratch/out" > /dev/null 2> "$scratch/err"
	same "$script: missing command" 2 $?
	sh "$bench/$script" "$MAM" "$scratch/none" > /dev/null 2> "$scratch/err"
	same "$script: missing folder" 2 $?
	printf '#!/bin/sh\nexit 1\n' > "$scratch/nvidia-smi"
	chmod +x "$scratch/nvidia-smi"
	PATH=$scratch:$PATH sh "$bench/$script" "$MAM" "$scratch/out" > /dev/null 2> "$scratch/err"
	same "$script: no GPU" '77 nvidia-smi names no GPU' "$? $(sed "s/^[a-z-]*: //" "$scratch/err")"
done
# The default folder is results/<gpu> next to the script.
cp "$bench/gpu-lib.sh" "$scratch/gpu-lib.sh"
# shellcheck disable=SC2016 # the inner shell expands them
OUT='' here=$scratch script=any sh -c '. "$here/gpu-lib.sh"; gpu_start "$1"; echo "$folder"' any "$MAM" > "$scratch/default" 2>&1
same 'gpu-lib.sh: the default folder' "$scratch/results/stand-in" "$(cat "$scratch/default")"
try 'gpu-lib.sh: the default folder is created' test -d "$scratch/results/stand-in"
SECONDS_EACH=soon sh "$bench/gpu-stress.sh" "$MAM" "$scratch/out" > /dev/null 2> "$scratch/err"
same 'gpu-stress.sh: invalid number of seconds' 2 $?
SECONDS_EACH=soon sh "$bench/gpu-objects.sh" "$MAM" "$scratch/out" > /dev/null 2> "$scratch/err"
same "gpu-objects.sh: invalid number of seconds" 2 $?
SECONDS_EACH=soon sh "$bench/gpu-growth.sh" "$MAM" "$scratch/out" > /dev/null 2> "$scratch/err"
same "gpu-growth.sh: invalid number of seconds" 2 $?
PARTS='reach none' sh "$bench/gpu-growth.sh" "$MAM" "$scratch/out" > /dev/null 2> "$scratch/err"
same "gpu-growth.sh: unknown part" "2 gpu-growth: there is no part 'none'" "$? $(cut -d ';' -f 1 "$scratch/err")"
PARTS='forms none' sh "$bench/gpu-coalesce.sh" "$MAM" "$scratch/out" > /dev/null 2> "$scratch/err"
same "gpu-coalesce.sh: unknown part" "2 gpu-coalesce: there is no part 'none'" "$? $(cut -d ';' -f 1 "$scratch/err")"
PARTS='edges none' sh "$bench/gpu-examples.sh" "$MAM" "$scratch/out" > /dev/null 2> "$scratch/err"
same "gpu-examples.sh: unknown part" "2 gpu-examples: there is no part 'none'" "$? $(cut -d ';' -f 1 "$scratch/err")"
PARTS='file none' sh "$bench/gpu-sleep.sh" "$MAM" "$scratch/out" > /dev/null 2> "$scratch/err"
same "gpu-sleep.sh: unknown part" "2 gpu-sleep: there is no part 'none'" "$? $(cut -d ';' -f 1 "$scratch/err")"
for script in gpu-coalesce gpu-collective gpu-examples gpu-growth gpu-objects gpu-sleep; do
	MAM_PREFIX=$scratch/none sh "$bench/$script.sh" "$MAM" "$scratch/out" > /dev/null 2> "$scratch/err"
	same "$script.sh: missing library" "2 $script: there is no libmam below $scratch/none" \
		"$? $(cut -d : -f 1,2 "$scratch/err")"
done

# Programs in Python at least parse.
python=$(command -v python3)
if [ -n "$python" ]; then
	for file in "$bench"/frameworks/*.py "$bench"/host/*.py "$top/tests/clients/client_python.py"; do
		try "$(basename "$file") can be read" "$python" -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$file"
	done
else
	skip 'programs in Python' 'there is no python3'
fi

# The real compiler, if present, compiles programs with kernels: two of them, or all at full length.
nvcc=$(PATH=${PATH#*:} command -v nvcc)
compiled=0
for file in "$top"/tests/clients/kernels/*.cu "$bench"/clients/gpu-s*.cu; do
	if [ "$HAVE_CUDA" != yes ] || [ -z "$nvcc" ]; then
		skip "$(basename "$file") compiles" 'mam was built without the CUDA toolkit'
		continue
	fi
	compiled=$((compiled + 1))
	[ "${TEST_SHARE:-1}" -eq 1 ] || [ "$compiled" -le 2 ] || continue
	define=
	case $file in
	*/library_loop.cu)
		[ -f "$(dirname "$nvcc")/../include/cublas_v2.h" ] || continue
		define=-DLIBRARY_LOOP_CUBLAS
		;;
	esac
	try "$(basename "$file") compiles" "$nvcc" -arch=sm_90 -I"$top/include" -I"$top/src" $define -ptx -o "$scratch/ptx" "$file"
done

finish
