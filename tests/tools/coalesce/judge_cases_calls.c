/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls: contexts, return values, callers, cycles, templates, libraries.
 */
#include <stddef.h>

#include "judge_cases.h"

const struct judge_case judge_cases_calls[] = {
	{ "(device f (n) (malloc n)) (kernel k (n) (call f n))", "block uniform; helper block",
	  "all threads of the block reach it" },
	{ "(device f (n) (malloc n)) (kernel k (n) (call f tid))", "block varying; helper block",
	  NULL },
	{ "(device f (n) (malloc n)) (kernel k (n) (if tid (call f n)))", "none; helper none",
	  NULL },
	/* the coalesce parameter: all threads at one call, some threads at another */
	{ "(device f () (malloc 4)) (kernel k (n) (call f) (if (< tid 4) (call f)))",
	  "none/block; helper block; helper none", NULL },
	{ "(device f () (if tid (malloc 4))) (kernel k (n) (call f) (if (< tid 4) (call f)))",
	  "none; helper block; helper none", NULL },
	{ "(device f (n) (malloc n)) (kernel k (n) (call f n) (if tid (call f tid)))",
	  "none/block; helper block; helper none", NULL },
	{ "(device f () (malloc 4)) (device g () (call f)) (kernel k () (call g) (if tid (call "
	  "g)))",
	  "none/block; helper none/block; helper block; helper none", NULL },
	{ "(device f () (malloc 4)) (kernel k (n) (call f) (if (call __any_sync 1 tid) (call f)))",
	  "warp uniform; helper block; helper warp", NULL },
	/* return values */
	{ "(device f (n) (return (+ n 1))) (kernel k (n) (malloc (call f n)) (malloc (call f "
	  "tid)))",
	  "block uniform; block varying", NULL },
	{ "(device f (n) (if (< tid n) (return 1)) (return 2)) (kernel k (n) (malloc (call f n)))",
	  "block varying", NULL },
	{ "(device f (n) (if n (return 1)) (return 2)) (kernel k (n) (malloc (call f n)))",
	  "block uniform", NULL },
	{ "(device f (n) (if (< tid n) (return)) (malloc 4)) (kernel k (n) (call f n) (malloc 8))",
	  "none; helper block; block uniform", NULL },
	{ "(device f (n) (if (< tid n) (end))) (kernel k (n) (call f n) (malloc 8))", "none",
	  "threads may not return from f, called at line 1" },
	{ "(device f (n) (if n (end))) (kernel k (n) (call f n) (malloc 8))", "block uniform",
	  NULL },
	{ "(device g (n) (if (< tid n) (end))) (device f (n) (call g n))"
	  "(kernel k (n) (call f n) (malloc 8))",
	  "none", NULL },
	{ "(device f (n) (= n tid)) (kernel k (n) (call f n) (malloc n))", "block uniform", NULL },
	{ "(device f (n&) (= n tid)) (kernel k (n^) (call f n) (malloc n))", "block varying",
	  NULL },
	{ "(device f (a b) (return a)) (kernel k (n) (malloc (call f n)))", "block varying", NULL },
	{ "(device f (a b) (return a)) (kernel k (n) (malloc (call f n tid)))", "block uniform",
	  NULL },
	/* callers */
	{ "(device f () (malloc 8))", "none", "the callers of this function are unknown" },
	{ "(virtual f () (malloc 8)) (kernel k () (call f))", "none/block; helper block", NULL },
	{ "(device f () (malloc 8)) (kernel k () (unknown (call f)))", "none; helper none", NULL },
	{ "(device f () (malloc 8)) (kernel k () (jump) (call f))", "none; helper none", NULL },
	{ "(device f () (malloc 8) (call g)) (device g () (call f))",
	  "none; helper none; helper none", NULL },
	{ "(kernel k () (malloc 8)) (kernel l () (if tid (call k)))", "block uniform", NULL },
	/* cycles */
	{ "(device f (n) (malloc 4) (if n (call f (- n 1)))) (kernel k (n) (call f n) (malloc 8))",
	  "block uniform; helper block; helper block; block uniform", NULL },
	{ "(device f (n) (malloc 4) (if n (call f (- n 1)))) (kernel k (n) (call f tid) (malloc "
	  "8))",
	  "none/block; helper none; helper block; block uniform", NULL },
	{ "(device f (n p) (malloc 4) (if n (call f p tid))) (kernel k (n) (call f n n))",
	  "none/block; helper none; helper block", NULL },
	{ "(device f (n) (malloc n) (if n (call g (- n 1)))) (device g (n) (if n (call f n)))"
	  "(kernel k (n) (call f n))",
	  "block uniform; helper block; helper block; helper block", NULL },
	/* unknown functions */
	{ "(kernel k (n) (call stranger n) (malloc 8))", "none",
	  "threads may not return from stranger" },
	{ "(kernel k (n) (malloc 8) (call stranger n))", "block uniform", NULL },
	{ "(kernel k (n) (malloc (call stranger n)))", "none", NULL },
	{ "(kernel k (n) (call printf n) (malloc 8))", "block uniform", NULL },
	{ "(kernel k (n) (call MPI_Alltoall n) (malloc 8))", "helper block; block uniform", NULL },
	{ "(kernel k (n) (if tid (call MPI_Alltoall n)) (malloc (call MPI_Alltoall n)))",
	  "helper none; block varying; helper block", NULL },
	{ "(device malloc (n) (return n)) (kernel k (n) (call malloc n))", "", NULL },
	/* shared variables across calls */
	{ "(shared s) (device meet () (call __syncthreads)) (kernel k (n) (if (== tid 0) (= s n))"
	  "(call meet) (malloc s))",
	  "block uniform", NULL },
	{ "(shared s) (device meet (n) (if n (call __syncthreads))) (kernel k (n)"
	  "(if (== tid 0) (= s n)) (call meet n) (malloc s))",
	  "block varying", NULL },
	{ "(shared s) (device set (n) (= s n)) (kernel k (n) (if (== tid 0) (= s n))"
	  "(call __syncthreads) (call set tid) (malloc s))",
	  "block varying", NULL },
	{ "(shared s) (device set (n) (= s n)) (kernel k (n) (if (== tid 0) (call set n))"
	  "(call __syncthreads) (malloc s))",
	  "block uniform", NULL },
	{ "(shared s) (device get () (return s)) (kernel k (n) (if (== tid 0) (= s n))"
	  "(call __syncthreads) (malloc (call get)))",
	  "block uniform", NULL },
	{ "(shared s) (device get () (return s)) (kernel k (n) (if (== tid 0) (= s n))"
	  "(malloc (call get)) (call __syncthreads) (malloc (call get)))",
	  "block varying; block uniform", NULL },
	{ "(shared s) (device get () (return s)) (kernel k (n) (if (== tid 0) (= s n))"
	  "(call __syncthreads) (malloc (call get)) (if (== tid 0) (= s 1)))",
	  "block varying", NULL },
	/* templates: one verdict for all instances */
	{ "(kernel k (n) (malloc 8)) (again k)", "block uniform", NULL },
	{ "(device f (n) (malloc n)) (again f) (kernel k (n) (call f n))",
	  "none/block; helper block", NULL },
	{ "(device f (n) (malloc n)) (again f) (kernel k (n) (call f n) (call again tid))",
	  "block varying; helper block; helper block", NULL },
	{ "(device f (n) (malloc n)) (again f) (kernel k (n) (call f n) (call again n))",
	  "block uniform; helper block; helper block", NULL },
	/* cycles that no kernel reaches, and that wait */
	{ "(device f () (call g)) (device g () (call f) (call h)) (device h () (malloc 8))"
	  "(kernel k () (call h))",
	  "helper none; helper none; helper none; none/block; helper block", NULL },
	{ "(device f (p*) (call g p)) (device g (p*) (if (call atomicCAS p 0 1) (call f p)))"
	  "(kernel k (p*) (call f p) (malloc 8))",
	  "none", "wait" },
	/* the caller reads a value that the callee writes */
	{ "(shared s) (device set (n) (= s n)) (kernel k (n) (if (== tid 0) (= s n))"
	  "(call __syncthreads) (malloc s) (if (== tid 0) (call set 1)))",
	  "block varying", NULL },
	/* names that are known in std:: only */
	{ "(kernel k (n) (malloc (call std::move n)))", "block uniform", NULL },
	{ "(kernel k (n) (malloc (call move n)))", "none", NULL },
	{ "(kernel k (n) (malloc (call own::min n)))", "none", NULL },
	{ "(kernel k (n) (malloc (call ::min n)))", "block uniform", NULL },
	{ "(kernel k (n) (malloc (call __fadd_rn n)))", "block uniform", NULL },
	/* and functions of the program with those names */
	{ "(kernel k (n) (malloc (own __fadd_rn n)))", "none", NULL },
	{ "(kernel k (n) (malloc (own min n 3)))", "none", NULL },
	{ "(kernel k (n) (malloc (own std::min n 3)))", "block uniform", NULL },
	{ "(included min (n m) (return tid)) (kernel k (n) (malloc (call min n 3)))",
	  "block varying", NULL },
	/* arguments may be evaluated from last to first */
	{ "(device f (n m) (return n)) (kernel k (n) (malloc (call f n (= n tid))))",
	  "block varying", NULL },
	{ "(device f (n m) (return n)) (kernel k (n) (malloc (call f (= n 1) 2)))", "block uniform",
	  NULL },
	/* the lesser of two is one of them */
	{ "(kernel k (n^ m^) (declare r& (call std::min n m)) (malloc n))", "block varying", NULL },
	{ NULL, NULL, NULL },
};
