#include <utility>

#include "cudart/error_names.h"
#include "cudart/runtime.h"

namespace bulkhead::cudart {
namespace {

thread_local CudaError lastError = kSuccess;

struct ErrorText {
    CudaError code;
    const char *name, *text;
};

const ErrorText* find(CudaError code) {
    static constexpr ErrorText kErrors[] = {
#define BULKHEAD_ERROR_ROW(code, name, text) {code, #name, text},
        BULKHEAD_CUDART_ERRORS(BULKHEAD_ERROR_ROW)
#undef BULKHEAD_ERROR_ROW
    };
    for (const ErrorText& error : kErrors)
        if (error.code == code) return &error;
    return nullptr;
}

const char* driversText(CudaError code) {
    switch (code) {
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

CudaError finish(CudaError code) noexcept {
    if (code == kSuccess || code == kNotReady) return code;  // not ready is an answer, no error
    return lastError = code;
}

}  // namespace bulkhead::cudart

using namespace bulkhead::cudart;

BULKHEAD_EXPORT CudaError cudaGetLastError() {
    return std::exchange(lastError, static_cast<CudaError>(kSuccess));
}

BULKHEAD_EXPORT CudaError cudaPeekAtLastError() {
    return lastError;
}

BULKHEAD_EXPORT const char* cudaGetErrorName(CudaError code) {
    const ErrorText* error = find(code);
    return error ? error->name : kUnrecognized;
}

BULKHEAD_EXPORT const char* cudaGetErrorString(CudaError code) {
    const ErrorText* error = find(code);
    if (!error) return kUnrecognized;
    if (error->text) return error->text;
    const char* text = driversText(code);
    return text ? text : error->name;
}
