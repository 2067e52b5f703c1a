#!/usr/bin/python3
"""Sets this host's kernel to what its platform and spec say, and tells what of it is live.

    kernel_tuning.py apply     set what can be set now; note what waits for a reboot
    kernel_tuning.py report    what is live, differs, waits for a reboot, or is not in this kernel
    kernel_tuning.py --apply   as module `program` asks: settings on standard input, and whether only to look

The settings are else in /etc/rackwright/kernel-tuning.json. What was there before is kept, so
that a setting that is wanted no more goes back. Files in /etc are laid by the role; boot loader and initramfs
are renewed here, where those files changed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel_drift import differences
from kernel_host import DIFFERS, LIVE, MISSING, REBOOT, REFUSED, Host, read, remember, remembered, run, said

if TYPE_CHECKING:
    from collections.abc import Sequence

SYS, PROC = Path("/sys"), Path("/proc")
WANTED = Path("/etc/rackwright/kernel-tuning.json")
BEFORE = Path("/var/lib/rackwright/kernel-tuning-before.json")
"""Path → what was in it before we first wrote to it, and the boot in which that was noted."""
BOOT_ID = PROC / "sys/kernel/random/boot_id"
BUILT = Path("/var/lib/rackwright/kernel-tuning.json")
"""What boot loader, initramfs and manager have read, and the words that we put on the command line.

