/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_frames.c - select the stack frame that best describes the origin of an allocation.
 *
 * 1. A frame is C++, according to its name or file; or of PyTorch's own Python files; or foreign:
 *    of the program or another library.
 * 2. Select the innermost foreign frame. Without one, select PyTorch's innermost Python frame.
 *    Without Python, as in a backward pass, select the graph node that runs, or the innermost C++
 *    function that is not part of the allocation path.
 *
 * Many events share a list of frames, and lists share frames: the result for each is cached, so no
 * list is scanned twice.
 */
#define _GNU_SOURCE /* memmem, memrchr */

#include "read/torch_frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHO_BYTES 200

/* The class of a frame, also the value in `known` for a frame. */
enum sort { UNKNOWN, NOBODY, NATIVE, NODE, TORCH, FOREIGN };

#define LIST_KNOWN 1 /* `known` of a list is the index of its name plus this */

bool torch_frames_init(struct torch_frames *frames, const struct pickle *pickle,
		       struct names *names)
{
	size_t boxes = pickle->boxes.count;

	*frames = (struct torch_frames){ .pickle = pickle, .names = names };
	frames->known = calloc(boxes ? boxes : 1, sizeof(*frames->known));
	return frames->known != NULL;
}

void torch_frames_fini(struct torch_frames *frames)
{
	free(frames->known);
	frames->known = NULL;
}

struct text {
	const char *at;
	size_t bytes;
};

static struct text text_of(const struct torch_frames *frames, struct pickle_value frame,
			   const char *key)
{
	struct text text = { "", 0 };

	pickle_text(frames->pickle, pickle_get(frames->pickle, frame, key), &text.at, &text.bytes);
	return text;
}

static bool has(struct text text, const char *part)
{
	return text.bytes && memmem(text.at, text.bytes, part, strlen(part));
}

static bool ends(struct text text, const char *end)
{
	size_t length = strlen(end);

	return text.bytes >= length && memcmp(text.at + text.bytes - length, end, length) == 0;
}

