// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/log.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <ostream>
#include <thread>
#include <utility>

#include "nccl_env/json_text.h"
#include "nccl_env/utf8.h"

namespace nccl_env {
namespace {

constexpr std::size_t kMaxLine = 16 * 1024;  // containerd and CRI-O split a line that is longer
constexpr std::size_t kMaxValue = 4 * 1024;  // four long values still fit
constexpr std::size_t kReserved = 32;        // for `,"truncated":true}` and the newline
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

constexpr std::size_t kMaxWaiting = 1024 * 1024;     // 1 500 decisions
constexpr std::chrono::milliseconds kGathering{10};  // between two writes: a wake-up costs more than a line
constexpr std::chrono::seconds kLongestEnd{2};       // the wait for a slow reader when the logger ends

void append_escape(std::string& out, std::uint32_t point) {
  if (point > 0xffff) {  // JSON escapes such a character in two halves
    append_escape(out, 0xd7c0 + (point >> 10U));
    point = 0xdc00 + (point & 0x3ffU);
  }
  std::array<char, json::kMaxEscape> escape;
  out.append(escape.data(), json::put_escape(escape.data(), point));
}

// Returns how many leading bytes need no escape: nearly all that is logged.
std::size_t plain_length(std::string_view text) {
  const auto escaped = [](std::uint64_t word) {  // with all from the delete character on
    constexpr std::uint64_t kEach = 0x0101010101010101;
    return json::escaped_bytes(word) | ((word | (word + kEach)) & kEach * 0x80);
  };
  const auto first = [](std::uint64_t bits) { return static_cast<std::size_t>(std::countr_zero(bits)) / 8; };
  std::size_t at = 0;
  for (; at + json::kWord <= text.size(); at += json::kWord) {
    if (const std::uint64_t found = escaped(json::word_at(text.data() + at)); found != 0)
      return at + first(found);
  }
  return std::min(text.size(), at + first(escaped(json::short_word(text.substr(at)))));
}

void append_text(std::string& out, std::string_view text) {
  const std::size_t end = out.size() + kMaxValue;
  while (!text.empty()) {
    if (out.size() >= end) {
      out += "\xE2\x80\xA6";  // an ellipsis: the value was cut
      break;
    }
    const std::size_t run = plain_length(text.substr(0, end - out.size()));
    if (run > 0) {
      out += text.substr(0, run);
      text.remove_prefix(run);
      continue;
    }
    const std::size_t length = character_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += kReplacement;
    } else if (const std::uint32_t point = code_point(text.substr(0, length));
               c < 0x80 || steers_display(point)) {
      append_escape(out, point);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  append_text(out, text);
  out += '"';
}

void append_names(std::string& out, std::span<const LogName> names, bool with_words) {
  out += with_words ? '{' : '[';
  const std::size_t begin = out.size();
  for (const LogName& each : names) {
    const std::size_t before = out.size();
    if (before > begin) out += ',';
    out += '"';
    append_text(out, each.scope);
    if (!each.scope.empty()) out += '/';
    append_text(out, each.name);
    out += '"';
    if (with_words) out += ':';
    if (with_words) append_string(out, each.word);
    if (out.size() - begin <= kMaxValue) continue;
    out.resize(before);  // "…": more follow
    out.append(before > begin ? "," : "").append(with_words ? "\"\xE2\x80\xA6\":\"\"" : "\"\xE2\x80\xA6\"");
    break;
  }
  out += with_words ? '}' : ']';
}

template <class T>
void append_number(std::string& out, T number) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

struct AppendValue {
  std::string& out;
  void operator()(std::string_view text) const { append_string(out, text); }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(double value) const {
    std::isfinite(value) ? append_number(out, value) : append_string(out, std::isnan(value) ? "NaN" : "Inf");
  }
  void operator()(std::int64_t value) const { append_number(out, value); }
  void operator()(std::uint64_t value) const { append_number(out, value); }
  void operator()(LogList value) const { append_names(out, value.names, false); }
  void operator()(LogObject value) const { append_names(out, value.names, true); }
};

void append_digits(std::string& out, int number, int unit) {
  for (; unit > 0; unit /= 10) out += static_cast<char>('0' + number / unit % 10);
}

// By hand: with gmtime and strftime a line takes a tenth longer.
void append_time(std::string& out, std::chrono::system_clock::time_point now) {
  using namespace std::chrono;
  const auto day = floor<days>(now);
  const year_month_day date(day);
  const hh_mm_ss time(floor<milliseconds>(now - day));
  append_digits(out, static_cast<int>(date.year()), 1000);
  const auto append_pair = [&](char before, auto number) {
    out += before;
    append_digits(out, static_cast<int>(number), 10);
  };
  append_pair('-', static_cast<unsigned>(date.month()));
  append_pair('-', static_cast<unsigned>(date.day()));
  append_pair('T', time.hours().count());
  append_pair(':', time.minutes().count());
  append_pair(':', time.seconds().count());
  out += '.';
  append_digits(out, static_cast<int>(time.subseconds().count()), 100);
  out += 'Z';
}

std::string_view level_name(LogLevel level) {
  constexpr std::array<std::string_view, 5> kNames{"debug", "info", "warn", "error", "off"};
  return kNames[static_cast<std::size_t>(level)];
}

std::string format_line(LogLevel level, std::string_view message, Logger::Fields fields) {
  std::string line = "{\"time\":\"";
  line.reserve(512);
  append_time(line, std::chrono::system_clock::now());
  line += "\",\"level\":\"";
  line += level_name(level);
  line += "\",\"msg\":";
  append_string(line, message);
  bool truncated = false;
  for (const LogField& field : fields) {
    const std::size_t before = line.size();
    line += ',';
    append_string(line, field.key);
    line += ':';
    std::visit(AppendValue{line}, field.value);
    if (line.size() + kReserved > kMaxLine) {
      line.resize(before);
      truncated = true;
    }
  }
  line += truncated ? ",\"truncated\":true}\n" : "}\n";
  return line;
}

// Returns how many lines could not be written.
std::uint64_t write_lines(int descriptor, std::string_view lines) {
  while (!lines.empty()) {
    const ssize_t written = ::write(descriptor, lines.data(), lines.size());
    if (written > 0) {
      lines.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {  // another process made the pipe non-blocking
      pollfd room{descriptor, POLLOUT, 0};
      ::poll(&room, 1, -1);
    } else if (written == 0 || errno != EINTR) {
      return static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
    }
  }
  return 0;
}

}  // namespace

// Shared with the thread that writes, which nobody can end while the pipe is full.
struct Logger::Lines {
  std::ostream* stream = nullptr;  // null: a thread writes to `descriptor`
  int descriptor = -1;
  std::mutex mutex;
  std::condition_variable changed;
  std::string waiting;
  std::uint64_t dropped = 0;
  bool has_writer = false, ending = false;

  static void put(const std::shared_ptr<Lines>& lines, std::string_view line) {
    const std::lock_guard lock(lines->mutex);
    if (lines->stream) {
      *lines->stream << line << std::flush;
    } else if (lines->waiting.size() + line.size() > kMaxWaiting) {
      ++lines->dropped;
    } else {
      if (!lines->has_writer) std::thread([lines] { lines->write(); }).detach();
      lines->has_writer = true;
      if (lines->waiting.empty()) lines->changed.notify_all();
      lines->waiting += line;
    }
  }

  void write() {
    std::string batch;
    std::uint64_t told = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return ending || !waiting.empty(); });
      if (waiting.empty()) break;
      batch.clear();
      batch.swap(waiting);
      const std::uint64_t missing = dropped - std::exchange(told, dropped);
      lock.unlock();
      if (missing > 0) batch += format_line(LogLevel::Warn, "log lines dropped", {{"count", missing}});
      const std::uint64_t lost = write_lines(descriptor, batch);
      lock.lock();
      dropped += lost;
      changed.wait_for(lock, kGathering, [this] { return ending; });
    }
    has_writer = false;
    changed.notify_all();
  }

