/* SPDX-License-Identifier: Apache-2.0 */
/*
 * training.c - the trace behind workload "training": what a program that trains a GPT-2 like
 * transformer asks of its allocator. Nothing is recorded: it is made by rules, from a fixed seed.
 *
 *  1. Start. LAYERS layers of twelve parameters each, in bfloat16, the embeddings, and one
 *     workspace. They stay.
 *  2. Forward. A batch of BATCH sequences, each step of another length, a multiple of 64 up to
 *     LONGEST. Each layer keeps what its backward will need, and frees the rest at once. Then
 *     logits and loss, the largest blocks of all.
 *  3. Backward. Layers in reverse order. Each makes a gradient for each parameter, which stays to
 *     the end of the step, gradients of activations, which the layer before frees, and small
 *     workspaces; then it frees what its forward kept.
 *  4. Clipping. A norm of each gradient, 4 bytes, and all freed.
 *  5. Optimiser. The first step makes three single-precision states of each parameter, which stay.
 *     For each parameter two temporaries come and go. Then all gradients are freed.
 *  6. Every EVALUATE_EVERY steps one forward without a backward: each layer's blocks go at once.
 *
 * It ends after EVENTS events, wherever in a step that is: what is live then stays live. Sizes are
 * what frameworks ask for, not rounded. Slots are numbered like a program's variables: the one that
 * was freed last is used first.
 */
#include "training.h"

#include <stdlib.h>

#include "bench.h"

#define EVENTS 207743
#define LAYERS 37
#define WIDTH ((size_t)1280)
#define HEADS ((size_t)20)
#define WORDS ((size_t)50304)
#define BATCH ((size_t)12)
#define LONGEST 1024
#define EVALUATE_EVERY 8
#define WORKSPACE ((size_t)32 << 20)
#define PARAMETERS (LAYERS * 12 + 4)
#define NONE UINT32_MAX
#define SLOTS_MOST 8192

/* A layer's twelve: bytes an element of the model's width, times width where square. */
static const struct parameter {
	size_t wide;
	bool square;
} layer_parameters[12] = {
	{ 1, false }, { 1, false }, { 3, true }, { 3, false }, { 1, true }, { 1, false },
	{ 1, false }, { 1, false }, { 4, true }, { 4, false }, { 4, true }, { 1, false },
};

/* What a layer's forward keeps for its backward. */
enum {
	KEPT_NORM1,
	KEPT_MEAN1,
	KEPT_DEV1,
	KEPT_QKV,
	KEPT_ATTENTION,
	KEPT_SUMS,
	KEPT_DICE1,
	KEPT_DICE2,
	KEPT_MIDDLE,
	KEPT_NORM2,
	KEPT_MEAN2,
	KEPT_DEV2,
	KEPT_WIDE,
	KEPT_GELU,
	KEPT_OUT,
	KEPT
};

struct maker {
	struct training *made;
	bool full;      /* EVENTS are made: the rest of the step is not */
	size_t live;    /* bytes */
	size_t *sizes;  /* of each slot */
	uint32_t *idle; /* slots, the last freed on top */
	size_t idle_count;
	struct bench_random random;
	size_t parameters[PARAMETERS]; /* elements */
	uint32_t gradients[PARAMETERS];
	uint32_t kept[LAYERS][KEPT];
	size_t tokens; /* of the step */
};

static uint32_t take(struct maker *maker, size_t bytes)
{
	struct training *made = maker->made;
	uint32_t slot;

	if (made->count == EVENTS || (maker->idle_count == 0 && made->slots == SLOTS_MOST))
		maker->full = true;
	if (maker->full)
		return NONE;
	slot = maker->idle_count > 0 ? maker->idle[--maker->idle_count] : (uint32_t)made->slots++;
	made->events[made->count++] = (struct training_event){ bytes, slot };
	maker->sizes[slot] = bytes;
	maker->live += bytes;
	if (maker->live > made->peak_bytes)
		made->peak_bytes = maker->live;
	return slot;
}

static void give(struct maker *maker, uint32_t slot)
{
	struct training *made = maker->made;

	if (made->count == EVENTS)
		maker->full = true;
	if (maker->full || slot == NONE)
		return;
	made->events[made->count++] = (struct training_event){ 0, slot };
	maker->live -= maker->sizes[slot];
	maker->idle[maker->idle_count++] = slot;
}

/* Used and done with at once. */
static void pass(struct maker *maker, size_t bytes)
{
	give(maker, take(maker, bytes));
}

