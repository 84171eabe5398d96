// Enough of CUDA C++ for g++ to compile a kernel and run it on the host: one fiber per CUDA thread.
//
// Barriers, shuffles and cluster barriers are points where a fiber gives way; between two such points it runs alone. A
// warp goes on as far as it can without the others. Which warp goes first is a parameter (forward, reverse, random), and
// a missing barrier a wrong result in one of the orders. What cannot go on is reported with the source line: a barrier that some threads of the block will not
// reach, a shuffle without all lanes of its mask. Blocks run one after another, those of a cluster together.
//
// Not modelled: the order of memory accesses between blocks, coalescing, registers, the rounding of the device's own
// exponential and logarithm.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define BLOCKS_OF_CLUSTER(count)

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};

struct alignas(16) int4 {
    int x, y, z, w;
};

namespace cuda_on_host {

enum class State { READY, BLOCK_BARRIER, CLUSTER_BARRIER, WARP_BARRIER, SHUFFLE, ENDED };

struct Place {
    const char* file = "";
    int line = 0;

    bool operator==(const Place& other) const { return line == other.line && std::strcmp(file, other.file) == 0; }
    std::string text() const { return std::string(file) + ":" + std::to_string(line); }
};

struct Block;

struct Thread {
    Block* block = nullptr;
    dim3 index;
    int number = 0;
    State state = State::READY;
    Place place;             // where it waits
    unsigned mask = 0;       // of the lanes it waits for
    int source = 0;          // the lane whose value it asks for
    std::uint64_t value = 0; // what it offers, then what it was given
    ucontext_t context;
    char* stack = nullptr;
    void* sanitizer_stack = nullptr;
};

struct Block {
    dim3 index;
    unsigned rank = 0;  // in its cluster
    void* shared = nullptr;
    std::vector<Thread> threads;
    std::vector<std::unique_ptr<Block>>* cluster = nullptr;
};

enum class Order { FORWARD, REVERSE, RANDOM };

struct Geometry {
    unsigned grid = 1;
    unsigned block = 1;
    unsigned cluster = 1;
    unsigned shared_bytes = 0;
    Order order = Order::FORWARD;
    std::uint64_t seed = 1;
    long long only_cluster = -1;  // run one cluster of the grid, or all
};

constexpr unsigned WARP = 32;
constexpr std::size_t STACK_BYTES = 64 * 1024;  // ten times what the deepest kernel takes with a sanitizer

inline Thread* running = nullptr;
inline std::string fault;  // what a thread did that no scheduler can see
inline ucontext_t scheduler;
inline dim3 grid_size, block_size;

#if defined(__SANITIZE_ADDRESS__)
inline const void* scheduler_stack;
inline std::size_t scheduler_stack_bytes;
#endif

inline void give_way(State state, Place place) {
    Thread& me = *running;
    me.state = state;
    me.place = place;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(state == State::ENDED ? nullptr : &me.sanitizer_stack, scheduler_stack,
                                   scheduler_stack_bytes);
#endif
    swapcontext(&me.context, &scheduler);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(me.sanitizer_stack, &scheduler_stack, &scheduler_stack_bytes);
#endif
}

inline void resume(Thread& thread) {
    running = &thread;
#if defined(__SANITIZE_ADDRESS__)
    void* own_stack = nullptr;
    __sanitizer_start_switch_fiber(&own_stack, thread.stack, STACK_BYTES);
#endif
    swapcontext(&scheduler, &thread.context);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(own_stack, nullptr, nullptr);
#endif
}

// Stacks outlive their threads: a launch of many blocks would do little else than allocate.
inline char* stack_number(std::size_t i) {
    static std::vector<std::unique_ptr<char[]>> stacks;
    while (stacks.size() <= i) stacks.emplace_back(new char[STACK_BYTES]);
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(stacks[i].get(), STACK_BYTES);
#endif
    return stacks[i].get();
}

class Kernel {
   public:
    virtual ~Kernel() = default;
    virtual void run() const = 0;
};

inline const Kernel* kernel = nullptr;

inline void begin_thread() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_stack_bytes);
#endif
    kernel->run();
    give_way(State::ENDED, {});
}

// The blocks of one cluster, run until all their threads have ended or none can go on.
class Cluster {
   public:
    Cluster(const Geometry& geometry, unsigned first_block) : geometry_(geometry), random_(geometry.seed * 2 + 1) {
        for (unsigned rank = 0; rank < geometry.cluster; ++rank) {
            blocks_.push_back(std::make_unique<Block>());
            begin(*blocks_.back(), first_block + rank, rank);
        }
    }

    ~Cluster() {
        for (auto& block : blocks_) std::free(block->shared);
    }

