"""The reference run loop: a pure machine (`machine.advance`) and thin drivers (`drive`) that perform its effects."""
