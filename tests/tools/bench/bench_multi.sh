#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_multi.sh - tools/bench/gpu-multi.sh from its call to its file, with stubs for the GPUs, the compiler, mam and
# Python: each number becomes its row with its ratio, failures are reported, and parts can be chosen.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

bench=$MAM_SRCDIR/tools/bench
mkdir -p "$scratch/bin" "$scratch/prefix/bin" "$scratch/prefix/lib" "$scratch/prefix/include/mam" "$scratch/out"
: > "$scratch/prefix/lib/libmam.so"
: > "$scratch/prefix/include/mam/heap.cuh"
cat > "$scratch/bin/nvidia-smi" << 'END'
#!/bin/sh
case $* in *name*) printf 'NVIDIA H200\nNVIDIA H200\n' | head -n "${GPUS:-2}" ;; *compute_cap*) echo 9.0 ;; *) echo 1.2.3 ;; esac
END
cat > "$scratch/bin/nvcc" << 'END'
#!/bin/sh
# "Builds" a script that prints what the program would.
[ "$1" = --version ] && echo "release 13.0," && exit 0
while [ "$1" != -o ]; do shift; done
case $2 in
*/peer_pools) echo "peer_pools.cu has an error" >&2; exit 1 ;;
*/multi | */multi_peers) cat > "$2" << 'WORDS' ;;
#!/bin/sh
case $1 in
pairs) echo "pairs_per_second $((100 * $5))" ;;
peer) printf 'peer_write_gb_per_s %s00\npeer_read_gb_per_s 300\npeer_copy_gb_per_s 300\nwrong_words 0\n' "$([ "$2" = cuda ] && echo 2 || echo 1)" ;;
heap) printf 'local_ns_per_pair 2\nremote_ns_per_pair 8\nwrong_objects 0\nwrong_objects_at_once 3\n'; [ "$2" = vmm ] ;;
esac
WORDS
*/two_devices*) cat > "$2" << 'WORDS' ;;
#!/bin/sh
printf 'round 0: the request took 1.5 ms, the kernel 300 ms\nround 1: the request took 0.5 ms, the kernel 300 ms\n'
WORDS
*/ipc_rate) cat > "$2" << 'WORDS' ;;
#!/bin/sh
printf 'handles_per_minute 20000\ncached_open_ns 900\ncached_close_ns 200\nleaked_bytes 0\nleft_files 0\nwrong 0\n'
WORDS
esac
chmod +x "$2"
END
cat > "$scratch/prefix/bin/mam" << 'END'
#!/bin/sh
case $1 in
run)
	shift
	while [ "$1" != -- ]; do
		case $1 in --stats=* | --trace=*) : > "$(echo "${1#*=}" | sed "s/%r/$RANK/; s/%p/$$/")" ;; esac
		shift
	done
	shift
	"$@"
	;;
replay) printf 'device 0 1\ntrace, device 0: enough\ntrace, device 1: enough\n' ;;
info)
	[ "$2" = --stats ] || printf 'link            NVLink, peer access: 0-1\n                NCCL uses P2P over NVLink\n'
	[ "$2" = --stats ] && shift 2
	case $1 in
	*oom*) printf '%s\n' 'rank device process' '   -  0  1' '   -  1  1' ;;
	*) printf '%s\n' 'rank process' '   0  1' '   1  2' ;;
	esac
	:
	;;
esac
END
cat > "$scratch/bin/python" << 'END'
#!/bin/sh
case $* in
-c*) exit 0 ;;
*torch.distributed.run*--no-python*)
	while [ "$1" != --no-python ]; do shift; done
	shift
	RANK=0 "$@"
	RANK=1 "$@"
	;;
*torch.distributed.run*)
	while [ "$1" != 2 ]; do shift; done
	shift
	RANK=0 "$0" "$@"
	RANK=1 "$0" "$@"
	;;
*torch_ranks.py*)
	folder=$2 mode=$3
	while [ ! -e "$folder/$mode.go" ]; do sleep 0.05; done
	[ "$mode" = plug ] && [ "$RANK" = 1 ] && exit 3
	for part in allreduce ddp fsdp; do
		file=$folder/$mode.$part.$RANK
		case $mode in own) ms=20 peak=1100 ;; expandable) ms=21 peak=1000 ;; *) ms=22 peak=1050 ;; esac
		printf 'ms_per_step %s\ndevice_before 100\ndevice_peak %s\nstatus 0\n' $ms $((peak + RANK)) > "$file.err"
		echo "step 0 loss 1" > "$file.out"
		[ $part.$mode = fsdp.run ] && echo "step 0 loss 2" > "$file.out"
		[ $part = allreduce ] && printf '65536 plain %s\n65536 registered 5\n' "$([ $mode = own ] && echo 4 || echo 3)" > "$file.out"
		[ $part.$mode = allreduce.own ] && echo "65536 ncclmem 6" >> "$file.out"
		[ $part.$mode = allreduce.expandable ] && echo "1048576 registered ncclCommRegister-returns-1" >> "$file.out"
	done
	exit 0
	;;
