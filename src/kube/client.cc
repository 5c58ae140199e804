// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/client.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "credentials.h"
#include "nccl_env/base/line_splitter.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/net/client/http_client.h"

namespace nccl_env::kube {
namespace {

using Clock = std::chrono::steady_clock;
using ConnectionPtr = std::unique_ptr<net::HttpConnection>;

constexpr int kUnauthorized = 401;
constexpr std::size_t kMaxMessage = 1024;      // of a Status object
constexpr std::size_t kMaxIdle = 8;            // few calls run at the same time
constexpr std::chrono::seconds kKeepIdle{60};  // kube-apiserver closes after 90 s
// Longest wait for the header of a stream. A watch sends it at once, but a request may wait in the server's
// queues.
constexpr std::chrono::seconds kStreamStart{30};

struct Idle {
  ConnectionPtr connection;
  Clock::time_point since;
};

std::string format_request(const ClientConfig& config, const std::string& authority, const Call& call,
                           const std::string& token) {
  std::string text = call.method + " " + config.path_prefix + call.target +
                     " HTTP/1.1\r\nHost: " + authority + "\r\nUser-Agent: " + config.user_agent +
                     "\r\nAccept: application/json\r\n";
  if (!token.empty()) text += "Authorization: Bearer " + token + "\r\n";
  if (!call.content_type.empty()) text += "Content-Type: " + call.content_type + "\r\n";
  if (!call.body.empty() || call.method != "GET")
    text += "Content-Length: " + std::to_string(call.body.size()) + "\r\n";
  return text + "\r\n" + call.body;
}

bool is_visible_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

struct Client::Body {
  // A connection on which a request went out and its status came back.
  struct Exchange {
    ConnectionPtr connection;
    int status = 0;
  };

  Body(ClientConfig settings, const std::shared_ptr<Logger>& log)
      : config(std::move(settings)),
        server{config.host, config.port, config.tls_name},
        token(config.token, log),
        identity(config, log) {}

  ConnectionPtr take_idle() {
    for (;;) {
      ConnectionPtr found;
      {
        const std::lock_guard lock(mutex);
        if (idle.empty()) return nullptr;
        const bool fresh = Clock::now() - idle.back().since < kKeepIdle;
        found = std::move(idle.back().connection);
        idle.pop_back();
        if (!fresh) idle.clear();  // the others are older still
        if (!fresh) return nullptr;
      }
      if (found->still_open()) return found;
    }
  }

  void give_back(ConnectionPtr connection) {
    if (!connection->reusable()) return;
    const std::lock_guard lock(mutex);
    if (idle.size() >= kMaxIdle) idle.erase(idle.begin());
    idle.push_back({std::move(connection), Clock::now()});
  }

  // Sends, on a kept connection if there is one, and waits for the status.
  Result<Exchange> exchange(const Call& call, const std::string& pass, net::Deadline deadline) {
    Exchange made;
    const std::string request = format_request(config, server.authority(), call, pass);
    for (made.connection = take_idle();;) {
      const bool kept = made.connection != nullptr;
      if (!kept) {
        auto opened = net::HttpConnection::open(server, identity.current(), stop, deadline);
        if (!opened) return opened.error();
        made.connection = *std::move(opened);
      }
      net::HttpConnection& connection = *made.connection;
      const Status sent = connection.send(request, deadline);
      const Result<int> status = sent ? connection.read_status(deadline) : Result<int>(sent.error());
      if (status) {
        made.status = *status;
        return made;
      }
      const bool harmless = connection.sent_nothing() || (call.method == "GET" && !connection.answered());
      if (!kept || !harmless || stop->is_set() || Clock::now() >= deadline) return status.error();
      made.connection.reset();
    }
  }

  // Does the same as exchange(), and repeats it once if the server refuses a token that has been renewed
  // since.
  Result<Exchange> authorized(const Call& call, net::Deadline deadline) {
    if (stop->is_set()) return Error{"stopped"};
    if (!is_visible_ascii(call.method) || !is_visible_ascii(call.target) || call.target.empty())
      return Error{call.method + " " + call.target + ": not a request"};
    const std::string pass = token.at(Clock::now());
    auto made = exchange(call, pass, deadline);
    if (!made || made->status != kUnauthorized || !token.renewed(pass, Clock::now())) return made;
    return exchange(call, token.at(Clock::now()), deadline);
  }

