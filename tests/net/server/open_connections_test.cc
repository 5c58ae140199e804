// SPDX-License-Identifier: Apache-2.0
// Tests which connection goes when there is no place for one more, and how long each may stay silent.
#include "nccl_env/net/server/server.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <vector>

#include "net/server/fixture.h"
#include "server/worker.h"

namespace nccl_env::net::open_connections_test {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::make_address;
using ::testing::ElementsAre;
using State = OpenConnections::State;

// The books alone, at a time that the test says.
class DoorTest : public ::testing::Test {
 protected:
  void limit(int connections) { open = std::make_unique<OpenConnections>(connections); }
  // The ticket's number; 0 if there is no room.
  std::uint64_t enter(const std::string& address) {
    auto entrance = open->enter(make_address(address), 0, now);
    if (entrance.victim) gone.emplace_back(entrance.victim->id, entrance.victim->cause);
    if (entrance.victim) tickets.erase(entrance.victim->id);
    if (!entrance.ticket) return 0;
    const auto id = entrance.ticket->id();
    tickets.emplace(id, *std::move(entrance.ticket));
    return id;
  }
  std::uint64_t used(const std::string& address, State state, Clock::duration ago = {}) {
    const auto id = enter(address);
    tickets.at(id).set_used();
    EXPECT_TRUE(tickets.at(id).enter(state, now - ago));
    return id;
  }
  [[nodiscard]] bool has(std::uint64_t id) const { return tickets.count(id) > 0; }

