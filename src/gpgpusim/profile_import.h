#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/device_profile.h"
#include "gpgpusim/configuration.h"

namespace bulkhead::gpgpusim {

struct ImportOptions {
    std::string name;              ///< of the profile
    std::string base;              ///< profile that has what the configuration lacks; empty: the nearest
    std::optional<Setting> flits;  ///< flit_size of the network's own file, where there is one
};

struct Imported {
    arch::DeviceProfile profile;
    std::string base;
    std::vector<std::string> remarks;  ///< what is told apart from the profile, as the scheduler
    std::vector<std::string> ignored;  ///< options that mean something to GPGPU-Sim and nothing here
    std::vector<std::string> unknown;  ///< options that it does not have
};

/// The profile of the GPU that a configuration of GPGPU-Sim or Accel-Sim describes. Throws Error, with file and line,
/// on a value that cannot be.
Imported importProfile(Configuration&, const ImportOptions&);

/// The file of the network that the configuration names, if it uses one; empty otherwise.
std::string networkFile(Configuration&);
/// `flit_size` of such a file, as a setting; nothing if it has none.
std::optional<Setting> flitSize(std::string_view text, const std::string& file);

}  // namespace bulkhead::gpgpusim