    // Empty, or why it cannot go on.
    std::string run() {
        std::vector<Thread*> warps;  // by their first threads
        for (auto& block : blocks_) {
            for (unsigned first = 0; first < geometry_.block; first += WARP) warps.push_back(&block->threads[first]);
        }
        if (geometry_.order == Order::REVERSE) std::reverse(warps.begin(), warps.end());
        for (;;) {
            if (geometry_.order == Order::RANDOM) shuffle(warps);
            bool goes_on = false;
            for (Thread* warp : warps) goes_on |= run_warp(warp);
            if (!fault.empty()) return fault;
            if (count(State::ENDED) == threads()) return "";
            goes_on |= release_blocks() | release_cluster();
            if (!problem_.empty()) return problem_;
            if (!goes_on) return standstill();
        }
    }

   private:
    void begin(Block& block, unsigned number, unsigned rank) {
        block.index = {number, 0, 0};
        block.rank = rank;
        block.cluster = &blocks_;
        // Exactly as much as was asked for, so that a sanitizer sees what lies beyond, and all NaN at first.
        const std::size_t bytes = std::max(16u, geometry_.shared_bytes);
        if (posix_memalign(&block.shared, 16, bytes) != 0) std::abort();
        std::memset(block.shared, 0xff, bytes);
        block.threads = std::vector<Thread>(geometry_.block);
        for (unsigned i = 0; i < geometry_.block; ++i) {
            Thread& thread = block.threads[i];
            thread.block = &block;
            thread.number = static_cast<int>(i);
            thread.index = {i, 0, 0};
            thread.stack = stack_number(rank * geometry_.block + i);
            getcontext(&thread.context);
            thread.context.uc_stack.ss_sp = thread.stack;
            thread.context.uc_stack.ss_size = STACK_BYTES;
            thread.context.uc_link = nullptr;
            makecontext(&thread.context, begin_thread, 0);
        }
    }

    std::uint64_t random() {
        random_ ^= random_ << 13;  // xorshift64, Marsaglia 2003
        random_ ^= random_ >> 7;
        random_ ^= random_ << 17;
        return random_;
    }

    void shuffle(std::vector<Thread*>& order) {
        for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
    }

    // Runs one warp as far as it gets without the others, so that it is as far ahead of them as can be; in random order
    // sometimes less far. Whether it got any further.
    bool run_warp(Thread* warp) {
        bool ran = false;
        for (bool goes_on = true; goes_on;) {
            goes_on = false;
            for (unsigned i = 0; i < WARP; ++i) {
                Thread& thread = warp[geometry_.order == Order::REVERSE ? WARP - 1 - i : i];
                if (thread.state != State::READY) continue;
                resume(thread);
                goes_on = true;
            }
            for (unsigned lane = 0; lane < WARP; ++lane) goes_on |= release_group(warp, lane);
            ran |= goes_on;
            if (geometry_.order == Order::RANDOM && random() % 4 == 0) break;
        }
        return ran;
    }

    std::size_t count(State state) const {
        std::size_t number = 0;
        for (auto& block : blocks_) number += count(*block, state);
        return number;
    }
    static std::size_t count(const Block& block, State state) {
        return std::count_if(block.threads.begin(), block.threads.end(), [=](const Thread& t) { return t.state == state; });
    }
    std::size_t threads() const { return blocks_.size() * geometry_.block; }

    // The lanes that `lane` waits for, if they all wait for one another in one place.
    bool release_group(Thread* warp, unsigned lane) {
        const Thread& asks = warp[lane];
        if (asks.state != State::SHUFFLE && asks.state != State::WARP_BARRIER) return false;
        if (!(asks.mask >> lane & 1u)) return fail("a lane outside its own mask at " + asks.place.text());
        std::uint64_t offered[WARP];
        for (unsigned i = 0; i < WARP; ++i) {
            offered[i] = warp[i].value;
            if (!(asks.mask >> i & 1u)) continue;
            if (warp[i].state == State::ENDED) {
                return fail("lane " + std::to_string(i) + " ended, but a warp waits for it at " + asks.place.text());
            }
            if (warp[i].state != asks.state || !(warp[i].place == asks.place)) return false;
        }
        for (unsigned i = 0; i < WARP; ++i) {
            if (!(asks.mask >> i & 1u)) continue;
            warp[i].value = offered[warp[i].source];
            warp[i].state = State::READY;
        }
        return true;
    }

    bool release_blocks() {
        bool released = false;
        for (auto& block : blocks_) {
            const std::size_t waiting = count(*block, State::BLOCK_BARRIER);
            const std::size_t ended = count(*block, State::ENDED);
            if (waiting == 0 || waiting + ended < block->threads.size()) continue;
            const Place place = place_of(*block, State::BLOCK_BARRIER);
            if (ended > 0) {
                return fail("divergent barrier: " + std::to_string(ended) + " of " +
                            std::to_string(block->threads.size()) + " threads ended before " + place.text());
            }
            for (const Thread& thread : block->threads) {
                if (!(thread.place == place)) {
                    return fail("divergent barrier: some threads wait at " + place.text() + ", others at " +
                                thread.place.text());
                }
            }
            for (Thread& thread : block->threads) thread.state = State::READY;
            released = true;
        }
        return released;
    }

