//! What a certificate says of itself, as far as accounts and operators ask for it: whose it is, who signed it, and how long it is valid.
//!
//! x509-parser takes it apart. Signatures are rustls's business.

use jiff::Timestamp;
use x509_parser::prelude::{FromDer, X509Certificate, X509Name};

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

impl CertificateFacts {
    /// `None`: these bytes are no certificate.
    pub fn parse(der: &[u8]) -> Option<CertificateFacts> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let validity = certificate.validity();
        Some(CertificateFacts {
            subject: one_line(certificate.subject()),
            issuer: one_line(certificate.issuer()),
            not_before: Moment(validity.not_before.timestamp()),
            not_after: Moment(validity.not_after.timestamp()),
        })
    }
}

impl Moment {
    /// As OpenSSL prints it: `Nov  3 08:05:09 2026 GMT`.
    pub fn text(self) -> String {
        match Timestamp::from_second(self.0) {
            Ok(moment) => moment.strftime("%b %e %H:%M:%S %Y GMT").to_string(),
            // Certificates end with the year 9999, as calendars do.
            Err(_) => "Bad time value".to_owned(),
        }
    }
}

/// A name as OpenSSL's X509_NAME_oneline writes it.
fn one_line(name: &X509Name<'_>) -> String {
    let mut text = String::new();
    for attribute in name.iter_attributes() {
        let id = attribute.attr_type().to_id_string();
        text.push('/');
        text.push_str(openssl_name(&id).unwrap_or(&id));
        text.push('=');
        for &byte in attribute.attr_value().data {
            match byte {
                b' '..=b'~' => text.push(char::from(byte)),
                _ => text.push_str(&format!("\\x{byte:02X}")),
            }
        }
    }
    text
}

/// OpenSSL's short name of an attribute's type; it writes the number where it has none.
fn openssl_name(id: &str) -> Option<&'static str> {
    Some(match id {
        "2.5.4.3" => "CN",
        "2.5.4.4" => "SN",
        "2.5.4.5" => "serialNumber",
        "2.5.4.6" => "C",
        "2.5.4.7" => "L",
        "2.5.4.8" => "ST",
        "2.5.4.9" => "street",
        "2.5.4.10" => "O",
        "2.5.4.11" => "OU",
        "2.5.4.12" => "title",
        "2.5.4.13" => "description",
        "2.5.4.15" => "businessCategory",
        "2.5.4.17" => "postalCode",
        "2.5.4.41" => "name",
        "2.5.4.42" => "GN",
        "2.5.4.43" => "initials",
        "2.5.4.44" => "generationQualifier",
        "2.5.4.46" => "dnQualifier",
        "2.5.4.65" => "pseudonym",
        "2.5.4.97" => "organizationIdentifier",
        "1.2.840.113549.1.9.1" => "emailAddress",
        "0.9.2342.19200300.100.1.1" => "UID",
        "0.9.2342.19200300.100.1.25" => "DC",
        _ => return None,
    })
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
    fn a_moment_is_written_as_openssl_does() {
        assert_eq!(Moment(1_730_621_109).text(), "Nov  3 08:05:09 2024 GMT");
    }
}
