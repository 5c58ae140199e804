// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/packets/collector.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <map>
#include <ostream>
#include <system_error>

#include "line_socket.h"
#include "nccl_env/core/proof/rounds.h"
#include "nccl_env/packets/queue_pair.h"

namespace nccl_env::packets {
namespace {

constexpr std::size_t kMostStrangers = 16;
constexpr std::chrono::milliseconds kGoodbye{2'000};  // for members that read slowly
constexpr int kTurnMilliseconds = 100;                // between looks at what is late
constexpr int kWords = 4;                             // of each end on a link that is good
// The most that all links of a pair carry, in both directions.
constexpr std::size_t kMostPairBytes = 128u << 10;

struct Connection {
  LineSocket socket;
  Clock::time_point since;
  std::optional<ProofMember> member = {};  // absent: a stranger so far
  bool closes = false;
};

struct Pair {
  ProofPair told;
  std::size_t open = 0;  // links that are being tried
};

// A link that is being tried.
struct Talk {
  Pair* pair;
  ProofLink* link;
  Clock::time_point deadline;
  std::array<std::optional<LinkWord>, 2> said = {};  // by From and To
  int words = 0;                                     // that both ends have said before

  [[nodiscard]] int place(std::size_t end) const { return end == 0 ? pair->told.from : pair->told.to; }
};

class Collector {
 public:
  Collector(const CollectorOptions& options, Descriptor listening, std::ostream& journal)
      : options_(options), listening_(std::move(listening)), journal_(journal) {}

  Status run() {
    const auto rounds_of = [&](int members) { return proof_rounds(members, options_.all_pairs); };
    const auto tell = [&](const std::vector<ProofRound>& rounds) {
      write({.expected = options_.expected, .rounds = static_cast<int>(rounds.size())});
    };
    tell(rounds_of(options_.expected));
    gather();
    std::vector<int> places;
    for (const auto& [place, connection] : members_) {
      if (connection) places.push_back(place);
    }
    const auto rounds = rounds_of(static_cast<int>(places.size()));
    if (std::ssize(places) < options_.expected) tell(rounds);
    int count = 0;
    for (const ProofRound& round : rounds) {
      for (const auto& [from, to] : round)
        begin(places[static_cast<std::size_t>(from)], places[static_cast<std::size_t>(to)]);
      while (!talks_.empty() && Clock::now() < options_.deadline) turn();
      if (Clock::now() >= options_.deadline)
        return Error{"the test had no time left; its journal has no end"};
      write({.rounds_done = ++count});
    }
    write({.ended = true});
    say_goodbye();
    return done();
  }

 private:
  void write(const JournalLine& line) { journal_ << to_line(line) << '\n' << std::flush; }

  void gather() {
    const auto end = std::min(Clock::now() + options_.wait, options_.deadline);
    while (std::ssize(members_) < options_.expected && Clock::now() < end) turn();
    listening_.close();
    for (Connection& connection : connections_) connection.closes |= !connection.member;
    sweep();
  }

  void say_goodbye() {
    for (const auto& [place, connection] : members_) send(place, {});
    members_.clear();
    const auto end = std::min(Clock::now() + kGoodbye, options_.deadline);
    while (!connections_.empty() && Clock::now() < end) turn();
  }

  void send(int place, const LinkWord& word) {
    if (Connection* connection = members_.at(place)) connection->socket.send(to_line(word));
  }

  void begin(int from, int to) {
    const Connection *left = members_.at(from), *right = members_.at(to);
    if (!left || !right) return;
    Pair& pair = pairs_.emplace_back();
    pair.told = pair_up(*left->member, *right->member, options_.cross_rails);
    pair.open = pair.told.links.size();
    const bool long_too = 2 * pair.open * (kFirstBytes + kAllBytes) <= kMostPairBytes;
    for (ProofLink& link : pair.told.links) {
      const int number = next_number_++;
      LinkWord start{.link = number,
                     .end = ProofEnd::From,
                     .rail = link.from,
                     .bytes = long_too ? kAllBytes : kFirstBytes};
      send(from, start);
      start.end = ProofEnd::To;
      start.rail = link.to;
      send(to, start);
      talks_.emplace(number, Talk{&pair, &link, Clock::now() + options_.word_time});
    }
    if (pair.open == 0) write({.pairs = {{pair.told}}});
  }

  // Tells each end the other's word. Of two that failed the earlier step counts.
  void exchange(std::map<int, Talk>::iterator at) {
    Talk& talk = at->second;
    const LinkWord &from = *talk.said[0], &to = *talk.said[1];
    if (from.step || to.step) {
      const bool is_to = !from.step || (to.step && *to.step < *from.step);
      talk.link->step = is_to ? to.step : from.step;
      talk.link->error = is_to ? to.error : from.error;
      talk.link->end = from.step == to.step ? ProofEnd::Both : is_to ? ProofEnd::To : ProofEnd::From;
    }
    ++talk.words;
    const bool fails = talk.link->step.has_value();
    const LinkWord last{.link = at->first, .step = talk.link->step};  // releases what an end may still have
    if (fails || talk.words < kWords) {
      send(talk.place(0), fails ? last : to);
      send(talk.place(1), fails ? last : from);
    }
    talk.said = {};
    talk.deadline = Clock::now() + options_.word_time;
    if (!fails && talk.words < kWords) return;
    if (--talk.pair->open == 0) write({.pairs = {{talk.pair->told}}});
    talks_.erase(at);
  }

  // Ends links that are late, or those of a member that went: what their other ends would say tells no more.
  void give_up(std::optional<int> gone) {
    for (auto next = talks_.begin(); next != talks_.end();) {
      const auto at = next++;
      Talk& talk = at->second;
      const LinkWord fine{.link = at->first}, silent{.link = at->first, .step = ProofStep::Answer};
      bool ends = !gone && Clock::now() >= talk.deadline;
      for (const std::size_t end : {0, 1}) ends |= gone == talk.place(end);
      for (const std::size_t end : {0, 1}) {
        if (ends && (gone ? gone == talk.place(end) : !talk.said[end])) talk.said[end] = silent;
        if (ends && !talk.said[end]) talk.said[end] = fine;
      }
      if (ends) exchange(at);
    }
  }

  // Waits for something to happen, not for long, and does what follows from it.
  void turn() {
    std::vector<pollfd> polled{{listening_.get(), POLLIN, 0}};  // below 0: ignored
    for (const Connection& connection : connections_) polled.push_back(connection.socket.wanted());
    ::poll(polled.data(), polled.size(), kTurnMilliseconds);
    auto event = polled.cbegin();
    for (Connection& connection : connections_) {
      if ((++event)->revents != 0)
        connection.closes |=
            !connection.socket.serve([&](std::string_view line) { return hear(connection, line); });
      connection.closes |= !connection.member && Clock::now() >= connection.since + options_.hello_time;
    }
    sweep();
    give_up({});
    if (polled.front().revents != 0) accept();
  }

  void accept() {
    Descriptor accepted(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!accepted) return;
    if (connections_.size() >= static_cast<std::size_t>(options_.expected) + kMostStrangers)
      connections_.erase(
          std::ranges::find_if(connections_, [](const Connection& each) { return !each.member; }));
    connections_.push_back({LineSocket(std::move(accepted)), Clock::now()});
  }

  // False ends the connection.
  bool hear(Connection& connection, std::string_view line) {
    if (!connection.member) return greet(connection, line);
    const auto word = read_line<LinkWord>(line);
    if (!word || word->end) return false;
    const auto at = talks_.find(word->link.value_or(-1));
    if (at == talks_.end()) return true;  // a late one
    Talk& talk = at->second;
    for (const std::size_t end : {0, 1}) {
      if (talk.place(end) == connection.member->place) talk.said[end] = *word;
    }
    if (talk.said[0] && talk.said[1]) exchange(at);
    return true;
  }

  bool greet(Connection& connection, std::string_view line) {
    auto hello = read_hello(line, options_.token);
    if (!hello || hello->place >= options_.expected || !members_.emplace(hello->place, &connection).second)
      return false;
    write({.members = {{*hello}}});
    connection.member = *std::move(hello);
    return true;
  }

  // Removes connections that are to close.
  void sweep() {
    for (auto& [place, connection] : members_) {
      if (!connection || !connection->closes) continue;
      connection = nullptr;
      write({.left = place});
      give_up(place);
    }
    std::erase_if(connections_, [](const Connection& connection) { return connection.closes; });
  }

  const CollectorOptions& options_;
  Descriptor listening_;
  std::ostream& journal_;
  std::list<Connection> connections_;   // in the order of coming
  std::map<int, Connection*> members_;  // by place; null: it went away
  std::list<Pair> pairs_;               // that were tried
  std::map<int, Talk> talks_;           // by number of the link
  int next_number_ = 0;
};

}  // namespace

Result<Descriptor> listen_on(int port) {
  int error = 0;
  for (const int family : {AF_INET6, AF_INET}) {
    Descriptor descriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!descriptor) {
      error = errno;
      continue;
    }
    const int on = 1, off = 0;
    ::setsockopt(descriptor.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(descriptor.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 any{};  // the port stands at the same place for both families, and zeros behind it
    any.sin6_family = static_cast<sa_family_t>(family);
    any.sin6_port = htons(static_cast<std::uint16_t>(port));
    const socklen_t size = family == AF_INET6 ? sizeof any : sizeof(sockaddr_in);
    if (::bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&any), size) == 0 &&
        ::listen(descriptor.get(), SOMAXCONN) == 0)
      return descriptor;
    error = errno;
    if (error == EADDRINUSE) break;
  }
  return Error{"port " + std::to_string(port) + ": " + std::generic_category().message(error)};
}

Status collect(const CollectorOptions& options, Descriptor listening, std::ostream& journal) {
  return Collector(options, std::move(listening), journal).run();
}

}  // namespace nccl_env::packets
