// MVT: x1 += A y1, x2 += A' y2.

#include "workloads/polybench/matrix_vector.h"

extern "C" __global__ void mvtRows(const float* a, const float* y1, float* x1, int n) {
    addRowProduct(a, y1, x1, n, n);
}

extern "C" __global__ void mvtColumns(const float* a, const float* y2, float* x2, int n) {
    addColumnProduct(a, y2, x2, n, n);
}
