/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.c - initialization, errors and devices of the fake runtime.
 *
 * It finds the driver as NVIDIA's runtime was observed to do: dlopen of libcuda.so.1, one dlsym of
 * cuGetProcAddress_v2, and every function through that pointer with its base name and a version.
 * All of it happens at the first call that needs it, never while the library is loaded. The context
 * is the device's primary one, unless the program made another one current.
 */
#include "runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

#define DEVICES 8

struct runtime_driver runtime_driver;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int loaded;                               /* result of loading. lock: once */
static __typeof__(cuGetProcAddress_v2) *look_up; /* lock: once */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool retained[DEVICES]; /* lock: lock */
static __thread int last_error;
static __thread int device; /* set by cudaSetDevice */

int runtime_remember(int result)
{
	if (result != cudaSuccess && result != cudaErrorNotReady)
		last_error = result;
	return result;
}

static void load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	loaded = cudaErrorInsufficientDriver;
	if (!library)
		return;
	look_up = (__typeof__(look_up))dlsym(library, "cuGetProcAddress_v2");
	if (!look_up)
		return;
	/* Looks up its own entry function again by name, as the real runtime does. */
	look_up("cuGetProcAddress", (void **)&look_up, 12000, PROC_DEFAULT, NULL);
#define LOOK_UP(name, version, declared)                                            \
	look_up(#name, (void **)&runtime_driver.name, version, PROC_DEFAULT, NULL); \
	if (!runtime_driver.name)                                                   \
		return;
#define LOOK_UP_PER_THREAD(name, version, declared)                                           \
	look_up(#name, (void **)&runtime_driver.name##_ptsz, version, PROC_PER_THREAD_STREAM, \
		NULL);                                                                        \
	if (!runtime_driver.name##_ptsz)                                                      \
		return;
	RUNTIME_DRIVER(LOOK_UP)
	RUNTIME_DRIVER_PER_THREAD(LOOK_UP_PER_THREAD)
#undef LOOK_UP
#undef LOOK_UP_PER_THREAD
	loaded = runtime_driver.cuInit(0);
}

int runtime_load(void)
{
	pthread_once(&once, load);
	return loaded;
}

/* Retained once until a reset; the next use retains it again. */
int runtime_primary(int which, struct CUctx_st **context)
{
	static struct CUctx_st *primary[DEVICES];
	unsigned int flags;
	int active = 0, result;

	if (which < 0 || which >= DEVICES)
		return cudaErrorInvalidDevice;
	pthread_mutex_lock(&lock);
	result = runtime_driver.cuDevicePrimaryCtxGetState(which, &flags, &active);
	if (result == CUDA_SUCCESS && (!active || !retained[which])) {
		result = runtime_driver.cuDevicePrimaryCtxRetain(&primary[which], which);
		retained[which] = result == CUDA_SUCCESS;
	}
	*context = primary[which];
	pthread_mutex_unlock(&lock);
	return result;
}

static int use_primary(void)
{
	struct CUctx_st *context;
	int result = runtime_primary(device, &context);

	return result == CUDA_SUCCESS ? runtime_driver.cuCtxSetCurrent(context) : result;
}

int runtime_ready(void)
{
	struct CUctx_st *context = NULL;
	int owner, result = runtime_load();

	if (result != CUDA_SUCCESS)
		return result;
	result = runtime_driver.cuCtxGetCurrent(&context);
	if (result != CUDA_SUCCESS)
		return result;
	/* A current context that is still alive is used unchanged. */
	if (context && runtime_driver.cuCtxGetDevice(&owner) == CUDA_SUCCESS)
		return CUDA_SUCCESS;
	return use_primary();
}

/* These errors mean that the context is broken: reading them does not clear them. */
static bool is_sticky(int error)
{
	return error == 214 || error == 700 || error == 710 || (error >= 714 && error <= 719);
}

int cudaGetLastError(void)
{
	int result = last_error;

	if (!is_sticky(result))
		last_error = cudaSuccess;
	return result;
}

int cudaPeekAtLastError(void)
{
	return last_error;
}

static const struct {
	int error;
	const char *name, *text;
} errors[] = {
	{ cudaSuccess, "cudaSuccess", "no error" },
	{ cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument" },
	{ cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory" },
	{ cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error" },
	{ cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
	  "CUDA driver version is insufficient for CUDA runtime version" },
	{ cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected" },
	{ cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal" },
	{ CUDA_ERROR_INVALID_HANDLE, "cudaErrorInvalidResourceHandle", "invalid resource handle" },
	{ cudaErrorNotReady, "cudaErrorNotReady", "device not ready" },
	{ CUDA_ERROR_ILLEGAL_ADDRESS, "cudaErrorIllegalAddress",
	  "an illegal memory access was encountered" },
	{ CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "cudaErrorPeerAccessUnsupported",
	  "peer access is not supported between these two devices" },
	{ CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "cudaErrorPeerAccessAlreadyEnabled",
	  "peer access is already enabled" },
	{ CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "cudaErrorPeerAccessNotEnabled",
	  "peer access has not been enabled" },
	{ CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "cudaErrorHostMemoryAlreadyRegistered",
	  "part or all of the requested memory range is already mapped" },
	{ CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "cudaErrorHostMemoryNotRegistered",
	  "pointer does not correspond to a registered memory region" },
	{ CUDA_ERROR_INVALID_CONTEXT, "cudaErrorDeviceUninitialized", "invalid device context" },
	{ CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "cudaErrorStreamCaptureInvalidated",
	  "operation failed due to a previous error during capture" },
	{ CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "cudaErrorStreamCaptureWrongThread",
	  "attempt to terminate a thread-local capture sequence from another thread" },
	{ CUDA_ERROR_NOT_SUPPORTED, "cudaErrorNotSupported", "operation not supported" },
	{ CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "cudaErrorStreamCaptureUnsupported",
	  "operation not permitted when stream is capturing" },
	{ cudaErrorUnknown, "cudaErrorUnknown", "unknown error" },
};

const char *cudaGetErrorName(int error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].error == error)
			return errors[i].name;
	return "unrecognized error code";
}

const char *cudaGetErrorString(int error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].error == error)
			return errors[i].text;
	return "unrecognized error code";
}

int cudaRuntimeGetVersion(int *version)
{
	*version = 13000;
	return cudaSuccess;
}

/* Without a driver the version is 0, which is not an error. */
int cudaDriverGetVersion(int *version)
{
	runtime_load();
	*version = 0;
	return runtime_driver.cuDriverGetVersion
		       ? runtime_remember(runtime_driver.cuDriverGetVersion(version))
		       : cudaSuccess;
}

int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned int version,
				     unsigned long long flags, int *status)
{
	int result = runtime_load();

	if (result == CUDA_SUCCESS)
		result = look_up(symbol, function, version, flags, status);
	return runtime_remember(result);
}

int cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
			    int *status)
{
	return cudaGetDriverEntryPointByVersion(symbol, function, 13000, flags, status);
}

