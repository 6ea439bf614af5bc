"""A kernel of one's own, arithmetic, reductions and a scan by CuPy, against NumPy."""

import cupy
import numpy

kernel = cupy.RawKernel(
    'extern "C" __global__ void twice(float* a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = 2 * i; }',
    "twice")
numbers = cupy.zeros(1000, dtype=cupy.float32)
kernel((4,), (256,), (numbers, 1000))
right = bool((cupy.asnumpy(numbers) == 2 * numpy.arange(1000)).all())
host = numpy.random.default_rng(1).random(20000).astype(numpy.float32)
device = cupy.asarray(host)
right &= bool(numpy.abs(cupy.asnumpy(cupy.sqrt(device) * 2 + device) - (numpy.sqrt(host) * 2 + host)).max() < 1e-6)
right &= abs(float(device.sum()) - host.sum(dtype=numpy.float64)) < 0.1
right &= float(device.max()) == host.max() and int(device.argmin()) == int(host.argmin())
right &= bool(numpy.allclose(cupy.asnumpy(cupy.cumsum(device.astype(cupy.float64))), numpy.cumsum(host, dtype=numpy.float64)))
sms = cupy.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"]
print("right" if right else "wrong", sms, "a kernel, arithmetic, reductions, a scan", sep="; ")
