#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/error.h"
#include "base/files.h"
#include "base/scratch_folder.h"
#include "base/shell_words.h"
#include "cli/nvcc_options.h"
#include "cli/nvcc_spellings.h"
#include "cli/verbs.h"

extern char** environ;

namespace bulkhead::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCompiler = "clang++-19", kCCompiler = "clang-19";

constexpr std::size_t kMostArchiveBytes = std::size_t{1} << 30;

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

using Words = std::vector<std::string>;

/// Pieces of device code in an archive. The host's linker takes an object out of it only if somebody names it.
Words piecesIn(const std::string& archive) {
    static constexpr std::string_view kPiece = "__fatbinwrap_";
    std::set<std::string> names;
    const std::string bytes = readFile(archive, kMostArchiveBytes);
    for (std::size_t at = bytes.find(kPiece); at != std::string::npos; at = bytes.find(kPiece, at + 1))
        names.insert(bytes.c_str() + at);
    return {names.begin(), names.end()};
}

/// With the words of response files (@FILE, --options-file FILE) in their places.
Words withFiles(const Words& typed) {
    Words words;
    const auto take = [&](const std::string& file) {
        const Words inside = shellWords(readFile(file), "cc: " + file);
        words.insert(words.end(), inside.begin(), inside.end());
    };
    for (std::size_t i = 0; i < typed.size(); ++i) {
        const bool named = typed[i] == "--options-file" || typed[i] == "-optf";
        if (named && i + 1 < typed.size())
            take(typed[++i]);
        else if (typed[i].starts_with("@") && typed[i].size() > 1)
            take(typed[i].substr(1));
        else
            words.push_back(typed[i]);
    }
    return words;
}

struct Compilation {
    Words line;
    std::vector<std::string> pieces;  ///< objects that it leaves, with device code that is to be linked
};

/// The compiler's command lines, made from what was typed.
class Command {
  public:
    explicit Command(const Words& line) {
        const Words typed = withFiles(line);
        for (std::size_t i = 0; i < typed.size(); ++i) take(typed, i);
        if (inputs_.empty()) throw Error("cc: no input file; see bulkhead cc --help");
        if (makesFatBinary_ && inputs_.size() != 1)
            throw Error("cc: -fatbin is made of one file, not {}", inputs_.size());
        for (const std::string& input : inputs_) {
            checkInput(input);
            if (!isCuda(input)) continue;
            const std::string source = readFile(input);
            std::string read = withClangSpellings(source);
            if (read != source) respelled_.emplace_back(input, std::move(read));
        }
        if (!output_.empty() && output_ != "-") expectWritable(output_);
    }

    /// What build systems read of nvcc's -v: where its parts are, and a command that links.
    void explain(const fs::path& sdk) const {
        if (!verbose_) return;
        const std::string toolkit = (sdk / "toolkit").string(), libraries = "\"-L" + libraryFolder() + "\"";
        for (const std::string& arch : archs_.empty() ? Words{std::string(kDefaultArch)} : archs_)
            fmt::print(stderr, "#$ {} -arch compute_{}\n", kCompiler, arch.substr(arch.find('_') + 1));
        fmt::print(stderr,
                   "#$ TOP={0}\n#$ PATH={0}/bin:{1}\n#$ INCLUDES=\"-I{2}\"\n#$ LIBRARIES= {3}\n"
                   "#$ {0}/bin/nvcc {3} -lcudart\n",
                   toolkit, environment("PATH"), (sdk / "include").string(), libraries);
    }

    bool needsScratch() const {
        return makesFatBinary_ || !respelled_.empty() ||
               std::any_of(inputs_.begin(), inputs_.end(), [&](const std::string& input) { return isApart(input); });
    }

    /// One compilation, but where C is among the inputs, or device code in pieces: these are compiled apart, into
    /// objects in `scratch` if all is linked.
    std::vector<Compilation> compilations(const fs::path& sdk, const fs::path& scratch) const {
        if (linksDevice_) return {deviceLink()};
        std::vector<Compilation> made = compilationsOfSources(sdk, scratch);
        if (respelled_.empty()) return made;
        const std::string overlay = "-ivfsoverlay" + writeOverlay(scratch);
        for (Compilation& compilation : made)
            if (compilation.line.front() == kCompiler) compilation.line.insert(compilation.line.begin() + 1, overlay);
        return made;
    }

  private:
    /// Words that belong together.
    struct Piece {
        enum class Kind { option, ofCxx, ofLinker, output, input };
        Kind kind;
        Words words;
    };

