// SPDX-License-Identifier: Apache-2.0
// For lines.sh: allocations of known sizes. A comment after an allocation is its place in the test.
#include <cstddef>
#include <cstdlib>
#include <thread>
#include <vector>

extern "C" int cudaMalloc(void **block, size_t bytes);
extern "C" int cudaFree(void *block);

#define INLINE __attribute__((always_inline)) inline
#define APART __attribute__((noinline))
#define GET(bytes)                               \
	do {                                     \
		if (cudaMalloc(&block, (bytes))) \
			std::abort();            \
	} while (0)

namespace net
{

template <typename T> INLINE void inner(size_t count)
{
	void *block;
	GET(count * sizeof(T)); // inner
}

template <typename T> INLINE void middle(size_t count)
{
	inner<T>(count); // middle
}

struct layer {
	APART virtual void forward()
	{
		void *block;
		for (int i = 0; i < 5; i++)
			GET(4096); // forward
	}
	virtual ~layer() = default;
};

} // namespace net

static APART void hidden()
{
	net::middle<double>(128); // doubles
	net::middle<char>(512);   // chars
}

static APART void repeat(int depth)
{
	void *block = nullptr;
	if (depth > 0)
		repeat(depth - 1); // repeat
	else
		GET(8192); // deepest
	if (depth == 2)
		cudaFree(block);
}

static APART void work()
{
	for (int i = 0; i < 8; i++) {
		void *block;
		GET(2048); // thread
		if (i % 2 == 0)
			cudaFree(block);
	}
}

static APART void freed()
{
	for (int i = 0; i < 3; i++) {
		void *block;
		GET(1 << 20); // freed
		cudaFree(block);
	}
}

int main()
{
	std::vector<std::thread> threads;
	net::layer layer;
	void *block;

	hidden();
	layer.forward();
	repeat(3);
	freed();
	for (int i = 0; i < 4; i++)
		threads.emplace_back(work);
	for (std::thread &thread : threads)
		thread.join();
	[]() __attribute__((noinline))
	{
		void *block;
		GET(256); // lambda
	}
	();
	GET(100); // main
	GET(200); // again
}
