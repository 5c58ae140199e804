// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/nccl_log/nccl_log.h"

#include <algorithm>
#include <tuple>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/judge/nccl_log/failure_line.h"
#include "nccl_env/judge/nccl_log/log_text.h"
#include "nccl_log/log_line.h"

namespace nccl_env {
namespace {

// More different texts than any job says; a hostile log has more.
constexpr std::size_t kMostFacts = 256;
constexpr std::size_t kLongestFact = 2048;
constexpr std::size_t kLongestProcess = 256;

// A line that tells a fact by its words: `what`, or what stands behind them.
struct FactLine {
  std::string_view words;
  NcclLog::Facts NcclLog::*facts;
  std::string_view what = {};
};
constexpr FactLine kFactLines[] = {
    {"NET/IB : No device found", &NcclLog::no_device, "NET/IB : No device found."},
    {"Using network ", &NcclLog::networks},  // a plugin's name may hold blanks: "AWS Libfabric"
    {"Using internal Network ", &NcclLog::networks},
    {"sing internal network plugin", &NcclLog::plugins, kOwnPlugin},
    {"sing internal net plugin", &NcclLog::plugins, kOwnPlugin},
    {"No plugin found (", &NcclLog::plugins, kOwnPlugin},
    {" via P2P/", &NcclLog::local_transports, "P2P"},
    {" via SHM/", &NcclLog::local_transports, "SHM"},
};

// Messages of NCCL's begin so, also in lines that lost what stands before: people post excerpts, and PyTorch
// prints the last error alone.
// clang-format off
constexpr std::string_view kBareInfo[] = {
    "NET/IB : ", "NET/IB: ", "NET/Socket : ", "NET/OFI ", "Bootstrap : Using ", "Bootstrap: Using ",
    "Using network ", "socketPollConnect: connect to "};
constexpr std::string_view kBareWarnings[] = {
    "Call to ibv_", "Call to connect to ", "Call to recv from ", "socketStartConnect: Connect to ",
    "socketPollConnect: connect to ", "Net : Connect to ", "Error while attaching to shared memory segment ",
    "Error while creating shared memory segment ", "Error: failed to extend /dev/shm/", "NET/IB : Got ",
    "NET/IB: Got ", "Got completion ", "Bootstrap : no socket interface found",
    "Bootstrap: no socket interface found", "No socket interface found"};
// clang-format on

bool is_nccl_variable(std::string_view text) {
  return text.starts_with("NCCL_") && text.size() <= 64 && is_variable_name(text);
}

// True for data of a job that reads or writes texts, in which any words may stand: {"text": "…"}. A logger's
// own JSON has a level.
bool is_sample(std::string_view text) {
  constexpr std::string_view kKeys[] = {
      "\"text\":", "\"prompt\":", "\"content\":", "\"messages\":", "\"question\":", "\"answer\":"};
  constexpr std::string_view kLoggers[] = {"\"level\"", "\"record\"", "\"severity\"", "\"log\""};
  return text.starts_with('{') && has_any(text, kKeys) && !has_any(text, kLoggers);
}

// True if a person's words stand before the mark: 'Prompt: "My log says NCCL WARN …"'.
bool is_quoted(std::string_view before) {
  return has(before, "\"") && prefix_of(before).empty();
}

}  // namespace

// "eth0:10.1.2.3<0>", of a list "[1]eth0:10.1.2.3<0>".
struct NcclLogReader::NamedAddress {
  std::string_view name;
  std::string_view address;

