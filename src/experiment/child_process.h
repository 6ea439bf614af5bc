#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bulkhead::experiment {

/// A program that runs beside this one, with its standard input and output in our hands. It ends when this object goes,
/// and when this process dies.
class ChildProcess {
  public:
    using Environment = std::vector<std::pair<std::string, std::string>>;
    enum class Dies : std::uint8_t {
        withUs,
        whenItsInputEnds,  ///< which is when we are gone: no signal reaches it before, whatever ended us
    };
    /// What becomes of what it prints.
    enum class Says : std::uint8_t {
        all,      ///< its errors go where ours do
        answers,  ///< its errors are thrown away
        nothing,
    };
    explicit ChildProcess(const std::vector<std::string>& command, const Environment& = {}, Says = Says::all,
                          Dies = Dies::withUs);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// What readLine asks all the while: it throws once no answer can come any more.
    void whileWaiting(std::function<void()> check) { check_ = std::move(check); }

    /// Throws Error if it is no longer there.
    void writeLine(const std::string&);
    /// Throws Error if it ends, or says nothing for that long; Interrupted; and what is asked while waiting throws.
    std::string readLine(double limitSeconds);
    void closeInput();
    /// Waits for its end; kills it after that long. Its exit status, 128 and more for a signal.
    int wait(double limitSeconds);
    bool ended();
    /// Sends it a signal, if it is still there.
    void signal(int number);

  private:
    std::string name_;
    pid_t pid_ = -1;
    int input_ = -1, output_ = -1;
    int status_ = -1;
    std::string pending_;
    std::function<void()> check_ = [] {};
};

}  // namespace bulkhead::experiment
