#pragma once

#include <string>
#include <vector>

namespace bulkhead::cli {

struct ImportRequest {
    std::vector<std::string> files;  ///< gpgpusim.config, and trace.config where it is elsewhere
    std::string out = "-";
    std::string base;                   ///< empty: the nearest profile
    std::vector<std::string> settings;  ///< KEY=VALUE, over what was read
};

/// `gpus --import`: writes a profile, and says on standard error what of the configuration is not in it.
int importConfiguration(const ImportRequest&);

}  // namespace bulkhead::cli
