// BICG, the two products of the biconjugate gradient method: s = A' r, q = A p.

#include "workloads/polybench/matrix_vector.h"

extern "C" __global__ void bicgColumns(const float* a, const float* r, float* s, int rows, int columns) {
    addColumnProduct(a, r, s, rows, columns);
}

extern "C" __global__ void bicgRows(const float* a, const float* p, float* q, int rows, int columns) {
    addRowProduct(a, p, q, rows, columns);
}
