"""The simulated person's system message and turns."""

from pathlib import Path

from mascot_data.build.views import USER_NAME
from mascot_data.generate.saying import say
from mascot_data.generate.stage import Heard, Stage
from mascot_data.generate.talk import Talk
from mascot_data.generate.templates import render
from mascot_data.generate.users.profile import Profile
from mascot_data.records.rows import ScenarioRow

_SUPPORT = {"situation": "Your situation", "emotion": "Your feeling", "problem": "Your problem"}
_MEETING = {"topic": "What the meeting talked about", "query": "What you want to know"}


def user_message(profile: Profile, domain: str, scenario: ScenarioRow, name: str = USER_NAME) -> str:
    """Return the system message under which a model plays a person.

    Args:
        profile: Who the person is. Its text is put in literally, never read as a template.
        domain: ``workplace`` makes somebody who was not in the meeting and asks about it; the meeting's outline, which
            is the scenario's ``situation``, is not told. Any other domain makes somebody who seeks support.
        scenario: What the corpus says about the conversation; what it does not say is left out.
        name: The name under which the room hears the person.
    """
    labels = _MEETING if domain == "workplace" else _SUPPORT
    told = {label: " ".join((getattr(scenario, field) or "").split()) for field, label in labels.items()}
    facts = [(label, value) for label, value in told.items() if value]
    return render(Path(__file__).parent, "user", profile=profile, domain=domain, facts=facts, name=name)


def person(stage: Stage) -> Talk[None]:
    """Let the simulated person take its turn."""
    speaker, name = stage.scene.user
    said = yield from say(stage, "user", stage.messages(stage.scene.person, name), stage.settings.user, name)
    stage.add(Heard(speaker, name, "user", None, said.text), said.step)
