"""Creating, reading, changing and deleting resources, in as many steps as the real operations.

An operation writes the object first and does its work then, so that an interruption or a fault leaves what it
leaves at Google: an object that exists and is not finished.
"""

import time
from dataclasses import dataclass
from typing import Any

from inferfleet.cloud.gke.facts.schema import resource
from sandbox.gcp import faults
from sandbox.gcp.kubernetes_engine import Kubernetes, KubernetesEngine
from sandbox.gcp.rules.errors import OperationError, already_exists, bad_request, not_found
from sandbox.gcp.rules.names import short_name
from sandbox.gcp.rules.networking import NAT, SUBNETWORK
from sandbox.gcp.rules.policies import refuse_policies
from sandbox.gcp.rules.resource_types import RESOURCE_TYPES
from sandbox.gcp.rules.state import next_state
from sandbox.gcp.store import BUCKET_MEMBER, CLUSTER, IAM_MEMBER, POOL, Record, Records, Store

Values = dict[str, Any]


@dataclass(frozen=True)
class Cloud:
    """One simulated cloud: what exists, and its Kubernetes side. Timeouts are in seconds, 0 for none."""

    store: Store
    kubernetes: Kubernetes

    def create(self, token: str, inputs: Values, *, timeout: float = 0) -> Record:
        """Create a resource and return it.

        Raises ApiError when nothing was made, OperationError when the resource exists and is not finished.
        """
        resource_type = RESOURCE_TYPES[token]
        resource_id = resource_type.id(inputs)
        with self.store.changing() as records:
            if resource_id in records and token not in (IAM_MEMBER, BUCKET_MEMBER):
                raise already_exists(resource_id)
            state = next_state(resource(token), {}, inputs)
            if token == POOL:
                record = self._engine.new_pool(resource_id, state, records)
            else:
                resource_type.check(state, records, resource_id)
                record = Record(token, resource_id, resource_type.fill(state, resource_id))
            if token in (CLUSTER, POOL):
                refuse_policies(faults.read(self.store.folder).policies, token, record.state)
                record = record.but(status="PROVISIONING")
            records[resource_id] = record
        return self._run(record, "create", timeout)

    def update(self, token: str, resource_id: str, inputs: Values, *, timeout: float = 0) -> Record:
        """Change a resource and return it. The nodes of an unfinished pool are tried again."""
        with self.store.changing() as records:
            old = _existing(records, resource_id)
            state = next_state(resource(token), old.state, inputs)
            if token == POOL:
                record = self._engine.changed_pool(old, state, records)
            else:
                RESOURCE_TYPES[token].check(state, records, resource_id)
                record = old.but(state=RESOURCE_TYPES[token].fill(state, resource_id))
            if token == CLUSTER:
                self._engine.refuse_conflict(resource_id)
                record = self._engine.keep_api_server(record, old)
            records[resource_id] = record
            moved = self._engine.moved_pools(record, old, records) if token == CLUSTER else ()
            records |= {pool.id: pool for pool in moved}
        finished = self._run(record, "update", timeout)
        for pool in moved:
            self._engine.apply_pool(pool.id)
        return finished

    def delete(self, resource_id: str, *, timeout: float = 0) -> None:
        """Delete a resource, and with a cluster its pools. A resource that does not exist is no error."""
        with self.store.changing() as records:
            if resource_id not in records:
                return
            record = records[resource_id]
            policy = record.state.get("deletionPolicy")
            if policy == "PREVENT":
                raise bad_request(f"Cannot destroy {resource_id} because deletionPolicy is set to PREVENT")
            if policy == "ABANDON":
                return
            RESOURCE_TYPES[record.token].check_deletion(record, records)
            if record.token in (CLUSTER, POOL):
                self._engine.refuse_conflict(resource_id)
                records[resource_id] = record.but(status="STOPPING")
        self._wait("delete", timeout)
        stays = self._engine.remove(record)
        with self.store.changing() as records:
            records.update({one.id: one for one in stays})
            for other_id in [*records]:
                if other_id == resource_id or _is_part_of(records[other_id], record):
                    del records[other_id]
        if record.token == SUBNETWORK:
            self._engine.tell_proxies(record)

    def edit(self, resource_id: str, state: Values) -> Record:
        """Change a resource by hand, behind the program's back, and return it. Only pools are checked."""
        with self.store.changing() as records:
            record = _existing(records, resource_id).but(state=state)
            if record.token == POOL:
                record = self._engine.changed_pool(records[resource_id], state, records)
            records[resource_id] = record
        return self._run(record, "update", 0)

    def read(self, resource_id: str) -> Record | None:
        """Return a resource; None when it does not exist.

        Like the real provider it also takes the ID of an IAM member as words: "project role member", and
        that of a bucket with its project.
        """
        records = self.store.read()
        return records.get("/".join(resource_id.split())) or records.get(resource_id.rpartition("/")[2])

    @property
    def _engine(self) -> KubernetesEngine:
        return KubernetesEngine(self.store, self.kubernetes)

    def _run(self, record: Record, operation: str, timeout: float) -> Record:
        """Do the work of an operation whose object is written, and return the finished resource."""
        try:
            self._wait(operation, timeout)
            if record.token == CLUSTER:
                self._engine.apply_cluster(record)
            elif record.token == POOL:
                self._engine.apply_pool(record.id)
            elif record.token == SUBNETWORK:
                self._engine.tell_proxies(record)
        except OperationError as error:
            self.store.change(record.id, status="ERROR", message=str(error))
            raise
        finished = self.store.change(record.id, status="RUNNING", message="")
        if finished is None:
            raise not_found(record.id)
        return finished

    def _wait(self, operation: str, timeout: float) -> None:
        slow = faults.read(self.store.folder).slow
        time.sleep(min(slow, timeout or slow))
        if timeout and slow > timeout:
            raise OperationError(
                f"timeout while waiting for state to become 'DONE' ({operation}, timeout: {timeout:g}s)"
            )


def _existing(records: Records, resource_id: str) -> Record:
    if resource_id not in records:
        raise not_found(resource_id)
    return records[resource_id]


def _is_part_of(record: Record, owner: Record) -> bool:
    """Return True for what is deleted with its owner: a pool with its cluster, a NAT with its router."""
    if record.id.startswith(f"{owner.id}/"):
        return True
    return (
        record.token == NAT
        and short_name(owner.id) == short_name(record.state["router"])
        and all(record.state[name] == owner.state.get(name) for name in ("project", "region"))
    )
