// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/nccl_log.h"

#include <algorithm>
#include <charconv>

#include "nccl_env/core/nccl/variables.h"

namespace nccl_env {
namespace {

// More different texts than any job says; a hostile log has more.
constexpr std::size_t kMostFacts = 256;
constexpr std::size_t kLongestFact = 2048;

constexpr std::string_view kMarks[] = {" NCCL INFO ", " NCCL WARN "};

struct Mark {
  std::size_t at = std::string_view::npos;
  bool warning = false;
};

Mark find_mark(std::string_view text, std::size_t from) {
  const std::size_t info = text.find(kMarks[0], from);
  const std::size_t warn = text.find(kMarks[1], from);
  return warn < info ? Mark{warn, true} : Mark{info, false};
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// HOST:PID:TID at the end of what stands before a mark, behind "[0]" and, of warnings, "file.cc:12
// (function)"; whatever loggers put before it stays out.
std::string_view prefix_of(std::string_view before) {
  // "[0]", "file.cc:12", "(function": more words than these do not stand between.
  for (int words = 0; words < 6 && !before.empty(); ++words) {
    const std::size_t blank = before.find_last_of(" \t");
    const std::string_view word = blank == before.npos ? before : before.substr(blank + 1);
    const std::size_t last = word.rfind(':');
    const std::size_t middle = last == word.npos || last == 0 ? word.npos : word.rfind(':', last - 1);
    if (middle != word.npos && middle > 0 && is_digits(word.substr(last + 1)) &&
        is_digits(word.substr(middle + 1, last - middle - 1)))
      return word;
    if (blank == before.npos) break;
    before = before.substr(0, blank);
  }
  return {};
}

// Where a message ends that another process wrote into: at the other's prefix.
std::size_t end_of_message(std::string_view text, std::size_t begin) {
  const Mark next = find_mark(text, begin);
  if (next.at == text.npos) return text.size();
  const std::string_view prefix = prefix_of(text.substr(begin, next.at - begin));
  return prefix.empty() ? next.at : static_cast<std::size_t>(prefix.data() - text.data());
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r' || text.back() == '\n'))
    text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

bool is_variable_name(std::string_view text) {
  return text.starts_with("NCCL_") && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
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

}  // namespace

struct NcclLogReader::Message {
  std::string_view text;
  std::optional<std::uint32_t> process;
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
    if (of.size() < kMostFacts || of.contains(name)) note(of[std::string(name)], what);
  }
};

NcclLogReader::NcclLogReader() = default;
NcclLogReader::~NcclLogReader() = default;

void NcclLogReader::read_line(std::string_view text, bool cut) {
  ++log_.lines;
  text = trimmed(text);
  Message message;
  message.line = log_.lines;
  bool ours = false;
  // Printed without a prefix, by rank 0.
  if (const auto version = word_after(text, "NCCL version "); !version.empty() && version.front() == '2') {
    message.note(log_.versions, version);
    ours = true;
  }
  // Processes that write into each other's lines leave a few messages in one, not thousands.
  int messages = 0;
  for (Mark mark = find_mark(text, 0); mark.at != text.npos && messages < 16; ++messages) {
    const std::size_t begin = mark.at + kMarks[0].size();
    const std::size_t end = end_of_message(text, begin);
    const std::string_view prefix = prefix_of(text.substr(0, mark.at));
    const std::string_view process = prefix.substr(0, std::min(prefix.rfind(':'), prefix.size()));
    message.process.reset();
    if (!process.empty()) {
      const auto known = processes_.find(process.substr(0, kLongestFact));
      if (known != processes_.end()) {
        message.process = known->second;
      } else if (processes_.size() < kMaxProcesses) {
        message.process = static_cast<std::uint32_t>(processes_.size());
        processes_.emplace(process.substr(0, kLongestFact), *message.process);
      }
    }
    message.text = trimmed(text.substr(begin, end - begin));
    message.warning = mark.warning;
    // NCCL up to 2.28 cuts its lines, prefix included, at 1023 bytes.
    constexpr std::size_t kNcclLine = 1023;
    message.cut =
        (cut && end == text.size()) || end - begin + prefix.size() + 20 >= kNcclLine || end != text.size();
    read_message(message);
    ours = true;
    mark = find_mark(text, begin);
  }
  log_.nccl_lines += ours ? 1 : 0;
  log_.processes = processes_.size();
}

void NcclLogReader::read_message(const Message& message) {
  if (message.warning) return message.note(log_.warnings, message.text);
  if (read_value(message) || read_network(message)) return;
  if (message.text.find("NET/IB : Using") != message.text.npos) return read_devices(message);
  const std::string_view text = message.text;
  // "NET/IB: Dev 0 Port 1 qpn 12 mtu 5 GID 3 (…)": the row that a queue pair has.
  const std::size_t gid = text.find(" GID ");
  if (text.starts_with("NET/IB") && gid != text.npos && text.find(" qp") < gid) {
    const std::string_view index = word_after(text, " GID ");
    if (is_digits(index) && index.size() <= 3 && text.find('(', gid) != text.npos)
      message.note(log_.gid_indexes, index);
  }
}

// "NAME set by environment to VALUE[.]", "NAME set to VALUE", "Invalid value VALUE for NAME, using
// default 1."
bool NcclLogReader::read_value(const Message& message) {
  const std::string_view text = message.text;
  if (const std::size_t at = text.find("Invalid value "); at != text.npos) {
    const std::size_t middle = text.find(" for ", at);
    const std::string_view name = word_after(text, " for ");
    if (middle == text.npos || !is_variable_name(name)) return false;
    const std::size_t begin = at + std::string_view("Invalid value ").size();
    message.note(log_.refused, name, text.substr(begin, middle - std::min(middle, begin)));
    return true;
  }
  for (const std::string_view mark :
       {std::string_view(" set by environment to "), std::string_view(" set to ")}) {
    const std::size_t at = text.find(mark);
    if (at == text.npos) continue;
    const std::string_view name = word_before(text, at);
    if (!is_variable_name(name)) continue;
    std::string_view value = trimmed(text.substr(at + mark.size()));
    const bool period = value.ends_with('.');
    if (period) value.remove_suffix(1);
    const Variable* known = find_variable(name);
    const bool integer = known ? known->kind == ValueKind::Integer : period;
    // Of a number whose end is missing, nothing is known.
    if ((integer && !period) || value.empty()) return true;
    std::string noted(value);
    if (!integer && period) noted += '.';
    if (!integer && message.cut) noted += "...";
    message.note(log_.values, name, noted);
    return true;
  }
  return false;
}

// "[0]mlx5_0:1/RoCE [1]={[0] mlx5_1:1/RoCE, [1] mlx5_2:1/RoCE} [RO]; OOB eth0:10.1.2.3<0>": every NAME:PORT
// before a slash, a rail and plane behind the port left out.
void NcclLogReader::read_devices(const Message& message) {
  std::string_view text = message.text.substr(message.text.find("NET/IB : Using") + 14);
  const std::size_t out_of_band = text.find("; OOB ");
  log_.device_line_cut = log_.device_line_cut || out_of_band == text.npos;
  if (out_of_band != text.npos) {
    const std::string_view interface = text.substr(out_of_band + 6);
    if (const std::size_t colon = interface.find(':'); colon != interface.npos)
      message.note(log_.bootstrap, interface.substr(0, colon));
    text = text.substr(0, out_of_band);
  }
  // One pass: of each word only what stands before its first slash counts.
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
  if (const auto network = word_after(text, "Using network "); !network.empty()) {
    message.note(log_.networks, network);
    return true;
  }
  if (const auto via = word_after(text, " via NET/"); !via.empty()) {
    message.note(log_.transports, "NET/" + std::string(via.substr(0, via.find('/'))));
    return true;
  }
  for (const std::string_view mark :
       {std::string_view("Bootstrap : Using "), std::string_view("Bootstrap: Using ")}) {
    const std::string_view interface = word_after(text, mark);
    if (const std::size_t colon = interface.find(':'); colon != interface.npos && colon > 0) {
      message.note(log_.bootstrap, interface.substr(0, colon));
      return true;
    }
  }
  return false;
}

}  // namespace nccl_env
