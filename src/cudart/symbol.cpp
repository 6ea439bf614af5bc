#include "cudart/copy.h"
#include "cudart/registry.h"

using namespace bulkhead::cudart;

namespace {

/// The part of a variable that a copy names; throws Failure where it is not all inside.
void* partOf(const void* symbol, std::size_t bytes, std::size_t offset) {
    const Placed placed = Registry::instance().variable(symbol);
    require(offset <= placed.bytes && bytes <= placed.bytes - offset);
    return pointerTo(placed.address + offset);
}

void copyTo(const void* symbol, const void* from, std::size_t bytes, std::size_t offset, CopyKind kind, CUstream stream,
            Completion completion) {
    require(kind == CopyKind::hostToDevice || kind == CopyKind::deviceToDevice || kind == CopyKind::fromPointers,
            kInvalidMemcpyDirection);
    copyBytes(partOf(symbol, bytes, offset), from, bytes, kind, stream, completion);
}

void copyFrom(void* to, const void* symbol, std::size_t bytes, std::size_t offset, CopyKind kind, CUstream stream,
              Completion completion) {
    require(kind == CopyKind::deviceToHost || kind == CopyKind::deviceToDevice || kind == CopyKind::fromPointers,
            kInvalidMemcpyDirection);
    copyBytes(to, partOf(symbol, bytes, offset), bytes, kind, stream, completion);
}

}  // namespace

BULKHEAD_EXPORT CudaError cudaGetSymbolAddress(void** pointer, const void* symbol) {
    return call([&] {
        require(pointer != nullptr);
        *pointer = pointerTo(Registry::instance().variable(symbol).address);
    });
}

BULKHEAD_EXPORT CudaError cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
    return call([&] {
        require(bytes != nullptr);
        *bytes = Registry::instance().variable(symbol).bytes;
    });
}

BULKHEAD_EXPORT CudaError cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                                             std::size_t offset, CopyKind kind) {
    return call([&] { copyTo(symbol, from, bytes, offset, kind, nullptr, Completion::done); });
}

BULKHEAD_EXPORT CudaError cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                                  std::size_t offset, CopyKind kind, CUstream stream) {
    return call([&] { copyTo(symbol, from, bytes, offset, kind, stream, Completion::enqueued); });
}

BULKHEAD_EXPORT CudaError cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                               CopyKind kind) {
    return call([&] { copyFrom(to, symbol, bytes, offset, kind, nullptr, Completion::done); });
}

BULKHEAD_EXPORT CudaError cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                                    CopyKind kind, CUstream stream) {
    return call([&] { copyFrom(to, symbol, bytes, offset, kind, stream, Completion::enqueued); });
}