  Result<Reply> whole(Exchange made, net::Deadline deadline) {
    Reply reply{made.status, {}};
    for (;;) {
      const auto more = made.connection->read_body(reply.body, deadline);
      if (!more) return more.error();
      if (!*more) break;
      if (reply.body.size() > kMaxBody)
        return Error{"https://" + server.authority() + ": the answer is larger than " +
                     std::to_string(kMaxBody >> 20) + " MiB"};
    }
    give_back(std::move(made.connection));
    return reply;
  }

  Result<Reply> parts(const std::string& target, std::chrono::milliseconds idle_deadline,
                      const std::function<bool(std::string_view part)>& on_part,
                      const std::function<void()>& on_start) {
    Call call;
    call.target = target;
    const net::Deadline start =
        Clock::now() + std::min<std::chrono::milliseconds>(kStreamStart, idle_deadline);
    auto made = authorized(call, start);
    if (!made) return made.error();
    if (made->status != kOk) return whole(*std::move(made), start);
    if (on_start) on_start();
    for (std::string part;; part.clear()) {
      const auto more = made->connection->read_body(part, Clock::now() + idle_deadline);
      if (!more) return more.error();
      if (!*more) break;
      if (!on_part(part)) return Reply{kOk, {}};
    }
    give_back(std::move(made->connection));
    return Reply{kOk, {}};
  }

  const ClientConfig config;
  const net::HttpsServer server;
  const std::shared_ptr<net::StopSignal> stop = std::make_shared<net::StopSignal>();
  BearerToken token;
  TlsIdentity identity;
  std::mutex mutex;        // guards idle
  std::vector<Idle> idle;  // by time, the newest last
};

Client::Client(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::make(ClientConfig config, std::shared_ptr<Logger> log) {
  auto body = std::make_unique<Body>(std::move(config), log);
  if (const Status loaded = body->identity.load(); !loaded) return loaded.error();
  if (const Status loaded = body->token.load(Clock::now()); !loaded) return loaded.error();
  return std::unique_ptr<Client>(new Client(std::move(body)));
}

Result<Reply> Client::call(const Call& call) {
  const net::Deadline deadline = Clock::now() + call.deadline;
  auto made = body_->authorized(call, deadline);
  if (!made) return made.error();
  return body_->whole(*std::move(made), deadline);
}

Result<Reply> Client::stream_parts(const std::string& target, std::chrono::milliseconds idle_deadline,
                                   const std::function<bool(std::string_view part)>& on_part) {
  return body_->parts(target, idle_deadline, on_part, {});
}

Result<Reply> Client::stream(const std::string& target, std::chrono::milliseconds idle_deadline,
                             const std::function<bool(std::string_view line)>& on_line,
                             const std::function<void()>& on_start) {
  LineSplitter lines(kMaxWatchLine);
  Result<bool> go_on = true;
  auto reply = body_->parts(
      target, idle_deadline,
      [&](std::string_view part) {
        go_on = lines.feed(part, on_line);
        return go_on && *go_on;
      },
      on_start);
  if (!go_on) return Error{server() + ": " + go_on.error().message};
  if (reply && *go_on && !lines.rest().empty()) on_line(lines.rest());
  return reply;
}

void Client::stop() {
  body_->stop->set();
}

bool Client::stopped() const {
  return body_->stop->is_set();
}

bool Client::stopped_within(std::chrono::milliseconds time) const {
  return body_->stop->wait_until(Clock::now() + time);
}

const ClientConfig& Client::config() const {
  return body_->config;
}

std::string Client::server() const {
  return "https://" + body_->server.authority();
}

Result<std::string> Client::name_space() const {
  return body_->config.name_space;
}

std::string servers_word(const Reply& reply) {
  return text_at(parse_json(reply.body), "message").substr(0, kMaxMessage);
}

std::string status_message(const Reply& reply) {
  const std::string word = servers_word(reply);
  return "HTTP " + std::to_string(reply.status) + (word.empty() ? "" : ": " + word);
}

}  // namespace nccl_env::kube
