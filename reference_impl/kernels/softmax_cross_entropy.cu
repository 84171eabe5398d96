// Softmax cross-entropy of (N, C) logits with class ids: loss and gradient in one pass over the logits.
//
// Every logit is read once and its gradient written once (8 bytes per float32 logit, forward and backward
// together), save where a row fits neither the registers nor the shared memory of what works on it: there it
// is read twice. The gradient is already multiplied by expected_dy / count; backward is `scale_gradient`, whose
// blocks look at dy where it lies and return at once when it is what was expected.
//
// Nothing is included. NVRTC and CuPy compile this file as it is, and so does g++ once it has read
// cuda_on_host/cuda_on_host.h, which stands in for the compiler's built-ins and for the section THE MACHINE.
// planner.py chooses kernel and geometry; arguments.py holds the layout of Task.

struct Half {
    unsigned short bits;
};

struct Bfloat16 {
    unsigned short bits;
};

// ---------------------------------------------------------------------------------------------- THE MACHINE
// What CUDA C++ has no portable word for. All else in this file is compiled for the host as well.
#ifndef CUDA_ON_HOST

__device__ __forceinline__ float half_to_float(Half value) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
    return wide;
}

__device__ __forceinline__ Half float_to_half(float value) {
    Half narrow;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(value));
    return narrow;
}

// 2 to the value, within 2 units in the last place; 0 where that lies below the smallest normal float.
__device__ __forceinline__ float exp2_flushed(float value) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(value));
    return power;
}

// From here on the compiler knows nothing of the word's value, and so cannot hold on to what it derived from it.
__device__ __forceinline__ void make_opaque(unsigned& word) { asm volatile("" : "+r"(word)); }

// The larger of the lower halves and the larger of the upper halves. The type of the last argument says what they are.
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ unsigned larger_pair(unsigned left, unsigned right, Half) {
    unsigned larger;
    asm("max.f16x2 %0, %1, %2;" : "=r"(larger) : "r"(left), "r"(right));
    return larger;
}
__device__ __forceinline__ unsigned larger_pair(unsigned left, unsigned right, Bfloat16) {
    unsigned larger;
    asm("max.bf16x2 %0, %1, %2;" : "=r"(larger) : "r"(left), "r"(right));
    return larger;
}
#else
// As integers, floating-point numbers of either 16-bit format are in order once the negative ones are turned around.
__device__ __forceinline__ unsigned in_order(unsigned pair) { return pair ^ ((pair >> 15) & 0x00010001u) * 0x7fffu; }
template <class T>
__device__ __forceinline__ unsigned larger_pair(unsigned left, unsigned right, T) {
    return in_order(__vmaxs2(in_order(left), in_order(right)));
}
#endif

// The 16-byte aligned shared memory that the launch asked for.
__device__ __forceinline__ void* dynamic_shared() {
    extern __shared__ int4 bytes_of_block[];
    return bytes_of_block;
}

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned cluster_rank() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The word that lies in block `rank` of the cluster where `mine` lies in this one.
__device__ __forceinline__ unsigned word_of_block(const unsigned* mine, unsigned rank) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(mine));
    unsigned word;
    asm volatile(
        "{\n\t.reg .u32 remote;\n\tmapa.shared::cluster.u32 remote, %1, %2;\n\t"
        "ld.shared::cluster.u32 %0, [remote];\n\t}"
        : "=r"(word)
        : "r"(address), "r"(rank)
        : "memory");
    return word;
}
#else
// Never launched: the planner offers clusters from compute capability 9.0 on.
__device__ __forceinline__ unsigned cluster_rank() { return 0; }
__device__ __forceinline__ void cluster_barrier() { __trap(); }
__device__ __forceinline__ unsigned word_of_block(const unsigned* mine, unsigned) { return *mine; }
#endif

#endif  // CUDA_ON_HOST

// ------------------------------------------------------------------------------------------------ ARGUMENTS

// Device memory that outlives a launch. All zero at first, and zero again after every launch, save `counted`,
// a result, and `claimed`, which the host clears after it has raised.
struct Workspace {
    unsigned long long counting;
    long long counted;       // labels that are not ignored
    unsigned finished;       // groups of rows that are done
    unsigned counters_done;  // blocks of count_labels that are done
    unsigned claimed;        // whether a bad label has been reported
};

// Host memory that the device can write: the host looks here without any call to the driver.
struct Complaint {
    long long raised;
    long long row;
    long long label;
};

