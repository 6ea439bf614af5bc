#include "serve/jobs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/result.h"

namespace bulkhead::serve {
namespace {

constexpr std::size_t kMostLog = 40, kMostJobs = 200, kMostWaiting = 50;
constexpr const char *kRecord = ".bulkhead-serve.json", *kLock = ".bulkhead-serve.lock";

std::string_view nameOf(Job::State state) {
    switch (state) {
        case Job::State::waiting:
            return "waiting";
        case Job::State::running:
            return "running";
        case Job::State::done:
            return "done";
        case Job::State::failed:
            return "failed";
        case Job::State::canceled:
            return "canceled";
    }
    return "";
}

/// For the name of a file: "gtx1080" of "sim:gtx1080", "my-gpu" of "sim:folder/my gpu.json".
std::string slugOf(const std::string& gpu) {
    std::string slug;
    for (const char c : std::filesystem::path(gpu.substr(gpu.find(':') + 1)).stem().string().substr(0, 40)) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
        if (plain) slug += c;
        if (!plain && !slug.empty() && slug.back() != '-') slug += '-';
    }
    return slug.empty() ? "gpu" : slug;
}

/// A record that somebody else wrote is not ours to repeat.
bool isOwn(const std::filesystem::path& file) {
    struct stat status {};
    return ::lstat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
}

/// Whether there still is such a question: an older version may have had others.
bool isAsked(const nlohmann::json& form) {
    const std::string name = form.is_object() ? form.value("question", "") : "";
    return std::any_of(questions().begin(), questions().end(), [&](const Question& q) { return q.name == name; });
}

bool atWork(const Job& job) {
    return job.state == Job::State::waiting || job.state == Job::State::running;
}

}  // namespace

nlohmann::ordered_json Job::toJson() const {
    nlohmann::ordered_json json = {{"id", id},
                                   {"title", findQuestion(form.question).title},
                                   {"form", form.toJson()},
                                   {"command", command},
                                   {"state", nameOf(state)},
                                   {"stopping", stopping},
                                   {"resumes", resumes},
                                   {"file", file},
                                   {"asked", asked},
                                   {"ended", ended},
                                   {"progress", progress},
                                   {"doing", doing},
                                   {"why", why},
                                   {"log", log}};
    json["seconds_left"] = secondsLeft ? nlohmann::ordered_json(*secondsLeft) : nlohmann::ordered_json();
    return json;
}

Jobs::Jobs(Children& children, JobSettings settings) : children_(children), settings_(std::move(settings)) {
    recall();
}

Jobs::~Jobs() {
    if (claim_ >= 0) ::close(claim_);
}

/// What two jobs must not use at once.
std::string Jobs::machineOf(const Form& form) const {
    const std::string gpu = form.valueOf("gpu");
    return settings_.isRepeatable(gpu) ? "simulation" : gpu;
}

Outputs Jobs::outputsOf(const Form& form, const std::string& file) const {
    return {(settings_.folder / file).string(), settings_.store, settings_.isRepeatable(form.valueOf("gpu"))};
}

bool Jobs::resumes(const Form& form) const {
    return !settings_.store.empty() && keepsRuns(form, settings_.isRepeatable(form.valueOf("gpu")));
}

std::vector<std::string> Jobs::wordsFor(const Form& form, const std::string& file) const {
    std::vector<std::string> words = wordsOf(form, outputsOf(form, file));
    if (const std::string why = settings_.refuse(words); !why.empty()) throw Error(why);
    return words;
}

std::vector<std::string> Jobs::commandOf(const Form& form) const {
    return wordsFor(form, freeFile(form));
}

std::string Jobs::freeFile(const Form& form) const {
    const std::string begin = form.question + "-" + slugOf(form.valueOf("gpu")) + "-";
    for (unsigned n = 1;; ++n) {
        const std::string name = begin + std::to_string(n) + ".json";
        const bool taken = std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& job) { return job.file == name; });
        std::error_code unknown;
        if (!taken && !std::filesystem::exists(settings_.folder / name, unknown)) return name;
    }
}

void Jobs::claimFolder() {
    if (claim_ >= 0) return;
    const std::filesystem::path file = settings_.folder / kLock;
    const int lock = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0) throw Error("{}: cannot be written: {}", settings_.folder.string(), std::strerror(errno));
    if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
        ::close(lock);
        throw Error("{}: another bulkhead serve asks questions for this folder", settings_.folder.string());
    }
    claim_ = lock;
}

const Job& Jobs::ask(const Form& form) {
    if (static_cast<std::size_t>(std::count_if(jobs_.begin(), jobs_.end(), atWork)) >= kMostWaiting)
        throw Error("{} questions wait already: cancel some, or let them end", kMostWaiting);
    const std::string file = freeFile(form);
    const std::vector<std::string> words = wordsFor(form, file);
    claimFolder();
    Job job;
    job.id = ++last_;
    job.form = form;
    job.file = file;
    job.command = commandText(words);
    job.resumes = resumes(form);
    job.asked = currentDate();
    jobs_.push_front(std::move(job));
    Job& asked = jobs_.front();
    while (jobs_.size() > kMostJobs && !atWork(jobs_.back())) jobs_.pop_back();
    changed();
    startWaiting();
    return asked;
}

Job& Jobs::find(unsigned id) {
    for (Job& job : jobs_)
        if (job.id == id) return job;
    throw Error("there is no question number {}", id);
}

void Jobs::cancel(unsigned id) {
    Job& job = find(id);
    if (!atWork(job)) throw Error("question {} is not at work", id);
    if (job.child) {
        job.stopping = true;
        job.child->interrupt();
    } else {
        job.state = Job::State::canceled;
        job.ended = currentDate();
    }
    changed();
}

