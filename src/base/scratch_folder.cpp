#include "base/scratch_folder.h"

#include <cstdlib>
#include <string>

#include "base/error.h"

namespace bulkhead {

std::filesystem::path makeScratchFolder(std::string_view name) {
    std::string path =
        (std::filesystem::temp_directory_path() / ("bulkhead-" + std::string(name) + "-XXXXXX")).string();
    if (::mkdtemp(path.data()) == nullptr) throw Error("{}: cannot be made", path);
    return path;
}

}  // namespace bulkhead
