#include "cli/nvcc_options.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/split.h"

namespace bulkhead::cli {
namespace {

using Words = std::vector<std::string>;

constexpr int kNewestArch = 90;  ///< that clang 19 knows

/// The architecture in nvcc's spellings: sm_80 of "sm_80", "compute_80" or "arch=compute_80,code=sm_80". None of the
/// words that stand for what is there, or for all.
std::string archOf(const std::string& text) {
    for (const char* any : {"native", "all", "all-major"})
        if (text == any) return "";
    const std::size_t at = text.find_last_of('_');
    const std::string number = at == std::string::npos ? "" : text.substr(at + 1);
    const std::size_t digits = std::min(number.find_first_not_of("0123456789"), number.size());
    if (digits == 0) throw Error("cc: {}: not an architecture; write one such as sm_75", text);
    // PTX for an older one runs on every newer GPU.
    return "sm_" + std::to_string(std::min(std::stoi(number.substr(0, std::min<std::size_t>(digits, 4))), kNewestArch));
}

Words splitAtCommas(const std::string& text) {
    return splitWords(text, ',');
}

bool isTrue(const std::string& name, const std::string& value) {
    if (value == "true" || value == "false") return value == "true";
    throw Error("cc: {} is true or false, not {}", name, value);
}

Words defaultStream(const std::string& value) {
    if (value == "legacy" || value == "null") return {};
    if (value == "per-thread") return {"-DCUDA_API_PER_THREAD_DEFAULT_STREAM"};
    throw Error("cc: --default-stream is legacy or per-thread, not {}", value);
}

Words eachForLinker(const std::string& value) {
    Words words;
    for (const std::string& word : splitAtCommas(value)) words.insert(words.end(), {"-Xlinker", word});
    return words;
}

enum class Value { none, own };

struct Rule {
    const char *name, *longName;  ///< without dashes; either may follow one dash or two
    Value value;
    Words (*meaning)(const std::string& value);
};

Words nothing(const std::string& /*value*/) {
    return {};
}

Words flushDenormals() {
    return {"-fcuda-flush-denormals-to-zero"};
}

Words refuseMachineCode(const std::string& /*value*/) {
    throw Error("cc: -cubin: there is no machine code; device code is kept as PTX (-ptx, -fatbin)");
}

const Rule kRules[] = {
    {"ptx", "ptx", Value::none,
     [](const std::string&) {
         return Words{"--cuda-device-only", "-S"};
     }},
    {"cubin", "cubin", Value::none, refuseMachineCode},
    {"default-stream", "default-stream", Value::own, defaultStream},

    {"use_fast_math", "use_fast_math", Value::none, [](const std::string&) { return flushDenormals(); }},
    {"ftz", "ftz", Value::own,
     [](const std::string& value) { return isTrue("-ftz", value) ? flushDenormals() : Words{}; }},
    {"fmad", "fmad", Value::own,
     [](const std::string& value) {
         return Words{isTrue("-fmad", value) ? "-ffp-contract=fast" : "-ffp-contract=off"};
     }},
    {"prec-div", "prec-div", Value::own, nothing},
    {"prec-sqrt", "prec-sqrt", Value::own, nothing},

    {"Xcompiler", "compiler-options", Value::own, splitAtCommas},
    {"Xlinker", "linker-options", Value::own, eachForLinker},
    {"Xptxas", "ptxas-options", Value::own, nothing},
    {"Xnvlink", "nvlink-options", Value::own, nothing},
    {"Xcudafe", "Xcudafe", Value::own, nothing},
    {"Xfatbin", "Xfatbin", Value::own, nothing},
    {"Xarchive", "archive-options", Value::own, nothing},
    {"maxrregcount", "maxrregcount", Value::own, nothing},
    {"ccbin", "compiler-bindir", Value::own, nothing},
    {"code", "gpu-code", Value::own, nothing},
    {"cudart", "cudart", Value::own, nothing},
    {"cudadevrt", "cudadevrt", Value::own, nothing},
    {"t", "threads", Value::own, nothing},
    {"split-compile", "split-compile", Value::own, nothing},
    {"diag-suppress", "diag-suppress", Value::own, nothing},
    {"diag-warn", "diag-warn", Value::own, nothing},
    {"diag-error", "diag-error", Value::own, nothing},
    {"m", "machine", Value::own, nothing},
    {"keep-dir", "keep-dir", Value::own, nothing},

    {"m64", "m64", Value::none, nothing},
    {"G", "device-debug", Value::none, nothing},
    {"lineinfo", "generate-line-info", Value::none, nothing},
    {"keep", "keep", Value::none, nothing},
    {"restrict", "restrict", Value::none, nothing},
    {"src-in-ptx", "source-in-ptx", Value::none, nothing},
    {"res-usage", "resource-usage", Value::none, nothing},
    {"expt-relaxed-constexpr", "expt-relaxed-constexpr", Value::none, nothing},
    {"expt-extended-lambda", "extended-lambda", Value::none, nothing},
    {"allow-unsupported-compiler", "allow-unsupported-compiler", Value::none, nothing},
    {"forward-unknown-to-host-compiler", "forward-unknown-to-host-compiler", Value::none, nothing},
    {"forward-unknown-opts", "forward-unknown-opts", Value::none, nothing},
    {"extra-device-vectorization", "extra-device-vectorization", Value::none, nothing},
    {"Wno-deprecated-gpu-targets", "Wno-deprecated-gpu-targets", Value::none, nothing},
    {"lcudart", "lcudart", Value::none, nothing},
    {"lcudart_static", "lcudart_static", Value::none, nothing},
    {"lcudadevrt", "lcudadevrt", Value::none, nothing},

    {"compile", "compile", Value::none, [](const std::string&) { return Words{"-c"}; }},
    {"dryrun", "dryrun", Value::none, [](const std::string&) { return Words{"-###"}; }},
    {"disable-warnings", "disable-warnings", Value::none, [](const std::string&) { return Words{"-w"}; }},
    {"std", "std", Value::own, [](const std::string& value) { return Words{"-std=" + value}; }},
    {"optimize", "optimize", Value::own, [](const std::string& value) { return Words{"-O" + value}; }},
    {"output-file", "output-file", Value::own,
     [](const std::string& value) {
         return Words{"-o", value};
     }},
    {"include-path", "include-path", Value::own,
     [](const std::string& value) {
         return Words{"-I", value};
     }},
    {"system-include", "system-include", Value::own,
     [](const std::string& value) {
         return Words{"-isystem", value};
     }},
    {"pre-include", "pre-include", Value::own,
     [](const std::string& value) {
         return Words{"-include", value};
     }},
    {"define-macro", "define-macro", Value::own,
     [](const std::string& value) {
         return Words{"-D", value};
     }},
    {"undefine-macro", "undefine-macro", Value::own,
     [](const std::string& value) {
         return Words{"-U", value};
     }},
    {"library", "library", Value::own,
     [](const std::string& value) {
         return Words{"-l", value};
     }},
    {"library-path", "library-path", Value::own,
     [](const std::string& value) {
         return Words{"-L", value};
     }},
    {"x", "x", Value::own,
     [](const std::string& value) {
         return Words{"-x", value == "cu" ? "cuda" : value};
     }},
};

/// Options for device code that is compiled in pieces, and linked.
constexpr std::string_view kLinking[] = {"dc", "device-c", "dlink", "device-link", "fgpu-rdc"};
constexpr std::string_view kRelocatable[] = {"rdc", "relocatable-device-code"};

constexpr std::string_view kArchNames[] = {"arch",          "gpu-architecture", "gencode",
                                           "generate-code", "cuda-gpu-arch",    "offload-arch"};

/// nvcc's kinds of warnings that are to be errors; clang's -Werror has none.
constexpr std::string_view kErrorKinds[] = {
    "all-warnings",          "cross-execution-space-call", "reorder",
    "default-stream-launch", "ext-lambda-captures-this",   "deprecated-declarations"};

template <class List>
bool isOneOf(const List& list, std::string_view word) {
    return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

/// A word's name, and its value if that is attached.
struct Split {
    std::string name, value;
    bool hasValue = false;
};

Split split(const std::string& word) {
    const std::size_t dashes = word.starts_with("--") ? 2 : word.starts_with("-") ? 1 : 0;
    if (dashes == 0) return {};
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return {word.substr(dashes), "", false};
    return {word.substr(dashes, equals - dashes), word.substr(equals + 1), true};
}

}  // namespace

NvccOption readNvccOption(const std::vector<std::string>& typed, std::size_t at) {
    Split option = split(typed[at]);
    if (option.name.empty()) return {};
    NvccOption read;
    const auto takeValue = [&] {
        read.words = 1;
        if (option.hasValue) return;
        if (at + 1 == typed.size()) throw Error("cc: {} needs a value", typed[at]);
        option.value = typed[at + 1];
        read.words = 2;
    };
    if (isOneOf(kArchNames, option.name)) {
        takeValue();
        read.arch = archOf(option.value);
        return read;
    }
    if (isOneOf(kRelocatable, option.name)) {
        takeValue();
        read.relocatable = isTrue(typed[at], option.value);
        return read;
    }
    if (isOneOf(kLinking, option.name)) {
        read.words = 1;
        read.relocatable = true;
        read.linksDevice = option.name == "dlink" || option.name == "device-link";
        if (!read.linksDevice && option.name != "fgpu-rdc") read.passed = {"-c"};
        return read;
    }
    if (option.name == "fatbin" && !option.hasValue) {
        read.words = 1;
        read.makesFatBinary = true;
        return read;
    }
    if (option.name == "Werror") {
        const bool apart = !option.hasValue && at + 1 < typed.size() && isOneOf(kErrorKinds, typed[at + 1]);
        if (!apart && !(option.hasValue && isOneOf(kErrorKinds, option.value))) return {};
        takeValue();
        if (option.value == "all-warnings") read.passed = {"-Werror"};
        return read;
    }
    for (const Rule& rule : kRules) {
        if (option.name != rule.name && option.name != rule.longName) continue;
        if (rule.value == Value::own) {
            takeValue();
        } else if (option.hasValue) {
            continue;
        }
        read.words = std::max<std::size_t>(read.words, 1);
        read.passed = rule.meaning(option.value);
        return read;
    }
    return {};
}

}  // namespace bulkhead::cli
