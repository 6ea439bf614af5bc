#include "cudart/copy.h"
#include "cudart/registry.h"
#include "sdk/include/cuda_runtime_api.h"

using namespace bulkhead::cudart;

namespace {

void copyTo(const void* symbol, const void* from, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
            cudaStream_t stream, Completion completion) {
    require(kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault,
            cudaErrorInvalidMemcpyDirection);
    copyBytes(Registry::instance().partOf(symbol, bytes, offset), from, bytes, kind, stream, completion);
}

void copyFrom(void* to, const void* symbol, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
              cudaStream_t stream, Completion completion) {
    require(kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault,
            cudaErrorInvalidMemcpyDirection);
    copyBytes(to, Registry::instance().partOf(symbol, bytes, offset), bytes, kind, stream, completion);
}

}  // namespace

BULKHEAD_EXPORT cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
    return call([&] {
        require(pointer != nullptr);
        *pointer = pointerTo(Registry::instance().variable(symbol).address);
    });
}

BULKHEAD_EXPORT cudaError_t cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
    return call([&] {
        require(bytes != nullptr);
        *bytes = Registry::instance().variable(symbol).bytes;
    });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                                               std::size_t offset, cudaMemcpyKind kind) {
    return call([&] { copyTo(symbol, from, bytes, offset, kind, nullptr, Completion::done); });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                                    std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&] { copyTo(symbol, from, bytes, offset, kind, stream, Completion::enqueued); });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                                 cudaMemcpyKind kind) {
    return call([&] { copyFrom(to, symbol, bytes, offset, kind, nullptr, Completion::done); });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes,
                                                      std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&] { copyFrom(to, symbol, bytes, offset, kind, stream, Completion::enqueued); });
}
