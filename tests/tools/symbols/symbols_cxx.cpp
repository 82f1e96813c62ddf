// SPDX-License-Identifier: Apache-2.0
// Two levels of inlining, templates, an unnamed namespace and a lambda, for symbols.sh.
extern "C" void record(const char *mark);

#define INLINE __attribute__((always_inline)) inline

namespace deep
{

template <typename T> INLINE T leaf(T number)
{
	record("leaf"); // at leaf
	return number + 1;
}

template <typename T, int N> struct box {
	INLINE T twice(T number)
	{
		return leaf<T>(number) * N; // at twice
	}
};

} // namespace deep

namespace
{

__attribute__((noinline)) long hidden(long number)
{
	deep::box<long, 2> box;
	long result = box.twice(number); // at hidden
	record("back");                  // at back
	return result;
}

} // namespace

template <typename Function> __attribute__((noinline)) int call(Function function)
{
	int result = function(3); // at call
	record("call");           // not looked up
	return result;
}

struct shape {
	__attribute__((noinline)) virtual int area() const
	{
		record("area"); // at area
		return 4;
	}
	virtual ~shape() = default;
};

int main(int count, char **)
{
	shape some;
	int result = static_cast<int>(hidden(count)) + some.area();
	result += call([](int number) __attribute__((noinline)) {
		record("lambda"); // at lambda
		return number;
	});
	record("main"); // at main
	return result == 0;
}
