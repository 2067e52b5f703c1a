"""Placement groups and capacity reservations, which moto 5.2 does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response
from moto.moto_api._internal import mock_random

from rackwright.lab.aws.instances import TERMINATED
from rackwright.lab.aws.wanted import tags_of

if TYPE_CHECKING:
    from rackwright.lab.aws.wanted import Params

_RESERVATIONS_ONLY = "capacity-reservations-only"


def groups(backend: Any) -> dict[str, Params]:  # noqa: ANN401 (moto's EC2 backend)
    """Placement groups by name."""
    found: dict[str, Params] = backend.__dict__.setdefault("lab_placement_groups", {})
    return found


def reservations(backend: Any) -> dict[str, Params]:  # noqa: ANN401
    """Capacity reservations by id, without what is free of them."""
    found: dict[str, Params] = backend.__dict__.setdefault("lab_capacity_reservations", {})
    return found


def _living(backend: Any) -> list[Any]:  # noqa: ANN401
    return [one for one in backend.all_instances() if one.state != TERMINATED]


def free(backend: Any, reservation: Params) -> int:  # noqa: ANN401
    """How many instances more a capacity reservation takes."""
    name = reservation["CapacityReservationId"]
    used: int = sum(getattr(one, "capacity_reservation_id", None) == name for one in _living(backend))
    total: int = reservation["TotalInstanceCount"]
    return total - used


def require_group(backend: Any, params: Params) -> str:  # noqa: ANN401
    """Name of the placement group that a launch is for; empty for none."""
    name = params.get("Placement", {}).get("GroupName", "")
    if name and name not in groups(backend):
        raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
    return str(name)


def require_reservation(backend: Any, params: Params, kind: str, count: int) -> str | None:  # noqa: ANN401
    """Id of the capacity reservation that a launch takes; None for none.

    Raises:
        EC2ClientError: there is none, or it is for others, or it is full.
    """
    asked = params.get("CapacityReservationSpecification", {})
    name = asked.get("CapacityReservationTarget", {}).get("CapacityReservationId")
    if name is None:
        if asked.get("CapacityReservationPreference") == _RESERVATIONS_ONLY:
            return _open(backend, kind, count)
        return None
    if name not in reservations(backend):
        raise EC2ClientError(
            "InvalidCapacityReservationId.NotFound", f"The capacity reservation '{name}' does not exist."
        )
    reservation = reservations(backend)[name]
    if reservation["InstanceType"] != kind:
        raise EC2ClientError(
            "InvalidParameterValue", f"The capacity reservation '{name}' is for another instance type."
        )
    if free(backend, reservation) < count:
        raise _exceeded()
    return str(name)


def _open(backend: Any, kind: str, count: int) -> str:  # noqa: ANN401
    """An open reservation that matches; `capacity-reservations-only` never falls back to on demand."""
    for name, one in reservations(backend).items():
        matches = (one["InstanceMatchCriteria"], one["InstanceType"]) == ("open", kind)
        if matches and free(backend, one) >= count:
            return name
    raise _exceeded()


def _exceeded() -> EC2ClientError:
    return EC2ClientError(
        "ReservationCapacityExceeded", "The requested reservation does not have sufficient capacity."
    )


class Placement(EC2Response):
    """Calls about both."""

    def create_placement_group(self) -> ActionResult:
        """CreatePlacementGroup: names are unique in a region."""
        name = self._get_param("GroupName")
        if name in groups(self.ec2_backend):
            raise EC2ClientError(
                "InvalidPlacementGroup.Duplicate", f"The Placement Group '{name}' already exists."
            )
        self.error_on_dryrun()
        tags = tags_of(self._get_param("TagSpecifications", []), "placement-group")
        group = {
            "GroupName": name,
            "GroupId": f"pg-0{mock_random.get_random_hex(16)}",
            "State": "available",
            "Strategy": self._get_param("Strategy", "cluster"),
        }
        groups(self.ec2_backend)[name] = group
        self.ec2_backend.create_tags([group["GroupId"]], tags)
        return ActionResult({"PlacementGroup": self._with_tags(group, "GroupId")})

    def describe_placement_groups(self) -> ActionResult:
        """DescribePlacementGroups, by name, id or all."""
        known = groups(self.ec2_backend)
        names, ids = self._get_param("GroupNames", []), self._get_param("GroupIds", [])
        missing = [name for name in names if name not in known]
        missing += [one for one in ids if one not in {group["GroupId"] for group in known.values()}]
        if missing:
            raise EC2ClientError(
                "InvalidPlacementGroup.Unknown", f"The Placement Group '{missing[0]}' is unknown."
            )
        chosen = [
            self._with_tags(group, "GroupId")
            for group in known.values()
            if (not names or group["GroupName"] in names) and (not ids or group["GroupId"] in ids)
        ]
        return ActionResult({"PlacementGroups": chosen})

    def delete_placement_group(self) -> ActionResult:
        """DeletePlacementGroup: one with instances in it is in use."""
        name = self._get_param("GroupName")
        if name not in groups(self.ec2_backend):
            raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
        if any(one.placement.group_name == name for one in _living(self.ec2_backend)):
            raise EC2ClientError(
                "InvalidPlacementGroup.InUse",
                f"The placement group '{name}' is in use and may not be deleted.",
            )
        self.error_on_dryrun()
        del groups(self.ec2_backend)[name]
        return ActionResult({})

    def create_capacity_reservation(self) -> ActionResult:
        """CreateCapacityReservation."""
        self.error_on_dryrun()
        name = f"cr-0{mock_random.get_random_hex(16)}"
        reservation = {
            "CapacityReservationId": name,
            "InstanceType": self._get_param("InstanceType"),
            "AvailabilityZone": self._get_param("AvailabilityZone"),
            "InstancePlatform": self._get_param("InstancePlatform"),
            "InstanceMatchCriteria": self._get_param("InstanceMatchCriteria", "open"),
            "TotalInstanceCount": int(self._get_param("InstanceCount")),
            "State": "active",
        }
        reservations(self.ec2_backend)[name] = reservation
        return ActionResult({"CapacityReservation": self._with_free(reservation)})

    def describe_capacity_reservations(self) -> ActionResult:
        """DescribeCapacityReservations, by id or all."""
        known, ids = reservations(self.ec2_backend), self._get_param("CapacityReservationIds", [])
        missing = [name for name in ids if name not in known]
        if missing:
            raise EC2ClientError(
                "InvalidCapacityReservationId.NotFound",
                f"The capacity reservation '{missing[0]}' does not exist.",
            )
        chosen = [self._with_free(one) for name, one in known.items() if not ids or name in ids]
        return ActionResult({"CapacityReservations": chosen})

    def cancel_capacity_reservation(self) -> ActionResult:
        """CancelCapacityReservation: instances in it go on, on demand."""
        name = self._get_param("CapacityReservationId")
        if name not in reservations(self.ec2_backend):
            raise EC2ClientError(
                "InvalidCapacityReservationId.NotFound", f"The capacity reservation '{name}' does not exist."
            )
        self.error_on_dryrun()
        del reservations(self.ec2_backend)[name]
        return ActionResult({"Return": True})

    def _with_free(self, reservation: Params) -> Params:
        return {**reservation, "AvailableInstanceCount": free(self.ec2_backend, reservation)}

    def _with_tags(self, plain: Params, key: str) -> Params:
        tags = self.ec2_backend.tags.get(plain[key], {})
        return {**plain, "Tags": [{"Key": name, "Value": value} for name, value in tags.items()]}
