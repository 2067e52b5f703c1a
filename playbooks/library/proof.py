#!/usr/bin/python
"""What must hold on a host after its role ran: packages that are there, commands that answer."""

from __future__ import annotations

import re
import time

from ansible.module_utils.basic import AnsibleModule  # type: ignore[import-untyped]  # (ansible has no types)

DOCUMENTATION = """
module: proof
short_description: Prove what a role promises
description:
  - Changes nothing. All that is wrong is told at once, each with what was got, what is expected and a hint.
options:
  packages:
    description: Text of a list of packages that must be installed, one a line; C(#) starts a comment.
    type: str
    default: ""
  commands:
    description:
      - What is proven, to how. C(argv) is run; C(expected) is a regular expression that its output must hold,
        C(within_s) for how long it is tried again, and C(hint) what to do where it does not hold.
    type: dict
    default: {}
  drift:
    description:
      - Set by the action plugin. What does not hold is returned as C(drift), in check mode too, and is no
        failure.
    type: bool
    default: false
"""
RETURN = """
missing:
  description: Packages that are not installed.
  returned: always
  type: list
  elements: str
drift:
  description: What does not hold, where drift is looked for.
  returned: with C(drift)
  type: list
  elements: dict
"""
_EVERY_S = 0.3
_GOT_CHARACTERS = 400
_DRIFT_WITHIN_S = 10.0
"""Nothing was just started that would need longer."""
PACKAGE_HINT = "run converge with --tags install, or renew the image this host was made from"


def names(text: str) -> list[str]:
    """The packages of a list."""
    words = (line.partition("#")[0].strip() for line in text.splitlines())
    return [word for word in words if word]


def missing(module: AnsibleModule, packages: list[str]) -> list[str]:
    """Those that are not installed and configured."""
    if not packages:
        return []
    query = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\\n", *packages]
    _, shown, _ = module.run_command(query)
    installed = {line.split()[0] for line in shown.splitlines() if line.endswith(" installed")}
    return [name for name in packages if name not in installed]


def got(module: AnsibleModule, command: dict[str, object], most_s: float) -> str:
    """What one says instead of what it should; empty where it holds."""
    ends = time.monotonic() + min(most_s, float(str(command.get("within_s", 0))))
    expected = str(command["expected"])
    while True:
        code, out, err = module.run_command(command["argv"])
        if code == 0 and re.search(expected, out, re.MULTILINE):
            return ""
        if time.monotonic() >= ends:
            break
        time.sleep(_EVERY_S)
    return " ".join((out + err).split())[-_GOT_CHARACTERS:] or f"exit code {code}"


def fault(module: AnsibleModule, what: str, command: dict[str, object]) -> str:
    """What is wrong with one; empty where it holds."""
    said = got(module, command, float("inf"))
    return f"{what}: got {said}, expected {command['expected']}; hint: {command['hint']}" if said else ""


def drift(module: AnsibleModule, absent: list[str]) -> list[dict[str, object]]:
    """All that does not hold now."""
    packages = [
        {
            "kind": "package",
            "subject": name,
            "intended": "installed",
            "observed": "not installed",
            "hint": PACKAGE_HINT,
        }
        for name in absent
    ]
    said = {what: got(module, one, _DRIFT_WITHIN_S) for what, one in module.params["commands"].items()}
    commands = module.params["commands"]
    states = [
        {
            "kind": "state",
            "subject": what,
            "intended": str(commands[what]["expected"]),
            "observed": observed,
            "hint": commands[what]["hint"],
        }
        for what, observed in said.items()
        if observed
    ]
    return [*packages, *states]


def main() -> None:
    """Run as a module."""
    spec = {
        "packages": {"type": "str", "default": ""},
        "commands": {"type": "dict", "default": {}},
        "drift": {"type": "bool", "default": False},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    absent = missing(module, names(module.params["packages"]))
    if module.params["drift"]:
        module.exit_json(changed=False, missing=absent, drift=drift(module, absent))
    faults = [f"package {name} is not installed; hint: {PACKAGE_HINT}" for name in absent]
    if not absent and not module.check_mode:
        faults = [fault(module, what, one) for what, one in module.params["commands"].items()]
    faults = [one for one in faults if one]
    if faults:
        module.fail_json(msg="\n".join(faults), missing=absent)
    module.exit_json(changed=False, missing=absent)


if __name__ == "__main__":
    main()