  explicit NamedAddress(std::string_view word) {
    if (word.starts_with('[')) take_word(word, "]");
    if (!has(word, ":")) return;  // it was cut
    name = take_word(word, ":");
    address = address_of_peer(word);
  }
};

std::set<std::uint32_t> NcclLog::processes_of(std::string_view peer) const {
  peer = address_of_peer(peer);
  if (const auto found = addresses.find(peer); found != addresses.end()) return found->second.processes;
  std::set<std::uint32_t> of_host;
  for (std::uint32_t i = 0; i < process_names.size(); ++i) {
    if (host_of(process_names[i]) == peer) of_host.insert(i);
  }
  return of_host;
}

const NcclLog::Facts& NcclLog::read(std::string_view variable) const {
  static const Facts kNone;
  const auto found = values.find(variable);
  return found == values.end() ? kNone : found->second;
}

bool NcclLog::is_of_one_node() const {
  if (nodes > 0) return nodes == 1;
  return ranks > 0 && hosts == 1 && processes >= static_cast<std::size_t>(ranks);
}

std::set<std::string> NcclLog::hosts_of(const std::set<std::uint32_t>& of) const {
  std::set<std::string> names;
  for (const std::uint32_t process : of) {
    if (process < process_names.size()) names.emplace(host_of(process_names[process]));
  }
  return names;
}

struct NcclLogReader::Message {
  std::string_view text;
  std::optional<std::uint32_t> process;
  std::string_view thread;  // "gpu-1:984:1357"
  std::string_view before;  // what stands before it in its line
  bool warning = false;
  bool cut = false;  // its end may be missing
  std::uint64_t line = 0;

