// A row of logits: its pieces, its label, and where it is kept between the reading and the writing.

// A run of elements: whole pieces at aligned addresses, and before and after them fewer than WIDTH single elements,
// the edge. Pieces are numbered from 0, and so are the elements of the edge, those before the pieces first. `from` and
// `to` are equally aligned, to WIDTH elements.
template <class T, int WIDTH>
struct Span {
    static constexpr int LONGEST_EDGE = 2 * (WIDTH - 1);

    const T* from;
    T* to;
    int length;
    bool is_streaming;  // what is written will not be read from the L2 cache
    int before;
    int pieces;

    __device__ __forceinline__ Span(const T* from, T* to, int length, bool is_streaming)
        : from(from), to(to), length(length), is_streaming(is_streaming) {
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

    // Which of `size` threads has the column when piece k and edge element k belong to thread k % size.
    __device__ __forceinline__ int owner(int column, int size) const {
        const int past = column - before;
        if (past < 0) return column % size;
        return (past < pieces * WIDTH ? past / WIDTH : column - pieces * WIDTH) % size;
    }

    __device__ __forceinline__ Piece<T, WIDTH> load(int piece) const {
        return *in_global_memory(reinterpret_cast<const Piece<T, WIDTH>*>(from + column_of_piece(piece)));
    }

    __device__ __forceinline__ Piece<T, 1> load_edge(int element) const { return {{from[column_of_edge(element)]}}; }

    __device__ __forceinline__ void store(int piece, const Piece<T, WIDTH>& values) const {
        T* target = to + column_of_piece(piece);
        if (sizeof(values) == sizeof(int4) && is_streaming) {
            __stcs(reinterpret_cast<int4*>(in_global_memory(target)), reinterpret_cast<const int4&>(values));
        } else {
            *reinterpret_cast<Piece<T, WIDTH>*>(in_global_memory(target)) = values;
        }
    }

    __device__ __forceinline__ void store_edge(int element, const Piece<T, 1>& value) const {
        to[column_of_edge(element)] = value.stored(0);
    }
};

// Of a row that is not read, ignored or past the last, every logit counts as 0.
template <class T, int WIDTH>
struct Row {
    using A = Accumulator<T>;
    enum { BAD = -1, IGNORED = -2, ABSENT = -3 };

    Span<T, WIDTH> span;
    int column;  // of the label, or what there is instead of one
    A logit;     // in that column: read before anything is written, for the gradient may be written over the logits

    __device__ __forceinline__ Row(const Span<T, WIDTH>& span, int column)
        : span(span), column(column), logit(column >= 0 ? widened(span.from[column]) : A(0)) {}

    __device__ __forceinline__ bool exists() const { return column != ABSENT; }
    __device__ __forceinline__ bool is_read() const { return column >= BAD; }

    __device__ __forceinline__ Piece<T, WIDTH> load(int piece) const {
        return is_read() && piece < span.pieces ? span.load(piece) : nothing<WIDTH>();
    }

    __device__ __forceinline__ Piece<T, 1> load_edge(int element) const {
        return is_read() && element < span.edge() ? span.load_edge(element) : nothing<1>();
    }

    // What there is past the last piece and past the edge.
    template <int LENGTH>
    __device__ __forceinline__ Piece<T, LENGTH> nothing() const {
        Piece<T, LENGTH> piece = {};
#pragma unroll
        for (int i = 0; i < LENGTH; ++i) piece.set(i, is_read() ? -infinity<A>() : A(0));
        return piece;
    }

    // Not (log(sum) + peak) - logit: under a common offset of 1e8 that has no digit left.
    __device__ __forceinline__ A loss(A peak, A sum) const {
        if (column == BAD) return not_a_number<A>();
        return is_read() ? logarithm(sum) - (logit - peak) : A(0);
    }

    // What an exponential is multiplied by to become a gradient.
    __device__ __forceinline__ A factor(A scale, A sum) const {
        if (column == BAD) return not_a_number<A>();
        return is_read() ? scale / sum : A(0);
    }
};

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

// The three ways to keep a row. Each thread deals with pieces lane, lane + size, ... of it and with as many of the
// edge's elements as it must, and never with another thread's, so that none of them needs a barrier.

template <class T, int WIDTH, class Members, int PIECES>
struct InRegisters {
    using A = Accumulator<T>;

    static constexpr int EDGE = (Span<T, WIDTH>::LONGEST_EDGE + Members::SIZE - 1) / Members::SIZE;

    Piece<T, WIDTH> held[PIECES];
    Piece<T, 1> edge[EDGE + 1];  // one too many, for there are no arrays of length 0

    __device__ __forceinline__ A read(const Row<T, WIDTH>& row) {
#pragma unroll
        for (int i = 0; i < PIECES; ++i) held[i] = row.load(Members::lane() + i * Members::SIZE);
#pragma unroll
        for (int i = 0; i < EDGE; ++i) edge[i] = row.load_edge(Members::lane() + i * Members::SIZE);
        A peak = -infinity<A>();
#pragma unroll
        for (int i = 0; i < PIECES; ++i) peak = Larger()(peak, held[i].largest());
#pragma unroll
        for (int i = 0; i < EDGE; ++i) peak = Larger()(peak, edge[i].largest());
        return peak;
    }

    __device__ __forceinline__ A sum(const Row<T, WIDTH>& row, A peak) {
        A sum = 0;
#pragma unroll
        for (int i = 0; i < PIECES; ++i) {
            held[i].forget_unpacked();
            if (Members::lane() + i * Members::SIZE >= row.span.pieces) break;
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

    __device__ __forceinline__ static Piece<T, WIDTH>* held() {
        return reinterpret_cast<Piece<T, WIDTH>*>(&scratch<A>() + 1);
    }

    __device__ __forceinline__ A read(const Row<T, WIDTH>& row) {
        edge = row.load_edge(Members::lane());
        A peak = edge.largest();
        for (int i = Members::lane(); i < row.span.pieces; i += Members::SIZE) {
            const Piece<T, WIDTH> piece = row.load(i);
            held()[i] = piece;
            peak = Larger()(peak, piece.largest());
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

// Nowhere: the row is read again to be written. Until then a thread knows the largest of its logits, and the sum of
// their exponentials taken from there.
template <class T, int WIDTH, class Members>
struct ReadAgain {
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
