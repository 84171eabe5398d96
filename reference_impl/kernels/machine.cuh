// What CUDA C++ has no portable word for: conversions, packed maxima, shared memory, clusters.
// On the host, cuda_on_host/cuda_on_host.h takes the place of this file, and of nothing else.

__device__ __forceinline__ float half_to_float(unsigned short bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

__device__ __forceinline__ unsigned short float_to_half(float value) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

// 2 to the value, within 2 units in the last place; 0 where that lies below the smallest normal float.
__device__ __forceinline__ float exp2_flushed(float value) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(value));
    return power;
}

// From here on the compiler knows nothing of the word's value, and so cannot hold on to what it derived from it.
__device__ __forceinline__ void make_opaque(unsigned& word) { asm volatile("" : "+r"(word)); }

// The address, known to be one of global memory: left to itself the compiler makes generic accesses of some, which look
// up at run time what kind of memory they are for.
template <class T>
__device__ __forceinline__ T* in_global_memory(T* address) {
    __builtin_assume(__isGlobal(address));
    return address;
}

#if __CUDA_ARCH__ >= 800
constexpr bool HAS_PAIRWISE_MAXIMUM = true;
#else
constexpr bool HAS_PAIRWISE_MAXIMUM = false;
#endif

// The larger of the two lower halves of a word and the larger of the two upper ones.
__device__ __forceinline__ unsigned larger_pair_of_half(unsigned left, unsigned right) {
    unsigned larger = 0;
#if __CUDA_ARCH__ >= 800
    asm("max.f16x2 %0, %1, %2;" : "=r"(larger) : "r"(left), "r"(right));
#endif
    return larger;
}

__device__ __forceinline__ unsigned larger_pair_of_bfloat16(unsigned left, unsigned right) {
    unsigned larger = 0;
#if __CUDA_ARCH__ >= 800
    asm("max.bf16x2 %0, %1, %2;" : "=r"(larger) : "r"(left), "r"(right));
#endif
    return larger;
}

// The shared memory that the launch asked for, aligned to 16 bytes.
__device__ __forceinline__ void* dynamic_shared() {
    extern __shared__ int4 shared_memory_of_launch[];
    return shared_memory_of_launch;
}

// Without clusters, before compute capability 9.0, what needs them is never launched.
__device__ __forceinline__ unsigned cluster_rank() {
    unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}

__device__ __forceinline__ void cluster_barrier() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// The word that lies in block `rank` of the cluster where `mine` lies in this one's shared memory.
__device__ __forceinline__ unsigned word_of_block(const unsigned* mine, unsigned rank) {
    unsigned word = *mine;
#if __CUDA_ARCH__ >= 900
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(mine));
    asm volatile(
        "{\n\t.reg .u32 remote;\n\tmapa.shared::cluster.u32 remote, %1, %2;\n\t"
        "ld.shared::cluster.u32 %0, [remote];\n\t}"
        : "=r"(word)
        : "r"(address), "r"(rank)
        : "memory");
#endif
    return word;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define BLOCKS_OF_CLUSTER(count) __cluster_dims__(count, 1, 1)
#else
#define BLOCKS_OF_CLUSTER(count)
#endif
