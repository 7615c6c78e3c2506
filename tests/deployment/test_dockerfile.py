"""The Dockerfile, step by step: what it copies is there and enough, what it installs is pinned, and nobody is root."""

import json
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from docker.utils.build import exclude_paths
from dockerfile_parse import DockerfileParser
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Step:
    instruction: str
    value: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.value)


def steps() -> list[Step]:
    with (ROOT / "Dockerfile").open("rb") as file:
        return [
            Step(step["instruction"], step["value"])
            for step in DockerfileParser(fileobj=file).structure
            if step["instruction"] != "COMMENT"
        ]


def of(instruction: str) -> list[Step]:
    return [step for step in steps() if step.instruction == instruction]


def copied() -> list[tuple[list[str], str]]:
    """What comes from the project: the sources, and the folder that they go to."""
    return [
        (step.words[:-1], step.words[-1]) for step in of("COPY") if not any(w.startswith("--from=") for w in step.words)
    ]


def last_stage() -> list[Step]:
    every = steps()
    start = max(place for place, step in enumerate(every) if step.instruction == "FROM")
    return every[start:]


def commands() -> list[list[str]]:
    """The commands of all RUN steps."""
    return [shlex.split(command) for step in of("RUN") for command in step.value.split("&&")]


def pins(name: str) -> dict[str, str]:
    found = re.findall(r"^([\w.-]+)==([\w.+!-]+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE)
    assert found
    return dict(found)


def test_every_stage_starts_from_the_same_exact_image() -> None:
    images = {step.words[0] for step in of("FROM")}
    assert len(images) == 1
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", images.pop())


def test_the_builder_is_sent_what_is_copied_and_nothing_else() -> None:
    """By the rules of Docker's own client. Caches of Python may lie anywhere in a tree that was used."""
    patterns = (ROOT / ".dockerignore").read_text().splitlines()
    sent = {path for path in exclude_paths(str(ROOT), patterns, dockerfile="Dockerfile") if (ROOT / path).is_file()}
    wanted = {
        path.relative_to(ROOT).as_posix()
        for sources, _ in copied()
        for source in sources
        for path in ((ROOT / source).rglob("*") if (ROOT / source).is_dir() else [ROOT / source])
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wanted - sent == set()
    assert sent - wanted == {"Dockerfile", ".dockerignore"}


def test_what_is_copied_builds_the_wheel_that_the_whole_tree_builds(tmp_path: Path) -> None:
    context = tmp_path / "source"
    for sources, target in copied():
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, context / target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                (context / target).mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, context / target)
    wheels = [
        Path(next(WheelBuilder(str(root)).build(directory=str(tmp_path / name), versions=["standard"])))
        for name, root in (("copied", context), ("whole", ROOT))
    ]
    assert wheels[0].read_bytes() == wheels[1].read_bytes()


def test_everything_that_is_installed_is_pinned_with_hashes_or_was_built_just_before() -> None:
    installs = [command for command in commands() if "install" in command]
    assert len(installs) == 3
    assert [
        command
        for command in installs
        if "--require-hashes" not in command and not {"--no-deps", "--no-index"} <= set(command)
    ] == []


def test_the_image_has_the_versions_that_the_tests_ran_with() -> None:
    tested = pins("dev.txt")
    assert {name: version for name, version in pins("run.txt").items() if tested.get(name) != version} == {}


def test_the_wheel_is_built_by_what_the_project_asks_for() -> None:
    assert "hatchling" in pins("build.txt")
    assert [command for command in commands() if "wheel" in command and "--no-build-isolation" in command]


def test_the_image_runs_as_a_user_who_is_not_root() -> None:
    [user] = [step.value for step in last_stage() if step.instruction == "USER"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    made = " ".join(step.value for step in last_stage() if step.instruction == "RUN")
    assert {f"--uid {user.split(':')[0]}", f"--gid {user.split(':')[1]}"} <= set(re.findall(r"--[ug]id \d+", made))


def test_nothing_is_done_as_another_user_after_that() -> None:
    names = [step.instruction for step in last_stage()]
    assert {"RUN", "COPY", "ADD"}.isdisjoint(names[names.index("USER") :])


def test_the_image_takes_nothing_of_the_build_but_the_finished_environment() -> None:
    assert [step.words for step in last_stage() if step.instruction == "COPY"] == [
        ["--from=build", "/usr/local/headgate", "/usr/local/headgate"]
    ]


def test_the_image_is_the_headgate_command() -> None:
    [entry] = of("ENTRYPOINT")
    assert json.loads(entry.value) == ["headgate"]
