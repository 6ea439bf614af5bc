#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

// What is asked of Slurm, by its own commands. No accounting is needed: a Slurm without slurmdbd will do.

namespace bulkhead::experiment::slurm {

/// Throws Error if this machine has no sbatch or no squeue.
void expectCommands();

/// Slurm's own words about what it does not accept. Nothing was submitted.
class Refused : public Error {
  public:
    using Error::Error;
};

/// A job array.
struct Job {
    std::string name;  ///< by which it is found again
    std::size_t tasks = 1;
    unsigned atOnce = 0;               ///< tasks; 0: as many as Slurm likes
    std::filesystem::path script;      ///< what each task runs
    std::filesystem::path logs;        ///< a folder, for task-N.log
    std::vector<std::string> options;  ///< of the user, for sbatch
};
/// Throws Refused.
void submit(const Job&);

/// A task of a job array, as squeue tells of it.
struct Task {
    std::string job;                 ///< its name
    std::optional<unsigned> number;  ///< none: all of the array's that have no line of their own
    std::string id;                  ///< of Slurm: 17_3
    std::string state;               ///< such as RUNNING
    std::string node;                ///< where it runs or ran
    std::string reason;              ///< why it waits

    bool waits() const { return state == "PENDING"; }
    bool ended() const;
};
/// Those of the jobs with these names that Slurm still knows, ended or not. Throws Error if it does not answer.
std::vector<Task> tasksOf(const std::vector<std::string>& names);

/// The most tasks that a job array may have here.
std::size_t mostTasks();

/// Throws Error, which names what is wrong with options for sbatch: those that we set, and words that are none.
void expectOptions(const std::vector<std::string>& options);
/// Whether options for sbatch ask for a GPU, or for a node alone.
bool askForGpu(const std::vector<std::string>& options);

}  // namespace bulkhead::experiment::slurm
