#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "serve/child.h"
#include "serve/questions.h"

namespace bulkhead::serve {

/// A question that was asked, and what became of it.
struct Job {
    enum class State { waiting, running, done, failed, canceled };

    unsigned id = 0;
    Form form;
    std::string file;     ///< of its results, in the folder
    std::string command;  ///< as a shell would take it
    State state = State::waiting;
    bool stopping = false;     ///< it was canceled, and has not ended yet
    bool resumes = false;      ///< once stopped, it goes on where it was; else it begins anew
    std::string asked, ended;  ///< ISO 8601, UTC
    double progress = 0;       ///< in [0, 1]
    std::optional<double> secondsLeft;
    std::string doing, why;       ///< what goes on; why it failed
    std::deque<std::string> log;  ///< its last lines on standard error
    std::shared_ptr<Child> child = nullptr;

    nlohmann::ordered_json toJson() const;
};

struct JobSettings {
    std::string program;           ///< this one
    std::filesystem::path folder;  ///< of results
    std::string store;             ///< of runs; empty: there is none
    /// What the command line has against these words; empty: nothing.
    std::function<std::string(const std::vector<std::string>&)> refuse;
    /// Whether a GPU finds the same each time, as simulated ones do. Those share the cores of this machine.
    std::function<bool(const std::string& gpu)> isRepeatable;
    std::function<void()> changed;  ///< told of everything that happens to a job
};

/// Questions, one at a time on each GPU; simulated ones share the cores of this machine and count as one. They are kept
/// in a file of the folder, so that another server finds what was asked before.
class Jobs {
  public:
    Jobs(Children&, JobSettings);
    ~Jobs();
    Jobs(const Jobs&) = delete;
    Jobs& operator=(const Jobs&) = delete;

    /// The command for a form, with the file that its results would have. Throws Error, in the parser's words, if the
    /// command line would not take it.
    std::vector<std::string> commandOf(const Form&) const;
    /// Throws Error likewise, and if the folder cannot be written or another server asks for it.
    const Job& ask(const Form&);
    /// Throw Error if there is none, or it is not at work; not canceled or failed.
    void cancel(unsigned id);
    void resume(unsigned id);

    /// The newest first.
    const std::list<Job>& all() const { return jobs_; }
    bool anyRunning() const;
    /// For the end of the server: nothing starts any more.
    void close();

  private:
    Job& find(unsigned id);
    std::string freeFile(const Form&) const;
    std::string machineOf(const Form&) const;
    Outputs outputsOf(const Form&, const std::string& file) const;
    bool resumes(const Form&) const;
    std::vector<std::string> wordsFor(const Form&, const std::string& file) const;
    void claimFolder();
    void startWaiting();
    void start(Job&);
    void hear(Job&, const std::string& line);
    void finish(Job&, int status);
    void changed();
    void recall();
    void keep() const;

    Children& children_;
    JobSettings settings_;
    std::list<Job> jobs_;
    unsigned last_ = 0;
    int claim_ = -1;  ///< the lock of the folder
    bool closed_ = false;
};

}  // namespace bulkhead::serve
