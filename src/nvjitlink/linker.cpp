#include "nvjitlink/linker.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "driver/fatbin.h"
#include "ptx/module.h"

namespace bulkhead::nvjitlink {
namespace {

/// Options that say how machine code is made, of which there is none here. Those with a value end in '='.
constexpr std::array kMachineCodeOptions = {
    "-maxrregcount=",
    "-time",
    "-verbose",
    "-lto",
    "-ptx",
    "-g",
    "-lineinfo",
    "-ftz=",
    "-fma=",
    "-prec-div=",
    "-prec-sqrt=",
    "-Xptxas=",
    "-Xnvvm=",
    "-split-compile=",
    "-no-cache",
    "-kernels-used=",
    "-variables-used=",
    "-optimize-unused-variables",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-split-compile-extended=",
};

bool isMachineCodeOption(std::string_view option) {
    return std::any_of(kMachineCodeOptions.begin(), kMachineCodeOptions.end(), [&](std::string_view known) {
        return known.ends_with('=') ? option.starts_with(known) : option == known;
    });
}

constexpr std::string_view nameOf(Input type) {
    switch (type) {
        case Input::cubin:
            return "NVJITLINK_INPUT_CUBIN";
        case Input::ltoIr:
            return "NVJITLINK_INPUT_LTOIR";
        case Input::fatbin:
            return "NVJITLINK_INPUT_FATBIN";
        case Input::object:
            return "NVJITLINK_INPUT_OBJECT";
        case Input::library:
            return "NVJITLINK_INPUT_LIBRARY";
        case Input::index:
            return "NVJITLINK_INPUT_INDEX";
        default:
            return "NVJITLINK_INPUT_PTX";
    }
}

bool isPtx(Image data) {
    const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
    return text.substr(0, text.find('\0')).find(".version") != std::string_view::npos;
}

/// 90 of "sm_90a".
unsigned targetOf(std::string_view target) {
    unsigned number = 0;
    target.remove_prefix(std::min(target.size(), target.find('_') + 1));
    std::from_chars(target.data(), target.data() + target.size(), number);
    return number;
}

/// What the bytes are; none if nothing known.
Input kindOf(Image data) {
    if (driver::Fatbin::beginsAt(data)) return Input::fatbin;
    if (isArchive(data)) return Input::library;
    if (isElf(data)) return fatbinsOfObject(data).empty() ? Input::cubin : Input::object;
    return isPtx(data) ? Input::ptx : Input::none;
}

}  // namespace

Result Linker::fail(Result result, const std::string& why) {
    errors_ += why + "\n";
    return result;
}

Result Linker::setArch(std::string_view arch) {
    isVirtual_ = arch.starts_with("compute_");
    if (!isVirtual_ && !arch.starts_with("sm_"))
        return fail(Result::unrecognizedArch, fmt::format("unrecognized architecture: {}", arch));
    sm_ = targetOf(arch);
    constexpr unsigned kLowest = BULKHEAD_CUDA_MAJOR < 13 ? 50 : 75;
    if (sm_ < kLowest)
        return fail(Result::unsupportedArch,
                    fmt::format("ERROR NVJITLINK_ERROR_UNSUPPORTED_ARCH: unsupported architecture (compute_{})", sm_));
    return Result::success;
}

Result Linker::setOption(std::string_view option) {
    constexpr std::string_view kArch = "-arch=";
    if (option.starts_with(kArch)) return setArch(option.substr(kArch.size()));
    if (!isMachineCodeOption(option))
        return fail(Result::unrecognizedOption, fmt::format("unrecognized option: {}", option));
    optimisesLinked_ |= option == "-lto";
    givesPtx_ |= option == "-ptx";
    return Result::success;
}

Result Linker::setOptions(const char* const* options, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (!options[i]) return Result::nullInput;
        if (const Result result = setOption(options[i]); result != Result::success) return result;
    }
    if (sm_ == 0) return fail(Result::missingArch, "ERROR: -arch is missing");
    if (isVirtual_ && !givesPtx_) return fail(Result::incompatibleOptions, "ERROR: virtual arch requires -ptx");
    if (givesPtx_ && !optimisesLinked_) return fail(Result::incompatibleOptions, "ERROR: -ptx requires -lto");
    return Result::success;
}

