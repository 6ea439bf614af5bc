// ATAX: y = A' (A x).

#include "workloads/polybench/matrix_vector.h"

extern "C" __global__ void ataxRows(const float* a, const float* x, float* t, int rows, int columns) {
    addRowProduct(a, x, t, rows, columns);
}

extern "C" __global__ void ataxColumns(const float* a, const float* t, float* y, int rows, int columns) {
    addColumnProduct(a, t, y, rows, columns);
}