    /// The file by which clang reads, in place of sources, these as it spells them.
    std::string writeOverlay(const fs::path& scratch) const {
        const std::string name = (scratch / "spellings.yaml").string();
        std::string roots;
        for (std::size_t i = 0; i < respelled_.size(); ++i) {
            const std::string copy = (scratch / ("spelling" + std::to_string(i) + ".cu")).string();
            writeFile(copy, respelled_[i].second);
            roots += fmt::format("{}{{\"type\": \"file\", \"name\": {}, \"external-contents\": {}}}", i > 0 ? ", " : "",
                                 quoted(fs::absolute(respelled_[i].first).lexically_normal().string()), quoted(copy));
        }
        writeFile(name, fmt::format("{{\"version\": 0, \"use-external-names\": false, \"roots\": [{}]}}\n", roots));
        return name;
    }

    static std::string quoted(const std::string& text) {
        std::string made = "\"";
        for (const char c : text) made += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
        return made + "\"";
    }

    std::vector<Compilation> compilationsOfSources(const fs::path& sdk, const fs::path& scratch) const {
        if (makesFatBinary_) return fatBinary(sdk, scratch);
        std::vector<Compilation> made;
        std::vector<Piece> ofC, others;
        bool hasOthers = false;
        for (const Piece& piece : pieces_) {
            if (piece.kind != Piece::Kind::input || !isApart(piece.words.front())) {
                others.push_back(piece);
                hasOthers = hasOthers || piece.kind == Piece::Kind::input;
            } else if (links_) {
                const std::string object = (scratch / (std::to_string(made.size()) + ".o")).string();
                made.push_back(objectOf(sdk, piece.words.front(), object));
                others.push_back({Piece::Kind::input, {object}});
            } else {
                ofC.push_back(piece);
            }
        }
        if (!ofC.empty()) {
            for (const Piece& piece : pieces_)
                if (piece.kind == Piece::Kind::output) ofC.push_back(piece);
            made.push_back({cLine(sdk, ofC), {}});
        }
        if (links_ || hasOthers) made.push_back({cudaLine(sdk, others), piecesMade()});
        return made;
    }

    Compilation objectOf(const fs::path& sdk, const std::string& input, const std::string& object) const {
        const Piece added = {Piece::Kind::option, {"-c", input, "-o", object}};
        if (isC(input)) return {cLine(sdk, {added}), {}};
        std::vector<Piece> pieces;
        for (const Piece& piece : pieces_)
            if (piece.kind == Piece::Kind::option || piece.kind == Piece::Kind::ofCxx) pieces.push_back(piece);
        pieces.push_back(added);
        return {cudaLine(sdk, pieces, false), {object}};
    }

    /// PTX for each architecture, and the file that holds them.
    std::vector<Compilation> fatBinary(const fs::path& sdk, const fs::path& scratch) const {
        const std::string& input = inputs_.front();
        std::vector<Compilation> made;
        Words create = {(sdk / "toolkit/bin/fatbinary").string(), "--create",
                        output_.empty() ? fs::path(input).stem().string() + ".fatbin" : output_};
        for (const std::string& arch : archs_.empty() ? Words{std::string(kDefaultArch)} : archs_) {
            const std::string ptx = (scratch / (arch + ".ptx")).string();
            Words line = cudaLine(sdk, {}, {arch}, false);
            for (const Piece& piece : pieces_)
                if (piece.kind == Piece::Kind::option || piece.kind == Piece::Kind::ofCxx)
                    line.insert(line.end(), piece.words.begin(), piece.words.end());
            line.insert(line.end(), {"--cuda-device-only", "-S", input, "-o", ptx});
            made.push_back({line, {}});
            create.push_back("--image=profile=compute_" + arch.substr(arch.find('_') + 1) + ",file=" + ptx);
        }
        made.push_back({create, {}});
        return made;
    }

    /// What linking device code leaves: the function that pieces register with. The rest happens when they are loaded.
    Compilation deviceLink() const {
        Words line = {std::string(kCCompiler),
                      "-r",
                      "-nostdlib",
                      "-Wl,--whole-archive",
                      libraryFolder() + "/libbulkhead_device_link.a",
                      "-o",
                      output_.empty() ? "a_dlink.o" : output_};
        addPieces(line);
        return {line, {}};
    }

    void addPieces(Words& line) const {
        for (const std::string& input : inputs_)
            if (input.ends_with(".a"))
                for (const std::string& name : piecesIn(input)) line.push_back("-Wl,-u," + name);
    }

    /// Objects with a piece of device code that the last compilation leaves.
    std::vector<std::string> piecesMade() const {
        std::vector<std::string> objects;
        if (!relocatable_ || !makesObjects_) return objects;
        for (const std::string& input : inputs_)
            if (isCuda(input)) objects.push_back(fs::path(input).stem().string() + ".o");
        return objects.empty() || output_.empty() ? objects : std::vector{output_};
    }

