/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front.c - converts a CUDA source to a program, with libclang's C interface, versions 13 and
 * later.
 *
 * 1. The source is parsed for the device with mam's own small headers (include/mam_cuda.h), so no
 *    toolkit is needed. If there are errors and a toolkit is found, the source is parsed again with
 *    the toolkit's headers.
 * 2. Errors in host functions do not matter and are tolerated. Any other error is fatal. The first
 *    error of the first parse is reported, or of the second parse if there was one.
 * 3. If it has explicit instances of kernels, it is parsed once more, with their names
 *    (front_instances.c).
 * 4. All functions are read (front_unit.c).
 *
 * Bound: linear in the parsed text. A file of some hundred lines takes 0.1 to 0.5 seconds, mostly
 * in libclang for headers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coalesce/front/front.h"

#define WHY_BYTES 1024
#define MAX_BYTES ((size_t)64 << 20) /* of a source */

static void drop_texts(struct front *f)
{
	struct front_text *text, *next;

	for (text = f->texts; text != NULL; text = next) {
		next = text->next;
		free(text->tokens);
		free(text->uses);
		free(text);
	}
	f->texts = NULL;
}

static void give_back(struct front *f)
{
	drop_texts(f);
	free(f->stack);
	front_map_fini(&f->functions);
	front_map_fini(&f->variables);
	front_map_fini(&f->lent);
	free(f->definitions);
	free(f->declared);
	free(f->patterns);
	free(f->errors);
	free(f->loose);
	free(f->scopes);
	free(f->regions);
	free(f->calls);
	front_map_fini(&f->made);
	free(f->closures);
	if (f->unit != NULL)
		clang_disposeTranslationUnit(f->unit);
	if (f->index != NULL)
		clang_disposeIndex(f->index);
	co_program_free(f->program);
}

static bool no_memory(char *why, size_t why_bytes)
{
	snprintf(why, why_bytes, "out of memory");
	return false;
}

/*
 * Writes "file:line: error; advice" to `why`. The caller knows which headers were used, so it
 * passes the advice. False: the error is in a system header, not in the source or in a file that it
 * includes.
 */
static bool report(CXDiagnostic error, const char *path, const char *advice, char *why,
		   size_t why_bytes)
{
	struct front_place at = front_expanded(clang_getDiagnosticLocation(error));
	CXString text = clang_getDiagnosticSpelling(error);
	CXString name = clang_getFileName(at.file);

	/* An error about a flag has a line but no file. */
	if (at.file != NULL && clang_getCString(name) != NULL)
		snprintf(why, why_bytes, "%s:%u: %s; %s", clang_getCString(name), at.line,
			 clang_getCString(text), advice);
	else
		snprintf(why, why_bytes, "%s: %s; %s", path, clang_getCString(text), advice);
	clang_disposeString(name);
	clang_disposeString(text);
	return at.file != NULL &&
	       !clang_Location_isInSystemHeader(clang_getDiagnosticLocation(error));
}

static bool starts_with_one(const char *text, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strncmp(text, *names, strlen(*names)) == 0)
			return true;
	return false;
}

/* The text of the source at a place; "": there is none. */
static const char *text_at(const struct front *f, struct front_place place)
{
	size_t bytes = 0;
	const char *text =
		place.file != NULL ? clang_getFileContents(f->unit, place.file, &bytes) : NULL;

	return text != NULL && place.offset < bytes ? text + place.offset : "";
}

/*
 * In nvcc, malloc and free are one function for both host and device. In clang they are two. In a
 * default argument clang chooses the host's, because such an argument is in no function. In a
 * using-declaration std::malloc conflicts with the device's malloc; the declaration is not needed
 * then.
 */
