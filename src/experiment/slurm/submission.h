#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiment/executor.h"

namespace bulkhead::experiment::slurm {

/// What a job array is to do and what became of it: a folder of the store, slurm/ID. The one who submits writes runs
/// and script before there is a job; tasks write marks and logs. Results are in the store, as those of any run.
class Submission {
  public:
    struct Run {
        RunDescription description;
        unsigned task = 0;  ///< that does it
    };

    /// The folder in which those of a store are.
    static std::filesystem::path folderIn(const std::filesystem::path& store) { return store / "slurm"; }
    /// Writes one. `command`: what runs this program on a node, as a shell takes it.
    static Submission make(const std::filesystem::path& store, const std::string& id, std::vector<Run>,
                           const std::string& command);
    /// Reads one. Throws Error.
    explicit Submission(std::filesystem::path folder);

    const std::filesystem::path& folder() const { return folder_; }
    std::filesystem::path store() const { return folder_.parent_path().parent_path(); }
    std::filesystem::path script() const { return folder_ / "script.sh"; }
    std::filesystem::path log(unsigned task) const;
    std::string jobName() const { return "bulkhead-" + folder_.filename().string(); }
    const std::vector<Run>& runs() const { return runs_; }

    // Marks of a run, by its number here.
    void begin(std::size_t run) const;  ///< by a task, each time that it begins it
    unsigned begun(std::size_t run) const;
    bool anyBegun(unsigned task) const;
    void fail(std::size_t run, const std::string& why) const;
    std::optional<std::string> failure(std::size_t run) const;

    // Of a submission without runs, whose task only tells that it came so far: the program as it is on the node.
    void greet(const std::string& program) const;
    std::optional<std::string> greeting() const;

    void remove() const;

  private:
    Submission() = default;
    std::filesystem::path mark(std::size_t run, const char* kind) const;

    std::filesystem::path folder_;
    std::vector<Run> runs_;
};

/// What tasks write may be on another machine: has the folder's entries read anew where they were remembered.
void refresh(const std::filesystem::path& folder);

}  // namespace bulkhead::experiment::slurm