  void end() {
    std::unique_lock lock(mutex);
    ending = true;
    changed.notify_all();
    changed.wait_for(lock, kLongestEnd, [this] { return !has_writer; });
  }
};

std::optional<LogLevel> parse_log_level(std::string_view name) {
  for (const LogLevel level :
       {LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error, LogLevel::Off}) {
    if (name == level_name(level)) return level;
  }
  return std::nullopt;
}

std::shared_ptr<Logger> Logger::to_stderr(LogLevel level) {
  return to_descriptor(STDERR_FILENO, level);
}

std::shared_ptr<Logger> Logger::to_descriptor(int descriptor, LogLevel level) {
  std::shared_ptr<Logger> logger(new Logger(level));
  logger->lines_->descriptor = descriptor;
  return logger;
}

std::shared_ptr<Logger> Logger::to_stream(std::ostream& stream, LogLevel level) {
  std::shared_ptr<Logger> logger(new Logger(level));
  logger->lines_->stream = &stream;
  return logger;
}

Logger::Logger(LogLevel level) : lines_(std::make_shared<Lines>()), level_(level) {}

Logger::~Logger() {
  lines_->end();
}

std::uint64_t Logger::dropped() const {
  const std::lock_guard lock(lines_->mutex);
  return lines_->dropped;
}

void Logger::log(LogLevel level, std::string_view message, Fields fields) {
  if (!enabled(level) || level == LogLevel::Off) return;
  try {
    Lines::put(lines_, format_line(level, message, fields));
  } catch (const std::exception&) {
    const std::lock_guard lock(lines_->mutex);  // no memory, or no thread
    ++lines_->dropped;
  }
}

}  // namespace nccl_env
