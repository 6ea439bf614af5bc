// A kernel of one GPU that uses memory of another, and copies between both.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void addOne(int* numbers) {
    ++numbers[threadIdx.x];
}

int main() {
    int count = 0, possible = 0, host[4] = {1, 2, 3, 4}, *first = nullptr, *second = nullptr;
    cudaGetDeviceCount(&count);
    cudaDeviceCanAccessPeer(&possible, 1, 0);
    printf("devices: %d, peers: %d\n", count, possible);
    cudaSetDevice(0);
    cudaMalloc(&first, sizeof host);
    cudaMemcpy(first, host, sizeof host, cudaMemcpyHostToDevice);
    cudaSetDevice(1);
    cudaMalloc(&second, sizeof host);
    printf("own: %s\n", cudaGetErrorName(cudaDeviceEnablePeerAccess(1, 0)));
    printf("enabled: %s\n", cudaGetErrorName(cudaDeviceEnablePeerAccess(0, 0)));
    printf("again: %s\n", cudaGetErrorName(cudaDeviceEnablePeerAccess(0, 0)));
    cudaGetLastError();
    addOne<<<1, 4>>>(first);
    printf("kernel: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    cudaMemcpyPeer(second, 1, first, 0, sizeof host);
    cudaMemcpy(host, second, sizeof host, cudaMemcpyDefault);
    printf("numbers: %d %d %d %d\n", host[0], host[1], host[2], host[3]);
    cudaPointerAttributes attributes;
    cudaPointerGetAttributes(&attributes, first);
    printf("first is on device %d\n", attributes.device);
    printf("disabled: %s\n", cudaGetErrorName(cudaDeviceDisablePeerAccess(0)));
    printf("again: %s\n", cudaGetErrorName(cudaDeviceDisablePeerAccess(0)));
    return 0;
}
