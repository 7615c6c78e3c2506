"""Every write of a table's object, judged at once: where each kind of object is judged."""

from support.logs.raw_log import LOG
from support.simulation.judge.mirrors import FOLDER
from support.simulation.judge.model import TableModel
from support.simulation.judge.states import judge_pointer, judge_state
from support.simulation.judge.versions import judge_version
from support.simulation.world.data_files import rows_in


def judge_write(model: TableModel, key: str, data: bytes) -> None:
    """The object was created or replaced, with these bytes. Raises `InvariantBroken`."""
    name = key.removeprefix(f"{LOG}/")
    if key.startswith(FOLDER):
        model.mirror.wrote(
            model.uri, key, data, {number: {*each.live} for number, each in model.versions.items()}, model.now_ms()
        )
        return
    if name == key:
        model.deleted_files.discard(key)
        model.rows[key] = rows_in(data)
        return
    model.changes += 1
    model.decoded.pop(key, None)
    if len(name) == 25 and name.endswith(".json"):
        judge_version(model, int(name[:20]), data)
    elif name.endswith("/_manifest.avro"):
        judge_state(model, int(name[7:27]), data)
    elif name == "_last_checkpoint":
        judge_pointer(model, data)
