// SPDX-License-Identifier: Apache-2.0
// Limits of a server, and the functions that answer for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/base/log.h"
#include "nccl_env/net/server/http.h"
#include "nccl_env/net/tls/tls.h"

namespace nccl_env::net {

struct ServerOptions {
  std::string listen =
      "0.0.0.0:0";  // ADDR:PORT, [ADDR]:PORT or :PORT (any address); port 0: the kernel chooses
  std::shared_ptr<TlsSource> tls;  // null: plain HTTP
  std::shared_ptr<Logger> log;     // null: silent. At most one line a second per thread
  int threads = 0;                 // 0: default_threads()
  // For `handle_later`. With a look-up of 300 ms at most, 4 threads and 16 in the queue the last one is
  // answered within 1.5 s: half of the 3 s that a Binding hook has.
  int waiting_threads = 4;
  std::size_t waiting_queue = 16;  // and as many for the thread that answers one at a time
  // Beyond it one of the address with most connections is closed. The default is four times the need of ten
  // API servers, which keep 25 idle connections each for 90 s; it takes 150 MiB at 150 KiB each.
  int max_connections = 1024;
  std::size_t max_body = 8u << 20;    // the API server takes objects of 3 MiB; a review can hold two
  std::size_t max_header = 16 << 10;  // the API server sends under 1 KiB
  // For bodies and replies, beyond 64 KiB each; over it, or beyond as much of one address as is left: 503.
  std::size_t max_large_bodies = 64u << 20;
  std::chrono::milliseconds handshake_timeout{10'000};  // the API server's default for a whole call
  std::chrono::milliseconds header_timeout{10'000};  // from a request's first byte to the end of its header
  std::chrono::milliseconds body_timeout{10'000};    // for the whole body
  std::chrono::milliseconds write_timeout{10'000};   // for the whole reply
  std::chrono::milliseconds linger_timeout{2'000};   // after the last reply, until the client closes
  std::chrono::milliseconds idle_timeout{120'000};   // the API server must close first, and does at 90 s
  // Before each pipelined request, which no API server sends: of 1024 connections that send nothing else,
  // small ones take one CPU.
  std::chrono::milliseconds turn{10};
  bool keep_alive = true;  // false: each reply is the last one of its connection
};

struct HttpHead {
  std::string_view method;
  std::string_view target;
  std::string_view content_type;
  int thread = 0;
  std::uint64_t content_length = 0;  // as announced; 0 for a body in chunks

  [[nodiscard]] std::string_view path() const { return target.substr(0, target.find('?')); }
};

// Holds a handler's response. None: handle_later gives it. With `comes`, the part that the answer lacks may
// come by itself: the handler is asked once more when `comes` says so, or after kPatience.
struct Handled {
  Handled(HttpResponse at_once) : response(std::move(at_once)) {}
  Handled(std::optional<HttpResponse> at_once) : response(std::move(at_once)) {}
  Handled(std::nullopt_t, std::function<bool()> lacks = nullptr) : comes(std::move(lacks)) {}

  std::optional<HttpResponse> response;
  std::function<bool()> comes;  // any thread may call it, often
};
// A watch brings a change within 0.1 s, and a Binding hook has 3 s.
inline constexpr std::chrono::milliseconds kPatience{300};
// How many requests may wait so, and how many of one address: more are answered by handle_overload.
inline constexpr int kMostPatient = 64, kMostPatientOfPeer = 8;

struct ServerHandlers {
  // Called on a server thread, one call at a time per thread; must be quick, since it holds up that thread's
  // other connections. An exception, here and below, becomes a 500.
  std::function<Handled(const HttpRequest&)> handle;
  // Optional, called once the header is there: an answer refuses the request before its body is read.
  std::function<std::optional<HttpResponse>(const HttpHead&)> check = nullptr;
  // Called with the same request on a thread that may wait, one call at a time per thread. It has to return
  // within a bounded time: stop() waits for it. This and handle_overload are set together, or neither is.
  std::function<HttpResponse(const HttpRequest&)> handle_later = nullptr;
  // Called instead of handle_later, on the server thread, if too many requests wait already, or the server
  // stops.
  std::function<HttpResponse(const HttpRequest&)> handle_overload = nullptr;
  // Optional: returns true for a costly request. `handle` is not asked about such a request; handle_later
  // answers it, one at a time on a separate thread. Requests that look something up do not wait behind it.
  std::function<bool(const HttpRequest&)> one_at_a_time = nullptr;
  // Optional, called on a server thread: a client said in its handshake that it does not trust our
  // certificate. Strangers can say so as often as they like.
  std::function<void()> distrusted = nullptr;
};

}  // namespace nccl_env::net