enum Flags { MEAN = 1, SUM = 2, HAS_IGNORE_INDEX = 4, STREAMING_STORES = 8, DY_PER_ROW = 16 };

enum LabelFormat { INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32 };

struct Task {
    const void* logits;    // (N, C), T
    const void* labels;    // (N,), LabelFormat
    void* gradient;        // (N, C), T, may be the logits; null where only the loss is wanted
    void* losses;          // (N,), Accumulator<T>
    void* loss;            // one Accumulator<T>, for MEAN and SUM
    double* partials;      // one per group of rows
    Workspace* workspace;
    Complaint* complaint;
    const void* dy;        // one, or N for DY_PER_ROW, of Accumulator<T>: scale_gradient only
    long long rows;
    long long ignore_index;
    double expected_dy;
    int classes;
    int rows_per_group;
    int label_format;
    int flags;
};

// -------------------------------------------------------------------------------------------------- NUMBERS

template <class T>
struct AccumulatorOf {
    using type = float;
};
template <>
struct AccumulatorOf<double> {
    using type = double;
};
template <class T>
using Accumulator = typename AccumulatorOf<T>::type;

__device__ __forceinline__ float widened(float value) { return value; }
__device__ __forceinline__ double widened(double value) { return value; }
__device__ __forceinline__ float widened(Half value) { return half_to_float(value); }
__device__ __forceinline__ float widened(Bfloat16 value) {
    return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}

__device__ __forceinline__ void narrow(float value, float& stored) { stored = value; }
__device__ __forceinline__ void narrow(double value, double& stored) { stored = value; }
__device__ __forceinline__ void narrow(float value, Half& stored) { stored = float_to_half(value); }
__device__ __forceinline__ void narrow(float value, Bfloat16& stored) {
    // To nearest, ties to even. A NaN must not round up into an infinity or a zero.
    const unsigned bits = __float_as_uint(value);
    const unsigned rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    stored.bits = static_cast<unsigned short>(value != value ? 0x7fffu : rounded);
}

template <class A>
__device__ __forceinline__ A infinity();
template <>
__device__ __forceinline__ float infinity<float>() {
    return __uint_as_float(0x7f800000u);
}
template <>
__device__ __forceinline__ double infinity<double>() {
    return __longlong_as_double(0x7ff0000000000000ll);
}
template <class A>
__device__ __forceinline__ A not_a_number() {
    return infinity<A>() - infinity<A>();
}

// e to the value. A 16-bit gradient keeps 11 bits at most, so there the short form loses nothing that is stored.
template <class T>
__device__ __forceinline__ Accumulator<T> exponential(Accumulator<T> value) {
    if constexpr (sizeof(T) == 2) {
        return exp2_flushed(value * 1.44269504f);  // log2(e)
    } else if constexpr (sizeof(T) == 4) {
        return expf(value);
    } else {
        return exp(value);
    }
}

__device__ __forceinline__ float logarithm(float value) { return logf(value); }
__device__ __forceinline__ double logarithm(double value) { return log(value); }

// Passes over NaN, which need not survive here: its own exponential carries it into the sum.
struct Larger {
    __device__ __forceinline__ float operator()(float left, float right) const { return fmaxf(left, right); }
    __device__ __forceinline__ double operator()(double left, double right) const { return right > left ? right : left; }
};

struct Plus {
    template <class A>
    __device__ __forceinline__ A operator()(A left, A right) const {
        return left + right;
    }
};

// ----------------------------------------------------------------------------------------------------- TEAMS

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

__device__ __forceinline__ float from_block(const float* mine, unsigned rank) {
    return __uint_as_float(word_of_block(reinterpret_cast<const unsigned*>(mine), rank));
}

__device__ __forceinline__ double from_block(const double* mine, unsigned rank) {
    const unsigned* words = reinterpret_cast<const unsigned*>(mine);
    const unsigned low = word_of_block(words, rank);
    const unsigned high = word_of_block(words + 1, rank);
    return __hiloint2double(static_cast<int>(high), static_cast<int>(low));
}

// The threads that work on one row: LANES of a block, or all of CLUSTER blocks.
template <class A, int LANES, int CLUSTER>
struct Team {
    static constexpr int THREADS = LANES <= 32 ? 128 : LANES;
    static constexpr int TEAMS = LANES <= 32 ? 128 / LANES : 1;
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

