#pragma once

#include <memory>
#include <optional>

#include "isolate/channel.h"
#include "isolate/leases.h"
#include "walls/block_source.h"
#include "walls/survey.h"

namespace bulkhead::dissect {
struct MapFile;
}

namespace bulkhead::walls {
class Sight;
}

namespace bulkhead::isolate {

/// Starts a process that outlives this one; what it has to say goes to a file. Throws Error.
void startApart(const std::vector<std::string>& command, const std::string& log);

/// What a keeper says of itself.
struct KeptState {
    pid_t process = 0;
    Bytes allBytes = 0;       ///< that it is in charge of
    Bytes releasedBytes = 0;  ///< of these, at the driver for programs without a memory wall
    Bytes unknownBytes = 0;   ///< of these, back from there, and not looked at yet
};

/// A GPU of which a keeper has the memory and knows the ways, as those see it who ask that keeper.
class KeptGpu final : public walls::BlockSource {
  public:
    /// Null where nobody keeps this GPU. Throws Error: somebody who is neither root nor owns the folder pretends to.
    static std::shared_ptr<KeptGpu> find(gpu::Gpu&, const LeaseBook&);
    /// Whether a keeper answers that knows the GPU.
    static bool isReady(const LeaseBook&);
    /// Empty where nobody keeps the GPU.
    static std::optional<KeptState> stateOf(const LeaseBook&);
    /// The same, and starts a keeper where there is none: `command`, which lives on.
    static std::shared_ptr<KeptGpu> start(gpu::Gpu&, const LeaseBook&, const std::vector<std::string>& command);

    /// Empty while nobody has looked at the GPU.
    const std::optional<walls::Survey>& survey() const { return survey_; }
    /// Looks at the GPU, which is to be quiet, and at all of its memory but `reserve`, unless somebody did before: at
    /// the slices that memory is on by a map, at sides without one.
    void look(Bytes reserve, const dissect::MapFile* map);
    /// Gives all memory back and ends the keeper, if there is one, and waits for its end. Throws Error while there are
    /// tenants.
    static void end(const LeaseBook&);

    Bytes bytes() const override { return bytes_; }
    /// With what the keeper gave to the driver, for programs without a memory wall.
    Bytes allBytes() const { return allBytes_; }
    /// Has the keeper give this process's share to the driver, for as long as the process is there. Throws Error if
    /// others have some of it.
    void release() const;
    /// Finds the kinds of blocks that came back from the driver, from SMs of this process's own: others may be at work.
    /// Those that it cannot tell stay unknown, as all do where slices are colors: they need a GPU that is quiet. False
    /// if it could tell none. Only for the owner of the folder, and root.
    bool lookAtUnknown(const walls::SmSet& own);

    /// From another keeper of the GPU, where the one that it had is gone. Throws Error where there is none.
    std::vector<Block> take(const std::vector<std::size_t>& ofKind) override;

  private:
    KeptGpu(gpu::Gpu&, const LeaseBook&, Channel);
    Channel::Message ask(const nlohmann::json&) const;
    bool findAnother();
    void readState(const nlohmann::json&);
    bool recall(Bytes reserve, const dissect::MapFile*);
    Bytes freeBytes() const;
    Bytes steadyFreeBytes() const;
    void takeAnew(unsigned pagesPerBlock, walls::PagesLeftOut leaveOut, Bytes reserve, Bytes most = ~Bytes{0});
    void label(const std::vector<std::optional<dissect::PageLabel>>&) const;
    walls::PagesLeftOut firstLeftOut(walls::Sight&, Bytes reserve);
    driver::CUmemGenericAllocationHandle import(const OwnDescriptor&) const;
    std::vector<driver::CUmemGenericAllocationHandle> importAll(const char* request, std::size_t count) const;

    gpu::Gpu& gpu_;
    LeaseBook book_;
    Channel channel_;
    std::optional<walls::Survey> survey_;
    bool remembers_ = false;  ///< what an earlier keeper knew
    Bytes bytes_ = 0, allBytes_ = 0;
    std::size_t blocks_ = 0, unknown_ = 0;
};

}  // namespace bulkhead::isolate
