// The number formats of the logits, and the format each is computed in.

struct Half {
    unsigned short bits;
};

struct Bfloat16 {
    unsigned short bits;
};

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
__device__ __forceinline__ float widened(Half value) { return half_to_float(value.bits); }
__device__ __forceinline__ float widened(Bfloat16 value) {
    return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}

__device__ __forceinline__ void narrow(float value, float& stored) { stored = value; }
__device__ __forceinline__ void narrow(double value, double& stored) { stored = value; }
__device__ __forceinline__ void narrow(float value, Half& stored) { stored.bits = float_to_half(value); }
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
    __device__ __forceinline__ double operator()(double left, double right) const { return fmax(left, right); }
};

struct Plus {
    template <class A>
    __device__ __forceinline__ A operator()(A left, A right) const {
        return left + right;
    }
};

// What a thread moves at once: WIDTH neighbours, at an address that WIDTH of them divide.
template <class T, int WIDTH, bool IN_PAIRS = (sizeof(T) == 2 && WIDTH > 1)>
struct alignas(WIDTH * sizeof(T)) Piece {
    T item[WIDTH];

    __device__ __forceinline__ Accumulator<T> get(int i) const { return widened(item[i]); }
    __device__ __forceinline__ void set(int i, Accumulator<T> value) { narrow(value, item[i]); }
    __device__ __forceinline__ T stored(int i) const { return item[i]; }

    __device__ __forceinline__ Accumulator<T> largest() const {
        Accumulator<T> largest = get(0);
#pragma unroll
        for (int i = 1; i < WIDTH; ++i) largest = Larger()(largest, get(i));
        return largest;
    }

    __device__ __forceinline__ void forget_unpacked() {}
};

// As integers, numbers of either 16-bit format are in order once the negative ones are turned around.
__device__ __forceinline__ unsigned in_order(unsigned pair) { return pair ^ ((pair >> 15) & 0x00010001u) * 0x7fffu; }

__device__ __forceinline__ unsigned larger_pair(unsigned left, unsigned right, Half) {
    if constexpr (HAS_PAIRWISE_MAXIMUM) return larger_pair_of_half(left, right);
    return in_order(__vmaxs2(in_order(left), in_order(right)));
}

__device__ __forceinline__ unsigned larger_pair(unsigned left, unsigned right, Bfloat16) {
    if constexpr (HAS_PAIRWISE_MAXIMUM) return larger_pair_of_bfloat16(left, right);
    return in_order(__vmaxs2(in_order(left), in_order(right)));
}

// Sixteen-bit numbers stay two to a register: each by itself they would take twice as many.
template <class T, int WIDTH>
struct alignas(WIDTH * sizeof(T)) Piece<T, WIDTH, true> {
    unsigned pair[WIDTH / 2];

    __device__ __forceinline__ Accumulator<T> get(int i) const { return widened(stored(i)); }

    __device__ __forceinline__ void set(int i, Accumulator<T> value) {
        T item;
        narrow(value, item);
        const unsigned word = item.bits;
        pair[i / 2] = i % 2 ? (pair[i / 2] & 0xffffu) | word << 16 : (pair[i / 2] & 0xffff0000u) | word;
    }

    __device__ __forceinline__ T stored(int i) const {
        return {static_cast<unsigned short>(i % 2 ? pair[i / 2] >> 16 : pair[i / 2] & 0xffffu)};
    }

    __device__ __forceinline__ Accumulator<T> largest() const {
        Piece<T, 2> two = {{pair[0]}};
#pragma unroll
        for (int i = 1; i < WIDTH / 2; ++i) two.pair[0] = larger_pair(two.pair[0], pair[i], T());
        return Larger()(two.get(0), two.get(1));
    }

    __device__ __forceinline__ void forget_unpacked() {
#pragma unroll
        for (int i = 0; i < WIDTH / 2; ++i) make_opaque(pair[i]);
    }
};
