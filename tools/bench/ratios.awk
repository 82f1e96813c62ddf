# SPDX-License-Identifier: Apache-2.0
#
# ratios.awk - the rows of a results file of mam bench host as a table with ratios first: mam over the best of its
# peers on device memory, one line per case. Less than 1 means that mam is faster, or holds less; for rates (M/s) the
# ratio is inverted. The last column is the best allocator of host memory, which is the lower bound: it does not
# handle streams. gpu-host.sh prints it.
#
#   usage: awk -F, -f ratios.awk FILE
#
# mam has two columns, by the source of its memory. Each is the pool with thread caches (-cache), which is a program's
# default; without them if that one was not run.
BEGIN {
	source_count = split("mam-cudamalloc mam-vmm", source, " ")
	peer_count = split("cudaMalloc cudaMallocAsync cudaMallocAsync-warm cudaMallocAsync-primed rmm-pool rmm-pool-grow " \
		"rmm-arena rmm-binning torch torch-expandable torch-async cupy", peer, " ")
	floor_count = split("glibc jemalloc mimalloc", floor, " ")
}

# A parameter with a comma is in quotes, and is split here.
/^#/ { next }
{
	parameter = $3
	for (i = 4; i < NF - 1; i++)
		parameter = parameter "," $i
	gsub(/"/, "", parameter)
	value[$1, $2, parameter, $(NF - 1)] = $NF
}

# The best of `names` in this row: its number in best, its name in best_name. Returns false if none has one.
function find_best(names, count, workload, parameter, metric,  n, key, rate) {
	best = ""
	rate = metric == "mops"
	for (n = 1; n <= count; n++) {
		key = workload SUBSEP names[n] SUBSEP parameter SUBSEP metric
		if (!(key in value))
			continue
		if (best == "" || (rate ? value[key] + 0 > best : value[key] + 0 < best)) {
			best = value[key] + 0
			best_name = names[n]
		}
	}
	return best != ""
}

function show(number, metric) {
	if (number == "-")
		return "-"
	if (metric == "mops")
		return sprintf("%.4g M/s", number)
	if (metric ~ /_ratio$/)
		return sprintf("%.4f x", number)
	return number < 9999.5 ? sprintf("%.4g ns", number) : sprintf("%.4g us", number / 1000)
}

# The ratio of a source's pool to `other`, and the pool's number in mine: "-" if there is none.
function ratio_of(which, other, workload, parameter, metric,  cached, alone, ratio) {
	cached = workload SUBSEP source[which] "-cache" SUBSEP parameter SUBSEP metric
	alone = workload SUBSEP source[which] SUBSEP parameter SUBSEP metric
	mine = "-"
	if (!(cached in value) && !(alone in value))
		return "-"
	mine = (cached in value ? value[cached] : value[alone]) + 0
	if (other == "-")
		return "-"
	ratio = metric == "mops" ? other / (mine > 0 ? mine : 1e-9) : mine / (other > 0 ? other : 1e-9)
	count[which]++
	better[which] += ratio < 1
	logs[which] += log(ratio > 1e-6 ? ratio : 1e-6)
	return sprintf("%.3f", ratio)
}

function line(what, workload, parameter, metric,  n, other, name, mine_text) {
	other = "-"
	name = "not measured"
	if (find_best(peer, peer_count, workload, parameter, metric)) {
		other = best
		name = best_name
	}
	for (n = 1; n <= source_count; n++) {
		ratio_text[n] = ratio_of(n, other, workload, parameter, metric)
		mine_text[n] = show(mine, metric)
	}
	if (metric ~ /_ratio$/ || !find_best(floor, floor_count, workload, parameter, metric)) {
		best = "-"
		best_name = ""
	}
	printf form, ratio_text[1], ratio_text[2], what, mine_text[1], mine_text[2], show(other, metric), name,
		show(best, metric), best_name
}

function lines(what, workload, parameters, metrics,  p, m, list, metric_list) {
	n_parameters = split(parameters, list, " ")
	n_metrics = split(metrics, metric_list, " ")
	for (p = 1; p <= n_parameters; p++) {
		for (m = 1; m <= n_metrics; m++)
			line(what " " list[p] " " metric_list[m], workload, list[p], metric_list[m])
	}
}

END {
	form = "%10s %7s  %-43s %11s %11s  %11s %-22s %11s %s\n"
	printf form, "cudamalloc", "vmm", "what", "cudamalloc", "vmm", "best peer", "", "floor", ""
	lines("H1", "size", "256B 64KiB 1MiB 16MiB 256MiB 1GiB", "alloc_ns free_ns")
	lines("H1 pair", "pair", "256B 1MiB 16MiB 1GiB", "pair_ns")
	lines("H1 sync after free", "size", "256B 64KiB 1MiB 16MiB 256MiB 1GiB", "sync_ns")
	lines("H2 live", "live", "10 100 1000 10000 100000 1000000", "alloc_ns free_ns")
	lines("H2b live + fragmented", "fragmented", "10,1B 100,1B 1000,1B 10000,1B 100000,1B", "alloc_ns free_ns")
	lines("H3 random", "random", "1000,1MiB 1000,4MiB 1000,64MiB 1000,1GiB 1000,4GiB 10000,4MiB 100000,1MiB 100000,4MiB " \
		"100000,64MiB", "op_ns")
	lines("H4 threads", "threads", "1 2 4 8 16 1,4MiB 16,4MiB", "mops")
	lines("H4 threads, foreign frees", "foreign", "1 2 4 8 16 1,4MiB 16,4MiB", "mops")
	lines("H4 threads, own streams", "ownstream", "1 2 4 8 16 1,4MiB 16,4MiB", "mops")
	lines("H4 threads, handed over to other streams", "handover", "2 4 8 16 16,4MiB", "mops")
	lines("H5 training", "training", "growing", "cold_alloc_mean_ns cold_free_mean_ns alloc_ns free_ns alloc_p99_ns " \
		"alloc_mean_ns physical_ratio")
	lines("H5 smallest chunk", "smallest", "training", "chunk_ratio")
	lines("H6 kernel in flight", "stream", "same,4KiB same,2MiB same,64MiB other,4KiB other,64MiB", "alloc_ns free_ns")
	print ""
	for (n = 1; n <= source_count; n++) {
		mean = count[n] > 0 ? sprintf("%.3f", exp(logs[n] / count[n])) : "-"
		printf "%s: ahead of the best peer in %d of %d lines; geometric mean of the ratios %s\n", source[n],
			better[n], count[n], mean
	}
}
