// Softmax cross-entropy of (N, C) logits with class ids: loss and gradient in one pass over the logits.
//
// Every logit is read once and its gradient written once (8 bytes per float32 logit, forward and backward together),
// save where a row fits neither the registers nor the shared memory of what works on it: there it is read twice. The
// gradient comes multiplied by expected_dy / count. Backward is `scale_gradient`, whose blocks look at dy where it
// lies and return at once when it is what was expected.
//
// Nothing is included. source.py puts machine.cuh, numbers.cuh, teams.cuh, rows.cuh and this file after one another;
// planner.py chooses a kernel and its geometry; task.py has the layout of Task, Workspace and Complaint.

// Device memory that outlives a launch. All zero at first, and zero again after every launch, save `counted`, a
// result, and `claimed`, which the host clears once it has raised.
struct Workspace {
    unsigned long long counting;
    long long counted;       // labels that are not ignored
    unsigned groups_done;
    unsigned counters_done;  // blocks of count_labels
    unsigned claimed;        // 1 once a bad label has been reported
};

// Host memory that the device writes to. The host looks here with no call to the driver.
struct Complaint {
    long long raised;
    long long row;
    long long label;
};

enum Flags {
    MEAN = 1,
    SUM = 2,
    HAS_IGNORE_INDEX = 4,
    LABELS_ARE_INT64 = 8,  // else int32
    STREAMING_STORES = 16,
    DY_PER_ROW = 32,
};

struct Task {
    const void* logits;    // (N, C) of T
    const void* labels;    // (N,) of int32 or int64
    void* gradient;        // (N, C) of T, may be the logits; null where only the loss is wanted. WIDTH elements divide
                           // its distance from the logits
    void* losses;          // (N,) of Accumulator<T>
    void* loss;            // one Accumulator<T>, for MEAN and SUM
    double* partials;      // one per group of rows
    Workspace* workspace;
    Complaint* complaint;
    const void* dy;        // one Accumulator<T>, or N for DY_PER_ROW; scale_gradient only
    long long rows;
    long long ignore_index;
    double expected_dy;
    int classes;
    int rows_per_group;    // a multiple of the teams in a block
    int flags;
    int unused;
};

__device__ __forceinline__ long long label_of(const Task& task, long long row) {
    if (task.flags & LABELS_ARE_INT64) return static_cast<const long long*>(task.labels)[row];
    return static_cast<const int*>(task.labels)[row];
}

// What a mean divides by.
__device__ __forceinline__ double count_of(const Task& task) {
    return static_cast<double>(task.flags & HAS_IGNORE_INDEX ? task.workspace->counted : task.rows);
}

template <class T, int WIDTH>
__device__ __forceinline__ Row<T, WIDTH> row_at(const Task& task, long long index) {
    const bool exists = index < task.rows;
    // index * classes may exceed 2**31, which is why index is 64 bits wide.
    const long long offset = exists ? index * task.classes : 0;
    const T* logits = static_cast<const T*>(task.logits) + offset;
    T* gradient = task.gradient ? static_cast<T*>(task.gradient) + offset : nullptr;
    const Span<T, WIDTH> span(logits, gradient, task.classes, task.flags & STREAMING_STORES);
    if (!exists) return {span, Row<T, WIDTH>::ABSENT};
    const long long label = label_of(task, index);
    if ((task.flags & HAS_IGNORE_INDEX) && label == task.ignore_index) return {span, Row<T, WIDTH>::IGNORED};
    if (label < 0 || label >= task.classes) return {span, Row<T, WIDTH>::BAD};
    return {span, static_cast<int>(label)};
}

// The first bad label that anybody meets is reported. Who is first is decided on the device, where an atomic needs
// nothing of the bus.
__device__ __forceinline__ void complain(const Task& task, long long row) {
    if (atomicCAS(&task.workspace->claimed, 0u, 1u) != 0u) return;
    volatile Complaint* complaint = task.complaint;
    complaint->row = row;
    complaint->label = label_of(task, row);
    __threadfence_system();
    complaint->raised = 1;
}

