"""A folder with the demo's census, for tests of what commands write there."""
import os
import pathlib
import shutil
import tempfile

DEMO = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"], "configs", "demo").resolve()


def census_folder(case, config):
    """Makes it for all tests of a case, with `config` as census.yaml. Returns its path."""
    temporary = tempfile.TemporaryDirectory()
    case.addClassCleanup(temporary.cleanup)
    folder = pathlib.Path(temporary.name)
    for name in ("census.csv", "census.domain.yaml", "census.safetensors"):
        shutil.copy(DEMO / name, folder / name)
    (folder / "census.yaml").write_text(config, encoding="utf-8")
    return folder
