# SPDX-License-Identifier: Apache-2.0
#
# frameworks.awk - frameworks-<gpu>.csv as a table of PyTorch programs, for README.md: one line per allocator, and per
# program the time of a step relative to PyTorch's own allocator, and the memory of the device relative to what the
# program requested. "-": not measured, or with another output than PyTorch's own allocator.
#
#   usage: awk -F, -f frameworks.awk FILE
BEGIN {
	programs = split("gpt2 gnn resnet streams", program, " ")
	split("GPT-2|graph network|ResNet-50|four streams", title, "|")
	modes = split("own expandable plug extension plug-footprint run-vmm-strict run-vmm-deferred run-cudamalloc-strict " \
		"run-cudamalloc-deferred", mode, " ")
	split("PyTorch|expandable segments|`mam.torch.enable()`|the same, `extension=True`|the same, `MAM_FOOTPRINT=2`|" \
		"`mam run --source=vmm`|`mam run --source=vmm --free=deferred`|`mam run`|`mam run --free=deferred`", label, "|")
}
/^#/ || $1 == "program" { next }
{
	seen[$2] = 1
	if ($6 == "yes" && $3 + 0 > 0 && $4 + 0 > 0)
		value[$1, $2] = sprintf("%.2f, %.3f", $3, $4)
}
END {
	printf "| a step's time, memory |"
	for (i = 1; i <= programs; i++)
		printf " %s |", title[i]
	printf "\n| --- |"
	for (i = 1; i <= programs; i++)
		printf " --- |"
	print ""
	for (j = 1; j <= modes; j++) {
		if (!(mode[j] in seen))
			continue
		printf "| %s |", label[j]
		for (i = 1; i <= programs; i++)
			printf " %s |", (program[i], mode[j]) in value ? value[program[i], mode[j]] : "-"
		print ""
	}
}
