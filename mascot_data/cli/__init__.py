"""The command line, one file a command. Each is a thin layer over the function of the same name."""

import sys

import typer

from mascot_data.cli.build import build
from mascot_data.cli.candidates import candidates
from mascot_data.cli.demo import demo
from mascot_data.cli.judge import judge
from mascot_data.cli.pairs import pairs
from mascot_data.cli.report import report
from mascot_data.cli.rollouts import rollouts
from mascot_data.cli.show import show
from mascot_data.cli.validate import validate
from mascot_data.errors import MascotError

INTERRUPTED = 130

app = typer.Typer(
    help="Multi-persona dialogue datasets and annotation for MASCOT. Add --debug to any command for tracebacks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
for command in (build, validate, show, candidates, rollouts, judge, pairs, report, demo):
    app.command()(command)


def main() -> None:
    """Run the command line: errors are one sentence on standard error, and the exit status says what kind."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        app(arguments, prog_name="mascot-data")
    except MascotError as error:
        _fail(str(error), error.exit_code, error if debug else None)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # how Typer tells of Ctrl-C
            _fail("stopped; nothing is half written, run it again to go on", INTERRUPTED, end if debug else None)
        raise
    except Exception as error:
        what = f"unexpected {type(error).__name__}: {error}. Run again with --debug, and please report it"
        _fail(what, 2, error if debug else None)


def _fail(message: str, status: int, error: BaseException | None) -> None:
    print(f"mascot-data: {_one_line(message)}", file=sys.stderr)
    if error is not None:
        raise error
    sys.exit(status)


def _one_line(text: str) -> str:
    """Spell out what would break the line or steer the terminal: names in a corpus can hold anything."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
