// A process that stands for a device: it reads buffers and launches from its standard input, and writes back what the
// launches said and the buffers they left. process.py is the other end, and has the format in words.
#pragma once

#include <cstdio>
#include <functional>
#include <map>
#include <utility>

#include "cuda_on_host.h"

namespace cuda_on_host {

template <class Parameter>
class KernelWithParameter : public Kernel {
   public:
    KernelWithParameter(void (*function)(Parameter), const void* bytes) : function_(function) {
        std::memcpy(&parameter_, bytes, sizeof(Parameter));
    }
    void run() const override { function_(parameter_); }

   private:
    void (*function_)(Parameter);
    Parameter parameter_;
};

using Launcher = std::function<std::string(const Geometry&, const std::vector<char>& parameter)>;

template <class Parameter>
Launcher launcher(void (*function)(Parameter)) {
    return [=](const Geometry& geometry, const std::vector<char>& bytes) -> std::string {
        if (bytes.size() != sizeof(Parameter)) {
            return "the parameter has " + std::to_string(bytes.size()) + " bytes, need " + std::to_string(sizeof(Parameter));
        }
        return launch(geometry, KernelWithParameter<Parameter>(function, bytes.data()));
    };
}

inline void read_exactly(void* target, std::size_t bytes) {
    if (std::fread(target, 1, bytes, stdin) == bytes) return;
    std::fprintf(stderr, "cuda_on_host: the request ends early\n");
    std::exit(2);
}

template <class T>
T read() {
    T value;
    read_exactly(&value, sizeof(T));
    return value;
}

inline std::vector<char> read_bytes() {
    std::vector<char> bytes(read<std::uint64_t>());
    if (!bytes.empty()) read_exactly(bytes.data(), bytes.size());
    return bytes;
}

inline void write(const void* bytes, std::size_t size) { std::fwrite(bytes, 1, size, stdout); }

// Exactly as long as it should be, so that a sanitizer sees what lies beyond.
struct Buffer {
    std::unique_ptr<char[]> memory;
    std::size_t size = 0;
    std::size_t misalignment = 0;

    char* begin() const { return memory.get() + misalignment; }
};

inline std::vector<Buffer> read_buffers() {
    std::vector<Buffer> buffers(read<std::uint64_t>());
    for (Buffer& buffer : buffers) {
        buffer.misalignment = read<std::uint64_t>();
        buffer.size = read<std::uint64_t>();
        buffer.memory = std::unique_ptr<char[]>(new char[buffer.misalignment + buffer.size]);
        if (buffer.size > 0) read_exactly(buffer.begin(), buffer.size);
    }
    return buffers;
}

// Puts the address of a buffer, less a distance, where the parameter has a pointer.
inline void fill_pointers(std::vector<char>& parameter, const std::vector<Buffer>& buffers) {
    for (std::uint64_t left = read<std::uint64_t>(); left > 0; --left) {
        const auto where = read<std::uint64_t>();
        const auto which = read<std::uint64_t>();
        const auto distance = read<std::uint64_t>();
        const std::uint64_t address = reinterpret_cast<std::uint64_t>(buffers.at(which).begin()) - distance;
        std::memcpy(parameter.data() + where, &address, sizeof(address));
    }
}

inline std::string read_and_launch(const std::map<std::string, Launcher>& kernels, const std::vector<Buffer>& buffers) {
    const std::vector<char> name = read_bytes();
    Geometry geometry;
    geometry.grid = read<std::uint32_t>();
    geometry.block = read<std::uint32_t>();
    geometry.cluster = read<std::uint32_t>();
    geometry.shared_bytes = read<std::uint32_t>();
    geometry.order = static_cast<Order>(read<std::uint32_t>());
    geometry.seed = read<std::uint32_t>();
    geometry.only_cluster = read<std::int64_t>();
    std::vector<char> parameter = read_bytes();
    fill_pointers(parameter, buffers);
    const auto found = kernels.find(std::string(name.begin(), name.end()));
    if (found == kernels.end()) return "no kernel " + std::string(name.begin(), name.end()) + " in this build";
    return found->second(geometry, parameter);
}

// Launches after one that failed are answered with what stopped it.
inline int serve(const std::map<std::string, Launcher>& kernels) {
    const std::vector<Buffer> buffers = read_buffers();
    std::string problem;
    for (std::uint64_t left = read<std::uint64_t>(); left > 0 && problem.empty(); --left) {
        problem = read_and_launch(kernels, buffers);
    }
    const std::uint64_t length = problem.size();
    write(&length, sizeof(length));
    write(problem.data(), length);
    for (const Buffer& buffer : buffers) write(buffer.begin(), buffer.size);
    return 0;
}

}  // namespace cuda_on_host