It is there as long as anything of ours may be on this host, and goes last: by it the role knows a host that
has to give something back.
"""
REASONS = Path("/run/rackwright/reboot/kernel_tuning")
"""Why this host waits for a reboot, one reason a line; gone after it."""
UNIT = "rackwright-kernel-tuning.service"
ENABLED = Path("/etc/systemd/system/multi-user.target.wants") / UNIT
BOOT_FILES = {
    "update-grub": Path("/etc/default/grub.d/60-rackwright-tuning.cfg"),
    "update-initramfs -u": Path("/etc/modprobe.d/60-rackwright-tuning.conf"),
}
PAGES_KIB = {"2M": 2048, "1G": 1 << 20}

MANAGER, REEXEC = Path("/etc/systemd/system.conf.d/70-rackwright-tuning.conf"), "systemctl daemon-reexec"
IN_KIB = {"core", "memlock", "stack"}
"""limits.conf(5) counts these in KiB; systemd counts in bytes."""

Settings = dict[str, Any]
"""As the model of the catalogue has them: its JSON."""


def noted_before() -> dict[str, str]:
    """Path → its value without us.

    A file of ours sets sysctls again at each boot, before us: theirs outlive it. All else is the kernel's
    own after a boot, and an interrupt's number may be another device's.
    """
    note = remembered(BEFORE)
    values: dict[str, str] = note.get("values", {})
    if note.get("boot") == read(BOOT_ID):
        return values
    return {path: value for path, value in values.items() if Path(path).is_relative_to(PROC / "sys")}


def sysctls(host: Host, settings: Settings) -> None:
    """Those that are stated, the ARP rules of rails among them."""
    for key, value in sorted(settings.get("sysctl", {}).items()):
        host.bring(f"sysctl {key}", PROC / "sys" / key.replace(".", "/"), " ".join(str(value).split()))


def memory(host: Host, settings: Settings) -> None:
    """Huge pages, transparent and reserved."""
    wanted = settings.get("transparent_hugepages")
    if wanted:
        host.bring("transparent_hugepages", SYS / "kernel/mm/transparent_hugepage/enabled", wanted)
    for size, count in sorted(settings.get("hugepages", {}).items()):
        pages = SYS / f"kernel/mm/hugepages/hugepages-{PAGES_KIB[size]}kB/nr_hugepages"
        host.bring(f"hugepages {size}", pages, count)


def processors(host: Host, settings: Settings) -> None:
    """Governor, idle states, clock."""
    cpus = sorted((SYS / "devices/system/cpu").glob("cpu[0-9]*"))
    governor, latency = settings.get("governor"), settings.get("cstate_latency_us")
    if governor:
        places = [cpu / "cpufreq/scaling_governor" for cpu in cpus]
        each(host, "governor", [(place, governor) for place in places])
    if latency is not None:
        states = [state for cpu in cpus for state in sorted((cpu / "cpuidle").glob("state*"))]
        slow = [(one / "disable", int(int(read(one / "latency") or 0) > latency)) for one in states]
        each(host, f"cstate_latency_us {latency}", slow)
    clock = SYS / "devices/system/clocksource/clocksource0"
    source = settings.get("clocksource")
    if source and source not in read(clock / "available_clocksource").split():
        host.note("clocksource", source, read(clock / "current_clocksource"), MISSING)
    elif source:
        host.bring("clocksource", clock / "current_clocksource", source)


def each(host: Host, setting: str, wanted: Sequence[tuple[Path, object]]) -> None:
    """One setting that is in many places: told once."""
    there = [(path, value) for path, value in wanted if path.exists()]
    if not there:
        host.note(setting, "set", "not there", MISSING)
        return
    one = Host(host.dry, host.before, host.keep, host.wanted)
    one.keep_before(there)
    for path, value in there:
        one.bring(setting, path, value)
    host.changed += [f"{setting}: {len(one.changed)} places"] if one.changed else []
    worst = next((state for state in one.states if state.state != LIVE), one.states[0])
    host.note(setting, worst.wanted, worst.now, worst.state)


def modules(host: Host, settings: Settings) -> None:
    """Loaded, blocked, and with which options."""
    for name in settings.get("load_modules", []):
        load(host, name)
    for name in settings.get("block_modules", []):
        there = (SYS / "module" / name.replace("-", "_")).exists()
        host.note(
            f"block_modules {name}",
            "not loaded",
            "loaded" if there else "not loaded",
            REBOOT if there else LIVE,
        )
    for name, options in sorted(settings.get("module_options", {}).items()):
        for key, value in sorted(options.items()):
            option(host, name, key, str(value))


def load(host: Host, name: str) -> None:
    """Load one module, unless it is there."""
    setting = f"load_modules {name}"
    if (SYS / "module" / name.replace("-", "_")).exists():
        host.note(setting, "loaded", "loaded", LIVE)
    elif not run("modprobe", "--dry-run", name):
        host.note(setting, "loaded", "no such module", MISSING)
    else:
        host.changed.append(f"{setting}: loaded")
        done = host.dry or run("modprobe", name)
        now = "not loaded" if host.dry else "loaded" if done else "refused"
        host.note(setting, "loaded", now, host.brought if done else REFUSED)


def option(host: Host, module: str, key: str, wanted: str) -> None:
    """An option is read when its module is loaded."""
    setting = f"module_options {module}.{key}"
    there = SYS / "module" / module.replace("-", "_")
    place = there / "parameters" / key
    if not there.exists():
        known = run("modprobe", "--dry-run", module)
        host.note(
            setting, wanted, "module not loaded" if known else "no such module", LIVE if known else MISSING
        )
    elif not place.exists():
        host.note(setting, wanted, "no such option, or hidden", MISSING)
    else:
        now = {"Y": "1", "N": "0"}.get(read(place), read(place))
        as_wished = now == {"Y": "1", "N": "0", "y": "1", "n": "0"}.get(wanted, wanted)
        host.note(setting, wanted, now, LIVE if as_wished else REBOOT)


def network(host: Host, settings: Settings, rails: list[str]) -> None:
    """Queues and interrupts of the cards on rails."""
    if settings.get("interrupts") and run("systemctl", "is-active", "--quiet", "irqbalance.service"):
        host.changed.append("irqbalance: stopped")
        _ = host.dry or run("systemctl", "stop", "irqbalance.service")
    for rail in rails:
        if settings.get("channels"):
            channels(host, rail, int(settings["channels"]))
        if settings.get("interrupts"):
            interrupts(host, rail)


def channels(host: Host, rail: str, wanted: int) -> None:
    """Queues of one card (ethtool -L)."""
    setting = f"channels {rail}"
    shown = said("ethtool", "--show-channels", rail)
    found = [
        int(line.split()[1])
        for line in shown.splitlines()
        if line.startswith("Combined:") and line.split()[1].isdigit()
    ]
    if len(found) != len(("most", "now")):
        host.note(setting, wanted, "no channels", MISSING)
    elif found[1] == wanted:
        host.note(setting, wanted, found[1], LIVE)
    elif wanted > found[0]:
        host.note(setting, wanted, f"{found[0]} at most", MISSING)
    else:
        host.changed.append(f"{setting}: {found[1]} becomes {wanted}")
        done = host.dry or run("ethtool", "--set-channels", rail, "combined", str(wanted))
        now = wanted if done and not host.dry else found[1]
        host.note(setting, wanted, now, host.brought if done else REFUSED)


def interrupts(host: Host, rail: str) -> None:
    """Each interrupt of a card on one processor of the card's node, one after the other."""
    device = (SYS / "class/net" / rail / "device").resolve()
    places = [place for place in (device, device.parent) if (place / "msi_irqs").is_dir()]
    if not places:
        host.note(f"interrupts {rail}", "local", "no such interface, or no interrupts of its own", MISSING)
        return
    numbers = sorted(int(one.name) for one in (places[0] / "msi_irqs").iterdir())
    near = cpus_of(read(places[0] / "local_cpulist")) or [0]
    wanted = [
        (PROC / "irq" / str(number) / "smp_affinity_list", near[index % len(near)])
        for index, number in enumerate(numbers)
        if (PROC / "irq" / str(number)).is_dir()
    ]
    each(host, f"interrupts {rail}", wanted)


