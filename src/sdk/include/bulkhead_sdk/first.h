#pragma once

// What every file begins with: CUDA has cuda_runtime.h, as with nvcc, and host sources have what they include.

#ifdef __CUDA__
#include "cuda_runtime.h"
#endif
