"""Print what a wheel requires, without torch and what needs its own build of torch.

Run: python tests/models/requirements.py FOLDER
"""

from __future__ import annotations

import sys
import zipfile
from email.parser import Parser
from pathlib import Path

WITHOUT = ("torch", "torchaudio", "torchvision", "torchcodec")


def main(folder: str) -> None:
    (wheel,) = Path(folder).glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    for required in metadata.get_all("Requires-Dist", []):
        if "extra ==" not in required and not required.startswith(WITHOUT):
            print(required)


if __name__ == "__main__":
    main(sys.argv[1])
