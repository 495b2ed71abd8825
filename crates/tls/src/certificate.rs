//! What a certificate says of itself, as far as accounts and operators ask for it: whose it is, who signed it, and how long it is valid.
//!
//! A walk over the fields of X.509 (RFC 5280, 4.1) in DER. Signatures are rustls's business.

/// How a certificate names its owner and its issuer, and when it is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFacts {
    /// In the one-line form of OpenSSL, which REQUIRE SUBJECT compares: `/C=SE/O=Example/CN=client`.
    pub subject: String,
    pub issuer: String,
    pub not_before: Moment,
    pub not_after: Moment,
}

/// Seconds since 1970 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub i64);

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_ID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;

const SECONDS_PER_DAY: i64 = 86_400;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl CertificateFacts {
    /// `None`: these bytes are no certificate.
    pub fn parse(der: &[u8]) -> Option<CertificateFacts> {
        let mut fields = Der(Der(der).take(SEQUENCE)?);
        let mut fields = Der(fields.take(SEQUENCE)?);
        if fields.0.first() == Some(&VERSION) {
            fields.next()?;
        }
        let _serial_number = fields.next()?;
        let _signature_algorithm = fields.next()?;
        let issuer = one_line(fields.take(SEQUENCE)?)?;
        let mut validity = Der(fields.take(SEQUENCE)?);
        let (not_before, not_after) = (validity.moment()?, validity.moment()?);
        let subject = one_line(fields.take(SEQUENCE)?)?;
        Some(CertificateFacts { subject, issuer, not_before, not_after })
    }
}

impl Moment {
    /// As OpenSSL prints it: `Nov  3 08:05:09 2026 GMT`.
    pub fn text(self) -> String {
        let (days, second) = (self.0.div_euclid(SECONDS_PER_DAY), self.0.rem_euclid(SECONDS_PER_DAY));
        let (year, month, day) = civil_of_days(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        format!("{} {day:2} {hour:02}:{minute:02}:{second:02} {year} GMT", MONTHS[month as usize - 1])
    }
}

/// Tags, lengths and values that follow each other.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], rest) = self.0.split_first_chunk::<2>()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (digits.iter().fold(0, |length, &digit| length << 8 | usize::from(digit)), rest)
            }
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, value))
    }

    fn take(&mut self, wanted: u8) -> Option<&'a [u8]> {
        self.next().filter(|(tag, _)| *tag == wanted).map(|(_, value)| value)
    }

    fn moment(&mut self) -> Option<Moment> {
        let (tag, text) = self.next()?;
        let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
        let (year, rest) = match tag {
            UTC_TIME => {
                let (year, rest) = text.split_at_checked(2)?;
                let year: i64 = year.parse().ok()?;
                (if year < 50 { 2000 + year } else { 1900 + year }, rest)
            }
            GENERALIZED_TIME => {
                let (year, rest) = text.split_at_checked(4)?;
                (year.parse().ok()?, rest)
            }
            _ => return None,
        };
        let part = |at: usize| rest.get(at..at + 2)?.parse::<i64>().ok();
        let (month, day, hour, minute, second) = (part(0)?, part(2)?, part(4)?, part(6)?, part(8)?);
        if !(1..=12).contains(&month) || rest.len() != 10 {
            return None;
        }
        Some(Moment(days_of_civil(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second))
    }
}

/// A name as OpenSSL's X509_NAME_oneline writes it.
fn one_line(name: &[u8]) -> Option<String> {
    let mut text = String::new();
    let mut parts = Der(name);
    while !parts.0.is_empty() {
        let mut attributes = Der(parts.take(SET)?);
        while !attributes.0.is_empty() {
            let mut attribute = Der(attributes.take(SEQUENCE)?);
            text.push('/');
            text.push_str(&attribute_name(attribute.take(OBJECT_ID)?));
            text.push('=');
            for &byte in attribute.next()?.1 {
                match byte {
                    b' '..=b'~' => text.push(char::from(byte)),
                    _ => text.push_str(&format!("\\x{byte:02X}")),
                }
            }
        }
    }
    Some(text)
}

/// OpenSSL's short name of an attribute's type; its number where it has none.
fn attribute_name(id: &[u8]) -> String {
    let known = match id {
        [0x55, 4, last] => match last {
            3 => "CN",
            4 => "SN",
            5 => "serialNumber",
            6 => "C",
            7 => "L",
            8 => "ST",
            9 => "street",
            10 => "O",
            11 => "OU",
            12 => "title",
            13 => "description",
            15 => "businessCategory",
            17 => "postalCode",
            41 => "name",
            42 => "GN",
            43 => "initials",
            44 => "generationQualifier",
            46 => "dnQualifier",
            65 => "pseudonym",
            97 => "organizationIdentifier",
            _ => "",
        },
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1] => "emailAddress",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1] => "UID",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25] => "DC",
        _ => "",
    };
    if known.is_empty() { dotted(id) } else { known.to_owned() }
}

fn dotted(id: &[u8]) -> String {
    let mut numbers: Vec<u64> = Vec::new();
    let mut number = 0u64;
    for &byte in id {
        number = number << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            if numbers.is_empty() {
                let first = (number / 40).min(2);
                numbers.push(first);
                number -= 40 * first;
            }
            numbers.push(number);
            number = 0;
        }
    }
    let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
    texts.join(".")
}

/// Days since 1970-01-01 of a day in the Gregorian calendar.
fn days_of_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is the last one.
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_of_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair};

    #[test]
    fn names_and_times_are_as_openssl_writes_them() {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CountryName, "SE");
        params.distinguished_name.push(DnType::OrganizationName, "Gr\u{fc}n/Co");
        params.distinguished_name.push(DnType::CustomDnType(vec![1, 2, 840, 113_549, 1, 9, 1]), "a@b.c");
        params.distinguished_name.push(DnType::CustomDnType(vec![2, 5, 4, 99]), "odd");
        params.distinguished_name.push(DnType::CommonName, "client");
        params.not_before = rcgen::date_time_ymd(1999, 3, 1);
        params.not_after = rcgen::date_time_ymd(2052, 12, 31);
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let facts = CertificateFacts::parse(certificate.der()).unwrap();
        assert_eq!(facts.subject, "/C=SE/O=Gr\\xC3\\xBCn/Co/emailAddress=a@b.c/2.5.4.99=odd/CN=client");
        assert_eq!(facts.issuer, facts.subject);
        assert_eq!(facts.not_before.text(), "Mar  1 00:00:00 1999 GMT");
        assert_eq!(facts.not_after.text(), "Dec 31 00:00:00 2052 GMT");
        for cut in 0..certificate.der().len() {
            let _ = CertificateFacts::parse(&certificate.der()[..cut]);
        }
        assert_eq!(CertificateFacts::parse(&certificate.der()[..100]), None);
        for at in 0..certificate.der().len() {
            let mut spoilt = certificate.der().to_vec();
            spoilt[at] ^= 0xff;
            let _ = CertificateFacts::parse(&spoilt);
        }
    }

    #[test]
    fn days_are_counted_over_leap_years() {
        for (civil, days) in
            [((1970, 1, 1), 0), ((2000, 2, 29), 11_016), ((2000, 3, 1), 11_017), ((1969, 12, 31), -1)]
        {
            let (year, month, day) = civil;
            assert_eq!(days_of_civil(year, month, day), days);
            assert_eq!(civil_of_days(days), civil);
        }
        assert_eq!(Moment(1_730_621_109).text(), "Nov  3 08:05:09 2024 GMT");
    }
}
