/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which threads reach a call: conditions, exits from functions, and switches.
 */
#include <stddef.h>

#include "judge_cases.h"

const struct judge_case judge_cases_reach[] = {
	{ "(kernel k (n) (malloc n))", "block uniform",
	  "all threads of the block reach it, with the same n" },
	{ "(kernel k () (malloc 8))", "block uniform", "with the same bytes" },
	{ "(kernel k (n)\n(if (< tid n) (malloc 8)))", "none",
	  "not all threads pass the condition at line 2, because of threadIdx.x" },
	{ "(kernel k (n) (if (< bid n) (malloc 8) (malloc 16)))", "block uniform; block uniform",
	  NULL },
	{ "(kernel k (n) (if (< tid n) 1 (malloc 8)))", "none", NULL },
	{ "(kernel k (n) (if (< tid n) (= n 1)) (malloc 8))", "block uniform", NULL },
	{ "(kernel k (n)\n(declare i (+ tid 1))\n(if (< i n) (malloc 8)))", "none",
	  "line 3, because of i, which depends on threadIdx.x" },
	/* returns */
	{ "(kernel k (n)\n(if (< tid n)\n(return))\n(malloc 8))", "none",
	  "threads leave at line 3 because of threadIdx.x" },
	{ "(kernel k (n) (if (< bid n) (return)) (malloc 8))", "block uniform", NULL },
	{ "(kernel k (n) (malloc 8) (if (< tid n) (return)))", "block uniform", NULL },
	{ "(kernel k (n) (if (< n 1) (if (< tid 1) (return))) (malloc 8))", "none", NULL },
	{ "(kernel k (n) (if (< tid n) (return) (return)) (malloc 8))", "none", NULL },
	{ "(kernel k (n) (if (< tid n) (end)) (malloc 8))", "none", "threads leave" },
	{ "(kernel k (n) (if (< n 4) (end)) (malloc 8))", "block uniform", NULL },
	{ "(kernel k (n) (if (< tid n) (call exit 1)) (malloc 8))", "none", "threads leave" },
	{ "(kernel k (n) (if (< tid n) (call __trap)) (malloc 8))", "block uniform", NULL },
	/* && || ?: */
	{ "(kernel k (n) (&& n (malloc 8)))", "block uniform", NULL },
	{ "(kernel k (n) (|| tid (malloc 8)))", "none", "because of threadIdx.x" },
	{ "(kernel k (n) (&& n 1 tid (malloc 8)))", "none", NULL },
	{ "(kernel k (n) (&& (malloc 8) tid))", "block uniform", NULL },
	{ "(kernel k (n) (? tid (malloc 8) 0))", "none", NULL },
	{ "(kernel k (n) (? n (malloc 8) (malloc 16)))", "block uniform; block uniform", NULL },
	{ "(kernel k (n) (&& tid (= n 2)) (malloc n))", "block varying",
	  "n is not set by all threads, at line 1, because of threadIdx.x" },
	{ "(kernel k (n) (? tid (= n 2) (= n 3)) (malloc n))", "block varying", NULL },
	{ "(kernel k (n) (&& bid (= n 2)) (malloc n))", "block uniform", NULL },
	/* switches */
	{ "(kernel k (n) (switch n (sequence (case (malloc 8)) (break) (default (malloc 9)))))",
	  "block uniform; block uniform", NULL },
	{ "(kernel k (n) (switch tid (sequence (case (malloc 8)) (break))) (malloc 9))",
	  "none; block uniform", NULL },
	{ "(kernel k (n) (switch n (sequence (case (if tid (break))) (malloc 8))))", "none",
	  "threads leave" },
	{ "(kernel k (n) (switch n (sequence (case (if tid (break))) (break) (case (malloc 8)))))",
	  "block uniform", NULL },
	{ "(kernel k (n) (switch n (sequence (case (if tid (break))) (case (malloc 8)))))", "none",
	  NULL },
	{ "(kernel k (n) (switch n (sequence (case (if tid (return))) (break) (case (malloc 8))))"
	  " (malloc 9))",
	  "block uniform; none", NULL },
	{ "(kernel k (n) (switch n (sequence (case (if tid (return) (break))) (case 1) (break)))"
	  " (malloc 9))",
	  "none", NULL },
	{ "(kernel k (n) (declare m _) (switch n (sequence (case (= m 1)) (break) (default (= m "
	  "2))))"
	  " (malloc m))",
	  "block uniform", NULL },
	{ "(kernel k (n) (declare m _) (switch n (sequence (case (= m 1)) (break) (case (= m 2))))"
	  " (malloc m))",
	  "block varying", "may not be set" },
	{ "(kernel k (n) (switch tid (sequence (case (= n 1)) (break) (default (= n 2))))"
	  " (malloc n))",
	  "block varying", NULL },
	/* constructs that are not understood */
	{ "(kernel k (n) (malloc 8) (if n\n(jump)))", "none", "at line 2" },
	{ "(device f () (jump)) (kernel k (n) (malloc 8) (call f) (malloc 9))",
	  "block uniform; none", "control flow is unknown after the jump" },
	{ "(kernel k (n) (malloc 8) (unknown n) (malloc 9))", "block uniform; none",
	  "code at line 1 is not understood" },
	{ "(kernel k (n) (break) (malloc 8))", "none", NULL },
	{ "(kernel k (n) (continue) (malloc 8))", "none", NULL },
	{ "(kernel k (n) (loop 1) (malloc 8))", "none", NULL },
	{ "(kernel k (n) (if n (unknown (malloc 8))))", "none", NULL },
	{ "(kernel k (n) (+ (switch n 1) (malloc 8)))", "none", NULL },
	/* new and delete */
	{ "(kernel k (n) (new _))", "block uniform", "with the same bytes" },
	{ "(kernel k (n) (new[] n))", "block uniform", "the same n" },
	{ "(kernel k (n) (new[] tid))", "block varying", "the size depends on threadIdx.x" },
	{ "(kernel k (n) (new[] _))", "block varying", NULL },
	{ "(kernel k (n) (new tid))", "block uniform", NULL },
	{ "(kernel k (n) (if tid (new _)) (delete n))", "none", NULL },
	/* heaps */
	{ "(kernel k (h* n) (call mam_kmalloc h n))", "block uniform", NULL },
	{ "(kernel k (h* n) (call mam_kmalloc h tid))", "block varying", NULL },
	{ "(kernel k (h* g*) (declare m (? tid h g)) (call mam_kmalloc m 8))", "none",
	  "m depends on threadIdx.x" },
	{ "(included mam_kmalloc (h* n) (return (+ h n))) (kernel k (h*) (call mam_kmalloc h 8))",
	  "block uniform", NULL },
	{ NULL, NULL, NULL },
};
