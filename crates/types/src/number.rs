//! Numbers from and to text, as MySQL reads and prints them.
