#include <nlohmann/json.hpp>

#include "base/json.h"
#include "experiment/json_worker.h"
#include "isolate/floor.h"
#include "isolate/tenant.h"

namespace bulkhead::isolate {
namespace {

using nlohmann::json;

constexpr double kSetUpSeconds = 120, kAnswerSeconds = 60;
const std::string kAnswer = "a tenant's answer";

json requestOf(const SeriesSpec& spec, unsigned partition, const std::string& application, std::uint64_t seed) {
    return {{"gpu", spec.gpu},
            {"map", spec.map},
            {"method", methodName(spec.method)},
            {"placement", spec.placement},
            {"partitions", spec.partitions},
            {"size", workloads::sizeName(spec.size)},
            {"partition", partition},
            {"application", application},
            {"seed", seed}};
}

class RemoteTenant final : public Tenant {
  public:
    RemoteTenant(const json& request, const experiment::MpsDaemon& daemon,
                 const experiment::ChildProcess::Environment& environment)
        : worker_({"isolate", "worker"}, environment, "a tenant's process") {
        worker_.whileWaiting([&daemon] { daemon.throwIfEnded(); });
        ask(request, kSetUpSeconds);
    }
    double time(unsigned runs, const Tenants&) override {
        return number<double>({{"do", "time"}, {"runs", runs}}, "seconds");
    }
    void check() override { ask({{"do", "check"}}); }
    void startLoop(double seconds) override { ask({{"do", "start"}, {"seconds", seconds}}); }
    void stopLoop() override { ask({{"do", "stop"}}); }
    std::uint64_t looped() override { return number<std::uint64_t>({{"do", "count"}}, "runs"); }
    Place place() override { return Place::fromJson(ask({{"do", "place"}}), kAnswer); }

  private:
    json ask(const json& request, double limitSeconds = kAnswerSeconds) { return worker_.ask(request, limitSeconds); }
    template <class T>
    T number(const json& request, const char* key) {
        const json answer = ask(request);
        return JsonObject(answer, kAnswer).get<T>(key);
    }
    experiment::JsonWorker worker_;
};

/// What a tenant's process holds.
struct Served {
    Floor floor;
    std::unique_ptr<Tenant> tenant;

    static SeriesSpec specOf(JsonObject& request) {
        SeriesSpec spec;
        spec.gpu = request.get<std::string>("gpu");
        spec.map = request.get<std::string>("map");
        spec.method = parseMethod(request.get<std::string>("method"));
        spec.placement = request.get<std::string>("placement");
        spec.partitions = request.get<unsigned>("partitions");
        spec.size = workloads::parseSize(request.get<std::string>("size"));
        return spec;
    }
    explicit Served(JsonObject request)
        : floor(specOf(request), request.get<unsigned>("partition")),
          tenant(makeLocalTenant(floor, request.get<unsigned>("partition"), request.get<std::string>("application"),
                                 specOf(request).size, request.get<std::uint64_t>("seed"))) {}

    json carryOut(JsonObject request) {
        const auto what = request.get<std::string>("do");
        if (what == "time") return {{"seconds", tenant->time(request.get<unsigned>("runs"))}};
        if (what == "count") return {{"runs", tenant->looped()}};
        if (what == "place") return tenant->place().toJson();
        if (what == "check") tenant->check();
        if (what == "start") tenant->startLoop(request.get<double>("seconds"));
        if (what == "stop") tenant->stopLoop();
        return json::object();
    }
};

}  // namespace

std::unique_ptr<Tenant> makeRemoteTenant(const SeriesSpec& spec, unsigned partition, const std::string& application,
                                         std::uint64_t seed, const experiment::MpsDaemon& daemon) {
    experiment::ChildProcess::Environment environment = daemon.environment();
    if (spec.method == Method::mps)
        environment.emplace_back("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", fmt::format("{}", 100 / spec.partitions));
    return std::make_unique<RemoteTenant>(requestOf(spec, partition, application, seed), daemon, environment);
}

int serveTenant() {
    std::unique_ptr<Served> served;
    return experiment::serveJson([&](const JsonObject& request) {
        if (served) return served->carryOut(request);
        served = std::make_unique<Served>(request);
        return json::object();
    });
}

}  // namespace bulkhead::isolate
