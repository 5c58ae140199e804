// SPDX-License-Identifier: Apache-2.0
// Past 600 lines: each kind of line is read by one class, which owns the log.
#include "nccl_env/core/nccl_log/nccl_log.h"

#include <algorithm>
#include <charconv>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/nccl_log/framework_failure.h"
#include "nccl_env/core/nccl_log/log_mark.h"
#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_log/ended_elsewhere.h"
#include "nccl_log/log_version.h"
#include "nccl_log/wrapped_line.h"

namespace nccl_env {
namespace {

// More different texts than any job says; a hostile log has more.
constexpr std::size_t kMostFacts = 256;
constexpr std::size_t kLongestFact = 2048;
constexpr std::size_t kLongestNetwork = 64;  // of a network
constexpr std::size_t kLongestProcess = 256;

bool is_nccl_variable(std::string_view text) {
  return text.starts_with("NCCL_") && text.size() <= 64 && is_variable_name(text);
}

std::string_view word_before(std::string_view text, std::size_t at) {
  const std::size_t blank = text.substr(0, at).rfind(' ');
  return text.substr(blank == text.npos ? 0 : blank + 1, at - (blank == text.npos ? 0 : blank + 1));
}

std::string_view word_after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == text.npos) return {};
  text = text.substr(at + mark.size());
  return text.substr(0, text.find_first_of(" \t,"));
}

// True for data of a job that reads or writes texts, in which any words may stand: {"text": "…"}. A logger's
// own JSON has a level.
bool is_sample(std::string_view text) {
  constexpr std::string_view kKeys[] = {
      "\"text\":", "\"prompt\":", "\"content\":", "\"messages\":", "\"question\":", "\"answer\":"};
  constexpr std::string_view kLoggers[] = {"\"level\"", "\"record\"", "\"severity\"", "\"log\""};
  const auto has = [&](std::string_view key) { return text.find(key) != text.npos; };
  return text.starts_with('{') && std::ranges::any_of(kKeys, has) && std::ranges::none_of(kLoggers, has);
}

// True if a person's words stand before the mark: 'Prompt: "My log says NCCL WARN …"'.
bool is_quoted(std::string_view before) {
  return before.find('"') != before.npos && prefix_of(before).empty();
}

// The text behind `mark`: up to the first character of `ends` in it, or all of it.
std::string_view name_after(std::string_view text, std::string_view mark, std::string_view ends) {
  const std::size_t at = text.find(mark);
  if (at == text.npos) return {};
  text = text.substr(at + mark.size());
  return trimmed_text(text.substr(0, std::min(text.find_first_of(ends), kLongestNetwork)));
}

int number_after(std::string_view text, std::string_view mark) {
  const std::string_view word = word_after(text, mark);
  int number = 0;
  if (is_digits(word) && word.size() <= 7) std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

// " 3 of 16", of "comm 0x55d9 rank 3 nranks 16 …".
std::string rank_of_all(std::string_view text) {
  return " " + std::to_string(number_after(text, " rank ")) + " of " +
         std::to_string(number_after(text, " nranks "));
}

}  // namespace

// "eth0:10.1.2.3<0>", of a list "[1]eth0:10.1.2.3<0>".
struct NcclLogReader::NamedAddress {
  std::string_view name;
  std::string_view address;

  explicit NamedAddress(std::string_view word) {
    if (word.starts_with('[')) word.remove_prefix(std::min(word.find(']') + 1, word.size()));
    const std::size_t colon = std::min(word.find(':'), word.size());
    name = word.substr(0, colon);
    address = address_of_peer(word.substr(std::min(colon + 1, word.size())));
  }
};

std::set<std::uint32_t> NcclLog::processes_of(std::string_view peer) const {
  peer = address_of_peer(peer);
  if (const auto found = addresses.find(peer); found != addresses.end()) return found->second.processes;
  std::set<std::uint32_t> of_host;
  for (std::size_t i = 0; i < process_names.size(); ++i) {
    const std::string_view name = process_names[i];
    if (name.substr(0, name.rfind(':')) == peer) of_host.insert(static_cast<std::uint32_t>(i));
  }
  return of_host;
}

bool NcclLog::is_of_one_node() const {
  if (nodes > 0) return nodes == 1;
  return ranks > 0 && hosts == 1 && processes >= static_cast<std::size_t>(ranks);
}