static bool is_of_clang(const struct front *f, CXDiagnostic error)
{
	static const char host[] = "reference to __host__ function '";
	static const char using[] = "target of using declaration conflicts with declaration";
	static const char *const functions[] = { "malloc'", "free'", "operator new",
						 "operator delete", NULL };
	static const char *const names[] = { "malloc;", "free;", NULL };
	CXString string = clang_getDiagnosticSpelling(error);
	const char *text = clang_getCString(string);
	bool is = false;

	if (text != NULL && strncmp(text, host, sizeof(host) - 1) == 0)
		is = starts_with_one(text + sizeof(host) - 1, functions);
	else if (text != NULL && strncmp(text, using, sizeof(using) - 1) == 0)
		is = starts_with_one(text_at(f, front_spelled(clang_getDiagnosticLocation(error))),
				     names);
	clang_disposeString(string);
	return is;
}

/* True: there is no error that matters. */
static bool is_good(struct front *f, const char *path, const char *advice, char *why,
		    size_t why_bytes)
{
	unsigned int count = clang_getNumDiagnostics(f->unit), i;
	bool good = true;

	for (i = 0; i < count && good; i++) {
		CXDiagnostic error = clang_getDiagnostic(f->unit, i);
		enum CXDiagnosticSeverity severity = clang_getDiagnosticSeverity(error);

		if (severity >= CXDiagnostic_Error && !is_of_clang(f, error) &&
		    (severity == CXDiagnostic_Fatal ||
		     !front_tolerates(f, front_expanded(clang_getDiagnosticLocation(error))))) {
			f->error_in_source = report(error, path, advice, why, why_bytes);
			good = false;
		}
		clang_disposeDiagnostic(error);
	}
	return good && !f->failed;
}

static bool parse(struct front *f, const char *path, const char *const *flags, size_t flag_count,
		  const char *toolkit, const char *advice, struct CXUnsavedFile *unsaved, char *why,
		  size_t why_bytes)
{
	struct front_flags made;
	enum CXErrorCode error;
	bool good;

	if (f->unit != NULL)
		clang_disposeTranslationUnit(f->unit);
	f->unit = NULL;
	f->error_count = 0;
	f->all_patterns = false;
	if (!front_flags(&made, flags, flag_count, toolkit)) {
		front_flags_free(&made);
		f->failed = true;
		return no_memory(why, why_bytes);
	}
	error = clang_parseTranslationUnit2(
		f->index, path, made.flags, (int)made.count, unsaved, unsaved != NULL,
		CXTranslationUnit_KeepGoing | CXTranslationUnit_DetailedPreprocessingRecord,
		&f->unit);
	front_flags_free(&made);
	if (error != CXError_Success || f->unit == NULL) {
		f->unit = NULL;
		snprintf(why, why_bytes,
			 "%s: libclang cannot parse it; see whether clang takes the same flags",
			 path);
		return false;
	}
	good = is_good(f, path, advice, why, why_bytes);
	return good || (f->failed && no_memory(why, why_bytes));
}

/*
 * If libclang does not support this toolkit, that is not an error of the source: both errors are
 * reported.
 */
static void report_both(const char *toolkit, const char *with, char *why, size_t why_bytes)
{
	char *end = strstr(why, "; pass the compiler's");
	char first[WHY_BYTES / 2];

	if (end != NULL)
		*end = '\0';
	snprintf(first, sizeof(first), "%s", why);
	snprintf(why, why_bytes,
		 "%s; and this libclang cannot read the toolkit in %s (%.*s): pass another one "
		 "with --cuda-path=DIR after --",
		 first, toolkit, (int)strcspn(with, ";"), with);
}

static bool parse_somehow(struct front *f, const char *path, const char *const *flags,
			  size_t flag_count, char *why, size_t why_bytes)
{
	const char *toolkit = front_toolkit(flags, flag_count);
	char other[WHY_BYTES] = "";

	if (parse(f, path, flags, flag_count, NULL,
		  "pass the compiler's -I, -D and -std after --, or a toolkit with --cuda-path=DIR",
		  NULL, why, why_bytes))
		return true;
	if (f->failed || toolkit == NULL)
		return false;
	if (parse(f, path, flags, flag_count, toolkit,
		  "pass the compiler's -I, -D and -std after --", NULL, other, sizeof(other))) {
		f->toolkit = toolkit;
		return true;
	}
	if (f->failed || f->error_in_source)
		snprintf(why, why_bytes, "%s", other);
	else if (access(toolkit, X_OK) == 0 && strncmp(why, other, strcspn(why, ";")) != 0)
		report_both(toolkit, other, why, why_bytes);
	return false;
}

