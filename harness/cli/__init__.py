"""The `harness` command: a front over pytest and over the run record. It holds no judgement of its own."""


def main() -> None:
    """Run the command line and exit with its code (scenarios.md, "Command line")."""
    from harness.cli.main import run_command_line

    raise SystemExit(run_command_line())
