#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/own_descriptor.h"

namespace bulkhead::isolate {

/// The folder of one GPU below a folder of leases, FOLDER/GPU. It is one user's own, or root prepared FOLDER for
/// several (writable for others, and sticky). Everything in it is opened below the folder that was verified, never
/// through links, and never waits; only what was just made gets a mode.
class LeaseFolder {
  public:
    /// Nothing where there is none. Throws Error: not a folder, or one that neither root nor this user owns, or in
    /// which others could replace what is not theirs.
    static std::optional<LeaseFolder> find(const std::filesystem::path& folder, const std::string& gpu);
    /// Makes what is missing: for this user alone, unless FOLDER is one for several, where only its owner makes it.
    static LeaseFolder make(const std::filesystem::path& folder, const std::string& gpu);

    /// Without links.
    std::filesystem::path path() const { return base_ / gpu_; }
    bool forSeveral() const { return forSeveral_; }
    uid_t owner() const { return owner_; }
    bool mine() const;

    struct File {
        OwnDescriptor descriptor;
        struct stat status = {};
    };

    /// A regular file of anybody's. Nothing where there is none. Throws Error that says what else it is, and whose.
    std::optional<File> open(const std::string& name) const;
    /// Likewise, of the folder's owner: throws Error if it is somebody else's.
    std::optional<File> openOwners(const std::string& name) const;
    /// The whole of a file. Throws Error where it has more bytes than that.
    std::string read(const File&, const std::string& name, std::size_t most) const;

    /// A file that was not there, which nobody else can open yet. Throws Error.
    File create(const std::string& name) const;
    void write(const File&, const std::string& name, std::string_view bytes) const;
    /// Gives it its name, in one step. Others can read it from then on where the folder is for several.
    void publish(const File&, const std::string& from, const std::string& to) const;
    /// Makes or replaces a file in one step that outlasts a power failure. Throws Error: what is there is not a file.
    void replace(const std::string& name, std::string_view bytes) const;
    /// Without complaint, where it cannot be.
    void remove(const std::string& name) const;

    std::vector<std::string> names() const;
    /// Whether a name is still that of a file, in this folder; and whether its full name leads to it.
    bool holds(const std::string& name, const File&) const;
    bool leadsTo(const std::string& name, const File&) const;

    /// The file that is locked by whoever joins; there from the beginning.
    static constexpr const char* kBook = "book";
    /// What names of files begin with that are being made. What is left of them after a crash means nothing.
    static constexpr const char* kUnfinished = ".new-";
    static std::string unfinishedName();

  private:
    LeaseFolder() = default;
    std::string where(const std::string& name) const { return (path() / name).string(); }

    OwnDescriptor folder_;
    std::filesystem::path base_;
    std::string gpu_;
    bool forSeveral_ = false;
    uid_t owner_ = 0;
};

/// Sixteen digits that nobody can guess.
std::string randomDigits();

}  // namespace bulkhead::isolate