def cpus_of(text: str) -> list[int]:
    """Numbers of a list as the kernel writes it: ``0-3,8``."""
    ends = (part.partition("-") for part in text.split(",") if part)
    return [cpu for first, _, last in ends for cpu in range(int(first), int(last or first) + 1)]


def limits(host: Host, settings: Settings, made: dict[str, str]) -> None:
    """What systemd hands its daemons; those that run keep what they were started with."""
    wanted = {name: amount(name, value) for name, value in sorted(settings.get("limits", {}).items())}
    read_by_manager = digest(MANAGER)
    differ = any(manager(name) != value for name, value in wanted.items())
    if differ or made.get(REEXEC, "") != read_by_manager:
        host.changed.append("limits: the system's manager reads them anew")
        _ = host.dry or run(*REEXEC.split())
        made[REEXEC] = read_by_manager
    for name, value in wanted.items():
        now = manager(name)
        host.note(f"limits {name}", value, now, LIVE if now == value else DIFFERS if host.dry else REFUSED)


def amount(name: str, value: object) -> str:
    """As systemd writes it."""
    if value == "unlimited":
        return "infinity"
    return str(int(str(value)) * 1024) if name in IN_KIB else str(value)


def manager(limit: str) -> str:
    """A limit that the system's manager has."""
    return said("systemctl", "show", f"--property=DefaultLimit{limit.upper()}", "--value").strip()


def digest(path: Path) -> str:
    """Of a file; empty for none."""
    return sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def cgroups(host: Host, settings: Settings) -> None:
    """Unified or not is decided at boot."""
    if settings.get("cgroup"):
        unified = (SYS / "fs/cgroup/cgroup.controllers").exists()
        host.note("cgroup", "v2", "v2" if unified else "v1", LIVE if unified else REBOOT)


def still_there(wanted: list[str], ours: list[str]) -> list[str]:
    """Words of ours that nobody wants any more, and that this boot has nevertheless."""
    there = (PROC / "cmdline").read_text().split()
    return [word for word in ours if word in there and word not in wanted]


