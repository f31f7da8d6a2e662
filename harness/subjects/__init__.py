"""What can be put under test. The reference loop runs in process; nothing else here knows a loop or a transport."""
