"""What the provenance of a later command says its rows were made with."""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from mascot_data.build.added import Part
from mascot_data.build.provenance import provenance_file
from mascot_data.validate.facts import Facts
from mascot_data.validate.reading import Problem


class Made(BaseModel):
    """Base: other fields are allowed, so that a later version may say more."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Info(Made):
    """A model that was used; see ``models.ModelInfo``."""

    name: str
    revision: str
    backend: str
    dtype: str

    @property
    def fields(self) -> tuple[str, str, str, str]:
        """Its fields in the order of the rows."""
        return self.name, self.revision, self.backend, self.dtype


MadeT = TypeVar("MadeT", bound=Made)


def made_with(facts: Facts, part: Part, model: type[MadeT], problems: list[Problem]) -> MadeT | None:
    """Return what a part was made with; None when it is not there, or its rows cannot be checked against this build."""
    stated = next((stated for stated in facts.parts if stated.part == part.name), None)
    if stated is None:
        return None
    again = f"run  mascot-data {part.command or part.name}  with its options to make them anew"
    if stated.built_on != facts.rows_digest:
        what = f"the {part.name.replace('-', ' ')} were made on other rows than those of this build; {again}"
        problems.append(Problem(part.name, provenance_file(part.name), what))
        return None
    fields: dict[str, Any] = {**stated.options, "infos": stated.summary.get("models"), "summary": stated.summary}
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        problems.append(
            Problem(part.name, provenance_file(part.name), f"is damaged ({place}: {first['msg']}); {again}")
        )
        return None
