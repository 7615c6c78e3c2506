"""The rows of the page of settings, read from the code: names, defaults, what each takes, and every spelling."""

import ast
import csv
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import typer

from headgate.cli.main import app
from headgate.settings.listen_address import ListenAddress
from headgate.settings.loading import Settings
from headgate.settings.worker_settings import TERMS
from headgate_bus.claims import ClaimLimits
from headgate_bus.kafka.address import NUMBERS, TEXT_SETTINGS
from headgate_committer.limits import CommitterLimits
from headgate_schemas.errors import InvalidInput
from headgate_table.settings.options import SETTINGS, Setting, TableOptions
from headgate_table.store.settings import DOCUMENTED_KEYS, StoreSettings
from headgate_worker.limits import RoleTerms, ScheduleLimits

NOWHERE = ""
"""Where a setting can't be spelled."""
SPEC_FILE = Path(__file__).parent / "spec_settings.tsv"
"""The settings that the format's specification has, and why some of them mean nothing here."""

STORE_MEANINGS = {
    "s3.endpoint": "Address of a server other than AWS, such as `http://localhost:9000`",
    "s3.region": "Region of the bucket",
    "s3.path-style": "Bucket in the path, not in the host's name; true with an endpoint, else false",
    "s3.access-key": "Access key",
    "s3.secret-key": "Secret key",
    "s3.session-token": "Token of temporary keys",
    "s3.profile": "Profile of the AWS configuration",
    "azure.connection-string": "Everything at once, as the portal shows it",
    "azure.account-url": "Address of the account, where it isn't the usual one",
    "azure.account-name": "Account; also understood from `abfss://` addresses",
    "azure.account-key": "Key of the account",
    "azure.sas-token": "Shared access signature",
    "azure.bearer-token": "Token of a login",
    "local.durable": "false: a local write may be lost in a power cut; for tests and benchmarks",
}

_BESIDES: dict[type, dict[str, str]] = {
    CommitterLimits: {"longest_pause_ms": "The longest such pause"},
    ScheduleLimits: {"longest_backoff_ms": "The longest such pause"},
    ClaimLimits: {
        "max_compressed_bytes": "Bytes of a claimed operation, as it lies on the store",
        "max_bytes": "Bytes of a claimed operation as JSON",
    },
}
"""Where the code needs no words."""
_KEY_PREFIXES = {"claims": "claim-"}
"""Of the settings in a class within a class, by the field that holds it."""
_OF_ALL = {"roots": "HEADGATE_ROOTS, ", "listen": "HEADGATE_LISTEN, "}
"""Variables that say it to several kinds of processes."""
_OF_ITS_OWN = ("page", "listen")
"""A page beside a committer listens elsewhere, so the common variable is none of its."""


@dataclass(frozen=True, slots=True)
class Spellings:
    """How a setting is written in each place that takes it."""

    environment: str = NOWHERE
    toml: str = NOWHERE
    option: str = NOWHERE
    spark: str = NOWHERE
    table: str = NOWHERE


@dataclass(frozen=True, slots=True)
class Row:
    key: str
    default: str
    takes: str
    meaning: str
    spelled: Spellings


@dataclass(frozen=True, slots=True)
class SpecSetting:
    """A setting of the specification; `reason` says why it means nothing here, where it doesn't."""

    key: str
    default: str
    reason: str


@dataclass(frozen=True, slots=True)
class Process:
    """The settings of one kind of process, as `Settings` holds them."""

    name: str
    kind: type
    keys: tuple[str, ...]
    read: Callable[..., Any]


def spec_settings() -> tuple[SpecSetting, ...]:
    with SPEC_FILE.open(encoding="utf-8", newline="") as lines:
        return tuple(SpecSetting(*row.values()) for row in csv.DictReader(lines, delimiter="\t"))


def processes() -> tuple[Process, ...]:
    """Whatever `Settings` holds for a kind of process: one that is added there is on the page without further ado."""
    found = []
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and is_dataclass(kind) and kind is not StoreSettings:
            module = sys.modules[kind.__module__]
            found.append(Process(name, kind, module.KEYS, getattr(module, f"{name}_settings")))
    return tuple(found)


def table_rows() -> Iterator[tuple[Setting, Row]]:
    for setting in SETTINGS:
        spelled = Spellings(
            environment=f"HEADGATE_{_words(setting.key)}",
            toml=setting.key,
            option=f"--set {setting.key}=…",
            spark=f"spark.headgate.{setting.key}",
            table=NOWHERE if setting.of_process else f"headgate.{setting.key}",
        )
        default = _shown(getattr(TableOptions(), setting.field))
        meaning = f"{setting.meaning} (*process*)" if setting.of_process else setting.meaning
        yield setting, Row(setting.key, default, _taken(setting.parse), meaning, spelled)


