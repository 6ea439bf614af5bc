#pragma once

// What FGPU's own test programs share: options, times and their statistics. With USE_FGPU defined before, a program
// runs in a color; without, on the whole GPU. Options: -i rounds, -k kernels alone and, with USE_FGPU, -c color and
// -m bytes of memory.

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#ifdef USE_FGPU
#include <fgpu.h>
#endif

#define DEFAULT_NUM_ITERATION INT_MAX
#define USECPSEC 1000000ULL

#ifdef NDEBUG
#define dprintf(...)
#else
#define dprintf(...) printf(__VA_ARGS__)
#endif

/// Microseconds since `start`; since 1970 where that is 0.
inline double dtime_usec(unsigned long long start) {
    timeval now;
    gettimeofday(&now, nullptr);
    return static_cast<double>(now.tv_sec * USECPSEC + now.tv_usec - start);
}

struct pstats {
    double sum;
    size_t count;
    std::vector<double> vals;
};
typedef pstats pstats_t;

inline void pstats_init(pstats_t* stats) {
    *stats = {};
}
inline void pstats_add_observation(pstats_t* stats, double time) {
    stats->sum += time;
    stats->vals.push_back(time);
    stats->count = stats->vals.size();
}
inline void pstats_print(pstats_t* stats) {
    const size_t count = stats->vals.size();
    if (count == 0) {
        printf("STATS:No values\n");
        return;
    }
    std::vector<double>& sorted = stats->vals;
    std::sort(sorted.begin(), sorted.end());
    const double median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    printf("STATS: Avg:%f, Median:%f, Min:%f, Max:%f, 5 percentile:%f, 95 percentile:%f, Count:%zu\n",
           stats->sum / static_cast<double>(count), median, sorted.front(), sorted.back(), sorted[count * 5 / 100],
           sorted[count * 95 / 100], count);
}

namespace fgpu_detail {
inline bool& justKernels() {
    static bool only = false;
    return only;
}
}  // namespace fgpu_detail

inline bool test_execute_just_kernel() {
    return fgpu_detail::justKernels();
}

[[noreturn]] inline void print_usage(char** words) {
#ifdef USE_FGPU
    fprintf(stderr, "usage: %s [-c color] [-m bytes of memory] [-i rounds] [-k]\n", words[0]);
#else
    fprintf(stderr, "usage: %s [-i rounds] [-k]\n", words[0]);
#endif
    exit(EXIT_FAILURE);
}

#ifdef USE_FGPU

/// Reads the options and, unless `join` is false, joins the color.
static inline void test_initialize(int count, char** words, int* rounds, bool join = true) {
    int color = fgpu_get_env_color();
    size_t memory = fgpu_get_env_color_mem_size();
    *rounds = DEFAULT_NUM_ITERATION;
    for (int option; (option = getopt(count, words, "c:i:m:k")) != -1;) {
        if (option == 'c')
            color = atoi(optarg);
        else if (option == 'm')
            memory = strtoull(optarg, nullptr, 0);
        else if (option == 'i')
            *rounds = atoi(optarg);
        else if (option == 'k')
            fgpu_detail::justKernels() = true;
        else
            print_usage(words);
    }
    if (join && (fgpu_init() < 0 || fgpu_set_color_prop(color, memory) < 0)) exit(EXIT_FAILURE);
    printf("Color:\t%d\nMemory:\t%zu\nIterations:\t%d\n", color, memory, *rounds);
}
static inline void test_deinitialize() {
    fgpu_deinit();
}

#else

static inline void test_initialize(int count, char** words, int* rounds, bool = false) {
    *rounds = DEFAULT_NUM_ITERATION;
    for (int option; (option = getopt(count, words, "i:k")) != -1;) {
        if (option == 'i')
            *rounds = atoi(optarg);
        else if (option == 'k')
            fgpu_detail::justKernels() = true;
        else
            print_usage(words);
    }
    printf("Iterations:\t%d\n", *rounds);
}
static inline void test_deinitialize() {}

#endif