/* PyTorch's own Python: installed, or in its source tree. */
static bool is_torchs(struct text file)
{
	static const char *const places[] = {
		"-packages/torch/",   "-packages/torchgen/",
		"/torch/nn/",         "/torch/autograd/",
		"/torch/utils/",      "/torch/optim/",
		"/torch/_dynamo/",    "/torch/_inductor/",
		"/torch/_functorch/", "/torch/distributed/",
		"/torch/cuda/",       "/torch/fx/",
		"/torch/amp/",        "/torch/jit/",
		"/torch/_tensor.py",  "/torch/functional.py",
		"/torch/_ops.py",     "/torch/_compile.py",
		"/torch/_prims",      "/torch/_refs/",
		"/torch/_library/",   "<eval_with_key>",
		"<frozen ",
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (has(file, places[i]))
			return true;
	return false;
}

/* C++ functions on the path from a program to its memory. */
static bool is_inner(struct text name)
{
	static const char *const parts[] = {
		"unwind",       "CapturedTraceback", "gather_with_cpp", "CachingAllocator",
		"at::detail::", "at::native::empty", "at::empty",       "at::_ops::empty",
		"wrapper_CUDA", "wrap_kernel",       "create_out",      "::allocate(",
		"StorageImpl",  "resize_",           "set_output_",     "OptionalCUDAGuard",
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (has(name, parts[i]))
			return true;
	return name.bytes == 0 || name.at[0] == '?';
}

static bool is_python(struct text file)
{
	return ends(file, ".py") || (file.bytes && file.at[0] == '<');
}

bool torch_frames_is_inner(const struct replay_frame *frame)
{
	const struct text file = { frame->file, frame->file_bytes };
	const struct text name = { frame->function, frame->function_bytes };

	return !is_python(file) && is_inner(name);
}

/* Backward passes have no Python frames; their work belongs to a graph node: AddmmBackward0. */
static const char node[] = "torch::autograd::", made_node[] = "generated::";

static struct text without(struct text text, const char *start)
{
	size_t length = strlen(start);

	if (text.bytes < length || memcmp(text.at, start, length) != 0)
		return text;
	return (struct text){ text.at + length, text.bytes - length };
}

static enum sort sort_of(const struct torch_frames *frames, struct pickle_value frame)
{
	struct text file = text_of(frames, frame, "filename");
	struct text name = text_of(frames, frame, "name");

	if (is_python(file))
		return is_torchs(file) ? TORCH : FOREIGN;
	if (file.bytes == 0 && name.bytes == 0)
		return NOBODY;
	if (has(name, node) && has(name, "::apply("))
		return NODE;
	return is_inner(name) ? NOBODY : NATIVE;
}

static enum sort look(struct torch_frames *frames, struct pickle_value frame)
{
	uint32_t *known;

	if (pickle_kind(frame) != PICKLE_DICT || pickle_count(frames->pickle, frame) > 64)
		return NOBODY;
	known = &frames->known[pickle_box(frame)];
	if (*known == UNKNOWN)
		*known = sort_of(frames, frame);
	return (enum sort) * known;
}

/* The last component of a path. */
static struct text base_of(struct text file)
{
	const char *slash = file.bytes ? memrchr(file.at, '/', file.bytes) : NULL;

	if (!slash)
		return file;
	return (struct text){ slash + 1, file.bytes - (size_t)(slash + 1 - file.at) };
}

/* The part of a C++ function before the '(' that matches the last ')'. */
static struct text without_arguments(struct text name)
{
	size_t depth = 0, end = name.bytes;

	while (end > 0 && name.at[end - 1] != ')')
		end--;
	while (end > 0) {
		char c = name.at[--end];

		depth += c == ')';
		depth -= c == '(' && depth > 0;
		if (c == '(' && depth == 0)
			return end ? (struct text){ name.at, end } : name;
	}
	return name;
}

/* The bare name of a C++ function, without its arguments and template arguments. */
static struct text short_name(struct text name)
{
	const char *template;

	name = without(without_arguments(name), "void ");
	template = name.bytes ? memchr(name.at, '<', name.bytes) : NULL;
	if (template && template > name.at)
		name.bytes = (size_t)(template - name.at);
	return without(without(name, node), made_node);
}

static bool write_who(struct torch_frames *frames, struct pickle_value frame, enum sort sort,
		      uint32_t *who)
{
	struct text file = base_of(text_of(frames, frame, "filename"));
	struct text name = text_of(frames, frame, "name");
	char text[WHO_BYTES];
	int64_t line = 0;
	int length;

	if (sort < TORCH) {
		name = short_name(name);
		return names_number(frames->names, name.at,
				    name.bytes < WHO_BYTES ? name.bytes : WHO_BYTES - 1, who);
	}
	pickle_int(frames->pickle, pickle_get(frames->pickle, frame, "line"), &line);
	length = snprintf(text, sizeof(text), "%.*s:%lld %.*s",
			  file.bytes > 80 ? 80 : (int)file.bytes, file.at, (long long)line,
			  name.bytes > 80 ? 80 : (int)name.bytes, name.at);
	return names_number(frames->names, text, (size_t)length, who);
}

bool torch_frames_who(struct torch_frames *frames, struct pickle_value list, uint32_t *who)
{
	const struct pickle *pickle = frames->pickle;
	size_t count = pickle_count(pickle, list);
	struct pickle_value best = { 0 };
	enum sort best_sort = NOBODY;
	uint32_t *known;

	*who = 0;
	if (pickle_kind(list) != PICKLE_LIST && pickle_kind(list) != PICKLE_TUPLE)
		return true;
	known = &frames->known[pickle_box(list)];
	if (*known) {
		*who = *known - LIST_KNOWN;
		return true;
	}
	for (size_t i = 0; i < count && best_sort != FOREIGN; i++) {
		struct pickle_value frame = pickle_item(pickle, list, i);
		enum sort sort = look(frames, frame);

		if (sort > best_sort) {
			best = frame;
			best_sort = sort;
		}
	}
	if (best_sort > NOBODY && !write_who(frames, best, best_sort, who))
		return false;
	*known = *who + LIST_KNOWN;
	return true;
}
