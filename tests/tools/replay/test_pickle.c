/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pickles as Python writes them, byte by byte, and malicious ones. The bytes in the tables of
 * values are the output of Python's pickle.dumps() for the value in the comment.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>

#include "read/pickle.h"
#include "tools/failing.h"

static struct pickle pickle;

/* Bytes that are returned in portions. */
struct source {
	const char *at;
	size_t left;
	size_t portion; /* 0: all that there are */
	size_t fill;    /* number of bytes 'fill_with' that follow, unlimited if SIZE_MAX */
	char fill_with;
	bool breaks; /* reading fails at their end */
	uint64_t taken;
};

static enum mam_status give(void *user, void *buffer, size_t bytes, size_t *got)
{
	struct source *source = user;

	if (source->portion && bytes > source->portion)
		bytes = source->portion;
	if (source->left == 0 && source->fill) {
		*got = bytes < source->fill ? bytes : source->fill;
		memset(buffer, source->fill_with, *got);
		source->fill -= source->fill == SIZE_MAX ? 0 : *got;
	} else if (source->left == 0 && source->breaks) {
		return MAM_ERROR_IO;
	} else {
		*got = bytes < source->left ? bytes : source->left;
		memcpy(buffer, source->at, *got);
		source->at += *got;
		source->left -= *got;
	}
	source->taken += *got;
	return MAM_OK;
}

static bool load(struct source source)
{
	return pickle_load(&pickle, give, &source);
}

#define BYTES(text)                                  \
	{                                            \
		.at = text, .left = sizeof(text) - 1 \
	}
#define LOAD(text) load((struct source)BYTES(text))

static void begin(void)
{
	failing_left = -1;
	pickle = (struct pickle){ 0 };
}

static void end(void)
{
	failing_left = -1;
	pickle_fini(&pickle);
}

static const struct {
	struct source source;
	int64_t number;
} integers[] = {
	{ BYTES("\x80\x04K\x00."), 0 },
	{ BYTES("\x80\x04K\xff."), 255 },
	{ BYTES("\x80\x04M\x00\x01."), 256 },
	{ BYTES("\x80\x04M\xff\xff."), 65535 },
	{ BYTES("\x80\x04J\xff\xff\xff\xff."), -1 },
	{ BYTES("\x80\x04J\xff\xff\xff\x7f."), INT32_MAX },
	{ BYTES("\x80\x04J\x00\x00\x00\x80."), INT32_MIN },
	{ BYTES("\x80\x04\x8a\x05\x00\x00\x00\x80\x00."), INT64_C(2147483648) },
	{ BYTES("\x80\x04\x8a\x05\xff\xff\xff\x7f\xff."), INT64_C(-2147483649) },
	{ BYTES("\x80\x04\x8a\x06\x00\x00\x00\x00\x80\x00."), INT64_C(549755813888) },
	{ BYTES("\x80\x04\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x07."), ((int64_t)1 << 59) - 1 },
	{ BYTES("\x80\x04\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x08."), (int64_t)1 << 59 },
	{ BYTES("\x80\x04\x8a\x08\x01\x00\x00\x00\x00\x00\x00\xf8."), 1 - ((int64_t)1 << 59) },
	{ BYTES("\x80\x04\x8a\x08\x00\x00\x00\x00\x00\x00\x00\xf8."), -((int64_t)1 << 59) },
	{ BYTES("\x80\x04\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f."), INT64_MAX },
	{ BYTES("\x80\x04\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80."), INT64_MIN },
	{ BYTES("\x80\x04\x8a\x00."), 0 },
	{ BYTES("\x80\x04\x8a\x0a\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00."), 7 }, /* padded */
	{ BYTES("I-12\n."), -12 },
	{ BYTES("L9223372036854775807L\n."), INT64_MAX },
	{ BYTES("L-9223372036854775808L\n."), INT64_MIN },
	{ BYTES("I+5\n."), 5 },
};

START_TEST(integers_are_read)
{
	int64_t number = 99;

	ck_assert(load(integers[_i].source));
	ck_assert_int_eq(pickle_kind(pickle.root), PICKLE_INT);
	ck_assert(pickle_int(&pickle, pickle.root, &number));
	ck_assert_int_eq(number, integers[_i].number);
	ck_assert_uint_eq(pickle.bytes, integers[_i].source.left);
}
END_TEST

