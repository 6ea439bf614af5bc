#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/verbs.h"

extern char** environ;

namespace bulkhead::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCompiler = "clang++-14";

/// What nvcc builds for where nothing is said.
constexpr std::string_view kDefaultArch = "sm_75";

/// The tree of headers, tools and libraries: beside this program in a build, in lib/ where it is installed.
fs::path findSdk() {
    const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
    for (const fs::path& sdk : {folder / "sdk", folder / "../lib/bulkhead/sdk"})
        if (fs::exists(sdk / "include/cuda_runtime.h")) return fs::canonical(sdk);
    throw Error("cc: the CUDA headers are missing: they are neither in {} nor in {}", (folder / "sdk").string(),
                (folder / "../lib/bulkhead/sdk").lexically_normal().string());
}

bool startsWithAny(std::string_view text, std::initializer_list<std::string_view> beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(), [&](auto b) { return text.starts_with(b); });
}

/// The architecture in nvcc's spellings: sm_80 of "sm_80", "compute_80" or "arch=compute_80,code=sm_80".
std::string archOf(std::string_view text) {
    const std::size_t at = text.find_last_of('_');
    const std::string_view number = at == std::string_view::npos ? "" : text.substr(at + 1);
    const std::size_t digits = std::min(number.find_first_not_of("0123456789"), number.size());
    if (digits == 0) throw Error("cc: {}: not an architecture; write one such as sm_75", text);
    return "sm_" + std::string(number.substr(0, digits));
}

/// Options whose value is the next word; others have theirs attached, or none.
bool takesValue(std::string_view word) {
    static constexpr std::array<std::string_view, 26> kOptions = {
        "-o",          "-I",           "-D",     "-U",      "-L",       "-l",      "-include",    "-isystem",
        "-iquote",     "-idirafter",   "-x",     "-MF",     "-MT",      "-MQ",     "-T",          "-u",
        "-z",          "-target",      "-mllvm", "--param", "-Xlinker", "-Xclang", "-Xassembler", "-Xpreprocessor",
        "-Xarch_host", "-Xarch_device"};
    return std::find(kOptions.begin(), kOptions.end(), word) != kOptions.end();
}

/// What the compiler could only be puzzled by.
void checkInput(const std::string& name) {
    if (name == "-") return;
    const std::string ending = fs::path(name).extension().string();
    const bool source = startsWithAny(ending, {".cu", ".c", ".h"});
    const std::string bytes = readBeginning(name, source ? kMostFileBytes : 1);  // whether it can be read at all
    if (source && bytes.find('\0') != std::string::npos) throw Error("cc: {}: is not a text file", name);
}

/// The compiler's command line, made from what was typed.
class Command {
  public:
    explicit Command(const std::vector<std::string>& typed) {
        for (std::size_t i = 0; i < typed.size(); ++i) take(typed, i);
        if (inputs_.empty()) throw Error("cc: no input file; see bulkhead cc --help");
        for (const std::string& input : inputs_) checkInput(input);
        if (!output_.empty() && output_ != "-") expectWritable(output_);
    }

    std::vector<std::string> line(const fs::path& sdk) const {
        std::vector<std::string> line = {std::string(kCompiler),
                                         "--cuda-path=" + (sdk / "toolkit").string(),
                                         "-nocudainc",
                                         "-nocudalib",
                                         "-isystem",
                                         (sdk / "include").string(),
                                         "-isystem",
                                         (sdk / "api").string(),
                                         "-include",
                                         "cuda_runtime.h"};
        if (!hasStandard_) line.emplace_back("-std=c++17");
        if (archs_.empty()) line.push_back("--cuda-gpu-arch=" + std::string(kDefaultArch));
        for (const std::string& arch : archs_) line.push_back("--cuda-gpu-arch=" + arch);
        line.insert(line.end(), passed_.begin(), passed_.end());
        if (links_) {
            for (const char* option : {"-L", "-Wl,-rpath,"}) line.push_back(option + libraryFolder());
            line.emplace_back("-lcudart");
        }
        return line;
    }

  private:
    void take(const std::vector<std::string>& typed, std::size_t& i) {
        const std::string& word = typed[i];
        const auto value = [&]() -> const std::string& {
            if (i + 1 == typed.size()) throw Error("cc: {} needs a value", word);
            return typed[++i];
        };
        if (startsWithAny(word, {"-rdc=true", "--relocatable-device-code=true", "-fgpu-rdc", "-dc", "--device-c"}))
            throw Error(
                "cc: {}: device code cannot be linked across files; put a kernel and the functions it calls into one "
                "file",
                word);
        if (word == "-arch" || word == "--gpu-architecture" || word == "-gencode") return addArch(archOf(value()));
        if (startsWithAny(word, {"-arch=", "--gpu-architecture=", "-gencode=", "--cuda-gpu-arch=", "--offload-arch="}))
            return addArch(archOf(std::string_view(word).substr(word.find('=') + 1)));
        if (word == "-Xcompiler") return passed_.push_back(value());
        if (takesValue(word)) {
            passed_.push_back(word);
            passed_.push_back(value());
            if (word == "-o") output_ = passed_.back();
            return;
        }
        if (wordOfNvcc(word)) return;
        if (word == "-c" || word == "-S" || word == "-E" || startsWithAny(word, {"-fsyntax-only", "-M"}))
            links_ = links_ && startsWithAny(word, {"-MD", "-MMD", "-MF", "-MT"});
        hasStandard_ = hasStandard_ || startsWithAny(word, {"-std=", "--std="});
        if (!word.starts_with("-") || word == "-") inputs_.push_back(word);
        passed_.push_back(word);
    }

    /// What nvcc needs to be told and clang does anyway, or has no counterpart for.
    static bool wordOfNvcc(const std::string& word) {
        return startsWithAny(word, {"--expt-", "-expt-", "--extended-lambda", "-extended-lambda", "-lineinfo",
                                    "--generate-line-info", "-rdc=false", "-cudart", "--cudart", "-lcudart"});
    }

    void addArch(std::string arch) {
        if (std::find(archs_.begin(), archs_.end(), arch) == archs_.end()) archs_.push_back(std::move(arch));
    }

    std::vector<std::string> passed_, archs_, inputs_;
    std::string output_;
    bool hasStandard_ = false, links_ = true;
};

int runCompiler(const std::vector<std::string>& line) {
    std::vector<char*> arguments;
    arguments.reserve(line.size() + 1);
    for (const std::string& word : line) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int error = posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
    if (error == ENOENT) throw Error("cc: {} is not installed; it is in the Debian package clang-14", kCompiler);
    if (error != 0) throw Error("cc: {} cannot be started: {}", kCompiler, std::strerror(error));
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) throw Error("cc: {}: {}", kCompiler, std::strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : kCheckFailed;
}

}  // namespace

Action setUpCc(CommandLine line) {
    line.footer(
        "bulkhead cc [options] FILE.cu... [-o PROGRAM]\n"
        "Options are clang's (-O2 -I -D -std= -g -c -l -L ...) and nvcc's -arch=sm_NN. The program runs by itself, on "
        "a\n"
        "simulated GPU if there is no NVIDIA driver.");
    line.takeAnything();
    return [line] { return runCompiler(Command(line.remaining()).line(findSdk())); };
}

}  // namespace bulkhead::cli
