"""Calls about instances: RunInstances and its kin as EC2 answers them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from moto.core.responses import ActionResult
from moto.core.types import Base64EncodedString
from moto.ec2.exceptions import EC2ClientError, InvalidInstanceIdError, OperationNotPermitted4
from moto.ec2.responses import EC2Response
from moto.ec2.utils import parse_user_data
from moto.iam.models import iam_backends

from rackwright.lab.aws import emulation, placement, tokens
from rackwright.lab.aws.instances import TERMINATED, LabInstance
from rackwright.lab.aws.wanted import require_free_addresses, wanted
from rackwright.plan.aws_model import POOL_TAG

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rackwright.lab.aws.wanted import Params, Wanted

_SHUTTING_DOWN = {"Code": 32, "Name": "shutting-down"}


class Launches(EC2Response):
    """Launch, describe, read consoles, terminate."""

    def run_instances(self) -> ActionResult:
        """RunInstances: all checks, then DryRun, then the token, then capacity, then the launch."""
        request = {name: value for name, value in self.params.items() if value is not None}
        asked = wanted(self.ec2_backend, request)
        group = placement.require_group(self.ec2_backend, asked.params)
        profile = self._profile(asked.params)
        before = tokens.earlier(self.ec2_backend, request, asked)
        if before is not None:
            return ActionResult(before)
        require_free_addresses(self.ec2_backend, asked.interfaces)
        self.error_on_dryrun()
        count = self._count(asked)
        reserved = placement.require_reservation(self.ec2_backend, asked.params, asked.kind, count)
        reservation = self._launch(asked, count, request)
        for instance in reservation.instances:
            instance.placement.group_name = group
            instance.capacity_reservation_id = reserved
            instance.iam_instance_profile = profile
            _start(instance, asked)
        tokens.remember(self.ec2_backend, request, asked, reservation.id)
        return ActionResult(reservation)

    def _count(self, asked: Wanted) -> int:
        """As many as there is capacity for, if that is enough."""
        world = emulation.current()
        if not world.types[asked.kind].launchable:
            raise EC2ClientError(
                "Unsupported",
                f"Your requested instance type ({asked.kind}) is not supported in your requested "
                f"Availability Zone ({asked.zone}).",
            )
        # What is replayed had its capacity when it was launched: the journal holds no refused call.
        left = {} if world.silent else world.faults().capacity
        names = (asked.kind, asked.tags("instance").get(POOL_TAG, ""))
        count = min([asked.most, *(left[name] for name in names if name in left)])
        if count < asked.least:
            raise EC2ClientError(
                "InsufficientInstanceCapacity",
                f"We currently do not have sufficient {asked.kind} capacity in the Availability Zone you "
                f"requested ({asked.zone}).",
            )
        return count

    def _launch(self, asked: Wanted, count: int, request: Params) -> Any:  # noqa: ANN401 (moto's reservation)
        params = asked.params
        reservation = self.ec2_backend.run_instances(
            params["ImageId"],
            count,
            parse_user_data(str(params["UserData"])) if params.get("UserData") else None,
            [],
            instance_type=asked.kind,
            is_instance_type_default=False,
            region_name=self.region,
            nics=list(asked.interfaces),
            subnet_id=asked.interfaces[0]["SubnetId"],
            tags={"instance": asked.tags("instance"), "volume": asked.tags("volume")},
            key_name=params.get("KeyName"),
            metadata_options=params.get("MetadataOptions", {}),
            client_token=request.get("ClientToken", ""),
            instance_initiated_shutdown_behavior=params.get("InstanceInitiatedShutdownBehavior"),
            disable_api_termination=params.get("DisableApiTermination", False),
        )
        for number, instance in enumerate(reservation.instances):
            instance.ami_launch_index = number
            instance.visible_at = instance.launch_time + timedelta(
                seconds=emulation.current().visible_after_s
            )
            instance.lifecycle = _lifecycle(params)
        return reservation

    def _profile(self, params: Params) -> Params | None:
        """The instance profile, which must be there."""
        named = params.get("IamInstanceProfile")
        if not named:
            return None
        known = iam_backends[self.current_account]["aws"].instance_profiles.values()
        for profile in known:
            if named in ({"Name": profile.name}, {"Arn": profile.arn}):
                return {"Arn": profile.arn, "Id": profile.id}
        word = named.get("Name") or named.get("Arn")
        raise EC2ClientError(
            "InvalidParameterValue", f"Value ({word}) for parameter iamInstanceProfile is invalid."
        )

    def describe_instances(self) -> ActionResult:
        """DescribeInstances: a new instance is not found for a moment (eventual consistency)."""
        hidden = {instance.id for instance in self._hidden()}
        asked = [one for one in self._get_param("InstanceIds", []) if one in hidden]
        if asked:
            raise InvalidInstanceIdError(asked)
        answer = super().describe_instances()
        result: Any = answer.result
        for reservation in result["Reservations"]:
            reservation.instances = [one for one in reservation.instances if one.id not in hidden]
        result["Reservations"] = [one for one in result["Reservations"] if one.instances]
        return answer

    def _hidden(self) -> Iterator[LabInstance]:
        now = emulation.current().clock.now()
        for instance in self.ec2_backend.all_instances():
            if instance.visible_at and instance.visible_at > now:
                yield instance

    def terminate_instances(self) -> ActionResult:
        """TerminateInstances: all named must be there and may go, or none goes; again is no error."""
        ids = self._get_param("InstanceIds", [])
        instances = self.ec2_backend.get_multi_instances_by_id(ids)
        for instance in instances:
            if instance.disable_api_termination:
                raise OperationNotPermitted4(instance.id)
        self.error_on_dryrun()
        before = {one.id: {"Code": one.state_code, "Name": one.state} for one in instances}
        for instance in instances:
            emulation.current().terminate(instance.id)
        self.ec2_backend.terminate_instances(ids)
        changes = [
            {
                "InstanceId": name,
                "PreviousState": state,
                "CurrentState": state if state["Name"] == TERMINATED else _SHUTTING_DOWN,
            }
            for name, state in before.items()
        ]
        return ActionResult({"TerminatingInstances": changes})

    def get_console_output(self) -> ActionResult:
        """GetConsoleOutput: what the instance's machine has printed, in base64."""
        [instance] = self.ec2_backend.get_multi_instances_by_id([self._get_param("InstanceId")])
        gone = instance.state == TERMINATED
        text = "" if gone else emulation.current().machines.console(instance.id)
        return ActionResult(
            {
                "InstanceId": instance.id,
                "Timestamp": emulation.current().clock.now(),
                "Output": Base64EncodedString.from_raw_string(text),
            }
        )

    def describe_instance_types(self) -> ActionResult:
        """DescribeInstanceTypes of the types that there are here."""
        known, names = emulation.current().types, self._get_param("InstanceTypes", [])
        missing = [name for name in names if name not in known]
        if missing:
            raise EC2ClientError(
                "InvalidInstanceType", f"The following supplied instance types do not exist: {missing}"
            )
        chosen = [known[name] for name in names] if names else known.values()
        return ActionResult({"InstanceTypes": [_described(kind) for kind in chosen]})


