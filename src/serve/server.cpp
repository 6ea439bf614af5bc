#include "serve/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "report/report.h"
#include "serve/access.h"
#include "serve/child.h"
#include "serve/jobs.h"
#include "serve/page.h"
#include "serve/results.h"

namespace bulkhead::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using beast::error_code;
using Json = nlohmann::ordered_json;
using Request = http::request<http::string_body>;

constexpr std::size_t kMostConnections = 64, kMostBody = 64 << 10, kMostHeader = 16 << 10, kMostPage = 128 << 20,
                      kMostDiscarded = 4 << 20;
constexpr auto kIdle = std::chrono::seconds(60), kLinger = std::chrono::seconds(2), kLook = std::chrono::seconds(2);
constexpr auto kPause = std::chrono::milliseconds(200);  // between two states that a browser is told
constexpr auto kCommandLimit = std::chrono::seconds(120);

struct Reply {
    http::status status = http::status::ok;
    std::string type = "application/json", body;
};

Reply jsonReply(const Json& json, http::status status = http::status::ok) {
    return {status, "application/json", jsonText(json)};
}

Reply refusal(http::status status, const std::string& why) {
    return jsonReply({{"error", why}}, status);
}

Reply pageReply(std::string text) {
    return {http::status::ok, "text/html; charset=utf-8", std::move(text)};
}

