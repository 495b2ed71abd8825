//! Reading the fields of one payload, never past its end.

/// The payload ends before a field does, or holds a length that is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

type Result<T> = std::result::Result<T, Malformed>;

/// The unread rest of a payload.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a>(&'a [u8]);

impl<'a> Payload<'a> {
    pub fn new(bytes: &'a [u8]) -> Payload<'a> {
        Payload(bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Everything that is left, without consuming it.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub fn take(&mut self, size: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(size).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const SIZE: usize>(&mut self) -> Result<[u8; SIZE]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length-encoded integer. 0xfb (NULL) and 0xff have no place here.
    pub fn length(&mut self) -> Result<u64> {
        Ok(match self.u8()? {
            0xfc => u64::from(self.u16()?),
            0xfd => {
                let [low, middle, high] = self.array()?;
                u64::from(u32::from_le_bytes([low, middle, high, 0]))
            }
            0xfe => self.u64()?,
            0xfb | 0xff => return Err(Malformed),
            small => u64::from(small),
        })
    }

    /// A string preceded by its length-encoded size.
    pub fn length_bytes(&mut self) -> Result<&'a [u8]> {
        let size = self.length()?;
        self.take(usize::try_from(size).map_err(|_| Malformed)?)
    }

    /// A string up to a NUL, which must be there.
    pub fn terminated(&mut self) -> Result<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(Malformed)?;
        let text = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Ok(text)
    }

    /// A string up to a NUL or, as some clients send the last one, up to the end.
    pub fn terminated_or_rest(&mut self) -> &'a [u8] {
        match self.terminated() {
            Ok(text) => text,
            Err(Malformed) => std::mem::take(&mut self.0),
        }
    }
}
