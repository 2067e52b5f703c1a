"""sushy-tools' emulator as one controller on loopback: a Redfish that we have not written.

    python -m tests.doubles.emulator CONFIG.json

The configuration is the emulator's own; beside it lies `power`, which the driver writes at once.
As the stock emulator knows no serial number, its template is given one.
"""

from __future__ import annotations

import json
import ssl
import sys
from pathlib import Path

import jinja2
from sushy_tools.emulator import main as emulator  # type: ignore[import-untyped]
from sushy_tools.emulator.resources.systems import fakedriver  # type: ignore[import-untyped]


class _Driver(fakedriver.FakeDriver):  # type: ignore[misc]
    """Keeps power in a file, and counts what was asked in another."""

    def get_power_state(self, identity: str) -> str:
        self._get(identity)
        return _file("power").read_text()

    def set_power_state(self, identity: str, state: str) -> None:
        self._get(identity)
        with _file("asked").open("a") as asked:
            asked.write(f"{state}\n")
        _file("power").write_text("On" if state in ("On", "ForceOn") else "Off")


def _file(name: str) -> Path:
    return Path(sys.argv[1]).parent / name


def main() -> None:
    config = json.loads(Path(sys.argv[1]).read_text())
    emulator.fakedriver.FakeDriver = _Driver
    emulator.app.configure(extra_config=config)
    loader = emulator.app.jinja_loader
    source = loader.get_source(emulator.app.jinja_env, "system.json")[0]
    serial = f'"SerialNumber": {json.dumps(config["SERIAL"])}, "UUID":'
    changed = jinja2.DictLoader({"system.json": source.replace('"UUID":', serial, 1)})
    emulator.app.jinja_loader = jinja2.ChoiceLoader([changed, loader])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(config["CHAIN"])
    emulator.app.run(host=config["ADDRESS"], port=config["PORT"], ssl_context=context, threaded=True)


if __name__ == "__main__":
    main()