  std::unique_ptr<OpenConnections> open;
  std::map<std::uint64_t, OpenConnections::Ticket> tickets;  // without those that went
  Clock::time_point now = Clock::time_point(1h);
  std::vector<std::pair<std::uint64_t, Eviction>> gone;
};

TEST_F(DoorTest, StrangersOfSoManyAddressesLeaveAnApiServerItsPart) {
  struct Way {
    const char* name;
    bool used;
    State state;
    Clock::duration age;
  };
  const Way ways[] = {
      {"silent", false, State::Idle, 1h},    {"a first request's half", false, State::Unfinished, 1h},
      {"half", true, State::Unfinished, 1h}, {"young", true, State::Unfinished, 1ms},
      {"fresh", true, State::Idle, 1ms},     {"idle", true, State::Idle, 1h}};
  for (const Way& way : ways) {
    for (const int addresses : {1, 5, 40, 200}) {
      SCOPED_TRACE(std::string(way.name) + " from " + std::to_string(addresses));
      tickets.clear();
      limit(1024);
      auto stranger = [&, next = 0]() mutable {
        const int number = next++ % addresses;
        const auto id = enter((number % 2 == 0 ? "10.0.0." : "fd00::") + std::to_string(number));
        if (way.used) tickets.at(id).set_used();
        tickets.at(id).enter(way.state, now - way.age);
      };
      std::vector<std::uint64_t> good = {used("10.1.1.1", State::Idle, 2h)};
      for (int i = 0; i < 1280; ++i) stranger();
      while (static_cast<int>(good.size()) < 1024 / (addresses + 1)) {
        good.push_back(enter("10.1.1.1"));  // and shakes hands meanwhile
        for (int i = 0; i < 10; ++i) stranger();
        tickets.at(good.back()).set_used();
        EXPECT_TRUE(tickets.at(good.back()).enter(State::Idle, now - 2h));
      }
      for (int i = 0; i < 1280; ++i) stranger();
      EXPECT_TRUE(std::all_of(good.begin(), good.end(), [&](auto id) { return has(id); }));
      EXPECT_EQ(open->count(), 1024);
    }
  }
}

TEST_F(DoorTest, WithinTheAddressTheyGoInOrder) {
  limit(8);
  const auto young = used("10.0.0.1", State::Unfinished, 400ms);
  const auto younger = used("10.0.0.1", State::Unfinished, 300ms);
  const auto idle = used("10.0.0.1", State::Idle, 1s);
  const auto idle_longest = used("10.0.0.1", State::Idle, 9s);
  const auto half = used("10.0.0.1", State::Unfinished, 501ms);
  const auto half_longest = used("10.0.0.1", State::Unfinished, 2s);
  const auto never = enter("10.0.0.1");
  now += 1ms;
  const auto never_later = enter("10.0.0.1");
  ASSERT_TRUE(tickets.at(never_later).enter(State::Unfinished, now));
  for (int i = 0; i < 7; ++i) used("10.0.0.1", State::Answering);
  EXPECT_THAT(
      gone, ElementsAre(std::pair(never, Eviction::Unused), std::pair(never_later, Eviction::Unused),
                        std::pair(half_longest, Eviction::Unfinished), std::pair(half, Eviction::Unfinished),
                        std::pair(idle_longest, Eviction::Idle), std::pair(idle, Eviction::Idle),
                        std::pair(young, Eviction::Unfinished)));
  EXPECT_TRUE(has(younger));
}

TEST_F(DoorTest, OnlyWhatIsBeingAnsweredNeverPays) {
  limit(3);
  used("10.0.0.1", State::Answering);
  used("10.0.0.1", State::Answering);
  const auto other = used("10.0.0.2", State::Unfinished);
  const auto id = used("10.0.0.1", State::Answering);
  EXPECT_THAT(gone, ElementsAre(std::pair(other, Eviction::Unfinished)))
      << "the address with most has none to give";
  EXPECT_EQ(enter("10.0.0.1"), 0u);
  EXPECT_EQ(enter("10.0.0.3"), 0u);
  ASSERT_TRUE(tickets.at(id).enter(State::Unfinished, now));
  EXPECT_NE(enter("10.0.0.3"), 0u);
  EXPECT_EQ(gone.back().first, id);
}

TEST_F(DoorTest, TheNewcomerCountsWithItsAddress) {
  limit(4);
  const auto a = used("10.0.0.1", State::Idle, 5s);
  const auto b = used("10.0.0.1", State::Idle, 6s), c = used("10.0.0.2", State::Idle, 9s);
  used("10.0.0.3", State::Idle, 9s);
  enter("10.0.0.2");  // as many as the first now
  EXPECT_THAT(gone, ElementsAre(std::pair(c, Eviction::Idle)));
  enter("10.0.0.4");
  EXPECT_EQ(gone.back().first, b);
  EXPECT_TRUE(has(a));
}

TEST_F(DoorTest, ALoneAddressMayHoldAll) {
  limit(16);
  for (int i = 0; i < 16; ++i) used("10.0.0.1", State::Idle);
  EXPECT_TRUE(gone.empty());
}

// A proxy, or source NAT: what of the API server is whole and taken goes after what strangers leave
// unfinished.
TEST_F(DoorTest, BehindOneAddressHalfRequestsGoBeforeIdleConnections) {
  limit(64);
  std::vector<std::uint64_t> good;
  for (int i = 0; i < 8; ++i) good.push_back(used("10.0.0.1", State::Idle, 1min));
  for (int i = 0; i < 56; ++i) used("10.0.0.1", State::Unfinished, 1s);
  for (int i = 0; i < 200; ++i) used("10.0.0.1", State::Unfinished, 1s);
  EXPECT_TRUE(std::all_of(good.begin(), good.end(), [&](auto id) { return has(id); }));
}

TEST_F(DoorTest, WhoWasToldToGoStaysToldAndTooManyOfThemKeepTheDoorShut) {
  limit(16);
  std::vector<OpenConnections::Ticket> leaving;
  for (int i = 0; i < 32; ++i) {
    EXPECT_FALSE(open->behind());
    leaving.push_back(*open->enter(make_address("10.0.0.1"), 0, now).ticket);
  }
  EXPECT_TRUE(open->behind());
  EXPECT_FALSE(open->enter(make_address("10.0.0.2"), 0, now).ticket);
  EXPECT_TRUE(leaving.front().given_up());
  EXPECT_FALSE(leaving.front().enter(State::Answering, now));
  EXPECT_TRUE(leaving.back().enter(State::Answering, now));
  leaving.clear();
  EXPECT_EQ(open->count(), 0);
}

TEST(BodyRoomTest, SoManyAddressesLeaveAnotherItsPart) {
  constexpr std::int64_t kAll = 64 << 20;
  for (const int addresses : {1, 5, 40}) {
    std::atomic<std::int64_t> left{kAll}, good{0};
    std::vector<std::atomic<std::int64_t>> held(static_cast<std::size_t>(addresses));
    std::list<BodyRoom> rooms;
    for (int round = 0; round < 1024; ++round)
      for (auto& of_peer : held)
        if (!rooms.emplace_back(left, of_peer).cover(128 << 10)) rooms.pop_back();
    EXPECT_GE(left, kAll / (addresses + 1)) << addresses;
    EXPECT_TRUE(BodyRoom(left, good).cover(600 << 10)) << addresses;
    rooms.clear();
    EXPECT_EQ(left, kAll);
  }
}

class OpenConnectionsTest : public ServerTest {
 protected:
  Gate gate;