/// Nobody else may frame it, guess what it is, keep it, or learn its address, which holds the token.
template <class Fields>
void protect(Fields& fields) {
    fields.set(http::field::cache_control, "no-store");
    fields.set("X-Content-Type-Options", "nosniff");
    fields.set("Referrer-Policy", "no-referrer");
    fields.set("Cross-Origin-Resource-Policy", "same-origin");
    fields.set("Content-Security-Policy",
               "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
               "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
}

class Connection;

/// All that the connections have in common. Everything happens in one thread.
class Server {
  public:
    explicit Server(const Settings&);
    void run();

    using Answer = std::function<void(Reply)>;
    /// Answers at once or when a command has ended.
    void handle(const Request&, const Answer&);
    /// Whether it asks to be told of every change, with the right to.
    bool isSubscription(const Request&) const;

    void enter(const std::shared_ptr<Connection>&);
    void leave(const std::shared_ptr<Connection>&);
    std::string state();

  private:
    std::optional<Reply> refusalOf(const Request&) const;
    void get(const Target&, const Answer&);
    void post(const std::string& path, const std::string& body, const Answer&);
    void answerBy(const std::vector<std::string>& words, const std::string& type, const Answer&);
    void accept();
    void changed();
    void tell();
    void look();
    void watchSignals();
    void close();
    void stopWithChildren();

    const Settings& settings_;
    asio::io_context context_{1};
    tcp::acceptor acceptor_{context_};
    asio::signal_set signals_{context_, SIGINT, SIGTERM};
    asio::steady_timer soon_{context_}, later_{context_};
    Children children_{context_};
    Jobs jobs_;
    ResultFiles files_;
    KeptRuns runs_;
    std::string token_ = newToken();
    std::uint16_t port_ = 0;
    std::set<std::shared_ptr<Connection>> connections_;
    bool telling_ = false, closing_ = false;
    std::string told_;
};

/// A browser's.
class Connection : public std::enable_shared_from_this<Connection> {
  public:
    Connection(Server& server, tcp::socket socket) : server_(server), stream_(std::move(socket)) {}

    void read() {
        parser_.emplace();
        parser_->body_limit(kMostBody);
        parser_->header_limit(kMostHeader);
        stream_.expires_after(kIdle);
        http::async_read(stream_, buffer_, *parser_,
                         [self = shared_from_this()](error_code failed, std::size_t) { self->heard(failed); });
    }

    /// To one that subscribed.
    void tell(const std::string& state) {
        if (!subscribed_) return;
        next_ = "data: " + state + "\n\n";
        if (!writing_) writeNext();
    }

    void close() {
        error_code unknown;
        stream_.socket().shutdown(tcp::socket::shutdown_both, unknown);
        stream_.close();
        server_.leave(shared_from_this());
    }

    bool subscribed() const { return subscribed_; }

  private:
    void heard(error_code failed) {
        if (failed == http::error::end_of_stream || failed == beast::error::timeout ||
            (failed && failed.category() != make_error_code(http::error::bad_method).category()))
            return close();
        if (failed == http::error::body_limit)
            return write(refusal(http::status::payload_too_large, "the request is too long"), false);
        if (failed == http::error::header_limit)
            return write(refusal(http::status::request_header_fields_too_large, "the request is too long"), false);
        if (failed) return write(refusal(http::status::bad_request, "this is no request"), false);
        const bool again = parser_->keep_alive();
        if (server_.isSubscription(parser_->get())) return subscribe();
        server_.handle(parser_->get(),
                       [self = shared_from_this(), again](Reply reply) { self->write(std::move(reply), again); });
    }

    void write(Reply reply, bool again) {
        const bool head = parser_->is_header_done() && parser_->get().method() == http::verb::head;
        response_ = {reply.status, 11};
        response_.set(http::field::content_type, reply.type);
        protect(response_);
        response_.keep_alive(again);
        response_.body() = std::move(reply.body);
        response_.prepare_payload();
        if (head) response_.body().clear();
        stream_.expires_after(kIdle);
        http::async_write(stream_, response_, [self = shared_from_this(), again](error_code failed, std::size_t) {
            if (failed) return self->close();
            again ? self->read() : self->linger();
        });
    }

    /// What a browser still sends is thrown away for a moment: it would not read the answer otherwise.
    void linger() {
        error_code unknown;
        stream_.socket().shutdown(tcp::socket::shutdown_send, unknown);
        stream_.expires_after(kLinger);
        discard();
    }
    void discard() {
        stream_.async_read_some(asio::buffer(thrownAway_),
                                [self = shared_from_this()](error_code failed, std::size_t n) {
                                    self->discarded_ += n;
                                    failed || self->discarded_ > kMostDiscarded ? self->close() : self->discard();
                                });
    }

    void subscribe() {
        stream_.expires_never();
        http::response<http::empty_body> head{http::status::ok, 11};
        head.set(http::field::content_type, "text/event-stream");
        protect(head);
        head.keep_alive(false);
        next_ = "HTTP/1.1 200 OK\r\n";
        for (const auto& field : head.base())
            next_ += fmt::format("{}: {}\r\n", std::string(field.name_string()), std::string(field.value()));
        next_ += "\r\ndata: " + server_.state() + "\n\n";
        subscribed_ = true;
        writeNext();
        noticeEnd();
    }

    /// A subscriber says nothing more: what can be read is its end.
    void noticeEnd() {
        stream_.socket().async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code) { self->close(); });
    }

    void writeNext() {
        writing_ = true;
        part_ = std::exchange(next_, "");
        asio::async_write(stream_.socket(), asio::buffer(part_),
                          [self = shared_from_this()](error_code failed, std::size_t) {
                              self->writing_ = false;
                              if (failed) return self->close();
                              if (!self->next_.empty()) self->writeNext();
                          });
    }

    Server& server_;
    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    http::response<http::string_body> response_;
    bool subscribed_ = false, writing_ = false;
    std::string part_, next_;
    std::array<char, 16384> thrownAway_{};
    std::size_t discarded_ = 0;
};

