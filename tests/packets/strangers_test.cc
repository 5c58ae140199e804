// SPDX-License-Identifier: Apache-2.0
// Strangers at the collector's door, and collectors that members should not trust.
#include "packets/test_run.h"
#include "support/matchers.h"

namespace nccl_env::tests::strangers_test {
namespace {

class Strangers : public TestRun {
 protected:
  // The test goes on as if nothing had been.
  void expect_a_sound_test() {
    join(0);
    join(1);
    const Proof proof = told();
    EXPECT_THAT(pairs_of(proof), ElementsAre("0>1: 0-0 1-1"));
    EXPECT_THAT(proof.left, SizeIs(0));
  }
};

TEST_F(Strangers, WithoutTheTokenNobodyHearsAnything) {
  lead(2);
  for (const std::string& said : {std::string("GET / HTTP/1.1\n"), hello(0, "wrong"), kToken + "0 {}\n",
                                  kToken + "\n", std::string(" {}\n")}) {
    const RawPeer peer(port_);
    peer.send(said);
    EXPECT_EQ(peer.hear(), "") << said;
  }
  expect_a_sound_test();
}

TEST_F(Strangers, ATakenPlaceStaysTaken) {
  options_.word_time = 200ms;
  lead(3);
  const RawPeer first(port_);
  first.send(hello(2));
  const RawPeer second(port_);
  second.send(hello(2));
  EXPECT_EQ(second.hear(), "");
  join(0);
  join(1);
  EXPECT_THAT(told().members, SizeIs(3));
}

TEST_F(Strangers, APlaceOutsideTheTestIsRefused) {
  lead(2);
  const RawPeer peer(port_);
  peer.send(hello(2));
  EXPECT_EQ(peer.hear(), "");
  expect_a_sound_test();
}

TEST_F(Strangers, ALineWithoutAnEndIsCutOff) {
  lead(2);
  const RawPeer peer(port_);
  peer.send(std::string(kMaxProofLine + 2, 'x'));
  EXPECT_EQ(peer.hear(), "");
  expect_a_sound_test();
}

TEST_F(Strangers, WhoSaysNothingIsSentAway) {
  options_.hello_time = 200ms;
  lead(2);
  const RawPeer peer(port_);
  EXPECT_EQ(peer.hear(), "");
  expect_a_sound_test();
}

TEST_F(Strangers, ManySilentOnesKeepNobodyOut) {
  lead(2);
  std::vector<std::unique_ptr<RawPeer>> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(std::make_unique<RawPeer>(port_));
  EXPECT_EQ(silent.front()->hear(), "") << "the oldest makes room";
  expect_a_sound_test();
}

TEST_F(Strangers, NobodyConnectsOnceTheRoundsHaveBegun) {
  options_.word_time = 1s;
  lead(2);
  const RawPeer peer(port_);
  peer.send(hello(1));
  join(0, {}, 1);
  EXPECT_THAT(peer.hear(), HasSubstr(R"("rail":0)"));
  EXPECT_FALSE(RawPeer(port_).connected());
}

// Without it the late one would keep a key that the other end knows.
TEST_F(Strangers, BothEndsOfALinkThatFailedHearSo) {
  options_.word_time = 200ms;
  lead(2);
  const RawPeer late(port_), other(port_);
  late.send(hello(0));
  other.send(hello(1));
  for (const RawPeer* peer : {&late, &other}) EXPECT_THAT(peer->hear(), HasSubstr(R"("rail":0)"));
  other.send(R"({"link":0,"queuePair":1,"key":7})"
             "\n");
  for (const RawPeer* peer : {&late, &other})
    EXPECT_EQ(peer->hear(), R"({"link":0,"step":"answer"})"
                            "\n");
  EXPECT_THAT(pairs_of(told()), ElementsAre("0>1: 0-0:answer@from"));
}

TEST_F(Strangers, APortThatIsTakenIsSaid) {
  lead(2);
  const auto second = packets::listen_on(port_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "port " + std::to_string(port_) + ": Address already in use");
  expect_a_sound_test();
}

// A collector by hand.
class Orders : public TestRun {
 protected:
  bool hear(int member) {
    std::array<char, 4096> heard;
    pollfd polled{member, POLLIN, 0};
    const ssize_t size = ::poll(&polled, 1, 5'000) == 1 ? ::recv(member, heard.data(), heard.size(), 0) : 0;
    if (size > 0) heard_.append(heard.data(), static_cast<std::size_t>(size));
    return size > 0;
  }
  // Returns what the member says in the end.
  std::string obey(const std::vector<std::string>& orders) {
    const Descriptor listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listening.get(), 1), 0);
    ::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    join(1);
    {
      const Descriptor member(::accept(listening.get(), nullptr, nullptr));
      for (const std::string& order : orders) {
        hear(member.get());  // the Hello, then the reply to the order before
        held_ = fabric_.queue_pairs();
        const std::string line = order + "\n";
        ::send(member.get(), line.data(), line.size(), MSG_NOSIGNAL);
      }
      while (!orders.empty() && hear(member.get())) {
      }
    }
    ::shutdown(listening.get(), SHUT_RDWR);
    finish();
    return errors_.empty() ? "done" : errors_.front();
  }

  std::string heard_;     // of the member
  std::size_t held_ = 0;  // queue pairs before the last order
};

TEST_F(Orders, AWordWithoutALinkEndsIt) {
  EXPECT_EQ(obey({"{}"}), "done");
}

TEST_F(Orders, ACollectorThatGoesAwayEndsTheMember) {
  EXPECT_EQ(obey({}), "the collector 127.0.0.1 went away");
}

std::string start(int link, int rail = 0) {
  return R"({"end":"to","bytes":4096,"rail":)" + std::to_string(rail) + R"(,"link":)" + std::to_string(link) +
         "}";
}

TEST_F(Orders, NonsenseEndsTheMember) {
  for (const std::string& order :
       {std::string("nonsense"), start(1, 2), start(1) + "\n" + start(1), std::string(R"({"link":-1})"),
        std::string(R"({"link":1,"end":"from","rail":0})"), std::string(R"({"end":"from"})")}) {
    errors_.clear();
    EXPECT_THAT(obey({order}), HasSubstr("ordered nonsense")) << order;
  }
}

TEST_F(Orders, AWordOnALinkThatIsOverIsLate) {
  EXPECT_EQ(obey({R"({"link":7,"step":"answer"})"
                  "\n{}"}),
            "done");
}

TEST_F(Orders, APeerThatNobodyCanReachFailsAtConnecting) {
  EXPECT_EQ(obey({start(1), R"({"link":1,"queuePair":1,"key":1,"mtu":100})", "{}"}), "done");
  EXPECT_THAT(heard_, HasSubstr(R"("step":"connect")"));
  EXPECT_EQ(held_, 0u);
}

TEST_F(Orders, ALinkThatFailedElsewhereIsReleasedAtOnce) {
  EXPECT_EQ(obey({start(1), start(2), "{}"}), "done");
  EXPECT_EQ(held_, 2u);
  const std::string failed = R"({"link":1,"step":"answer"})";
  EXPECT_EQ(obey({start(1), failed + "\n" + start(2), "{}"}), "done");
  EXPECT_EQ(held_, 1u);
}

TEST_F(Orders, MoreLinksThanTwoRoundsHaveAreRefused) {
  std::string orders;
  for (int link = 0; link <= 4 * kMaxProofLinks; ++link) orders += start(link) + "\n";
  orders.pop_back();
  EXPECT_THAT(obey({orders}), HasSubstr("ordered nonsense"));
}

}  // namespace
}  // namespace nccl_env::tests::strangers_test
