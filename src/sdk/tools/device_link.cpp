// Linked into programs whose device code was compiled in pieces (-rdc=true): every object file registers its piece here
// instead of with a function of its own, which NVIDIA's linker would write. The runtime is given one program of them
// all; by the time of its first use, every static constructor has run.

#include <cstdint>
#include <cstdlib>

extern "C" void** __cudaRegisterFatBinary(void* wrapper);
extern "C" void __cudaRegisterFatBinaryEnd(void** handle);
extern "C" void __cudaUnregisterFatBinary(void** handle);

namespace {

struct Wrapper {
    std::uint32_t magic, version;
    const void* image;
    void* pieces;  ///< a list of wrappers that ends with null
};

constexpr std::uint32_t kLinkedVersion = 2;

Wrapper program = {0x466243b1, kLinkedVersion, nullptr, nullptr};
std::size_t pieces = 0;
void** handle = nullptr;

void unregister() {
    __cudaUnregisterFatBinary(handle);
}

void add(const Wrapper* piece) {
    auto* list = static_cast<const void**>(std::realloc(program.pieces, (pieces + 2) * sizeof(void*)));
    if (!list) std::abort();
    list[pieces++] = piece;
    list[pieces] = nullptr;
    program.pieces = list;
}

}  // namespace

extern "C" __attribute__((visibility("hidden"))) void __bulkheadRegisterLinkedBinary(void (*registerGlobals)(void**),
                                                                                     const Wrapper* piece,
                                                                                     const char* /*module*/,
                                                                                     void (* /*callback*/)(void*)) {
    add(piece);
    if (!handle) {
        handle = __cudaRegisterFatBinary(&program);
        std::atexit(unregister);
    }
    registerGlobals(handle);
    __cudaRegisterFatBinaryEnd(handle);
}
