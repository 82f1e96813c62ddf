/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops: iterations, exits, values that are uniform after the loop, and waiting.
 */
#include <stddef.h>

#include "judge_cases.h"

#define FOR(limit, body) "(loop (declare i 0) (< i " limit ") (+= i 1) " body ")"
#define TRY "(if (call atomicCAS p 0 1) (break))"
#define WHILE(condition, body) "(loop _ " condition " _ " body ")"

const struct judge_case judge_cases_loops[] = {
	{ "(kernel k (n) " FOR("n", "(malloc i)") ")", "block uniform", NULL },
	{ "(kernel k (n)\n" FOR("tid", "(malloc 8)") ")", "none",
	  "threads leave the loop at line 2 in different iterations, because of threadIdx.x" },
	{ "(kernel k (n) " FOR("tid", "1") " (malloc 8))", "block uniform", NULL },
	{ "(kernel k (n) (loop (declare i tid) (< i n) (+= i 1) (malloc 8)))", "none",
	  "because of i, which depends on threadIdx.x" },
	/* the body comes first */
	{ "(kernel k (n) (loop1 _ (< n 4) _ (sequence (malloc 8) (+= n 1))))", "block uniform",
	  NULL },
	{ "(kernel k (n) (loop1 _ (< n tid) _ (sequence (malloc 8) (+= n 1))))", "none", NULL },
	{ "(kernel k (n) (loop1 _ 0 _ (sequence (malloc 8) (if tid (break)) (malloc 9))))",
	  "none; none", NULL },
	/* break */
	{ "(kernel k (n) " FOR("n", "(sequence (malloc 8) (if (< i 3) (break)) (malloc 9))") ")",
	  "block uniform; block uniform", NULL },
	{ "(kernel k (n)\n" FOR("n", "(sequence (malloc 8) (if (< i tid) (break)) (malloc 9))") ")",
	  "none; none", "threads leave at line 2" },
	{ "(kernel k (n) " FOR("n", "(if (< i tid) (break))") " (malloc 8))", "block uniform",
	  NULL },
	{ "(kernel k (n) " FOR("n", "(sequence " FOR("n", "(if tid (break))") " (malloc 8))") ")",
	  "block uniform", NULL },
	{ "(kernel k (n) " FOR("n", "(sequence (if tid (break)) " FOR("n", "(malloc 8)") ")") ")",
	  "none", NULL },
	{ "(kernel k (n) " FOR("n", "(switch n (sequence (case (if tid (break)))))") " (malloc 8))",
	  "block uniform", NULL },
	{ "(kernel k (n) " FOR("n", "(sequence (switch n (case (if tid (break)))) (malloc 8))") ")",
	  "block uniform", NULL },
	/* continue */
	{ "(kernel k (n) " FOR("n", "(sequence (malloc 8) (if tid (continue)) (malloc 9))") ")",
	  "block uniform; none", "threads leave" },
	{ "(kernel k (n) " FOR("n", "(switch n (sequence (case (if tid (continue))) (break)"
				    " (case (malloc 8))))") ")",
	  "block uniform", NULL },
	{ "(kernel k (n) " FOR("n", "(sequence (switch n (sequence (case (if tid (continue)))"
				    " (break) (case 1))) (malloc 8))") ")",
	  "none", NULL },
	{ "(kernel k (n) (declare m 1) " FOR(
		  "n", "(sequence (if tid (continue)) (= m 2))") " (malloc m))",
	  "block varying", "m is not set by all threads" },
	/* return in loops */
	{ "(kernel k (n) " FOR("n", "(if (< i tid) (return))") " (malloc 8))", "none",
	  "threads leave" },
	{ "(kernel k (n) " FOR("n", "(sequence (malloc 8) (if (< i tid) (return)))") ")", "none",
	  NULL },
	{ "(kernel k (n) (loop _ _ _ (if tid (return) (break))) (malloc 8))", "none", NULL },
	{ "(kernel k (n) (loop _ _ _ (if n (return) (break))) (malloc 8))", "block uniform", NULL },
	/* variables that are set in them */
	{ "(kernel k (n) (declare m 0) " FOR("n", "(+= m 2)") " (malloc m))", "block uniform",
	  NULL },
	{ "(kernel k (n) (declare m 0) " FOR("tid", "(+= m 2)") " (malloc m))", "block varying",
	  "m is not set by all threads" },
	{ "(kernel k (n) (declare m 0) " FOR("tid", "(= m 2)") " (malloc m))", "block varying",
	  NULL },
	{ "(kernel k (n) (declare i 0) (loop _ (< i n) (+= i 1) (if (< i tid) (break)))"
	  " (malloc i))",
	  "block varying", NULL },
	{ "(kernel k (n) (declare m 1) (declare l 1) " FOR(
		  "n", "(sequence (malloc l) (= l m) (= m tid))") ")",
	  "block varying", NULL },
	{ "(kernel k (n) (declare m 1) " FOR("n", "(sequence (= m tid) (= m 3) (malloc m))") ")",
	  "block uniform", NULL },
	{ "(kernel k (n) " FOR("n", "(sequence (declare m tid) (= m 3))") " (malloc n))",
	  "block uniform", NULL },
	/* waiting */
	{ "(kernel k (p*)\n" WHILE("(call atomicCAS p 0 1)", "1") " (malloc 8))", "none",
	  "threads may wait for each other at line 2" },
	{ "(kernel k (p*) (declare done 0) " WHILE(
		  "(! done)", "(if (call atomicCAS p 0 1) 1 (= done 1))") " (malloc 8))",
	  "none", "wait" },
	{ "(kernel k (p*) (declare done 0) " WHILE(
		  "(! done)",
		  "(sequence (if (call atomicCAS p 0 1) (continue)) (= done 1))") " (malloc 8))",
	  "none", "wait" },
	{ "(kernel k (p*) (loop _ _ _ (if (call atomicCAS p 0 1) (break))) (malloc 8))", "none",
	  "wait" },
	{ "(device lock (p*) (loop _ _ _ (if (call atomicCAS p 0 1) (return))))"
	  "(kernel k (p*) (call lock p) (malloc 8))",
	  "none", "wait" },
	{ "(kernel k (p*) " WHILE("(@ p)", "1") " (malloc 8))", "none", "wait" },
	{ "(kernel k (p! n) " WHILE("(< p n)", "1") " (malloc 8))", "none", "wait" },
	{ "(global g) (kernel k (p*) " WHILE("g", "1") " (malloc 8))", "none", "wait" },
	{ "(shared s) (kernel k (p*) (= s tid) " WHILE("s", "1") " (malloc 8))", "none", "wait" },
	{ "(device get (p*) (return (@ p))) (kernel k (p*) " WHILE("(call get p)",
								   "1") " (malloc 8))",
	  "none", "wait" },
	{ "(device spin (p*) (if (call atomicCAS p 0 1) (call spin p)))"
	  "(kernel k (p*) (call spin p) (malloc 8))",
	  "none", "wait" },
	{ "(kernel k (p* n) (declare v 1) " WHILE("v", "(= v (@ p))") " (malloc 8))", "none",
	  "wait" },
	/* no waiting: threads continue on their own */
	{ "(kernel k (p* n) " FOR("(@ p tid)", "1") " (malloc 8))", "block uniform", NULL },
	{ "(kernel k (p* n) (declare i 0) " WHILE("(@ p i)", "(+= i 1)") " (malloc 8))",
	  "block uniform", NULL },
	{ "(kernel k (p*) (declare l p) " WHILE("l", "(= l (@ l))") " (malloc 8))", "block uniform",
	  NULL },
	{ "(kernel k (p*) (declare v (@ p tid)) " WHILE("v", "(+= v 1)") " (malloc 8))",
	  "block uniform", NULL },
	{ "(kernel k (p*) " FOR("tid", "(call atomicAdd p 1)") " (malloc 8))", "block uniform",
	  NULL },
	{ "(kernel k (p*) " FOR("9", "(if (call atomicCAS p 0 1) (break))") " (malloc 8))",
	  "block uniform", NULL },
	{ "(kernel k (p*) " WHILE("(call __syncthreads_or (@ p))", "(malloc 8)") " (malloc 9))",
	  "block uniform; block uniform", NULL },
	{ "(kernel k (p*) (loop _ (call __any_sync 1 (call atomicCAS p 0 1)) _ 1) (malloc 8))",
	  "warp uniform", "wait" },
	/* but not if that only seems so */
	{ "(kernel k (p*) (declare i 0) " WHILE("(@! p i)", "(+= i 1)") " (malloc 8))", "none",
	  "wait" },
	{ "(kernel k (p*) (declare i 0) " WHILE("(call __ldcv p i)", "(+= i 1)") " (malloc 8))",
	  "none", "wait" },
	{ "(kernel k (p*) (declare i 0) " WHILE("(call asm p i)", "(+= i 1)") " (malloc 8))",
	  "none", "wait" },
	{ "(kernel k (p*) (loop (declare i 0) (< i 2) (= i (- 1 i)) " TRY ") (malloc 8))", "none",
	  "wait" },
	{ "(kernel k (p*) (loop (declare i 0) (< i 2) (+= i 0) " TRY ") (malloc 8))", "none",
	  "wait" },
	{ "(kernel k (p* n) (loop (declare i 0) (< i 2) (+= i n) " TRY ") (malloc 8))", "none",
	  "wait" },
	{ "(kernel k (p*) (loop (declare i 0) (< 2 i) (+= i 1) " TRY ") (malloc 8))", "none",
	  "wait" },
	{ "(kernel k (p*) (loop (declare i 0) (> 2 i) (+= i 1) " TRY ") (malloc 8))",
	  "block uniform", NULL },
	{ "(kernel k (p* n) (loop (declare i 0) (< i n) (+= i 1) (sequence (+= n 1) " TRY "))"
	  "(malloc 8))",
	  "none", "wait" },
	{ "(kernel k (p*) (loop (declare i 0) (< i 2) (+= i 1) (sequence (= i 0) " TRY "))"
	  "(malloc 8))",
	  "none", "wait" },
	{ "(kernel k (p* n) (declare i 0) (loop _ (< i 2) _ (sequence " TRY
	  "(if n (continue)) (+= i 1))) (malloc 8))",
	  "none", "wait" },
	{ "(kernel k (p* n) (declare i 0) (loop _ (< i 2) _ (sequence " TRY
	  "(if n (+= i 1)))) (malloc 8))",
	  "none", "wait" },
	{ "(kernel k (p* n) (declare i 0) (loop _ (< i 2) _ (sequence " TRY
	  "(+= i 1))) (malloc 8))",
	  "block uniform", NULL },
	/* nested loops, and loops inside code with early exits */
	{ "(kernel k (p* n) (declare v 1) " WHILE(
		  "v", "(sequence (= v (@ p)) " FOR("n", "1") ")") " (malloc 8))",
	  "none", "wait" },
	{ "(kernel k (n) " FOR("n",
			       "(sequence (if tid (continue)) " FOR("n", "1") " (malloc 8))") ")",
	  "none", "threads leave" },
	{ "(kernel k (n) (switch n (sequence (case (if tid (break))) " FOR("n",
									   "1") " (malloc 8))))",
	  "none", "threads leave" },
	{ "(kernel k (n) (declare m 1) " FOR(
		  "n", "(sequence (malloc m) (if i (sequence (= m tid) (continue))) (= m 1))") ")",
	  "block varying", NULL },
	{ "(kernel k (n) (declare m 1) " FOR(
		  "n", "(sequence (malloc m) (if i (sequence (= m 2) (continue))) (= m 1))") ")",
	  "block uniform", NULL },
	{ NULL, NULL, NULL },
};