    // The two reductions of a row alternate between two sets of slots: the barrier inside one says that every
    // thread has read the other, so that the next row may write there.
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
                value = across_lanes<32>(lane < CLUSTER ? from_block(of_block, lane) : identity, combine);
            }
            return value;
        }
    }

    // After this no thread of the team has a read of the row's logits before it: they may be written over.
    __device__ __forceinline__ static void reads_are_done() {
        if constexpr (LANES <= 32) __syncwarp();  // a larger team has passed a barrier
    }

    // After this no block reads the shared memory of another, which may therefore end.
    __device__ __forceinline__ static void leave() {
        if constexpr (CLUSTER > 1) cluster_barrier();
    }
};

// ------------------------------------------------------------------------------------------------------ ROWS

__device__ __forceinline__ long long label_at(const void* labels, int format, long long row) {
    switch (format) {
        case INT8: return static_cast<const signed char*>(labels)[row];
        case INT16: return static_cast<const short*>(labels)[row];
        case INT32: return static_cast<const int*>(labels)[row];
        case INT64: return static_cast<const long long*>(labels)[row];
        case UINT8: return static_cast<const unsigned char*>(labels)[row];
        case UINT16: return static_cast<const unsigned short*>(labels)[row];
        default: return static_cast<const unsigned*>(labels)[row];
    }
}

// What a thread moves at once: WIDTH neighbours, at an address that WIDTH of them divide.
template <class T, int WIDTH, bool PACKED = (sizeof(T) == 2 && WIDTH > 1)>
struct alignas(WIDTH * sizeof(T)) Piece {
    T item[WIDTH];

    __device__ __forceinline__ Accumulator<T> get(int i) const { return widened(item[i]); }
    __device__ __forceinline__ T stored(int i) const { return item[i]; }
    __device__ __forceinline__ void set(int i, Accumulator<T> value) { narrow(value, item[i]); }
    __device__ __forceinline__ void forget_unpacked() {}
    __device__ __forceinline__ Accumulator<T> largest() const {
        Accumulator<T> largest = get(0);
#pragma unroll
        for (int i = 1; i < WIDTH; ++i) largest = Larger()(largest, get(i));
        return largest;
    }
};

// Sixteen-bit numbers stay two to a register: each by itself they would take twice as many.
template <class T, int WIDTH>
struct alignas(WIDTH * sizeof(T)) Piece<T, WIDTH, true> {
    unsigned pair[WIDTH / 2];

    __device__ __forceinline__ T stored(int i) const {
        return {static_cast<unsigned short>(i % 2 ? pair[i / 2] >> 16 : pair[i / 2] & 0xffffu)};
    }
    __device__ __forceinline__ Accumulator<T> get(int i) const { return widened(stored(i)); }
    __device__ __forceinline__ void set(int i, Accumulator<T> value) {
        T bits;
        narrow(value, bits);
        const unsigned word = bits.bits;
        pair[i / 2] = i % 2 ? (pair[i / 2] & 0xffffu) | word << 16 : (pair[i / 2] & 0xffff0000u) | word;
    }
    __device__ __forceinline__ void forget_unpacked() {
#pragma unroll
        for (int i = 0; i < WIDTH / 2; ++i) make_opaque(pair[i]);
    }
    __device__ __forceinline__ Accumulator<T> largest() const {
        Piece<T, 2> two = {{pair[0]}};
#pragma unroll
        for (int i = 1; i < WIDTH / 2; ++i) two.pair[0] = larger_pair(two.pair[0], pair[i], T());
        return Larger()(two.get(0), two.get(1));
    }
};

// A run of elements: whole pieces at aligned addresses, and before and after them fewer than WIDTH single ones, the
// edge. Pieces are numbered from 0, and so are the elements of the edge, first those before.
template <class T, int WIDTH>
struct Span {
    static constexpr int LONGEST_EDGE = 2 * (WIDTH - 1);

    const T* from;
    T* to;
    int length;
    int before;
    int pieces;
    bool streaming;

    __device__ __forceinline__ Span(const T* from, T* to, int length, bool streaming)
        : from(from), to(to), length(length), streaming(streaming) {
        before = (WIDTH - misalignment(from)) % WIDTH;
        if (before > length) before = length;
        pieces = (length - before) / WIDTH;
    }

    __device__ __forceinline__ static int misalignment(const T* address) {
        return static_cast<int>(reinterpret_cast<unsigned long long>(address) / sizeof(T) % WIDTH);
    }