def command_line(host: Host, wanted: list[str], old: list[str]) -> None:
    """Words that are not there yet, and old ones of ours that are."""
    there = (PROC / "cmdline").read_text().split()
    for word in wanted:
        now, state = ("there", LIVE) if word in there else ("not there", REBOOT)
        host.note(f"cmdline {word}", word, now, state)
    for word in old:
        host.note(f"cmdline {word}", "not there", "there", REBOOT)


def at_boot(host: Host, *, wanted: bool) -> None:
    """Whether this runs at each boot."""
    if ENABLED.is_symlink() != wanted:
        host.changed.append(f"{UNIT}: {'enabled' if wanted else 'disabled'}")
        if not host.dry:
            ENABLED.symlink_to(f"/etc/systemd/system/{UNIT}") if wanted else ENABLED.unlink()


def boot(host: Host, made: dict[str, str]) -> None:
    """Renew boot loader and initramfs where the files they are made of changed."""
    for program, path in BOOT_FILES.items():
        now = digest(path)
        if made.get(program, "") != now:
            host.changed.append(f"{program}: {path} changed")
            if not host.dry:
                done = subprocess.run(program.split(), capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    raise SystemExit(f"{program}: {done.stderr.strip()[-500:]}")
            made[program] = now


def keep_before(values: dict[str, str]) -> None:
    """Note what was there before us."""
    remember(BEFORE, {"boot": read(BOOT_ID), "values": values})


def converge(plan: dict[str, Any], *, dry: bool) -> Host:
    """Set all that can be set now; what is ours is noted before anything is done."""
    settings, rails = plan.get("settings", {}), plan.get("rails", [])
    host = Host(dry, noted_before(), keep_before)
    built = remembered(BUILT)
    made: dict[str, str] = built.get("made", {})
    words: list[str] = settings.get("words", [])
    old = still_there(words, built.get("words", []))
    if not dry:
        remember(BUILT, {"made": made, "words": [*words, *old]})
    at_boot(host, wanted=bool(settings))
    limits(host, settings, made)
    sysctls(host, settings)
    memory(host, settings)
    processors(host, settings)
    modules(host, settings)
    network(host, settings, rails)
    cgroups(host, settings)
    host.give_back()
    command_line(host, words, old)
    boot(host, made)
    if not dry:
        note_reasons(host)
        keep_before(host.before)
        remember(BUILT, {"made": made, "words": [*words, *old]})
        if not settings and not old:
            forget()
    return host


def forget() -> None:
    """Nothing of ours is on this host any more."""
    BEFORE.unlink(missing_ok=True)
    BUILT.unlink(missing_ok=True)


def note_reasons(host: Host) -> None:
    """Why a reboot is needed, for whoever reboots hosts."""
    reasons = [
        f"{one.setting}: {one.now}, wanted {one.wanted}\n" for one in host.states if one.state == REBOOT
    ]
    REASONS.parent.mkdir(parents=True, exist_ok=True)
    if reasons:
        REASONS.write_text("".join(reasons))
    else:
        REASONS.unlink(missing_ok=True)


def answer() -> dict[str, object]:
    """What module `program` is told."""
    asked = json.load(sys.stdin)
    host = converge(asked["plan"], dry=bool(asked["check"]))
    waiting = [(one.setting, one.wanted, one.now) for one in host.states if one.state == REBOOT]
    return {"changes": host.changed, "drift": differences(host.changed, waiting)}


def main(arguments: list[str]) -> int:
    """Do one of the three."""
    (verb,) = arguments
    if verb == "--apply":
        print(json.dumps(answer()))  # noqa: T201 (its answer)
        return 0
    host = converge(remembered(WANTED), dry=verb != "apply")
    for one in host.states:
        print(f"{one.state:<8} {one.setting}: {one.now}, wanted {one.wanted}")  # noqa: T201 (its answer)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
