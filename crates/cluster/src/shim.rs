use shoal_partition::Partition;
use shoal_types::{Error, Result};
#[allow(unused)]
pub(crate) trait Pending {
    fn is_amnesiac(&self) -> bool { false }
    fn forget_amnesia(&mut self) {}
    fn pin_log(&mut self, _index: u64) {}
    fn unpin_log(&mut self, _index: u64) {}
    fn begin_install(&mut self) -> Result<()> { Err(Error::unknown("not yet")) }
    fn finish_install(&mut self) -> Result<()> { Err(Error::unknown("not yet")) }
    fn is_witness(&self) -> bool { false }
}
impl Pending for Partition {}
