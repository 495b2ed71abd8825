//! The log's public face under crashes, faults and many threads.

mod crash_images;
mod damage;
mod disk_full;
mod failures;
mod group_commit;
mod real_files;
mod recycling;
mod support;
