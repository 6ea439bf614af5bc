#include "driver/state.h"

namespace bulkhead::driver {
namespace {

struct ResultText {
    CUresult code;
    const char *name, *text;
};

#define BULKHEAD_RESULT_TEXT(name, value, text) {value, #name, text},
constexpr ResultText kResults[] = {BULKHEAD_CUDA_RESULTS(BULKHEAD_RESULT_TEXT)};
#undef BULKHEAD_RESULT_TEXT

CUresult find(CUresult code, const char* ResultText::*what, const char** text) {
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    *text = nullptr;
    for (const ResultText& result : kResults)
        if (result.code == code) *text = result.*what;
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult simulated::cuGetErrorName(CUresult error, const char** text) {
    return find(error, &ResultText::name, text);
}
CUresult simulated::cuGetErrorString(CUresult error, const char** text) {
    return find(error, &ResultText::text, text);
}

}  // namespace bulkhead::driver
