#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "driver/linked_image.h"
#include "nvjitlink/host_object.h"

namespace bulkhead::nvjitlink {

enum class Result {
    success,
    unrecognizedOption,
    missingArch,
    invalidInput,
    ptxCompile,
    nvvmCompile,
    internal,
    threadpool,
    unrecognizedInput,
    finalize,
    nullInput,
    incompatibleOptions,
    incorrectInputType,
    archMismatch,
    outdatedLibrary,
    missingFatbin,
    unrecognizedArch,
    unsupportedArch,
    ltoNotEnabled,
};

enum class Input { none, cubin, ptx, ltoIr, fatbin, object, library, index, any = 10 };

/// A link of one program's modules, as nvJitLink has it: options, then inputs, then the image. Results and what the log
/// says follow NVIDIA's library of CUDA 13.0.
class Linker {
  public:
    Result setOptions(const char* const* options, std::size_t count);
    Result addData(Input, Image, const char* name);
    Result addFile(Input, const char* path);
    Result complete();

    bool isComplete() const { return isComplete_; }
    bool givesPtx() const { return givesPtx_; }
    /// Everything linked, which the simulated driver loads as it loads a cubin.
    const std::string& image() const { return image_.text(); }
    const std::string& errors() const { return errors_; }

  private:
    Result setOption(std::string_view option);
    Result setArch(std::string_view arch);
    Result addPtx(std::string text, std::string_view name);
    Result addFatbins(const std::vector<Image>&, std::string_view name);
    Result fail(Result, const std::string& why);

    driver::LinkedImage image_;
    std::string errors_;
    unsigned sm_ = 0;
    bool isVirtual_ = false, optimisesLinked_ = false, givesPtx_ = false, isComplete_ = false, hasPtxInput_ = false;
};

}  // namespace bulkhead::nvjitlink
