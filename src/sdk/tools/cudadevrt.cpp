// The library that build systems name for device code in pieces. Kernels cannot launch others here, so it is empty.
