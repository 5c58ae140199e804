// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/packets/collector.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <map>
#include <ostream>
#include <system_error>

#include "line_socket.h"
#include "nccl_env/core/proof/journal.h"
#include "nccl_env/packets/verbs.h"
#include "pair_talk.h"

namespace nccl_env::packets {
namespace {

constexpr std::size_t kMostStrangers = 16;
constexpr int kMostAccepted = 64;                     // before members are heard again
constexpr std::chrono::milliseconds kGoodbye{2'000};  // for members that read slowly

// Listens on all addresses, of both families where there is IPv6.
Result<Descriptor> listen_on(int port) {
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(static_cast<std::uint16_t>(port));
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  any4.sin_port = any.sin6_port;
  int error = 0;
  for (const bool v6 : {true, false}) {
    Descriptor descriptor(::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1, off = 0;
    ::setsockopt(descriptor.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (v6) ::setsockopt(descriptor.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    const auto* address =
        v6 ? reinterpret_cast<const sockaddr*>(&any) : reinterpret_cast<const sockaddr*>(&any4);
    const socklen_t size = v6 ? sizeof any : sizeof any4;
    if (::bind(descriptor.get(), address, size) == 0 && ::listen(descriptor.get(), SOMAXCONN) == 0)
      return descriptor;
    error = errno;
    if (error == EADDRINUSE) break;
  }
  return Error{"port " + std::to_string(port) + ": " + std::generic_category().message(error)};
}

int port_of(int descriptor) {
  sockaddr_in6 own{};  // the port stands at the same place for both families
  socklen_t size = sizeof own;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size);
  return ntohs(own.sin6_port);
}

}  // namespace

class Collector::State {
 public:
  State(const CollectorOptions& options, Descriptor listening, std::ostream& journal)
      : options_(options), listening_(std::move(listening)), journal_(journal) {}

  [[nodiscard]] int port() const { return port_of(listening_.get()); }

  Status run() {
    const auto rounds_of = [&](int members) { return proof_rounds(members, options_.all_pairs); };
    write(test_line(options_.expected, static_cast<int>(rounds_of(options_.expected).size())));
    gather();
    std::vector<int> places;
    for (const auto& [place, member] : members_) {
      if (member.connection) places.push_back(place);
    }
    const auto rounds = rounds_of(static_cast<int>(places.size()));
    if (static_cast<int>(places.size()) < options_.expected)
      write(test_line(options_.expected, static_cast<int>(rounds.size())));
    for (std::size_t round = 0; round < rounds.size(); ++round) {
      for (const auto& [from, to] : rounds[round])
        begin(places[static_cast<std::size_t>(from)], places[static_cast<std::size_t>(to)]);
      if (!finish_talks()) return Error{"the test had no time left; its journal has no end"};
      write(round_line(static_cast<int>(round) + 1));
    }
    write(end_line());
    say_goodbye();
    return done();
  }

 private:
  struct Connection {
    LineSocket socket;
    Clock::time_point since;
    std::optional<int> place = {};  // absent: a stranger so far
    bool closes = false;
  };
  struct Member {
    ProofMember told;
    Connection* connection = nullptr;  // null: it went away
    std::map<int, ProofEnd> talks = {};
  };

  void write(const std::string& line) { journal_ << line << '\n' << std::flush; }

  void gather() {
    const auto end = std::min(Clock::now() + options_.wait, options_.deadline);
    while (static_cast<int>(members_.size()) < options_.expected && Clock::now() < end) turn(end);
    listening_.close();
    for (Connection& connection : connections_) connection.closes |= !connection.place;
    sweep();
  }

  void begin(int from, int to) {
    Member &left = members_.at(from), &right = members_.at(to);
    if (!left.connection || !right.connection) return;
    const int number = next_number_++;
    talks_.try_emplace(number, number, pair_up(left.told, right.told, options_.cross_rails));
    left.talks.emplace(number, ProofEnd::From);
    right.talks.emplace(number, ProofEnd::To);
    advance(number);
  }

  // Sends what the talk wants now, and writes it down when it is over.
  void advance(int number) {
    PairTalk& talk = talks_.at(number);
    while (const auto orders = talk.advance(Clock::now(), options_.reply_time)) {
      send(talk.pair().from, (*orders)[0]);
      send(talk.pair().to, (*orders)[1]);
    }
    if (!talk.is_over()) return;
    write(pair_line(talk.pair()));
    members_.at(talk.pair().from).talks.erase(number);
    members_.at(talk.pair().to).talks.erase(number);
    talks_.erase(number);
  }

  void send(int place, const Order& order) {
    if (Connection* connection = members_.at(place).connection) connection->socket.send(to_line(order));
  }

  // False: there was no time left.
  bool finish_talks() {
    while (!talks_.empty()) {
      if (Clock::now() >= options_.deadline) return false;
      auto next = options_.deadline;
      std::vector<int> late;
      for (const auto& [number, talk] : talks_) {
        next = std::min(next, talk.deadline());
        if (talk.deadline() <= Clock::now()) late.push_back(number);
      }
      for (const int number : late) advance(number);
      if (late.empty()) turn(next);
    }
    return Clock::now() < options_.deadline;  // else members have gone because theirs was over
  }

  void say_goodbye() {
    ending_ = true;
    for (auto& [place, member] : members_) send(place, {});
    const auto end = std::min(Clock::now() + kGoodbye, options_.deadline);
    while (!connections_.empty() && Clock::now() < end) turn(end);
  }

  // Waits for something to happen, and does what follows from it.
  void turn(Clock::time_point until) {
    for (const Connection& connection : connections_) {
      if (!connection.place) until = std::min(until, connection.since + options_.hello_time);
    }
    polled_.assign(1, {listening_.get(), POLLIN, 0});  // below 0: ignored
    for (const Connection& connection : connections_)
      polled_.push_back({connection.socket.descriptor(), connection.socket.events(), 0});
    ::poll(polled_.data(), polled_.size(), milliseconds_until(until));
    auto events = polled_.cbegin() + 1;
    for (Connection& connection : connections_) {
      if ((events++)->revents != 0) serve(connection);
      connection.closes |= !connection.place && Clock::now() >= connection.since + options_.hello_time;
    }
    sweep();
    if (polled_.front().revents != 0) accept_all();
  }

  void serve(Connection& connection) {
    const bool open = connection.socket.flush() && connection.socket.receive([&](std::string_view line) {
      return connection.place ? hear(*connection.place, line) : greet(connection, line);
    });
    connection.closes |= !open;
  }

  void accept_all() {
    for (int count = 0; count < kMostAccepted; ++count) {
      Descriptor accepted(::accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!accepted) return;
      if (connections_.size() >= static_cast<std::size_t>(options_.expected) + kMostStrangers) {
        const auto oldest =
            std::ranges::find_if(connections_, [](const Connection& each) { return !each.place; });
        connections_.erase(oldest);
      }
      connections_.push_back({LineSocket(std::move(accepted)), Clock::now()});
    }
  }

  bool greet(Connection& connection, std::string_view line) {
    auto hello = read_hello(line, options_.token);
    if (!hello || hello->place >= options_.expected || members_.contains(hello->place)) return false;
    write(member_line(*hello));
    const int place = hello->place;
    connection.place = place;
    members_.try_emplace(place, Member{*std::move(hello), &connection});
    return true;
  }

  bool hear(int place, std::string_view line) {
    const auto reply = read_reply(line);
    if (!reply) return false;
    const auto& talks = members_.at(place).talks;
    const auto talk = talks.find(reply->pair);
    if (talk == talks.end()) return true;  // a late one
    talks_.at(reply->pair).take(talk->second, *reply);
    advance(reply->pair);
    return true;
  }

  // Removes connections that are to close.
  void sweep() {
    std::vector<int> gone;
    for (const Connection& connection : connections_) {
      if (connection.closes && connection.place) gone.push_back(*connection.place);
    }
    for (const int place : gone) leave(members_.at(place));
    std::erase_if(connections_, [](const Connection& connection) { return connection.closes; });
  }

  void leave(Member& member) {
    member.connection = nullptr;
    if (ending_) return;
    write(left_line(member.told.place));
    const auto talks = member.talks;
    for (const auto& [number, end] : talks) {
      talks_.at(number).lose(end);
      advance(number);
    }
  }

  const CollectorOptions options_;
  Descriptor listening_;
  std::ostream& journal_;
  std::list<Connection> connections_;  // in the order of coming
  std::vector<pollfd> polled_;
  std::map<int, Member> members_;  // by place
  std::map<int, PairTalk> talks_;  // by number
  int next_number_ = 0;
  bool ending_ = false;
};

Result<std::unique_ptr<Collector>> Collector::listen(const CollectorOptions& options, int port,
                                                     std::ostream& journal) {
  auto listening = listen_on(port);
  if (!listening) return listening.error();
  return std::unique_ptr<Collector>(
      new Collector(std::make_unique<State>(options, *std::move(listening), journal)));
}

Collector::Collector(std::unique_ptr<State> state) : state_(std::move(state)) {}
Collector::~Collector() = default;

int Collector::port() const {
  return state_->port();
}
Status Collector::run() {
  return state_->run();
}

}  // namespace nccl_env::packets
