/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests for null, if claimed allocations give all threads of the block memory, or none of them:
 * which verdicts follow, and which follow from those, until there are no more.
 */
#include <stddef.h>

#include "judge_cases.h"

const struct judge_case judge_cases_together[] = {
	{ "(kernel k (n) (declare p* (malloc n)) (if (null p) (return)) (malloc 8))",
	  "block uniform; block uniform", NULL },
	{ "(kernel k (n) (declare p* (cast (malloc n))) (if (null p) (return)) (malloc 8))",
	  "block uniform; block uniform", NULL },
	{ "(kernel k (n p*) (if (null (= p (malloc n))) (end)) (malloc 8))",
	  "block uniform; block uniform", NULL },
	{ "(kernel k (n) (declare p* (malloc n)) (if (&& (null p) n) (return)) (malloc 8))",
	  "block uniform; block uniform", NULL },
	/* one through the other */
	{ "(kernel k (n) (declare p* (malloc n)) (if (null p) (return)) (declare q* (malloc 8))"
	  "(if (null q) (return)) (declare r* (malloc 9)) (if (null r) (return)) (malloc 7))",
	  "block uniform; block uniform; block uniform; block uniform", NULL },
	{ "(kernel k (n) (loop _ n _ (sequence (declare p* (malloc n)) (if (null p) (break))"
	  "(malloc 8))) (malloc 9))",
	  "block uniform; block uniform; block uniform", NULL },
	{ "(device f (n) (return (malloc n)))"
	  "(kernel k (n) (declare p* (call f n)) (if (null p) (return)) (malloc 8))",
	  "block uniform; helper block; block uniform", NULL },
	/* the pointer is not tested for null */
	{ "(kernel k (n) (declare p* (malloc n)) (if p (return)) (malloc 8))",
	  "block uniform; none", "the memory that malloc returned" },
	{ "(kernel k (n) (declare p* (+ (malloc n) 1)) (if (null p) (return)) (malloc 8))",
	  "block uniform; none", NULL },
	{ "(kernel k (n) (declare p* (malloc n)) (if (null (? p n 0)) (return)) (malloc 8))",
	  "block uniform; none", NULL },
	{ "(kernel k (n) (declare p* (malloc n)) (if (null (&& p n)) (return)) (malloc 8))",
	  "block uniform; none", NULL },
	{ "(constant c) (kernel k (n) (declare p* (malloc n)) (if (null (@ c p)) (return))"
	  "(malloc 8))",
	  "block uniform; none", NULL },
	{ "(shared s) (kernel k (n) (declare p* (malloc n)) (= (@ s 1) n) (call __syncthreads)"
	  "(if (null (@ s p)) (return)) (malloc 8))",
	  "block uniform; none", NULL },
	{ "(kernel k (n) (declare p* (malloc n)) (if (null (call std::min p n)) (return))"
	  "(malloc 8))",
	  "block uniform; none", NULL },
	{ "(kernel k (n) (declare p* (malloc n)) (if (null (@ p)) (return)) (malloc 8))",
	  "block uniform; none", NULL },
	/* the tested pointer is not the allocated one */
	{ "(kernel k (n) (declare p* (malloc n)) (if (< tid n) (= p 0)) (if (null p) (return))"
	  "(malloc 8))",
	  "block uniform; none", NULL },
	{ "(kernel k (n) (declare p* (malloc n)) (declare q* (malloc n)) (if p (= q 0))"
	  "(if (null q) (return)) (malloc 8))",
	  "block uniform; block uniform; none", NULL },
	{ "(kernel k (n p^) (= p (malloc n)) (if (null p) (return)) (malloc 8))",
	  "block uniform; none", NULL },
	{ "(global p) (kernel k (n) (= p (malloc n)) (if (null p) (return)) (malloc 8))",
	  "block uniform; none", NULL },
	{ "(device f (p*) (if (null p) (return)) (malloc 8)) (kernel k (n) (call f (malloc n)))",
	  "none; helper block; block uniform", NULL },
	{ "(kernel k (n) (declare p* (malloc n)) (loop _ n _ (sequence (if (null p) (break))"
	  "(malloc 8) (if (< tid n) (= p 0)))))",
	  "block uniform; none", NULL },
	{ "(device f (n) (declare p* (malloc 4)) (declare q* (call f n)) (if q (return 0))"
	  "(return p)) (kernel k (n) (if (null (call f n)) (return)) (malloc 8))",
	  "block uniform; helper block; helper block; none", NULL },
	/* not all threads or none get memory */
	{ "(kernel k (n) (declare p* (malloc tid)) (if (null p) (return)) (malloc 8))",
	  "block varying; none", NULL },
	{ "(kernel k (n) (declare p* 0) (if tid (= p (malloc n))) (if (null p) (return))"
	  "(malloc 8))",
	  "none; none", NULL },
	{ "(kernel k (n) (if (call __any_sync 1 tid) (sequence (declare p* (malloc n))"
	  "(if (null p) (return)) (malloc 8))))",
	  "warp uniform; none", NULL },
	{ NULL, NULL, NULL },
};