Server::Server(const Settings& settings)
    : settings_(settings),
      jobs_(children_, {settings.program, settings.folder, settings.store.string(), settings.refuse,
                        settings.isRepeatable, [this] { changed(); }}),
      files_(settings.folder),
      runs_(settings.store) {
    const tcp::endpoint place(asio::ip::address_v4::loopback(), settings.port);
    error_code failed;
    acceptor_.open(place.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    acceptor_.bind(place, failed);
    if (!failed) acceptor_.listen(tcp::acceptor::max_listen_connections, failed);
    if (failed)
        throw Error("serve: port {}: {}{}", settings.port, failed.message(),
                    failed == asio::error::address_in_use ? "; choose another with --port" : "");
    port_ = acceptor_.local_endpoint().port();
}

void Server::run() {
    watchSignals();
    accept();
    look();
    settings_.ready(fmt::format("http://127.0.0.1:{}/{}/", port_, token_));
    context_.run();
}

void Server::accept() {
    acceptor_.async_accept([this](error_code failed, tcp::socket socket) {
        if (failed == asio::error::operation_aborted) return;
        if (!failed && connections_.size() < kMostConnections) {
            const auto connection = std::make_shared<Connection>(*this, std::move(socket));
            enter(connection);
            connection->read();
        }
        accept();
    });
}

void Server::enter(const std::shared_ptr<Connection>& connection) {
    connections_.insert(connection);
}

void Server::leave(const std::shared_ptr<Connection>& connection) {
    connections_.erase(connection);
}

/// Why it gets nothing, whatever it asks for.
std::optional<Reply> Server::refusalOf(const Request& request) const {
    const auto field = [&](http::field name) { return std::string(request[name]); };
    if (!isOwnHost(field(http::field::host), port_))
        return refusal(http::status::forbidden, "this server is asked for by another name");
    if (!isOwnOrigin(field(http::field::origin), port_)) return refusal(http::status::forbidden, "another page asks");
    if (!targetBehind(token_, std::string(request.target())))
        return refusal(http::status::forbidden, "the address lacks the token: bulkhead serve printed all of it");
    return std::nullopt;
}

bool Server::isSubscription(const Request& request) const {
    if (request.method() != http::verb::get || refusalOf(request)) return false;
    return targetBehind(token_, std::string(request.target()))->path == "/events";
}

void Server::handle(const Request& request, const Answer& answer) {
    if (std::optional<Reply> refused = refusalOf(request)) return answer(std::move(*refused));
    const Target target = *targetBehind(token_, std::string(request.target()));
    try {
        if (request.method() == http::verb::get || request.method() == http::verb::head) return get(target, answer);
        if (request.method() != http::verb::post)
            return answer(refusal(http::status::method_not_allowed, "this can be neither read nor asked"));
        const std::string type(request[http::field::content_type]);
        if (type.substr(0, type.find(';')) != "application/json")
            return answer(refusal(http::status::unsupported_media_type, "a question is asked in JSON"));
        post(target.path, request.body(), answer);
    } catch (const std::exception& error) {
        answer(refusal(http::status::unprocessable_entity, error.what()));
    }
}

void Server::get(const Target& target, const Answer& answer) {
    const auto given = [&](const char* key) {
        const auto found = target.query.find(key);
        if (found == target.query.end()) throw Error("{} is missing", key);
        return found->second;
    };
    const std::string& path = target.path;
    if (path == "/")
        return answer(pageReply(page(
            {{"folder", settings_.folder.string()}, {"version", settings_.version}, {"questions", questionsJson()}})));
    if (path == "/state") return answer({http::status::ok, "application/json", state()});
    if (path == "/runs") return answer(jsonReply(runs_.list()));
    if (path == "/run") {
        const Result table = runs_.table(given("name"));
        return answer(pageReply(report::html(table.title, std::span(&table, 1))));
    }
    if (path == "/json") return answer({http::status::ok, "application/json", readFile(files_.find(given("file")))});
    if (path == "/result") {
        const std::string file = files_.find(given("file")).string();
        return answerBy({"report", file, "--title", given("file"), "--html", "-"}, "text/html; charset=utf-8", answer);
    }
    if (path == "/difference") {
        const std::string before = files_.find(given("before")).string(), after = files_.find(given("after")).string();
        return answerBy({"report", "--diff", before, after, "--html", "-"}, "text/html; charset=utf-8", answer);
    }
    if (path == "/gpus") return answerBy({"gpus", "--json", "-"}, "application/json", answer);
    if (path == "/partitions") {
        const std::string gpu = given("gpu");
        if (gpu.empty() || gpu.starts_with('-')) throw Error("{}: is no GPU", gpu);
        return answerBy({"isolate", "list", "--gpu", gpu, "--json", "-"}, "application/json", answer);
    }
    answer(refusal(http::status::not_found, "there is no such page"));
}

void Server::post(const std::string& path, const std::string& body, const Answer& answer) {
    const nlohmann::json json = parseJson(body, "request");
    if (path == "/command") {
        const Form form = Form::fromJson(json);
        return answer(jsonReply({{"command", commandText(jobs_.commandOf(form))}}));
    }
    if (path == "/ask") {
        const Job& job = jobs_.ask(Form::fromJson(json));
        return answer(jsonReply({{"id", job.id}}, http::status::created));
    }
    if (path != "/cancel" && path != "/resume")
        return answer(refusal(http::status::not_found, "there is no such page"));
    JsonObject object(json, "request");
    const auto id = object.get<unsigned>("id");
    path == "/cancel" ? jobs_.cancel(id) : jobs_.resume(id);
    answer(jsonReply({{"id", id}}));
}

/// By what a command of this program prints, or by what it says against it.
void Server::answerBy(const std::vector<std::string>& words, const std::string& type, const Answer& answer) {
    std::vector<std::string> command = words;
    command.insert(command.begin(), settings_.program);
    const auto said = std::make_shared<std::string>();
    const auto limit = std::make_shared<asio::steady_timer>(context_);
    Child::Listener listener;
    listener.said = [said](const std::string& line) { *said = line; };
    listener.ended = [answer, said, type, limit](int status, const std::string& output) {
        limit->cancel();
        if (status == 0) return answer({http::status::ok, type, output});
        answer(refusal(http::status::unprocessable_entity, said->empty() ? "the command failed" : *said));
    };
    const std::shared_ptr<Child> child = children_.start(command, kMostPage, std::move(listener));
    limit->expires_after(kCommandLimit);
    limit->async_wait([child](error_code failed) {
        if (!failed) child->interrupt();
    });
}

std::string Server::state() {
    Json state = {{"jobs", Json::array()}, {"results", files_.list()}};
    for (const Job& job : jobs_.all()) state["jobs"].push_back(job.toJson());
    return jsonText(state);
}

/// Many changes at once are told as one.
void Server::changed() {
    if (std::exchange(telling_, true)) return;
    soon_.expires_after(kPause);
    soon_.async_wait([this](error_code failed) {
        telling_ = false;
        if (!failed) tell();
    });
}

void Server::tell() {
    const bool any =
        std::any_of(connections_.begin(), connections_.end(), [](const auto& c) { return c->subscribed(); });
    if (!any) return;
    std::string now = state();
    if (now == told_) return;
    told_ = std::move(now);
    // One that is gone leaves while it is told.
    const std::set<std::shared_ptr<Connection>> all = connections_;
    for (const std::shared_ptr<Connection>& connection : all) connection->tell(told_);
}

/// Files come from other commands as well.
void Server::look() {
    later_.expires_after(kLook);
    later_.async_wait([this](error_code failed) {
        if (failed) return;
        tell();
        look();
    });
}

void Server::watchSignals() {
    signals_.async_wait([this](error_code failed, int) {
        if (failed) return;
        if (closing_) {
            children_.killAll();
            return context_.stop();
        }
        close();
        watchSignals();
    });
}

/// Nothing new begins. What runs is interrupted, and waited for.
void Server::close() {
    closing_ = true;
    error_code unknown;
    acceptor_.close(unknown);
    jobs_.close();
    children_.interruptAll();
    const std::set<std::shared_ptr<Connection>> all = connections_;
    for (const std::shared_ptr<Connection>& connection : all) connection->close();
    stopWithChildren();
}

void Server::stopWithChildren() {
    if (children_.empty() && !jobs_.anyRunning()) return context_.stop();
    constexpr auto kShort = std::chrono::milliseconds(20);
    later_.expires_after(kShort);
    later_.async_wait([this](error_code failed) {
        if (!failed) stopWithChildren();
    });
}

}  // namespace

void serve(const Settings& settings) {
    Server(settings).run();
}

}  // namespace bulkhead::serve