    __device__ __forceinline__ int edge() const { return length - pieces * WIDTH; }
    __device__ __forceinline__ int column_of_piece(int piece) const { return before + piece * WIDTH; }
    __device__ __forceinline__ int column_of_edge(int element) const {
        return element < before ? element : element + pieces * WIDTH;
    }

    // Which of `size` threads has the column when piece and edge element k belong to thread k % size.
    __device__ __forceinline__ int owner(int column, int size) const {
        const int past = column - before;
        if (past < 0) return column % size;
        return (past < pieces * WIDTH ? past / WIDTH : column - pieces * WIDTH) % size;
    }

    __device__ __forceinline__ Piece<T, WIDTH> load(int piece) const {
        return *reinterpret_cast<const Piece<T, WIDTH>*>(from + column_of_piece(piece));
    }

    __device__ __forceinline__ Piece<T, 1> load_edge(int element) const { return {{from[column_of_edge(element)]}}; }

    __device__ __forceinline__ void store(int piece, const Piece<T, WIDTH>& values) const {
        T* target = to + column_of_piece(piece);
        if (misalignment(to) != misalignment(from)) {
#pragma unroll
            for (int i = 0; i < WIDTH; ++i) target[i] = values.stored(i);
        } else if (sizeof(values) == 16 && streaming) {
            __stcs(reinterpret_cast<int4*>(target), reinterpret_cast<const int4&>(values));
        } else {
            *reinterpret_cast<Piece<T, WIDTH>*>(target) = values;
        }
    }

    __device__ __forceinline__ void store_edge(int element, const Piece<T, 1>& value) const {
        to[column_of_edge(element)] = value.item[0];
    }
};

// One row and its label.
template <class T, int WIDTH>
struct Row {
    using A = Accumulator<T>;
    enum { BAD = -1, IGNORED = -2, ABSENT = -3 };

    Span<T, WIDTH> span;
    long long index;
    int column;  // of the label, or what there is instead of one
    A logit;     // in that column

    __device__ __forceinline__ static Row read(const Task& task, long long index) {
        const bool exists = index < task.rows;
        // index * classes may exceed 2**31: index is 64 bits wide.
        const long long offset = exists ? index * task.classes : 0;
        T* gradient = static_cast<T*>(task.gradient);
        Row row = {
            Span<T, WIDTH>(static_cast<const T*>(task.logits) + offset, gradient ? gradient + offset : nullptr,
                           task.classes, task.flags & STREAMING_STORES),
            index, exists ? column_of(task, label_at(task.labels, task.label_format, index)) : ABSENT, A(0)};
        if (row.column >= 0) row.logit = widened(row.span.from[row.column]);
        return row;
    }

    __device__ __forceinline__ static int column_of(const Task& task, long long label) {
        if ((task.flags & HAS_IGNORE_INDEX) && label == task.ignore_index) return IGNORED;
        return label < 0 || label >= task.classes ? BAD : static_cast<int>(label);
    }

    __device__ __forceinline__ bool exists() const { return column != ABSENT; }
    __device__ __forceinline__ bool is_read() const { return column >= BAD; }
    __device__ __forceinline__ bool is_written() const { return exists() && span.to; }

    // Where there is nothing to find, -inf; but 0 all through a row that is ignored or absent, and not read.
    __device__ __forceinline__ Piece<T, WIDTH> load(int piece) const {
        return is_read() && piece < span.pieces ? span.load(piece) : filler<WIDTH>();
    }

    __device__ __forceinline__ Piece<T, 1> load_edge(int element) const {
        return is_read() && element < span.edge() ? span.load_edge(element) : filler<1>();
    }

    template <int LENGTH>
    __device__ __forceinline__ Piece<T, LENGTH> filler() const {
        Piece<T, LENGTH> piece;
#pragma unroll
        for (int i = 0; i < LENGTH; ++i) piece.set(i, is_read() ? -infinity<A>() : A(0));
        return piece;
    }

    // What an exponential is multiplied by to become a gradient.
    __device__ __forceinline__ A factor(A scale, A sum) const {
        return is_read() ? (column == BAD ? not_a_number<A>() : scale / sum) : A(0);
    }

    // Not (log(sum) + peak) - logit: under a common offset of 1e8 that has no digit left.
    __device__ __forceinline__ A loss(A peak, A sum) const {
        if (column == BAD) return not_a_number<A>();
        return is_read() ? logarithm(sum) - (logit - peak) : A(0);
    }
};

