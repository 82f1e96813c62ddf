# SPDX-License-Identifier: Apache-2.0
#
# openmetrics.awk - checks that a file is OpenMetrics text, as far as mam uses the format: gauges and
# counters with integers or decimals. Prints one line per error, and nothing for a valid file.
#
#	usage: LC_ALL=C awk -f openmetrics.awk FILE

function report(what)
{
	print NR ": " what
}

# The length of a valid label value with its quotes at the start of `text`; 0: there is none.
function quoted(text,    i, c)
{
	if (substr(text, 1, 1) != "\"")
		return 0
	for (i = 2; i <= length(text); i++) {
		c = substr(text, i, 1)
		if (c == "\"")
			return i
		if (c == "\\" && index("\\\"n", substr(text, ++i, 1)) == 0)
			return 0
	}
	return 0
}

# The length of "{name="value",...}" at the start of `text`; 0: it is invalid.
function labels(text,    rest, name, bytes, seen)
{
	rest = substr(text, 2)
	for (;;) {
		if (!match(rest, /^[a-zA-Z_][a-zA-Z0-9_]*=/))
			return 0
		name = substr(rest, 1, RLENGTH - 1)
		rest = substr(rest, RLENGTH + 1)
		bytes = quoted(rest)
		if (bytes == 0)
			return 0
		if (index(seen, " " name " "))
			report("label " name " is repeated")
		seen = seen " " name " "
		rest = substr(rest, bytes + 1)
		if (rest ~ /^}/)
			return length(text) - length(rest) + 1
		if (rest !~ /^,/)
			return 0
		rest = substr(rest, 2)
	}
}

function sample(line,    name, bytes, rest)
{
	if (!match(line, /^[a-zA-Z_:][a-zA-Z0-9_:]*/)) {
		report("not a sample")
		return
	}
	name = substr(line, 1, RLENGTH)
	bytes = RLENGTH
	if (name != family (type == "counter" ? "_total" : ""))
		report("sample " name " is not of " family)
	rest = substr(line, bytes + 1)
	if (rest ~ /^{/) {
		bytes += labels(rest)
		if (bytes == length(name)) {
			report("invalid labels")
			return
		}
		rest = substr(line, bytes + 1)
	}
	if (substr(line, 1, bytes) in samples)
		report("sample is repeated")
	samples[substr(line, 1, bytes)] = 1
	if (rest !~ /^ [0-9]+(\.[0-9]+)?$/)
		report("invalid value")
	values++
}

ended { report("text after the end") }
/[\001-\010\013-\037\177\t]/ { report("control character") }
/^# EOF$/ { ended = 1; next }
/^# TYPE [a-z_]+ (gauge|counter)$/ {
	if ($3 in types)
		report("metric " $3 " is repeated")
	if ($3 ~ /_total$/)
		report("the name of a metric ends in _total")
	family = $3
	type = types[$3] = $4
	unit = help = 0
	next
}
/^# UNIT [a-z_]+ [a-z]+$/ {
	if ($3 != family || unit++)
		report("unit of another metric")
	if (substr(family, length(family) - length($4)) != "_" $4)
		report("the name of a metric does not end in its unit")
	next
}
/^# HELP [a-z_]+ .*$/ {
	if ($3 != family || help++)
		report("help of another metric")
	next
}
{ sample($0) }
END {
	if (!ended)
		report("no end")
	if (values == 0)
		report("no sample")
}