  OpenConnectionsTest() {
    options.threads = 2;
    options.max_connections = 16;
  }
  ~OpenConnectionsTest() override { gate.open(); }

  void start_gated() {
    start({[](const HttpRequest& request) -> std::optional<HttpResponse> {
             if (request.path() == "/wait") return std::nullopt;
             return echo(request);
           },
           check,
           [this](const HttpRequest&) {
             gate.pass();
             return HttpResponse{200, "text/plain", "late", {}, false};
           },
           [](const HttpRequest&) {
             return HttpResponse{200, "text/plain", "overload", {}, false};
           }});
  }
  // A client that has been accepted, so that the next one is younger.
  TestClient& connect(int from = 1, int receive_buffer = 0) {
    const auto before = server->stats().connections_accepted + server->stats().connections_refused;
    clients_.emplace_back(server->port(), false, nullptr, from, receive_buffer);
    EXPECT_TRUE(eventually([&] {
      const ServerStats stats = server->stats();
      return stats.connections_accepted + stats.connections_refused > before;
    }));
    return clients_.back();
  }
  TestClient& connect_used(int from = 1) {
    TestClient& client = connect(from);
    EXPECT_TRUE(asks(client));
    return client;
  }
  // Whether it is answered; then it rests in the server's books, too, which comes after the reply.
  bool asks(TestClient& client) {
    const auto sent = server->stats().bytes_sent;
    return client.send(post("/echo", "x")) && client.read_reply().status == 200 &&
           eventually([&] { return server->stats().bytes_sent > sent; });
  }
  [[nodiscard]] std::uint64_t evicted(Eviction cause) const {
    return server->stats().connections_evicted[static_cast<std::size_t>(cause)];
  }

