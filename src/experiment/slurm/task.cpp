#include "experiment/slurm/task.h"

#include <algorithm>
#include <csignal>

#include "base/environment.h"
#include "base/error.h"
#include "experiment/process_pool.h"

namespace bulkhead::experiment::slurm {
namespace {

/// Whether a run was ended by who ends tasks, not by what it did: it may go well elsewhere.
bool wasTakenAway(int signal) {
    return signal == SIGTERM || signal == SIGKILL || signal == SIGINT || signal == SIGHUP || signal == SIGXCPU;
}

PreparedRun preparedRun(const Submission& submission, const RunDescription& run, const std::vector<RunKind>& kinds) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const RunKind& k) { return k.name == run.kind; });
    if (kind == kinds.end()) throw Error("this build of bulkhead knows no runs of the kind {}", run.kind);
    PreparedRun prepared = kind->prepare(submission.store(), run.spec);
    if (prepared.file.filename() != run.file)
        throw Error("bulkhead, or a file that the run reads, differs on {} from that of the command",
                    environment("SLURMD_NODENAME"));
    return prepared;
}

/// In a process of its own, which may end as it likes.
WorkResult executed(const PreparedRun& run) {
    WorkResult became;
    inProcesses(
        1, 1,
        [&](std::size_t) {
            run.execute();
            return std::string();
        },
        [&](std::size_t, const WorkResult& result) { became = result; });
    return became;
}

/// False if it was taken away.
bool doRun(const Submission& submission, std::size_t n, const std::vector<RunKind>& kinds) {
    const RunDescription& description = submission.runs()[n].description;
    const auto say = [&](std::string_view what) { fmt::print(stderr, "{}: {}\n", description.file, what); };
    const auto fail = [&](const std::string& why) {
        say(why);
        submission.fail(n, why);
    };
    try {
        const PreparedRun run = preparedRun(submission, description, kinds);
        if (run.kept()) {
            say("is in the store");
            return true;
        }
        // Slurm itself may start a task again, as often as its node fails.
        if (submission.begun(n) >= kMostTries) {
            fail(fmt::format("was begun {} times and never came to its end", kMostTries));
            return true;
        }
        submission.begin(n);
        say("begins");
        const WorkResult result = executed(run);
        if (wasTakenAway(result.signal)) return false;
        if (!result.why.empty()) {
            fail(result.why);
        } else if (!run.kept()) {
            fail("its result could not be kept in the store");
        } else {
            say("done");
        }
    } catch (const Error& error) {
        fail(error.what());
    }
    return true;
}

}  // namespace

int doTask(const Submission& submission, unsigned task, const std::string& program, const std::vector<RunKind>& kinds) {
    fmt::print(stderr, "task {} of {} on {}\n", task, submission.jobName(), environment("SLURMD_NODENAME"));
    if (submission.runs().empty()) submission.greet(program);
    for (std::size_t n = 0; n < submission.runs().size(); ++n)
        if (submission.runs()[n].task == task && !doRun(submission, n, kinds)) return 1;
    return 0;
}

}  // namespace bulkhead::experiment::slurm