def _lifecycle(params: Params) -> str | None:
    """``capacity-block`` and ``spot`` are told, on demand is not."""
    kind = params.get("InstanceMarketOptions", {}).get("MarketType")
    return str(kind) if kind else None


def _start(instance: LabInstance, asked: Wanted) -> None:
    try:
        emulation.current().launch(_machine(instance, asked))
    except emulation.MachineRefused as refused:
        instance.fail(refused.code, refused.why)


def _machine(instance: LabInstance, asked: Wanted) -> emulation.Machine:
    return emulation.Machine(
        instance=instance.id,
        kind=asked.kind,
        image=str(instance.image_id),
        interfaces=tuple(_interfaces(instance.nics.values())),
        user_data=str(asked.params.get("UserData") or ""),
        tags={tag["key"]: tag["value"] for tag in instance.get_tags()},
    )


def _interfaces(nics: Iterable[Any]) -> Iterator[emulation.Interface]:
    for nic in nics:
        yield emulation.Interface(
            card=nic.network_card_index,
            device=nic.device_index,
            kind=nic.interface_type,
            mac=nic.mac_address,
            address=nic.private_ip_address or "",
        )


def _described(kind: emulation.InstanceType) -> Params:
    return {
        "InstanceType": kind.name,
        "CurrentGeneration": True,
        "VCpuInfo": {"DefaultVCpus": kind.vcpus},
        "MemoryInfo": {"SizeInMiB": kind.memory_mib},
        "NetworkInfo": {
            "MaximumNetworkCards": len(kind.cards),
            "MaximumNetworkInterfaces": sum(kind.cards),
            "EfaSupported": kind.efa_interfaces > 0,
            "EfaInfo": {"MaximumEfaInterfaces": kind.efa_interfaces},
            "NetworkCards": [
                {"NetworkCardIndex": number, "MaximumNetworkInterfaces": most}
                for number, most in enumerate(kind.cards)
            ],
        },
    }
