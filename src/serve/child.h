#pragma once

#include <sys/types.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bulkhead::serve {

/// A program that the server started, in a process group of its own. Ends when the server does.
class Child : public std::enable_shared_from_this<Child> {
  public:
    struct Listener {
        std::function<void(const std::string&)> said = {};  ///< a line of its standard error
        /// Exit status, 128 and more for a signal; and its standard output, as far as that is kept.
        std::function<void(int status, const std::string& output)> ended;
    };

    Child(boost::asio::io_context&, std::size_t mostOutput, Listener);
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// Ctrl-C for all of its processes; after some seconds, ever less polite.
    void interrupt();
    bool tooMuch() const { return tooMuch_; }  ///< more output than is kept

  private:
    friend class Children;
    void start(const std::vector<std::string>& command);
    void readOutput();
    void readErrors();
    void takeErrors(std::size_t count);
    void finish(int status);
    void end();
    void urge(int signal, int nextSignal);

    boost::asio::posix::stream_descriptor output_, errors_;
    boost::asio::steady_timer patience_;
    Listener listener_;
    std::size_t mostOutput_;
    pid_t process_ = -1;
    int status_ = -1, open_ = 2;
    bool tooMuch_ = false;
    std::string heard_, line_;
    std::array<char, 16384> outputPart_{}, errorPart_{};
};

/// All of them: learns of their ends.
class Children {
  public:
    explicit Children(boost::asio::io_context&);

    /// With BULKHEAD_PROGRESS=json, and nothing on its standard input. Throws Error if there can be no more processes.
    std::shared_ptr<Child> start(const std::vector<std::string>& command, std::size_t mostOutput, Child::Listener);
    bool empty() const { return running_.empty(); }
    void interruptAll();
    void killAll();

  private:
    void wait();
    void reap();

    boost::asio::io_context& context_;
    boost::asio::signal_set ended_;
    std::vector<std::shared_ptr<Child>> running_;
};

}  // namespace bulkhead::serve
