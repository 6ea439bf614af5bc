// Functions of the device against those of the host.

#include <cmath>
#include <vector>

#include "check.h"

__global__ void evaluate(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    float s, c;
    sincosf(v, &s, &c);
    float* const row = out + 6 * i;
    row[0] = expf(-v * v);
    row[1] = logf(v);
    row[2] = powf(v, 1.5f);
    row[3] = s;
    row[4] = std::sqrt(v) + std::tanh(c);
    row[5] = (float)(std::exp(-(double)v) * erf((double)v));
}

int main() {
    const int n = 500;
    std::vector<float> x(n), out(6 * n);
    for (int i = 0; i < n; ++i) x[i] = 0.01f + 0.013f * i;
    float *dx, *dout;
    CHECK(cudaMalloc(&dx, n * sizeof(float)));
    CHECK(cudaMalloc(&dout, out.size() * sizeof(float)));
    CHECK(cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    evaluate<<<(n + 127) / 128, 128>>>(dx, dout, n);
    CHECK(cudaMemcpy(out.data(), dout, out.size() * sizeof(float), cudaMemcpyDeviceToHost));

    bool right = true;
    for (int i = 0; i < n; ++i) {
        const double v = x[i];
        const double expected[6] = {std::exp(-v * v),
                                    std::log(v),
                                    std::pow(v, 1.5),
                                    std::sin(v),
                                    std::sqrt(v) + std::tanh(std::cos(v)),
                                    std::exp(-v) * std::erf(v)};
        for (int k = 0; k < 6; ++k)
            right = right && std::fabs(out[6 * i + k] - expected[k]) < 2e-6 * (1 + std::fabs(expected[k]));
    }
    CHECK(cudaFree(dx));
    CHECK(cudaFree(dout));
    return verdict("mathematics", right);
}
