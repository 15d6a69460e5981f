from collections.abc import Callable
from typing import Any

__version__: str
CALLER: str
OPTIONS: list[str]

Bits = tuple[str, list[int], bytes]

class Call:
    def __init__(
        self,
        tensors: dict[str, Bits],
        *,
        scale: float | None = None,
        causal: bool = False,
        softcap: float | None = None,
        window: tuple[int | None, int | None] | None = None,
        key_lengths: list[int] | None = None,
        query_lengths: list[int] | None = None,
    ) -> None: ...
    def judge(self, output: Bits, conventions: list[str], contract: str | None, measured: bool) -> str: ...
    def ask(self, answered: Callable[..., Any], times: int) -> None: ...
    def reference(self, conventions: list[str]) -> tuple[bytes, bytes, list[int]]: ...

class Case:
    @property
    def id(self) -> str: ...
    @property
    def law(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def call(self) -> str: ...
    @property
    def options(self) -> list[str]: ...
    @property
    def token(self) -> str | None: ...
    def json(self) -> str: ...
    def judge(self, answered: Callable[..., Any], conventions: list[str], contracts: list[str]) -> str: ...

def cases(suite: str, seed: int, laws: list[str], dtypes: list[str]) -> list[Case]: ...
def case_of_token(text: str) -> Case: ...
def declared(dtypes: list[str], conventions: list[str], contracts: list[str]) -> None: ...
def check(
    answered: Callable[..., Any],
    name: str,
    info: str,
    suite: str,
    seed: int,
    laws: list[str],
    dtypes: list[str],
    conventions: list[str],
    contracts: list[str],
    fail_fast: bool,
    shard: tuple[str, str] | None = None,
) -> tuple[str, str]: ...
def merge(
    answered: Callable[..., Any],
    name: str,
    info: str,
    shards: list[str],
) -> tuple[str, str]: ...
def find_known(target: str, folder: str) -> str | None: ...
def read_known(path: str) -> None: ...
def outcome(target: str, parts: list[str], path: str | None, today: str) -> str: ...
def probe(
    answered: Callable[..., Any],
    name: str,
    info: str,
    dtype: str,
    conventions: list[str],
    contracts: list[str],
) -> tuple[str, str, str]: ...
def prove(law: str) -> str: ...
