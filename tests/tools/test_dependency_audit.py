"""The audit of what is pinned, against sources of vulnerabilities that know, that don't, and that aren't there."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pytest

from support.servers.processes import free_port
from support.servers.scripted import Answer, Request, scripted_server
from tooling.audit_dependencies import (
    ACCEPTED,
    Misused,
    NoAnswer,
    expired,
    main,
    pins_of,
    read_accepted,
    read_report,
)

ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class Osv:
    """A source that knows of the holes that a test names, by package."""

    url: str = ""
    holes: dict[str, str] = field(default_factory=dict)
    status: int = 200
    asked: list[str] = field(default_factory=list)

    def answer(self, request: Request) -> Answer:
        name = json.loads(request.body)["package"]["name"]
        self.asked.append(name)
        hole = {
            "id": self.holes.get(name),
            "aliases": ["CVE-2026-1"],
            "summary": "everything is open",
            "affected": [
                {
                    "package": {"name": name, "ecosystem": "PyPI"},
                    "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "2.0"}]}],
                }
            ],
        }
        return Answer(self.status, json.dumps({"vulns": [hole]} if name in self.holes else {}).encode())


@pytest.fixture
def osv() -> Iterator[Osv]:
    found = Osv()
    with scripted_server(found.answer) as url:
        found.url = url
        yield found


@pytest.fixture
def pinned(tmp_path: Path) -> Path:
    """A folder as requirements/ is, with five pins."""
    folder = tmp_path / "requirements"
    folder.mkdir()
    (folder / "run.txt").write_text(
        "anyio==1.0 \\\n    --hash=sha256:00\nboto3==1.0 ; python_version < '3.12' \\\n    --hash=sha256:00\nboto3==1.1 "
        "; python_version >= '3.12' \\\n    --hash=sha256:00\n"
    )
    (folder / "dev.txt").write_text("anyio==1.0\nmypy==1.0\nzstandard==0.25.0\n")
    return folder


def audited(folder: Path, url: str) -> int:
    return main(["--requirements", str(folder), "--cache", str(folder.parent / "cache"), "--osv-url", url])


def accept(folder: Path, hole: str = "CVE-2026-1", package: str = "zstandard", until: str = "2999-12-31") -> None:
    (folder / ACCEPTED).write_text(
        f'[[accepted]]\nid = "{hole}"\npackage = "{package}"\nreason = "not called"\nuntil = {until}\n'
    )


def test_a_known_hole_fails_and_is_named_with_the_version_that_mends_it(
    osv: Osv, pinned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    osv.holes["zstandard"] = "PYSEC-2026-1"
    assert audited(pinned, osv.url) == 1
    said = capsys.readouterr().err
    assert "known hole in zstandard 0.25.0: PYSEC-2026-1, CVE-2026-1; mended in 2.0" in said


def test_clean_pins_pass_and_are_not_asked_about_again_for_a_day(
    osv: Osv, pinned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audited(pinned, osv.url) == 0
    assert set(osv.asked) == {"anyio", "boto3", "mypy", "zstandard"}
    osv.asked.clear()
    assert audited(pinned, osv.url) == 0
    assert osv.asked == []
    assert "within the last day" in capsys.readouterr().err


def test_other_pins_are_asked_about_at_once(osv: Osv, pinned: Path) -> None:
    assert audited(pinned, osv.url) == 0
    (pinned / "dev.txt").write_text("zstandard==0.26.0\n")
    osv.holes["zstandard"] = "PYSEC-2026-1"
    assert audited(pinned, osv.url) == 1


def test_an_accepted_hole_passes_and_is_still_told(osv: Osv, pinned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    osv.holes["zstandard"] = "PYSEC-2026-1"
    accept(pinned)
    assert audited(pinned, osv.url) == 0
    assert "accepted until 2999-12-31: zstandard 0.25.0" in capsys.readouterr().err


def test_an_accepted_hole_of_another_package_covers_nothing(osv: Osv, pinned: Path) -> None:
    osv.holes["zstandard"] = "PYSEC-2026-1"
    accept(pinned, package="anyio")
    assert audited(pinned, osv.url) == 1


def test_an_accepted_hole_whose_end_is_past_fails_even_if_nothing_answers(
    pinned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    accept(pinned, until="2026-01-01")
    assert audited(pinned, nobody()) == 1
    assert "CVE-2026-1 of zstandard was accepted until 2026-01-01 only" in capsys.readouterr().err


@pytest.mark.parametrize("status", [404, 500, 503])
def test_a_source_that_fails_is_said_aloud_and_fails_nothing(
    osv: Osv, pinned: Path, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    osv.status = status
    assert audited(pinned, osv.url) == 0
    assert "THE DEPENDENCIES WERE NOT AUDITED" in capsys.readouterr().err


def test_a_source_that_is_not_there_is_said_aloud_and_fails_nothing(
    pinned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = nobody()
    assert audited(pinned, where) == 0
    said = capsys.readouterr().err
    assert "THE DEPENDENCIES WERE NOT AUDITED" in said
    assert where in said
    assert audited(pinned, where) == 0
    assert "THE DEPENDENCIES WERE NOT AUDITED" in capsys.readouterr().err, "no answer was taken for a clean one"


def nobody() -> str:
    """An address at which nothing listens."""
    return f"http://127.0.0.1:{free_port()}"


def test_a_mirror_that_knows_no_version_is_no_source() -> None:
    """It answers with "not found" to everything, which pip-audit takes for skipped pins and success."""
    skipped = [{"name": name, "skip_reason": "not found"} for name in ("anyio", "boto3")]
    assert isinstance(read_report(json.dumps({"dependencies": skipped, "fixes": []})), NoAnswer)


def test_a_hole_is_accepted_through_its_last_day() -> None:
    [entry] = read_accepted('[[accepted]]\nid = "A"\npackage = "p"\nreason = "r"\nuntil = 2026-05-01\n')
    assert expired([entry], date(2026, 5, 1)) == []
    assert expired([entry], date(2026, 5, 2)) == [entry]


@pytest.mark.parametrize(
    "text",
    [
        "[[accepted]]\nid = 'A'\n",
        "[[accepted]]\nid = 'A'\npackage = 'p'\nreason = ''\nuntil = 2026-05-01\n",
        "[[accepted]]\nid = 'A'\npackage = 'p'\nreason = 'r'\nuntil = 'later'\n",
        "[[accepted]]\nid = 'A'\npackage = 'p'\nreason = 'r'\nuntil = 2026-05-01\nignore = true\n",
        "[[accepted]\n",
    ],
)
def test_what_is_accepted_has_a_reason_and_an_end(text: str) -> None:
    with pytest.raises(Misused):
        read_accepted(text)


def test_every_pin_of_every_file_is_audited_whatever_it_is_for() -> None:
    texts = [path.read_text() for path in (ROOT / "requirements").glob("*.txt")]
    lines = {line.split(" ")[0] for text in texts for line in text.splitlines() if "==" in line.split(" ")[0]}
    assert set(pins_of(texts)) == lines
    assert {"backports-zstd", "mkdocs-material", "uv", "pyiceberg", "boto3"} <= {line.split("==")[0] for line in lines}


def test_what_is_accepted_here_can_be_read() -> None:
    read_accepted((ROOT / "requirements" / ACCEPTED).read_text())


def test_an_audit_that_is_broken_does_not_pass_for_a_silent_source(
    pinned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pinned / "run.txt").write_text("aiohttp==not-a-version\n")
    assert audited(pinned, nobody()) == 1
    assert "pip-audit can't be run" in capsys.readouterr().err


def test_lint_audits() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\nlint:")[2].partition("\n\n")[0]
    assert "tests/tooling/audit_dependencies.py" in recipe
