// Uses the driver before and after a fork, in parent and child, and says what was answered.
// forks early|late: before or after the parent's first call.

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace {

int use(void* driver) {
    const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
    const auto count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
    int devices = 0;
    if (const int error = init(0)) return error;
    if (const int error = count(&devices)) return error;
    return devices == 1 ? 0 : 100;
}

}  // namespace

int main(int argc, char** argv) {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver || argc != 2) return 2;
    const bool late = std::strcmp(argv[1], "late") == 0;
    if (late) std::printf("parent: %d\n", use(driver));
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        std::printf("child: %d\n", use(driver));
        return 0;
    }
    waitpid(child, nullptr, 0);
    std::printf("parent: %d\n", use(driver));
}
