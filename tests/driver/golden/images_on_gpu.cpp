// Fetches from textures and accesses surfaces on the machine's NVIDIA GPU, and writes what it answered:
//   g++ -std=c++20 -O1 -Isrc -Itests tests/driver/golden/images_on_gpu.cpp tests/driver/image_forms.cpp -ldl -o
//   images_on_gpu
//   ./images_on_gpu FOLDER
// Needs a driver and no toolkit. FOLDER/h200-images.bin: "BHIMAGE1\n", then for each form: name length (1 byte), name,
// hash of the inputs (8), and either 0 (1), words (4), the words, or 1 (1), the code (4), length (1) and name of the
// call that failed. FOLDER/h200-image-calls.txt: a line for each kernel that ends and each call that was tried, its
// code behind a tab.

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "driver/image_forms.h"

namespace {

using namespace bulkhead;

driver::DriverApi loadDriver() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::exit(1);
    }
    driver::DriverApi api;
#define LOAD(name, symbol, variant, parameters, arguments) \
    api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #symbol));
    BULKHEAD_DRIVER_CALLS(LOAD)
#undef LOAD
    return api;
}

driver::DriverApi start() {
    const driver::DriverApi api = loadDriver();
    driver::CUdevice device = 0;
    driver::CUcontext context = nullptr;
    if (api.cuInit(0) || api.cuDeviceGet(&device, 0) || api.cuDevicePrimaryCtxRetain(&context, device) ||
        api.cuCtxSetCurrent(context)) {
        std::fprintf(stderr, "no GPU\n");
        std::exit(1);
    }
    return api;
}

/// In a process of its own: whatever ends there, this one goes on.
void apart(std::FILE* calls, const std::function<void()>& work) {
    std::fflush(calls);
    const pid_t child = fork();
    if (child == 0) {
        work();
        std::fflush(calls);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) std::fprintf(calls, "# ended with status %d\n", status);
}

constexpr int kContextLost = 7;

/// The forms from one on; a byte to `progress` for each.
int record(const std::vector<golden::ImageForm>& forms, std::size_t from, std::FILE* file, int progress) {
    const driver::DriverApi api = start();
    const auto begin = std::chrono::steady_clock::now();
    int done = 0, refused = 0;
    for (std::size_t number = from; number < forms.size(); ++number) {
        const golden::ImageForm& form = forms[number];
        const golden::ImageAnswer answer = evaluate(api, form);
        std::string text;
        const auto put = [&](std::uint64_t value, unsigned bytes) {
            for (unsigned i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
        };
        put(form.name.size(), 1);
        text += form.name;
        put(hashOfInputs(form), 8);
        if (answer.failed.empty()) {
            put(0, 1);
            put(answer.words.size(), 4);
            for (const std::uint32_t word : answer.words) put(word, 4);
            ++done;
        } else {
            std::fprintf(stderr, "refused: %s by %s, %d\n", form.name.c_str(), answer.failed.c_str(), answer.code);
            put(1, 1);
            put(static_cast<std::uint32_t>(answer.code), 4);
            put(answer.failed.size(), 1);
            text += answer.failed;
            ++refused;
        }
        std::fwrite(text.data(), 1, text.size(), file);
        std::fflush(file);
        if (write(progress, "x", 1) != 1) return 1;
        if (answer.failed == "cuCtxSynchronize") return kContextLost;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf("%d forms, %d refused, %.1f s\n", done, refused, seconds.count());
    std::fflush(stdout);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: images_on_gpu FOLDER\n");
        return 2;
    }
    const std::string folder = argv[1];
    std::FILE* const calls = std::fopen((folder + "/h200-image-calls.txt").c_str(), "w");
    if (!calls) return 1;
    for (const golden::ImageForm& form : golden::endingForms())
        apart(calls, [&] {
            const driver::DriverApi api = start();
            const golden::ImageAnswer answer = evaluate(api, form);
            std::fprintf(calls, "%s\t%d\n", form.name.c_str(), answer.code);
        });
    apart(calls, [&] {
        golden::tryImageCalls(start(), [&](const std::string& name, int code) {
            std::fprintf(calls, "%s\t%d\n", name.c_str(), code);
            std::fflush(calls);
        });
    });
    std::fclose(calls);

    // A form that ends its context ends this process: the next one goes on behind it.
    std::FILE* const file = std::fopen((folder + "/h200-images.bin").c_str(), "w+");
    if (!file) return 1;
    std::fputs("BHIMAGE1\n", file);
    const std::vector<golden::ImageForm>& forms = golden::imageForms();
    for (std::size_t next = 0; next < forms.size();) {
        std::fflush(file);
        int progress[2];
        if (pipe(progress)) return 1;
        const pid_t child = fork();
        if (child == 0) {
            close(progress[0]);
            _exit(record(forms, next, file, progress[1]));
        }
        close(progress[1]);
        for (char one; read(progress[0], &one, 1) == 1;) ++next;
        close(progress[0]);
        int status = 0;
        waitpid(child, &status, 0);
        std::fseek(file, 0, SEEK_END);
        if (status == 0) break;
        std::fprintf(stderr, "ended with status %d behind form %zu\n", status, next);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != kContextLost) ++next;
    }
    std::fclose(file);
    return 0;
}