// ----------------------------------------------------------------------------------- WHERE A ROW IS KEPT MEANWHILE

// In place, the exponentials of a row can take over from its logits; 16 bits are too few for them.
template <class T>
constexpr bool KEEPS_EXPONENTIALS = sizeof(T) == sizeof(Accumulator<T>);

template <class T, int WIDTH>
__device__ __forceinline__ Accumulator<T> sum_of_exponentials(Piece<T, WIDTH>& piece, Accumulator<T> peak) {
    Accumulator<T> sum = 0;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
        const Accumulator<T> e = exponential<T>(piece.get(i) - peak);
        if constexpr (KEEPS_EXPONENTIALS<T>) piece.set(i, e);
        sum += e;
    }
    return sum;
}

template <bool ARE_EXPONENTIALS, class T, int WIDTH>
__device__ __forceinline__ void turn_into_gradient(Piece<T, WIDTH>& piece, Accumulator<T> peak, Accumulator<T> factor) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
        const Accumulator<T> value = piece.get(i);
        piece.set(i, (ARE_EXPONENTIALS ? value : exponential<T>(value - peak)) * factor);
    }
}

template <class T, int WIDTH, class Members, int PIECES>
struct InRegisters {
    using A = Accumulator<T>;

    static constexpr int EDGE = (Span<T, WIDTH>::LONGEST_EDGE + Members::SIZE - 1) / Members::SIZE;

    Piece<T, WIDTH> held[PIECES];
    Piece<T, 1> edge[EDGE + 1];  // one too many, for there are no arrays of length 0

    __device__ __forceinline__ A read(const Row<T, WIDTH>& row) {
        A peak = -infinity<A>();
#pragma unroll
        for (int i = 0; i < PIECES; ++i) {
            held[i] = row.load(Members::lane() + i * Members::SIZE);
            held[i].forget_unpacked();
        }
#pragma unroll
        for (int i = 0; i < EDGE; ++i) edge[i] = row.load_edge(Members::lane() + i * Members::SIZE);
#pragma unroll
        for (int i = 0; i < PIECES; ++i) peak = Larger()(peak, held[i].largest());
#pragma unroll
        for (int i = 0; i < EDGE; ++i) peak = Larger()(peak, edge[i].largest());
        return peak;
    }

    __device__ __forceinline__ A sum(const Row<T, WIDTH>&, A peak) {
        A sum = 0;
#pragma unroll
        for (int i = 0; i < PIECES; ++i) {
            held[i].forget_unpacked();
            sum += sum_of_exponentials(held[i], peak);
        }
#pragma unroll
        for (int i = 0; i < EDGE; ++i) sum += sum_of_exponentials(edge[i], peak);
        return sum;
    }

    __device__ __forceinline__ void write(const Row<T, WIDTH>& row, A peak, A factor) {
#pragma unroll
        for (int i = 0; i < PIECES; ++i) {
            const int piece = Members::lane() + i * Members::SIZE;
            held[i].forget_unpacked();
            if (piece >= row.span.pieces) break;
            turn_into_gradient<KEEPS_EXPONENTIALS<T>>(held[i], peak, factor);
            row.span.store(piece, held[i]);
        }
#pragma unroll
        for (int i = 0; i < EDGE; ++i) {
            const int element = Members::lane() + i * Members::SIZE;
            if (element >= row.span.edge()) break;
            turn_into_gradient<KEEPS_EXPONENTIALS<T>>(edge[i], peak, factor);
            row.span.store_edge(element, edge[i]);
        }
    }
};

template <class T, int WIDTH, class Members>
struct InSharedMemory {
    using A = Accumulator<T>;

    static_assert(Span<T, WIDTH>::LONGEST_EDGE <= Members::SIZE, "one element of the edge to a thread");

    Piece<T, 1> edge;

    // Each thread comes back to its own pieces only, so that no barrier is needed.
    __device__ __forceinline__ static Piece<T, WIDTH>* held() {
        return reinterpret_cast<Piece<T, WIDTH>*>(&scratch<A>() + 1);
    }

    __device__ __forceinline__ A read(const Row<T, WIDTH>& row) {
        edge = row.load_edge(Members::lane());
        A peak = edge.largest();
        for (int i = Members::lane(); i < row.span.pieces; i += Members::SIZE) {
            held()[i] = row.load(i);
            peak = Larger()(peak, held()[i].largest());
        }
        return peak;
    }

