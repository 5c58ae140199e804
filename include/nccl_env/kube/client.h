// SPDX-License-Identifier: Apache-2.0
// ApiServer: answers calls and lists. Client: calls and watches of one API server.
//
//   [ ClientConfig ] ----> [ Client ] <---- calls from any thread; its secrets follow their files
//                             ^
//   [ Informer ] -------------+       its thread: does what the watch says next
//      |       |
//      v       +--change--> [ WatchSink ]   the store's, the agent's; outlives the informer
//   [ Watch ]                               what is asked next; no sockets, no clock
//
// A client outlives its informers, and is stopped before they end. No object is kept here: a sink keeps what
// it wants of the text that it is shown.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "nccl_env/base/log.h"
#include "nccl_env/kube/config.h"
#include "nccl_env/kube/paths.h"
#include "nccl_env/result.h"

namespace nccl_env::kube {

// HTTP statuses that callers tell apart.
inline constexpr int kOk = 200;
inline constexpr int kForbidden = 403;
inline constexpr int kNotFound = 404;

// Content types of bodies.
inline constexpr const char* kJson = "application/json";
inline constexpr const char* kApply = "application/apply-patch+yaml";  // server-side apply; JSON is YAML

// A page of 500 tables of 16 ports, with managedFields, is about 20 MiB.
inline constexpr std::size_t kMaxBody = 64u << 20;
// An object in etcd is at most 1.5 MiB; an event holds one.
inline constexpr std::size_t kMaxWatchLine = 4u << 20;

// Any answer of the server, refusals among them.
struct Reply {
  int status = 0;
  std::string body;
};

struct Call {
  std::string method = "GET";
  std::string target;        // path and query, escaped: "/api/v1/nodes?limit=1"
  std::string content_type;  // of the body; "" without one
  std::string body;
  std::chrono::milliseconds deadline{10'000};  // for all of it: connecting, sending, the whole answer
};

// Client::call as its users see it. Tests answer in its place.
using ApiCall = std::function<Result<Reply>(const Call&)>;

// Answers for one cluster: Client, or the command line through kubectl. Calls block.
class ApiServer {
 public:
  virtual ~ApiServer() = default;

  // Returns an error, which names the server, only if no HTTP answer came.
  virtual Result<Reply> call(const Call& call) = 0;
  // Sends a GET and gives the body of a 200 to `on_part` piece by piece, as it comes, until it is complete or
  // `on_part` returns false: then the reply is 200 without a body. Another status is returned as it is. Fails
  // if the answer breaks off, or if nothing comes for `idle_deadline`.
  virtual Result<Reply> stream_parts(const std::string& target, std::chrono::milliseconds idle_deadline,
                                     const std::function<bool(std::string_view part)>& on_part) = 0;
  [[nodiscard]] virtual std::string server() const = 0;  // for sentences: "https://10.96.0.1:443"
  // The namespace of the kubeconfig's context, or of our pod.
  [[nodiscard]] virtual Result<std::string> name_space() const = 0;
  // From now on a call fails once the descriptor is readable, where it can be broken off; -1: none does.
  virtual void interrupt_by(int /*descriptor*/) {}
};

// Any thread may call any member. Connections are kept and used again. Files of the configuration are
// followed: the token is read again after a minute or once the server answers 401; a changed CA or client
// certificate is used for the next new connection. A file that cannot be used is logged, and its old content
// stays in use.
class Client : public ApiServer {
 public:
  // Reads the files once, and connects nowhere. The process must ignore SIGPIPE.
  static Result<std::unique_ptr<Client>> make(ClientConfig config, std::shared_ptr<Logger> log);
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Fails if the connection or TLS fails, at the deadline, for an answer over kMaxBody, or once stopped.
  // A GET on a kept connection that turns out to be closed is sent once more on a new one; any other method
  // only if none of it was sent.
  Result<Reply> call(const Call& call) override;
  Result<Reply> stream_parts(const std::string& target, std::chrono::milliseconds idle_deadline,
                             const std::function<bool(std::string_view part)>& on_part) override;

  // Does the same by lines, each without its end; a line over kMaxWatchLine is an error. Calls `on_start`
  // when a 200 has come.
  Result<Reply> stream(const std::string& target, std::chrono::milliseconds idle_deadline,
                       const std::function<bool(std::string_view line)>& on_line,
                       const std::function<void()>& on_start = {});

  // Ends calls under way and refuses all later ones; their errors say "stopped".
  void stop();
  [[nodiscard]] bool stopped() const;
  // Waits for stop(), at most for `time`; true once stopped.
  [[nodiscard]] bool stopped_within(std::chrono::milliseconds time) const;

  [[nodiscard]] const ClientConfig& config() const;
  [[nodiscard]] std::string server() const override;
  [[nodiscard]] Result<std::string> name_space() const override;

 private:
  struct Body;
  explicit Client(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

// The message of a Status object, "" if the body is not one: "nodefabrics.nccl-env.io is forbidden: …".
std::string servers_word(const Reply& reply);
// One sentence: "HTTP 403: nodefabrics.nccl-env.io is forbidden: …", with the Status object's message if
// there is one.
std::string status_message(const Reply& reply);

}  // namespace nccl_env::kube
