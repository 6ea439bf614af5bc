#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "isolate/floor.h"
#include "isolate/tenant.h"

namespace bulkhead::isolate {
namespace {

using nlohmann::json;

constexpr double kSetUpSeconds = 120, kAnswerSeconds = 60;

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
    RemoteTenant(const json& request, const stress::ChildProcess::Environment& environment)
        : process_({"/proc/self/exe", "isolate", "worker"}, environment) {
        ask(request, kSetUpSeconds);
    }
    double time(unsigned runs, const Tenants&) override { return ask({{"do", "time"}, {"runs", runs}}).at("seconds"); }
    void check() override { ask({{"do", "check"}}); }
    void startLoop(double seconds) override { ask({{"do", "start"}, {"seconds", seconds}}); }
    void stopLoop() override { ask({{"do", "stop"}}); }
    std::uint64_t looped() override { return ask({{"do", "count"}}).at("runs"); }
    Place place() override { return Place::fromJson(ask({{"do", "place"}})); }

  private:
    json ask(const json& request, double limitSeconds = kAnswerSeconds) {
        process_.writeLine(request.dump());
        json answer = json::parse(process_.readLine(limitSeconds), nullptr, false);
        if (!answer.is_object()) throw Error("a tenant's process said something that is no answer");
        if (!answer.value("ok", false)) throw Error("{}", answer.value("why", "a tenant's process failed"));
        return answer;
    }
    stress::ChildProcess process_;
};

/// What a tenant's process holds.
struct Served {
    Floor floor;
    std::unique_ptr<Tenant> tenant;

    static SeriesSpec specOf(const json& request) {
        SeriesSpec spec;
        spec.gpu = request.at("gpu");
        spec.map = request.at("map");
        spec.method = parseMethod(request.at("method").get<std::string>());
        spec.placement = request.at("placement");
        spec.partitions = request.at("partitions");
        spec.size = workloads::parseSize(request.at("size").get<std::string>());
        return spec;
    }
    explicit Served(const json& request)
        : floor(specOf(request), request.at("partition").get<unsigned>()),
          tenant(makeLocalTenant(floor, request.at("partition"), request.at("application"), specOf(request).size,
                                 request.at("seed"))) {}

    json carryOut(const json& request) {
        const std::string what = request.at("do");
        if (what == "time") return {{"seconds", tenant->time(request.at("runs").get<unsigned>())}};
        if (what == "count") return {{"runs", tenant->looped()}};
        if (what == "place") return tenant->place().toJson();
        if (what == "check") tenant->check();
        if (what == "start") tenant->startLoop(request.at("seconds"));
        if (what == "stop") tenant->stopLoop();
        return json::object();
    }
};

}  // namespace

std::unique_ptr<Tenant> makeRemoteTenant(const SeriesSpec& spec, unsigned partition, const std::string& application,
                                         std::uint64_t seed, const stress::ChildProcess::Environment& environment) {
    return std::make_unique<RemoteTenant>(requestOf(spec, partition, application, seed), environment);
}

int serveTenant() {
    std::unique_ptr<Served> served;
    for (std::string line; std::getline(std::cin, line);) {
        json answer = json::object();
        try {
            const json request = json::parse(line);
            if (served) {
                answer = served->carryOut(request);
            } else {
                served = std::make_unique<Served>(request);
            }
            answer["ok"] = true;
        } catch (const std::exception& e) {
            answer = {{"ok", false}, {"why", e.what()}};
        }
        std::cout << answer.dump() << std::endl;
    }
    return 0;
}

}  // namespace bulkhead::isolate
