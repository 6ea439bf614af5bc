#include "far_driver/server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <list>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quiet_thread.h"
#include "driver/state.h"
#include "far_driver/connection.h"
#include "far_driver/greeting.h"
#include "far_driver/served_calls.h"

namespace bulkhead::far_driver {
namespace {

using namespace driver;

constexpr std::chrono::milliseconds kBetweenLooks(5);

std::uint64_t randomToken() {
    std::random_device source;
    return std::uint64_t{source()} << 32 | source();
}

}  // namespace

struct Server::State {
    /// A process that uses the GPU.
    struct Process {
        std::uint64_t token = 0;
        pid_t id = 0;
        ProcessDriver driver;
        explicit Process(std::shared_ptr<SharedMachine> machine) : driver(std::move(machine)) {}
    };

    /// A connection, and the thread that answers it.
    struct Guest {
        Connection connection;
        std::shared_ptr<Process> process;  ///< whose first connection this is
        std::thread thread;
        std::atomic<bool> over = false;
        bool seenOff = false;
    };

    Place place;
    std::shared_ptr<SharedMachine> machine;
    Options options;
    OwnDescriptor listener;
    std::mutex mutex;
    std::map<std::uint64_t, std::weak_ptr<Process>> processes;  ///< by token
    std::list<Guest> guests;
    std::atomic<bool> told = false;  ///< to end