    Words cudaLine(const fs::path& sdk, const std::vector<Piece>& pieces) const {
        return cudaLine(sdk, pieces, links_);
    }
    Words cudaLine(const fs::path& sdk, const std::vector<Piece>& pieces, bool links) const {
        // Of a line without CUDA, clang would take an architecture for OpenMP's.
        const bool hasCuda = hasLanguage_ || std::any_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
                                 return std::any_of(piece.words.begin(), piece.words.end(),
                                                    [&](const std::string& w) { return isCuda(w); });
                             });
        if (!hasCuda) return cudaLine(sdk, pieces, {}, links);
        return cudaLine(sdk, pieces, archs_.empty() ? Words{std::string(kDefaultArch)} : archs_, links);
    }
    Words cudaLine(const fs::path& sdk, const std::vector<Piece>& pieces, const Words& archs, bool links) const {
        Words line = {std::string(kCompiler), "--cuda-path=" + (sdk / "toolkit").string(), "-nocudainc",
                      "-nocudalib",           "-Wno-unused-command-line-argument",         "-Wno-unknown-cuda-version",
                      "-Wno-pass-failed"};  // #pragma unroll is a wish
        // What gcc only warns of.
        line.insert(line.end(), {"-Wno-register", "-Wno-error=c++11-narrowing"});
        // Programs are written for gcc, which lets a sum of integers that overflows wrap where clang takes it for
        // granted that none does.
        line.insert(line.end(), {"-Xarch_host", "-fwrapv"});
        // Else code that is never reached is one more way out of a kernel, and warps come together again too late.
        line.insert(line.end(), {"-Xarch_device", "-mllvm=--trap-unreachable"});
        addHeaders(line, sdk);
        line.insert(line.end(), {"-include", "bulkhead_sdk/first.h"});
        if (!hasStandard_) line.emplace_back("-std=c++17");
        for (const std::string& arch : archs) line.push_back("--cuda-gpu-arch=" + arch);
        if (relocatable_) line.emplace_back("-fgpu-rdc");
        for (const Piece& piece : pieces) line.insert(line.end(), piece.words.begin(), piece.words.end());
        if (links) {
            for (const char* option : {"-L", "-Wl,-rpath,"}) line.push_back(option + libraryFolder());
            addPieces(line);
            line.insert(line.end(), {"-lbulkhead_device_link", "-lcudart"});
        }
        return line;
    }

    /// The options that concern C, and what is added.
    Words cLine(const fs::path& sdk, const std::vector<Piece>& added) const {
        Words line = {std::string(kCCompiler), "-fwrapv"};
        for (const char* kind :
             {"implicit-function-declaration", "implicit-int", "int-conversion", "incompatible-function-pointer-types"})
            line.push_back(std::string("-Wno-error=") + kind);  // as gcc, which warns of them
        addHeaders(line, sdk);
        for (const Piece& piece : pieces_)
            if (piece.kind == Piece::Kind::option) line.insert(line.end(), piece.words.begin(), piece.words.end());
        for (const Piece& piece : added) line.insert(line.end(), piece.words.begin(), piece.words.end());
        return line;
    }

    static void addHeaders(Words& line, const fs::path& sdk) {
        for (const char* folder : {"include", "api"}) line.insert(line.end(), {"-isystem", (sdk / folder).string()});
    }

    /// Whether it is compiled by a line of its own.
    bool isApart(const std::string& input) const { return isC(input) || (relocatable_ && links_ && isCuda(input)); }
    bool isCuda(const std::string& input) const { return fs::path(input).extension() == ".cu"; }
    bool isC(const std::string& input) const { return !hasLanguage_ && fs::path(input).extension() == ".c"; }

    void take(const Words& typed, std::size_t& i) {
        const NvccOption option = readNvccOption(typed, i);
        if (option.words > 0) {
            takeOption(option, i);
        } else {
            takeClang(typed, i);
        }
    }

    void takeOption(const NvccOption& option, std::size_t& i) {
        i += option.words - 1;
        if (!option.arch.empty()) addArch(option.arch);
        relocatable_ = relocatable_ || option.relocatable;
        linksDevice_ = linksDevice_ || option.linksDevice;
        makesFatBinary_ = makesFatBinary_ || option.makesFatBinary;
        for (std::size_t k = 0; k < option.passed.size(); ++k) takeClang(option.passed, k);
    }

    void takeClang(const Words& typed, std::size_t& i) {
        const std::string& word = typed[i];
        if (word.starts_with("-D"))
            noteDefinition(word == "-D" && i + 1 < typed.size() ? typed[i + 1] : word.substr(2));
        if (takesValue(word)) {
            if (i + 1 == typed.size()) throw Error("cc: {} needs a value", word);
            const std::string& value = typed[++i];
            if (word == "-o") output_ = value;
            hasLanguage_ = hasLanguage_ || word == "-x";
            return pieces_.push_back({kindOf(word), {word, value}});
        }
        if (word == "-c" || word == "-S" || word == "-E" || startsWithAny(word, {"-fsyntax-only", "-M"}))
            links_ = links_ && startsWithAny(word, {"-MD", "-MMD", "-MF", "-MT"});
        makesObjects_ = makesObjects_ || word == "-c";
        verbose_ = verbose_ || word == "-v" || word == "--verbose";
        hasStandard_ = hasStandard_ || startsWithAny(word, {"-std="});
        if (!word.starts_with("-") || word == "-") inputs_.push_back(word);
        pieces_.push_back({kindOf(word), {word}});
    }

    /// The headers go by this one; launches are the compiler's.
    void noteDefinition(const std::string& macro) {
        if (macro.starts_with("CUDA_API_PER_THREAD_DEFAULT_STREAM"))
            pieces_.push_back({Piece::Kind::ofCxx, {"-Xclang", "-fgpu-default-stream=per-thread"}});
    }

    static Piece::Kind kindOf(const std::string& word) {
        using Kind = Piece::Kind;
        if (!word.starts_with("-") || word == "-") return Kind::input;
        if (word == "-o") return Kind::output;
        if (startsWithAny(word, {"-l", "-L", "-Wl,", "-Xlinker", "-T", "-u", "-z", "-shared", "-static"}))
            return Kind::ofLinker;
        const bool ofCuda = startsWithAny(word, {"--cuda", "-fcuda", "-nocuda", "-Xcuda", "-Xarch_device"});
        const bool ofCxx = startsWithAny(word, {"-std=c++", "-std=gnu++", "-fno-exceptions", "-fno-rtti"});
        return ofCuda || ofCxx ? Kind::ofCxx : Kind::option;
    }

    void addArch(std::string arch) {
        if (std::find(archs_.begin(), archs_.end(), arch) == archs_.end()) archs_.push_back(std::move(arch));
    }

    std::vector<Piece> pieces_;
    Words archs_, inputs_;
    std::vector<std::pair<std::string, std::string>> respelled_;  ///< sources that clang is to read otherwise
    std::string output_;
    bool hasStandard_ = false, hasLanguage_ = false, links_ = true, makesObjects_ = false;
    bool relocatable_ = false, linksDevice_ = false, makesFatBinary_ = false, verbose_ = false;
};

