"""Load the profiles: the built-in ones, and a user's own laid over them."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mascot_data.errors import PersonaError
from mascot_data.generate.users.profile import Profile
from mascot_data.personas.reading import parse, read_mapping

_BUILT_IN = Path(__file__).parent / "profiles"
_YAML = {".yaml", ".yml"}


def load_profiles(folder: Path | None = None) -> Mapping[str, Profile]:
    """Return the built-in profiles by id, in alphabetical order, with those of a folder laid over them.

    Args:
        folder: A user's folder with profiles in ``*.yaml``, each named after its id. A profile with the id of a
            built-in one takes its place.

    Raises:
        PersonaError: The folder is missing or empty, or a file breaks a rule; the message names the file.
    """
    profiles = _built_in() if folder is None else {**_built_in(), **_read(folder)}
    return dict(sorted(profiles.items()))


@cache
def _built_in() -> dict[str, Profile]:
    return _read(_BUILT_IN)


def _read(folder: Path) -> dict[str, Profile]:
    if not folder.is_dir():
        raise PersonaError(f"{folder}: no such folder, give one that holds user profiles")
    profiles: dict[str, Profile] = {}
    for path in sorted(path for path in folder.glob("[!.]*") if path.suffix in _YAML):
        profile = parse(Profile, read_mapping(path), str(path))
        if profile.id != path.stem:
            raise PersonaError(
                f"{path}: the file holds the profile `{profile.id}`, rename it to {profile.id}{path.suffix}"
            )
        if profile.id in profiles:
            raise PersonaError(f"{path}: the profile `{profile.id}` stands in this folder twice, remove one")
        profiles[profile.id] = profile
    if not profiles:
        raise PersonaError(f"{folder}: no user profile here, add one or give another folder")
    return profiles
