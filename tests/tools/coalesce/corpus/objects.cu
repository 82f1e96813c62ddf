/* SPDX-License-Identifier: Apache-2.0 */
/* Classes whose members allocate: constructors, copies, operators, virtual functions. */

class table
{
	int *cells;
	int count;

      public:
	__device__ explicit table(int count) : count(count)
	{
		cells = (int *)malloc(count * sizeof(int)); // want: block uniform
		for (int i = 0; cells && i < count; i++)
			cells[i] = i;
	}
	__device__ ~table()
	{
		free(cells);
	}
	__device__ int &operator[](int i)
	{
		return cells[i % count];
	}
	__device__ bool fine(void) const
	{
		return cells != nullptr;
	}
};

/* Made by all, in the kernel's own scope. */
__global__ void local_tables(int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	table squares(count), cubes(2 * count);

	if (squares.fine() && cubes.fine()) {
		squares[id] = id * id;
		cubes[id] = id * id * id;
		out[id] = squares[id] + cubes[id + 1];
	}
}

/* A class of which some threads make one: nobody writes a call. */
struct name {
	char *text;
	int length;

	__device__ name(char first, int length) : length(length)
	{
		text = new char[length + 1]; // want: none -
		for (int i = 0; i < length; i++)
			text[i] = (char)(first + i);
		text[length] = '\0';
	}
	__device__ name(const name &other) : length(other.length)
	{
		text = new char[length + 1]; // want: none -
		for (int i = 0; i <= length; i++)
			text[i] = other.text[i];
	}
	__device__ ~name()
	{
		delete[] text;
	}
};

static __device__ int weigh(name name)
{
	int sum = 0;

	for (int i = 0; i < name.length; i++)
		sum += name.text[i] * (i + 1);
	return sum;
}

__global__ void some_names(const int *lengths, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	if (lengths[id] % 2) {
		name name('a', 6);

		if (lengths[id] > 10)
			out[id] = weigh(name);
		out[id] += name.text[3];
	}
}

/* Whose function it is that a pointer leads to, each thread knows for itself. */
struct animal {
	__device__ virtual int speak(int times) = 0;
};

struct dog : animal {
	__device__ int speak(int times) override
	{
		char *bark = (char *)malloc(8); // want: none -
		int sum = times;

		if (bark) {
			bark[7] = 'w';
			sum += bark[7];
		}
		free(bark);
		return sum;
	}
};

struct cat : animal {
	__device__ int speak(int times) override
	{
		return 2 * times;
	}
};

__global__ void animals(const int *kinds, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	dog dog;
	cat cat;
	animal *one = kinds[id] % 2 ? (animal *)&dog : (animal *)&cat;

	out[id] = one->speak(id % 7);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(local_tables, 2, 64, 9, corpus_out);
	CORPUS_RUN(some_names, 2, 64, corpus_numbers(128, 20, 1), corpus_out);
	CORPUS_RUN(animals, 2, 64, corpus_numbers(128, 20, 2), corpus_out);
	return 0;
}
#endif
