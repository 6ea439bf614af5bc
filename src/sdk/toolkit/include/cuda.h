// Read by clang's driver alone, which takes the version of a toolkit from here: 11.0 means PTX 7.0, which every driver
// since has understood. Programs include the other cuda.h.
#define CUDA_VERSION 11000
