#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# layering.sh - which files may include which headers.
#
# 1. The order of the layers is the order of Makefile.am's include lines; it is stated only there.
# 2. A file of src/X includes headers of its own folder, of folders earlier in that order, and
#    <mam/...>.
# 3. interpose, tools, examples and tests/clients are users like any other: they include <mam/...>
#    and headers of their own folder. Clients also include tests/fake, whose prototypes replace
#    those of CUDA on machines without a toolkit.
# 4. The same holds between the folders inside interpose and heap: their order is that of the
#    include lines of the Makefile.inc there. Files directly in interpose, which connect the
#    folders, are above all of them.
# 5. Headers of the CUDA toolkit appear only in files that are built with a toolkit, and those of
#    NVTX in the one file that is also built without it.
# 6. Device code is in headers: those of src/device, src/heap, src/coalesce, src/kma and src/ds may
#    be included by the public .cuh that is installed with them, and by tools/bench, which measures
#    them. tools/bench may include examples, too.
# 7. No folder has more than 40 files of its own.
#
# Then each rule is broken on purpose in a copy of the tree, where the violation must be reported.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

# Prints "FILE:LINE: reason" for each include that breaks a rule.
violations() # ROOT
{
	order=$(sed -n 's|^include src/\([a-z]*\)/Makefile\.inc.*|\1|p' "$1/Makefile.am" | tr '\n' ' ')
	inner=$(sed -n 's|^include src/\([a-z]*/[a-z]*\)/Makefile\.inc.*|\1|p' "$1/src/heap/Makefile.inc" \
		"$1/src/interpose/Makefile.inc" | tr '\n' ' ')
	(cd "$1" && find src include tools tests/clients examples -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \
		-o -name '*.cl') |
		LC_ALL=C sort > "$scratch/files"
	# shellcheck disable=SC2016 # the dollars are awk's
	(cd "$1" && xargs awk -v order="$order" -v inner="$inner" '
	BEGIN {
		layers = split(order, layer, " ")
		for (i = 1; i <= layers; i++)
			rank[layer[i]] = i
		parts = split(inner, layer, " ")
		for (i = 1; i <= parts; i++)
			inner_rank[layer[i]] = i
	}
	# "interpose/watch" for a path in it; "" for a path in interpose itself.
	function inner_folder(path, name)
	{
		sub(/^src\//, "", path)
		return split(path, name, "/") > 2 ? name[1] "/" name[2] : ""
	}
	function rank_inside(path, part)
	{
		part = inner_folder(path)
		return part == "" ? parts + 1 : inner_rank[part]
	}
	function report(why)
	{
		printf "%s:%d: %s\n", FILENAME, FNR, why
	}
	function is_cuda(name)
	{
		return name ~ /^(cuda|cudart|cublas|cudnn|curand|cufft|nvml|nvrtc|nvtx|nccl)[A-Za-z0-9_]*\.h$/ ||
			name ~ /^(driver_types|vector_types|device_types|builtin_types|host_defines|cooperative_groups)\.h$/ ||
			name ~ /^(cuda|cub|nv|thrust|cooperative_groups|nvtx3|crt)\//
	}
	function may_see_cuda(file)
	{
		return file == "include/mam/cuda.h" || file == "src/interpose/watch/nvtx.c" || file ~ /\.(cu|cuh)$/ ||
			file ~ /^tests\// || file ~ /^tools\/coalesce\/headers\//
	}
	/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
		quoted = $0 ~ /include[ \t]*"/
		name = $0
		sub(/^[^<"]*[<"]/, "", name)
		sub(/[>"].*$/, "", name)
		split(FILENAME, part, "/")
		top = part[1]
		home = part[2]
		slash = index(name, "/")
		folder = slash ? substr(name, 1, slash - 1) : ""

		if (top == "tests" && name ~ /^(\.\.\/)?fake\//)
			next
		if (name ~ /(^|\/)\.\.(\/|$)/) {
			report("\"" name "\" leaves its folder by ..")
			next
		}
		if (is_cuda(name)) {
			if (!may_see_cuda(FILENAME))
				report("<" name "> belongs to the CUDA toolkit")
			next
		}
		if (folder == "mam")
			next
		if (folder ~ /^(device|heap|coalesce|kma|ds)$/ && FILENAME ~ /^(include\/mam\/.*\.cuh|tools\/bench\/.*)$/)
			next
		if (folder == "examples" && FILENAME ~ /^tools\/bench\//)
			next
		if (top == "src" && !(home in rank)) {
			report("src/" home " has no include line in Makefile.am")
			next
		}
		if (top == "tools" && home == "coalesce" && folder == "coalesce") # compiled without -I src
			next
		if (folder in rank) {
			if (top == "src" && home == folder) {
				if (home != "interpose" && home != "heap")
					next
				if (!rank_inside(FILENAME) || !rank_inside(name))
					report("\"" name "\": a folder has no include line in src/" home "/Makefile.inc")
				else if (rank_inside(name) > rank_inside(FILENAME))
					report("\"" name "\" is in a higher layer, from " inner_folder(FILENAME) " to " inner_folder(name))
				next
			}
			if (top != "src" || home == "interpose")
				report("\"" name "\" is internal to libmam; only <mam/...> may be included here")
			else if (folder == "interpose" || rank[folder] > rank[home])
				report("\"" name "\" is in a higher layer, from " home " to " folder)
			next
		}
		if (top == "tools" && folder ~ /^(kit|page|ctl|share|read|write|replay|map|compare|run|top|info|exporter|flame|symbols|profile|bench|coalesce)$/)
			next
		if (quoted && folder != "" && folder != "tools" && folder != "clients" &&
		    folder != "tests")
			report("\"" name "\" is in no known folder")
	}') < "$scratch/files" > "$scratch/found"
	cat "$scratch/found"
}

# A copy of the tree, to which lines are added.
mkdir -p "$scratch/copy/tests"
cp -R "$MAM_SRCDIR/src" "$MAM_SRCDIR/include" "$MAM_SRCDIR/tools" "$MAM_SRCDIR/examples" "$scratch/copy"
cp -R "$MAM_SRCDIR/tests/clients" "$scratch/copy/tests"
cp "$MAM_SRCDIR/Makefile.am" "$scratch/copy"
chmod -R u+w "$scratch/copy"

reported() # FILE LINE - the violations in FILE, in $scratch/why, if LINE is at its end; FILE stays as it was
{
	mkdir -p "$scratch/copy/$(dirname "$1")"
	rm -f "$scratch/was"
	[ ! -e "$scratch/copy/$1" ] || cp "$scratch/copy/$1" "$scratch/was"
	echo "$2" >> "$scratch/copy/$1"
	violations "$scratch/copy" | grep "^$1:" > "$scratch/why"
	rm -f "$scratch/copy/$1"
	[ ! -e "$scratch/was" ] || mv "$scratch/was" "$scratch/copy/$1"
	[ -s "$scratch/why" ]
}

must_report() # NAME FILE LINE - LINE at the end of FILE must be reported
{
	if reported "$2" "$3"; then
		ok "$1"
	else
		not_ok "$1" "'$3' at the end of $2 was not reported"
	fi
}

may_stay() # NAME FILE LINE - the same, and it must not be reported
{
	if reported "$2" "$3"; then
		not_ok "$1" "$(head -n 1 "$scratch/why")"
	else
		ok "$1"
	fi
}

violations "$MAM_SRCDIR" > "$scratch/why"
if [ ! -s "$scratch/why" ] && [ "$(wc -l < "$scratch/files")" -gt 10 ]; then
	ok "$(wc -l < "$scratch/files") files include only lower layers"
else
	not_ok "files include only lower layers" "$(lib_tail "$scratch/why")"
fi
cat "$scratch/why"

# Prints "COUNT FOLDER" for each folder with more than 40 files.
crowded() # < PATHS
{
	awk '{ sub(/\/[^\/]*$/, ""); count[$0]++ } END { for (i in count) if (count[i] > 40) print count[i], i }'
}

sources() # files of the tree, without build outputs
{
	(cd "$MAM_SRCDIR" && find docs examples include m4 src tests tools -type f ! -name '.*' ! -name '*.o' ! -name '*.pyc' \
		! -path '*/.libs/*' ! -path '*/.deps/*')
}

if [ "$MAM_SRCDIR" -ef "$MAM_BUILDDIR" ]; then
	skip "no folder has more than 40 files" "the build is in the source tree"
else
	same "no folder has more than 40 files" "" "$(sources | crowded)"
	same "folder with 41 files is detected" "41 src/planted" \
		"$({ sources; seq -f 'src/planted/%g.c' 41; } | crowded)"
fi

must_report "include of a higher layer is detected" src/base/planted.c '#include "pool/pool.h"'
may_stay "include of a lower layer is permitted" src/pool/planted.c '#include "base/lock.h"'
may_stay "include of a public header is permitted" src/pool/planted.c '#include <mam/mam.h>'
must_report "include of a higher layer in angle brackets is detected" src/source/planted.c \
	'# include <api/registry.h>'
must_report "include by .. is detected" src/pool/planted.c '#include "../base/lock.h"'
must_report "include of interpose is detected" src/api/planted.h \
	'#include "interpose/routes/table.h"'
must_report "interpose including an internal header is detected" src/interpose/watch/planted.c \
	'#include "base/log.h"'
may_stay "folder of interpose may include its own headers" src/interpose/watch/other.c \
	'#include "interpose/watch/watch.h"'
may_stay "folder of interpose may include lower folders" src/interpose/watch/other.c \
	'#include "interpose/routes/table.h"'
may_stay "top-level file of interpose may include all folders" src/interpose/parts.c \
	'#include "interpose/report/report.h"'
must_report "include of a higher folder in interpose is detected" src/interpose/watch/planted.c \
	'#include "interpose/memory/pools.h"'
must_report "include of a top-level header of interpose is detected" \
	src/interpose/report/planted.c '#include "interpose/parts.h"'
must_report "include of a higher folder in the heap is detected" src/heap/pages/planted.h \
	'#include "heap/slab/slab.h"'
may_stay "include of a lower folder in the heap is permitted" src/heap/host/planted.c \
	'#include "heap/pages/layout.h"'
must_report "include of the heap from a lower layer is detected" src/device/planted.h \
	'#include "heap/pages/layout.h"'
must_report "unknown folder in the heap is detected" src/heap/nowhere/planted.h \
	'#include "heap/pages/layout.h"'
must_report "unknown folder in interpose is detected" src/interpose/watch/planted.c \
	'#include "interpose/nowhere/x.h"'
must_report "file in an unknown folder of interpose is detected" src/interpose/nowhere/planted.c \
	'#include "interpose/routes/table.h"'
must_report "tool including an internal header is detected" tools/planted.c '#include "pool/pool.h"'
must_report "unknown folder of tools is detected" tools/planted.c '#include "nowhere/x.h"'
may_stay "tool may include headers of other tool folders" tools/other.c '#include "kit/args.h"'
must_report "client including an internal header is detected" tests/clients/planted.c \
	'#include "api/registry.h"'
must_report "example including an internal header is detected" examples/planted.cl \
	'#include "ds/tree.h"'
may_stay "example may include its own headers" examples/other.cu '#include "edges.h"'
may_stay "example may include public headers" examples/other.cu '#include <mam/ds.cuh>'
must_report "CUDA header in an example's header is detected" examples/planted.h \
	'#include <cuda_runtime.h>'
must_report "CUDA header in the pool is detected" src/pool/planted.c '#include <cuda_runtime_api.h>'
must_report "CUDA header in mam.h is detected" include/mam/mam.h '#include <cuda.h>'
may_stay "CUDA header in a replacement of one is permitted" tools/coalesce/headers/planted.h \
	'#include <cuda_runtime.h>'
may_stay "CUDA header in mam/cuda.h is permitted" include/mam/cuda.h '#include <cuda_runtime_api.h>'
must_report "public host header including the heap is detected" include/mam/heap.h \
	'#include "heap/pages/layout.h"'
may_stay "public kernel header may include the heap" include/mam/heap.cuh \
	'#include "heap/pages/layout.h"'
must_report "public kernel header including another layer is detected" include/mam/heap.cuh \
	'#include "pool/pool.h"'
must_report "unknown folder is detected" src/pool/planted.c '#include "nowhere/x.h"'
finish
