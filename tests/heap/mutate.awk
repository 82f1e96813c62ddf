# SPDX-License-Identifier: Apache-2.0
#
# mutate.awk - single changes of device code: lists those of a header, or writes the header with one
# of them.
#
# Usage: awk [-v folder=PATH] -f mutate.awk [TABLE] HEADER               lists them
#        awk [-v folder=PATH] -v want=ID -f mutate.awk [TABLE] HEADER    writes the changed header
#
# 1. Read the header as one text; a second copy of it has blanks in place of comments and
#    directives.
# 2. Find the functions: from a line that starts with a word of capitals and names something with
#    parentheses, to the next `}` in the first column.
# 3. In that copy, find each place of a kind inside the functions:
#      order    a weaker order: ACQ_REL to ACQUIRE, RELEASE, RELAXED; ACQUIRE, RELEASE to RELAXED
#      scope    block instead of device or system
#      mask     all lanes instead of those that a collective names
#      once     a loop that runs once: no retry
#      bound    a loop whose condition always holds
#      if       a condition that always holds, or never
#      operand  an operand of && or || without effect
#      edge     < to <=, >= to > and back, == to != and back
#      one      a missing + 1 or - 1
#      not      a missing ~ or !
#      bits     & to |, | to &, << to >>, >> to <<
#      half     64 to 32, 63 to 31, 32 to 16, 31 to 15
#      drop     a missing statement
#    with `also` in the table:
#      number   a number that is one too large, from 2 up, except those of `half`
#      sign     + to -, - to +, * to /, / to *
#    and those of the table itself (edit).
# 4. The name of a mutant is FILE:FUNCTION:KIND:N:WHAT, the N-th of its kind in the function; it
#    stays the same as long as the function does not change.
#
# A line of the list is NAME, LINE and the text at that place, separated by tabs. The exit status
# is 1 if an edit of the table no longer applies, or the requested mutant does not exist.

function blank(text,    out, rest, at, end, piece)
{
	out = ""
	rest = text
	while ((at = index(rest, "/*")) > 0) {
		end = index(substr(rest, at + 2), "*/")
		piece = end ? substr(rest, at, end + 3) : substr(rest, at)
		out = out substr(rest, 1, at - 1)
		gsub(/[^\n]/, " ", piece)
		out = out piece
		rest = substr(rest, at + length(piece))
	}
	out = out rest
	return out
}

# Blanks the directives, line by line, and their continuation lines after a backslash.
function blank_directives(text,    n, line, i, out, on)
{
	n = split(text, line, "\n")
	out = ""
	on = 0
	for (i = 1; i <= n; i++) {
		if (on || line[i] ~ /^[ \t]*#/) {
			on = line[i] ~ /\\$/
			gsub(/[^\n]/, " ", line[i])
		}
		out = out (i > 1 ? "\n" : "") line[i]
	}
	return out
}

function line_of(at,    before)
{
	before = substr(text, 1, at - 1)
	return gsub(/\n/, "", before) + 1
}

function one_line(s)
{
	gsub(/[ \t\n]+/, " ", s)
	return s
}

function line_so_far(at,    before)
{
	before = substr(code, body, at - body)
	sub(/.*\n/, "", before)
	return before
}

# A mutant: `length_` characters from `at` become `new`.
function mutant(kind, what, at, length_, new,    name, shown)
{
	name = base ":" func_name ":" kind ":" what
	if (want != "") {
		if (name != want)
			return
		printf "%s", substr(text, 1, at - 1) new substr(text, at + length_)
		found = 1
		exit 0
	}
	shown = substr(text, at)
	sub(/\n.*/, "", shown)
	printf "%s\t%d\t%s\n", name, line_of(at), one_line(substr(shown, 1, 70))
}

# Returns where the parenthesis that opens at `at` of the blanked text closes.
function closing(at,    depth, i, c)
{
	depth = 0
	for (i = at; i <= body_end; i++) {
		c = substr(code, i, 1)
		if (c == "(")
			depth++
		else if (c == ")" && !--depth)
			return i
	}
	return 0
}

# Finds `pattern` in the function, starting at `from`; sets hit and hit_length.
function next_hit(pattern, from,    piece)
{
	piece = substr(code, from, body_end - from + 1)
	if (!match(piece, pattern))
		return 0
	hit = from + RSTART - 1
	hit_length = RLENGTH
	return hit
}