    __device__ __forceinline__ A sum(const Row<T, WIDTH>& row, A peak) {
        A sum = sum_of_exponentials(edge, peak);
        for (int i = Members::lane(); i < row.span.pieces; i += Members::SIZE) {
            sum += sum_of_exponentials(held()[i], peak);
        }
        return sum;
    }

    __device__ __forceinline__ void write(const Row<T, WIDTH>& row, A peak, A factor) {
        for (int i = Members::lane(); i < row.span.pieces; i += Members::SIZE) {
            Piece<T, WIDTH> piece = held()[i];
            turn_into_gradient<KEEPS_EXPONENTIALS<T>>(piece, peak, factor);
            row.span.store(i, piece);
        }
        if (Members::lane() >= row.span.edge()) return;
        turn_into_gradient<KEEPS_EXPONENTIALS<T>>(edge, peak, factor);
        row.span.store_edge(Members::lane(), edge);
    }
};

// The row is read again for its gradient. Meanwhile a thread knows the largest of its logits so far, and the
// sum of exponentials taken from there.
template <class T, int WIDTH, class Members>
struct Nowhere {
    using A = Accumulator<T>;

    static_assert(Span<T, WIDTH>::LONGEST_EDGE <= Members::SIZE, "one element of the edge to a thread");

    A own_peak;
    A own_sum;

    __device__ __forceinline__ A read(const Row<T, WIDTH>& row) {
        own_peak = -infinity<A>();
        own_sum = 0;
        for (int i = Members::lane(); i < row.span.pieces; i += Members::SIZE) include(row.load(i));
        include(row.load_edge(Members::lane()));
        return own_peak;
    }

    __device__ __forceinline__ A sum(const Row<T, WIDTH>&, A peak) { return moved_to(peak); }

    __device__ __forceinline__ void write(const Row<T, WIDTH>& row, A peak, A factor) {
        for (int i = Members::lane(); i < row.span.pieces; i += Members::SIZE) {
            Piece<T, WIDTH> piece = row.load(i);
            turn_into_gradient<false>(piece, peak, factor);
            row.span.store(i, piece);
        }
        if (Members::lane() >= row.span.edge()) return;
        Piece<T, 1> piece = row.load_edge(Members::lane());
        turn_into_gradient<false>(piece, peak, factor);
        row.span.store_edge(Members::lane(), piece);
    }

    template <int LENGTH>
    __device__ __forceinline__ void include(Piece<T, LENGTH> piece) {
        const A peak = Larger()(own_peak, piece.largest());
        // Of nothing but -inf the sum is 0, though -inf - -inf is NaN.
        own_sum = moved_to(peak) + sum_of_exponentials(piece, peak == -infinity<A>() ? A(0) : peak);
        own_peak = peak;
    }

    // What has met nothing but -inf has a sum of 0, or of NaN, wherever that is taken from.
    __device__ __forceinline__ A moved_to(A peak) const {
        return own_peak == -infinity<A>() ? own_sum : own_sum * exponential<T>(own_peak - peak);
    }
};

// -------------------------------------------------------------------------------------------------- THE LOSS

// The first bad label anybody meets is the one reported. The device's own word decides who is first: an atomic
// on host memory would need an interconnect that carries it.
__device__ __forceinline__ void complain(const Task& task, long long row) {
    if (atomicCAS(&task.workspace->claimed, 0u, 1u) != 0u) return;
    volatile Complaint* complaint = task.complaint;
    complaint->row = row;
    complaint->label = label_at(task.labels, task.label_format, row);
    __threadfence_system();
    complaint->raised = 1;
}