static void make_model(struct maker *maker)
{
	size_t i, count = 0;

	maker->parameters[count++] = WORDS * WIDTH;
	maker->parameters[count++] = LONGEST * WIDTH;
	for (i = 0; i < LAYERS * 12; i++) {
		const struct parameter *one = &layer_parameters[i % 12];

		maker->parameters[count++] = one->wide * WIDTH * (one->square ? WIDTH : 1);
	}
	maker->parameters[count++] = WIDTH;
	maker->parameters[count++] = WIDTH;
	for (i = 0; i < count; i++)
		take(maker, maker->parameters[i] * 2);
	take(maker, WORKSPACE);
}

/* One layer; what its backward needs is in maker->kept. */
static void forward_layer(struct maker *maker, size_t layer)
{
	size_t tokens = maker->tokens, act = tokens * WIDTH * 2; /* bytes of one activation */
	uint32_t *kept = maker->kept[layer], part;

	kept[KEPT_NORM1] = take(maker, act);
	kept[KEPT_MEAN1] = take(maker, tokens * 4);
	kept[KEPT_DEV1] = take(maker, tokens * 4);
	kept[KEPT_QKV] = take(maker, 3 * act);
	kept[KEPT_ATTENTION] = take(maker, act);
	kept[KEPT_SUMS] = take(maker, tokens * HEADS * 4);
	kept[KEPT_DICE1] = take(maker, 8);
	kept[KEPT_DICE2] = take(maker, 8);
	part = take(maker, act);
	kept[KEPT_MIDDLE] = take(maker, act);
	give(maker, part);
	kept[KEPT_NORM2] = take(maker, act);
	kept[KEPT_MEAN2] = take(maker, tokens * 4);
	kept[KEPT_DEV2] = take(maker, tokens * 4);
	kept[KEPT_WIDE] = take(maker, 4 * act);
	kept[KEPT_GELU] = take(maker, 4 * act);
	part = take(maker, act);
	kept[KEPT_OUT] = take(maker, act);
	give(maker, part);
}

static void drop_layer(struct maker *maker, size_t layer)
{
	size_t i;

	for (i = 0; i < KEPT; i++)
		give(maker, maker->kept[layer][i]);
}

static void make_gradient(struct maker *maker, size_t parameter)
{
	maker->gradients[parameter] = take(maker, maker->parameters[parameter] * 2);
}

/* Takes the gradient of the layer's output, answers that of its input. */
static uint32_t backward_layer(struct maker *maker, size_t layer, uint32_t grad)
{
	size_t tokens = maker->tokens, act = tokens * WIDTH * 2, first = 2 + layer * 12;
	uint32_t *kept = maker->kept[layer], wide, middle, next;

	give(maker, kept[KEPT_OUT]);
	wide = take(maker, 4 * act); /* through the second matrix of the feed-forward part */
	make_gradient(maker, first + 10);
	pass(maker, WIDTH * 4 * 32);
	make_gradient(maker, first + 11);
	give(maker, kept[KEPT_GELU]);
	next = take(maker, 4 * act);
	give(maker, wide);
	give(maker, kept[KEPT_WIDE]);
	middle = take(maker, act);
	make_gradient(maker, first + 8);
	pass(maker, 4 * WIDTH * 4 * 32);
	make_gradient(maker, first + 9);
	give(maker, next);
	next = take(maker, act); /* the norm's, then the sum with what came round it */
	pass(maker, tokens / 4 * 4);
	make_gradient(maker, first + 6);
	make_gradient(maker, first + 7);
	give(maker, kept[KEPT_NORM2]);
	give(maker, kept[KEPT_MEAN2]);
	give(maker, kept[KEPT_DEV2]);
	give(maker, middle);
	middle = take(maker, act);
	give(maker, next);
	give(maker, grad);
	give(maker, kept[KEPT_MIDDLE]);
	grad = take(maker, act); /* through attention */
	make_gradient(maker, first + 4);
	pass(maker, WIDTH * 4 * 32);
	make_gradient(maker, first + 5);
	wide = take(maker, 3 * act);
	pass(maker, tokens * HEADS * 4);
	pass(maker, act * 2);
	give(maker, kept[KEPT_ATTENTION]);
	give(maker, kept[KEPT_SUMS]);
	give(maker, kept[KEPT_DICE1]);
	give(maker, kept[KEPT_DICE2]);
	give(maker, kept[KEPT_QKV]);
	give(maker, grad);
	grad = take(maker, act);
	make_gradient(maker, first + 2);
	pass(maker, 3 * WIDTH * 4 * 32);
	make_gradient(maker, first + 3);
	give(maker, wide);
	next = take(maker, act);
	pass(maker, tokens / 4 * 4);
	make_gradient(maker, first);
	make_gradient(maker, first + 1);
	give(maker, grad);
	give(maker, kept[KEPT_NORM1]);
	give(maker, kept[KEPT_MEAN1]);
	give(maker, kept[KEPT_DEV1]);
	grad = take(maker, act);
	give(maker, next);
	give(maker, middle);
	return grad;
}

