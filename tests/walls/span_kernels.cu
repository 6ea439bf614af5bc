// One source for plain and for colored memory.
#include <bulkhead/span.h>
#include <cuda_runtime.h>

using bulkhead::ColoredSpan;
using bulkhead::SliceColor;
using bulkhead::Span;
using bulkhead::SpanSize;

namespace {

/// out[i] = in[i] + in[n - 1 - i], and the sum of all of `in`, by iterators.
template <class View>
__device__ void addMirrored(View out, View in, unsigned* sum) {
    const SpanSize i = static_cast<SpanSize>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < in.size()) out[i] = in[i] + in[in.size() - 1 - i];
    if (i != 0) return;
    unsigned all = 0;
    for (unsigned value : in) all += value;
    *sum = all;
}

}  // namespace

extern "C" __global__ void addPlain(Span<unsigned> out, Span<unsigned> in, unsigned* sum) {
    addMirrored(out, in, sum);
}
extern "C" __global__ void addOnSide(ColoredSpan<unsigned> out, ColoredSpan<unsigned> in, unsigned* sum) {
    addMirrored(out, in, sum);
}
extern "C" __global__ void addOnSlices(ColoredSpan<unsigned, SliceColor> out, ColoredSpan<unsigned, SliceColor> in,
                                       unsigned* sum) {
    addMirrored(out, in, sum);
}
