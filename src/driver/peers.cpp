// Simulated GPUs of one kind reach each other's memory: a kernel uses an address of a peer's as one of its own GPU's.
// For timing, such an access is one to the GPU's own DRAM; there is no model of a link between GPUs.

#include "driver/state.h"

namespace bulkhead::driver {
namespace {

void endAccess(CUcontext root, CUcontext peer) {
    memoryOf(root).space().leave(memoryOf(peer).space());
    root->peers.erase(peer);
}

/// Waits for what is left of its work, whatever became of it.
void finishWorkOf(CUcontext root) {
    for (const sim::StreamId id : streamsOf(root)) finishStream(*root->device, id);
}

/// Calls body(context, reservation, address, piece) for each piece of reserved addresses that has memory.
template <class Body>
void forEachMapped(Body&& body) {
    for (const auto& context : state().contexts)
        for (auto& [base, reservation] : context->reservations)
            for (auto& [address, piece] : reservation.pieces) body(context.get(), reservation, address, piece);
}

}  // namespace

bool canReach(const Device& device, const Device& peer) {
    return &device != &peer && device.gpu->profile().name == peer.gpu->profile().name;
}

void unmapMemoryOf(const Device& device) {
    std::vector<std::pair<Reservation*, CUdeviceptr>> gone;
    forEachMapped([&](CUcontext, Reservation& reservation, CUdeviceptr address, Reservation::Piece& piece) {
        if (piece.memory->device != device.ordinal) return;
        for (const auto& [root, writable] : piece.access) {
            finishWorkOf(root);
            memoryOf(root).unmap(address);
        }
        gone.emplace_back(&reservation, address);
    });
    for (const auto& [reservation, address] : gone) reservation->pieces.erase(address);
}

void waitForUsersOf(CUcontext root) {
    waitForAll(root);
    for (const auto& other : state().contexts)
        if (!other->destroyed && !other->failed && other->peers.count(root)) waitForAll(other.get());
}

void forgetPeersOf(CUcontext root) {
    for (const auto& other : state().contexts) {
        if (other->destroyed || !other->peers.count(root)) continue;
        finishWorkOf(other.get());
        endAccess(other.get(), root);
    }
    forEachMapped([&](CUcontext owner, Reservation&, CUdeviceptr address, Reservation::Piece& piece) {
        piece.access.erase(root);
        if (owner != root) return;
        for (const auto& [other, writable] : piece.access) {
            finishWorkOf(other);
            memoryOf(other).unmap(address);
        }
        piece.access.clear();
    });
    while (!root->peers.empty()) endAccess(root, *root->peers.begin());
    for (auto& [address, allocation] : root->allocations) withdrawPooled(address, allocation);
    for (const auto& other : state().contexts)
        for (auto& [address, allocation] : other->allocations) std::erase(allocation.sharedWith, root);
}

namespace simulated {

CUresult cuDeviceCanAccessPeer(int* possible, CUdevice device, CUdevice peer) {
    return call([&] {
        requireOutput(possible);
        *possible = canReach(deviceAt(device), deviceAt(peer)) ? 1 : 0;
    });
}
CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to) {
    return call([&] {
        requireOutput(value);
        const Device &source = deviceAt(from), &target = deviceAt(to);
        constexpr CUdevice_P2PAttribute kPerformanceRank = 1, kAccess = 2, kNativeAtomics = 3, kArrayAccess = 4,
                                        kPartialAtomics = 5;
        require(attribute >= kPerformanceRank && attribute <= kPartialAtomics, CUDA_ERROR_INVALID_VALUE,
                "no such attribute");
        require(from != to, CUDA_ERROR_INVALID_DEVICE, "a device is not its own peer");
        const bool offered = attribute == kAccess || attribute == kNativeAtomics || attribute == kArrayAccess;
        *value = offered && canReach(source, target) ? 1 : 0;
    });
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    return call([&] {
        CUcontext root = current()->root, other = liveContext(peer)->root;
        require(flags == 0, CUDA_ERROR_INVALID_VALUE, "unknown flags");
        require(root->device != other->device, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "a device is not its own peer");
        require(canReach(*root->device, *other->device), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
                "only simulated GPUs of one kind reach each other's memory");
        require(!root->peers.count(other), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "it was enabled before");
        memoryOf(root).space().reach(memoryOf(other).space());
        root->peers.insert(other);
    });
}
CUresult cuCtxDisablePeerAccess(CUcontext peer) {
    return call([&] {
        CUcontext root = current()->root, other = liveContext(peer)->root;
        require(root->peers.count(other) != 0, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "it was not enabled");
        waitForAll(root);
        endAccess(root, other);
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