/* Without a flag, code compiled for per-thread default streams gets those versions. */
int cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **function, unsigned int version,
					  unsigned long long flags, int *status)
{
	return cudaGetDriverEntryPointByVersion(symbol, function, version,
						flags ? flags : PROC_PER_THREAD_STREAM, status);
}

int cudaGetDriverEntryPoint_ptsz(const char *symbol, void **function, unsigned long long flags,
				 int *status)
{
	return cudaGetDriverEntryPointByVersion_ptsz(symbol, function, 13000, flags, status);
}

int cudaGetDeviceCount(int *count)
{
	int result = runtime_load();

	*count = 0;
	if (result == CUDA_SUCCESS)
		result = runtime_driver.cuDeviceGetCount(count);
	return runtime_remember(result);
}

int cudaGetDevice(int *chosen)
{
	struct CUctx_st *context = NULL;
	int result = runtime_load();

	*chosen = device;
	if (result == CUDA_SUCCESS)
		result = runtime_driver.cuCtxGetCurrent(&context);
	if (result == CUDA_SUCCESS && context)
		runtime_driver.cuCtxGetDevice(chosen);
	return runtime_remember(result);
}

int cudaSetDevice(int chosen)
{
	int count, result = runtime_load();

	if (result == CUDA_SUCCESS)
		result = runtime_driver.cuDeviceGetCount(&count);
	if (result == CUDA_SUCCESS && (chosen < 0 || chosen >= count))
		result = cudaErrorInvalidDevice;
	if (result == CUDA_SUCCESS) {
		device = chosen;
		result = runtime_driver.cuCtxSetCurrent(NULL);
	}
	if (result == CUDA_SUCCESS)
		result = use_primary();
	return runtime_remember(result);
}

int cudaDeviceGetAttribute(int *value, int attribute, int which)
{
	int result = runtime_load();

	if (result == CUDA_SUCCESS)
		result = runtime_driver.cuDeviceGetAttribute(value, attribute, which);
	return runtime_remember(result);
}

int cudaDeviceSynchronize(void)
{
	int result = runtime_ready();

	if (result == CUDA_SUCCESS)
		result = runtime_driver.cuCtxSynchronize();
	return runtime_remember(result);
}

int cudaDeviceReset(void)
{
	int result = runtime_load();

	if (result == CUDA_SUCCESS)
		result = runtime_driver.cuDevicePrimaryCtxReset(device);
	if (result == CUDA_SUCCESS && is_sticky(last_error))
		last_error = cudaSuccess;
	return runtime_remember(result);
}
