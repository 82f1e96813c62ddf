# SPDX-License-Identifier: Apache-2.0
#
# targets.awk - the rows of a results file of mam bench host as a table: the promises, with the measurement, met or
# missed. gpu-host.sh prints it.
#
#   usage: awk -F, -f targets.awk FILE
#
# A parameter with a comma is in quotes, and is split here.
/^#/ { next }
{ peer = $2; metric = $(NF - 1); parameter = $3
  for (i = 4; i < NF - 1; i++) parameter = parameter "," $i
  gsub(/"/, "", parameter)
  key = $1 SUBSEP peer SUBSEP parameter SUBSEP metric
  value[key] = $NF
  if ($1 == "random" && metric == "op_ns" && $NF > worst[peer]) worst[peer] = $NF
  if ($1 == "replay" && metric == "physical_ratio") { traces[parameter] = 1 } }
function get(workload, peer, parameter, metric,  key) {
	key = workload SUBSEP peer SUBSEP parameter SUBSEP metric
	return key in value ? value[key] : "-" }
function line(what, target, bound, number, least, unit) {
	printf "%-58s %-14s %10s %-5s %s\n", what, target, number == "-" ? "-" : sprintf("%.4g", number),
		unit, number == "-" ? "not measured" : (least ? number >= bound : number <= bound) ? "met" : "MISSED" }
function seen(peer) { return peer in worst ? worst[peer] : "-" }
END { printf "%-58s %-14s %10s\n", "what", "target", "measured"
  n = split("mam-host-cache mam-cudamalloc-cache mam-vmm-cache", pools, " ")
  for (i = 1; i <= n; i++) { p = pools[i]
	line("pair of 256 B, " p, "<= 25 ns", 25, get("pair", p, "256B", "pair_ns"), 0, "ns")
	line("16 threads, own frees, " p, ">= 80 M/s", 80, get("threads", p, "16", "mops"), 1, "M/s")
	line("16 threads, foreign frees, " p, ">= 20 M/s", 20, get("foreign", p, "16", "mops"), 1, "M/s")
	line("random_allocations, worst point, " p, "<= 120 ns", 120, seen(p), 0, "ns") }
  line("training, an event, mam-host-cache", "<= 60 ns", 60,
	get("training", "mam-host-cache", "growing", "event_ns"), 0, "ns")
  line("training, reserved over live, mam-host-cache, chunk", "<= 1.01", 1.01,
	get("training", "mam-host-cache", "chunk", "reserved_ratio"), 0, "")
  line("training, physical over live, mam-vmm-cache", "<= 1.01", 1.01,
	get("training", "mam-vmm-cache", "growing", "physical_ratio"), 0, "")
  for (i = 2; i <= n; i++) { p = pools[i]
	line("free, kernel in flight, same stream, " p, "<= 100 ns", 100,
		get("stream", p, "same,4KiB", "free_ns"), 0, "ns")
	line("free, kernel in flight, leaves its stream, " p, "<= 400 ns", 400,
		get("stream", p, "other,4KiB", "free_ns"), 0, "ns")
	line("kept after all is freed and trimmed, " p, "<= 4 MiB", 4,
		(k = get("footprint", p, "trimmed", "kept_bytes")) == "-" ? k : k / 1048576, 0, "MiB") }
  for (t in traces) { real = get("replay", "mam-vmm", t, "physical_ratio")
	made = get("replay", "mam-vmm-simulated", t, "physical_ratio")
	line("replay " t ", physical over live", "<= 1.02", 1.02, real, 0, "")
	line("replay " t ", simulated over real", "within 1%", 0.01,
		real == "-" || made == "-" ? "-" : made > real ? made / real - 1 : real / made - 1, 0, "") }
}
