// SPDX-License-Identifier: Apache-2.0
// Load for the benchmarks: a fixed number of POSTs over keep-alive TLS 1.3 connections, each verified, and
// the CPU that the server's process spent on them. One thread; a request is always in flight on every
// connection.
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSampleEvery = 64;  // replies whose body is compared; status and length always are

[[noreturn]] void fail(const std::string& problem) {
  std::cerr << "load_client: " << problem << '\n';
  if (ERR_peek_error() != 0) ERR_print_errors_fp(stderr);
  std::exit(1);
}

struct Reply {
  int status = 0;
  std::string body;
};

class Connection {
 public:
  Connection(SSL_CTX* context, const addrinfo& address) {
    fd_ = ::socket(address.ai_family, SOCK_STREAM, 0);
    if (fd_ < 0 || ::connect(fd_, address.ai_addr, address.ai_addrlen) != 0) fail("cannot connect");
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ssl_.reset(SSL_new(context));
    SSL_set_fd(ssl_.get(), fd_);
    if (SSL_connect(ssl_.get()) != 1) fail("TLS handshake failed");
  }
  ~Connection() {
    SSL_shutdown(ssl_.get());
    ::close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(const std::string& request) {
    sent_ = Clock::now();
    if (SSL_write(ssl_.get(), request.data(), static_cast<int>(request.size())) <= 0) fail("write failed");
  }

  // The whole reply, by its Content-Length.
  const Reply& receive() {
    input_.clear();
    std::size_t end = 0;
    while ((end = input_.find("\r\n\r\n")) == std::string::npos) read_more();
    const std::string_view header(input_.data(), end);
    reply_.status = header.size() > 12 ? std::atoi(header.data() + 9) : 0;
    const std::size_t length = content_length(header);
    while (input_.size() < end + 4 + length) read_more();
    if (input_.size() != end + 4 + length) fail("bytes behind the reply");
    reply_.body.assign(input_, end + 4);
    return reply_;
  }
  [[nodiscard]] double micros() const {
    return std::chrono::duration<double, std::micro>(Clock::now() - sent_).count();
  }

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  static std::size_t content_length(std::string_view header) {
    constexpr std::string_view kName = "\r\ncontent-length: ";
    const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
    const auto found = std::search(header.begin(), header.end(), kName.begin(), kName.end(), same);
    std::size_t length = 0;
    if (found == header.end()) fail("a reply without Content-Length");
    const char* digits = header.data() + (found - header.begin()) + kName.size();
    std::from_chars(digits, header.data() + header.size(), length);
    return length;
  }

  void read_more() {
    char block[16384];
    const int n = SSL_read(ssl_.get(), block, sizeof block);
    if (n <= 0) fail("the server closed the connection");
    input_.append(block, static_cast<std::size_t>(n));
  }

  int fd_ = -1;
  std::unique_ptr<SSL, Free> ssl_;
  Clock::time_point sent_;
  std::string input_;
  Reply reply_;
};

// CPU of all threads of a process, in seconds, to the nanosecond.
class ProcessCpu {
 public:
  explicit ProcessCpu(pid_t process) {
    if (::clock_getcpuclockid(process, &clock_) != 0) fail("no such server process");
  }
  [[nodiscard]] double seconds() const {
    timespec time{};
    ::clock_gettime(clock_, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

 private:
  clockid_t clock_{};
};

class Load {
 public:
  Load(SSL_CTX* context, const addrinfo& address, std::size_t connections, std::string request,
       bool lengths_only)
      : request_(std::move(request)), lengths_only_(lengths_only) {
    for (std::size_t i = 0; i < connections; ++i) {
      connections_.push_back(std::make_unique<Connection>(context, address));
    }
  }

  // Sends `count` requests and checks their replies.
  void run(std::size_t count) {
    std::size_t sent = 0;
    for (; sent < std::min(count, connections_.size()); ++sent) connections_[sent]->send(request_);
    for (std::size_t i = 0; i < count; ++i) {
      Connection& connection = *connections_[i % connections_.size()];
      check(connection.receive(), i);
      micros_.push_back(connection.micros());
      if (sent < count) {
        connection.send(request_);
        ++sent;
      }
    }
  }

  void forget_times() { micros_.clear(); }
  [[nodiscard]] double percentile(double share) {
    std::sort(micros_.begin(), micros_.end());
    return micros_[static_cast<std::size_t>(share * static_cast<double>(micros_.size() - 1))];
  }
  [[nodiscard]] const std::string& first_body() const { return first_; }

 private:
  void check(const Reply& reply, std::size_t i) {
    if (reply.status != 200) fail("status " + std::to_string(reply.status) + ": " + reply.body);
    if (first_.empty()) first_ = reply.body;
    const bool compare = !lengths_only_ && i % kSampleEvery == 0;
    if (reply.body.size() != first_.size() || (compare && reply.body != first_))
      fail("another reply than the first:\n" + first_ + "\n" + reply.body);
  }

  const std::string request_;
  const bool lengths_only_;  // for servers that write the same patch in any order
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<double> micros_;
  std::string first_;
};

std::string read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) fail("cannot read " + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// As kube-apiserver sends it.
std::string make_request(const std::string& path, const std::string& body) {
  return "POST " + path +
         "?timeout=10s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: kube-apiserver-admission\r\n" +
         "Content-Length: " + std::to_string(body.size()) +
         "\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\nAccept-Encoding: "
         "gzip\r\n\r\n" +
         body;
}

// TLS 1.3 with the cipher suite that Go's client, and so kube-apiserver, puts first.
SSL_CTX* make_context() {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") != 1) {
    fail("no TLS 1.3");
  }
  return context;
}

constexpr const char* kUsage =
    "load_client --port N --path P --body FILE --server-pid N [--connections 8] [--requests 10000]\n"
    "            [--warm-up 500] [--save FILE] [--compare bytes|length]\n";

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> options{{"--connections", "8"},
                                             {"--requests", "10000"},
                                             {"--warm-up", "500"},
                                             {"--save", ""},
                                             {"--compare", "bytes"}};
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  for (const char* needed : {"--port", "--path", "--body", "--server-pid"}) {
    if (!options.contains(needed)) fail(std::string(needed) + " is missing\n" + kUsage);
  }
  addrinfo* address = nullptr;
  if (::getaddrinfo("127.0.0.1", options["--port"].c_str(), nullptr, &address) != 0) fail("bad port");
  SSL_CTX* context = make_context();
  const ProcessCpu cpu(std::stoi(options["--server-pid"]));
  const std::size_t requests = std::stoul(options["--requests"]);

  Load load(context, *address, std::stoul(options["--connections"]),
            make_request(options["--path"], read_file(options["--body"])), options["--compare"] == "length");
  load.run(std::stoul(options["--warm-up"]));
  load.forget_times();
  const double before = cpu.seconds();
  const auto start = Clock::now();
  load.run(requests);
  const double wall = std::chrono::duration<double>(Clock::now() - start).count();
  const double used = cpu.seconds() - before;

  if (!options["--save"].empty()) std::ofstream(options["--save"], std::ios::binary) << load.first_body();
  std::printf("cpu_us: %.3f\nrequests_per_second: %.0f\np50_us: %.1f\np99_us: %.1f\n",
              used * 1e6 / static_cast<double>(requests), static_cast<double>(requests) / wall,
              load.percentile(0.5), load.percentile(0.99));
  ::freeaddrinfo(address);
  return 0;
}
