#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isolate/lease_folder.h"
#include "isolate/plan.h"

namespace bulkhead::isolate {

/// What tells a GPU apart from others, in every process of this machine.
struct GpuIdentity {
    std::string name;
    bool real =
        false;  ///< processes share it, whatever folder they keep leases in; a simulated one is each process's own
};

/// Who is in a partition.
struct Holder {
    pid_t process = 0;  ///< 0 where it cannot be seen from here
    uid_t user = 0;
    std::string program, since;  ///< as the holder says
    Share share;
};

/// Somebody who may hold any of the walls, as nobody can tell which.
struct Stranger {
    pid_t process = 0;  ///< 0 where it is not known
    std::optional<uid_t> user;
    std::string why;
};

/// Who is behind the walls of a GPU.
struct Occupancy {
    std::vector<Holder> holders;
    std::vector<Stranger> strangers;  ///< while there are any, nobody can join
};

/// A place in a partition, for as long as this object or this process lives. A child of a fork does not have it.
class Lease {
  public:
    /// What stands for it: a locked file, and a mark outside of any folder.
    struct Place {
        LeaseFolder folder;
        std::string name;
        LeaseFolder::File file;
        OwnDescriptor mark;
    };

    Lease() = default;
    Lease(Place place, Holder holder) : place_(std::move(place)), holder_(std::move(holder)) {}
    ~Lease() { leave(); }
    Lease(Lease&&) noexcept;
    Lease& operator=(Lease&&) noexcept;

    const Share& share() const { return holder_.share; }
    bool held() const { return place_ && place_->file.descriptor; }
    /// Throws Error if it is stale: given back, its parent's, or its file is gone.
    void expectValid() const;
    void leave();

  private:
    std::optional<Place> place_;
    Holder holder_;
};

/// The partitions of one GPU and who is in them: a folder with one locked file a holder. What a lock says is never kept
/// anywhere else, so nothing need be done after a crash: a file that nobody locks is nobody's, and goes when the next
/// process joins or partitions are set.
class LeaseBook {
  public:
    /// `patience`: how long to wait for another process that joins or leaves.
    LeaseBook(std::filesystem::path folder, GpuIdentity gpu,
              std::chrono::milliseconds patience = std::chrono::seconds(60));

    /// From now on, these are the partitions. Whoever is inside keeps the walls that it has. The book keeps a copy of
    /// the map by which they are divided, where they need one. Makes the folder where it is missing.
    void setPartitions(const std::vector<Partition>&, const std::string& mapFile = "");
    /// Throws Error if none were set.
    std::vector<Partition> partitions() const;
    /// The file of their map; empty where they have none.
    std::string map() const;

    /// Takes a place in a partition of the current ones, as `divide` cuts them. Throws Error: unknown or full
    /// partition, walls that a holder under earlier partitions still stands in, a stranger, or somebody without a
    /// memory wall in or beside a strict partition.
    Lease join(const std::string& name, const std::function<Plan(const std::vector<Partition>&)>& divide,
               bool memoryWall = true);
    /// Takes a place in one partition of a plan, whatever the current partitions are. Throws Error likewise.
    Lease join(const Share&);

    /// Those alive. Changes nothing, and waits for nobody.
    Occupancy occupancy() const;

    /// Whether somebody in a partition of any GPU has ended without leaving, in the middle of a kernel, say. That is
    /// seen until the next process joins.
    static bool hasAbandoned(const std::filesystem::path& folder);
    /// Takes away what those have left whose end did no harm.
    void forgetAbandoned() const;

    const std::filesystem::path& folder() const { return base_; }
    /// That of this GPU. Nothing where there is none; `openFolder` makes it.
    std::optional<LeaseFolder> findFolder() const;
    LeaseFolder openFolder() const;
    const GpuIdentity& gpu() const { return gpu_; }

    /// BULKHEAD_LEASES, or this user's own: in XDG_RUNTIME_DIR or /run/user where there is one, else in /run for root
    /// and in /tmp for others.
    static std::filesystem::path defaultFolder();

  private:
    LeaseFolder expectPartitions() const;
    nlohmann::json read(const LeaseFolder&) const;
    std::vector<Partition> partitionsIn(const LeaseFolder&) const;
    LeaseFolder::File lockBook(const LeaseFolder&) const;
    std::string markPlace() const;
    std::vector<Stranger> unnamed(const std::set<std::string>& leases, bool anybodys) const;
    /// `own`: the lease that is being taken, if one is.
    Occupancy look(const LeaseFolder*, const std::string& own) const;
    Lease enter(LeaseFolder, const Share&) const;

    std::filesystem::path base_;
    GpuIdentity gpu_;
    std::chrono::milliseconds patience_;
};

}  // namespace bulkhead::isolate