std::set<std::string> NcclLog::hosts_of(const std::set<std::uint32_t>& of) const {
  std::set<std::string> names;
  for (const std::uint32_t process : of) {
    if (process >= process_names.size()) continue;
    const std::string& name = process_names[process];
    names.insert(name.substr(0, name.rfind(':')));
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

NcclLogReader::NcclLogReader() = default;
NcclLogReader::~NcclLogReader() = default;

// The number of "gpu-1:984"; nothing once there are too many.
std::optional<std::uint32_t> NcclLogReader::process_of(std::string_view process) {
  const auto known = processes_.find(process);
  if (known != processes_.end()) return known->second;
  if (processes_.size() >= kMaxProcesses) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(processes_.size());
  processes_.emplace(process, number);
  log_.process_names.emplace_back(process.substr(0, kLongestProcess));
  hosts_.emplace(process.substr(0, process.rfind(':')));
  return number;
}

NcclLogReader::Message NcclLogReader::message_of(std::string_view text, std::size_t mark, std::size_t begin,
                                                 std::size_t end) {
  Message message;
  message.line = log_.lines;
  message.before = text.substr(0, mark);
  message.thread = prefix_of(message.before).substr(0, kLongestFact);
  const std::size_t colon = message.thread.rfind(':');
  if (colon != message.thread.npos) {
    message.process = process_of(message.thread.substr(0, colon));
  }
  message.text = trimmed_text(text.substr(begin, end - begin));
  // NCCL up to 2.28 cuts its lines, prefix included, at 1023 bytes.
  constexpr std::size_t kNcclLine = 1023;
  message.cut = end - begin + message.thread.size() + 20 >= kNcclLine || end != text.size();
  return message;
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
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
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
    const std::size_t end = end_of_message(text, mark.begin);
    message = message_of(text, mark.at, mark.begin, end);
    message.warning = mark.warning;
    message.cut = message.cut || (cut && end == text.size());
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
  log_.ended = log_.ended || text.find(" Avg bus bandwidth") != text.npos ||
               text.find(" Out of bounds values") != text.npos;  // nccl-tests' last lines
  if (read_engine(message)) return false;
  if (read_bare(message) || read_framework(message)) return true;
  note_end(message);
  return false;
}

// Notes an error that is not the network's, and whether the program goes on behind it.
void NcclLogReader::note_end(const Message& message) {
  if (is_error_elsewhere(message.text)) {
    NcclFailure failure;
    failure.code = Code::EndedElsewhere;
    failure.text = message.text.substr(0, kLongestFact / 4);
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
  const std::string with_cuda = std::string(version.substr(0, version.find('+'))) + "+";
  const bool bare = version.find('+') == version.npos;
  if (bare &&
      std::ranges::any_of(log_.versions, [&](const auto& each) { return each.first.starts_with(with_cuda); }))
    return;
  if (!bare) log_.versions.erase(with_cuda.substr(0, with_cuda.size() - 1));
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
  if (begins_like_warning(bare.text)) {
    auto failure = read_nccl_failure(bare.text, true);
    if (failure && failure->code != Code::UnknownWarning) {
      add_failure(bare, *std::move(failure), true);
      return true;
    }
  }
  if (!begins_like_info(bare.text)) return false;
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
    if (text.empty() || text.starts_with("Exception raised") || text.starts_with("Traceback")) return false;
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
  const bool repeated = text.find("Last error: ") != text.npos || text.find("Last NCCL warning") != text.npos;
  add_failure(message, *std::move(failure), repeated);
  return true;
}

void NcclLogReader::read_message(const Message& message) {
  read_trace(message);
  if (read_failure(message)) return;
  const std::string_view back = name_after(message.text, "NET/IB : ", ": ");
  if (message.text.find("port active") != message.text.npos && log_.ports_back.size() < kMostFacts)
    log_.ports_back.insert_or_assign(std::string(back), message.line);
  if (message.warning) {
    if (!message.thread.empty()) message.note(warned_, message.thread);
    return message.note(log_.warnings, message.text);
  }
  if (read_value(message) || read_network(message)) return;
  if (message.text.find("NET/IB : Using") != message.text.npos) {
    read_links(message);
    return read_devices(message);
  }
  const std::string_view text = message.text;
  if (text.find("comm 0x") != text.npos) return read_initialisation(message);
  // "NET/IB: Dev 0 Port 1 qpn 12 mtu 5 GID 3 (…)": the row that a queue pair has.
  const std::size_t gid = text.find(" GID ");
  if (const std::string_view mtu = word_after(text, " mtu ");
      text.starts_with("NET/IB") && text.find(" qp") != text.npos && is_digits(mtu) && mtu.size() == 1)
    message.note(log_.mtus, mtu);
  if (text.starts_with("NET/IB") && gid != text.npos && text.find(" qp") < gid) {
    const std::string_view index = word_after(text, " GID ");
    if (is_digits(index) && index.size() <= 3 && text.find('(', gid) != text.npos)
      message.note(log_.gid_indexes, index);
  }
}

// A group that was split off numbers its ranks by keys of its own.
void NcclLogReader::note_rank(std::string_view text) {
  const int ranks = std::max(number_after(text, " nRanks "), number_after(text, " nranks "));
  const int rank = number_after(text, " rank ");
  if (ranks > log_.ranks) log_.own_ranks.clear();
  log_.ranks = std::max(log_.ranks, ranks);
  if (ranks == 0 || ranks < log_.ranks || rank >= ranks || text.find("Split") != text.npos) return;
  if (log_.own_ranks.size() < kMostFacts) log_.own_ranks.insert(rank);
}

// "comm 0x55d9 rank 0 nRanks 16 nNodes 2 localRanks 8 …" (from 2.20), "comm 0x55d9 rank 0 nranks 16 cudaDev 0
// … - Init START", "… - Init COMPLETE".
void NcclLogReader::read_initialisation(const Message& message) {
  const std::string_view text = message.text;
  log_.nodes = std::max(log_.nodes, number_after(text, " nNodes "));
  note_rank(text);
  const std::string of = std::string(message.thread.substr(0, message.thread.rfind(':'))) + " " +
                         std::string(word_after(text, "comm ")) + rank_of_all(text);
  log_.ended = log_.ended || text.find("Destroy COMPLETE") != text.npos;
  if (text.ends_with("Init START")) message.note(log_.initialising, of);
  if (text.find("Init COMPLETE") == text.npos) return;
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
  const std::string_view result = word_after(message.text, "-> ");
  if (message.warning || message.text.find(':') == message.text.npos || result.size() != 1 || result < "1" ||
      result > "6")
    return;
  const auto of = std::ranges::find(log_.warnings, line, [](const auto& each) { return each.second.line; });
  if (of == log_.warnings.end()) return;
  NcclFailure failure;
  failure.code = Code::UnknownWarning;
  failure.text = of->first.substr(0, kLongestFact / 4);
  add_failure(message, std::move(failure));
  log_.warnings.erase(of);
}

// "NAME set by environment to VALUE[.]", "NAME set to VALUE", "Invalid value VALUE for NAME, using
// default 1."
bool NcclLogReader::read_value(const Message& message) {
  const std::string_view text = message.text;
  if (const std::size_t at = text.find("Invalid value "); at != text.npos) {
    const std::size_t middle = text.find(" for ", at);
    const std::string_view name = word_after(text, " for ");
    if (middle == text.npos || !is_nccl_variable(name)) return false;
    const std::size_t begin = at + std::string_view("Invalid value ").size();
    message.note(log_.refused, name, text.substr(begin, middle - std::min(middle, begin)));
    return true;
  }
  for (const std::string_view mark :
       {std::string_view(" set by environment to "), std::string_view(" set to ")}) {
    const std::size_t at = text.find(mark);
    if (at == text.npos) continue;
    const std::string_view name = word_before(text, at);
    if (!is_nccl_variable(name)) continue;
    std::string_view value = trimmed_text(text.substr(at + mark.size()));
    const bool period = value.ends_with('.');
    if (period) value.remove_suffix(1);
    const Variable* known = find_nccl_variable(name);
    const bool integer = known ? known->kind == ValueKind::Integer : period;
    // A number without its period may be cut and tells nothing. NCCL_P2P_DISABLE is printed without a period.
    const bool bare = name == "NCCL_P2P_DISABLE" && !message.cut;
    if ((integer && !period && !bare) || value.empty()) return true;
    std::string noted(value);
    if (!integer && period) noted += '.';
    if (!integer && message.cut) noted += "...";
    message.note(log_.values, name, noted);
    return true;
  }
  return false;
}

// "[0]mlx5_0:1/RoCE [1]={[0] mlx5_1:1/RoCE, [1] mlx5_2:1/RoCE} [RO]; OOB eth0:10.1.2.3<0>": every NAME:PORT
// before a slash, without the rail and plane that may follow the port.
void NcclLogReader::read_devices(const Message& message) {
  std::string_view text = message.text.substr(message.text.find("NET/IB : Using") + 14);
  const std::size_t out_of_band = text.find("; OOB ");
  log_.device_line_cut = log_.device_line_cut || out_of_band == text.npos;
  if (out_of_band != text.npos) {
    const std::string_view interface = text.substr(out_of_band + 6);
    if (const std::size_t colon = interface.find(':'); colon != interface.npos) {
      message.note(log_.bootstrap, interface.substr(0, colon));
      message.note(log_.addresses, address_of_peer(interface.substr(colon + 1)));
    }
    text = text.substr(0, out_of_band);
  }
  // One pass: only the part of a word before its first slash counts.
  constexpr std::size_t kMostDevices = 256;  // NCCL takes 32
  constexpr std::size_t kLongestName = 80;   // HCA names have 63 bytes, and PORT:RAIL:PLANE follows
  std::size_t devices = 0;
  for (std::size_t begin = 0, end = 0; begin < text.size() && devices < kMostDevices; begin = end + 1) {
    end = std::min(text.find_first_of(" ]{", begin), text.size());
    std::string_view word = text.substr(begin, std::min(end - begin, kLongestName + 1));
    const std::size_t slash = word.find('/');
    if (slash == word.npos) continue;
    ++devices;
    word = word.substr(0, slash);
    const std::size_t colon = word.find(':');
    if (colon == word.npos || colon == 0) continue;
    const std::size_t more = word.find(':', colon + 1);
    const std::string_view port = word.substr(colon + 1, more == word.npos ? more : more - colon - 1);
    if (is_digits(port) && port.size() <= 3) message.note(log_.devices, word.substr(0, more));
  }
}

bool NcclLogReader::read_network(const Message& message) {
  const std::string_view text = message.text;
  if (text.find("NET/IB : No device found") != text.npos) {
    message.note(log_.no_device, "NET/IB : No device found.");
    return true;
  }
  // A plugin's name may hold blanks: "AWS Libfabric".
  for (const std::string_view mark :
       {std::string_view("Using network "), std::string_view("Using internal Network ")}) {
    const std::string_view network = name_after(text, mark, {});
    if (network.empty()) continue;
    message.note(log_.networks, network);
    return true;
  }
  if (text.find("sing internal network plugin") != text.npos ||
      text.find("sing internal net plugin") != text.npos || text.find("No plugin found (") != text.npos) {
    message.note(log_.plugins, "NCCL's own plugin");
    return true;
  }
  if (const auto plugin = text_behind(text, "Plugin Path : ")) {
    message.note(log_.plugins, plugin->substr(plugin->rfind('/') + 1));
    return true;
  }
  if (const auto via = name_after(text, " via NET/", "/"); !via.empty()) {
    message.note(log_.transports, "NET/" + std::string(via));
    return true;
  }
  for (const std::string_view local : {std::string_view("P2P"), std::string_view("SHM")}) {
    if (text.find(" via " + std::string(local) + "/") == text.npos) continue;
    message.note(log_.local_transports, local);
    return true;
  }
  if (read_interfaces(message)) return true;
  for (const std::string_view mark :
       {std::string_view("Bootstrap : Using "), std::string_view("Bootstrap: Using ")}) {
    const std::string_view interface = word_after(text, mark);
    if (const std::size_t colon = interface.find(':'); colon != interface.npos && colon > 0) {
      read_bootstrap(message, interface);
      return true;
    }
  }
  return false;
}

// "NET/Socket : Using [0]eth0:10.1.2.3<0> [1]br-05ab:172.19.0.1<0>": each address that sockets take.
bool NcclLogReader::read_interfaces(const Message& message) {
  constexpr std::string_view kSockets = "NET/Socket : Using ";
  if (!message.text.starts_with(kSockets)) return false;
  std::string_view text = message.text.substr(kSockets.size());
  for (int words = 0; words < 64 && !text.empty(); ++words) {
    const std::string_view word = text.substr(0, text.find(' '));
    note_interface(word);
    // The first one is the bootstrap's.
    if (words > 0) note_unreachable(message, NamedAddress(word));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return true;
}

void NcclLogReader::note_interface(std::string_view interface) {
  const NamedAddress named(interface);
  if (named.name.empty() || named.address.empty() || log_.interfaces.size() >= kMostFacts) return;
  log_.interfaces.emplace(named.address.substr(0, kLongestNetwork), named.name.substr(0, kLongestNetwork));
}

void NcclLogReader::read_bootstrap(const Message& message, std::string_view interface) {
  const NamedAddress named(interface);
  message.note(log_.bootstrap, named.name);
  if (!named.address.empty()) message.note(log_.addresses, named.address);
  note_unreachable(message, named);
}

void NcclLogReader::note_unreachable(const Message& message, const NamedAddress& interface) {
  auto failure = read_unreachable(interface.name, interface.address);
  if (!failure) return;
  failure->text = message.text.substr(0, kLongestFact / 4);
  add_failure(message, *std::move(failure));
}

bool NcclLogReader::read_failure(const Message& message) {
  auto failure = read_nccl_failure(message.text, message.warning);
  if (!failure) return false;
  add_failure(message, *std::move(failure));
  return true;
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
  failures_.emplace(std::string(to_string(Code::EndedElsewhere)), log_.failures.size());
  log_.failures.push_back(*log_.last_error);
}

// Failures of one kind, port and row are one: a job that fails prints them for each channel and rank.
// `repeated`: a framework repeats NCCL's last warning, which counts once.
void NcclLogReader::add_failure(const Message& message, NcclFailure failure, bool repeated) {
  if (repeated &&
      std::ranges::any_of(log_.failures, [&](const NcclFailure& each) { return each.text == failure.text; }))
    return;
  if (log_.last_error) acquit(failure);
  const bool of_sockets = failure.code == Code::NoConnection || failure.code == Code::UnreachableInterface;
  if (of_sockets && failure.device.empty()) {
    for (const auto& [interface, fact] : log_.bootstrap) {
      if (!message.process || fact.processes.contains(*message.process)) failure.device = interface;
    }
  }
  std::string of = std::string(to_string(failure.code)) + " " + failure.device + ":" +
                   std::to_string(failure.port.value_or(0)) + " " +
                   std::to_string(failure.gid_index.value_or(-1)) + " " + failure.local_gid + " " +
                   std::to_string(failure.error.value_or(0));
  if (failure.code == Code::UnknownWarning) of += failure.text;
  std::string time = clock_in(message.before);
  if (time.empty()) time = clock_in(stamp_);
  const auto known = failures_.find(of);
  if (known == failures_.end()) {
    if (log_.failures.size() >= kMostFacts) return;
    failures_.emplace(of, log_.failures.size());
    failure.line = failure.last_line = message.line;
    failure.first_time = time;
    log_.failures.push_back(std::move(failure));
  } else {
    NcclFailure& same = log_.failures[known->second];
    same.last_line = message.line;
    same.times += repeated ? 0 : 1;
    same.last_time = time;
    same.retried = same.retried && failure.retried;
    if (same.peer.empty()) same.peer = std::move(failure.peer);
    if (same.error_text.empty()) same.error_text = std::move(failure.error_text);
  }
  if (message.process) log_.failures[failures_.at(of)].processes.insert(*message.process);
}

// "[0]mlx5_0:1/RoCE [1]={[0] mlx5_1:1/IB, …}; OOB eth0:…": the kinds of link before the interface.
void NcclLogReader::read_links(const Message& message) {
  const std::size_t begin = message.text.find("NET/IB : Using") + 14;
  const std::string_view text = message.text.substr(begin, message.text.find("; OOB ", begin) - begin);
  const auto names = [&](std::string_view link) {
    for (std::size_t at = text.find(link); at != text.npos; at = text.find(link, at + 1)) {
      const std::size_t end = at + link.size();
      if (end == text.size() || std::string_view(" ,};[").find(text[end]) != std::string_view::npos)
        return true;
    }
    return false;
  };
  const bool mixed_before = log_.links.size() > 1;
  if (names("/IB")) message.note(log_.links, "InfiniBand");
  if (names("/RoCE")) message.note(log_.links, "RoCE");
  if (mixed_before || log_.links.size() < 2) return;
  NcclFailure failure;
  failure.code = Code::MixedLinks;
  failure.text = message.text.substr(0, kLongestFact / 4);
  add_failure(message, std::move(failure));
}

}  // namespace nccl_env