function orders(    from, n, word)
{
	n = 0
	for (from = body; next_hit("MAM_(ACQ_REL|ACQUIRE|RELEASE|SEQ_CST)", from); from = hit + hit_length) {
		if (substr(code, hit + hit_length, 1) ~ /[A-Z_]/)
			continue
		n++
		word = substr(code, hit + 4, hit_length - 4)
		if (word == "SEQ_CST")
			mutant("order", n ":" word ">ACQ_REL", hit, hit_length, "MAM_ACQ_REL")
		if (word == "ACQ_REL" || word == "SEQ_CST") {
			mutant("order", n ":" word ">ACQUIRE", hit, hit_length, "MAM_ACQUIRE")
			mutant("order", n ":" word ">RELEASE", hit, hit_length, "MAM_RELEASE")
		}
		mutant("order", n ":" word ">RELAXED", hit, hit_length, "MAM_RELAXED")
	}
}

function scopes(    from, n)
{
	n = 0
	for (from = body; next_hit("MAM_AT_(DEVICE|SYSTEM)", from); from = hit + hit_length)
		mutant("scope", ++n ":BLOCK", hit, hit_length, "MAM_AT_BLOCK")
}

function masks(    from, n, start, depth, i, c)
{
	n = 0
	for (from = body; next_hit("mam_warp_(ballot|shuffle32|shuffle64|match32|match64|sync)[(]", from); from = start) {
		start = hit + hit_length
		depth = 0
		for (i = start; i <= body_end; i++) {
			c = substr(code, i, 1)
			if (!depth && (c == "," || c == ")"))
				break
			depth += c == "("
			depth -= c == ")"
		}
		n++
		if (substr(code, start, i - start) !~ /^0x[fF]+u?$/)
			mutant("mask", n ":all", start, i - start, "0xffffffffu")
	}
}

# The operands of && or || between `from` and `to`, on the outermost level that has one.
function operands(from, to,    depth, i, two, at, n, op, part, k)
{
	depth = 0
	n = 0
	op = ""
	at[0] = from - 2
	for (i = from; i <= to; i++) {
		two = substr(code, i, 1)
		depth += two == "("
		depth -= two == ")"
		two = substr(code, i, 2)
		if (!depth && (two == "&&" || two == "||")) {
			if (op == "" || op == two) {
				op = two
				at[++n] = i
			}
		}
	}
	if (!n)
		return
	at[n + 1] = to + 1
	for (k = 0; k <= n; k++)
		mutant("operand", ++operand_count ":" (op == "&&" ? "true" : "false"), at[k] + 2,
		       at[k + 1] - at[k] - 2, op == "&&" ? " 1 " : " 0 ")
}