*torch_ipc.py) echo "sum 1"; echo "ms_per_round 3" >&2 ;;
esac
END
chmod +x "$scratch"/bin/* "$scratch/prefix/bin/mam"

script() # ENVIRONMENT... - writes $scratch/out/multi-h200x2.csv
{
	rm -f "$scratch"/out/*
	env PATH="$scratch/bin:$PATH" PYTHON="$scratch/bin/python" NVCC="$scratch/bin/nvcc" BENCH_COMMIT=abc "$@" "$bench/gpu-multi.sh" \
		"$scratch/prefix/bin/mam" "$scratch/out" > "$scratch/said" 2> "$scratch/err"
}

row() # PART,MODE,PARAMETER,METRIC - the rest of that row
{
	sed -n "s/^$1,//p" "$scratch/out/multi-h200x2.csv"
}

script PARTS='info heap peers oom ranks ipc tensors' MODES='own expandable plug-vmm run plug'
same "a row fails: exit status" 1 $?
same "the file starts with eight header lines" 8 "$(grep -c '^# [a-z]*: ' "$scratch/out/multi-h200x2.csv")"
same "the column names follow" part,mode,parameter,metric,value,ratio,to,result "$(sed -n 9p "$scratch/out/multi-h200x2.csv")"
same "link" 'NVLink; peer access: 0-1,-,-,yes' "$(row info,mam,2,link)"
same "what NCCL uses" 'P2P over NVLink,-,-,yes' "$(row info,mam,2,nccl)"
same "heap on the other device" 8,4.000,local,yes "$(row heap,library-vmm,2,remote_ns_per_pair)"
same "heap that fails" '3,-,-,failed: status 1: ' "$(row heap,library-cudamalloc,2,wrong_objects_at_once)"
same "a program that cannot be built" '-,-,-,failed: peer_pools could not be built: peer_pools.cu has an error' \
	"$(row peers,library-vmm,-,-)"
same "speed compared with cudaMalloc" 100,0.500,cuda,yes "$(row peers,library-vmm,1GiB,peer_write_gb_per_s)"
same "the slowest request" 1.5,-,-,yes "$(row oom,library-vmm,2,request_ms)"
same "replay of each device" 2,-,-,yes "$(row replay,device-all,2,devices)"
same "statistics of each device" 2,-,-,yes "$(row stats,one-process,2,devices)"
same "all-reduce" 3,0.750,own,yes "$(row allreduce,plug-vmm,65536,plain)"
same "memory of NCCL" '6,1.200,own registered,yes' "$(row allreduce,own,65536,ncclmem)"
same "registration fails" '-,-,-,failed: ncclCommRegister-returns-1' "$(row allreduce,expandable,1048576,registered)"
same "time of a step" 22,1.100,own,yes "$(row ddp,plug-vmm,2,ms_per_step)"
same "memory of a rank, of the larger one" 951,1.055,expandable,yes "$(row ddp,plug-vmm,2,device_bytes)"
same "losses differ" '22,1.100,own,no: losses differ' "$(row fsdp,run,2,ms_per_step)"
same "a rank ends early" 1 "$(row ddp,plug,2,ms_per_step | grep -c 'failed: rank 1')"
same "the ranks' statistics" 2,-,-,yes "$(row stats,run,2,ranks)"
same "handles" 20000,1.000,cuda,yes "$(row ipc,run-vmm,0-1,handles_per_minute)"
same "tensors" 3,-,-,yes "$(row tensors,run-vmm,2,ms_per_round)"
same "failures are printed" 1 "$(grep -c '^FAIL: fsdp run 2 ms_per_step 22: no: losses differ' "$scratch/said")"

script PARTS=pairs
same "one part: exit status" 0 $?
same "two processes of four threads, and one of eight" 800,1.000,two_processes,yes "$(row pairs,run-vmm,2x4,one_process_per_s)"
script PARTS=pairs BUDGET=1
same "no time" "-,-,-,skipped: no time was left of 1 s" "$(row pairs,run-vmm,-,-)"

script GPUS=1
same "one GPU: exit status" 77 $?
same "one GPU: message" "gpu-multi: there are fewer than two GPUs" "$(cat "$scratch/err")"
script PARTS=both
same "no such part: exit status" 2 $?
script MODES=both
same "no such mode: message" "gpu-multi: there is no mode 'both'; MODES are some of: own expandable plug-vmm run nocache-vmm extension-vmm\
 run-vmm plug nocache extension" "$(cat "$scratch/err")"
finish