  void note(NcclLog::Facts& facts, std::string_view what) const {
    what = what.substr(0, kLongestFact);
    auto found = facts.find(what);
    if (found == facts.end()) {
      if (facts.size() >= kMostFacts) return;
      found = facts.emplace(std::string(what), LogFact{line, {}}).first;
    }
    if (process) found->second.processes.insert(*process);
  }
  void note(std::map<std::string, NcclLog::Facts, std::less<>>& of, std::string_view name,
            std::string_view what) const {
    constexpr std::size_t kMostValues = 8;  // of one variable
    if (of.size() >= kMostFacts && !of.contains(name)) return;
    NcclLog::Facts& values = of[std::string(name)];
    if (values.size() < kMostValues || values.contains(what.substr(0, kLongestFact))) note(values, what);
  }
};

// The number of "gpu-1:984"; nothing once there are too many.
std::optional<std::uint32_t> NcclLogReader::process_of(std::string_view process) {
  const auto known = processes_.find(process);
  if (known != processes_.end()) return known->second;
  if (processes_.size() >= kMaxProcesses) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(processes_.size());
  processes_.emplace(process, number);
  log_.process_names.emplace_back(process.substr(0, kLongestProcess));
  hosts_.emplace(host_of(process));
  return number;
}

void NcclLogReader::read_line(std::string_view text, bool cut) {
  ++log_.lines;
  read_rest(text, cut);
}

void NcclLogReader::read_rest(std::string_view text, bool cut) {
  const PlainLine plain = plain_line(text);
  stamp_ = plain.stamp;
  std::string_view left = plain.text;
  do {
    const std::string_view line = take_word(left, "\n");
    read_plain(line, cut && left.empty());
  } while (!left.empty());
}

void NcclLogReader::read_plain(std::string_view text, bool cut) {
  text = trimmed_text(text);
  Message message;
  message.line = log_.lines;
  bool ours = false;
  // Printed without a prefix, by rank 0.
  if (const std::string version = version_in(text); !version.empty()) {
    note_version(message, version);
    ours = true;
  }
  // When processes write into each other's lines, a line holds a few messages, not thousands.
  int messages = 0;
  LogMark mark = find_mark(text, 0);
  if (mark.at != text.npos && is_quoted(text.substr(0, mark.at))) mark = {};
  for (; mark.at != text.npos && messages < 16; ++messages) {
    const std::size_t end = end_of_message(text, mark.begin), size = end - mark.begin;
    message.text = trimmed_text(text.substr(mark.begin, size));
    message.before = text.substr(0, mark.at);
    message.thread = prefix_of(message.before).substr(0, kLongestFact);
    message.process.reset();
    if (has(message.thread, ":")) message.process = process_of(host_of(message.thread));
    message.warning = mark.warning;
    // NCCL up to 2.28 cuts its lines, prefix included, at 1023 bytes.
    message.cut = size + message.thread.size() + 20 >= 1023 || end != text.size() || cut;
    read_message(message);
    ours = true;
    mark = find_mark(text, mark.begin);
  }
  if (messages == 0) {
    message.text = text;
    ours = read_unmarked(message) || ours;
  }
  if (ours && counted_ != log_.lines) {
    counted_ = log_.lines;
    ++log_.nccl_lines;
  }
  log_.processes = processes_.size();
  log_.hosts = hosts_.size();
}

// A line without NCCL's mark: another program's, or one of NCCL's that lost it. Engines count their own
// lines.
bool NcclLogReader::read_unmarked(const Message& message) {
  if (is_sample(message.text)) return false;
  const std::string_view text = behind_rank(message.text);
  // nccl-tests' last lines
  log_.ended = log_.ended || has_any(text, {" Avg bus bandwidth", " Out of bounds values"});
  if (read_engine(message)) return false;
  if (read_bare(message) || read_framework(message)) return true;
  note_end(message);
  return false;
}

// Notes an error that is not the network's, and whether the program goes on behind it.
void NcclLogReader::note_end(const Message& message) {
  if (is_error_elsewhere(message.text)) {
    NcclFailure failure = failure_of(Code::EndedElsewhere, message.text);
    failure.line = failure.last_line = message.line;
    failure.first_time = clock_in(stamp_);
    log_.last_error = std::move(failure);
    log_.went_on = 0;
  } else if (is_ordinary(message.text)) {
    ++log_.went_on;
  }
}

// PyTorch tells "2.14.3" of the library that tells "2.14.3+cuda11.7".
void NcclLogReader::note_version(const Message& message, std::string_view version) {
  const std::string number(version.substr(0, version.find('+')));
  const auto is_built = [&](const std::string& known) { return known.starts_with(number + "+"); };
  if (number != version) {
    log_.versions.erase(number);
  } else if (std::ranges::any_of(keys_of(log_.versions), is_built)) {
    return;
  }
  message.note(log_.versions, version);
}

// UCX and NVSHMEM, in a job that has them beside NCCL or alone.
bool NcclLogReader::read_engine(const Message& message) {
  auto read = read_ucx_line(message.text, message.line, log_.ucx);
  if (!read) read = read_nvshmem_line(message.text, message.line, log_.nvshmem);
  if (!read) return false;
  Message of_process = message;
  if (!read->process.empty()) of_process.process = process_of(read->process);
  if (read->failure) add_failure(of_process, *std::move(read->failure));
  return true;
}

// Lines of NCCL's without "NCCL INFO". A warning counts only where it is known.
bool NcclLogReader::read_bare(const Message& message) {
  if (last_error_) return false;
  Message bare = message;
  bare.text = behind_rank(message.text);
  if (begins_with_any(bare.text, kBareWarnings)) {
    auto failure = read_nccl_failure(bare.text, true);
    if (failure && failure->code != Code::UnknownWarning) {
      add_failure(bare, *std::move(failure), true);
      return true;
    }
  }
  if (!begins_with_any(bare.text, kBareInfo)) return false;
  read_message(bare);
  return true;
}

// PyTorch prints NCCL's last warning without its prefix, in the line below "Last error:".
bool NcclLogReader::read_framework(const Message& message) {
  constexpr std::string_view kLastError = "Last error:";
  constexpr std::uint64_t kNear = 8;  // lines between "NCCL error in: …" and "Last error:"
  std::string_view text = message.text;
  const bool near = framework_line_ > 0 && message.line - framework_line_ <= kNear;
  // A line of another rank stands between.
  const bool of_other =
      last_error_ && near && last_error_->starts_with("[rank") && !text.starts_with(*last_error_);
  if (last_error_ && !of_other) {
    if (text.starts_with(*last_error_)) text = trimmed_text(text.substr(last_error_->size()));
    last_error_.reset();
    if (text.empty() || begins_with_any(text, {"Exception raised", "Traceback"})) return false;
    if (auto failure = read_nccl_failure(text, true)) add_failure(message, *std::move(failure), true);
    return true;
  }
  if (near && text.ends_with(kLastError)) {
    last_error_ = text.substr(0, std::min(text.size() - kLastError.size(), kLongestFact));
    return true;
  }
  auto failure = read_framework_failure(text);
  if (!failure) return false;
  framework_line_ = message.line;
  add_failure(message, *std::move(failure), has_any(text, {"Last error: ", "Last NCCL warning"}));
  return true;
}

void NcclLogReader::read_message(const Message& message) {
  const std::string_view text = message.text;
  read_trace(message);
  if (auto failure = read_nccl_failure(text, message.warning))
    return add_failure(message, *std::move(failure));
  if (has(text, "port active") && log_.ports_back.size() < kMostFacts)
    log_.ports_back.insert_or_assign(std::string(word_behind(text, "NET/IB : ", " :")), message.line);
  if (message.warning) {
    if (!message.thread.empty()) message.note(warned_, message.thread);
    return message.note(log_.warnings, text);
  }
  if (read_value(message) || read_network(message)) return;
  if (const auto ports = text_behind(text, "NET/IB : Using")) return read_devices(message, *ports);
  if (has(text, "comm 0x")) return read_initialisation(message);
  // "NET/IB: Dev 0 Port 1 qpn 12 mtu 5 GID 3 (…)": the row that a queue pair has.
  const auto pair = text_behind(text, " qp");
  if (!pair || !text.starts_with("NET/IB")) return;
  if (const std::string_view mtu = word_behind(*pair, " mtu "); is_digits(mtu) && mtu.size() == 1)
    message.note(log_.mtus, mtu);
  if (const std::string_view index = text_between(*pair, " GID ", " (");
      is_digits(index) && index.size() <= 3)
    message.note(log_.gid_indexes, index);
}

// "comm 0x55d9 rank 0 nRanks 16 nNodes 2 localRanks 8 …" (from 2.20), "comm 0x55d9 rank 0 nranks 16 cudaDev 0
// … - Init START", "… - Init COMPLETE".
void NcclLogReader::read_initialisation(const Message& message) {
  const std::string_view text = message.text;
  const auto number = [&](std::string_view mark) { return std::max(int_behind(text, mark).value_or(0), 0); };
  const int rank = number(" rank "), ranks = std::max(number(" nRanks "), number(" nranks "));
  log_.nodes = std::max(log_.nodes, number(" nNodes "));
  if (ranks > log_.ranks) log_.own_ranks.clear();
  log_.ranks = std::max(log_.ranks, ranks);
  // A group that was split off numbers its ranks by keys of its own.
  if (ranks == log_.ranks && rank < ranks && !has(text, "Split") && log_.own_ranks.size() < kMostFacts)
    log_.own_ranks.insert(rank);
  const std::string of = std::string(host_of(message.thread)) + " " +
                         std::string(word_behind(text, "comm ")) + " " + std::to_string(rank) + " of " +
                         std::to_string(ranks);
  log_.ended = log_.ended || has(text, "Destroy COMPLETE");
  if (text.ends_with("Init START")) message.note(log_.initialising, of);
  if (!has(text, "Init COMPLETE")) return;
  ++log_.initialised;
  log_.initialising.erase(of);
  log_.last_error.reset();  // all its ranks live
}

// A harmless WARN that an error's trace follows in the same thread was none: "init.cc:1303 -> 2".
void NcclLogReader::read_trace(const Message& message) {
  const auto warned = warned_.find(message.thread.substr(0, kLongestFact));
  if (warned == warned_.end()) return;
  const std::uint64_t line = warned->second.line;
  warned_.erase(warned);
  const int result = int_behind(message.text, "-> ").value_or(0);
  if (message.warning || !has(message.text, ":") || result < 1 || result > kLastResult) return;
  const auto of = std::ranges::find(log_.warnings, line, [](const auto& each) { return each.second.line; });
  if (of == log_.warnings.end()) return;
  add_failure(message, failure_of(Code::UnknownWarning, of->first));
  log_.warnings.erase(of);
}

// "NAME set by environment to VALUE[.]", "NAME set to VALUE", "Invalid value VALUE for NAME, using
// default 1."
bool NcclLogReader::read_value(const Message& message) {
  const std::string_view text = message.text;
  if (const auto invalid = text_behind(text, "Invalid value ")) {
    const std::string_view name = word_behind(*invalid, " for ");
    if (!is_nccl_variable(name)) return false;
    message.note(log_.refused, name, invalid->substr(0, invalid->find(" for ")));
    return true;
  }
  for (const std::string_view mark : {" set by environment to ", " set to "}) {
    const std::string_view before = text.substr(0, text.find(mark));
    const std::string_view name = before.substr(before.rfind(' ') + 1);
    if (before.size() == text.size() || !is_nccl_variable(name)) continue;
    std::string_view value = trimmed_text(text.substr(before.size() + mark.size()));
    const bool period = value.ends_with('.');
    const Variable* known = find_nccl_variable(name);
    const bool integer = known ? known->kind == ValueKind::Integer : period;
    // A number without its period may be cut and tells nothing. NCCL_P2P_DISABLE is printed without a period.
    const bool bare = name == "NCCL_P2P_DISABLE" && !message.cut;
    if (integer && period) value.remove_suffix(1);
    if (value.empty() || (integer && !period && !bare)) return true;
    message.note(log_.values, name, std::string(value) + (!integer && message.cut ? "..." : ""));
    return true;
  }
  return false;
}

// "[0]mlx5_0:1/RoCE [1]={[0] mlx5_1:1/RoCE, [1] mlx5_2:1/RoCE} [RO]; OOB eth0:10.1.2.3<0>": every NAME:PORT
// before a slash, without the rail and plane that may follow the port.
void NcclLogReader::read_devices(const Message& message, std::string_view ports) {
  const std::size_t out_of_band = ports.find("; OOB ");
  log_.device_line_cut = log_.device_line_cut || out_of_band == ports.npos;
  note_bootstrap(message, NamedAddress(text_behind(ports, "; OOB ").value_or("")));
  ports = ports.substr(0, out_of_band);
  const bool mixed_before = log_.links.size() > 1;
  std::string_view number;  // of the next device
  while (!ports.empty()) {
    std::string_view link = take_word(ports, " ]{");
    if (link.starts_with('[')) number = link.substr(1);
    if (!has(link, "/")) continue;
    const std::string_view device = take_word(link, "/");
    std::string_view rest = device;
    const std::string_view name = take_word(rest, ":"), port = take_word(rest, ":");
    if (!name.empty() && is_digits(port) && port.size() <= 3)
      message.note(log_.devices, device.substr(0, name.size() + 1 + port.size()));
    if (is_digits(number) && number.size() <= 3) {
      const auto [known, added] = numbered_.emplace(number, name);
      if (known->second != name) known->second.clear();
    }
    link = up_to(link, ",};[");
    if (link == "IB") message.note(log_.links, "InfiniBand");
    if (link == "RoCE") message.note(log_.links, "RoCE");
  }
  if (!mixed_before && log_.links.size() > 1)
    add_failure(message, failure_of(Code::MixedLinks, message.text));
}

bool NcclLogReader::read_network(const Message& message) {
  const std::string_view text = message.text;
  for (const auto& [words, facts, what] : kFactLines) {
    const std::string_view behind = trimmed_text(word_behind(text, words, ""));
    if (what.empty() ? behind.empty() : !has(text, words)) continue;
    message.note(log_.*facts, what.empty() ? behind : what);
    return true;
  }
  if (const auto plugin = text_behind(text, "Plugin Path : ")) {
    message.note(log_.plugins, plugin->substr(plugin->rfind('/') + 1));
    return true;
  }
  if (const std::string_view via = word_behind(text, " via NET/", "/"); !via.empty()) {
    message.note(log_.transports, "NET/" + std::string(via));
    return true;
  }
  if (read_interfaces(message)) return true;
  const NamedAddress interface(word_behind(text, {"Bootstrap : Using ", "Bootstrap: Using "}));
  if (interface.name.empty()) return false;
  note_bootstrap(message, interface);
  note_unreachable(message, interface);
  return true;
}

// "NET/Socket : Using [0]eth0:10.1.2.3<0> [1]br-05ab:172.19.0.1<0>": each address that sockets take.
bool NcclLogReader::read_interfaces(const Message& message) {
  constexpr std::string_view kSockets = "NET/Socket : Using ";
  if (!message.text.starts_with(kSockets)) return false;
  std::string_view text = message.text.substr(kSockets.size());
  for (int words = 0; words < 64 && !text.empty(); ++words) {
    const NamedAddress named(take_word(text, " "));
    if (!named.name.empty() && !named.address.empty() && log_.interfaces.size() < kMostFacts)
      log_.interfaces.emplace(up_to(named.address, ""), up_to(named.name, ""));
    // The first one is the bootstrap's.
    if (words > 0) note_unreachable(message, named);
  }
  return true;
}

void NcclLogReader::note_bootstrap(const Message& message, const NamedAddress& interface) {
  if (!interface.name.empty()) message.note(log_.bootstrap, interface.name);
  if (!interface.address.empty()) message.note(log_.addresses, interface.address);
}

void NcclLogReader::note_unreachable(const Message& message, const NamedAddress& interface) {
  if (auto failure = read_unreachable(interface.name, interface.address, message.text))
    add_failure(message, *std::move(failure));
}

// An error that is not the network's, with which the log ended until this failure, led to it, unless another
// failure stands before.
void NcclLogReader::acquit(const NcclFailure& behind) {
  const auto may_be_first = [&](const NcclFailure& each) {
    return !each.retried && each.nearness() != Nearness::Slows && each.code != Code::UnknownWarning &&
           (each.code != Code::UnreachableInterface || !each.peer.empty() || log_.initialised == 0);
  };
  if (!log_.ends_elsewhere() || !behind.may_follow_end() || std::ranges::any_of(log_.failures, may_be_first))
    return;
  log_.failures.push_back(*log_.last_error);
}

// Failures of one kind, port and row are one: a job that fails prints them for each channel and rank.
// `repeated`: a framework repeats NCCL's last warning, which counts once.
void NcclLogReader::add_failure(const Message& message, NcclFailure failure, bool repeated) {
  if (repeated &&
      std::ranges::any_of(log_.failures, [&](const NcclFailure& each) { return each.text == failure.text; }))
    return;
  if (const auto of = numbered_.find(failure.device); of != numbered_.end()) failure.device = of->second;
  if (is_digits(failure.device)) failure.device.clear();
  if (log_.last_error) acquit(failure);
  if (const auto& call = failure.waits_for; call && log_.calls.size() < kMaxProcesses)
    log_.calls.emplace(call->rank, call->call);
  const bool of_sockets = failure.code == Code::NoConnection || failure.code == Code::UnreachableInterface;
  if (of_sockets && failure.device.empty()) {
    for (const auto& [interface, fact] : log_.bootstrap) {
      if (!message.process || fact.processes.contains(*message.process)) failure.device = interface;
    }
  }
  std::string time = clock_in(message.before);
  if (time.empty()) time = clock_in(stamp_);
  const auto about = [](const NcclFailure& of) {
    return std::tie(of.code, of.device, of.port, of.gid_index, of.local_gid, of.error);
  };
  auto same = std::ranges::find_if(log_.failures, [&](const NcclFailure& each) {
    return about(each) == about(failure) && (each.code != Code::UnknownWarning || each.text == failure.text);
  });
  if (same == log_.failures.end()) {
    if (log_.failures.size() >= kMostFacts) return;
    failure.line = failure.last_line = message.line;
    failure.first_time = time;
    same = log_.failures.insert(same, std::move(failure));
  } else {
    same->last_line = message.line;
    same->times += repeated ? 0 : 1;
    same->last_time = time;
    same->retried = same->retried && failure.retried;
    if (same->peer.empty()) same->peer = std::move(failure.peer);
    // An event's last word counts: a recovery that began may have been given up.
    if (same->error_text.empty() || (same->is_port_event() && !failure.error_text.empty()))
      same->error_text = std::move(failure.error_text);
  }
  if (message.process) same->processes.insert(*message.process);
}

}  // namespace nccl_env
