// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/timestamp.h"

#include <charconv>
#include <optional>

#include "text/quote.h"

namespace nccl_env {
namespace {

// Reads one field after the other; after the first that does not fit, every read fails.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  unsigned number(std::size_t digits) {
    const std::string_view here = rest_.substr(0, digits);
    const char* const end = here.data() + here.size();
    unsigned value = 0;
    ok_ = ok_ && here.size() == digits && std::from_chars(here.data(), end, value).ptr == end;
    if (!ok_) return 0;
    rest_.remove_prefix(digits);
    return value;
  }

  // The next character, which must be one of `accepted`.
  char one_of(std::string_view accepted) {
    if (!ok_ || rest_.empty() || accepted.find(rest_[0]) == accepted.npos) return ok_ = false, '\0';
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  void skip_fraction() {
    if (!ok_ || rest_.empty() || rest_[0] != '.') return;
    const auto end = rest_.find_first_not_of("0123456789", 1);
    ok_ = end != rest_.npos && end > 1;
    if (ok_) rest_.remove_prefix(end);
  }

  [[nodiscard]] bool finished() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

std::optional<Timestamp> read(std::string_view text) {
  using namespace std::chrono;
  Cursor cursor(text);
  const year y(static_cast<int>(cursor.number(4)));
  cursor.one_of("-");
  const month m(cursor.number(2));
  cursor.one_of("-");
  const year_month_day date(y, m, day(cursor.number(2)));
  cursor.one_of("Tt");
  const unsigned hour = cursor.number(2);
  cursor.one_of(":");
  const unsigned minute = cursor.number(2);
  cursor.one_of(":");
  const unsigned second = cursor.number(2);
  cursor.skip_fraction();

  const char zone = cursor.one_of("Zz+-");
  unsigned offset_hour = 0;
  unsigned offset_minute = 0;
  if (zone == '+' || zone == '-') {
    offset_hour = cursor.number(2);
    cursor.one_of(":");
    offset_minute = cursor.number(2);
  }
  if (!cursor.finished() || !date.ok() || hour > 23 || minute > 59 || second > 59 || offset_hour > 23 ||
      offset_minute > 59) {
    return std::nullopt;
  }

  const auto offset = hours(offset_hour) + minutes(offset_minute);
  const Timestamp local = sys_days(date) + hours(hour) + minutes(minute) + seconds(second);
  const Timestamp time = zone == '-' ? local + offset : local - offset;
  // An offset may lead out of the years that four digits can write.
  const bool sayable = time >= sys_days(year(0) / 1 / 1) && time < sys_days(year(10000) / 1 / 1);
  return sayable ? std::optional(time) : std::nullopt;
}

std::string padded(long value, std::size_t digits) {
  const std::string text = std::to_string(value);
  return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
}

}  // namespace

Result<Timestamp> parse_timestamp(std::string_view text) {
  if (const auto time = read(text)) return *time;
  return Error{in_quotes(text) + " is not an RFC 3339 time such as 2026-11-20T08:00:00Z"};
}

std::string format_timestamp(Timestamp time) {
  using namespace std::chrono;
  const auto midnight = floor<days>(time);
  const year_month_day date(midnight);
  const hh_mm_ss clock(time - midnight);
  return padded(static_cast<int>(date.year()), 4) + "-" + padded(static_cast<unsigned>(date.month()), 2) +
         "-" + padded(static_cast<unsigned>(date.day()), 2) + "T" + padded(clock.hours().count(), 2) + ":" +
         padded(clock.minutes().count(), 2) + ":" + padded(clock.seconds().count(), 2) + "Z";
}

}  // namespace nccl_env