Result Linker::addPtx(std::string text, std::string_view name) {
    hasPtxInput_ = true;
    try {
        text.resize(std::min(text.size(), text.find('\0')));
        for (const std::string& one : driver::linkedTexts(text))
            if (targetOf(ptx::parse(one, "<link>").target) > sm_)
                throw Error("SM version specified by .target is higher than default SM version assumed");
    } catch (const Error& error) {
        return fail(Result::ptxCompile,
                    fmt::format("{}\nERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX ({})", error.what(), name));
    }
    try {
        image_.add(std::move(text));
    } catch (const Error& error) {
        return fail(Result::internal, fmt::format("error   : {} in '{}'\nERROR 9: finish", error.what(), name));
    }
    return Result::success;
}

Result Linker::addFatbins(const std::vector<Image>& images, std::string_view name) {
    for (const Image image : images) {
        try {
            const driver::Fatbin fatbin = driver::Fatbin::read(image);
            const driver::Fatbin::Entry* const entry = fatbin.bestPtx(sm_);
            if (!entry)
                return fail(Result::ptxCompile,
                            fmt::format("{}: has machine code{}{} but no PTX, and only PTX can be simulated: compile "
                                        "with -gencode arch=compute_75,code=compute_75",
                                        name, fatbin.machineTargets().empty() ? "" : " for ", fatbin.machineTargets()));
            if (const Result result = addPtx(driver::Fatbin::text(*entry), name); result != Result::success)
                return result;
        } catch (const Error& error) {
            return fail(Result::invalidInput, fmt::format("{}: {}", name, error.what()));
        }
    }
    return Result::success;
}

Result Linker::addData(Input type, Image data, const char* wanted) {
    const std::string_view name = wanted ? wanted : "<unnamed>";
    if (isComplete_) return Result::internal;
    if (data.empty()) return Result::invalidInput;
    if (type != Input::any && (type <= Input::none || type > Input::index))
        return fail(Result::incorrectInputType, fmt::format("unsupported input type: {}", name));
    const Input found = kindOf(data);
    // What this linker made of other inputs is PTX, though a program knows it as a cubin.
    const bool isOwnImage = type == Input::cubin && found == Input::ptx;
    if (type != Input::any && type != found && !isOwnImage && type != Input::ptx)
        return fail(Result::incorrectInputType,
                    fmt::format("ERROR 1: bad input: does not match type {} {}", nameOf(type), name));
    switch (type == Input::ptx ? Input::ptx : found) {
        case Input::ptx:
            return addPtx({reinterpret_cast<const char*>(data.data()), data.size()}, name);
        case Input::fatbin:
            return addFatbins({data}, name);
        case Input::object:
            return addFatbins(fatbinsOfObject(data), name);
        case Input::library:
            return addFatbins(fatbinsOfArchive(data), name);
        case Input::cubin:
            return fail(Result::ptxCompile,
                        fmt::format("{}: is machine code, and only PTX can be simulated: compile with -gencode "
                                    "arch=compute_75,code=compute_75",
                                    name));
        default:
            return fail(Result::unrecognizedInput, fmt::format("{}: is nothing that can be linked", name));
    }
}

Result Linker::addFile(Input type, const char* path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return fail(Result::invalidInput, fmt::format("no such file: {}", path));
    const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return addData(type, {reinterpret_cast<const std::uint8_t*>(content.data()), content.size()}, path);
}

Result Linker::complete() {
    if (isComplete_) return Result::internal;
    if (givesPtx_ && hasPtxInput_)
        return fail(Result::incorrectInputType, "ERROR: -ptx requires that all inputs have LTOIR");
    try {
        image_.complete();
    } catch (const Error& error) {
        return fail(Result::internal, fmt::format("error   : {}\nERROR 9: finish", error.what()));
    }
    isComplete_ = true;
    return Result::success;
}

}  // namespace bulkhead::nvjitlink
