#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "isolate/plan.h"

namespace bulkhead::isolate {

/// An open file with an flock. The kernel takes the lock back when the last process that has the file open closes it or
/// dies, however it dies.
class LockedFile {
  public:
    LockedFile() = default;
    LockedFile(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
    ~LockedFile();
    LockedFile(LockedFile&&) noexcept;
    LockedFile& operator=(LockedFile&&) noexcept;

    const std::filesystem::path& path() const { return path_; }
    int descriptor() const { return descriptor_; }
    /// Whether its name still leads to it.
    bool inPlace() const;

  private:
    std::filesystem::path path_;
    int descriptor_ = -1;
};

/// Who is in a partition.
struct Holder {
    pid_t process = 0;
    std::string program, since;
    Share share;
};

/// A place in a partition, for as long as this object or this process lives.
class Lease {
  public:
    Lease() = default;
    Lease(LockedFile file, Holder holder) : file_(std::move(file)), holder_(std::move(holder)) {}
    ~Lease() { leave(); }
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) noexcept;

    const Share& share() const { return holder_.share; }
    bool held() const { return file_.descriptor() >= 0; }
    /// Throws Error if it is stale: given back, taken over by a fork, or its file is gone.
    void expectValid() const;
    void leave();

  private:
    LockedFile file_;
    Holder holder_;
};

/// The partitions of one GPU and who is in them: a folder with one locked file a holder. What a lock says is never kept
/// anywhere else, so nothing is left to clean up after a crash: a file that nobody locks is nobody's.
class LeaseBook {
  public:
    /// `identity`: of the GPU, the same in every process. Makes the folder where it is missing.
    LeaseBook(const std::filesystem::path& folder, const std::string& identity);

    /// From now on, these are the partitions. Whoever is inside keeps the walls that it has. The book keeps a copy of
    /// the map by which they are divided, where they need one.
    void setPartitions(const std::vector<Partition>&, const std::string& mapFile = "");
    /// Throws Error if none were set.
    std::vector<Partition> partitions() const;
    /// The file of their map; empty where they have none.
    std::string map() const;

    /// Takes a place in a partition of the current ones, as `divide` cuts them. Throws Error: unknown or full
    /// partition, or walls that a holder under earlier partitions still stands in.
    Lease join(const std::string& name, const std::function<Plan(const std::vector<Partition>&)>& divide);
    /// Takes a place in one partition of a plan, whatever the current partitions are. Throws Error likewise.
    Lease join(const Share&);

    /// Those alive.
    std::vector<Holder> holders();

    /// BULKHEAD_LEASES, or a folder for all users of this machine.
    static std::filesystem::path defaultFolder();

  private:
    nlohmann::json read() const;
    LockedFile lockBook() const;
    std::vector<Holder> living() const;
    Lease enter(const Share&) const;

    std::filesystem::path folder_;
};

}  // namespace bulkhead::isolate
