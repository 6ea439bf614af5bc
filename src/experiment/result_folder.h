#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"

namespace bulkhead::experiment {

/// What a file of a ResultFolder holds.
struct StoredResult {
    nlohmann::json run, measurement;
};
/// Throws Error if a byte of it is not as it was written.
StoredResult readStored(std::string_view text, const std::string& where);

/// Results of a long series of experiments, one file each in a folder. A file is found by everything that determines
/// its result: the specification and the program. It is a convenience: a file that is damaged is as good as none, and
/// one that cannot be written costs another run, not this one's result.
class ResultFolder {
  public:
    /// Told, in one line, of a file that is damaged and of a folder that cannot be written. The same line may come more
    /// than once.
    using Warn = std::function<void(const std::string&)>;

    /// `program` tells builds apart whose results may differ. Makes the folder where it is
    /// missing, and throws Error if that cannot be. A folder without a name keeps nothing.
    ResultFolder(std::filesystem::path folder, std::string program, Warn warn = {});

    /// `name`: what the file's name begins with.
    std::filesystem::path fileOf(const std::string& name, const nlohmann::ordered_json& spec) const;
    std::optional<nlohmann::json> find(const std::string& name, const nlohmann::ordered_json& spec) const;
    void keep(const std::string& name, const nlohmann::ordered_json& spec,
              const nlohmann::ordered_json& measurement) const;
    /// Of a file whose content is not what it should be.
    void warnOfDamage(const std::filesystem::path& file) const;

  private:
    nlohmann::ordered_json identity(nlohmann::ordered_json spec) const;
    void warn(const std::string& line) const;

    std::filesystem::path folder_;
    std::string program_;
    Warn warn_;
};

/// Experiments that have ended, so that an interrupted series goes on where it was. Both types have toJson(),
/// `Measurement` has fromJson(), and nameOf(Spec) begins the file's name.
template <class Spec, class Measurement>
class StoreOf {
  public:
    StoreOf(std::filesystem::path folder, std::string program, ResultFolder::Warn warn = {})
        : folder_(std::move(folder), std::move(program), std::move(warn)) {}

    std::optional<Measurement> find(const Spec& spec) const {
        const std::optional<nlohmann::json> kept = folder_.find(nameOf(spec), spec.toJson());
        if (!kept) return std::nullopt;
        try {
            return Measurement::fromJson(*kept, "measurement");
        } catch (const Error&) {
            folder_.warnOfDamage(fileOf(spec));
            return std::nullopt;
        }
    }
    void keep(const Spec& spec, const Measurement& measurement) const {
        folder_.keep(nameOf(spec), spec.toJson(), measurement.toJson());
    }
    /// Also where nothing is kept: the same for the same experiment.
    std::filesystem::path fileOf(const Spec& spec) const { return folder_.fileOf(nameOf(spec), spec.toJson()); }

  private:
    ResultFolder folder_;
};

/// A number that stands for a text: 64-bit FNV-1a, in hexadecimal.
std::string fingerprint(std::string_view bytes);

}  // namespace bulkhead::experiment