static void optimise(struct maker *maker, bool first)
{
	uint32_t norms[PARAMETERS];
	size_t i, state;

	for (i = 0; i < PARAMETERS; i++)
		norms[i] = take(maker, 4);
	pass(maker, PARAMETERS * 4);
	for (i = 0; i < PARAMETERS; i++)
		give(maker, norms[i]);
	for (i = 0; i < PARAMETERS; i++) {
		uint32_t whole = take(maker, maker->parameters[i] * 4);

		for (state = 0; first && state < 3; state++)
			take(maker, maker->parameters[i] * 4);
		pass(maker, maker->parameters[i] * 4);
		give(maker, whole);
	}
	for (i = 0; i < PARAMETERS; i++)
		give(maker, maker->gradients[i]);
}

static void train(struct maker *maker, bool first)
{
	size_t act = maker->tokens * WIDTH * 2, words = maker->tokens * WORDS, layer;
	uint32_t input = take(maker, maker->tokens * 8), target = take(maker, maker->tokens * 8);
	uint32_t sum = take(maker, act), norm, logits, whole, chances, loss, slope, grad;

	pass(maker, act);
	for (layer = 0; layer < LAYERS; layer++)
		forward_layer(maker, layer);
	norm = take(maker, act);
	logits = take(maker, words * 2);
	whole = take(maker, words * 4);
	chances = take(maker, words * 4);
	give(maker, whole);
	loss = take(maker, 4);
	whole = take(maker, words * 4);
	give(maker, chances);
	slope = take(maker, words * 2);
	give(maker, whole);
	grad = take(maker, act);
	make_gradient(maker, 0);
	give(maker, slope);
	make_gradient(maker, PARAMETERS - 2);
	make_gradient(maker, PARAMETERS - 1);
	give(maker, norm);
	for (layer = LAYERS; layer-- > 0;)
		grad = backward_layer(maker, layer, grad);
	pass(maker, WORDS * WIDTH * 2);
	make_gradient(maker, 1);
	give(maker, grad);
	give(maker, sum);
	give(maker, logits); /* the program held on to its model's answer */
	give(maker, loss);
	give(maker, input);
	give(maker, target);
	optimise(maker, first);
}

static void evaluate(struct maker *maker)
{
	uint32_t logits;
	size_t layer;

	for (layer = 0; layer < LAYERS; layer++) {
		forward_layer(maker, layer);
		if (layer > 0)
			drop_layer(maker, layer - 1);
	}
	logits = take(maker, maker->tokens * WORDS * 2);
	pass(maker, maker->tokens * WORDS * 4);
	give(maker, logits);
	drop_layer(maker, LAYERS - 1);
}

bool training_make(struct training *training)
{
	struct maker *maker = calloc(1, sizeof(*maker));

	*training = (struct training){ .events = calloc(EVENTS, sizeof(*training->events)) };
	if (maker != NULL) {
		maker->made = training;
		maker->random.state = 207743;
		maker->sizes = calloc(SLOTS_MOST, sizeof(*maker->sizes));
		maker->idle = calloc(SLOTS_MOST, sizeof(*maker->idle));
	}
	if (maker != NULL && training->events != NULL && maker->sizes != NULL &&
	    maker->idle != NULL) {
		make_model(maker);
		while (!maker->full) {
			size_t length = 64 * bench_random_between(&maker->random, 4, LONGEST / 64);

			maker->tokens = BATCH * length;
			train(maker, training->steps == 0);
			if (++training->steps % EVALUATE_EVERY == 0)
				evaluate(maker);
		}
	}
	if (maker != NULL) {
		free(maker->sizes);
		free(maker->idle);
	}
	free(maker);
	if (training->count == EVENTS)
		return true;
	training_fini(training);
	return false;
}

void training_fini(struct training *training)
{
	free(training->events);
	training->events = NULL;
}

bool training_print(const struct training *training, FILE *file)
{
	size_t i;

	fprintf(file, "# made up: the training of a transformer, by mam bench trace\n");
	for (i = 0; i < training->count; i++) {
		const struct training_event *event = &training->events[i];

		if (event->bytes > 0)
			fprintf(file, "a %u %zu 0\n", event->slot, event->bytes);
		else
			fprintf(file, "f %u\n", event->slot);
	}
	return fflush(file) == 0 && !ferror(file);
}