    bool release_cluster() {
        if (count(State::CLUSTER_BARRIER) < threads()) return false;
        for (auto& block : blocks_) {
            for (Thread& thread : block->threads) thread.state = State::READY;
        }
        return true;
    }

    static Place place_of(const Block& block, State state) {
        for (const Thread& thread : block.threads) {
            if (thread.state == state) return thread.place;
        }
        return {};
    }

    std::string standstill() const {
        const struct {
            State state;
            const char* name;
        } kinds[] = {{State::SHUFFLE, "at a shuffle"},
                     {State::WARP_BARRIER, "at a warp barrier"},
                     {State::BLOCK_BARRIER, "at a block barrier"},
                     {State::CLUSTER_BARRIER, "at a cluster barrier"},
                     {State::ENDED, "ended"}};
        std::string text = "standstill:";
        for (const auto& block : blocks_) {
            for (const auto& kind : kinds) {
                const std::size_t number = count(*block, kind.state);
                if (number == 0) continue;
                text += " " + std::to_string(number) + " threads of block " + std::to_string(block->index.x) + " " + kind.name;
                if (kind.state != State::ENDED) text += " (" + place_of(*block, kind.state).text() + ")";
                text += ";";
            }
        }
        return text;
    }

    bool fail(const std::string& problem) {
        if (problem_.empty()) problem_ = problem;
        return false;
    }

    const Geometry& geometry_;
    std::uint64_t random_;
    std::string problem_;
    std::vector<std::unique_ptr<Block>> blocks_;
};

// Clusters in the order that the threads go in. Empty, or what stopped the launch.
inline std::string launch(const Geometry& geometry, const Kernel& which) {
    if (geometry.block % WARP != 0 || geometry.block == 0 || geometry.block > 1024) {
        return "a block of " + std::to_string(geometry.block) + " threads: need a multiple of 32 up to 1024";
    }
    if (geometry.cluster == 0 || geometry.grid % geometry.cluster != 0) {
        return "a grid of " + std::to_string(geometry.grid) + " blocks is no multiple of its cluster";
    }
    kernel = &which;
    fault.clear();
    grid_size = {geometry.grid, 1, 1};
    block_size = {geometry.block, 1, 1};
    std::vector<unsigned> clusters(geometry.grid / geometry.cluster);
    for (unsigned i = 0; i < clusters.size(); ++i) clusters[i] = i;
    if (geometry.order == Order::REVERSE) std::reverse(clusters.begin(), clusters.end());
    if (geometry.only_cluster >= 0) clusters = {static_cast<unsigned>(geometry.only_cluster)};
    for (const unsigned number : clusters) {
        const std::string problem = Cluster(geometry, number * geometry.cluster).run();
        if (!problem.empty()) return "block " + std::to_string(number * geometry.cluster) + ": " + problem;
    }
    return "";
}

template <class T>
inline T exchange(unsigned mask, T value, int source, Place place) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t), "a shuffle moves 8 bytes at most");
    Thread& me = *running;
    std::memcpy(&me.value, &value, sizeof(T));
    me.mask = mask;
    me.source = source;
    give_way(State::SHUFFLE, place);
    std::memcpy(&value, &me.value, sizeof(T));
    return value;
}

inline void warp_barrier(unsigned mask, Place place) {
    running->mask = mask;
    running->source = running->number % static_cast<int>(WARP);
    give_way(State::WARP_BARRIER, place);
}

template <class To, class From>
inline To same_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    std::memcpy(&to, &from, sizeof(To));
    return to;
}

}  // namespace cuda_on_host

#define CUDA_ON_HOST_HERE (cuda_on_host::Place{__FILE__, __LINE__})

#define threadIdx (cuda_on_host::running->index)
#define blockIdx (cuda_on_host::running->block->index)
#define gridDim (cuda_on_host::grid_size)
#define blockDim (cuda_on_host::block_size)

#define __syncthreads() cuda_on_host::give_way(cuda_on_host::State::BLOCK_BARRIER, CUDA_ON_HOST_HERE)
#define __syncwarp() cuda_on_host::warp_barrier(0xffffffffu, CUDA_ON_HOST_HERE)
#define __shfl_xor_sync(mask, value, distance) \
    cuda_on_host::exchange(mask, value, (cuda_on_host::running->number % 32) ^ (distance), CUDA_ON_HOST_HERE)

inline void __threadfence() {}
inline void __threadfence_system() {}