void Jobs::resume(unsigned id) {
    Job& job = find(id);
    if (atWork(job) || job.state == Job::State::done) throw Error("question {} is not one that was stopped", id);
    wordsFor(job.form, job.file);
    claimFolder();
    job.state = Job::State::waiting;
    job.why.clear();
    job.doing.clear();
    job.ended.clear();
    job.progress = 0;
    job.secondsLeft.reset();
    job.log.clear();
    changed();
    startWaiting();
}

void Jobs::startWaiting() {
    if (closed_) return;
    std::set<std::string> busy;
    for (const Job& job : jobs_)
        if (job.state == Job::State::running) busy.insert(machineOf(job.form));
    for (auto job = jobs_.rbegin(); job != jobs_.rend(); ++job)
        if (job->state == Job::State::waiting && busy.insert(machineOf(job->form)).second) start(*job);
}

void Jobs::start(Job& job) {
    try {
        std::vector<std::string> command = wordsFor(job.form, job.file);
        command.insert(command.begin(), settings_.program);
        const unsigned id = job.id;
        Child::Listener listener;
        listener.said = [this, id](const std::string& line) { hear(find(id), line); };
        listener.ended = [this, id](int status, const std::string&) { finish(find(id), status); };
        job.child = children_.start(command, 0, std::move(listener));
        job.state = Job::State::running;
    } catch (const Error& error) {
        job.state = Job::State::failed;
        job.why = error.what();
        job.ended = currentDate();
    }
    changed();
}

void Jobs::hear(Job& job, const std::string& line) {
    const nlohmann::json told = nlohmann::json::parse(line, nullptr, false);
    if (told.is_object() && told.contains("progress") && told["progress"].is_number()) {
        const double progress = told["progress"].get<double>();
        job.progress = std::isfinite(progress) ? std::clamp(progress, 0.0, 1.0) : 0;
        job.doing = told.value("text", nlohmann::json()).is_string() ? told["text"].get<std::string>() : "";
        const auto left = told.find("seconds_left");
        job.secondsLeft = left != told.end() && left->is_number() ? std::optional(left->get<double>()) : std::nullopt;
    } else {
        job.log.push_back(printable(line));
        if (job.log.size() > kMostLog) job.log.pop_front();
    }
    if (settings_.changed) settings_.changed();
}

void Jobs::finish(Job& job, int status) {
    constexpr int kInterrupted = 130, kSignal = 128;
    const bool stopped = status == kInterrupted || status == kSignal + SIGTERM || status == kSignal + SIGKILL;
    const bool asked = job.stopping || closed_;
    job.child = nullptr;
    job.stopping = false;
    job.ended = currentDate();
    job.doing.clear();
    job.secondsLeft.reset();
    if (status == 0) {
        job.state = Job::State::done;
        job.progress = 1;
    } else if (stopped && asked) {
        job.state = Job::State::canceled;
    } else {
        job.state = Job::State::failed;
        constexpr std::string_view kName = "bulkhead: ";
        job.why = job.log.empty() ? "it ended with " + std::to_string(status) : job.log.back();
        if (job.why.starts_with(kName)) job.why.erase(0, kName.size());
    }
    changed();
    startWaiting();
}

bool Jobs::anyRunning() const {
    return std::any_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.state == Job::State::running; });
}

void Jobs::close() {
    closed_ = true;
    for (Job& job : jobs_)
        if (job.state == Job::State::waiting) job.state = Job::State::canceled;
    if (claim_ >= 0) keep();
}

void Jobs::changed() {
    if (claim_ >= 0) keep();
    if (settings_.changed) settings_.changed();
}

/// What a form says is kept and not the command: that is made anew, by the rules that a new question has to obey.
void Jobs::keep() const {
    nlohmann::ordered_json record = nlohmann::ordered_json::array();
    for (const Job& job : jobs_)
        record.push_back({{"id", job.id},
                          {"form", job.form.toJson()},
                          {"file", job.file},
                          {"state", nameOf(job.state)},
                          {"asked", job.asked},
                          {"ended", job.ended},
                          {"why", job.why}});
    try {
        writeFile(settings_.folder / kRecord, jsonText(nlohmann::ordered_json{{"questions", record}}, 1) + "\n");
    } catch (const Error&) {
        // A full disk loses the list, not the results.
    }
}

void Jobs::recall() {
    const std::filesystem::path file = settings_.folder / kRecord;
    if (!isOwn(file)) return;
    const nlohmann::json record = readJson(file);
    JsonObject object(record, file.string());
    for (const nlohmann::json& one : object.at("questions")) {
        JsonObject kept(one, file.string());
        if (!isAsked(kept.at("form"))) continue;
        Job job;
        job.id = kept.get<unsigned>("id");
        job.form = Form::fromJson(kept.at("form"));
        job.file = kept.get<std::string>("file");
        if (std::filesystem::path(job.file).filename() != job.file || !job.file.ends_with(".json"))
            throw Error("{}: {} is no name of a file of results", file.string(), job.file);
        const std::string state = kept.get<std::string>("state");
        // One that was at work when its server went is as good as canceled.
        job.state = state == "done" ? Job::State::done : state == "failed" ? Job::State::failed : Job::State::canceled;
        job.progress = job.state == Job::State::done ? 1 : 0;
        job.asked = kept.get<std::string>("asked");
        job.ended = kept.get<std::string>("ended");
        job.why = kept.get<std::string>("why");
        job.command = commandText(wordsOf(job.form, outputsOf(job.form, job.file)));
        job.resumes = resumes(job.form);
        last_ = std::max(last_, job.id);
        jobs_.push_back(std::move(job));
    }
}

}  // namespace bulkhead::serve
