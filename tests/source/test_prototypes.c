/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our prototypes of the driver's functions match the toolkit's, and so do the numbers.
 *
 * The compiler compares them: otherwise this file does not build. At run time the test checks that
 * it compared the right ones, because cuda.h may rename a function to a later version.
 */
#include <check.h>
#include <cuda.h>
#include <stdlib.h>

#include "source/driver.h"

/* Older headers lack these functions: there is nothing to compare with. */
#define ABSENT(name, symbol) extern __typeof__(*((struct mam_driver *)0)->name) symbol;

#if CUDA_VERSION < 12000
ABSENT(ctx_get_id, cuCtxGetId)
ABSENT(stream_get_id, cuStreamGetId)
#endif
#if CUDA_VERSION < 12030
ABSENT(stream_get_capture_info, cuStreamGetCaptureInfo_v3)
#endif
#if CUDA_VERSION < 12050
ABSENT(ctx_record_event, cuCtxRecordEvent)
#endif

#define COMPARE(name, symbol, need, arguments)                                                    \
	_Static_assert(__builtin_types_compatible_p(__typeof__(symbol),                           \
						    __typeof__(*((struct mam_driver *)0)->name)), \
		       #symbol " has another prototype in cuda.h");

MAM_DRIVER_FUNCTIONS(COMPARE)

_Static_assert(MAM_DRIVER_SUCCESS == CUDA_SUCCESS, "");
_Static_assert(MAM_DRIVER_OUT_OF_MEMORY == CUDA_ERROR_OUT_OF_MEMORY, "");
_Static_assert(MAM_DRIVER_DEINITIALIZED == CUDA_ERROR_DEINITIALIZED, "");
_Static_assert(MAM_DRIVER_NO_DEVICE == CUDA_ERROR_NO_DEVICE, "");
_Static_assert(MAM_DRIVER_INVALID_DEVICE == CUDA_ERROR_INVALID_DEVICE, "");
_Static_assert(MAM_DRIVER_CAPTURE_RELAXED == CU_STREAM_CAPTURE_MODE_RELAXED, "");

#define TEXT(token) #token
#define EXPANDED(token) TEXT(token)

START_TEST(compared_names_match_loaded_functions)
{
#define NAMES(name, symbol, need, arguments) { #symbol, EXPANDED(symbol) },
	static const char *const names[][2] = { MAM_DRIVER_FUNCTIONS(NAMES) };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_str_eq(names[i][0], names[i][1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source/prototypes");
	TCase *names = tcase_create("names");
	SRunner *runner;
	int failed;

	tcase_add_test(names, compared_names_match_loaded_functions);
	suite_add_tcase(suite, names);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
