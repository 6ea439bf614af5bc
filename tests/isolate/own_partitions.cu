// Sets partitions, joins the first and leaves it, all by itself.

#include <bulkhead.h>

#include <cstdio>

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    if (bulkhead_set_partitions(argv[1]) != 0) return std::printf("not set: %s\n", bulkhead_error()), 1;
    if (bulkhead_join(argv[2]) != 0) return std::printf("not joined: %s\n", bulkhead_error()), 1;
    bulkhead_place place;
    if (bulkhead_query(&place) != 0) return std::printf("not inside: %s\n", bulkhead_error()), 1;
    int devices = -1;
    cudaGetDeviceCount(&devices);
    std::printf("inside: %u SMs, %d device\n", place.sms, devices);
    if (bulkhead_leave() != 0) return std::printf("not left: %s\n", bulkhead_error()), 1;
    cudaGetDeviceCount(&devices);
    std::printf("left: %d devices, again %d\n", devices, bulkhead_leave());
}
