#include <utility>

#include "cudart/error_names.h"
#include "cudart/runtime.h"
#include "sdk/include/cuda_runtime_api.h"

namespace bulkhead::cudart {
namespace {

thread_local cudaError_t lastError = cudaSuccess;

struct ErrorText {
    cudaError_t code;
    const char *name, *text;
};

const ErrorText* find(cudaError_t code) {
    static constexpr ErrorText kErrors[] = {
#define BULKHEAD_ERROR_ROW(name, text) {name, #name, text},
        BULKHEAD_CUDART_ERRORS(BULKHEAD_ERROR_ROW)
#undef BULKHEAD_ERROR_ROW
    };
    for (const ErrorText& error : kErrors)
        if (error.code == code) return &error;
    return nullptr;
}

const char* driversText(cudaError_t code) {
    switch (static_cast<CUresult>(code)) {
#define BULKHEAD_RESULT_CASE(name, value, text) \
    case value:                                 \
        return text;
        BULKHEAD_CUDA_RESULTS(BULKHEAD_RESULT_CASE)
#undef BULKHEAD_RESULT_CASE
        default:
            return nullptr;
    }
}

constexpr const char* kUnrecognized = "unrecognized error code";

}  // namespace

cudaError_t finish(cudaError_t code) noexcept {
    if (code == cudaSuccess || code == cudaErrorNotReady) return code;  // not ready is an answer, no error
    return lastError = code;
}

}  // namespace bulkhead::cudart

using namespace bulkhead::cudart;

BULKHEAD_EXPORT cudaError_t cudaGetLastError() {
    return std::exchange(lastError, cudaSuccess);
}

BULKHEAD_EXPORT cudaError_t cudaPeekAtLastError() {
    return lastError;
}

BULKHEAD_EXPORT const char* cudaGetErrorName(cudaError_t code) {
    const ErrorText* error = find(code);
    return error ? error->name : kUnrecognized;
}

BULKHEAD_EXPORT const char* cudaGetErrorString(cudaError_t code) {
    const ErrorText* error = find(code);
    if (!error) return kUnrecognized;
    if (error->text) return error->text;
    const char* text = driversText(code);
    return text ? text : error->name;
}