// Adds up the rows of all groups in whichever block ends last. The order of the additions follows from the
// launch alone, so that equal runs give equal bits.
template <class Members, class A>
__device__ __forceinline__ void add_up(const Task& task) {
    if (Members::rank() != 0 || !(task.flags & (MEAN | SUM))) return;  // for all threads of a block
    Scratch<A>& shared = scratch<A>();
    __syncthreads();
    if (threadIdx.x == 0) {
        double sum = 0;
        for (int i = 0; i < Members::TEAMS; ++i) sum += shared.total[i];
        task.partials[Members::group()] = sum;
        __threadfence();
        // atomicInc returns to 0 after the last group, ready for the next launch.
        const unsigned last = Members::groups() - 1;
        shared.is_last = atomicInc(&task.workspace->finished, last) == last;
    }
    __syncthreads();
    if (!shared.is_last) return;
    __threadfence();
    double sum = 0;
    for (int i = threadIdx.x; i < Members::groups(); i += Members::THREADS) {
        sum += __ldcg(task.partials + i);  // past the L1 cache, which other blocks do not write to
    }
    sum = across_lanes<32>(sum, Plus());
    if (threadIdx.x % 32 == 0) shared.total[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    sum = 0;
    for (int i = 0; i < Members::THREADS / 32; ++i) sum += shared.total[i];
    if (task.flags & MEAN) sum /= static_cast<double>(task.flags & HAS_IGNORE_INDEX ? task.workspace->counted : task.rows);
    *static_cast<A*>(task.loss) = static_cast<A>(sum);
}

// What the gradient of a row that counts is multiplied by.
__device__ __forceinline__ double gradient_scale(const Task& task) {
    if (!(task.flags & MEAN)) return task.expected_dy;
    const long long count = task.flags & HAS_IGNORE_INDEX ? task.workspace->counted : task.rows;
    return task.expected_dy / static_cast<double>(count);
}

template <class T, int WIDTH, class Members, class Keeper>
__device__ __forceinline__ void all_rows_of_group(const Task& task) {
    using A = Accumulator<T>;
    Scratch<A>& shared = scratch<A>();
    if (threadIdx.x == 0) shared.scale = static_cast<A>(gradient_scale(task));
    if (Members::leads()) shared.total[Members::number()] = 0;
    __syncthreads();
    const long long first = static_cast<long long>(Members::group()) * task.rows_per_group;
    // Every thread makes every pass, with a row or without: a shuffle needs the whole warp, a barrier all.
    for (int pass = 0; pass < task.rows_per_group; pass += Members::TEAMS) {
        const Row<T, WIDTH> row = Row<T, WIDTH>::read(task, first + pass + Members::number());
        Keeper keeper;
        const A peak = Members::largest(keeper.read(row));
        const A sum = Members::sum(keeper.sum(row, peak));
        const A loss = row.loss(peak, sum);
        Members::reads_are_done();
        if (row.is_written()) {
            const A factor = row.factor(shared.scale, sum);
            keeper.write(row, peak, factor);
            // The label's own column once more, by the thread that has just written it.
            if (row.column >= 0 && row.span.owner(row.column, Members::SIZE) == Members::lane()) {
                narrow(exponential<T>(row.logit - peak) * factor - shared.scale, row.span.to[row.column]);
            }
        }
        if (Members::leads() && row.exists()) {
            shared.total[Members::number()] += static_cast<double>(loss);
            static_cast<A*>(task.losses)[row.index] = loss;
            if (row.column == Row<T, WIDTH>::BAD) complain(task, row.index);
        }
    }
    Members::leave();
    add_up<Members, A>(task);
}

// --------------------------------------------------------------------------------------------------- KERNELS
// Enough blocks fit a multiprocessor's 65536 registers to have 1024 threads on it, of 64 registers each: 1024 of them
// move a row of 128 KiB. Small teams want 80, and float64, whose exponential is long, 128.

#define THREADS_OF_MULTIPROCESSOR(T, threads) (sizeof(T) == 8 ? 512 : (threads) == 128 ? 768 : 1024)
#define BOUNDS(T, threads) __launch_bounds__(threads, THREADS_OF_MULTIPROCESSOR(T, threads) / (threads))
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define BLOCKS_OF_CLUSTER(count)
#else
#define BLOCKS_OF_CLUSTER(count) __cluster_dims__(count, 1, 1)
#endif

// LANES threads to a row, each with PIECES pieces of it: C / WIDTH <= LANES * PIECES.
template <class T, int WIDTH, int LANES, int PIECES>
__global__ void BOUNDS(T, (LANES <= 32 ? 128 : LANES)) rows_in_registers(Task task) {
    using Members = Team<Accumulator<T>, LANES, 1>;
    all_rows_of_group<T, WIDTH, Members, InRegisters<T, WIDTH, Members, PIECES>>(task);
}

// CLUSTER blocks to a row, PIECES pieces to a thread. Needs compute capability 9.0.
template <class T, int WIDTH, int THREADS, int PIECES, int CLUSTER>
__global__ void BOUNDS(T, THREADS) BLOCKS_OF_CLUSTER(CLUSTER) rows_in_cluster(Task task) {
    using Members = Team<Accumulator<T>, THREADS, CLUSTER>;
    all_rows_of_group<T, WIDTH, Members, InRegisters<T, WIDTH, Members, PIECES>>(task);
}

// One block to a row, which must fit the shared memory of the launch.
template <class T, int WIDTH, int THREADS>
__global__ void BOUNDS(T, THREADS) rows_in_shared_memory(Task task) {
    using Members = Team<Accumulator<T>, THREADS, 1>;
    all_rows_of_group<T, WIDTH, Members, InSharedMemory<T, WIDTH, Members>>(task);
}

// One block to a row of any length; reads it twice.
template <class T, int WIDTH, int THREADS>
__global__ void BOUNDS(T, THREADS) rows_read_twice(Task task) {
    using Members = Team<Accumulator<T>, THREADS, 1>;
    all_rows_of_group<T, WIDTH, Members, Nowhere<T, WIDTH, Members>>(task);
}

// How many labels are not ignore_index: before a mean that may ignore rows.
__global__ void BOUNDS(float, 256) count_labels(Task task) {
    unsigned counted = 0;
    const long long stride = static_cast<long long>(gridDim.x) * 256;
    for (long long row = blockIdx.x * 256ll + threadIdx.x; row < task.rows; row += stride) {
        counted += label_at(task.labels, task.label_format, row) != task.ignore_index;
    }
    counted = across_lanes<32>(counted, Plus());
    if (threadIdx.x % 32 == 0) atomicAdd(&task.workspace->counting, static_cast<unsigned long long>(counted));
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence();
    const unsigned last = gridDim.x - 1;
    if (atomicInc(&task.workspace->counters_done, last) != last) return;
    task.workspace->counted = static_cast<long long>(atomicExch(&task.workspace->counting, 0ull));
}

template <class A, int WIDTH>
struct Factors {
    A factor[WIDTH];
    bool are_one;

    // Of the elements from `element` on, in the rows that `dy_of_rows` begins with; null where all share `common`.
    __device__ __forceinline__ Factors(const A* dy_of_rows, int element, int classes, A common, A expected) {
        are_one = true;
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) {
            factor[i] = dy_of_rows ? dy_of_rows[(element + i) / classes] / expected : common;
            are_one = are_one && factor[i] == A(1);
        }
    }

    template <class T>
    __device__ __forceinline__ void multiply(Piece<T, WIDTH>& piece) const {
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) {
            const A value = piece.get(i);
            if (value != A(0)) piece.set(i, value * factor[i]);
        }
    }
};

