// How a warp scheduler treats two kernels that share SMs: workloads in two streams of one context, each alone and
// beside the other, which runs again and again. Arguments: [--gpu GPU] [--set KEY=VALUE]... [--size SIZE] [--schedulers
// A,B] FIRST+SECOND... Prints a table of docs/schedulers.md: what each loses against its time alone under the same
// scheduler, the smaller of the two speeds over the larger, their sum, and how fast each is against the first
// scheduler, alone and together.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/split.h"
#include "corun/corun.h"

namespace {

using namespace bulkhead;

struct Options {
    std::string gpu = "sim:gtx480";
    std::vector<std::string> settings;
    workloads::Size size = workloads::Size::standard;
    std::vector<std::string> schedulers = {"gto", "ciao-a"};
    std::vector<std::array<std::string, 2>> pairs;
};

Options parse(int count, char** arguments) {
    Options o;
    for (int i = 1; i < count; ++i) {
        const std::string word = arguments[i];
        const auto value = [&] {
            if (++i == count) throw Error("{} needs a value", word);
            return std::string(arguments[i]);
        };
        if (word == "--gpu") {
            o.gpu = value();
        } else if (word == "--set") {
            o.settings.push_back(value());
        } else if (word == "--size") {
            o.size = workloads::parseSize(value());
        } else if (word == "--schedulers") {
            o.schedulers = split(value(), ',');
        } else if (const std::vector<std::string> names = split(word, '+'); names.size() == 2) {
            o.pairs.push_back({names[0], names[1]});
        } else {
            throw Error(
                "{} is neither an option (--gpu, --set, --size, --schedulers) nor two workloads, as ATAX+Hotspot",
                word);
        }
    }
    if (o.pairs.empty()) throw Error("no pair of workloads, as ATAX+Hotspot");
    return o;
}

struct Times {
    double alone = 0, together = 0;
};

double secondsOf(corun::Actor& actor, std::vector<corun::Actor*> company) {
    const std::optional<corun::ActorRun> run = actor.run({.count = 1, .company = std::move(company)});
    if (!run) throw Error("a run did not end");
    actor.check();
    return run->seconds;
}

/// Of the one that is timed, beside the other.
Times measure(const Options& o, const std::string& scheduler, const std::string& timed, const std::string& other) {
    corun::CoRunSpec spec;
    spec.gpu = o.gpu;
    spec.settings = o.settings;
    spec.scheduler = scheduler;
    spec.actors = {{0, corun::ApplicationSpec{timed, o.size, 1}}, {1, corun::ApplicationSpec{other, o.size, 2}}};
    const std::unique_ptr<corun::CoRun> coRun = corun::makeCoRun(spec);
    Times times;
    times.alone = secondsOf(coRun->actor(0), {});
    coRun->actor(1).start(0);
    times.together = secondsOf(coRun->actor(0), {&coRun->actor(1)});
    coRun->actor(1).stop();
    return times;
}

}  // namespace

int main(int count, char** arguments) try {
    const Options o = parse(count, arguments);
    fmt::print(
        "| pair | scheduler | slowdown of each | fairness | sum of speeds | alone, over {0} | together, over {0} |\n",
        o.schedulers.front());
    fmt::print("|---|---|---|---|---|---|---|\n");
    for (const auto& [first, second] : o.pairs) {
        std::array<Times, 2> base;
        for (const std::string& scheduler : o.schedulers) {
            const std::array<Times, 2> t = {measure(o, scheduler, first, second), measure(o, scheduler, second, first)};
            if (scheduler == o.schedulers.front()) base = t;
            const double a = t[0].together / t[0].alone, b = t[1].together / t[1].alone;
            fmt::print("| {} and {} | {} | {:.2f}, {:.2f} | {:.2f} | {:.2f} | {:.2f}, {:.2f} | {:.2f}, {:.2f} |\n",
                       first, second, scheduler, a, b, std::min(a, b) / std::max(a, b), 1 / a + 1 / b,
                       base[0].alone / t[0].alone, base[1].alone / t[1].alone, base[0].together / t[0].together,
                       base[1].together / t[1].together);
            std::fflush(stdout);
        }
    }
    return 0;
} catch (const std::exception& e) {
    fmt::print(stderr, "fairness: {}\n", e.what());
    return 2;
}
