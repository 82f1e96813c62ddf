/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that call themselves, and each other. */

struct tree {
	int value;
	struct tree *child[2];
};

/* The depth is the same for all, and nobody stops earlier. */
static __device__ struct tree *grow(int depth, int value)
{
	struct tree *tree = (struct tree *)malloc(sizeof(*tree)); // want: block uniform
	struct tree *left = nullptr, *right = nullptr;

	if (depth > 1) {
		left = grow(depth - 1, 2 * value);
		right = grow(depth - 1, 2 * value + 1);
	}
	if (tree != nullptr) {
		tree->value = value;
		tree->child[0] = left;
		tree->child[1] = right;
	}
	return tree;
}

static __device__ int fell(struct tree *tree)
{
	int sum;

	if (tree == nullptr)
		return 0;
	sum = tree->value + 3 * fell(tree->child[0]) + 5 * fell(tree->child[1]);
	free(tree);
	return sum;
}

__global__ void full_trees(int depth, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	out[id] = fell(grow(depth, id));
}

/* The same, but a thread without memory does not go deeper, though others do. */
static __device__ struct tree *grow_checked(int depth, int value)
{
	struct tree *tree = (struct tree *)malloc(sizeof(*tree)); /* later: block */ // want: none -

	if (tree == nullptr)
		return nullptr;
	tree->value = value;
	tree->child[0] = depth > 1 ? grow_checked(depth - 1, value + 1) : nullptr;
	tree->child[1] = depth > 1 ? grow_checked(depth - 1, value + 2) : nullptr;
	return tree;
}

__global__ void checked_trees(int depth, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	out[id] = fell(grow_checked(depth, id));
}

/* As deep as the data says. */
static __device__ int collatz(int number, int depth)
{
	int *step = (int *)malloc(sizeof(int)); // want: none -
	int rest = depth;

	if (step)
		*step = number;
	if (number > 1 && depth < 20)
		rest = collatz(number % 2 ? 3 * number + 1 : number / 2, depth + 1);
	rest += step ? *step % 10 : 0;
	free(step);
	return rest;
}

__global__ void collatz_depths(const int *numbers, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	out[id] = collatz(numbers[id] + 1, 0);
}

/* Two that call each other, as often for all. */
static __device__ int pong(int rounds, int ball);

static __device__ int ping(int rounds, int ball)
{
	int *racket = (int *)malloc(2 * sizeof(int)); // want: block uniform
	int back;

	if (racket)
		racket[1] = ball;
	back = rounds > 0 ? pong(rounds - 1, ball + 1) : ball;
	back += racket ? racket[1] : 0;
	free(racket);
	return back;
}

static __device__ int pong(int rounds, int ball)
{
	int *racket = (int *)malloc(rounds * 4 + 4); // want: block uniform
	int back;

	if (racket)
		racket[rounds] = ball;
	back = rounds > 0 ? ping(rounds - 1, 2 * ball) : ball;
	back -= racket ? racket[rounds] : 0;
	free(racket);
	return back;
}

__global__ void table_tennis(int rounds, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	out[id] = ping(rounds, id);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(full_trees, 2, 64, 4, corpus_out);
	CORPUS_RUN(checked_trees, 2, 64, 4, corpus_out);
	CORPUS_RUN(collatz_depths, 2, 64, corpus_numbers(128, 60, 1), corpus_out);
	CORPUS_RUN(table_tennis, 2, 64, 7, corpus_out);
	return 0;
}
#endif