static bool read_text(struct front *f, const char *path, char *why, size_t why_bytes)
{
	size_t bytes = 0;
	const char *text;

	f->file = clang_getFile(f->unit, path);
	text = f->file ? clang_getFileContents(f->unit, f->file, &bytes) : NULL;
	if (text == NULL || bytes > MAX_BYTES) {
		snprintf(why, why_bytes, "%s: %s", path,
			 text ? "it has more than 64 MiB" : "it cannot be read");
		return false;
	}
	if (f->has_instances)
		bytes = f->own_bytes;
	f->program->text = co_text_new(f->program, text, bytes);
	f->program->bytes = bytes;
	return f->program->text != NULL || no_memory(why, why_bytes);
}

/* If the text with the named instances is not good, the one without them is parsed again. */
static bool name_instances(struct front *f, const char *path, const char *const *flags,
			   size_t flag_count, char *why, size_t why_bytes)
{
	struct CXUnsavedFile unsaved = { path, NULL, 0 };
	char other[WHY_BYTES];
	size_t bytes = 0;
	bool good;

	f->file = clang_getFile(f->unit, path);
	if (f->error_count > 0 || front_text(f, f->file) == NULL)
		return true;
	f->own_bytes = front_text(f, f->file)->bytes;
	unsaved.Contents = front_instances(f, &bytes);
	unsaved.Length = bytes;
	drop_texts(f);
	if (unsaved.Contents == NULL)
		return true;
	good = parse(f, path, flags, flag_count, f->toolkit, "", &unsaved, other, sizeof(other));
	free((char *)unsaved.Contents);
	f->has_instances = good && f->error_count == 0;
	if (f->has_instances)
		return true;
	return parse(f, path, flags, flag_count, f->toolkit, "", NULL, why, why_bytes);
}

/* Without these headers each file would have errors that are not its own. */
static bool has_headers(char *why, size_t why_bytes)
{
	char folder[WHY_BYTES / 2];

	if (front_headers(folder, sizeof(folder)))
		return true;
	snprintf(why, why_bytes,
		 "%s: mam's own headers for this are not there: is mam installed whole? "
		 "COALESCE_INCLUDE may name another folder",
		 folder);
	return false;
}

/* For anything except a regular file, libclang reports unclear errors, or never reaches the end. */
static bool can_be_read(const char *path, char *why, size_t why_bytes)
{
	FILE *file = fopen(path, "rb");
	int error = errno;
	struct stat status;

	if (file != NULL && fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode)) {
		fclose(file);
		return true;
	}
	if (file != NULL)
		fclose(file);
	snprintf(why, why_bytes, "%s: it cannot be read (%s); name a CUDA source", path,
		 file == NULL ? strerror(error) : "it is not a regular file");
	return false;
}

struct co_program *co_program_read(const char *path, const char *const *flags, size_t flag_count,
				   char *why, size_t why_bytes)
{
	struct front f;
	struct co_program *program = NULL;

	memset(&f, 0, sizeof(f));
	f.function = f.this_variable = f.closure = CO_NONE;
	f.linked = front_is_linked(flags, flag_count);
	if (!can_be_read(path, why, why_bytes) || !has_headers(why, why_bytes))
		return NULL;
	f.program = co_program_new(path);
	f.index = clang_createIndex(0, 0);
	if (f.program == NULL || f.index == NULL) {
		(void)no_memory(why, why_bytes);
	} else if (parse_somehow(&f, path, flags, flag_count, why, why_bytes) &&
		   name_instances(&f, path, flags, flag_count, why, why_bytes) &&
		   read_text(&f, path, why, why_bytes) &&
		   (front_architecture(flags, flag_count) > 0 ||
		    !front_asks_architecture(&f, why, why_bytes))) {
		front_macros(&f);
		front_unit(&f);
		if (f.failed) {
			(void)no_memory(why, why_bytes);
		} else {
			program = f.program;
			f.program = NULL;
		}
	}
	give_back(&f);
	return program;
}