// Multiplies the gradient by dy / expected_dy. Where that is 1 a block reads nothing else and returns.
// Zeros stay zeros: an ignored row has no gradient, whatever dy is.
template <class T, int WIDTH>
__global__ void BOUNDS(T, 256) scale_gradient(Task task) {
    using A = Accumulator<T>;
    const A* dy = static_cast<const A*>(task.dy);
    const bool is_per_row = task.flags & DY_PER_ROW;
    const A expected = static_cast<A>(task.expected_dy);
    const A common = is_per_row ? A(0) : *dy / expected;
    if (common == A(1)) return;
    const long long first_row = static_cast<long long>(blockIdx.x) * task.rows_per_group;
    const long long rows_left = task.rows - first_row;
    const int rows = rows_left < task.rows_per_group ? static_cast<int>(rows_left) : task.rows_per_group;
    T* gradient = static_cast<T*>(task.gradient) + first_row * task.classes;
    const Span<T, WIDTH> span(gradient, gradient, rows * task.classes, task.flags & STREAMING_STORES);
    const A* dy_of_rows = is_per_row ? dy + first_row : nullptr;
    for (int i = threadIdx.x; i < span.pieces; i += 256) {
        Factors<A, WIDTH> factors(dy_of_rows, span.column_of_piece(i), task.classes, common, expected);
        if (factors.are_one) continue;
        Piece<T, WIDTH> piece = span.load(i);
        factors.multiply(piece);
        span.store(i, piece);
    }
    for (int i = threadIdx.x; i < span.edge(); i += 256) {
        Factors<A, 1> factors(dy_of_rows, span.column_of_edge(i), task.classes, common, expected);
        if (factors.are_one) continue;
        Piece<T, 1> piece = span.load_edge(i);
        factors.multiply(piece);
        span.store_edge(i, piece);
    }
}