int runTool(const Words& line, const char* package) {
    std::vector<char*> arguments;
    arguments.reserve(line.size() + 1);
    for (const std::string& word : line) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int error = posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
    if (error == ENOENT) throw Error("cc: {} is not installed; it is in the Debian package {}", line[0], package);
    if (error != 0) throw Error("cc: {} cannot be started: {}", line[0], std::strerror(error));
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) throw Error("cc: {}: {}", line[0], std::strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : kCheckFailed;
}

/// Lets an object register its piece of device code with the function that the SDK links into every program, instead of
/// with one that is named after the object, and that NVIDIA's linker would write.
int joinPiece(const std::string& object) {
    static constexpr std::string_view kOwn = "__cudaRegisterLinkedBinary";
    const std::string bytes = readFile(object);
    const std::size_t at = bytes.find(kOwn);
    if (at == std::string::npos) return 0;  // it has no device code
    const std::string name = bytes.c_str() + at;
    return runTool({"objcopy", "--redefine-sym", name + "=__bulkheadRegisterLinkedBinary", object}, "binutils");
}

/// Until one fails.
int run(const std::vector<Compilation>& compilations) {
    for (const Compilation& compilation : compilations) {
        if (const int status = runTool(compilation.line, "clang-19"); status != 0) return status;
        for (const std::string& object : compilation.pieces)
            if (const int status = joinPiece(object); status != 0) return status;
    }
    return 0;
}

int compile(const Command& command) {
    command.explain(findSdk());
    if (!command.needsScratch()) return run(command.compilations(findSdk(), {}));
    const ScratchFolder scratch("cc");
    return run(command.compilations(findSdk(), scratch.path()));
}

}  // namespace

Action setUpCc(CommandLine line) {
    line.footer(
        "bulkhead cc [options] FILE.cu... [-o PROGRAM]\n"
        "Options are clang's (-O2 -I -D -std= -g -c -l -L ...) and nvcc's, in both of its spellings. The program runs\n"
        "by itself, on a simulated GPU if there is no NVIDIA driver.");
    line.takeAnything();
    return [line] { return compile(Command(line.remaining())); };
}

}  // namespace bulkhead::cli
