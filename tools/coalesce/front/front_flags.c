/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_flags.c - flags for the parser.
 *
 * Our own flags come first: CUDA, device only, no warnings, and either our headers before the
 * source or a toolkit's. The user's flags are for nvcc or clang. Those are passed on that determine
 * the meaning of the source: include folders, macros, pre-included files, the language. The others
 * are dropped.
 *
 * Our headers are in the folder that the variable COALESCE_INCLUDE names. Otherwise they are
 * located relative to this program in a build folder or an installed tree, which may have been
 * moved. Otherwise they are in the folder they were configured to be installed in. libclang's own
 * headers are where configure found them. A libclang that has been moved since then finds its
 * headers itself.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coalesce/front/front.h"
#include "kit/own_place.h"

#ifndef MAM_COALESCE_INCLUDE_DIR
#define MAM_COALESCE_INCLUDE_DIR "/usr/local/share/mam/cuda"
#endif
#ifndef MAM_PRELOADDIR
#define MAM_PRELOADDIR "/usr/local/lib/mam"
#endif
#ifndef MAM_COALESCE_RESOURCE_DIR
#define MAM_COALESCE_RESOURCE_DIR ""
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

/* A flag that is generated here and freed with the others. */
__attribute__((format(printf, 2, 3))) static bool add_made(struct front_flags *made,
							   const char *format, ...)
{
	char *text = made->texts[made->text_count];
	va_list list;
	int bytes;

	va_start(list, format);
	bytes = vsnprintf(text, sizeof(made->texts[0]), format, list);
	va_end(list);
	made->text_count++;
	return bytes > 0 && (size_t)bytes < sizeof(made->texts[0]) && add(made, text);
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* nvcc's long options, and options followed by a value. */
static bool add_users(struct front_flags *made, const char *const *flags, size_t count)
{
	static const struct {
		const char *name, *as; /* `as`: NULL, the same */
		bool value;            /* in the next argument, if none is attached */
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
		{ "-resource-dir", NULL, true },
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

static bool is_there(const char *folder, const char *file)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	return access(path, R_OK) == 0;
}

bool front_headers(char *folder, size_t room)
{
	const char *named = getenv("COALESCE_INCLUDE");
	char here[PATH_MAX / 2], way[PATH_MAX / 4];

	if (named != NULL && *named != '\0') {
		snprintf(folder, room, "%s", named);
		return is_there(folder, "mam_cuda.h");
	}
	own_place_way(MAM_PRELOADDIR, MAM_COALESCE_INCLUDE_DIR, way, sizeof(way));
	if (own_place(here, sizeof(here))) {
		const char *const ways[] = { "tools/coalesce/headers", way };
		size_t i;

		for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
			snprintf(folder, room, "%s/%s", here, ways[i]);
			if (is_there(folder, "mam_cuda.h"))
				return true;
		}
	}
	snprintf(folder, room, "%s", MAM_COALESCE_INCLUDE_DIR);
	return is_there(folder, "mam_cuda.h");
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
					      "-DMAM_COALESCE_READS", /* collective.cuh tests it */
					      NULL };
	static const char *const headerless[] = {
		"--cuda-gpu-arch=sm_70",           "-nocudainc", "-nocudalib", "-Xclang",
		"-fcuda-allow-variadic-functions", NULL
	};
	static const char *const with_toolkit[] = { "--cuda-gpu-arch=sm_80",
						    "-nocudalib",
						    "-Xclang",
						    "-fcuda-allow-variadic-functions",
						    "-D__CLANG_CUDA_TEXTURE_INTRINSICS_H__",
						    "-DMAM_COALESCE_TOOLKIT",
						    NULL };
	char ours[PATH_MAX];
	bool good;

	memset(made, 0, sizeof(*made));
	(void)front_headers(ours, sizeof(ours));
	good = add_all(made, always);
	if (is_there(MAM_COALESCE_RESOURCE_DIR, "include/stddef.h"))
		good = good && add(made, "-resource-dir") && add(made, MAM_COALESCE_RESOURCE_DIR);
	if (toolkit != NULL)
		good = good && add_all(made, with_toolkit) &&
		       add_made(made, "--cuda-path=%s", toolkit) && add(made, "-isystem") &&
		       add_made(made, "%s/groups", ours) && add(made, "-isystem") &&
		       add_made(made, "%s/toolkit", ours) && add(made, "-isystem") &&
		       add_made(made, "%s/include", toolkit) && add(made, "-isystem") &&
		       add_made(made, "%s/include/cccl", toolkit);
	else
		good = good && add_all(made, headerless) && add(made, "-isystem") &&
		       add_made(made, "%s", ours) && add(made, "-isystem") &&
		       add_made(made, "%s/groups", ours) && add(made, "-include") &&
		       add(made, "mam_cuda.h");
	if (front_architecture(flags, count) > 0)
		good = good && add(made, "-U__CUDA_ARCH__") &&
		       add_made(made, "-D__CUDA_ARCH__=%d", front_architecture(flags, count));
	return good && add_users(made, flags, count);
}

void front_flags_free(struct front_flags *made)
{
	free(made->flags);
	made->flags = NULL;
}

static bool is_toolkit(const char *folder)
{
	return is_there(folder, "include/cuda_runtime.h");
}

const char *front_toolkit(const char *const *flags, size_t count)
{
	static const char name[] = "--cuda-path=";
	const char *folder;
	size_t i;

	for (i = count; i > 0; i--)
		if (starts(flags[i - 1], name) && strlen(flags[i - 1]) < PATH_MAX)
			return flags[i - 1] + strlen(name);
	folder = getenv("CUDA_HOME");
	if (folder != NULL && strlen(folder) < PATH_MAX && is_toolkit(folder))
		return folder;
	return is_toolkit(MAM_COALESCE_CUDA_DIR) ? MAM_COALESCE_CUDA_DIR : NULL;
}
