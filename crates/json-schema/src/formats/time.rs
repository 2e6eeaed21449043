//! Dates, times and durations: RFC 3339, sections 5.6 and 5.7 and appendix A.

use std::sync::LazyLock;

use maskwright_automata::Regex;

use super::build::{any, digit, lit, one, seq, times, two_digits};

/// `full-date`, with the days that each month has in each year.
pub(super) static DATE: LazyLock<Regex> = LazyLock::new(|| {
    let year = times(4, digit());
    let fourth = || Regex::words((0..100).step_by(4).map(|n| format!("{n:02}").into_bytes()));
    let fourth_but_zero = Regex::words((4..100).step_by(4).map(|n| format!("{n:02}").into_bytes()));
    let leap_year = any([seq([times(2, digit()), fourth_but_zero]), seq([fourth(), lit("00")])]);
    let month = |names: &[&str], last| {
        let names = Regex::words(names.iter().map(|name| name.as_bytes()));
        seq([names, lit("-"), two_digits(1, last)])
    };
    let day_of_any_year = any([
        month(&["01", "03", "05", "07", "08", "10", "12"], 31),
        month(&["04", "06", "09", "11"], 30),
        month(&["02"], 28),
    ]);
    any([seq([year, lit("-"), day_of_any_year]), seq([leap_year, lit("-02-29")])])
});

/// `full-time`. The second 60 is there only where it is 23:59:60 in UTC.
pub(super) static TIME: LazyLock<Regex> = LazyLock::new(|| {
    const DAY: u32 = 24 * 60;
    let fraction = || seq([lit("."), digit().plus()]).optional();
    let zulu = || one("Zz");
    let offset = any([zulu(), seq([one("+-"), two_digits(0, 23), lit(":"), two_digits(0, 59)])]);
    let usual = seq([two_digits(0, 59), fraction(), offset]);
    let clock = |minutes: u32| format!("{:02}:{:02}", minutes / 60, minutes % 60);
    let hours = (0..24).map(|hour| {
        let minutes = (0..60).map(|minute| {
            // The offset at which this minute is the last of the day in UTC.
            let ahead = (hour * 60 + minute + 1) % DAY;
            let mut offsets = vec![lit(&format!("+{}", clock(ahead)))];
            offsets.push(lit(&format!("-{}", clock((DAY - ahead) % DAY))));
            if ahead == 0 {
                offsets.push(zulu());
            }
            let leap = seq([lit("60"), fraction(), Regex::union(offsets)]);
            seq([lit(&format!("{minute:02}:")), any([usual.clone(), leap])])
        });
        seq([lit(&format!("{hour:02}:")), Regex::union(minutes)])
    });
    Regex::union(hours)
});

/// `date-time`.
pub(super) static DATE_TIME: LazyLock<Regex> = LazyLock::new(|| seq([DATE.clone(), one("Tt"), TIME.clone()]));

/// `duration`: units follow each other without a gap, weeks stand alone.
pub(super) static DURATION: LazyLock<Regex> = LazyLock::new(|| {
    let n = |unit: &str| seq([digit().plus(), lit(unit)]);
    let minutes = seq([n("M"), n("S").optional()]);
    let hours = seq([n("H"), minutes.clone().optional()]);
    let time = seq([lit("T"), any([hours, minutes, n("S")])]);
    let months = seq([n("M"), n("D").optional()]);
    let years = seq([n("Y"), months.clone().optional()]);
    let date = seq([any([years, months, n("D")]), time.clone().optional()]);
    seq([lit("P"), any([date, time, n("W")])])
});