static const struct source huges[] = {
	BYTES("\x80\x04\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00."), /* 2 ** 63 */
	BYTES("\x80\x04\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\xff."), /* -2 ** 63 - 1 */
	BYTES("\x80\x04\x8b\x0c\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c."),
	BYTES("L9223372036854775808L\n."),
	BYTES("L-9223372036854775809L\n."),
	BYTES("L123456789012345678901234567890L\n."),
};

START_TEST(integers_that_do_not_fit_are_not_integers)
{
	int64_t number = 99;

	ck_assert(load(huges[_i]));
	ck_assert_int_eq(pickle_kind(pickle.root), PICKLE_HUGE);
	ck_assert(!pickle_int(&pickle, pickle.root, &number));
	ck_assert_int_eq(number, 99);
}
END_TEST

static const struct {
	struct source source;
	enum pickle_kind kind;
	const char *text;
	size_t bytes;
} texts[] = {
	{ BYTES("\x80\x04\x8c\x01\x61\x94."), PICKLE_TEXT, "a", 1 },
	{ BYTES("\x80\x02X\x02\x00\x00\x00\xc3\xa9q\x00."), PICKLE_TEXT, "\xc3\xa9", 2 },
	{ BYTES("\x80\x04\x8d\x03\x00\x00\x00\x00\x00\x00\x00xyz."), PICKLE_TEXT, "xyz", 3 },
	{ BYTES("\x80\x04\x8c\x00\x94."), PICKLE_TEXT, "", 0 },
	{ BYTES("\x80\x04\x43\x02\x00\x01\x94."), PICKLE_BYTES, "\x00\x01", 2 },
	{ BYTES("\x80\x03\x42\x01\x00\x00\x00zq\x00."), PICKLE_BYTES, "z", 1 },
	{ BYTES("\x80\x05\x96\x02\x00\x00\x00\x00\x00\x00\x00hi\x94."), PICKLE_BYTES, "hi", 2 },
	{ BYTES("U\x02ok."), PICKLE_TEXT, "ok", 2 },
	{ BYTES("S'a\\x41\\n\\\\\\''\n."), PICKLE_TEXT, "aA\n\\'", 5 },
	{ BYTES("S\"it's\"\n."), PICKLE_TEXT, "it's", 4 },
	{ BYTES("Vplain\np0\n."), PICKLE_TEXT, "plain", 5 },
	{ BYTES("V\xe9\\u20ac\\U0001f600\\u005c\np0\n."), PICKLE_TEXT,
	  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\\", 10 },
	{ BYTES("V\\q\\u12\\U00110000\n."), PICKLE_TEXT, "\\q\\u12\xef\xbf\xbd", 9 },
	{ BYTES("V\n."), PICKLE_TEXT, "", 0 },
};

START_TEST(texts_are_read)
{
	const char *text = NULL;
	size_t bytes = 99;

	ck_assert_msg(load(texts[_i].source), "%s", pickle.problem.text);
	ck_assert_int_eq(pickle_kind(pickle.root), texts[_i].kind);
	ck_assert(pickle_text(&pickle, pickle.root, &text, &bytes));
	ck_assert_uint_eq(bytes, texts[_i].bytes);
	ck_assert_mem_eq(text, texts[_i].text, bytes);
}
END_TEST

START_TEST(constants_and_fractions_are_read)
{
	double number;
	int64_t integer = 5;

	ck_assert(LOAD("\x80\x04N."));
	ck_assert_int_eq(pickle_kind(pickle.root), PICKLE_NONE);
	ck_assert(!pickle_int(&pickle, pickle.root, &integer));
	ck_assert(LOAD("\x80\x04\x88."));
	ck_assert_int_eq(pickle_kind(pickle.root), PICKLE_BOOL);
	ck_assert(pickle_int(&pickle, pickle.root, &integer));
	ck_assert_int_eq(integer, 1);
	ck_assert(LOAD("I00\n."));
	ck_assert_int_eq(pickle_kind(pickle.root), PICKLE_BOOL);
	ck_assert(pickle_int(&pickle, pickle.root, &integer));
	ck_assert_int_eq(integer, 0);
	ck_assert(LOAD("\x80\x04G\xbf\xf8\x00\x00\x00\x00\x00\x00."));
	ck_assert(pickle_float(&pickle, pickle.root, &number));
	ck_assert(number == -1.5);
	ck_assert(!pickle_int(&pickle, pickle.root, &integer));
	pickle_fini(&pickle);
	ck_assert(LOAD("F-1.5\n."));
	ck_assert(pickle_float(&pickle, pickle.root, &number));
	ck_assert(number == -1.5);
}
END_TEST

static int64_t int_of(struct pickle_value value)
{
	int64_t number = INT64_MIN;

	ck_assert(pickle_int(&pickle, value, &number));
	return number;
}

/* {'a': [1, 2, (3,)], 'b': {'c': None}, 'a2': ()} in several protocols. */
static const struct source nests[] = {
	BYTES("(dp0\nVa\np1\n(lp2\nI1\naI2\na(I3\ntp3\nasVb\np4\n(dp5\nVc\np6\nNssVa2\np7\n(ts."),
	BYTES("}q\x00(X\x01\x00\x00\x00\x61q\x01]q\x02(K\x01K\x02(K\x03tq\x03\x65X\x01\x00\x00\x00"
	      "bq\x04}q\x05X\x01\x00\x00\x00\x63q\x06NsX\x02\x00\x00\x00\x61\x32q\x07)u."),
	BYTES("\x80\x02}q\x00(X\x01\x00\x00\x00\x61q\x01]q\x02(K\x01K\x02K\x03\x85q\x03\x65X\x01"
	      "\x00\x00\x00\x62q\x04}q\x05X\x01\x00\x00\x00\x63q\x06NsX\x02\x00\x00\x00\x61\x32q"
	      "\x07)u."),
	BYTES("\x80\x04\x95\x2c\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01\x61\x94]\x94(K\x01K\x02K"
	      "\x03\x85\x94\x65\x8c\x01\x62\x94}\x94\x8c\x01\x63\x94Ns\x8c\x02\x61\x32\x94)u."),
};

START_TEST(nested_values_are_read)
{
	struct source source = nests[_i / 2];
	struct pickle_value list, dict, tuple;

	source.portion = _i % 2; /* also byte by byte */
	ck_assert_msg(load(source), "%s", pickle.problem.text);
	ck_assert_int_eq(pickle_kind(pickle.root), PICKLE_DICT);
	ck_assert_uint_eq(pickle_count(&pickle, pickle.root), 3);
	list = pickle_get(&pickle, pickle.root, "a");
	ck_assert_int_eq(pickle_kind(list), PICKLE_LIST);
	ck_assert_uint_eq(pickle_count(&pickle, list), 3);
	ck_assert_int_eq(int_of(pickle_item(&pickle, list, 1)), 2);
	tuple = pickle_item(&pickle, list, 2);
	ck_assert_int_eq(pickle_kind(tuple), PICKLE_TUPLE);
	ck_assert_int_eq(int_of(pickle_item(&pickle, tuple, 0)), 3);
	dict = pickle_get(&pickle, pickle.root, "b");
	ck_assert_int_eq(pickle_kind(pickle_get(&pickle, dict, "c")), PICKLE_NONE);
	ck_assert_int_eq(pickle_kind(pickle_get(&pickle, dict, "a")), PICKLE_NOTHING);
	ck_assert_uint_eq(pickle_count(&pickle, pickle_get(&pickle, pickle.root, "a2")), 0);
	ck_assert_int_eq(pickle_kind(pickle_get(&pickle, list, "a")), PICKLE_NOTHING);
	ck_assert_uint_ne(pickle_box(list), pickle_box(dict));
	ck_assert_uint_lt(pickle_box(dict), pickle.boxes.count);
}
END_TEST

START_TEST(last_of_equal_keys_counts)
{
	ck_assert(LOAD("}(U\x01kK\x01U\x01kK\x02u."));
	ck_assert_int_eq(int_of(pickle_get(&pickle, pickle.root, "k")), 2);
}
END_TEST

START_TEST(memo_returns_the_same_value)
{
	struct pickle_value inner;

	ck_assert(LOAD("\x80\x04(]\x94K\x07\x61h\x00\x8c\x01x\x94h\x01t."));
	ck_assert_uint_eq(pickle_count(&pickle, pickle.root), 4);
	inner = pickle_item(&pickle, pickle.root, 1);
	ck_assert_uint_eq(pickle_box(inner), pickle_box(pickle_item(&pickle, pickle.root, 0)));
	ck_assert_int_eq(int_of(pickle_item(&pickle, inner, 0)), 7);
	ck_assert_int_eq(pickle_kind(pickle_item(&pickle, pickle.root, 3)), PICKLE_TEXT);
}
END_TEST

/* A number that is stored twice counts once in the memo. */
START_TEST(memo_counts_its_entries)
{
	ck_assert(LOAD("Nq\0q\0]\x94h\1."));
	ck_assert_int_eq(pickle_kind(pickle.root), PICKLE_LIST);
}
END_TEST

START_TEST(tuples_take_their_items)
{
	struct pickle_value inner;

	ck_assert(LOAD("\x80\x02K\x01K\x02K\x03\x86K\x04\x87."));
	ck_assert_uint_eq(pickle_count(&pickle, pickle.root), 3);
	ck_assert_int_eq(int_of(pickle_item(&pickle, pickle.root, 0)), 1);
	inner = pickle_item(&pickle, pickle.root, 1);
	ck_assert_uint_eq(pickle_count(&pickle, inner), 2);
	ck_assert_int_eq(int_of(pickle_item(&pickle, inner, 1)), 3);
}
END_TEST

START_TEST(long_lines_are_read)
{
	char text[1003];
	struct source source = { .at = text, .left = sizeof(text) };
	const char *read;
	size_t bytes = 0;

	memset(text, '\xe9', sizeof(text));
	text[0] = 'V';
	memcpy(text + sizeof(text) - 2, "\n.", 2);
	ck_assert(load(source));
	ck_assert(pickle_text(&pickle, pickle.root, &read, &bytes));
	ck_assert_uint_eq(bytes, 2000);
	ck_assert_mem_eq(read + 1998, "\xc3\xa9", 2);
}
END_TEST

START_TEST(single_list_grows_in_place)
{
	char text[2 * 5000 + 2];
	struct source source = { .at = text, .left = sizeof(text) };

	text[0] = ']';
	for (size_t i = 0; i < 5000; i++)
		memcpy(text + 1 + 2 * i, "Na", 2);
	text[sizeof(text) - 1] = '.';
	ck_assert(load(source));
	ck_assert_uint_eq(pickle_count(&pickle, pickle.root), 5000);
	ck_assert_uint_le(pickle.items.count, 10000);
}
END_TEST

START_TEST(list_may_contain_itself)
{
	ck_assert(LOAD("\x80\x04]\x94h\x00\x61h\x00\x61."));
	ck_assert_uint_eq(pickle_count(&pickle, pickle.root), 2);
	ck_assert_uint_eq(pickle_box(pickle_item(&pickle, pickle.root, 1)),
			  pickle_box(pickle.root));
}
END_TEST

/* Lists that grow in turns, so that each has to move. */
START_TEST(lists_grow_in_turns)
{
	char *text = malloc(100000), *at = text;
	struct source source = { .at = text };
	uint32_t wrong = 0;

	memcpy(at, "(]q\0]q\1", 7);
	at += 7;
	for (int i = 0; i < 5000; i++) {
		memcpy(at, i % 2 ? "h\1K\0a0" : "h\0K\0a0", 6);
		at[3] = (char)(i / 2 % 251);
		at += 6;
	}
	memcpy(at, "h\0h\1t.", 6);
	source.left = (size_t)(at + 6 - text);
	ck_assert_msg(load(source), "%s", pickle.problem.text);
	for (size_t list = 2; list < 4; list++) {
		struct pickle_value value = pickle_item(&pickle, pickle.root, list);

		ck_assert_uint_eq(pickle_count(&pickle, value), 2500);
		for (size_t i = 0; i < 2500; i++)
			wrong += int_of(pickle_item(&pickle, value, i)) != (int64_t)i % 251;
	}
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_le(pickle.items.count, 4 * 5000 + 100);
	free(text);
}
END_TEST

static const struct {
	struct source source;
	const char *says; /* part of it */
	uint64_t byte;
} refused[] = {
	{ BYTES("cos\nsystem\n(S'touch made'\ntR."), "GLOBAL requests a call of os.system", 0 },
	{ BYTES("\x80\x04K\x01\x8c\x02os\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R."),
	  "STACK_GLOBAL requests a call of os.system", 18 },
	{ BYTES("\x80\x04\x93."), "STACK_GLOBAL requests a call of something.something", 2 },
	{ BYTES("(ios\nsystem\n."), "INST requests a call of os.system", 1 },
	{ BYTES("(NNR."), "REDUCE requests a call or an object", 3 },
	{ BYTES("}}b."), "BUILD requests a call or an object", 2 },
	{ BYTES("(No."), "OBJ requests a call or an object", 2 },
	{ BYTES("\x80\x02N)\x81."), "NEWOBJ requests a call or an object", 4 },
	{ BYTES("\x80\x04N)}\x92."), "NEWOBJ_EX requests a call or an object", 5 },
	{ BYTES("\x80\x02\x82\x01."), "EXT1 requests a registered function", 2 },
	{ BYTES("\x80\x02\x83\x01\x00."), "EXT2 requests a registered function", 2 },
	{ BYTES("\x80\x02\x84\x01\x00\x00\x00."), "EXT4 requests a registered function", 2 },
	{ BYTES("Pfile\n."), "PERSID requests data from outside the file", 0 },
	{ BYTES("NQ."), "BINPERSID requests data from outside the file", 1 },
	{ BYTES("\x80\x05\x97."), "NEXT_BUFFER requests data from outside", 2 },
	{ BYTES("\x80\x05N\x98."), "READONLY_BUFFER requests data from outside", 3 },
	{ BYTES("\x80\x06N."), "protocol 6 is newer", 0 },
	{ BYTES("\xff"), "unknown opcode 0xff", 0 },
	{ BYTES("\x00"), "unknown opcode 0x00", 0 },
	{ BYTES("."), "too few values", 0 },
	{ BYTES("0"), "too few values", 0 },
	{ BYTES("2"), "too few values", 0 },
	{ BYTES("K\x01\x61"), "too few values", 2 },
	{ BYTES("N]Na1"), "no mark", 4 },
	{ BYTES("t"), "no mark", 0 },
	{ BYTES("e"), "no mark", 0 },
	{ BYTES("(NN\x87."), "too few values", 3 },
	{ BYTES("N(\x85."), "too few values", 2 }, /* not below the mark */
	{ BYTES("(."), "too few values", 1 },
	{ BYTES("](NNu."), "another type", 4 },
	{ BYTES("}(Ne."), "another type", 3 },
	{ BYTES("NNa."), "another type", 2 },
	{ BYTES("}(NNNu."), "has no value", 5 },
	{ BYTES("(Nd."), "has no value", 2 },
	{ BYTES("h\x00."), "memo index 0 is unused", 0 },
	{ BYTES("Nq\x01h\x00."), "memo index 0 is unused", 3 },
	{ BYTES("Nr\xff\xff\xff\xff."), "memo index 4294967295 exceeds", 1 },
	{ BYTES("Nr\xe8\x03\x00\x00."), "memo index 1000 exceeds", 1 },
	{ BYTES("Np99999999999\n."), "memo index 99999999999 exceeds", 1 },
	{ BYTES("Np99999999999999999999\n."), "is not an index of the memo", 1 },
	{ BYTES("Np-1\n."), "is not an index of the memo", 1 },
	{ BYTES("q\x00"), "too few values", 0 },
	{ BYTES("Iten\n."), "'ten' is not a number", 0 },
	{ BYTES("I\n."), "'' is not a number", 0 },
	{ BYTES("F1.5x\n."), "'1.5x' is not a number", 0 },
	{ BYTES("Sbare\n."), "not quoted", 0 },
	{ BYTES("S'\n."), "not quoted", 0 },
	{ BYTES("S'a\"\n."), "not quoted", 0 },
	{ BYTES("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"), "too long", 0 },
	{ BYTES("X\xff\xff\xff\xff"), "too long", 0 },
	{ BYTES("\x8b\xff\xff\xff\xff"), "negative length", 0 },
};

START_TEST(pickle_that_is_not_data_is_refused)
{
	ck_assert(!load(refused[_i].source));
	ck_assert_msg(strstr(pickle.problem.text, refused[_i].says), "'%s'", pickle.problem.text);
	ck_assert_uint_eq(pickle.problem.byte, refused[_i].byte);
	ck_assert(!pickle.problem.cut);
	ck_assert(!pickle.problem.unread);
}
END_TEST

/* Truncation is reported at any position, and the pickle never counts as complete. */
START_TEST(every_truncation_is_detected)
{
	for (size_t left = 0; left < nests[_i].left; left++) {
		struct source source = nests[_i];

		source.left = left;
		ck_assert(!load(source));
		ck_assert_msg(pickle.problem.cut, "after %zu: %s", left, pickle.problem.text);
		pickle_fini(&pickle);
		source = nests[_i];
		source.left = left;
		source.breaks = true;
		ck_assert(!load(source));
		ck_assert(pickle.problem.unread);
		ck_assert(!pickle.problem.cut);
		pickle_fini(&pickle);
	}
}
END_TEST

/* A large length without data takes only the memory of the bytes present. */
START_TEST(lengths_are_not_trusted)
{
	struct source source = BYTES("\x80\x04\x8d\x00\x00\x00\x01\x00\x00\x00\x00");

	source.fill = 1000;
	source.fill_with = 'x';
	ck_assert(!load(source));
	ck_assert(pickle.problem.cut);
	ck_assert_uint_le(pickle.chars.room, 4096);
}
END_TEST

/* Opcodes of one byte, a million times: nesting, marks, copies. */
static const struct {
	struct source source;
	const char *says;
} bombs[] = {
	{ { .at = "(", .left = 1, .fill = 1000000, .fill_with = '(' }, "truncated" },
	{ { .at = "N", .left = 1, .fill = 1000000, .fill_with = '2' }, "truncated" },
	{ { .at = "]", .left = 1, .fill = 1000000, .fill_with = ']' }, "truncated" },
	{ { .at = "N", .left = 1, .fill = 1000000, .fill_with = '\x85' }, "truncated" },
	{ { .at = "N", .left = 1, .fill = 1000000, .fill_with = '\x94' }, "truncated" },
	{ { .at = "V", .left = 1, .fill = SIZE_MAX, .fill_with = 'x' }, "a line is too long" },
	{ { .at = "]", .left = 1, .fill = 1000000, .fill_with = 'a' }, "too few values" },
};

START_TEST(bombs_take_memory_in_proportion)
{
	const struct pickle_array *arrays[] = { &pickle.boxes, &pickle.items, &pickle.texts };
	size_t room = 0;

	ck_assert(!load(bombs[_i].source));
	ck_assert_msg(strstr(pickle.problem.text, bombs[_i].says), "'%s'", pickle.problem.text);
	for (size_t i = 0; i < 3; i++)
		room += arrays[i]->room;
	ck_assert_uint_le(room, 5000000);
}
END_TEST

/* Fifty thousand lists, each in the next one: no code may recurse for them. */
START_TEST(depth_is_unlimited)
{
	const size_t depth = 50000;
	char *text = malloc(2 * depth + 2);
	struct source source = { .at = text, .left = 2 * depth + 2 };
	struct pickle_value value;

	memset(text, ']', depth + 1);
	memset(text + depth + 1, 'a', depth);
	text[2 * depth + 1] = '.';
	ck_assert(load(source));
	value = pickle.root;
	for (size_t i = 0; i < depth; i++)
		value = pickle_item(&pickle, value, 0);
	ck_assert_uint_eq(pickle_count(&pickle, value), 0);
	free(text);
}
END_TEST

START_TEST(out_of_memory_is_reported)
{
	long enough = 0;

	for (;; enough++) {
		failing_left = enough;
		if (load(nests[_i]))
			break;
		ck_assert_str_eq(pickle.problem.text, "out of memory");
		pickle_fini(&pickle);
	}
	ck_assert_int_ge(enough, 6);
	ck_assert_uint_eq(pickle_count(&pickle, pickle.root), 3);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
	Suite *suite = suite_create("pickle");
	TCase *cases = tcase_create("pickle");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(cases, begin, end);
	tcase_add_loop_test(cases, integers_are_read, 0, COUNT(integers));
	tcase_add_loop_test(cases, integers_that_do_not_fit_are_not_integers, 0, COUNT(huges));
	tcase_add_loop_test(cases, texts_are_read, 0, COUNT(texts));
	tcase_add_test(cases, constants_and_fractions_are_read);
	tcase_add_loop_test(cases, nested_values_are_read, 0, 2 * COUNT(nests));
	tcase_add_test(cases, last_of_equal_keys_counts);
	tcase_add_test(cases, memo_returns_the_same_value);
	tcase_add_test(cases, memo_counts_its_entries);
	tcase_add_test(cases, tuples_take_their_items);
	tcase_add_test(cases, long_lines_are_read);
	tcase_add_test(cases, single_list_grows_in_place);
	tcase_add_test(cases, list_may_contain_itself);
	tcase_add_test(cases, lists_grow_in_turns);
	tcase_add_loop_test(cases, pickle_that_is_not_data_is_refused, 0, COUNT(refused));
	tcase_add_loop_test(cases, every_truncation_is_detected, 0, COUNT(nests));
	tcase_add_test(cases, lengths_are_not_trusted);
	tcase_add_loop_test(cases, bombs_take_memory_in_proportion, 0, COUNT(bombs));
	tcase_add_test(cases, depth_is_unlimited);
	tcase_add_loop_test(cases, out_of_memory_is_reported, 0, COUNT(nests));
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
