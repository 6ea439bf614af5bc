#include "corun/scratch_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace bulkhead::corun {

ScratchFile::ScratchFile() {
    std::error_code unknown;
    path_ = (std::filesystem::temp_directory_path(unknown) / "bulkhead-stress-XXXXXX").string();
    const int file = mkstemp(path_.data());
    if (file < 0) throw Error("{}: cannot create this file: {}", path_, std::strerror(errno));
    close(file);
}

ScratchFile::~ScratchFile() {
    unlink(path_.c_str());
}

}  // namespace bulkhead::corun
