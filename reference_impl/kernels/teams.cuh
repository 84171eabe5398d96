// The threads that share a row, and what they can do together.

// What the threads of a block share. First in shared memory; a row that is kept there follows it.
template <class A>
struct alignas(16) Scratch {
    A peak[32];
    A sum[32];
    A peak_of_block;
    A sum_of_block;
    double total[32];  // of the losses of each team
    A scale;           // what the gradient of a row that counts is multiplied by
    unsigned is_last;
};

template <class A>
__device__ __forceinline__ Scratch<A>& scratch() {
    return *static_cast<Scratch<A>*>(dynamic_shared());
}

constexpr unsigned WHOLE_WARP = 0xffffffffu;

// The same result, to the bit, in each of WIDTH neighbouring lanes: both sides of an exchange add the same two.
template <int WIDTH, class A, class Combine>
__device__ __forceinline__ A across_lanes(A value, Combine combine) {
#pragma unroll
    for (int distance = WIDTH / 2; distance > 0; distance /= 2) {
        value = combine(value, __shfl_xor_sync(WHOLE_WARP, value, distance));
    }
    return value;
}

__device__ __forceinline__ float value_of_block(const float* mine, unsigned rank) {
    return __uint_as_float(word_of_block(reinterpret_cast<const unsigned*>(mine), rank));
}

__device__ __forceinline__ double value_of_block(const double* mine, unsigned rank) {
    const unsigned* words = reinterpret_cast<const unsigned*>(mine);
    const unsigned low = word_of_block(words, rank);
    const unsigned high = word_of_block(words + 1, rank);
    return __hiloint2double(static_cast<int>(high), static_cast<int>(low));
}

// Teams of less than a block share one of 128 threads.
template <int LANES>
constexpr int THREADS_OF = LANES <= 32 ? 128 : LANES;

// LANES neighbours in a block of 128; or a whole block of LANES; or CLUSTER such blocks.
template <class A, int LANES, int CLUSTER>
struct Team {
    static constexpr int THREADS = THREADS_OF<LANES>;
    static constexpr int TEAMS = THREADS / LANES;
    static constexpr int SIZE = LANES * CLUSTER;

    __device__ __forceinline__ static int number() { return TEAMS == 1 ? 0 : threadIdx.x / LANES; }
    __device__ __forceinline__ static int rank() { return CLUSTER == 1 ? 0 : cluster_rank(); }
    __device__ __forceinline__ static int lane() { return rank() * LANES + threadIdx.x % LANES; }
    __device__ __forceinline__ static bool leads() { return lane() == 0; }
    __device__ __forceinline__ static int group() { return blockIdx.x / CLUSTER; }
    __device__ __forceinline__ static int groups() { return gridDim.x / CLUSTER; }

    __device__ __forceinline__ static A largest(A value) {
        return combined(value, Larger(), -infinity<A>(), scratch<A>().peak, &scratch<A>().peak_of_block);
    }

    __device__ __forceinline__ static A sum(A value) {
        return combined(value, Plus(), A(0), scratch<A>().sum, &scratch<A>().sum_of_block);
    }

    // The two reductions of a row use two sets of slots in turn: the barrier inside one says that every thread has
    // read the other, so that the next row may write there.
    template <class Combine>
    __device__ __forceinline__ static A combined(A value, Combine combine, A identity, A* slots, A* of_block) {
        if constexpr (LANES <= 32) {
            return across_lanes<LANES>(value, combine);
        } else {
            const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
            value = across_lanes<32>(value, combine);
            if (lane == 0) slots[warp] = value;
            __syncthreads();
            value = across_lanes<32>(lane < LANES / 32 ? slots[lane] : identity, combine);
            if constexpr (CLUSTER > 1) {
                if (threadIdx.x == 0) *of_block = value;
                cluster_barrier();
                value = across_lanes<32>(lane < CLUSTER ? value_of_block(of_block, lane) : identity, combine);
            }
            return value;
        }
    }

    // After this no thread of the team has a read of the row before it: the row may be written over.
    __device__ __forceinline__ static void finish_reading() {
        if constexpr (LANES <= 32) __syncwarp();  // a larger team has passed a barrier
    }

    // After this no block reads the shared memory of another, which may therefore end.
    __device__ __forceinline__ static void part() {
        if constexpr (CLUSTER > 1) cluster_barrier();
    }
};