// Adds up the losses of all groups, in whichever block ends last. The order of the additions follows from the launch
// alone, so that equal launches give equal bits.
template <class Members, class A>
__device__ __forceinline__ void add_up(const Task& task) {
    if (Members::rank() != 0 || !(task.flags & (MEAN | SUM))) return;  // a whole block or none of it
    Scratch<A>& shared = scratch<A>();
    __syncthreads();
    if (threadIdx.x == 0) {
        double sum = 0;
        for (int i = 0; i < Members::TEAMS; ++i) sum += shared.total[i];
        task.partials[Members::group()] = sum;
        __threadfence();
        // After the last group atomicInc is back at 0, ready for the next launch.
        const unsigned last = Members::groups() - 1;
        shared.is_last = atomicInc(&task.workspace->groups_done, last) == last;
    }
    __syncthreads();
    if (!shared.is_last) return;
    __threadfence();
    double sum = 0;
    for (int i = threadIdx.x; i < Members::groups(); i += Members::THREADS) {
        sum += __ldcg(task.partials + i);  // past the L1 cache, where the writes of other blocks do not arrive
    }
    sum = across_lanes<32>(sum, Plus());
    if (threadIdx.x % 32 == 0) shared.total[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    sum = 0;
    for (int i = 0; i < Members::THREADS / 32; ++i) sum += shared.total[i];
    *static_cast<A*>(task.loss) = static_cast<A>(task.flags & MEAN ? sum / count_of(task) : sum);
}

template <class T, int WIDTH, class Members, class Keeper>
__device__ __forceinline__ void do_group(const Task& task) {
    using A = Accumulator<T>;
    Scratch<A>& shared = scratch<A>();
    if (Members::leads()) shared.total[Members::number()] = 0;
    if (threadIdx.x == 0) {
        shared.scale = static_cast<A>(task.flags & MEAN ? task.expected_dy / count_of(task) : task.expected_dy);
    }
    __syncthreads();
    const long long first = static_cast<long long>(Members::group()) * task.rows_per_group + Members::number();
    // Every thread makes every pass, with a row or without: a shuffle needs the whole warp, a barrier the whole block.
    for (int pass = 0; pass < task.rows_per_group; pass += Members::TEAMS) {
        const Row<T, WIDTH> row = row_at<T, WIDTH>(task, first + pass);
        Keeper keeper;
        const A peak = Members::largest(keeper.read(row));
        const A sum = Members::sum(keeper.sum(row, peak));
        if (Members::leads() && row.exists()) {
            const A loss = row.loss(peak, sum);
            static_cast<A*>(task.losses)[first + pass] = loss;
            shared.total[Members::number()] += static_cast<double>(loss);
            if (row.column == Row<T, WIDTH>::BAD) complain(task, first + pass);
        }
        Members::finish_reading();
        if (row.exists() && task.gradient) {
            const A factor = row.factor(shared.scale, sum);
            keeper.write(row, peak, factor);
            // The label's own column once more, by the thread that has just written it.
            if (row.column >= 0 && row.span.owner(row.column, Members::SIZE) == Members::lane()) {
                narrow(exponential<T>(row.logit - peak) * factor - shared.scale, row.span.to[row.column]);
            }
        }
    }
    Members::part();
    add_up<Members, A>(task);
}

// A multiprocessor has 65536 registers: 64 for each of 1024 threads, which together hold a row of 128 KiB. Small teams
// want 80, and are as well off with 768 threads; float64, whose exponential is long, and clusters want 128.
template <class T, int THREADS>
constexpr int RESIDENT = sizeof(T) == 8 ? 512 : THREADS == 128 ? 768 : 1024;

#define BOUNDS(threads, resident) __launch_bounds__(threads, (resident) / (threads))

// LANES threads to a row, PIECES pieces of it to a thread: C / WIDTH <= LANES * PIECES.
template <class T, int WIDTH, int LANES, int PIECES>
__global__ void BOUNDS((THREADS_OF<LANES>), (RESIDENT<T, THREADS_OF<LANES>>)) rows_in_registers(Task task) {
    using Members = Team<Accumulator<T>, LANES, 1>;
    do_group<T, WIDTH, Members, InRegisters<T, WIDTH, Members, PIECES>>(task);
}

// CLUSTER blocks to a row. Needs compute capability 9.0.
template <class T, int WIDTH, int THREADS, int PIECES, int CLUSTER>
__global__ void BOUNDS(THREADS, 512) BLOCKS_OF_CLUSTER(CLUSTER) rows_in_cluster(Task task) {
    using Members = Team<Accumulator<T>, THREADS, CLUSTER>;
    do_group<T, WIDTH, Members, InRegisters<T, WIDTH, Members, PIECES>>(task);
}

// One block to a row, whose pieces fit the shared memory of the launch.
template <class T, int WIDTH, int THREADS>
__global__ void BOUNDS(THREADS, (RESIDENT<T, THREADS>)) rows_in_shared_memory(Task task) {
    using Members = Team<Accumulator<T>, THREADS, 1>;
    do_group<T, WIDTH, Members, InSharedMemory<T, WIDTH, Members>>(task);
}

// One block to a row of any length.
template <class T, int WIDTH, int THREADS>
__global__ void BOUNDS(THREADS, (RESIDENT<T, THREADS>)) rows_read_twice(Task task) {
    using Members = Team<Accumulator<T>, THREADS, 1>;
    do_group<T, WIDTH, Members, ReadAgain<T, WIDTH, Members>>(task);
}

// How many labels are not ignore_index. Goes before a mean that may ignore rows.
__global__ void BOUNDS(256, 1024) count_labels(Task task) {
    unsigned counted = 0;
    const long long stride = static_cast<long long>(gridDim.x) * 256;
    for (long long row = blockIdx.x * 256ll + threadIdx.x; row < task.rows; row += stride) {
        counted += label_of(task, row) != task.ignore_index;
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

    // Of `element` and those after it, in the rows that `dy_of_rows` begins with; null where all share `common`.
    __device__ __forceinline__ Factors(const A* dy_of_rows, int element, int classes, A common, A expected) {
        are_one = true;
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) {
            factor[i] = dy_of_rows ? dy_of_rows[(element + i) / classes] / expected : common;
            are_one = are_one && factor[i] == A(1);
        }
    }

    // Zeros stay zeros: an ignored row has no gradient, whatever dy is.
    template <class T>
    __device__ __forceinline__ void multiply(Piece<T, WIDTH>& piece) const {
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) {
            const A value = piece.get(i);
            if (value != A(0)) piece.set(i, value * factor[i]);
        }
    }
};

// Multiplies the gradient by dy / expected_dy. A block for which that is 1 reads nothing but dy.
template <class T, int WIDTH>
__global__ void BOUNDS(256, 1024) scale_gradient(Task task) {
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
        const Factors<A, WIDTH> factors(dy_of_rows, span.column_of_piece(i), task.classes, common, expected);
        if (factors.are_one) continue;
        Piece<T, WIDTH> piece = span.load(i);
        factors.multiply(piece);
        span.store(i, piece);
    }
    for (int i = threadIdx.x; i < span.edge(); i += 256) {
        const Factors<A, 1> factors(dy_of_rows, span.column_of_edge(i), task.classes, common, expected);
        if (factors.are_one) continue;
        Piece<T, 1> piece = span.load_edge(i);
        factors.multiply(piece);
        span.store_edge(i, piece);
    }
}
