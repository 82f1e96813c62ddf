/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_flags.c - what the parser is asked for.
 *
 * Ours first: CUDA, for the device alone, no warnings, and either our headers in front of the
 * source or a toolkit's. Of the user's flags, which are nvcc's or clang's, those that say what the
 * source means: folders, macros, files in front of it, the language. The others are left out.
 *
 * Our headers are in the folder that the variable COALESCE_INCLUDE names, else where they were
 * installed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collective/front.h"

#ifndef MAM_COALESCE_INCLUDE_DIR
#define MAM_COALESCE_INCLUDE_DIR "/usr/local/share/mam/coalesce"
#endif
#ifndef MAM_COALESCE_CUDA_DIR
#define MAM_COALESCE_CUDA_DIR "/usr/local/cuda"
#endif

static bool add(struct front_flags *made, const char *flag)
{
	if (made->count == made->room) {
		size_t room = made->room ? 2 * made->room : 64;
		const char **grown = realloc(made->flags, room * sizeof(*grown));

		if (grown == NULL)
			return false;
		made->flags = grown;
		made->room = room;
	}
	made->flags[made->count++] = flag;
	return true;
}

static bool add_all(struct front_flags *made, const char *const *flags)
{
	for (; *flags != NULL; flags++)
		if (!add(made, *flags))
			return false;
	return true;
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* nvcc's long names, and those with a value behind them. */
static bool add_users(struct front_flags *made, const char *const *flags, size_t count)
{
	static const struct {
		const char *name, *as; /* `as`: NULL, the same */
		bool value;            /* in the next one, if nothing is behind the name */
	} kept[] = {
		{ "--include-path", "-I", true },
		{ "--system-include", "-isystem", true },
		{ "--define-macro", "-D", true },
		{ "--undefine-macro", "-U", true },
		{ "--pre-include", "-include", true },
		{ "--std", "-std", true },
		{ "-isystem", NULL, true },
		{ "-iquote", NULL, true },
		{ "-idirafter", NULL, true },
		{ "-include", NULL, true },
		{ "-std=", NULL, false },
		{ "-I", NULL, true },
		{ "-D", NULL, true },
		{ "-U", NULL, true },
	};
	static const char *const valued[] = { "-o",       "-x",         "-arch",   "-code",
					      "-gencode", "-Xcompiler", "-Xptxas", "-Xlinker",
					      "-L",       "-l",         "-ccbin",  "-MF",
					      "-MT",      NULL };
	size_t i, k;

	for (i = 0; i < count; i++) {
		const char *flag = flags[i];
		size_t length;

		for (k = 0; k < sizeof(kept) / sizeof(kept[0]); k++)
			if (starts(flag, kept[k].name))
				break;
		if (k == sizeof(kept) / sizeof(kept[0])) {
			for (k = 0; valued[k] != NULL; k++)
				if (strcmp(flag, valued[k]) == 0)
					i++;
			continue;
		}
		length = strlen(kept[k].name);
		if (kept[k].as == NULL && flag[length] != '\0' && flag[length] != '=') {
			if (!add(made, flag)) /* -Ifolder, -std=c++17 */
				return false;
			continue;
		}
		if (flag[length] == '=') {
			flag += length + 1;
		} else if (flag[length] == '\0' && kept[k].value && i + 1 < count) {
			flag = flags[++i];
		} else {
			continue;
		}
		if (kept[k].as != NULL && strcmp(kept[k].as, "-std") == 0) {
			static const char *const standards[] = { "-std=c++11", "-std=c++14",
								 "-std=c++17", "-std=c++20", NULL };
			size_t s;

			for (s = 0; standards[s] != NULL; s++)
				if (strcmp(standards[s] + 5, flag) == 0 && !add(made, standards[s]))
					return false;
			continue;
		}
		if (!add(made, kept[k].as ? kept[k].as : kept[k].name) || !add(made, flag))
			return false;
	}
	return true;
}

static const char *our_headers(void)
{
	const char *folder = getenv("COALESCE_INCLUDE");

	return folder != NULL && *folder != '\0' ? folder : MAM_COALESCE_INCLUDE_DIR;
}

bool front_flags(struct front_flags *made, const char *const *flags, size_t count,
		 const char *toolkit)
{
	static const char *const always[] = { "-x",
					      "cuda",
					      "--cuda-device-only",
					      "-fsyntax-only",
					      "-w",
					      "-ferror-limit=0",
					      "-std=c++17",
					      "-Wno-unknown-cuda-version",
					      "-DMAM_COALESCE_READS", /* collective.cuh asks */
					      NULL };
	static const char *const headerless[] = {
		"--cuda-gpu-arch=sm_70",           "-nocudainc", "-nocudalib", "-Xclang",
		"-fcuda-allow-variadic-functions", NULL
	};
	static const char *const with_toolkit[] = { "--cuda-gpu-arch=sm_80", "-nocudalib",
						    "-D__CLANG_CUDA_TEXTURE_INTRINSICS_H__", NULL };
	static const char cuda_path[] = "--cuda-path=", shims[] = "/toolkit";
	const char *ours = our_headers();
	size_t first = sizeof(cuda_path) + (toolkit ? strlen(toolkit) : 0);
	size_t second = strlen(ours) + sizeof(shims);

	memset(made, 0, sizeof(*made));
	made->texts = malloc(first + second);
	if (made->texts == NULL || !add_all(made, always))
		return false;
	if (toolkit != NULL) {
		snprintf(made->texts, first, "%s%s", cuda_path, toolkit);
		snprintf(made->texts + first, second, "%s%s", ours, shims);
		if (!add_all(made, with_toolkit) || !add(made, made->texts) ||
		    !add(made, "-isystem") || !add(made, made->texts + first))
			return false;
		return add_users(made, flags, count);
	}
	if (!add_all(made, headerless) || !add(made, "-isystem") || !add(made, ours) ||
	    !add(made, "-include") || !add(made, "mam_cuda.h"))
		return false;
	return add_users(made, flags, count);
}

void front_flags_free(struct front_flags *made)
{
	free(made->flags);
	free(made->texts);
	memset(made, 0, sizeof(*made));
}

static bool is_toolkit(const char *folder)
{
	char path[4096];
	int bytes = snprintf(path, sizeof(path), "%s/include/cuda_runtime.h", folder);

	return bytes > 0 && (size_t)bytes < sizeof(path) && access(path, R_OK) == 0;
}

const char *front_toolkit(const char *const *flags, size_t count)
{
	static const char name[] = "--cuda-path=";
	const char *folder;
	size_t i;

	for (i = count; i > 0; i--)
		if (starts(flags[i - 1], name))
			return flags[i - 1] + strlen(name);
	folder = getenv("CUDA_HOME");
	if (folder != NULL && is_toolkit(folder))
		return folder;
	return is_toolkit(MAM_COALESCE_CUDA_DIR) ? MAM_COALESCE_CUDA_DIR : NULL;
}
