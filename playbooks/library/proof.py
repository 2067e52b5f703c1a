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
"""
RETURN = """
missing:
  description: Packages that are not installed.
  returned: always
  type: list
  elements: str
"""
_EVERY_S = 0.3
_GOT_CHARACTERS = 400
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


def fault(module: AnsibleModule, what: str, command: dict[str, object]) -> str:
    """What is wrong with one; empty where it holds."""
    within_s = command.get("within_s", 0)
    ends = time.monotonic() + float(str(within_s))
    expected = str(command["expected"])
    while True:
        code, out, err = module.run_command(command["argv"])
        if code == 0 and re.search(expected, out, re.MULTILINE):
            return ""
        if time.monotonic() >= ends:
            break
        time.sleep(_EVERY_S)
    got = " ".join((out + err).split())[-_GOT_CHARACTERS:] or f"exit code {code}"
    return f"{what}: got {got}, expected {expected}; hint: {command['hint']}"


def main() -> None:
    """Run as a module."""
    spec = {
        "packages": {"type": "str", "default": ""},
        "commands": {"type": "dict", "default": {}},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    absent = missing(module, names(module.params["packages"]))
    faults = [f"package {name} is not installed; hint: {PACKAGE_HINT}" for name in absent]
    if not absent and not module.check_mode:
        faults = [fault(module, what, one) for what, one in module.params["commands"].items()]
    faults = [one for one in faults if one]
    if faults:
        module.fail_json(msg="\n".join(faults), missing=absent)
    module.exit_json(changed=False, missing=absent)


if __name__ == "__main__":
    main()
