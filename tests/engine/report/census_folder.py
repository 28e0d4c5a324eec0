"""A folder with the demo's census, for tests of what commands write there."""
import os
import pathlib
import shutil
import tempfile

NO_LIBTORCH = 69
# Of which every command makes small results.
SMALL_CONFIG = """\
model: census.safetensors
data: census.csv
domain: census.domain.yaml
protected: [age, gender]
global: {num: 50}
local: {num: 50}
train: {layers: [8], epochs: 4}
"""
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
