//! Makes a configuration from a few figures.