inline float __uint_as_float(unsigned bits) { return cuda_on_host::same_bits<float>(bits); }
inline unsigned __float_as_uint(float value) { return cuda_on_host::same_bits<unsigned>(value); }
inline double __longlong_as_double(long long bits) { return cuda_on_host::same_bits<double>(bits); }
inline double __hiloint2double(int high, int low) {
    const std::uint64_t bits = static_cast<std::uint64_t>(static_cast<unsigned>(high)) << 32 | static_cast<unsigned>(low);
    return cuda_on_host::same_bits<double>(bits);
}

// The larger of the two lower halves and of the two upper ones, as signed 16-bit integers.
inline unsigned __vmaxs2(unsigned left, unsigned right) {
    const auto larger = [](unsigned a, unsigned b) {
        return static_cast<std::uint16_t>(std::max(static_cast<std::int16_t>(a), static_cast<std::int16_t>(b)));
    };
    return static_cast<unsigned>(larger(left >> 16, right >> 16)) << 16 | larger(left & 0xffffu, right & 0xffffu);
}

template <class T>
inline T __ldcg(const T* address) {
    return *address;
}
inline void __stcs(int4* address, const int4& value) { *address = value; }

inline unsigned atomicInc(unsigned* address, unsigned last) {
    const unsigned old = *address;
    *address = old >= last ? 0 : old + 1;
    return old;
}
inline unsigned atomicCAS(unsigned* address, unsigned expected, unsigned wanted) {
    const unsigned old = *address;
    if (old == expected) *address = wanted;
    return old;
}
inline unsigned long long atomicAdd(unsigned long long* address, unsigned long long value) {
    const unsigned long long old = *address;
    *address = old + value;
    return old;
}
inline unsigned long long atomicExch(unsigned long long* address, unsigned long long value) {
    const unsigned long long old = *address;
    *address = value;
    return old;
}

// In place of machine.cuh.

constexpr bool HAS_PAIRWISE_MAXIMUM = false;
inline unsigned larger_pair_of_half(unsigned, unsigned) { std::abort(); }
inline unsigned larger_pair_of_bfloat16(unsigned, unsigned) { std::abort(); }

inline float half_to_float(unsigned short bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float sign = bits >> 15 ? -1.0f : 1.0f;
    if (exponent == 31) return fraction ? std::nanf("") : sign * HUGE_VALF;
    return sign * (exponent ? std::ldexp(1024.0f + static_cast<float>(fraction), exponent - 25)
                            : std::ldexp(static_cast<float>(fraction), -24));
}

inline unsigned short float_to_half(float value) {
    const unsigned sign = std::signbit(value) ? 0x8000u : 0u;
    if (value != value) return 0x7fff;
    const float size = std::fabs(value);
    if (size >= 65520.0f) return static_cast<unsigned short>(sign | 0x7c00u);  // halfway from 65504 to 65536
    int exponent = 0;
    std::frexp(size, &exponent);
    // nearbyint rounds to even. Below 2**-14 the spacing is that of subnormals, and a carry runs into the exponent.
    const int spacing = (size == 0.0f ? -13 : std::max(exponent, -13)) - 11;
    const unsigned steps = static_cast<unsigned>(std::nearbyint(std::ldexp(size, -spacing)));
    return static_cast<unsigned short>(sign | (static_cast<unsigned>(spacing + 24) * 1024u + steps));
}

inline float exp2_flushed(float value) {
    const float power = std::exp2(value);
    return power < 1.17549435e-38f ? 0.0f : power;  // the smallest normal float
}

inline void make_opaque(unsigned&) {}

template <class T>
inline T* in_global_memory(T* address) {
    return address;
}

inline void* dynamic_shared() { return cuda_on_host::running->block->shared; }

// Read in place. The shared memory of a block that has ended belongs to somebody else on a device.
inline unsigned word_of_block(const unsigned* mine, unsigned rank) {
    const cuda_on_host::Block& here = *cuda_on_host::running->block;
    const cuda_on_host::Block& there = *(*here.cluster)[rank];
    const bool has_ended = std::all_of(there.threads.begin(), there.threads.end(), [](const cuda_on_host::Thread& thread) {
        return thread.state == cuda_on_host::State::ENDED;
    });
    if (has_ended) cuda_on_host::fault = "shared memory of a block of the cluster is read after that block has ended";
    const std::size_t offset = reinterpret_cast<const char*>(mine) - static_cast<const char*>(here.shared);
    return *reinterpret_cast<const unsigned*>(static_cast<const char*>(there.shared) + offset);
}

inline unsigned cluster_rank() { return cuda_on_host::running->block->rank; }

#define cluster_barrier() cuda_on_host::give_way(cuda_on_host::State::CLUSTER_BARRIER, CUDA_ON_HOST_HERE)
