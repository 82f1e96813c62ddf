/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint.c - verdicts as diagnostics.
 *
 * An allocation that one request could serve for a whole block or warp, now or once the file is
 * rewritten, is a warning. Any other one is a note that names the reason. Columns are counted from
 * 1, in bytes as clang and gcc do, and in code points for SARIF.
 */
#include "lint.h"

#include <string.h>

#include <mam/mam.h>

#include "kit/json_put.h"
#include "report.h"

struct finding {
	const struct co_verdict *verdict;
	enum co_level reached; /* once the file is rewritten */
	bool later;
};

static struct finding finding_of(const struct co_decision *decision, size_t i)
{
	const struct co_verdict *verdict = &decision->judgement->verdicts[i];
	const struct co_verdict *later = &decision->rewritten->verdicts[i];
	struct finding finding = { verdict, verdict->reached, later->reached < verdict->reached };

	if (finding.later)
		finding.reached = later->reached;
	return finding;
}

static const char *rule_of(const struct finding *finding)
{
	static const char *const rules[] = { "mam-coalesce-block", "mam-coalesce-warp",
					     "mam-coalesce-none" };

	return rules[finding->reached];
}

/* The message; one line. */
static void say(char *text, size_t room, const struct co_program *program,
		const struct finding *finding)
{
	static const char *const whole[] = { "one request can serve the whole block",
					     "one request can serve the whole warp",
					     "each thread needs a request of its own" };
	const char *name = program->functions[finding->verdict->function].printed;
	char *at;

	snprintf(text, room, "%s in '%s': %s%s: %s", co_report_call(finding->verdict), name,
		 whole[finding->reached], finding->later ? " once the file is rewritten" : "",
		 finding->verdict->reason);
	for (at = text; *at != '\0'; at++)
		if (*at == '\n' || *at == '\t' || *at == '\r')
			*at = ' ';
}

static size_t column(const struct co_program *program, size_t at, bool points)
{
	size_t count = 1;

	while (at > 0 && program->text[at - 1] != '\n') {
		at--;
		count += !points || ((unsigned char)program->text[at] & 0xc0) != 0x80;
	}
	return count;
}

static unsigned int last_line(const struct co_program *program, const struct co_node *node)
{
	unsigned int line = node->line;
	size_t i;

	for (i = node->begin; i < node->end; i++)
		line += program->text[i] == '\n';
	return line;
}

void co_lint_put(FILE *file, const struct co_program *program, const struct co_decision *decision)
{
	char text[2048];
	size_t i;

	for (i = 0; i < decision->judgement->count; i++) {
		struct finding finding = finding_of(decision, i);
		const struct co_verdict *verdict = finding.verdict;

		if (!co_report_is_listed(verdict))
			continue;
		say(text, sizeof(text), program, &finding);
		fprintf(file, "%s:%u:%zu: %s: %s [%s]\n", program->path, verdict->node->line,
			column(program, verdict->node->begin, false),
			finding.reached == CO_EACH ? "note" : "warning", text, rule_of(&finding));
		if (finding.reached == CO_EACH && verdict->reason_line > 0)
			fprintf(file, "%s:%u:1: note: the reason is here\n", program->path,
				verdict->reason_line);
	}
}

/* ---- SARIF ----------------------------------------------------------------------------------- */

static void put_uri(FILE *file, const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "-._~/";

	fprintf(file, "\"%s", path[0] == '/' ? "file://" : "");
	for (; *path != '\0'; path++) {
		if (strchr(plain, *path) != NULL)
			putc(*path, file);
		else
			fprintf(file, "%%%02X", (unsigned char)*path);
	}
	putc('"', file);
}

void co_sarif_begin(FILE *file)
{
	fprintf(file,
		"{\"version\": \"2.1.0\",\n"
		" \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\",\n"
		" \"runs\": [{\"tool\": {\"driver\": {\"name\": \"mam coalesce\", "
		"\"version\": \"%s\", \"rules\": [\n"
		"  {\"id\": \"mam-coalesce-block\", \"shortDescription\": {\"text\": "
		"\"All threads of a block make this allocation together\"}},\n"
		"  {\"id\": \"mam-coalesce-warp\", \"shortDescription\": {\"text\": "
		"\"All threads of a warp make this allocation together\"}},\n"
		"  {\"id\": \"mam-coalesce-none\", \"shortDescription\": {\"text\": "
		"\"No proof that threads make this allocation together\"}}]}},\n"
		" \"columnKind\": \"unicodeCodePoints\",\n \"results\": [",
		MAM_VERSION);
}

void co_sarif_put(FILE *file, const struct co_program *program, const struct co_decision *decision,
		  bool *any)
{
	char text[2048];
	size_t i;

	for (i = 0; i < decision->judgement->count; i++) {
		struct finding finding = finding_of(decision, i);
		const struct co_node *node = finding.verdict->node;

		if (!co_report_is_listed(finding.verdict))
			continue;
		say(text, sizeof(text), program, &finding);
		fprintf(file,
			"%s\n  {\"ruleId\": \"%s\", \"level\": \"%s\", \"message\": {\"text\": ",
			*any ? "," : "", rule_of(&finding),
			finding.reached == CO_EACH ? "note" : "warning");
		json_put_text(file, text);
		fprintf(file,
			"},\n   \"locations\": [{\"physicalLocation\": {\"artifactLocation\": "
			"{\"uri\": ");
		put_uri(file, program->path);
		fprintf(file,
			"}, \"region\": {\"startLine\": %u, \"startColumn\": %zu, \"endLine\": %u, "
			"\"endColumn\": %zu}}}]}",
			node->line, column(program, node->begin, true), last_line(program, node),
			column(program, node->end, true));
		*any = true;
	}
}

void co_sarif_end(FILE *file)
{
	fprintf(file, "]}]}\n");
}