 private:
  std::list<TestClient> clients_;
};

TEST_F(OpenConnectionsTest, ThoseThatNeverFinishedARequestGoFirstOldestFirst) {
  start();
  TestClient& idle = connect_used();
  TestClient& silent = connect();
  TestClient& begun = connect();
  ASSERT_TRUE(begun.send(
      "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\nhalf"));
  for (int i = 3; i < options.max_connections; ++i) connect_used();
  EXPECT_TRUE(asks(connect()));
  EXPECT_TRUE(silent.at_end());
  EXPECT_TRUE(asks(connect()));
  EXPECT_TRUE(begun.at_end()) << "a request that was begun is not a finished one";
  EXPECT_EQ(evicted(Eviction::Unused), 2u);
  EXPECT_EQ(evicted(Eviction::Idle), 0u);
  EXPECT_TRUE(asks(idle));
  EXPECT_EQ(server->stats().connections_refused, 0u);
}

TEST_F(OpenConnectionsTest, AmongStrangersTheAddressWithMostOfThemGivesWay) {
  start();
  TestClient& probe = connect(1);
  for (int i = 0; i < 10 * options.max_connections; ++i) connect(2 + i % 5);
  EXPECT_TRUE(asks(probe));
  EXPECT_EQ(server->stats().connections_refused, 0u);
}

TEST_F(OpenConnectionsTest, ThenThoseThatAreIdleLongest) {
  start();
  TestClient& first = connect_used();
  TestClient& second = connect_used();
  for (int i = 2; i < options.max_connections; ++i) connect_used();
  ASSERT_TRUE(asks(first));  // now the second is idle longest
  EXPECT_TRUE(asks(connect()));
  EXPECT_TRUE(second.at_end());
  EXPECT_TRUE(asks(first));
  EXPECT_EQ(evicted(Eviction::Idle), 1u);
}

TEST_F(OpenConnectionsTest, ARefusedRequestIsNotAFinishedOne) {
  start();
  TestClient& refused = connect();
  EXPECT_EQ(refused.ask("GET /nowhere HTTP/1.1\r\nHost: t\r\n\r\n").status, 404);
  for (int i = 1; i < options.max_connections; ++i) connect_used();
  EXPECT_TRUE(asks(connect()));
  EXPECT_TRUE(refused.at_end());
  EXPECT_EQ(evicted(Eviction::Unused), 1u);
}

TEST_F(OpenConnectionsTest, NeverOneInTheMiddleOfARequest) {
  options.max_connections = options.waiting_threads = 4;
  start_gated();
  std::vector<TestClient*> busy;
  for (int i = 0; i < 4; ++i) {
    busy.push_back(&connect());
    ASSERT_TRUE(busy.back()->send(post("/wait", "x")));
    ASSERT_TRUE(eventually([&] { return gate.came() == i + 1; }));
  }
  EXPECT_TRUE(connect().at_end()) << "there is nobody to go";
  EXPECT_EQ(server->stats().connections_refused, 1u);
  gate.open();
  for (TestClient* client : busy) EXPECT_EQ(client->read_reply().body, "late");
  EXPECT_TRUE(eventually([&] { return asks(connect()); }));
}

TEST_F(OpenConnectionsTest, AUsedConnectionThatSendsItsNextRequestStays) {
  options.max_connections = 2;
  start();
  TestClient& sending = connect_used();
  TestClient& other = connect_used();
  const auto received = server->stats().bytes_received;
  ASSERT_TRUE(sending.send("POST /ec"));
  ASSERT_TRUE(eventually([&] { return server->stats().bytes_received > received; }));
  EXPECT_TRUE(asks(connect()));
  EXPECT_TRUE(other.at_end());
  EXPECT_EQ(sending.ask(post("/echo", "y").substr(8)).body, "y");
}

TEST_F(OpenConnectionsTest, AFloodOfSilentConnectionsFromManyAddressesLetsGoodOnesThrough) {
  start();
  TestClient& kept = connect_used();
  for (int i = 0; i < 100; ++i) {
    connect(2 + i % 50);
    if (i % 10 == 0) {
      EXPECT_TRUE(asks(connect(100))) << i;
      EXPECT_TRUE(asks(kept)) << i;
    }
  }
  EXPECT_EQ(server->stats().connections_refused, 0u);
}

TEST_F(OpenConnectionsTest, PipelinedRequestsWaitTheirTurn) {
  options.threads = 1;
  std::mutex held;
  std::unique_lock closed(held);
  std::atomic<int> pipelined{0}, before_the_other{-1};
  start({[&](const HttpRequest& request) {
    if (request.path() == "/other") before_the_other = pipelined.load();
    if (request.path() == "/many" && ++pipelined == 1) const std::lock_guard passed(held);
    return echo(request);
  }});
  TestClient& other = connect_used();
  TestClient& many = connect();
  std::string requests;
  for (int i = 0; i < 50; ++i) requests += post("/many", "x");  // less than the input buffer holds
  ASSERT_TRUE(many.send(requests));
  ASSERT_TRUE(eventually([&] { return pipelined == 1; }));
  ASSERT_TRUE(other.send(post("/other", "x")));
  closed.unlock();
  EXPECT_EQ(other.read_reply().status, 200);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(many.read_reply().status, 200) << i;
  EXPECT_LE(before_the_other, 5);
}

// Its replies stand in the kernel's buffers, so nothing is left to be written; but they are not taken.
TEST_F(OpenConnectionsTest, AReplyThatIsNeverReadEndsTheConnection) {
  options.write_timeout = 200ms;
  start();
  TestClient& client = connect(1, 4096);
  ASSERT_TRUE(client.send(post("/echo", std::string(50'000, 'x'))));
  EXPECT_TRUE(eventually([&] { return evicted(Eviction::Unread) + server->stats().deadline_closes == 1; }));
  EXPECT_TRUE(eventually([&] { return server->stats().connections_open == 0; }));
}

TEST_F(OpenConnectionsTest, AReplyThatIsReadLeavesTheConnectionIdle) {
  options.write_timeout = 50ms;
  options.idle_timeout = 500ms;
  start();
  TestClient& client = connect();
  EXPECT_EQ(client.ask(post("/echo", std::string(50'000, 'x'))).body.size(), 50'000u);
  EXPECT_TRUE(client.at_end());  // at the end of its idle time
  EXPECT_EQ(evicted(Eviction::Unread), 0u);
}

// The kernel would take 4 MiB of it by itself.
TEST_F(OpenConnectionsTest, TheKernelHoldsLittleOfWhatIsNotRead) {
  options.write_timeout = 300ms;
  start();
  TestClient& client = connect(1, 4096);
  ASSERT_TRUE(client.send(post("/echo", std::string(1 << 20, 'x'))));
  EXPECT_TRUE(eventually([&] { return server->stats().deadline_closes == 1; })) << "the write ended";
  EXPECT_EQ(server->stats().bytes_sent, 0u);
}

}  // namespace
}  // namespace nccl_env::net::open_connections_test
