// Read by clang's driver alone, which takes the version of a toolkit from here: 12.5 means PTX 8.5, which every driver
// of CUDA 13 understands. Programs include the other cuda.h.
#define CUDA_VERSION 12050
