"""Creating, reading, changing and deleting resources, as long and as surely as the real operations."""

import time
from dataclasses import dataclass
from typing import Any

from inferfleet.gke.facts.schema import resource
from sandbox.gcp import faults
from sandbox.gcp.kubernetes_engine import Kubernetes, KubernetesEngine
from sandbox.gcp.rules.errors import OperationError, bad, exists, missing
from sandbox.gcp.rules.resource_types import RESOURCE_TYPES
from sandbox.gcp.rules.state import next_state
from sandbox.gcp.store import CLUSTER, IAM_MEMBER, POOL, Record, Records, Store

Values = dict[str, Any]


@dataclass(frozen=True)
class Cloud:
    """One simulated cloud: what exists, and the Kubernetes side of it."""

    store: Store
    kube: Kubernetes

    def create(self, token: str, inputs: Values, *, timeout: float = 0) -> Record:
        """The new resource. Raises ApiError when nothing was made, OperationError when it is half-made."""
        kind, fields = RESOURCE_TYPES[token], resource(token)
        own = kind.id(inputs)
        with self.store.changing() as records:
            if own in records and token != IAM_MEMBER:
                raise exists(own)
            state = next_state(fields, {}, inputs)
            if token == POOL:
                record = self._container.new_pool(own, state, records)
            else:
                kind.check(state, records, own)
                record = Record(token, own, kind.fill(state, own))
            if token in (CLUSTER, POOL):
                record = record.but(status="PROVISIONING")
            records[own] = record
        return self._finish(record, timeout, created=True)

    def update(self, token: str, record_id: str, inputs: Values, *, timeout: float = 0) -> Record:
        """The changed resource. A pool that was left half-made is tried again."""
        with self.store.changing() as records:
            old = self._known(records, record_id)
            state = next_state(resource(token), old.state, inputs)
            if token == POOL:
                record = self._container.changed_pool(old, state, records)
            else:
                RESOURCE_TYPES[token].check(state, records, record_id)
                record = old.but(state=RESOURCE_TYPES[token].fill(state, record_id))
            if token == CLUSTER:
                self._container.refuse_conflict(record_id)
                record = self._container.kept_server(record, old)
            records[record_id] = record
        return self._finish(record, timeout, created=False)

    def delete(self, record_id: str, *, timeout: float = 0) -> None:
        """The resource is gone, and with a cluster its pools. Deleting what is gone already is no error."""
        with self.store.changing() as records:
            if record_id not in records:
                return
            record = records[record_id]
            policy = record.state.get("deletionPolicy")
            if policy == "PREVENT":
                raise bad(f"Cannot destroy {record_id} because deletionPolicy is set to PREVENT")
            if policy == "ABANDON":
                return
            RESOURCE_TYPES[record.token].leave(record, records)
            if record.token in (CLUSTER, POOL):
                self._container.refuse_conflict(record_id)
                records[record_id] = record.but(status="STOPPING")
        self._wait(timeout, "delete")
        self._container.remove(record)
        with self.store.changing() as records:
            for one in [*records]:
                if one == record_id or _part_of(records[one], record):
                    del records[one]

    def edit(self, record_id: str, state: Values) -> Record:
        """A change by hand, behind the program's back: the state is taken as it is."""
        with self.store.changing() as records:
            record = self._known(records, record_id).but(state=state)
            if record.token == POOL:
                record = self._container.changed_pool(self._known(records, record_id), state, records)
            records[record_id] = record
        return self._finish(record, 0, created=False)

    def read(self, record_id: str) -> Record | None:
        """The provider also takes an IAM member by the words of its ID: "project role member"."""
        return self.store.read().get("/".join(record_id.split()))

    @property
    def _container(self) -> KubernetesEngine:
        return KubernetesEngine(self.store, self.kube)

    def _finish(self, record: Record, timeout: float, *, created: bool) -> Record:
        """The operation itself, after the object exists."""
        try:
            self._wait(timeout, "create" if created else "update")
            if record.token == CLUSTER:
                self._container.serve(record)
            elif record.token == POOL:
                self._container.settle(record.id)
        except OperationError as why:
            self.store.change(record.id, status="ERROR", message=str(why))
            raise
        done = self.store.change(record.id, status="RUNNING", message="")
        if done is None:
            raise missing(record.id)
        return done

    def _wait(self, timeout: float, what: str) -> None:
        slow = faults.read(self.store.folder).slow
        time.sleep(min(slow, timeout or slow))
        if timeout and slow > timeout:
            raise OperationError(
                f"timeout while waiting for state to become 'DONE' ({what}, timeout: {timeout:g}s)"
            )

    def _known(self, records: Records, record_id: str) -> Record:
        if record_id not in records:
            raise missing(record_id)
        return records[record_id]


def _part_of(record: Record, whole: Record) -> bool:
    """True for what ends with the other: pools with their cluster, a NAT with its router."""
    if record.id.startswith(f"{whole.id}/"):
        return True
    nat = record.token == "gcp:compute/routerNat:RouterNat"
    return (
        nat
        and whole.id.rpartition("/")[2] == record.state["router"].rpartition("/")[2]
        and all(record.state[name] == whole.state.get(name) for name in ("project", "region"))
    )