function conditions(    from, n, open, close_, loops, dos, a, b, i, c, depth, text_, tail)
{
	n = 0
	loops = 0
	operand_count = 0
	for (from = body; next_hit("(^|[^a-z_0-9])(if|while|for) [(]", from); from = open + 1) {
		open = hit + hit_length - 1
		close_ = closing(open)
		if (substr(code, hit, hit_length) ~ /if [(]$/) {
			n++
			text_ = substr(text, open + 1, close_ - open - 1)
			mutant("if", n ":never", open + 1, close_ - open - 1, "(" text_ ") && 0")
			mutant("if", n ":always", open + 1, close_ - open - 1, "(" text_ ") || 1")
			operands(open + 1, close_ - 1)
			continue
		}
		loops++
		tail = substr(code, close_ + 1)
		a = open + 1
		b = close_ - 1
		if (substr(code, hit, hit_length) ~ /for [(]$/) {
			depth = 0
			a = b = 0
			for (i = open + 1; i < close_; i++) {
				c = substr(code, i, 1)
				depth += c == "("
				depth -= c == ")"
				if (c == ";" && !depth) {
					if (!a)
						a = i + 1
					else
						b = i - 1
				}
			}
		}
		text_ = substr(text, a, b - a + 1)
		if (tail ~ /^;/) { # of a do
			mutant("once", loops ":" "do", a, b - a + 1, "(" text_ ") && 0")
			mutant("bound", loops ":" "do", a, b - a + 1, "(" text_ ") || 1")
			operands(a, b)
			continue
		}
		# The word itself starts after the character before it.
		i = hit + (substr(code, hit, 1) !~ /[a-z]/)
		mutant("once", loops ":" substr(code, i, 1) "", i, b - i + 1,
		       "for (int mutant_ran = 0; !mutant_ran; mutant_ran = 1) " substr(text, i, a - i) \
		       " (" (text_ ~ /^[ \t\n]*$/ ? "1" : text_) ") && !mutant_ran++")
		if (text_ !~ /^[ \t\n]*$/) {
			mutant("bound", loops ":" substr(code, i, 1), a, b - a + 1, "(" text_ ") || 1")
			operands(a, b)
		}
	}
	for (from = body; next_hit("(^|[^a-z_0-9])return ", from); from = hit + hit_length) {
		i = index(substr(code, hit), ";")
		operands(hit + hit_length, hit + i - 2)
	}
}

# Replaces each match of `pattern`: `pairs` are words "OLD NEW", separated by blanks.
function exchange(kind, pattern, pairs,    from, n, old, i, k, pair, before)
{
	k = split(pairs, pair, " ")
	n = 0
	for (from = body; next_hit(pattern, from); from = hit + hit_length) {
		old = substr(code, hit, hit_length)
		before = length(old)
		sub(/^[^-+~!&|<>=0-9]*/, "", old)
		before -= length(old)
		sub(/[ )]+$/, "", old)
		n++
		# Kind `if` covers the negation of a whole condition.
		if (old ~ /^[!=]=$/ && line_so_far(hit) ~ /(if|while|for) [(]/)
			continue
		for (i = 1; i < k; i += 2)
			if (pair[i] == old)
				mutant(kind, n ":" old, hit + before, length(old), pair[i + 1] == "none" ? "" : pair[i + 1])
	}
}

function ones(    from, n)
{
	n = 0
	for (from = body; next_hit(" [-+] 1[^0-9xu.]", from); from = hit + hit_length)
		mutant("one", ++n ":" substr(code, hit + 1, 1), hit, 4, "")
}

function halves(    from, n, old, at)
{
	n = 0
	for (from = body; next_hit("(^|[^0-9a-zA-Z_.])(64|63|32|31)u?[^0-9a-zA-Z_.]", from); from = hit + hit_length - 1) {
		at = hit + (substr(code, hit, 1) !~ /[0-9]/)
		old = substr(code, at, 2)
		mutant("half", ++n ":" old, at, 2, int(old / 2))
	}
}

function numbers(    from, n, old, at)
{
	n = 0
	for (from = body; next_hit("(^|[^0-9a-zA-Z_.])[0-9][0-9]*u?[^0-9a-zA-Z_.]", from); from = hit + hit_length - 1) {
		at = hit + (substr(code, hit, 1) !~ /[0-9]/)
		old = substr(code, at, hit_length - (at - hit) - 1)
		sub(/u$/, "", old)
		n++
		if (old + 0 >= 2 && old !~ /^(64|63|32|31)$/)
			mutant("number", n ":" old, at, length(old), old + 1)
	}
}

function signs(    from, n, old)
{
	n = 0
	for (from = body; next_hit("[^=(,?:&|<>] [-+*/] [^=*]", from); from = hit + 3) {
		old = substr(code, hit + 2, 1)
		# A pointer's star follows its type.
		if (old == "*" && line_so_far(hit + 2) ~ /(struct [a-z_]*|uint(32|64)_t|char|void) $/)
			continue
		mutant("sign", ++n ":" old, hit + 2, 1, old == "+" ? "-" : old == "-" ? "+" : old == "*" ? "/" : "*")
	}
}

# Finds statements after the words that control them: if (...), else, for (...), while (...), do.
function statements(    i, c, depth, start, nested, level, n, from, word, s, ruled, close_, last_return)
{
	depth = 0
	level = 0
	n = 0
	start = body + 1
	for (i = body + 1; i < body_end; i++) {
		c = substr(code, i, 1)
		depth += c == "("
		depth -= c == ")"
		if (depth || (c != ";" && c != "{" && c != "}"))
			continue
		level += c == "{"
		level -= c == "}"
		if (c == ";") {
			from = start
			ruled = 0
			for (;;) {
				while (substr(code, from, 1) ~ /[ \t\n]/)
					from++
				s = substr(code, from, i - from + 1)
				if (s ~ /^(if|for|while) [(]/) {
					close_ = closing(from + index(s, "(") - 1)
					from = close_ + 1
					ruled = 1
				} else if (s ~ /^(else|do)[ \t\n]/) {
					from += index(s, substr(s, 1, 2)) > 0 ? (s ~ /^else/ ? 4 : 2) : 0
					ruled = 1
				} else
					break
			}
			if (from < i && s !~ /^(const|static|volatile|unsigned|int|void|bool|size_t|uint(32|64)_t|struct|enum|MAM_GLOBAL|MAM_SHARED|MAM_KASSERT)([^a-zA-Z_0-9]|$)/ &&
			    !(s ~ /^return[^a-z_]/ && !ruled && !level) && s !~ /^(while|,)/)
				mutant("drop", ++n ":" substr(one_line(s), 1, match(one_line(s), /[^a-zA-Z_0-9>.-]/) - 1),
				       from, i - from + 1, ";")
		}
		start = i + 1
	}
}

function functions(    n, line, i, at, head, name, end)
{
	n = split(code, line, "\n")
	at = 1
	for (i = 1; i <= n; i++) {
		if (line[i] ~ /^[A-Z][A-Z_]*[ (]/ && line[i] ~ /[(]/) {
			head = substr(code, at)
			body = at + index(head, "{") - 1
			end = index(head, "\n}")
			# A declaration without a body ends before the next brace.
			if (end && index(head, ";") > index(head, "{")) {
				body_end = at + end
				name = line[i]
				if (name ~ /^MAM_KERNEL/) {
					sub(/^[^(]*[(]/, "", name)
					sub(/[^a-z_0-9].*/, "", name)
				} else {
					sub(/[(].*/, "", name)
					sub(/.*[^a-z_0-9]/, "", name)
				}
				func_name = name
				places()
			}
		}
		at += length(line[i]) + 1
	}
}

function places()
{
	orders()
	scopes()
	masks()
	conditions()
	exchange("edge", "[^<>=!-](<|>|<=|>=|==|!=) ", "< <= <= < > >= >= > == != != ==")
	ones()
	exchange("not", "[ (]~", "~ none")
	nots()
	exchange("bits", " (&|[|]|<<|>>) ", "& | | & << >> >> <<")
	exchange("bits", " (&|[|]|<<|>>)= ", "&= |= |= &= <<= >>= >>= <<=")
	halves()
	statements()
	if ("number" in also)
		numbers()
	if ("sign" in also)
		signs()
}

function nots(    from, n)
{
	n = 0
	for (from = body; next_hit("[ \t(]![a-z_(]", from); from = hit + 2)
		mutant("not", ++n ":!", hit + 1, 1, "")
}

# The table's own edits: `old` must occur once in the header, not counting comments.
function edits(    i, at, again)
{
	for (i = 1; i <= edit_count; i++) {
		if (edit_file[i] != base)
			continue
		at = index(code, edit_old[i])
		again = at ? index(substr(code, at + 1), edit_old[i]) : 0
		if (!at || again) {
			printf "the edit %s of the table %s %s\n", edit_name[i],
				at ? "has more than one place in" : "has no place in", base > "/dev/stderr"
			wrong = 1
			continue
		}
		func_name = "edit"
		mutant(edit_name[i], "", at, length(edit_old[i]), edit_new[i])
	}
}

FILENAME ~ /\.tab$/ {
	if ($1 == "edit") {
		edit_file[++edit_count] = $2
		edit_name[edit_count] = $3
	} else if ($1 == "also") {
		also[$2]
	} else if (edit_count && /^- /) {
		edit_old[edit_count] = edit_old[edit_count] (edit_old[edit_count] == "" ? "" : "\n") substr($0, 3)
	} else if (edit_count && /^[+] /) {
		edit_new[edit_count] = edit_new[edit_count] (edit_new[edit_count] == "" ? "" : "\n") substr($0, 3)
	}
	next
}

{
	text = text $0 "\n"
	if (FNR == 1) {
		base = FILENAME
		sub(/.*\//, "", base)
	}
}

END {
	if (found)
		exit 0
	code = blank_directives(blank(text))
	functions()
	edits()
	if (want != "")
		exit 1
	exit wrong
}