def store_rows() -> Iterator[Row]:
    for key, field in DOCUMENTED_KEYS.items():
        takes = _refusal(StoreSettings.from_mapping, key) or "text"
        spelled = Spellings(
            environment=f"HEADGATE_STORE_{_words(key)}",
            toml=key,
            option=f"--store {key}=…",
            spark=f"spark.headgate.{key}",
        )
        yield Row(key, _shown(getattr(StoreSettings(), field)), takes, STORE_MEANINGS[key], spelled)


def kafka_rows() -> Iterator[Row]:
    """What a Kafka address may say behind its question mark."""
    for name, means in TEXT_SETTINGS.items():
        yield Row(name, "none", "text", means, Spellings())
    for name, rule in NUMBERS.items():
        yield Row(name, str(rule.default), f"a whole number from {rule.low} to {rule.high}", rule.means, Spellings())


def process_rows(process: Process) -> Iterator[Row]:
    said = dict(_said(process.kind()))
    for key in process.keys:
        if key not in TERMS or process.name != "worker":
            default, meaning = said[key]
            yield Row(key, _shown(default), _takes(process, key), meaning, process_spellings(process, key))


def term_rows(process: Process, defaults: Mapping[str, Any]) -> Iterator[Row]:
    """How often each role looks at a table: a row for a setting of all roles, with the defaults of each."""
    said = meanings(RoleTerms)
    for name in dict.fromkeys(name for _, name in TERMS.values()):
        shown = " / ".join(_shown(getattr(terms, name)) for terms in defaults.values())
        key = next(key for key, (_, field) in TERMS.items() if field == name)
        yield Row(f"…-{name.replace('_', '-')}", shown, _takes(process, key), said[name].rstrip("."), Spellings())


def process_spellings(process: Process, key: str) -> Spellings:
    common = NOWHERE if (process.name, key) == _OF_ITS_OWN else _OF_ALL.get(key, NOWHERE)
    return Spellings(
        environment=f"{common}HEADGATE_{process.name.upper()}_{_words(key)}",
        toml=key,
        option=_option(process.name, key),
    )


def meanings(kind: type) -> dict[str, str]:
    """What the fields of a class of settings mean."""
    return field_docstrings(kind) | _BESIDES.get(kind, {})


def field_docstrings(kind: type) -> dict[str, str]:
    """What stands below the fields of a class, on one line each."""
    [body] = [
        node
        for node in ast.parse(Path(inspect.getfile(kind)).read_bytes()).body
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    ]
    found: dict[str, str] = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                found[name] = " ".join(said.split())
            case _:
                pass
    return found


def _said(value: Any, prefix: str = "") -> Iterator[tuple[str, tuple[object, str]]]:
    """Default and meaning of each field, of those in classes within it, too."""
    said = meanings(type(value))
    for field in fields(value):
        inner = getattr(value, field.name)
        if is_dataclass(inner) and not isinstance(inner, ListenAddress):
            yield from _said(inner, _KEY_PREFIXES.get(field.name, ""))
        elif field.name in said:
            yield prefix + field.name.replace("_", "-"), (inner, said[field.name].rstrip("."))


def _option(process: str, key: str) -> str:
    """The command's own option for it, else that for bounds."""
    for name in (f"--{key}", f"--{key.removesuffix('s')}"):
        if name in _options(process):
            return f"{name} …"
    return f"--limit {key}=…" if "--limit" in _options(process) else NOWHERE


@cache
def _options(process: str) -> frozenset[str]:
    command: Any = typer.main.get_command(app)
    return frozenset(name for parameter in command.commands[process].params for name in parameter.opts)


def _takes(process: Process, key: str) -> str:
    said = _refusal(process.read, key)
    if said is None:
        return "addresses, with commas between them" if key in ("roots", "watch") else "text"
    return said


def _taken(parse: Callable[[str], Any]) -> str:
    try:
        parse("")
    except ValueError as error:
        return str(error)
    return "text"


def _refusal(read: Callable[[Mapping[str, str]], Any], key: str) -> str | None:
    """What a setting takes, from how it refuses what it doesn't take."""
    for nonsense in ("", "what?"):
        try:
            read({key: nonsense})
        except InvalidInput as error:
            said = re.search(r"(?:it takes|write) (.*)", str(error))
            if said is not None:
                return re.sub(rf" to {2**53}$", "", said[1])
    return None


def _words(key: str) -> str:
    """`state.entriesPerManifest` is STATE_ENTRIES_PER_MANIFEST in the environment."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).replace(".", "_").replace("-", "_").upper()


def _shown(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case tuple():
            return ", ".join(value) or "none"
        case frozenset():
            return ", ".join(sorted(value)) or "none"
        case None:
            return "none"
        case dict():
            return ", ".join(f"{name}={text}" for name, text in value.items()) or "none"
        case _:
            return str(value) or "none"
