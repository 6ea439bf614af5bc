#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "isolate/block_store.h"
#include "isolate/channel.h"
#include "isolate/leases.h"
#include "walls/survey.h"

namespace bulkhead::isolate {

/// One keeper at a time holds this. Throws Error where another one does, or this user may not keep the GPU.
LeaseFolder::File lockAsKeeper(const LeaseFolder&);

/// Keeps what the tenants of a card share: what a survey found of it, and its memory in blocks, which it hands out as
/// open files over a socket in the folder of leases. A tenant has what it took until its connection ends, however that
/// comes about. It is given memory of the colors of its own lease, and no more than its share. One without a memory
/// wall has its memory from the driver, to which the keeper gives so much for as long as the tenant is there.
///
/// A keeper has no context on the GPU, so that no fault there concerns it. Tenants whose keeper is killed go on: memory
/// that is mapped stays. What the survey found is in a file of the folder, so that another keeper can go on as well,
/// with the memory that is left, whatever runs on the GPU then.
class Keeper {
  public:
    static constexpr const char* kSocket = "keeper";

    /// Whether a process keeps the GPU of this folder, or is still giving memory back.
    static bool isKept(const LeaseFolder&);

    /// Throws Error if another one keeps this GPU.
    Keeper(const driver::DriverApi&, driver::CUdevice, const LeaseBook&);

    /// Answers until `ended` says so, or until it is told to end.
    void run(const std::function<bool()>& ended);

  private:
    struct Client {
        Channel channel;
        std::uint64_t number = 0;  ///< as an owner of blocks
        std::optional<Share> share;
        Bytes released = 0;  ///< to the driver, for its sake
    };
    struct Answer {
        nlohmann::json body = nlohmann::json::object();
        std::vector<OwnDescriptor> files;
    };
    bool serve(Client&);
    Answer answer(Client&, const nlohmann::json&);
    Answer state() const;
    Answer make(const Client&, const nlohmann::json&);
    Answer show(const Client&, const nlohmann::json&) const;
    Answer label(const Client&, const nlohmann::json&);
    Answer settle(const Client&, const nlohmann::json&);
    Answer recall(const Client&);
    Answer take(Client&, const nlohmann::json&);
    Answer release(Client&);
    Answer showUnknown(const Client&, const nlohmann::json&) const;
    Answer labelUnknown(const Client&, const nlohmann::json&);
    Answer end(const Client&);
    void forget(const Client&);
    void divide(walls::Survey, bool keepUnknown);
    /// That the driver has for tenants without a memory wall.
    Bytes releasedBytes() const;
    const Share& shareOf(Client&) const;
    void expectOwner(const Client&) const;

    LeaseBook book_;
    LeaseFolder folder_;
    LeaseFolder::File lock_;
    Listener listener_;
    BlockStore store_;
    std::optional<walls::Survey> survey_;
    walls::PagesLeftOut leftOut_;
    /// What the keeper before this one knew.
    struct Remembered {
        walls::Survey survey;
        walls::PagesLeftOut leftOut;
    };
    std::optional<Remembered> remembered_;
    static std::optional<Remembered> rememberedIn(const LeaseFolder&);
    std::map<int, Client> clients_;  ///< by descriptor
    std::uint64_t lastNumber_ = 0;
    bool told_ = false;  ///< to end
};

}  // namespace bulkhead::isolate
