"""What a resource of the plugin is: which inputs it imitates, which replace it, and its four deeds."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from botocore.exceptions import ClientError  # type: ignore[import-untyped]  # (no types of its own)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Props = dict[str, Any]
"""Properties as the engine has them: JSON, in its own spelling."""


@dataclass(frozen=True, slots=True)
class Clients:
    """boto3's clients of the lab's two endpoints; they have no types.

    Args:
        ec2: of EC2.
        iam: of IAM.
        region: of both.
        account: whose.
    """

    ec2: Any
    iam: Any
    region: str
    account: str

    def arn(self, what: str) -> str:
        """ARN of something of EC2."""
        return f"arn:aws:ec2:{self.region}:{self.account}:{what}"


class Resource(ABC):
    """One resource type; its name in Terraform's provider tells where its behaviour is documented."""

    token: ClassVar[str]
    args: ClassVar[type]
    imitated: ClassVar[frozenset[str]]
    """Inputs that do something here; any other is refused by name."""
    replacing: ClassVar[frozenset[str]]
    """Inputs whose change replaces it: "Forces new resource" in the provider's documentation."""
    named: ClassVar[str] = ""
    """Input that gets a name of its own where the program gives none."""
    unordered: ClassVar[frozenset[str]] = frozenset()
    """Lists that are sets."""
    computed: ClassVar[Mapping[str, frozenset[str]]] = {}
    """Output → inputs whose change makes it another one, unknown until `up`."""

    def __init__(self, clients: Clients) -> None:
        self.ec2 = clients.ec2
        self.iam = clients.iam
        self.clients = clients

    @abstractmethod
    def create(self, wanted: Props) -> str:
        """Make it; its id is returned."""

    @abstractmethod
    def read(self, name: str) -> Props | None:
        """All its inputs and outputs as they are; None where it is gone."""

    @abstractmethod
    def update(self, name: str, before: Props, wanted: Props) -> None:
        """Change what needs no other one."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Remove it; it is there."""

    @classmethod
    def same(cls, name: str, one: object, other: object) -> bool:
        """Whether two values of an input mean the same."""
        if name in cls.unordered and isinstance(one, list) and isinstance(other, list):
            return sorted(one) == sorted(other)
        return one == other


def changed(before: Props, wanted: Props, *names: str) -> bool:
    """Whether any of these inputs differs."""
    return any(before.get(name) != wanted.get(name) for name in names)


def same_document(one: object, other: object) -> bool:
    """Whether two IAM documents are the same JSON."""
    try:
        return bool(json.loads(str(one)) == json.loads(str(other)))
    except ValueError:
        return one == other


def tag_list(tags: Mapping[str, str] | None) -> list[dict[str, str]]:
    """Tags as AWS takes them, in one order: the wire of the engine has none."""
    return [{"Key": key, "Value": value} for key, value in sorted((tags or {}).items())]


def tags_of(listed: Iterable[Mapping[str, str]] | None) -> dict[str, str]:
    """Tags as the engine has them."""
    return {tag["Key"]: tag["Value"] for tag in listed or () if not tag["Key"].startswith("aws:")}


def specification(of: str, wanted: Props) -> list[dict[str, Any]]:
    """TagSpecifications of one resource; none where it has no tags, which EC2 refuses."""
    tags = tag_list(wanted.get("tags"))
    return [{"ResourceType": of, "Tags": tags}] if tags else []


def one_or_none(answer: Any) -> Any:  # noqa: ANN401 (boto3's answers)
    """The only thing of a list; None where there is none."""
    return answer[0] if answer else None


def found(call: Any, *codes: str) -> Any:  # noqa: ANN401
    """What a call answers; None where it says, by one of these codes, that there is no such thing."""
    try:
        return call()
    except ClientError as error:
        if error.response["Error"]["Code"] in codes:
            return None
        raise


class Ec2Resource(Resource):
    """One whose tags are EC2's."""

    def retag(self, name: str, before: Props, wanted: Props) -> None:
        """Bring tags to what is wanted."""
        old, new = before.get("tags") or {}, wanted.get("tags") or {}
        gone = [{"Key": key} for key in old if key not in new]
        if gone:
            self.ec2.delete_tags(Resources=[name], Tags=gone)
        if new and new != old:
            self.ec2.create_tags(Resources=[name], Tags=tag_list(new))
