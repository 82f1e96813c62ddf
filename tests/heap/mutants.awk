# SPDX-License-Identifier: Apache-2.0
#
# mutants.awk - the report of mutate.sh: its table, the list of mutants, and the result of each.
#
# Usage: awk [-v part=yes] [-v rounds=1] -v seeds=N -f mutants.awk TABLE LIST RESULTS
#
# Prints the totals, then the survivors with their explanations, then the killed mutants. The exit
# status is 1 if a survivor is not explained, a mutant is broken or was not run, or (without `part`)
# an explanation explains no survivor.

# Converts a pattern with * to a regular expression.
function as_regex(glob,    out, i, c)
{
	out = "^"
	for (i = 1; i <= length(glob); i++) {
		c = substr(glob, i, 1)
		out = out (c == "*" ? ".*" : c ~ /[a-zA-Z0-9_:]/ ? c : "[" c "]")
	}
	gsub(/\[\^\]/, "\\^", out)
	return out "$"
}

FILENAME ~ /\.tab$/ {
	if ($1 == "explained") {
		glob[++globs] = $2
		regex[globs] = as_regex($2)
	} else if (globs && /^  /) {
		why[globs] = why[globs] " " substr($0, 3)
	} else if ($1 == "edit") {
		edit_what[$2 ":edit:" $3 ":"] = substr($0, length("edit " $2 " " $3 " ") + 1)
	}
	next
}

{
	split($0, field, "\t")
}

# The list comes before the results.
FNR == 1 && !listing {
	listing = FILENAME
}

FILENAME == listing {
	order[++mutants] = field[1]
	line[field[1]] = field[2]
	text[field[1]] = field[3]
	next
}

{
	state[field[1]] = field[2]
	program[field[1]] = field[3]
	test[field[1]] = field[4]
	what[field[1]] = field[5]
	runs[field[1]] = field[6]
}

function explain(name,    i)
{
	for (i = 1; i <= globs; i++) {
		if (name ~ regex[i]) {
			used[i]++
			return i
		}
	}
	return 0
}

function kind_of(name,    part_)
{
	split(name, part_, ":")
	return part_[2] == "edit" ? "edit" : part_[3]
}

END {
	for (i = 1; i <= mutants; i++) {
		name = order[i]
		kind = kind_of(name)
		kinds_seen[kind]++
		if (state[name] == "killed") {
			killed++
			kind_killed[kind]++
			ways[what[name]]++
			hooks = program[name] ~ /_race$/
			by_hooks += hooks
			if (runs[name] + 0 > worst)
				worst = runs[name] + 0
		} else if (state[name] == "survived") {
			at = explain(name)
			survivors++
			survivor[survivors] = name
			reason[survivors] = at
			if (!at)
				unexplained++
			else
				kind_explained[kind]++
		} else {
			broken++
			lost[broken] = name ": " (state[name] == "" ? "not run" : what[name] " " program[name])
		}
	}
	printf "%d mutants: %d killed (%d of them by programs with access hooks), %d survived, %d of these explained\n",
		mutants, killed, by_hooks, survivors, survivors - unexplained
	printf "With %d seeds per case and policy%s.\n", seeds,
		(rounds == 1 ? "" : ", and survivors with the number that the tests specify")
	printf "Found as:"
	for (w in ways)
		printf " %s %d;", w, ways[w]
	printf " the last one after %d interleavings of a case\n\n", worst
	printf "%-10s %8s %8s %10s\n", "kind", "mutants", "killed", "explained"
	split("order scope mask once bound if operand edge one not bits half drop number sign edit", kinds, " ")
	for (i = 1; i in kinds; i++)
		if (kinds_seen[kinds[i]])
			printf "%-10s %8d %8d %10d\n", kinds[i], kinds_seen[kinds[i]], kind_killed[kinds[i]],
				kind_explained[kinds[i]]
	print "\nSurvivors\n"
	for (i = 1; i <= survivors; i++) {
		name = survivor[i]
		printf "%s (line %d: %s)\n   %s\n", name, line[name], text[name],
			reason[i] ? why[reason[i]] : "NOT EXPLAINED"
	}
	if (!survivors)
		print "none"
	print "\nKilled: their numbers by kind and function, the program, the failure, and the maximum number of"
	print "interleavings of a case before it\n"
	for (i = 1; i <= mutants; i++) {
		name = order[i]
		if (state[name] != "killed")
			continue
		split(name, word, ":")
		key = word[1] ":" word[2] ":" (word[2] == "edit" ? "" : word[3]) "\t" program[name] ": " what[name]
		if (!(key in which))
			keys[++key_count] = key
		which[key] = which[key] " " (word[2] == "edit" ? word[3] : word[4])
		if (runs[name] + 0 > most[key])
			most[key] = runs[name] + 0
	}
	for (i = 1; i <= key_count; i++) {
		split(keys[i], field, "\t")
		printf "%s%s - %s%s\n", field[1], which[keys[i]], field[2],
			(most[keys[i]] ? ", " most[keys[i]] : "")
	}
	for (i = 1; i <= broken; i++)
		print "BROKEN " lost[i]
	if (!part) {
		for (i = 1; i <= globs; i++) {
			if (!used[i]) {
				print "STALE explanation of " glob[i] ": no such mutant survived"
				stale++
			}
		}
	}
	exit unexplained + broken + stale > 0
}