    void welcome(Guest&);
    void serve(Guest&);
    std::shared_ptr<Process> processOf(const Greeting&, const Connection&);
    bool answer(const Connection&, Process&, Connection::Received);
    void lookOn(const Connection&);
    void seeOff();
};

/// Throws Error where the greeting is not one of ours. Null for those who look only.
std::shared_ptr<Server::State::Process> Server::State::processOf(const Greeting& greeting,
                                                                 const Connection& connection) {
    if (greeting.version != Greeting().version)
        throw Error("the process that has the GPU is of another version: set the partitions again");
    if (greeting.looksOnly) return nullptr;
    const pid_t id = connection.peer().process;
    if (greeting.token != 0) {
        const std::lock_guard lock(mutex);
        const auto found = processes.find(greeting.token);
        std::shared_ptr<Process> process = found == processes.end() ? nullptr : found->second.lock();
        if (!process || process->id != id) throw Error("a connection of a process that is not there");
        return process;
    }
    auto process = std::make_shared<Process>(machine);
    process->token = randomToken();
    process->id = id;
    const std::lock_guard lock(mutex);
    processes[process->token] = process;
    return process;
}

void Server::State::welcome(Guest& guest) {
    std::optional<Connection::Received> first = guest.connection.receive();
    if (!first || first->head != static_cast<std::uint32_t>(Request::greet)) return;
    Message reply;
    std::shared_ptr<Process> process;
    bool isFirst = false;
    try {
        const auto greeting = first->message.take<Greeting>();
        process = processOf(greeting, guest.connection);
        isFirst = process && greeting.token == 0;
        reply.put(process ? process->token : std::uint64_t{0});
        reply.putText(options.about());
    } catch (const std::exception& error) {
        Message refusal;
        refusal.putText(error.what());
        guest.connection.send(CUDA_ERROR_NOT_PERMITTED, refusal);
        return;
    }
    if (isFirst) {
        const std::lock_guard lock(mutex);
        guest.process = process;
    }
    if (!guest.connection.send(CUDA_SUCCESS, reply)) return;
    if (!process) return lookOn(guest.connection);
    const ProcessDriver::Scope scope(process->driver);
    while (std::optional<Connection::Received> request = guest.connection.receive())
        if (!answer(guest.connection, *process, std::move(*request))) return;
}

/// False once it is gone.
bool Server::State::answer(const Connection& connection, Process& process, Connection::Received request) {
    Message answered;
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    lastErrorText().clear();
    try {
        const ServedCall served = request.head < kRequests ? servedCalls()[request.head] : nullptr;
        if (!served) throw Error("a call that nobody has described");
        result = served(request.message, answered);
    } catch (const std::bad_alloc&) {
        result = CUDA_ERROR_OUT_OF_MEMORY;
        lastErrorText() = "the process that has the GPU is out of memory";
    } catch (const std::exception& error) {
        answered = {};
        result = CUDA_ERROR_INVALID_VALUE;
        lastErrorText() = error.what();
    }
    Message reply;
    reply.putText(result == CUDA_SUCCESS ? std::string() : lastErrorText());
    reply.putText(process.driver.takePrinted());
    reply.putBytes(answered.bytes().data(), answered.bytes().size());
    return connection.send(static_cast<std::uint32_t>(result), reply);
}

/// Who uses no GPU can have it given up.
void Server::State::lookOn(const Connection& connection) {
    const std::optional<Connection::Received> request = connection.receive();
    if (!request || request->head != static_cast<std::uint32_t>(Request::end)) return;
    const uid_t user = connection.peer().user;
    Message reply;
    if (user != ::getuid() && user != 0) {
        reply.putText(fmt::format("only user {} can end this GPU", ::getuid()));
        connection.send(CUDA_ERROR_NOT_PERMITTED, reply);
        return;
    }
    told = true;
    connection.send(CUDA_SUCCESS, reply);
}

void Server::State::serve(Guest& guest) {
    try {
        welcome(guest);
    } catch (const std::exception&) {
        // It is as gone as one that says nothing any more.
    }
    guest.over = true;
}

/// Processes whose connections have ended wait for nothing any more, and leave.
void Server::State::seeOff() {
    std::vector<pollfd> watched;
    for (const Guest& guest : guests) watched.push_back({guest.connection.descriptor(), POLLRDHUP, 0});
    ::poll(watched.data(), watched.size(), 0);
    std::size_t index = 0;
    for (auto guest = guests.begin(); guest != guests.end();) {
        const bool hungUp = (watched[index++].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
        std::shared_ptr<Process> process;
        {
            const std::lock_guard lock(mutex);
            process = guest->process;
        }
        if (process && (hungUp || guest->over) && !std::exchange(guest->seenOff, true)) process->driver.abandon();
        process.reset();
        if (!guest->over) {
            ++guest;
            continue;
        }
        guest->thread.join();
        guest = guests.erase(guest);
    }
    const std::lock_guard lock(mutex);
    std::erase_if(processes, [](const auto& entry) { return entry.second.expired(); });
}

Server::Server(Place place, std::shared_ptr<SharedMachine> machine, Options options)
    : state_(std::make_unique<State>()) {
    state_->listener = listenAt(place.folder, place.socket, options.anybody);
    state_->place = std::move(place);
    state_->machine = std::move(machine);
    state_->options = std::move(options);
}

Server::~Server() {
    ::unlink((state_->place.folder / state_->place.socket).c_str());
    for (const State::Guest& guest : state_->guests) ::shutdown(guest.connection.descriptor(), SHUT_RDWR);
    while (!state_->guests.empty()) {
        state_->seeOff();
        std::this_thread::sleep_for(kBetweenLooks);
    }
}

void Server::run(const std::function<bool()>& ended) {
    State& state = *state_;
    std::atomic<bool> over = false;
    std::thread worker = quietThread([&] {
        for (; !over; std::this_thread::sleep_for(kBetweenLooks)) state.machine->workWhileNobodyCalls();
    });
    std::error_code unseen;
    while (!ended() && !state.told && std::filesystem::exists(state.place.folder / state.place.socket, unseen)) {
        pollfd incoming = {state.listener.get(), POLLIN, 0};
        const int ready = ::poll(&incoming, 1, static_cast<int>(kBetweenLooks.count()));
        if (ready > 0) {
            if (std::optional<Connection> connection = acceptAt(state.listener)) {
                State::Guest& guest = state.guests.emplace_back();
                guest.connection = std::move(*connection);
                guest.thread = quietThread([&state, &guest] { state.serve(guest); });
            }
        }
        state.seeOff();
    }
    const SharedMachine::Turn last(state.machine.get());  // the worker stops for it
    over = true;
    worker.join();
    last.come();
}

}  // namespace bulkhead::far_driver
